import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../../support/oauth.ts'
import { IN_Z1, assertRefused, newUserBody, startUserServer, statusesOf } from '../../support/users.ts'
import type { UserAnswer, UserApi, UserRequest } from '../../support/users.ts'

const SELF_EDIT =
  'Users are only allowed to edit their own User settings when internal user storage is enabled, and in that case they may only edit the givenName and familyName.'
const DISABLED = 'Internal User Creation is currently disabled. External User Store is in use.'
const ANY = { headers: { 'if-match': '*' } }

/** The body of a PUT that changes only the given members. */
const bodyOf = (
  { userName, name, emails, phoneNumbers, externalId, active, verified }: UserAnswer,
  more: object = {},
) => ({
  userName,
  name,
  emails,
  phoneNumbers,
  externalId,
  active,
  verified,
  ...more,
})

for (const mode of MODES) {
  describe(`/Users/{id} (${mode})`, () => {
    let api: UserApi
    let count = 0
    const fresh = (more: object = {}): Promise<UserAnswer> => api.create(`user${(count += 1)}`, more)
    const change = async (method: string, user: UserAnswer, body: unknown, request: UserRequest = ANY) =>
      api.send(method, `/Users/${user.id}`, body, request)
    const changed = async (method: string, user: UserAnswer, body: unknown, request?: UserRequest) => {
      const answer = await change(method, user, body, request)
      assert.equal(answer.status, 200, answer.text)
      return answer.json<UserAnswer & Record<string, unknown>>()
    }
    before(async () => {
      api = await startUserServer(mode)
    })
    after(async () => {
      assert.deepEqual(api.server.faults, [])
      await api.stop()
    })

    describe('GET /Users/{id}', () => {
      // Covers User resource: groups
      // Covers GET /Users/{id}: id; header: ETag
      it('returns the user with an ETag and with direct and indirect groups', async () => {
        const user = await fresh()
        const { groups } = api.server.store
        const now = api.server.clock.now()
        for (const displayName of ['acme', 'acme.dev']) {
          const times = { version: 0, createdAt: now, updatedAt: now }
          await groups.insert('svc', {
            zoneId: 'svc',
            id: `${user.id}-${displayName}`,
            displayName: `${user.id}.${displayName}`,
            ...times,
          })
        }
        const member = { origin: 'svc', groupId: `${user.id}-acme.dev` }
        await groups.addMember('svc', { ...member, memberId: user.id, memberType: 'USER' })
        await groups.addMember('svc', {
          ...member,
          groupId: `${user.id}-acme`,
          memberId: `${user.id}-acme.dev`,
          memberType: 'GROUP',
        })
        const answer = await api.send('GET', `/Users/${user.id}`, undefined, { by: 'reader' })
        assert.equal(answer.headers['etag'], '"0"')
        const found = answer.json<UserAnswer & Record<string, unknown>>()
        const own = found.groups?.filter(({ display }) => display.startsWith(user.id))
        assert.deepEqual(own?.map(({ display, type }) => `${display.slice(user.id.length)} ${type}`).toSorted(), [
          '.acme INDIRECT',
          '.acme.dev DIRECT',
        ])
      })

      // Covers User resource: lastLogonTime; previousLogonTime
      it('returns the times of the last two sign-ins', async () => {
        const user = await fresh()
        assert.equal(user.lastLogonTime, undefined)
        await api.tokenOfUser(user.userName)
        const first = api.server.clock.now().getTime()
        assert.deepEqual(
          [(await api.read(user.id)).lastLogonTime, (await api.read(user.id)).previousLogonTime],
          [first, undefined],
        )
        api.server.clock.advance(60)
        await api.tokenOfUser(user.userName)
        const { lastLogonTime, previousLogonTime } = await api.read(user.id)
        assert.deepEqual([lastLogonTime, previousLogonTime], [first + 60_000, first])
      })

      // Covers SCIM errors: error: scim_resource_not_found
      // Covers GET /Users/{id}: error: not found
      it('answers 404 for unknown ids and users of other zones', async () => {
        const there = await api.create('elsewhere', {}, IN_Z1)
        for (const id of ['no-such-id', 'a%00b', '%27', there.id]) {
          const answer = await api.send('GET', `/Users/${id}`)
          assertRefused(answer, {
            status: 404,
            error: 'scim_resource_not_found',
            message: `User ${decodeURIComponent(id)} does not exist`,
          })
        }
        assert.equal((await api.send('GET', `/Users/${there.id}`, undefined, IN_Z1)).status, 200)
      })

      it('ignores If-Match and If-None-Match', async () => {
        const { id } = await fresh()
        const answer = await api.send('GET', `/Users/${id}`, undefined, {
          headers: { 'if-none-match': '"0"', 'if-match': '"9"' },
        })
        assert.equal(answer.status, 200)
      })
    })

    describe('PUT /Users/{id}', () => {
      // Covers PUT /Users/{id}: body
      it('replaces the user and increments the version', async () => {
        const user = await fresh({ externalId: 'x', phoneNumbers: [{ value: '1' }], verified: false })
        api.server.clock.advance(5)
        const answer = await change(
          'PUT',
          user,
          { ...newUserBody('ignored'), userName: `${user.userName}-new`, name: { givenName: 'New' } },
          { headers: { 'if-match': '0' } },
        )
        assert.equal(answer.status, 200, answer.text)
        assert.equal(answer.headers['etag'], '"1"')
        const after = answer.json<UserAnswer & Record<string, unknown>>()
        const { externalId: _, phoneNumbers: _phones, ...rest } = user
        assert.deepEqual(after, {
          ...rest,
          meta: { ...user.meta, version: 1, lastModified: api.server.clock.now().toISOString() },
          userName: `${user.userName}-new`,
          name: { givenName: 'New' },
          emails: [{ value: 'ignored@test.org', primary: false }],
          verified: true,
        })
        assert.deepEqual(await api.read(user.id), after)
      })

      it('ignores password, groups, approvals, zoneId, id and meta in the body', async () => {
        const user = await fresh()
        await changed(
          'PUT',
          user,
          bodyOf(user, {
            password: 'another-password',
            groups: [{ display: 'svc.admin' }],
            approvals: [],
            zoneId: 'z1',
            id: 'x',
            meta: { version: 9, created: '2020-01-01T00:00:00.000Z' },
          }),
        )
        await api.tokenOfUser(user.userName)
        assert.equal((await api.read(user.id)).meta.version, 1)
      })

      // Covers PUT /Users/{id}: If-Match
      it('accepts a quoted version and * in If-Match', async () => {
        const user = await fresh()
        await changed('PUT', user, bodyOf(user), { headers: { 'if-match': '"0"' } })
        assert.equal((await changed('PUT', user, bodyOf(user))).meta.version, 2)
      })

      it('keeps the primary flag of an email unless the request sets it or changes the address', async () => {
        const user = await fresh({ emails: [{ value: 'p@test.org', primary: true }] })
        const after = async (email: object) => (await changed('PUT', user, bodyOf(user, { emails: [email] }))).emails
        assert.deepEqual(await after({ value: 'p@test.org' }), [{ value: 'p@test.org', primary: true }])
        assert.deepEqual(await after({ value: 'p@test.org', primary: false }), [
          { value: 'p@test.org', primary: false },
        ])
        assert.deepEqual(await after({ value: 'q@test.org', primary: true }), [{ value: 'q@test.org', primary: true }])
        assert.deepEqual(await after({ value: 'r@test.org' }), [{ value: 'r@test.org', primary: false }])
      })

      it('keeps a salt omitted from the body, so that revoked tokens stay revoked', async () => {
        const user = await fresh()
        const token = await api.tokenOfUser(user.userName)
        await api.server.store.users.setSalt('svc', user.id, 'revoked')
        assert.equal((await changed('PUT', user, bodyOf(user))).salt, 'revoked')
        assert.equal((await api.send('GET', `/Users/${user.id}`, undefined, { bearer: token })).status, 401)
        assert.equal((await changed('PUT', user, bodyOf(user, { salt: 'other' }))).salt, 'other')
      })

      for (const [member, more] of [
        ['userName', { userName: 'renamed' }],
        ['email', { emails: [{ value: 'moved@test.org' }] }],
        ['salt', { salt: 'salted' }],
      ] as const) {
        it(`revokes tokens if ${member} changes, but not if the name does`, async () => {
          const user = await fresh()
          const bearer = await api.tokenOfUser(user.userName)
          const asUser = () => api.send('GET', `/Users/${user.id}`, undefined, { bearer })
          await changed('PUT', user, bodyOf(user, { name: { givenName: 'Other' } }))
          assert.equal((await asUser()).status, 200)
          await changed('PUT', user, bodyOf(user, more))
          assert.equal((await asUser()).status, 401)
        })
      }

      it('permanently ends sessions and tokens of a deactivated user', async () => {
        const user = await fresh()
        const bearer = await api.tokenOfUser(user.userName)
        const browser = api.server.browser()
        await browser.signIn(user.userName, 'pw-1-long-enough')
        assert.equal((await browser.send('/profile')).status, 200)
        assert.equal((await changed('PUT', user, bodyOf(user, { active: false }))).active, false)
        const form = { grant_type: 'password', username: user.userName, password: 'pw-1-long-enough' }
        assert.ok((await api.server.token(form, { basic: ['portal', 'portal-secret'] })).status >= 400)
        for (const active of [false, true]) {
          await changed('PUT', user, bodyOf(user, { active }))
          assert.equal((await api.send('GET', `/Users/${user.id}`, undefined, { bearer })).status, 401)
          assert.equal((await browser.send('/profile')).status, 302)
        }
        await api.tokenOfUser(user.userName)
      })

      const versions = [
        // Covers PUT /Users/{id}: error: no If-Match
        { name: 'no If-Match', header: undefined, message: 'Missing If-Match for PUT' },
        ...['W/"2"', 'abc', '-1', '1.0', '99999999999'].map(header => ({
          name: `If-Match: ${header}`,
          header,
          message: `Invalid version match header (should be a version number): ${header}`,
        })),
      ]
      for (const { name, header, message } of versions) {
        // Covers PATCH /Users/{id}: If-Match
        it(`rejects ${name}, like PATCH`, async () => {
          const user = await fresh()
          const request = header === undefined ? {} : { headers: { 'if-match': header } }
          for (const [method, body] of [
            ['PUT', bodyOf(user)],
            ['PATCH', {}],
          ] as const) {
            assertRefused(await change(method, user, body, request), { status: 400, error: 'scim', message })
          }
          assert.equal((await api.read(user.id)).meta.version, 0)
        })
      }

      // Covers SCIM errors: error: scim_resource_conflict
      // Covers PUT /Users/{id}: error: stale version
      it('rejects a stale version, and applies one of several concurrent changes', async () => {
        const user = await fresh()
        const with0 = { headers: { 'if-match': '0' } }
        const answers = await Promise.all(
          ['a', 'b', 'c'].map(givenName => change('PUT', user, bodyOf(user, { name: { givenName } }), with0)),
        )
        assert.deepEqual(statusesOf(answers), [200, 409, 409])
        assertRefused(await change('PUT', user, bodyOf(user), with0), {
          status: 409,
          error: 'scim_resource_conflict',
          message: `Attempt to update a user (${user.id}) with wrong version: expected=1 but found=0`,
        })
      })

      it('applies all concurrent changes with If-Match: *', async () => {
        const user = await fresh()
        const answers = await Promise.all(
          ['a', 'b', 'c'].map(givenName => change('PATCH', user, { name: { givenName } })),
        )
        assert.deepEqual(
          answers.map(({ status }) => status),
          [200, 200, 200],
        )
        assert.equal((await api.read(user.id)).meta.version, 3)
      })

      it('keeps an imported user name that breaks the pattern, but rejects a new one', async () => {
        const user = await fresh()
        const { users } = api.server.store
        const stored = await users.find('svc', user.id)
        assert.ok(stored)
        await users.update('svc', { ...stored, userName: 'Ann Smith' })
        const imported = { ...user, userName: 'Ann Smith' }
        assert.equal((await changed('PUT', user, bodyOf(imported, { active: false })))['active'], false)
        const refused = await change('PUT', user, bodyOf(imported, { userName: 'Ann  Smith' }))
        const message = String.raw`Username must match pattern: [\p{L}+0-9+\-_.@'!]+`
        assertRefused(refused, { status: 400, error: 'invalid_scim_resource', message })
      })

      // Covers PUT /Users/{id}: error: user name taken
      it('rejects the user name of another user of the same origin', async () => {
        const [user, other] = [await fresh(), await fresh()]
        const body = bodyOf(user, { userName: other.userName.toUpperCase() })
        const message = 'The user name or the external id is already in use'
        assertRefused(await change('PUT', user, body), { status: 400, error: 'scim', message })
        assert.deepEqual(await api.read(user.id), user)
      })

      const refusals = [
        { name: 'no name', more: { name: undefined }, message: 'A name must be provided.' },
        { name: 'no userName', more: { userName: undefined }, message: 'A username must be provided.' },
        { name: 'no email', more: { emails: [] }, message: 'Exactly one email must be provided.' },
        // Covers PUT /Users/{id}: error: validation
        {
          name: 'a bad userName',
          more: { userName: 'u<1>' },
          message: String.raw`Username must match pattern: [\p{L}+0-9+\-_.@'!]+`,
        },
        // Covers PUT /Users/{id}: error: origin differs
        {
          name: 'another origin',
          more: { origin: 'ldap2' },
          message: "Cannot change user's origin in update operation.",
        },
      ]
      for (const { name, more, message } of refusals) {
        it(`refuses ${name}`, async () => {
          const user = await fresh()
          assertRefused(await change('PUT', user, bodyOf(user, more)), {
            status: 400,
            error: 'invalid_scim_resource',
            message,
          })
          assert.deepEqual(await api.read(user.id), user)
        })
      }

      // Covers PUT /Users/{id}: error: not found
      it('rejects alias members, unknown members and unknown ids', async () => {
        const user = await fresh()
        const message = "The fields 'aliasId' and/or 'aliasZid' are invalid."
        for (const alias of [{ aliasId: 'x' }, { aliasZid: 'z1' }]) {
          assertRefused(await change('PUT', user, bodyOf(user, alias)), { status: 400, error: 'scim', message })
          assertRefused(await change('PATCH', user, alias), { status: 400, error: 'scim', message })
        }
        assertRefused(await change('PUT', user, bodyOf(user, { foo: 1 })), {
          status: 400,
          error: 'scim',
          message: 'Unrecognized field "foo"',
        })
        for (const header of ['*', '0']) {
          const answer = await api.send('PUT', '/Users/no-such-id', newUserBody('u1z'), {
            headers: { 'if-match': header },
          })
          assertRefused(answer, {
            status: 404,
            error: 'scim_resource_not_found',
            message: 'User no-such-id does not exist',
          })
        }
      })

      // Covers audit trail: UserModifiedEvent
      it('records the caller and the changed user in the audit log', async () => {
        const user = await fresh()
        const bearer = await api.tokenOfUser(user.userName)
        await changed('PUT', user, bodyOf(user, { name: { givenName: 'Me' } }), { ...ANY, bearer })
        const event = api.server.events.findLast(({ type }) => type === 'UserModifiedEvent')
        assert.equal(event?.clientId, 'portal')
        assert.equal(
          event.data,
          JSON.stringify([`user_id=${user.id}`, `username=${user.userName}`, `caller=${user.id}`]),
        )
      })
    })

    describe('PATCH /Users/{id}', () => {
      it('changes a formatted name, which the API does not show, with the names that it was made of', async () => {
        const { id } = await api.create('formatted')
        const { users } = api.server.store
        const user = (await users.find('svc', id)) ?? assert.fail()
        const profile = { name: { formatted: 'Dr Ann Lee', middleName: 'M' } }
        await users.update('svc', { ...user, givenName: 'Ann', familyName: 'Lee', profile })
        for (const [method, name, formatted] of [
          ['PATCH', { familyName: 'Lind' }, 'Ann Lind'],
          ['PUT', { givenName: 'Ann', familyName: 'Lind' }, 'Ann Lind'],
          ['PUT', { givenName: 'Anna' }, 'Anna'],
        ] as const) {
          const body = method === 'PUT' ? newUserBody('formatted', { name }) : { name }
          const answer = await api.send(method, `/Users/${id}`, body, { headers: { 'if-match': '*' } })
          assert.equal(answer.status, 200, answer.text)
          assert.deepEqual((await users.find('svc', id))?.profile?.name, { middleName: 'M', formatted })
        }
      })

      it('deactivates an imported user without an email address', async () => {
        const { id } = await api.create('unaddressed')
        const { users } = api.server.store
        await users.update('svc', { ...((await users.find('svc', id)) ?? assert.fail()), email: '' })
        const patch = (body: object) => api.send('PATCH', `/Users/${id}`, body, { headers: { 'if-match': '*' } })
        const answer = (await patch({ active: false })).json<UserAnswer>()
        assert.deepEqual([answer.active, answer.emails], [false, [{ value: '', primary: false }]])
        const want = { status: 400, error: 'invalid_scim_resource', message: 'An email must be provided.' }
        assertRefused(await patch({ emails: [{ value: '', primary: true }] }), want)
      })

      const cases = [
        // Covers PATCH /Users/{id}: name
        {
          name: 'a part of the name',
          sent: { name: { givenName: 'P' } },
          want: { name: { givenName: 'P', familyName: 'B' } },
        },
        { name: 'only the version for an empty body', sent: {}, want: {} },
        { name: 'active', sent: { active: true }, want: { active: true } },
        { name: 'verified', sent: { verified: true }, want: { verified: true } },
        // Covers PATCH /Users/{id}: userName
        { name: 'the userName', sent: { userName: 'patched' }, want: { userName: 'patched' } },
        // Covers PATCH /Users/{id}: emails
        {
          name: 'the email to a primary one',
          sent: { emails: [{ value: 'n@test.org', primary: true }] },
          want: { emails: [{ value: 'n@test.org', primary: true }] },
        },
        { name: 'nothing for an email that is not primary', sent: { emails: [{ value: 'n@test.org' }] }, want: {} },
        {
          name: 'a cleared email to the one sent',
          sent: { emails: [{ value: 'n@test.org' }], meta: { attributes: ['emails'] } },
          want: { emails: [{ value: 'n@test.org', primary: false }] },
        },
        // Covers PATCH /Users/{id}: phoneNumbers
        {
          name: 'the phone number to the first one sent',
          sent: { phoneNumbers: [{ value: '7' }, { value: '8' }] },
          want: { phoneNumbers: [{ value: '7' }] },
        },
        // Covers PATCH /Users/{id}: meta.attributes
        {
          name: 'the phone number by clearing it',
          sent: { meta: { attributes: ['PhoneNumbers', 'title'] } },
          want: { phoneNumbers: undefined },
        },
        {
          name: 'the name by clearing the given name',
          sent: { meta: { attributes: ['name.givenName'] } },
          want: { name: { familyName: 'B' } },
        },
        { name: 'the name by clearing it', sent: { meta: { attributes: ['name'] } }, want: { name: {} } },
        {
          name: 'a cleared name to the one sent',
          sent: { name: { givenName: 'X' }, meta: { attributes: ['NAME'] } },
          want: { name: { givenName: 'X' } },
        },
        {
          name: 'a cleared userName to the one sent',
          sent: { userName: 'patched2', meta: { attributes: ['userName'] } },
          want: { userName: 'patched2' },
        },
        // Covers PATCH /Users/{id}: origin
        {
          name: 'nothing for externalId, salt, password, groups and origin',
          sent: { externalId: 'e', salt: 's', password: 'another-password', groups: [], origin: 'svc' },
          want: {},
        },
      ]
      for (const { name, sent, want } of cases) {
        // Covers PATCH /Users/{id}: active; verified
        it(`changes ${name}`, async () => {
          const user = await fresh({
            active: false,
            verified: false,
            externalId: `${name}-id`,
            phoneNumbers: [{ value: '1' }],
          })
          const after = await changed('PATCH', user, sent)
          const expected = {
            ...user,
            ...want,
            meta: { ...user.meta, version: 1, lastModified: after.meta.lastModified },
          }
          for (const member of [
            'active',
            'verified',
            'externalId',
            'salt',
            'userName',
            'name',
            'emails',
            'phoneNumbers',
          ] as const) {
            assert.deepEqual(after[member], expected[member], member)
          }
        })
      }

      const refusals = [
        // Covers PATCH /Users/{id}: error: attribute cannot be removed
        {
          name: 'clearing externalId',
          sent: { meta: { attributes: ['externalId'] } },
          message: 'Attribute externalId cannot be removed using "Meta.attributes"',
        },
        {
          name: 'clearing __proto__',
          sent: { meta: { attributes: ['__proto__'] } },
          message: 'Attribute __proto__ cannot be removed using "Meta.attributes"',
        },
        {
          name: 'clearing the userName',
          sent: { meta: { attributes: ['userName'] } },
          message: 'Can not drop username, field is required.',
        },
        {
          name: 'clearing the email',
          sent: { meta: { attributes: ['emails'] } },
          message: 'Exactly one email must be provided.',
        },
        // Covers PATCH /Users/{id}: error: origin differs
        { name: 'another origin', sent: { origin: 'ldap' }, message: 'Cannot change origin in patch of user.' },
        { name: 'an empty userName', sent: { userName: '' }, message: 'A username must be provided.' },
      ]
      for (const { name, sent, message } of refusals) {
        it(`refuses ${name}`, async () => {
          const user = await fresh()
          assertRefused(await change('PATCH', user, sent), { status: 400, error: 'invalid_scim_resource', message })
          assert.deepEqual(await api.read(user.id), user)
        })
      }

      it('rejects SCIM 2.0 operations, invalid members, a stale version and an unknown id', async () => {
        const user = await fresh()
        const operations = {
          schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
          Operations: [{ op: 'replace', path: 'active', value: false }],
        }
        const scim = (message: string) => ({ status: 400, error: 'scim', message })
        assertRefused(
          await change('PATCH', user, operations),
          scim("Only schema 'urn:scim:schemas:core:1.0' is currently supported"),
        )
        assertRefused(
          await change('PATCH', user, { Operations: operations.Operations }),
          scim('Unrecognized field "Operations"'),
        )
        assertRefused(
          await change('PATCH', user, { schemas: operations.schemas }),
          scim("Only schema 'urn:scim:schemas:core:1.0' is currently supported"),
        )
        for (const [member, most] of [
          ['externalId', 255],
          ['userName', 255],
          ['salt', 36],
        ] as const) {
          const message = `The value of ${member} must have at most ${most} characters`
          assertRefused(await change('PATCH', user, { [member]: 'x'.repeat(most + 1) }), scim(message))
        }
        const address = { value: `${'x'.repeat(250)}@x.org` } // not the primary one, which would be stored
        const emails = [{ ...user.emails[0], primary: true }, address]
        assertRefused(
          await change('PATCH', user, { emails }),
          scim('The value of email must have at most 255 characters'),
        )
        assertRefused(await change('PATCH', user, { foo: 1 }), scim('Unrecognized field "foo"'))
        assertRefused(
          await change('PATCH', user, { meta: { attributes: [1] } }),
          scim('The value of meta.attributes must be a list of strings'),
        )
        assertRefused(await change('PATCH', user, {}, { headers: { 'if-match': '4' } }), {
          status: 409,
          error: 'scim_resource_conflict',
          message: `Attempt to update a user (${user.id}) with wrong version: expected=0 but found=4`,
        })
        const unknown = await api.send('PATCH', '/Users/no-such-id', {}, { headers: { 'if-match': '0' } })
        assertRefused(unknown, {
          status: 404,
          error: 'scim_resource_not_found',
          message: 'User no-such-id does not exist',
        })
      })
    })

    describe('Self-service', () => {
      // Covers SCIM requests: rule: self
      it('lets users read themselves and change their name', async () => {
        const user = await fresh({ externalId: 'me', phoneNumbers: [{ value: '1' }] })
        const bearer = await api.tokenOfUser(user.userName)
        const asUser = { ...ANY, bearer }
        assert.equal((await api.read(user.id, { bearer })).userName, user.userName)
        assert.deepEqual((await changed('PUT', user, bodyOf(user, { name: { givenName: 'Me' } }), asUser)).name, {
          givenName: 'Me',
        })
        assert.deepEqual((await changed('PATCH', user, { name: { familyName: 'Self' } }, asUser)).name, {
          givenName: 'Me',
          familyName: 'Self',
        })
      })

      const others = [
        { name: 'another email', more: { emails: [{ value: 'other@test.org' }] } },
        { name: 'another userName', more: { userName: 'somebody' } },
        { name: 'active: false', more: { active: false } },
        { name: 'verified: false', more: { verified: false } },
        { name: 'another salt', more: { salt: 'x' } },
        { name: 'another externalId', more: { externalId: 'other' } },
        { name: 'another phone number', more: { phoneNumbers: [{ value: '2' }] } },
        { name: 'a displayName', more: { displayName: 'x' } },
        { name: 'no email', more: { emails: [] } },
      ]
      for (const { name, more } of others) {
        // Covers SCIM errors: error: invalid_self_edit
        // Covers PUT /Users/{id}: error: self edit beyond names
        it(`rejects ${name}`, async () => {
          const user = await fresh({ externalId: `${name}-self`, phoneNumbers: [{ value: '1' }] })
          const bearer = await api.tokenOfUser(user.userName)
          const before = await api.read(user.id)
          for (const request of [{ bearer }, { ...ANY, bearer }]) {
            const answer = await change('PUT', user, bodyOf(user, more), request)
            assert.equal(answer.status, 403)
            assert.deepEqual(answer.json(), { error: 'invalid_self_edit', error_description: SELF_EDIT })
          }
          assert.deepEqual(await api.read(user.id), before)
        })
      }

      it('rejects access to other users, and deleting, unlocking or verifying oneself', async () => {
        const [user, other] = [await fresh(), await fresh()]
        const bearer = await api.tokenOfUser(user.userName)
        for (const [method, path, body] of [
          ['GET', other.id, undefined],
          ['PUT', other.id, bodyOf(other)],
          ['PATCH', other.id, {}],
          ['GET', 'no-such-id', undefined],
          ['DELETE', user.id, undefined],
          ['PATCH', `${user.id}/status`, { locked: false }],
          ['GET', `${user.id}/verify`, undefined],
        ] as const) {
          const answer = await api.send(method, `/Users/${path}`, body, { ...ANY, bearer })
          assert.equal(
            `${answer.status} ${String(answer.json()['error'])}`,
            '403 insufficient_scope',
            `${method} ${path}`,
          )
        }
        assert.equal((await api.send('GET', `/Users/${user.id}`, undefined, { bearer, ...IN_Z1 })).status, 403)
      })
    })

    describe('DELETE /Users/{id}', () => {
      // Covers audit trail: UserDeletedEvent
      // Covers DELETE /Users/{id}: response: deleted user; error: not found
      it('deletes the user with tokens and approvals, and returns the deleted user', async () => {
        const user = await fresh({ approvals: [{ clientId: 'app', scope: 'openid', status: 'APPROVED' }] })
        const bearer = await api.tokenOfUser(user.userName)
        const before = await api.read(user.id)
        const answer = await api.send('DELETE', `/Users/${user.id}`)
        assert.deepEqual([answer.status, answer.headers['etag']], [200, '"0"'])
        assert.deepEqual(answer.json(), before)
        assertRefused(await api.send('DELETE', `/Users/${user.id}`), {
          status: 404,
          error: 'scim_resource_not_found',
          message: `User ${user.id} does not exist`,
        })
        const gone = await api.send('GET', '/userinfo', undefined, { bearer })
        assert.equal(gone.json()['error_description'], `Token bears a non-existent user ID: ${user.id}`)
        assert.equal((await api.server.store.approvals.listOfUser('svc', user.id, api.server.clock.now())).length, 0)
        assert.ok(api.server.events.some(({ type, principal }) => type === 'UserDeletedEvent' && principal === user.id))
      })

      // Covers SCIM errors: error: stale version 422
      // Covers DELETE /Users/{id}: If-Match; error: stale version
      it('rejects a stale or invalid If-Match', async () => {
        const user = await fresh()
        assertRefused(await api.send('DELETE', `/Users/${user.id}`, undefined, { headers: { 'if-match': '99' } }), {
          status: 422,
          error: 'scim',
          message: `Attempt to update a user (${user.id}) with wrong version: expected=0 but found=99`,
        })
        assertRefused(await api.send('DELETE', `/Users/${user.id}`, undefined, { headers: { 'if-match': 'abc' } }), {
          status: 400,
          error: 'scim',
          message: 'Invalid version match header (should be a version number): abc',
        })
        assert.equal(
          (await api.send('DELETE', `/Users/${user.id}`, undefined, { headers: { 'if-match': '"0"' } })).status,
          200,
        )
      })

      it('answers 404 for users of other zones', async () => {
        const there = await api.create('there', {}, IN_Z1)
        assert.equal((await api.send('DELETE', `/Users/${there.id}`)).status, 404)
        assert.equal((await api.send('DELETE', `/Users/${there.id}`, undefined, IN_Z1)).status, 200)
      })
    })

    describe('Disabled internal user management', () => {
      before(async () => {
        const { providers } = api.server.store
        const internal = await providers.findByOrigin('z2', 'svc')
        assert.ok(internal)
        await api.create('kept', {}, { headers: { 'x-identity-zone-id': 'z2' } })
        const config = { ...internal.config, disableInternalUserManagement: true }
        await providers.update('z2', { ...internal, config })
        await providers.insert('z2', { ...internal, id: 'corp', originKey: 'corp', type: 'oidc1.0', config: {} })
      })

      // Covers internal user management disabled: 403 of changes to internal users
      // Covers PUT /Users/{id}: error: internal management disabled
      it('makes internal users read-only, but allows changes to users of other origins', async () => {
        const headers = { 'x-identity-zone-id': 'z2', 'if-match': '*' }
        const kept = await api.server.store.users.findByName('z2', 'svc', 'kept')
        assert.ok(kept)
        const path = `/Users/${kept.id}`
        assert.equal((await api.send('GET', path, undefined, { headers })).status, 200)
        for (const [method, place, body] of [
          ['PUT', path, newUserBody('kept')],
          ['PATCH', path, {}],
          ['DELETE', path, undefined],
          ['GET', `${path}/verify`, undefined],
        ] as const) {
          const want = { status: 403, error: 'internal_user_management_disabled', message: DISABLED }
          assertRefused(await api.send(method, place, body, { headers }), want)
        }
        const other = await api.create('other', { origin: 'corp' }, { headers })
        assert.equal((await api.send('PATCH', `/Users/${other.id}`, {}, { headers })).status, 200)
        assert.equal((await api.send('DELETE', `/Users/${other.id}`, undefined, { headers })).status, 200)
      })
    })
  })
}
