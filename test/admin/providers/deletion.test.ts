import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { addSeconds } from '../../../src/base/clock.ts'
import type { User } from '../../../src/model/users/user.ts'
import { authorizeBootstrap, signedIn } from '../../support/authorize.ts'
import { APP, isAlive, MODES, passwordTokens, userNamed } from '../../support/oauth.ts'
import type { Members, ProviderAnswer } from '../../support/provider-api.ts'
import { oidc, providerApi, providerBootstrap } from '../../support/provider-api.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const policy = {
  minLength: 1,
  maxLength: 255,
  requireUpperCaseCharacter: 0,
  requireLowerCaseCharacter: 0,
  requireDigit: 0,
  requireSpecialCharacter: 0,
  expirePasswordInMonths: 0,
}
const internal = (config: Members): Members => ({ type: 'svc', originKey: 'svc', name: 'Inside', config })

for (const mode of MODES) {
  describe(`DELETE /identity-providers/{id} in ${mode}`, () => {
    let server: TestServer
    const api = providerApi(() => server)
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: providerBootstrap } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      api.assertNoSecrets()
      await server.stop()
    })

    /** Creates an account of the origin with a group membership, an approval, a token and a session. */
    async function addAccount(origin: string, userName: string): Promise<User> {
      const now = server.clock.now()
      const expiresAt = addSeconds(now, 600)
      const model = await userNamed(server, 'marissa')
      const { passwordHash: _, ...rest } = model
      const user = { ...rest, id: `${origin}-${userName}`, userName, origin }
      const group = await server.store.groups.findByName('svc', 'cloud.read')
      assert.ok(group)
      const { store } = server
      await store.users.insert('svc', user)
      const membership = { groupId: group.id, memberId: user.id, memberType: 'USER', origin } as const
      await store.groups.addMember('svc', membership)
      const decision = { zoneId: 'svc', userId: user.id, clientId: 'app', scope: 'openid', status: 'APPROVED' } as const
      await store.approvals.save('svc', [{ ...decision, expiresAt, updatedAt: now }])
      await store.tokens.insert('svc', {
        zoneId: 'svc',
        idDigest: user.id,
        kind: 'refresh_token',
        format: 'opaque',
        clientId: 'app',
        userId: user.id,
        claims: {},
        issuedAt: now,
        expiresAt,
      })
      await store.sessions.replace('svc', undefined, {
        zoneId: 'svc',
        idDigest: user.id,
        createdAt: now,
        lastSeenAt: now,
        expiresAt,
        signIn: { userId: user.id, origin, authenticatedAt: now, amr: ['ext'], sessionSalt: 'salt' },
      })
      return user
    }
    const dataOf = async ({ id }: User) => {
      const { store } = server
      return [
        (await store.users.find('svc', id)) !== undefined,
        (await store.groups.namesOfUser('svc', id)).length > 0,
        (await store.approvals.listOfUser('svc', id, server.clock.now())).length > 0,
        (await store.tokens.find('svc', id)) !== undefined,
        (await store.sessions.find('svc', id)) !== undefined,
      ]
    }
    const ALL = [true, true, true, true, true]
    const NONE = [false, false, false, false, false]

    // Partly covers audit trail: EntityDeletedEvent
    // Covers DELETE /identity-providers/{id}: rawConfig; response: deleted record; rule: users of the origin go
    it('returns the provider, and deletes the users of its origin with their data', async () => {
      const { id } = await api.create(oidc('leaving'))
      await api.create(oidc('staying'))
      const gone = [await addAccount('leaving', 'ann'), await addAccount('leaving', 'bob')]
      const left = await addAccount('staying', 'ann')
      const before = await api.read(id)
      const answer = await api.call({ method: 'DELETE', path: `/${id}` })
      assert.equal(answer.status, 200, answer.text)
      assert.deepEqual(answer.json<ProviderAnswer>(), before)
      for (const user of gone) assert.deepEqual(await dataOf(user), NONE)
      assert.deepEqual(await dataOf(left), ALL)
      assert.ok(await userNamed(server, 'marissa'))
      assert.equal((await api.call({ path: `/${id}` })).status, 404)
      assert.equal((await api.call({ method: 'DELETE', path: `/${id}` })).status, 404)
      assert.equal(await server.store.providers.findByOrigin('svc', 'leaving'), undefined)
      const { type, principal, origin } = server.events.findLast(event => event.type === 'EntityDeletedEvent') ?? {}
      assert.deepEqual([type, principal, origin], ['EntityDeletedEvent', id, 'leaving'])
    })

    it('frees the origin', async () => {
      const { id } = await api.create(oidc('leaving'))
      assert.equal((await api.call({ method: 'DELETE', path: `/${id}`, query: {} })).status, 200)
      const left = (await api.call({ path: '', query: {} })).json<readonly Members[]>()
      assert.ok(!left.some(({ originKey }) => originKey === 'leaving'))
      await api.create(oidc('leaving'))
    })

    it('answers 200 for the internal provider, but keeps it', async () => {
      const provider = await server.store.providers.findByOrigin('svc', 'svc')
      assert.ok(provider)
      const events = () => server.events.filter(({ type }) => type === 'EntityDeletedEvent').length
      const before = events()
      const answer = await api.call({ method: 'DELETE', path: `/${provider.id}` })
      assert.equal(answer.status, 200)
      assert.equal(answer.json<ProviderAnswer>().originKey, 'svc')
      assert.ok(await server.store.providers.findForChange('svc', provider.id))
      assert.ok(await userNamed(server, 'marissa'))
      assert.equal(events(), before)
    })

    it('succeeds once if requests are concurrent', async () => {
      const { id } = await api.create(oidc('twice'))
      const form = { grant_type: 'client_credentials' }
      const { access_token: bearer } = (await server.token(form, { basic: ['admin', 'admin-secret'] })).json<{
        access_token: string
      }>()
      const statuses = await Promise.all(
        [1, 2, 3].map(async () => (await api.call({ method: 'DELETE', path: `/${id}`, bearer })).status),
      )
      assert.equal(statuses.filter(status => status === 200).length, 1)
      for (const status of statuses) assert.ok([200, 404, 409].includes(status), String(status))
    })
  })

  describe(`PATCH /identity-providers/{id}/status in ${mode}`, () => {
    let server: TestServer
    const api = providerApi(() => server)
    before(async () => {
      const clients = [...authorizeBootstrap.clients, ...providerBootstrap.clients].filter(
        ({ client_id }, place, all) => all.findIndex(each => each.client_id === client_id) === place,
      )
      server = await startServer({ mode, config: { bootstrap: { ...authorizeBootstrap, clients } } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })
    const idOf = async (origin: string) => {
      const provider = await server.store.providers.findByOrigin('svc', origin)
      assert.ok(provider)
      return provider.id
    }
    const setStatus = (id: string, json: unknown = { requirePasswordChange: true }) =>
      api.call({ method: 'PATCH', path: `/${id}/status`, json })

    it('requires a password policy of the provider', async () => {
      const id = await idOf('svc')
      const answer = await setStatus(id)
      assert.equal(answer.status, 422)
      const reason = { error: 'invalid_request', error_description: 'the provider has no password policy of its own' }
      assert.deepEqual(answer.json(), { requirePasswordChange: true, ...(mode === 'standard' && reason) })
    })

    // Covers config of type uaa: passwordPolicy.passwordNewerThan
    // Covers PATCH /identity-providers/{id}/status: requirePasswordChange
    it('requires users with an older password to change it', async () => {
      const id = await idOf('svc')
      const json = internal({ passwordPolicy: policy })
      assert.equal((await api.call({ method: 'PUT', path: `/${id}`, json })).status, 200)
      const browser = await signedIn(server)
      const { access_token } = await passwordTokens(server)
      server.clock.advance(60)
      const before = await api.read(id)
      const answer = await setStatus(id)
      assert.equal(answer.status, 200, answer.text)
      assert.deepEqual(answer.json(), { requirePasswordChange: true })
      const after = await api.read(id)
      const passwordNewerThan = server.clock.now().getTime()
      assert.deepEqual(after.config['passwordPolicy'], { ...policy, passwordNewerThan })
      assert.equal(after.version, before.version + 1)

      const page = 'http://localhost:8080/force_password_change'
      assert.equal((await browser.send('/home')).headers['location'], page)
      const other = server.browser()
      await other.signIn('marissa', 'koala')
      assert.equal((await other.send('/')).headers['location'], page)
      const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
      const refused = await server.token(form, { basic: APP })
      assert.equal(refused.json()['error_description'], 'password change required')
      assert.equal(await isAlive(server, access_token), true)

      server.clock.advance(1)
      const fresh = server.browser()
      await fresh.signIn('marissa', 'koala')
      const html = (await fresh.send('/force_password_change')).text
      const [, field = '', value = ''] = /name="(X-[A-Za-z]+-Csrf)" value="([^"]+)"/.exec(html) ?? []
      const password = 'a wombat instead'
      const changed = await fresh.send('/force_password_change', {
        form: { password, password_confirmation: password, [field]: value },
      })
      assert.equal(changed.headers['location'], `${page}_completed`)
      assert.equal((await fresh.send('/home')).status, 200)
      assert.equal((await server.token({ ...form, password }, { basic: APP })).status, 200)
    })

    for (const body of [{ requirePasswordChange: false }, { requirePasswordChange: null }, {}, { other: true }]) {
      it(`rejects ${JSON.stringify(body)} with 422, repeating the body`, async () => {
        const answer = await setStatus(await idOf('svc'), body)
        assert.equal(answer.status, 422)
        const sent = { requirePasswordChange: Reflect.get(body, 'requirePasswordChange') ?? null }
        const reason = { error: 'invalid_request', error_description: 'requirePasswordChange must be true' }
        assert.deepEqual(answer.json(), { ...sent, ...(mode === 'standard' && reason) })
      })
    }

    for (const json of ['{', '[]', '{"requirePasswordChange":"true"}', '{"requirePasswordChange":1}']) {
      it(`rejects ${json} with 400`, async () => {
        assert.equal((await setStatus(await idOf('svc'), json)).status, 400)
      })
    }

    // Covers PATCH /identity-providers/{id}/status: error: not possible; not found
    it('rejects a provider without passwords and an unknown provider', async () => {
      const { id } = await api.create(oidc('elsewhere'))
      assert.equal((await setStatus(id)).status, 422)
      for (const body of [{ requirePasswordChange: true }, { requirePasswordChange: false }]) {
        const answer = await setStatus('nowhere', body)
        assert.equal(answer.status, 404)
        assert.equal(answer.text, 'Provider not found.')
      }
    })
  })
}
