// Status, verification and password of users, and lookup of their ids.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../../support/oauth.ts'
import { IN_Z1, assertRefused, startUserServer } from '../../support/users.ts'
import { confirmed } from '../../support/self-service.ts'
import type { UserAnswer, UserApi, UserRequest } from '../../support/users.ts'

const OLD = 'pw-1-long-enough'
const NEW = 'pw-2-long-enough'
const NOT_INTERNAL = 'Can only manage users from the internal user store.'
const DISABLED = 'Internal User Creation is currently disabled. External User Store is in use.'

for (const mode of MODES) {
  describe(`User status, verification and password (${mode})`, () => {
    let api: UserApi
    let shadow: UserAnswer
    let count = 0
    const fresh = (more: object = {}): Promise<UserAnswer> => api.create(`user${(count += 1)}`, more)
    const grant = async (userName: string, password: string): Promise<number> => {
      const form = { grant_type: 'password', username: userName, password }
      return (await api.server.token(form, { basic: ['portal', 'portal-secret'] })).status
    }
    const nobody = { status: 404, error: 'scim_resource_not_found', message: 'User none does not exist' }

    before(async () => {
      api = await startUserServer(mode)
      const { providers } = api.server.store
      const internal = await providers.findByOrigin('svc', 'svc')
      assert.ok(internal)
      await providers.insert('svc', { ...internal, id: 'corp', originKey: 'corp', type: 'oidc1.0', config: {} })
      await providers.insert('svc', {
        ...internal,
        id: 'off',
        originKey: 'off',
        type: 'oidc1.0',
        config: {},
        active: false,
      })
      shadow = await api.create('shadow', { origin: 'corp' })
    })
    after(async () => {
      assert.deepEqual(api.server.faults, [])
      await api.stop()
    })

    describe('PATCH /Users/{id}/status', () => {
      const status = (id: string, body: unknown, request?: UserRequest) =>
        api.send('PATCH', `/Users/${id}/status`, body, request)

      // Covers lockout: unlock by API
      // Covers audit trail: UserAccountUnlockedEvent
      // Covers PATCH /Users/{id}/status: locked
      it('unlocks an account', async () => {
        const user = await fresh()
        for (let attempt = 0; attempt < 5; attempt += 1) await grant(user.userName, 'wrong')
        assert.ok((await grant(user.userName, OLD)) >= 400)
        const answer = await status(user.id, { locked: false }, { by: 'unlocker' })
        assert.deepEqual([answer.status, answer.json()], [200, { locked: false }])
        assert.equal(answer.headers['cache-control'], 'no-store')
        assert.equal(await grant(user.userName, OLD), 200)
        const event = api.server.events.findLast(({ type }) => type === 'UserAccountUnlockedEvent')
        assert.deepEqual([event?.principal, event?.clientId], [user.id, 'unlocker'])
      })

      // Covers PATCH /Users/{id}/status: passwordChangeRequired
      it('requires a password change', async () => {
        const user = await fresh()
        const answer = await status(user.id, { passwordChangeRequired: true })
        assert.deepEqual([answer.status, answer.json()], [200, { passwordChangeRequired: true }])
        assert.ok((await grant(user.userName, OLD)) >= 400)
        assert.equal((await api.read(user.id)).meta.version, 0)
      })

      for (const body of [{}, { foo: true }, { locked: null, passwordChangeRequired: null }]) {
        it(`ignores ${JSON.stringify(body)}`, async () => {
          const answer = await status((await fresh()).id, body)
          assert.deepEqual([answer.status, answer.json()], [200, {}])
        })
      }

      const refusals = [
        {
          body: { locked: true, passwordChangeRequired: true },
          message:
            // Covers PATCH /Users/{id}/status: error: locked true
            'Cannot set user account to locked. User accounts only become locked through exceeding the allowed failed login attempts.',
        },
        // Covers PATCH /Users/{id}/status: error: passwordChangeRequired false
        {
          body: { locked: false, passwordChangeRequired: false },
          message: 'The requirement that this user change their password cannot be removed via API.',
        },
        { body: { locked: 'x' }, message: 'The value of locked must be a boolean' },
        { body: { passwordChangeRequired: 1 }, message: 'The value of passwordChangeRequired must be a boolean' },
        { body: '[]', message: 'The request body must be a JSON object' },
      ]
      for (const { body, message } of refusals) {
        it(`rejects ${JSON.stringify(body)}`, async () => {
          const user = await fresh()
          assertRefused(await status(user.id, body), { status: 400, error: 'scim', message })
          assert.equal(await grant(user.userName, OLD), 200)
        })
      }

      // Covers PATCH /Users/{id}/status: error: not an internal user; not found
      it('rejects users of other origins and unknown ids', async () => {
        for (const body of [{ locked: false }, { passwordChangeRequired: true }]) {
          assertRefused(await status(shadow.id, body), { status: 400, error: 'scim', message: NOT_INTERNAL })
        }
        assertRefused(await status('none', { locked: false }), nobody)
        const { id } = await fresh()
        assert.equal((await status(id, { locked: false }, IN_Z1)).status, 404)
      })
    })

    describe('GET /Users/{id}/verify-link', () => {
      // Covers SCIM errors: error: user_already_verified
      // Covers GET /Users/{id}/verify-link: redirect_uri; client_id; response: verify_link; error: already verified
      it('returns a single-use link that verifies the user and keeps the password', async () => {
        const { id, userName } = await fresh({ verified: false })
        const path = `/Users/${id}/verify-link?client_id=x&redirect_uri=http%3A//localhost/app`
        const { verify_link } = (await api.send('GET', path, undefined, { by: 'maker' })).json<{
          verify_link: string
        }>()
        assert.match(verify_link, /^http:\/\/localhost:8080\/verify_user\?code=[\w-]{32}$/)
        const event = api.server.events.at(-1)
        assert.deepEqual(
          [event?.type, event?.principal, event?.clientId, event?.data],
          ['AccountCodeIssuedEvent', id, 'maker', 'verification'],
        )
        const { pathname, search } = new URL(verify_link)
        const answer = await confirmed(api.server.browser(), pathname + search)
        assert.match(String(answer.headers['location']), /\/login\?success=verify_success$/)
        assert.equal(await grant(userName, OLD), 200)
        assert.equal((await api.server.send(pathname + search)).status, 422)
        assertRefused(await api.send('GET', path), {
          status: 405,
          error: 'user_already_verified',
          message: 'This user has already been verified.',
        })
      })

      // Covers GET /Users/{id}/verify-link: error: not found
      it('rejects an unknown id and a missing redirect_uri', async () => {
        const { id } = await fresh({ verified: false })
        assertRefused(await api.send('GET', '/Users/none/verify-link?redirect_uri=x'), nobody)
        assert.equal((await api.send('GET', `/Users/${id}/verify-link?redirect_uri=x`, undefined, IN_Z1)).status, 404)
        assert.equal((await api.send('GET', `/Users/${id}/verify-link`)).status, 400)
      })
    })

    describe('GET /Users/{id}/verify', () => {
      // Covers audit trail: UserVerifiedEvent
      // Covers GET /Users/{id}/verify: response: user
      it('is idempotent, keeps the version, and omits groups and approvals', async () => {
        const user = await fresh({ verified: false })
        assert.ok((await grant(user.userName, OLD)) >= 400)
        const { groups: _, approvals: _approvals, ...record } = user
        for (let time = 0; time < 2; time += 1) {
          const answer = await api.send('GET', `/Users/${user.id}/verify`, undefined, { by: 'maker' })
          assert.deepEqual([answer.status, answer.headers['etag']], [200, '"0"'])
          assert.deepEqual(answer.json(), { ...record, verified: true })
        }
        assert.equal(await grant(user.userName, OLD), 200)
        assert.ok(
          api.server.events.some(({ type, principal }) => type === 'UserVerifiedEvent' && principal === user.id),
        )
      })

      // Covers GET /Users/{id}/verify: If-Match; error: not found; stale version
      it('rejects a stale or invalid If-Match and unknown ids', async () => {
        const { id } = await fresh({ verified: false })
        const verify = (header: string) =>
          api.send('GET', `/Users/${id}/verify`, undefined, { headers: { 'if-match': header } })
        assertRefused(await verify('12'), {
          status: 422,
          error: 'scim',
          message: `Attempt to update a user (${id}) with wrong version: expected=0 but found=12`,
        })
        assert.equal((await verify('abc')).status, 400)
        assert.ok((await api.send('HEAD', `/Users/${id}/verify`)).status >= 400)
        assert.equal((await api.read(id)).verified, false)
        assert.equal((await verify('"0"')).status, 200)
        assertRefused(await api.send('GET', '/Users/none/verify'), nobody)
        assert.equal((await api.send('GET', `/Users/${id}/verify`, undefined, IN_Z1)).status, 404)
      })
    })

    describe('PUT /Users/{id}/password', () => {
      const set = (id: string, body: unknown, request: UserRequest = { by: 'setter' }) =>
        api.send('PUT', `/Users/${id}/password`, body, request)
      const ok = { status: 'ok', message: 'password updated' }
      const refused = (status: number, message: string) => ({ status, error: 'invalid_password', message })

      // Covers PUT /Users/{id}/password: password; response: status; message
      it('does not require the old password from a client', async () => {
        const user = await fresh()
        api.server.clock.advance(5)
        assert.deepEqual((await set(user.id, { password: NEW })).json(), ok)
        assert.deepEqual([(await grant(user.userName, OLD)) >= 400, await grant(user.userName, NEW)], [true, 200])
        assert.deepEqual((await set(user.id, { password: OLD, oldPassword: NEW })).json(), ok)
        const after = await api.read(user.id)
        const now = api.server.clock.now().toISOString()
        assert.deepEqual([after.passwordLastModified, after.meta.lastModified, after.meta.version], [now, now, 0])
      })

      it('ends tokens, sessions and a lockout, but keeps passwordChangeRequired', async () => {
        const user = await fresh()
        const bearer = await api.tokenOfUser(user.userName)
        const browser = api.server.browser()
        await browser.signIn(user.userName, OLD)
        assert.equal((await browser.send('/profile')).status, 200)
        for (let attempt = 0; attempt < 5; attempt += 1) await grant(user.userName, 'wrong')
        assert.equal((await set(user.id, { password: NEW })).status, 200)
        assert.equal((await api.send('GET', `/Users/${user.id}`, undefined, { bearer })).status, 401)
        assert.equal((await browser.send('/profile')).status, 302)
        assert.equal(await grant(user.userName, NEW), 200)
        await api.send('PATCH', `/Users/${user.id}/status`, { passwordChangeRequired: true })
        assert.equal((await set(user.id, { password: OLD })).status, 200)
        assert.ok((await grant(user.userName, OLD)) >= 400)
      })

      // Covers PUT /Users/{id}/password: oldPassword; error: old password missing
      it('requires the old password from users', async () => {
        const user = await fresh()
        const asUser = async (body: unknown, password: string) =>
          set(user.id, body, { bearer: await api.tokenOfUser(user.userName, password) })
        assertRefused(await asUser({ password: NEW }, OLD), refused(400, 'Previous password is required'))
        assertRefused(
          await asUser({ password: OLD, oldPassword: OLD }, OLD),
          refused(422, 'Your new password cannot be the same as the old password.'),
        )
        const wrong = await asUser({ password: NEW, oldPassword: 'bad' }, OLD)
        assert.deepEqual(
          [wrong.status, wrong.json()],
          // Covers PUT /Users/{id}/password: error: old password wrong
          [401, { error: 'unauthorized', error_description: 'Old password is incorrect' }],
        )
        assert.match(
          String(wrong.headers['www-authenticate']),
          /^Bearer realm="SVC\/oauth", error="unauthorized", error_description="Old password is incorrect"/,
        )
        const { type, principal, clientId, data } = api.server.events.at(-1) ?? {}
        assert.deepEqual(
          [type, principal, clientId, data],
          ['PasswordChangeFailure', user.id, 'portal', 'Old password is incorrect'],
        )
        assert.deepEqual((await asUser({ password: NEW, oldPassword: OLD }, OLD)).json(), ok)
        assert.equal(await grant(user.userName, NEW), 200)
        assert.doesNotMatch(JSON.stringify([api.server.events, api.server.refusals, api.server.lines]), /pw-[12]-long/)
      })

      // Covers PUT /Users/{id}/password: error: admin without old password; other user
      it('allows administrators, but no other users, to change the password of another user', async () => {
        const [user, other, chief] = [await fresh(), await fresh(), await fresh()]
        const bearer = await api.tokenOfUser(other.userName)
        assertRefused(
          await set(user.id, { password: NEW, oldPassword: OLD }, { bearer }),
          refused(400, "Not permitted to change another user's password"),
        )
        assertRefused(
          await set('none', { password: NEW, oldPassword: OLD }, { bearer }),
          refused(400, "Not permitted to change another user's password"),
        )
        const { groups } = api.server.store
        const now = api.server.clock.now()
        const group = {
          zoneId: 'svc',
          id: 'admins',
          displayName: 'svc.admin',
          version: 0,
          createdAt: now,
          updatedAt: now,
        }
        const admins = (await groups.findByName('svc', 'svc.admin')) ?? group
        if (admins === group) await groups.insert('svc', group)
        await groups.addMember('svc', { groupId: admins.id, memberId: chief.id, memberType: 'USER', origin: 'svc' })
        const asChief = { bearer: await api.tokenOfUser(chief.userName) }
        assert.deepEqual((await set(user.id, { password: NEW }, asChief)).json(), ok)
        assertRefused(
          await set(chief.id, { password: NEW }, asChief),
          refused(400, 'Previous password is required even for admin'),
        )
        assert.deepEqual((await set(chief.id, { password: NEW, oldPassword: OLD }, asChief)).json(), ok)
      })

      it('counts wrong old passwords towards the lockout', async () => {
        const user = await fresh()
        const bearer = await api.tokenOfUser(user.userName)
        for (let attempt = 0; attempt < 5; attempt += 1) {
          assert.equal((await set(user.id, { password: NEW, oldPassword: 'wrong' }, { bearer })).status, 401)
        }
        assert.equal((await set(user.id, { password: NEW, oldPassword: OLD }, { bearer })).status, 401)
        assert.ok((await grant(user.userName, OLD)) >= 400, 'locked, as by failed sign-ins')
        api.server.clock.advance(301)
        assert.equal((await set(user.id, { password: NEW, oldPassword: OLD }, { bearer })).status, 200)
      })

      const least = mode === 'uaa' ? 1 : 8
      const refusals = [
        {
          name: 'an empty password',
          body: { password: '' },
          want: refused(400, `Password must be at least ${least} characters in length.`),
        },
        {
          name: 'a missing password',
          body: {},
          want: refused(400, `Password must be at least ${least} characters in length.`),
        },
        // Covers PUT /Users/{id}/password: error: policy
        {
          name: 'a password of 256 characters',
          body: { password: 'y'.repeat(256) },
          want: refused(400, 'Password must be no more than 255 characters in length.'),
        },
        // Covers PUT /Users/{id}/password: error: same password
        {
          name: 'the current password',
          body: { password: OLD },
          want: refused(422, 'Your new password cannot be the same as the old password.'),
        },
        {
          name: 'a numeric password',
          body: { password: 12345678 },
          want: { status: 400, error: 'scim', message: 'The value of password must be a string' },
        },
        {
          name: 'a password with a NUL character',
          body: { password: 'long enough \0' },
          want: { status: 400, error: 'scim', message: 'The value of password must be a string' },
        },
        {
          name: 'a list as body',
          body: [],
          want: { status: 400, error: 'scim', message: 'The request body must be a JSON object' },
        },
      ]
      for (const { name, body, want } of refusals) {
        it(`refuses ${name}`, async () => {
          const user = await fresh()
          assertRefused(await set(user.id, body), want)
          assert.equal(await grant(user.userName, OLD), 200)
        })
      }

      // Covers PUT /Users/{id}/password: error: unknown user
      it('rejects unknown ids and users of other origins', async () => {
        const answer = await set('none', { password: NEW })
        assertRefused(answer, { status: 401, error: 'bad_credentials', message: 'Invalid password change request' })
        assertRefused(await set(shadow.id, { password: NEW }), { status: 400, error: 'scim', message: NOT_INTERNAL })
        assert.equal((await api.server.store.users.find('svc', shadow.id))?.passwordHash, undefined)
      })

      // Partly covers SCIM requests: rule: audience
      it('requires the scope password.write and the audience password', async () => {
        const { id } = await fresh()
        for (const by of ['root', 'writer', 'nobody'] as const) {
          const answer = await set(id, { password: NEW }, { by })
          assert.deepEqual(answer.json(), {
            error: 'access_denied',
            error_description: 'Invalid token does not contain resource id (password)',
          })
          assert.equal(answer.status, 403)
        }
        assert.equal((await set(id, { password: NEW }, { by: null })).status, 401)
        assert.equal((await set(id, { password: NEW }, { by: 'setter', ...IN_Z1 })).status, 403)
        assert.equal((await set(id, { password: NEW }, { by: 'admin', ...IN_Z1 })).status, 403)
      })
    })

    describe('GET /ids/Users', () => {
      const find = (query: Readonly<Record<string, string>>, request: UserRequest = {}) =>
        api.send('GET', '/ids/Users', undefined, { by: 'finder', query, ...request })

      // Covers GET /ids/Users: filter; sortOrder; startIndex; count; response: id; userName; origin
      // Covers POST /ids/Users: filter
      it('returns id, name and origin, sorted by name', async () => {
        const [a, b] = [await api.create('ids-a'), await api.create('ids-b')]
        const of = ({ id, userName, origin }: UserAnswer) => ({ id, userName, origin })
        const filter = `id eq "${b.id}" or username eq "IDS-A"`
        assert.deepEqual((await find({ filter })).json(), {
          resources: [of(a), of(b)],
          startIndex: 1,
          itemsPerPage: 100,
          totalResults: 2,
          schemas: ['urn:scim:schemas:core:1.0'],
        })
        const page = { filter, sortOrder: 'Descending', count: '1', attributes: 'id', sortBy: 'salt' }
        assert.deepEqual((await find(page)).json()['resources'], [of(b)])
        const posted = await api.send('POST', '/ids/Users', undefined, { by: 'finder', form: { filter } })
        assert.deepEqual(posted.json()['totalResults'], 2)
        assert.deepEqual((await find({ filter: `${filter} and origin eq "svc"` })).json()['totalResults'], 2)
      })

      // Covers GET /ids/Users: includeInactive
      it('omits users of inactive providers unless includeInactive is true', async () => {
        await api.create('twofold')
        await api.create('twofold', { origin: 'off' })
        const filter = 'userName eq "twofold"'
        const origins = async (more: object = {}) =>
          (await find({ filter, ...more }))
            .json<{ resources: { origin: string }[] }>()
            .resources.map(({ origin }) => origin)
        assert.deepEqual(await origins(), ['svc'])
        assert.deepEqual((await origins({ includeInactive: 'true' })).toSorted(), ['off', 'svc'])
        assert.deepEqual(await origins({ filter: `${filter} and origin eq "off"`, includeInactive: 'true' }), ['off'])
      })

      const wildcards = 'Wildcards are not allowed in filter.'
      const refusals = [
        // Covers GET /ids/Users: error: filter required
        { filter: '', message: "a 'filter' parameter is required" },
        { filter: ' ', message: "a 'filter' parameter is required" },
        // Covers GET /ids/Users: error: wildcard operator
        { filter: 'userName co "list"', message: wildcards },
        { filter: 'userName sw "list"', message: wildcards },
        { filter: 'userName pr', message: wildcards },
        { filter: 'id pr', message: wildcards },
        // Covers GET /ids/Users: error: operator
        { filter: 'userName gt "a"', message: 'Invalid operator.' },
        // Covers GET /ids/Users: error: filter attribute
        { filter: 'email eq "l1@list.example"', message: 'Invalid filter attribute.' },
        { filter: 'origin eq "svc"', message: 'Invalid filter attribute.' },
        { filter: 'userName eq "x" or origin eq "svc"', message: 'Invalid filter attribute.' },
        { filter: 'not (userName eq "a")', message: "Invalid filter 'not (userName eq &quot;a&quot;)'" },
        // Covers GET /ids/Users: error: parse
        { filter: 'userName eq', message: "Invalid filter 'userName eq'" },
        { filter: "userName eq 'a'", message: "Invalid filter 'userName eq &#39;a&#39;'" },
      ]
      for (const { filter, message } of refusals) {
        it(`refuses ${filter || 'no filter'}`, async () => {
          assertRefused(await find({ filter }), { status: 400, error: 'scim', message })
        })
      }

      // Partly covers SCIM requests: rule: exact scopes
      it('requires the scope scim.userids and finds only users of the zone', async () => {
        const query = { filter: 'userName eq "marissa"' }
        for (const by of ['admin', 'root', 'reader'] as const) {
          const answer = await find(query, { by })
          assert.equal(answer.status, 403)
          assert.equal(answer.json()['scope'], 'scim.userids')
        }
        assert.equal((await find(query, { by: null })).status, 401)
        assert.equal((await find(query, IN_Z1)).status, 403)
        const there = await api.create('there', {}, IN_Z1)
        assert.equal((await find({ filter: `id eq "${there.id}"` })).json()['totalResults'], 0)
      })
    })
  })

  describe(`Disabled internal user management (${mode})`, () => {
    // Covers internal user management disabled: 403 of password and verify endpoints
    // Covers GET /ids/Users: scim.userids_enabled; error: not enabled
    it('rejects password changes and verification, but allows unlocking', async () => {
      const api = await startUserServer(mode, { config: { scim: { userids_enabled: false } } })
      const user = await api.create('kept')
      const { providers } = api.server.store
      const internal = await providers.findByOrigin('svc', 'svc')
      assert.ok(internal)
      await providers.update('svc', {
        ...internal,
        config: { ...internal.config, disableInternalUserManagement: true },
      })
      const want = { status: 403, error: 'internal_user_management_disabled', message: DISABLED }
      assertRefused(await api.send('PUT', `/Users/${user.id}/password`, { password: NEW }, { by: 'setter' }), want)
      assertRefused(await api.send('GET', `/Users/${user.id}/verify`), want)
      assert.equal((await api.send('PATCH', `/Users/${user.id}/status`, { locked: false })).status, 200)
      const ids = await api.send('GET', '/ids/Users?filter=x', undefined, { by: 'finder' })
      assert.deepEqual([ids.status, ids.text], [400, 'Illegal Operation: Endpoint not enabled.'])
      await api.stop()
    })
  })
}
