import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../../support/oauth.ts'
import type { Caller, Resource, ScimRequest, ScimServer } from './support.ts'
import {
  ENTERPRISE,
  ERROR_SCHEMA,
  GROUP_SCHEMA,
  HOST_OF_Z1,
  OWN,
  patchOf,
  startScimServer,
  TO_Z1,
  USER_SCHEMA,
} from './support.ts'

const full = {
  schemas: [USER_SCHEMA, ENTERPRISE, OWN],
  userName: 'bjensen@example.com',
  externalId: '701984',
  name: {
    formatted: 'Ms. Barbara J Jensen, III',
    familyName: 'Jensen',
    givenName: 'Barbara',
    middleName: 'Jane',
    honorificPrefix: 'Ms.',
    honorificSuffix: 'III',
  },
  displayName: 'Babs Jensen',
  nickName: 'Babs',
  profileUrl: 'https://login.example.com/bjensen',
  title: 'Tour Guide',
  userType: 'Employee',
  preferredLanguage: 'en-US',
  locale: 'en-US',
  timezone: 'America/Los_Angeles',
  active: true,
  emails: [
    { value: 'bjensen@example.com', type: 'work', primary: true },
    { value: 'babs@jensen.org', type: 'home' },
  ],
  phoneNumbers: [
    { value: '555-555-5555', type: 'work' },
    { value: '555-555-4444', type: 'mobile' },
  ],
  ims: [{ value: 'someaimhandle', type: 'aim' }],
  photos: [{ value: 'https://photos.example.com/profilephoto/72930000000Ccne/F', type: 'photo' }],
  addresses: [
    {
      formatted: '100 Universal City Plaza\nHollywood, CA 91608 USA',
      streetAddress: '100 Universal City Plaza',
      locality: 'Hollywood',
      region: 'CA',
      postalCode: '91608',
      country: 'USA',
      type: 'work',
      primary: true,
    },
  ],
  entitlements: [{ value: 'tours' }],
  roles: [{ value: 'guide', display: 'Guide' }],
  x509Certificates: [{ value: 'MIIDQzCCAqygAwIBAgICEAAwDQYJ' }],
  [ENTERPRISE]: {
    employeeNumber: '701984',
    costCenter: '4130',
    organization: 'Universal Studios',
    division: 'Theme Park',
    department: 'Tour Operations',
    manager: { value: '26118915-6090-4610-87e4-49d8ca9f808d' },
  },
  [OWN]: {
    gender: 'female',
    birthdate: '1980-02-29',
    website: 'https://babs.example',
    customAttributes: [
      { name: 'badge', value: '1' },
      { name: 'badge', value: '2' },
      { name: 'desk', value: 'C4' },
    ],
  },
}

