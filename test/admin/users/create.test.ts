import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MODES, passwordTokens } from '../../support/oauth.ts'
import { assertRefused, newUserBody, startUserServer, statusesOf } from '../../support/users.ts'
import type { UserAnswer, UserApi } from '../../support/users.ts'

const PATTERN = String.raw`Username must match pattern: [\p{L}+0-9+\-_.@'!]+`
const DISABLED = 'Internal User Creation is currently disabled. External User Store is in use.'

for (const mode of MODES) {
  describe(`POST /Users (${mode})`, () => {
    let api: UserApi
    before(async () => {
      api = await startUserServer(mode, {
        config: {
          bootstrap: {
            identity_zones: [
              { id: 'small', subdomain: 'small', name: 'Small', config: { userConfig: { maxUsers: 2 } } },
              { id: 'z1', subdomain: 'one', name: 'Zone 1' },
            ],
          },
        },
      })
      const { store } = api.server
      const provider = (zoneId: string, originKey: string, config: object, active = true) =>
        store.providers.insert(zoneId, {
          zoneId,
          id: `${zoneId}-${originKey}`,
          originKey,
          type: 'oidc1.0',
          name: originKey,
          active,
          config: config as Record<string, unknown>,
          version: 0,
          createdAt: api.server.clock.now(),
          updatedAt: api.server.clock.now(),
        })
      await provider('svc', 'corp', { emailDomain: ['corp.example', '*.corp.example'] })
      await provider('svc', 'corp2', { emailDomain: ['corp.example'] })
      await provider('svc', 'asleep', { emailDomain: ['asleep.example'] }, false)
    })
    after(async () => {
      assert.deepEqual(api.server.faults, [])
      await api.stop()
    })

    // Covers SCIM requests: header: ETag
    // Covers User resource: schemas; passwordLastModified
    // Covers POST /Users: header: ETag
    it('returns the stored user with an ETag, its members in the order of UAA', async () => {
      const answer = await api.send('POST', '/Users', newUserBody('u1'))
      const user = answer.json<UserAnswer & Record<string, unknown>>()
      assert.equal(answer.status, 201)
      assert.equal(answer.headers['etag'], '"0"')
      assert.equal(answer.headers['location'], undefined)
      assert.match(String(answer.headers['content-type']), /^application\/json\b/)
      const now = api.server.clock.now()
      const seconds = new Date(Math.floor(now.getTime() / 1000) * 1000).toISOString()
      const { groups, ...rest } = user
      assert.deepEqual(rest, {
        id: user.id,
        meta: { version: 0, created: now.toISOString(), lastModified: now.toISOString() },
        userName: 'u1',
        name: { familyName: 'B', givenName: 'A' },
        emails: [{ value: 'u1@test.org', primary: false }],
        approvals: [],
        active: true,
        verified: true,
        origin: 'svc',
        zoneId: 'svc',
        passwordLastModified: seconds,
        schemas: ['urn:scim:schemas:core:1.0'],
      })
      const order =
        'id meta userName name emails groups approvals active verified origin zoneId passwordLastModified schemas'
      assert.deepEqual(Object.keys(user), order.split(' '))
      assert.match(user.id, /^[0-9a-f-]{36}$/)
      assert.ok(groups?.some(({ display, type, value }) => display === 'svc.user' && type === 'DIRECT' && value !== ''))
      assert.deepEqual(await api.read(user.id), user)
      await passwordTokens(api.server, { username: 'U1', password: 'pw-1-long-enough' })
    })

    // Covers SCIM requests: meta.version of the body
    // Covers User resource: id; name.familyName; name.givenName; name.formatted; name.middleName; name.honorificPrefix
    // Covers User resource: name.honorificSuffix; emails; phoneNumbers; active; verified; externalId; zoneId; salt
    // Covers User resource: meta; displayName; nickName; profileUrl; title; userType; preferredLanguage; locale
    // Covers User resource: timezone
    // Covers POST /Users: body
    it('stores supported members and ignores the others', async () => {
      const answer = await api.send(
        'POST',
        '/Users',
        newUserBody('u2', {
          emails: [{ value: 'b2@test.org', primary: true, type: 'work' }],
          name: { formatted: 'F', givenName: 'G', familyName: 'M', middleName: 'Mid', honorificPrefix: 'X', other: 1 },
          id: 'my-own-id',
          externalId: 'ext-2',
          active: false,
          verified: false,
          displayName: 'Dis Play',
          title: 'Dr',
          locale: 'en_US',
          preferredLanguage: 'de',
          timezone: 'Europe/Berlin',
          nickName: 'nick',
          profileUrl: 'http://p',
          userType: 'x',
          phoneNumbers: [{ value: ' ' }, { value: '123' }, { value: '456', type: 'mobile' }],
          groups: [{ value: 'svc.admin', display: 'svc.admin' }],
          salt: 'abc',
          meta: { version: 7 },
          origin: '',
          zoneId: 'z1',
          passwordLastModified: '2020-01-01T00:00:00.000Z',
          lastLogonTime: 5,
          previousLogonTime: 4,
          schemas: ['urn:scim:schemas:core:1.0'],
        }),
      )
      assert.equal(answer.status, 201, answer.text)
      assert.equal(answer.headers['etag'], '"7"')
      const { id, meta, groups, passwordLastModified, ...rest } = answer.json<UserAnswer & Record<string, unknown>>()
      assert.deepEqual(rest, {
        externalId: 'ext-2',
        userName: 'u2',
        name: { familyName: 'M', givenName: 'G' },
        emails: [{ value: 'b2@test.org', primary: true }],
        approvals: [],
        phoneNumbers: [{ value: '123' }],
        active: false,
        verified: false,
        origin: 'svc',
        zoneId: 'svc',
        salt: 'abc',
        schemas: ['urn:scim:schemas:core:1.0'],
      })
      assert.notEqual(id, 'my-own-id')
      assert.equal(meta.version, 7)
      assert.notEqual(passwordLastModified, '2020-01-01T00:00:00.000Z')
      assert.ok(!groups?.some(({ display }) => display === 'svc.admin'))
    })

    it('accepts member names in any case, booleans as strings, and null as absent', async () => {
      const body = {
        USERNAME: 'upper',
        Emails: [{ VALUE: 'upper@test.org' }],
        NAME: { GIVENNAME: 'G', familyName: null },
        PassWord: 'pw-1-long-enough',
        active: 'false',
        VERIFIED: 'true',
        externalId: null,
        phoneNumbers: null,
      }
      const answer = await api.send('POST', '/Users', body)
      assert.equal(answer.status, 201, answer.text)
      const user = answer.json<UserAnswer & Record<string, unknown>>()
      assert.deepEqual(
        [user.userName, user.name, user.active, user.verified],
        ['upper', { givenName: 'G' }, false, true],
      )
    })

    it('accepts a missing name and a malformed email address', async () => {
      const { name } = await api.create('u-noname', { name: undefined, emails: [{ value: 'nonsense' }] })
      assert.deepEqual(name, {})
    })

    // Covers User resource: approvals
    it('stores approvals, and rejects one of an unknown client', async () => {
      const approvals = [
        { clientId: 'app', scope: 'openid', status: 'APPROVED', expiresAt: '2040-01-01T00:00:00.000Z' },
        { clientId: 'app', scope: 'profile', status: 'DENIED' },
      ]
      const user = await api.create('u-appr', { approvals })
      const lastUpdatedAt = api.server.clock.now().toISOString()
      const inHalfAnHour = new Date(api.server.clock.now().getTime() + 1_800_000).toISOString()
      assert.deepEqual(user.approvals, [
        { userId: user.id, ...approvals[0], lastUpdatedAt },
        { userId: user.id, ...approvals[1], lastUpdatedAt, expiresAt: inHalfAnHour },
      ])
      const refused = await api.send(
        'POST',
        '/Users',
        newUserBody('u-appr2', { approvals: [{ ...approvals[0], clientId: 'nope' }] }),
      )
      assertRefused(refused, { status: 400, error: 'scim', message: 'There is no client with the id nope' })
    })

    // Covers User resource: origin
    it('creates users of other origins without a password', async () => {
      const answer = await api.create('u corp', {
        origin: 'corp',
        externalId: 'cn=u',
        emails: [{ value: 'u@corp.example' }],
      })
      assert.equal(answer.origin, 'corp')
      assert.equal((await api.server.store.users.find('svc', answer.id))?.passwordHash, undefined)
      await api.create('u2corp', { origin: 'asleep' })
      const again = newUserBody('another', { origin: 'corp', externalId: 'cn=u' })
      assertRefused(await api.send('POST', '/Users', again), {
        status: 409,
        error: 'scim_resource_already_exists',
        message: 'External id already in use: cn=u',
      })
    })

    it('accepts the same name at another origin, and the same email twice', async () => {
      await api.create('same')
      await api.create('same', { origin: 'corp' })
      await api.create('same2', { emails: [{ value: 'same@test.org' }] })
      await api.create('sub', { emails: [{ value: 'sub@a.b.corp.example' }] })
      await api.create('woken', { emails: [{ value: 'woken@asleep.example' }] })
    })

    it('accepts the name of a deleted user', async () => {
      const first = await api.create('phoenix')
      assert.equal((await api.send('DELETE', `/Users/${first.id}`)).status, 200)
      assert.notEqual((await api.create('phoenix')).id, first.id)
    })

    // Covers User resource: userName
    it('treats names that differ in case or width as duplicates, even concurrently', async () => {
      const answers = await Promise.all(
        ['Twin', 'tWIN', 'ＴＷＩＮ', 'twin'].map(name => api.send('POST', '/Users', newUserBody(name))),
      )
      assert.deepEqual(statusesOf(answers), [201, 409, 409, 409])
    })

    it('creates no user if the provider is concurrently replaced', async () => {
      const { providers, users } = api.server.store
      const internal = (await providers.findByOrigin('svc', 'svc')) ?? assert.fail()
      const brief = { ...internal, id: 'brief', originKey: 'brief', type: 'oidc1.0', config: {} }
      await providers.insert('svc', brief)
      const unchanged = { ...users }
      const create: typeof users.create = async (...args) => {
        const found = (await providers.findForChange('svc', 'brief')) ?? assert.fail()
        await providers.apply('svc', { kind: 'delete', ...found })
        await providers.insert('svc', { ...brief, id: 'next' })
        return unchanged.create(...args)
      }
      Object.assign(users, { create })
      try {
        const answer = await api.send('POST', '/Users', newUserBody('late', { origin: 'brief' }))
        const message = 'Invalid origin brief in Identity Zone svc'
        assertRefused(answer, { status: 400, error: 'invalid_scim_resource', message })
      } finally {
        Object.assign(users, unchanged)
      }
      assert.equal(await users.findByName('svc', 'brief', 'late'), undefined)
    })

    const refusals = [
      // Covers SCIM errors: error: invalid_scim_resource
      // Covers POST /Users: error: no user name
      { name: 'no userName', more: { userName: undefined }, message: 'A username must be provided.' },
      { name: 'an empty userName', more: { userName: '' }, message: 'A username must be provided.' },
      { name: 'a blank userName', more: { userName: ' \t' }, message: 'A username must be provided.' },
      // Covers POST /Users: error: user name pattern
      { name: 'forbidden characters in the userName', more: { userName: 'u3<b>' }, message: PATTERN },
      { name: 'a space in the userName', more: { userName: "a b'c" }, message: PATTERN },
      { name: 'a trailing line break in the userName', more: { userName: 'u3\n' }, message: PATTERN },
      { name: 'no emails', more: { emails: undefined }, message: 'Exactly one email must be provided.' },
      { name: 'an empty list of emails', more: { emails: [] }, message: 'Exactly one email must be provided.' },
      // Covers POST /Users: error: not one e-mail
      {
        name: 'two emails',
        more: { emails: [{ value: 'a@test.org' }, { value: 'b@test.org', primary: true }] },
        message: 'Exactly one email must be provided.',
      },
      { name: 'an empty email', more: { emails: [{ value: '' }] }, message: 'An email must be provided.' },
      { name: 'an email without a value', more: { emails: [{}] }, message: 'An email must be provided.' },
      // Covers POST /Users: error: unknown origin
      // Covers Zone config in effect: userConfig.checkOriginEnabled
      {
        name: 'an origin without a provider',
        more: { origin: 'nope-origin' },
        message: 'Invalid origin nope-origin in Identity Zone svc',
      },
    ]
    for (const { name, more, message } of refusals) {
      it(`refuses ${name}`, async () => {
        const answer = await api.send('POST', '/Users', newUserBody('u3', more))
        assertRefused(answer, { status: 400, error: 'invalid_scim_resource', message })
      })
    }

    const long = (length: number) => 'x'.repeat(length)
    const malformed = [
      // Covers User resource: error: unknown top-level field
      { name: 'an unknown member', more: { foo: 'bar' }, message: 'Unrecognized field "foo"' },
      { name: 'a duplicate member', more: { USERNAME: 'x' }, message: 'The member USERNAME occurs twice' },
      {
        name: 'another schema',
        more: { schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'] },
        message: "Only schema 'urn:scim:schemas:core:1.0' is currently supported",
      },
      {
        name: 'an unknown string for active',
        more: { active: 'maybe' },
        message: 'The value of active must be a boolean',
      },
      { name: 'a number for active', more: { active: 1 }, message: 'The value of active must be a boolean' },
      { name: 'a number for userName', more: { userName: 5 }, message: 'The value of userName must be a string' },
      { name: 'a list for password', more: { password: ['x'] }, message: 'The value of password must be a string' },
      { name: 'a string for name', more: { name: 'A B' }, message: 'The value of name must be an object' },
      {
        name: 'a number in name',
        more: { name: { givenName: 1 } },
        message: 'The value of name.givenName must be a string',
      },
      { name: 'a string for emails', more: { emails: 'a@b.c' }, message: 'The value of emails must be a list' },
      {
        name: 'a list of strings for emails',
        more: { emails: ['a@b.c'] },
        message: 'The value of emails must be a list of objects',
      },
      {
        name: 'a string for emails.primary',
        more: { emails: [{ value: 'a', primary: 'x' }] },
        message: 'The value of emails.primary must be a boolean',
      },
      {
        name: 'an object for phoneNumbers',
        more: { phoneNumbers: {} },
        message: 'The value of phoneNumbers must be a list',
      },
      { name: 'a string for meta', more: { meta: '1' }, message: 'The value of meta must be an object' },
      {
        name: 'a negative version',
        more: { meta: { version: -1 } },
        message: 'The value of meta.version must be a version number',
      },
      {
        name: 'a fractional version',
        more: { meta: { version: 1.5 } },
        message: 'The value of meta.version must be a version number',
      },
      {
        name: 'NUL in a name',
        more: { name: { givenName: 'a\0b' } },
        message: 'The value of name.givenName contains characters that cannot be stored',
      },
      {
        name: 'a lone surrogate',
        more: { externalId: '\ud800' },
        message: 'The value of externalId contains characters that cannot be stored',
      },
      {
        name: 'a userName of 256 characters',
        more: { userName: long(256) },
        message: 'The value of userName must have at most 255 characters',
      },
      {
        name: 'an email of 256 characters',
        more: { emails: [{ value: long(256) }] },
        message: 'The value of email must have at most 255 characters',
      },
      {
        name: 'an externalId of 256 characters',
        more: { externalId: long(256) },
        message: 'The value of externalId must have at most 255 characters',
      },
      {
        name: 'a salt of 37 characters',
        more: { salt: long(37) },
        message: 'The value of salt must have at most 36 characters',
      },
      {
        name: 'an approval without a scope',
        more: { approvals: [{ clientId: 'app', status: 'APPROVED' }] },
        message: 'An approval must have clientId, scope and a status of APPROVED or DENIED',
      },
      {
        name: 'an approval whose expiresAt is not a date',
        more: { approvals: [{ clientId: 'app', scope: 'openid', status: 'DENIED', expiresAt: 'soon' }] },
        message: 'The value of approvals.expiresAt must be a date',
      },
      {
        name: 'an approval whose expiresAt has no time zone',
        more: { approvals: [{ clientId: 'app', scope: 'openid', status: 'DENIED', expiresAt: '2030-01-01T00:00:00' }] },
        message: 'The value of approvals.expiresAt must be a date',
      },
      {
        name: 'an approval whose expiresAt is a word and a number',
        more: { approvals: [{ clientId: 'app', scope: 'openid', status: 'DENIED', expiresAt: 'in 7' }] },
        message: 'The value of approvals.expiresAt must be a date',
      },
      { name: 'aliasZid', more: { aliasZid: 'z1' }, message: 'Alias ID and/or alias ZID are invalid.' },
      { name: 'aliasId', more: { aliasId: 'x' }, message: 'Alias ID and/or alias ZID are invalid.' },
      // Covers POST /Users: error: domain of another provider
      {
        name: 'the email domain of other providers',
        more: { emails: [{ value: 'u3@Corp.Example' }] },
        message: 'The user account is set up for single sign-on. Please use one of these origin(s) : [corp, corp2]',
      },
    ]
    for (const { name, more, message } of malformed) {
      it(`refuses ${name}`, async () => {
        const answer = await api.send('POST', '/Users', newUserBody('u3', more))
        assertRefused(answer, { status: 400, error: 'scim', message })
      })
    }

    const bodies = [
      // Covers SCIM errors: error: scim
      // Covers POST /Users: error: unreadable JSON
      { name: 'invalid JSON', body: '{bad', message: 'The request body is not valid JSON' },
      { name: 'a list', body: '[]', message: 'The request body must be a JSON object' },
      { name: 'null', body: 'null', message: 'The request body must be a JSON object' },
      { name: '__proto__', body: '{"__proto__":{"active":true}}', message: 'The request body is not valid JSON' },
      { name: '__proto__ in a name', body: '{"name":{"__proto__":{}}}', message: 'The request body is not valid JSON' },
      { name: 'constructor', body: '{"constructor":{}}', message: 'Unrecognized field "constructor"' },
      {
        name: 'deep nesting',
        body: `${'[{"a":'.repeat(50)}1${'}]'.repeat(50)}`,
        message: 'The request body is nested too deeply',
      },
      {
        name: 'invalid UTF-8',
        body: Buffer.from([0x7b, 0xff, 0x7d]),
        message: 'The request body is not UTF-8',
      },
    ]
    for (const { name, body, message } of bodies) {
      it(`refuses ${name} as a body`, async () => {
        const headers = { 'content-type': 'application/json' }
        const answer = await api.send('POST', '/Users', undefined, { body, headers })
        assertRefused(answer, { status: 400, error: 'scim', message })
      })
    }

    it('rejects a missing body, other content types and a body that is too large', async () => {
      const headers = { 'content-type': 'application/json' }
      assertRefused(await api.send('POST', '/Users', undefined, { headers }), {
        status: 400,
        error: 'scim',
        message: 'The request has no body',
      })
      assertRefused(await api.send('POST', '/Users', undefined, { form: 'userName=x' }), {
        status: 400,
        error: 'scim',
        message: "Content type 'application/x-www-form-urlencoded' not supported",
      })
      assertRefused(await api.send('POST', '/Users', '{}', { headers: { 'content-type': 'text/plain' } }), {
        status: 400,
        error: 'scim',
        message: "Content type 'text/plain' not supported",
      })
      assertRefused(await api.send('POST', '/Users', newUserBody('u3', { title: long(100_000) })), {
        status: 413,
        error: 'scim',
        message: 'The request body is too large',
      })
    })

    it('responds with JSON for any Accept header, and creates the user once', async () => {
      const answer = await api.send('POST', '/Users', newUserBody('u3acc'), { headers: { accept: 'text/html' } })
      assert.equal(answer.status, 201)
      assert.match(String(answer.headers['content-type']), /^application\/json\b/)
    })

    const least = mode === 'uaa' ? 1 : 8
    for (const password of [undefined, '', null]) {
      it(`refuses ${password === '' ? 'an empty' : String(password)} password`, async () => {
        const answer = await api.send('POST', '/Users', newUserBody('u3', { password }))
        const message = `Password must be at least ${least} characters in length.`
        assertRefused(answer, { status: 400, error: 'invalid_password', message })
      })
    }
    // Covers SCIM errors: error: invalid_password
    // Covers POST /Users: error: password policy
    it('refuses a password of 256 characters', async () => {
      const answer = await api.send('POST', '/Users', newUserBody('u3', { password: long(256) }))
      const message = 'Password must be no more than 255 characters in length.'
      assertRefused(answer, { status: 400, error: 'invalid_password', message })
    })

    // Covers User resource: password
    it('hashes a password that looks like a bcrypt hash', async () => {
      const password = '$2a$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234'
      const { id } = await api.create('hashed', { password })
      assert.notEqual((await api.server.store.users.find('svc', id))?.passwordHash, password)
      await passwordTokens(api.server, { username: 'hashed', password })
    })

    // Covers SCIM errors: error: scim_resource_already_exists
    // Covers POST /Users: error: already exists
    it('rejects a taken name in any case, and returns its origin', async () => {
      await api.create('taken')
      const answer = await api.send('POST', '/Users', newUserBody('TAKEN'))
      assertRefused(answer, {
        status: 409,
        error: 'scim_resource_already_exists',
        message: 'Username already in use: TAKEN',
      })
      assert.equal(answer.json()['origin'], 'svc')
    })

    // Covers POST /Users: error: `maxUsers`
    // Covers Zone config in effect: userConfig.maxUsers
    it('enforces maxUsers, even concurrently', async () => {
      const headers = { 'x-identity-zone-id': 'small' }
      const answers = await Promise.all(
        ['a', 'b', 'c', 'd'].map(name => api.send('POST', '/Users', newUserBody(name), { headers })),
      )
      assert.deepEqual(statusesOf(answers), [201, 201, 400, 400])
      assertRefused(await api.send('POST', '/Users', newUserBody('e'), { headers }), {
        status: 400,
        error: 'invalid_scim_resource',
        message: 'The maximum allowed numbers of users: 2 is reached already in Identity Zone small',
      })
    })

    // Covers SCIM errors: error: internal_user_management_disabled
    // Covers POST /Users: error: internal management disabled
    it('rejects internal users if internal user management is disabled', async () => {
      const { providers } = api.server.store
      const internal = await providers.findByOrigin('z1', 'svc')
      assert.ok(internal)
      await providers.update('z1', { ...internal, config: { ...internal.config, disableInternalUserManagement: true } })
      const headers = { 'x-identity-zone-id': 'z1' }
      for (const more of [{}, { origin: 'svc' }, { userName: undefined }]) {
        const answer = await api.send('POST', '/Users', newUserBody('polx', more), { headers })
        assertRefused(answer, { status: 403, error: 'internal_user_management_disabled', message: DISABLED })
      }
    })

    // Covers audit trail: UserCreatedEvent
    it('records the caller and the new user in the audit log', async () => {
      const { id } = await api.create('reported')
      const event = api.server.events.findLast(({ type }) => type === 'UserCreatedEvent')
      assert.deepEqual(event, {
        type: 'UserCreatedEvent',
        zoneId: 'svc',
        principal: id,
        origin: 'svc',
        clientId: 'admin',
        remoteAddress: '127.0.0.1',
        byOther: true,
        data: JSON.stringify([`user_id=${id}`, 'username=reported']),
      })
      assert.doesNotMatch(JSON.stringify(api.server.events), /pw-1-long-enough/)
    })
  })
}