for (const mode of MODES) {
  describe(`SCIM users in ${mode}`, () => {
    let scim: ScimServer
    before(async () => {
      scim = await startScimServer(mode)
    })
    after(async () => {
      assert.deepEqual(scim.server.faults, [])
      await scim.stop()
    })

    // Covers /scim/v2/Users: rule: RFC 7643 §4.1 and §4.3, attributes
    it('keep every attribute of the schemas', async () => {
      const made = await scim.send('POST', '/Users', { body: full })
      assert.equal(made.status, 201, made.text)
      const user = made.json<Resource>()
      assert.equal(made.headers['content-type'], 'application/scim+json; charset=utf-8')
      assert.equal(made.headers['location'], `http://localhost:8080/scim/v2/Users/${user.id}`)
      assert.equal(made.headers['etag'], 'W/"0"')
      assert.equal(user.meta.location, made.headers['location'])
      assert.equal(user.meta.version, 'W/"0"')
      const read = (await scim.send('GET', `/Users/${user.id}`)).json()
      for (const [name, value] of Object.entries(full)) {
        if (name === ENTERPRISE || name === OWN) continue
        assert.deepEqual(read[name], value, name)
      }
      assert.deepEqual(read[OWN], { origin: 'svc', verified: true, ...full[OWN] })
      const { manager, ...others } = full[ENTERPRISE]
      const $ref = `http://localhost:8080/scim/v2/Users/${manager.value}`
      assert.deepEqual(read[ENTERPRISE], { ...others, manager: { ...manager, $ref } })
      // The record of UAA's API.
      const record = await scim.server.store.users.find('svc', user.id)
      assert.equal(record?.email, 'bjensen@example.com')
      assert.equal(record?.phoneNumber, '555-555-5555')
      assert.deepEqual(record?.profile?.custom, { badge: ['1', '2'], desk: ['C4'] })
      await scim.send('DELETE', `/Users/${user.id}`)
    })

    it('have no $ref of a manager with an empty id', async () => {
      const user = await scim.createUser({ [ENTERPRISE]: { manager: { value: '' } } })
      assert.deepEqual(user[ENTERPRISE], { manager: { value: '' } })
      await scim.send('DELETE', `/Users/${user.id}`)
    })

    it('have a manager that PATCH sets by value or $ref, and removes by value', async () => {
      const { id } = await scim.createUser({ [ENTERPRISE]: { department: 'Tours', manager: { value: 'm-1' } } })
      const path = `${ENTERPRISE}:manager`
      const $ref = 'http://localhost:8080/scim/v2/Users/m-2'
      for (const [operation, value] of [
        [{ op: 'replace', path, value: { $ref } }, 'm-2'],
        [{ op: 'replace', path: `${path}.value`, value: 'm-3' }, 'm-3'],
        [{ op: 'replace', path: `${path}.$ref`, value: $ref }, 'm-2'],
        [{ op: 'replace', path, value: { value: 'm-4', $ref } }, 'm-4'],
        [{ op: 'add', path, value: { value: 'm-4', $ref } }, 'm-4'],
        [{ op: 'remove', path: `${path}.$ref` }, 'm-4'],
        [{ op: 'remove', path: `${path}.value` }, undefined],
        [{ op: 'add', path, value: { $ref } }, 'm-2'],
      ] as const) {
        const changed = await scim.send('PATCH', `/Users/${id}`, { body: patchOf(operation) })
        const { manager, ...others } =
          changed.json<Readonly<Record<string, Readonly<Record<string, unknown>>>>>()[ENTERPRISE] ?? {}
        assert.deepEqual(others, { department: 'Tours' })
        const want = value === undefined ? undefined : { value, $ref: `http://localhost:8080/scim/v2/Users/${value}` }
        assert.deepEqual(manager, want, JSON.stringify(operation))
      }
      await scim.send('DELETE', `/Users/${id}`)
    })

    // Covers /scim/v2/Users/{id}: rule: RFC 7644 §3.5.1, PUT
    it('are replaced by PUT, except for required attributes', async () => {
      const { id } = await scim.createUser({ nickName: 'Babs', active: false, [OWN]: { verified: false } })
      const body = { schemas: [USER_SCHEMA], userName: 'replaced@example.org', id: 'other', meta: { version: 'x' } }
      const answer = await scim.send('PUT', `/Users/${id}`, { body })
      assert.equal(answer.status, 200, answer.text)
      const user = answer.json<Resource>()
      assert.equal(answer.headers['etag'], 'W/"1"')
      assert.deepEqual([user.id, user['nickName'], user['active']], [id, undefined, false])
      assert.deepEqual(user[OWN], { origin: 'svc', verified: false })
      assert.deepEqual(user['emails'], [{ value: 'replaced@example.org', primary: true }])
      const same = await scim.send('PUT', `/Users/${id}`, { body: { ...body, active: false } })
      assert.equal(same.headers['etag'], 'W/"1"') // nothing to change
    })

    // Covers /scim/v2/Users: rule: RFC 7643 §2.4, same values
    it('merge repeated values', async () => {
      const sent = {
        emails: [
          { value: 'one@example.org', type: 'work', primary: true },
          { value: 'one@example.org', type: 'home' },
          { value: 'one@example.org', type: 'work', display: 'Work' },
        ],
        roles: [{ value: 'guide' }, { value: 'guide' }],
        addresses: [
          { type: 'work', country: 'US' },
          { country: 'US', type: 'work' },
          { type: 'home', country: 'US' },
        ],
      }
      const want = {
        emails: [{ ...sent.emails[0], display: 'Work' }, sent.emails[1]],
        roles: [{ value: 'guide' }],
        addresses: [sent.addresses[0], sent.addresses[2]],
      }
      const shown = ({ emails, roles, addresses }: Readonly<Record<string, unknown>>) => ({ emails, roles, addresses })
      const made = await scim.createUser(sent)
      assert.deepEqual(shown(made), want)
      const body = { schemas: [USER_SCHEMA], userName: 'once@example.org', ...sent, title: 'Guide' }
      assert.deepEqual(shown((await scim.send('PUT', `/Users/${made.id}`, { body })).json()), want)
      await scim.send('DELETE', `/Users/${made.id}`)
    })

    it('keep the primary flag of an email of a user created by UAA’s API', async () => {
      const { server } = scim
      const bearer = await scim.tokenOf('root')
      const emails = [{ value: 'marked@example.org', primary: true }]
      const draft = { userName: 'marked@example.org', name: { givenName: 'M', familyName: 'K' }, emails }
      const made = await server.send('/Users', {
        bearer,
        body: JSON.stringify({ ...draft, password: 'correct horse 1' }),
        headers: { 'content-type': 'application/json' },
      })
      const { id } = made.json<Resource>()
      const nickName = patchOf({ op: 'add', path: 'nickName', value: 'Em' })
      const patched = await scim.send('PATCH', `/Users/${id}`, { body: nickName })
      assert.equal(patched.headers['etag'], 'W/"1"')
      assert.deepEqual((await server.send(`/Users/${id}`, { bearer })).json()['emails'], emails)
      const same = await scim.send('PATCH', `/Users/${id}`, { body: nickName })
      assert.equal(same.headers['etag'], 'W/"1"') // nothing to change
    })

    it('keep the address and the number that UAA’s API has set when something else changes', async () => {
      const emails = [
        { value: 'old@x', type: 'work' },
        { value: 'old@x', type: 'home', primary: true },
      ]
      const phoneNumbers = [{ value: '1' }, { value: '2', type: 'fax' }]
      const { id } = await scim.createUser({ emails, phoneNumbers })
      const { userName, email } = (await scim.server.store.users.find('svc', id)) ?? {}
      assert.equal(email, 'old@x')
      const bearer = await scim.tokenOf('writer')
      const headers = { 'content-type': 'application/json', 'if-match': '*' }
      const body = JSON.stringify({ userName, name: {}, emails: [{ value: 'new@x' }] })
      assert.equal((await scim.server.send(`/Users/${id}`, { method: 'PUT', bearer, headers, body })).status, 200)
      const patch = patchOf({ op: 'add', path: 'title', value: 'Dr.' })
      assert.equal((await scim.send('PATCH', `/Users/${id}`, { body: patch })).status, 200)
      const user = await scim.server.store.users.find('svc', id)
      assert.deepEqual([user?.email, user?.phoneNumber], ['new@x', undefined])
    })

    it('are changed atomically by PATCH', async () => {
      const { id } = await scim.createUser({ title: 'Guide' })
      const changed = await scim.send('PATCH', `/Users/${id}`, {
        body: patchOf(
          { op: 'replace', path: 'title', value: 'VP' },
          { op: 'add', path: `${ENTERPRISE}:department`, value: 'X' },
        ),
      })
      assert.equal(changed.status, 200, changed.text)
      assert.deepEqual(changed.json()[ENTERPRISE], { department: 'X' })
      const refused = await scim.send('PATCH', `/Users/${id}`, {
        body: patchOf({ op: 'remove', path: 'title' }, { op: 'replace', path: 'id', value: 'x' }),
      })
      assert.equal(refused.status, 400)
      assert.equal(refused.json()['scimType'], 'mutability')
      const read = await scim.send('GET', `/Users/${id}`)
      assert.equal(read.json()['title'], 'VP')
      assert.equal(read.headers['etag'], 'W/"1"')
    })

    it('can be changed if imported without an email address', async () => {
      const { id } = await scim.createUser({ userName: 'unaddressed@example.org' })
      const { users } = scim.server.store
      await users.update('svc', { ...((await users.find('svc', id)) ?? assert.fail()), email: '' })
      const patch = (...operations: Parameters<typeof patchOf>) =>
        scim.send('PATCH', `/Users/${id}`, { body: patchOf(...operations) })
      const answer = await patch({ op: 'replace', path: 'active', value: false })
      assert.deepEqual([answer.status, answer.json()['active'], answer.json()['emails']], [200, false, undefined])
      assert.equal((await users.find('svc', id))?.email, '')
      const email = { value: 'found@example.org' }
      assert.deepEqual((await patch({ op: 'add', path: 'emails', value: [email] })).json()['emails'], [email])
      assert.equal((await users.find('svc', id))?.email, 'found@example.org')
    })

    it('lose all access when deactivated', async () => {
      const { id } = await scim.createUser({ userName: 'leaver@example.org', password: 'correct horse 1' })
      const token = await scim.userToken('leaver@example.org', 'correct horse 1')
      assert.equal((await scim.send('GET', '/Me', { bearer: token })).status, 200)
      await scim.send('PATCH', `/Users/${id}`, { body: patchOf({ op: 'Replace', path: 'active', value: 'False' }) })
      assert.equal((await scim.send('GET', '/Me', { bearer: token })).status, 401)
      assert.equal(await scim.userToken('leaver@example.org', 'correct horse 1'), 'undefined')
    })

    it('get a new password, which must meet the policy and revokes their tokens', async () => {
      const { id } = await scim.createUser({ userName: 'pw@example.org' })
      assert.equal(await scim.userToken('pw@example.org', ''), 'undefined')
      const set = (value: string) =>
        scim.send('PATCH', `/Users/${id}`, { body: patchOf({ op: 'replace', value: { password: value } }) })
      assert.equal((await set('correct horse 1')).status, 200)
      const token = await scim.userToken('pw@example.org', 'correct horse 1')
      assert.equal((await scim.send('GET', '/Me', { bearer: token })).status, 200)
      const weak = await set('')
      assert.equal(weak.status, 400)
      assert.equal(weak.json()['scimType'], 'invalidValue')
      const both = await scim.send('PATCH', `/Users/${id}`, {
        body: patchOf(
          { op: 'replace', path: 'password', value: 'correct horse 2' },
          { op: 'add', path: 'title', value: 'VP' },
        ),
      })
      assert.equal(both.json()['title'], 'VP')
      assert.equal(both.json()['password'], undefined)
      assert.equal((await scim.send('GET', '/Me', { bearer: token })).status, 401)
      assert.notEqual(await scim.userToken('pw@example.org', 'correct horse 2'), 'undefined')
    })

    it('are imported with password hashes by administrators only', async () => {
      const { id } = await scim.createUser({ userName: 'source@example.org', password: 'correct horse 1' })
      const passwordHash = (await scim.server.store.users.find('svc', id))?.passwordHash
      const body = { schemas: [USER_SCHEMA], userName: 'import@example.org', [OWN]: { passwordHash } }
      assert.equal((await scim.send('POST', '/Users', { body })).status, 403)
      const made = await scim.send('POST', '/Users', { body, by: 'root' })
      assert.equal(made.status, 201, made.text)
      assert.ok(!made.text.includes(String(passwordHash)))
      assert.notEqual(await scim.userToken('import@example.org', 'correct horse 1'), 'undefined')
      for (const hash of [
        'secret',
        '$2b$31$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK',
        `${passwordHash} `,
      ]) {
        const weird = { ...body, userName: 'weird@example.org', [OWN]: { passwordHash: hash } }
        const refused = await scim.send('POST', '/Users', { body: weird, by: 'root' })
        assert.equal(refused.json()['scimType'], 'invalidValue', hash)
      }
      const later = await scim.send('PATCH', `/Users/${id}`, {
        body: patchOf({ op: 'add', path: `${OWN}:passwordHash`, value: passwordHash }),
        by: 'root',
      })
      assert.equal(later.json()['scimType'], 'mutability')
    })

    const conditions: readonly { name: string; method: string; headers: Record<string, string>; status: number }[] = [
      { name: 'a PUT of the current version', method: 'PUT', headers: { 'if-match': 'W/"0"' }, status: 200 },
      { name: 'a PUT of one of several versions', method: 'PUT', headers: { 'if-match': 'W/"7", W/"0"' }, status: 200 },
      { name: 'a PUT of any version', method: 'PUT', headers: { 'if-match': '*' }, status: 200 },
      // Covers /scim/v2/Users/{id}: rule: RFC 7644 §3.14, versions
      { name: 'a PUT of another version', method: 'PUT', headers: { 'if-match': 'W/"1"' }, status: 412 },
      { name: 'a PUT with an invalid version', method: 'PUT', headers: { 'if-match': 'x' }, status: 412 },
      { name: 'a PATCH of another version', method: 'PATCH', headers: { 'if-match': 'W/"9"' }, status: 412 },
      { name: 'a DELETE of another version', method: 'DELETE', headers: { 'if-match': 'W/"9"' }, status: 412 },
      {
        name: 'a DELETE of the current version',
        method: 'DELETE',
        headers: { 'if-match': 'W/"0"' },
        status: 204,
      },
    ]
    for (const { name, method, headers, status } of conditions) {
      it(`answer ${name} with ${status}`, async () => {
        const { id } = await scim.createUser()
        const bodies: Readonly<Record<string, unknown>> = {
          PUT: { schemas: [USER_SCHEMA], userName: `${id}@example.org` },
          PATCH: patchOf({ op: 'add', path: 'title', value: 'x' }),
        }
        const answer = await scim.send(method, `/Users/${id}`, { headers, body: bodies[method] })
        assert.equal(answer.status, status, answer.text)
      })
    }

    it('answer 304 to the current version, unless attributes without a version are requested', async () => {
      const { id } = await scim.createUser({ [OWN]: { verified: false } })
      const get = (tag: string, query: Readonly<Record<string, string>> = {}) =>
        scim.send('GET', `/Users/${id}`, { headers: { 'if-none-match': tag }, query })
      const short = { attributes: 'userName,title' }
      const known = await get('W/"0"', short)
      assert.deepEqual([known.status, known.headers['etag']], [304, 'W/"0"'])
      assert.equal((await get('W/"1"', short)).status, 200)

      const body = { schemas: [GROUP_SCHEMA], displayName: 'readers', members: [{ value: id }] }
      assert.equal((await scim.send('POST', '/Groups', { body })).status, 201)
      const grouped = await get('W/"0"', { attributes: 'groups' })
      assert.equal(grouped.status, 200)
      assert.match(grouped.text, /"readers"/)
      await scim.server.store.users.verify('svc', id)
      const verified = await get('W/"0"', { attributes: `${OWN}:verified` })
      assert.equal(verified.status, 200)
      assert.match(verified.text, /"verified":true/)
      assert.equal((await get('W/"0"')).status, 200)
    })

    for (const attribute of ['lastLogonTime', 'previousLogonTime', 'passwordLastModified']) {
      it(`answer 200 to the current version if ${attribute} is requested`, async () => {
        const { id } = await scim.createUser()
        for (const at of [1, 2]) await scim.server.store.users.recordLogon('svc', id, new Date(at))
        const request = { headers: { 'if-none-match': 'W/"0"' }, query: { attributes: `${OWN}:${attribute}` } }
        const answer = await scim.send('GET', `/Users/${id}`, request)
        assert.equal(answer.status, 200)
        assert.match(answer.text, new RegExp(`"${attribute}":"`))
      })
    }

    it('answer 200 to the current version if meta.lastModified is requested', async () => {
      const { id } = await scim.createUser()
      const { users } = scim.server.store
      const { passwordRevision = '' } = (await users.find('svc', id)) ?? {}
      const change = { passwordHash: 'x', passwordRevision: 'new', passwordChangedAt: new Date(7), meetsDemand: false }
      assert.ok(await users.setPassword('svc', id, passwordRevision, change))
      const request = { headers: { 'if-none-match': 'W/"0"' }, query: { attributes: 'meta.lastModified' } }
      const answer = await scim.send('GET', `/Users/${id}`, request)
      assert.equal(answer.status, 200)
      assert.match(answer.text, /"lastModified":"1970-01-01T00:00:00.007Z"/)
    })

    it('keep all concurrent changes', async () => {
      const { id } = await scim.createUser()
      const names = ['title', 'nickName', 'displayName', 'userType', 'locale', 'timezone']
      const answers = await Promise.all(
        names.map(path => scim.send('PATCH', `/Users/${id}`, { body: patchOf({ op: 'add', path, value: path }) })),
      )
      assert.deepEqual(
        answers.map(({ status }) => status),
        names.map(() => 200),
      )
      const read = (await scim.send('GET', `/Users/${id}`)).json()
      for (const name of names) assert.equal(read[name], name)
    })

    it('have unique names, regardless of case and Unicode form', async () => {
      await scim.createUser({ userName: 'Zoë@example.org' })
      for (const userName of ['ZOË@example.org', 'ｚｏë@EXAMPLE.org']) {
        const answer = await scim.send('POST', '/Users', { body: { schemas: [USER_SCHEMA], userName } })
        assert.deepEqual([answer.status, answer.json()['scimType']], [409, 'uniqueness'])
      }
      const { id } = await scim.createUser()
      const renamed = await scim.send('PATCH', `/Users/${id}`, {
        body: patchOf({ op: 'replace', path: 'userName', value: 'zoë@example.org' }),
      })
      assert.deepEqual([renamed.status, renamed.json()['scimType']], [409, 'uniqueness'])
    })

    const refusals: readonly { name: string; body: unknown; scimType?: string; status?: number }[] = [
      { name: 'no schemas', body: { userName: 'x@y.example' }, scimType: 'invalidSyntax' },
      {
        name: 'the schemas of a group',
        body: { schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'], userName: 'x@y' },
        scimType: 'invalidSyntax',
      },
      {
        name: 'an unknown schema',
        body: { schemas: [USER_SCHEMA, 'urn:x'], userName: 'x@y.example' },
        scimType: 'invalidSyntax',
      },
      {
        name: 'no userName',
        body: { schemas: [USER_SCHEMA], emails: [{ value: 'a@b.example' }] },
        scimType: 'invalidValue',
      },
      {
        name: 'an empty userName',
        body: { schemas: [USER_SCHEMA], userName: '', emails: [{ value: 'a@b.example' }] },
        scimType: 'invalidValue',
      },
      { name: 'no email address', body: { schemas: [USER_SCHEMA], userName: 'nobody' }, scimType: 'invalidValue' },
      {
        name: 'an unknown attribute',
        body: { schemas: [USER_SCHEMA], userName: 'x@y.example', age: 7 },
        scimType: 'invalidSyntax',
      },
      {
        name: 'a repeated attribute',
        body: { schemas: [USER_SCHEMA], userName: 'x@y.example', USERNAME: 'z@y.example' },
        scimType: 'invalidSyntax',
      },
      {
        name: 'a number for a string',
        body: { schemas: [USER_SCHEMA], userName: 'x@y.example', title: 7 },
        scimType: 'invalidValue',
      },
      {
        name: 'a string for a boolean',
        body: { schemas: [USER_SCHEMA], userName: 'x@y.example', active: 'yes' },
        scimType: 'invalidValue',
      },
      {
        name: 'an object for a list',
        body: { schemas: [USER_SCHEMA], userName: 'x@y.example', emails: { value: 'a' } },
        scimType: 'invalidValue',
      },
      {
        name: 'strings for objects',
        body: { schemas: [USER_SCHEMA], userName: 'x@y.example', emails: ['a@b'] },
        scimType: 'invalidValue',
      },
      {
        name: 'two primary emails',
        body: {
          schemas: [USER_SCHEMA],
          userName: 'x@y.example',
          emails: [
            { value: 'a', primary: true },
            { value: 'b', primary: true },
          ],
        },
        scimType: 'invalidValue',
      },
      {
        name: 'a certificate that is not base64',
        body: { schemas: [USER_SCHEMA], userName: 'x@y.example', x509Certificates: [{ value: '%' }] },
        scimType: 'invalidValue',
      },
      {
        name: 'a string that is too long',
        body: { schemas: [USER_SCHEMA], userName: 'x@y.example', title: 'x'.repeat(2000) },
        scimType: 'invalidValue',
      },
      {
        name: 'too many values',
        body: {
          schemas: [USER_SCHEMA],
          userName: 'x@y.example',
          roles: Array.from({ length: 101 }, (_, n) => ({ value: String(n) })),
        },
        scimType: 'invalidValue',
      },
      {
        name: 'an unknown origin',
        body: { schemas: [USER_SCHEMA], userName: 'x@y.example', [OWN]: { origin: 'nowhere' } },
        scimType: 'invalidValue',
      },
      ...(['password', 'passwordHash'] as const).map(name => ({
        name: `a ${name} of another provider`,
        body: {
          schemas: [USER_SCHEMA],
          userName: 'x@y.example',
          ...(name === 'password' && { password: 'a-good-password' }),
          [OWN]: { origin: 'login-server', ...(name === 'passwordHash' && { passwordHash: 'x' }) },
        },
        scimType: 'invalidValue',
      })),
      {
        name: 'a weak password',
        body: { schemas: [USER_SCHEMA], userName: 'x@y.example', password: '' },
        scimType: 'invalidValue',
      },
      { name: 'truncated JSON', body: '{"schemas":', scimType: 'invalidSyntax' },
      { name: 'a JSON list', body: '[]', scimType: 'invalidSyntax' },
      { name: '__proto__', body: '{"__proto__":{"userName":"x"}}', scimType: 'invalidSyntax' },
      { name: 'a body that is too large', body: JSON.stringify({ title: 'x'.repeat(1024 * 1024) }), status: 413 },
    ]
    for (const { name, body, scimType, status = 400 } of refusals) {
      it(`are not created with ${name}`, async () => {
        const answer = await scim.send('POST', '/Users', { body })
        assert.equal(answer.status, status, answer.text)
        const error = answer.json()
        assert.equal(error['scimType'], scimType, answer.text)
        assert.deepEqual([error['schemas'], error['status']], [[ERROR_SCHEMA], String(status)])
        assert.equal(typeof error['detail'], 'string')
      })
    }

    const rights: readonly { by: Caller; may: readonly string[]; request?: ScimRequest }[] = [
      { by: 'root', may: ['list', 'read', 'create', 'change', 'delete'] },
      { by: 'zone-admin', may: ['list', 'read', 'create', 'change', 'delete'] },
      { by: 'reader', may: ['list', 'read'] },
      { by: 'creator', may: ['create'] },
      { by: 'stranger', may: [] },
      { by: 'z1-admin', may: [] },
      { by: 'z1-admin', may: ['list', 'create'], request: { headers: TO_Z1 } },
      { by: 'z1-writer', may: ['list', 'create'], request: { headers: TO_Z1 } },
    ]
    for (const { by, may, request = {} } of rights) {
      it(`allow ${by} to ${may.join(', ') || 'do nothing'}${request.headers ? ' in the other zone' : ''}`, async () => {
        const { id } = await scim.createUser()
        const attempts = {
          list: () => scim.send('GET', '/Users', { by, ...request }),
          read: () => scim.send('GET', `/Users/${id}`, { by, ...request }),
          create: () =>
            scim.send('POST', '/Users', {
              by,
              ...request,
              body: { schemas: [USER_SCHEMA], userName: `${by}-${id}@x.example` },
            }),
          change: () =>
            scim.send('PATCH', `/Users/${id}`, {
              by,
              ...request,
              body: patchOf({ op: 'add', path: 'title', value: 'x' }),
            }),
          delete: () => scim.send('DELETE', `/Users/${id}`, { by, ...request }),
        }
        for (const [name, attempt] of Object.entries(attempts)) {
          const { status, headers } = await attempt()
          const isAllowed = may.includes(name)
          // A user of this zone does not exist there.
          const expected = isAllowed ? [200, 201, 204] : request.headers ? [403, 404] : [403]
          assert.ok(expected.includes(status), `${name}: ${status}`)
          if (status === 403) assert.match(String(headers['content-type']), /^application\/(?:scim\+)?json/)
        }
      })
    }

    it('of another zone are not found', async () => {
      const made = await scim.createUser({}, { by: 'z1-admin', headers: TO_Z1 })
      assert.equal(made.meta.location, `http://z1.localhost:8080/scim/v2/Users/${made.id}`)
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
        const body =
          method === 'PUT'
            ? { schemas: [USER_SCHEMA], userName: 'taken@x.example' }
            : patchOf({ op: 'remove', path: 'title' })
        const answer = await scim.send(method, `/Users/${made.id}`, {
          by: 'root',
          ...(method !== 'GET' && method !== 'DELETE' && { body }),
        })
        assert.equal(answer.status, 404, method)
      }
      const native = { bearer: await scim.tokenOf('z1-native', HOST_OF_Z1), host: HOST_OF_Z1 }
      assert.equal((await scim.send('GET', `/Users/${made.id}`, native)).status, 200)
    })

    it('record each change with its caller in the audit log', async () => {
      const { id } = await scim.createUser()
      await scim.send('PATCH', `/Users/${id}`, { body: patchOf({ op: 'add', path: 'title', value: 'x' }) })
      await scim.send('DELETE', `/Users/${id}`)
      const events = scim.server.events.filter(({ principal }) => principal === id)
      assert.deepEqual(
        events.map(({ type, clientId }) => [type, clientId]),
        ['UserCreatedEvent', 'UserModifiedEvent', 'UserDeletedEvent'].map(type => [type, 'writer']),
      )
    })
  })
}
