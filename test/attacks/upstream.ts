import assert from 'node:assert/strict'
import { CompactSign, decodeJwt } from 'jose'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { newGroup } from '../../src/users/groups/default-groups.ts'
import { createTestClock } from '../support/clock.ts'
import { APP, MODES } from '../support/oauth.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import { RELYING_PARTY } from '../support/oidc-provider.ts'
import { signInUpstream, startUpstream } from '../support/upstream.ts'
import type { Upstream } from '../support/upstream.ts'
import type { Attack } from './attack.ts'
import { inBothModes, PORTER, providerAt } from './identity.ts'

const GROUPS = { attributeMappings: { external_groups: 'groups' } }
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
/** Maps one claim to `count` attributes. */
const mapped = (count: number): Readonly<Record<string, string>> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`user.attribute.${index}`, 'values']))

const MALLORY = { sub: 'mallory', email: 'mallory@corp.example', email_verified: true }

/** The record of a provider with a discovery document. */
function discoveredAt(upstream: Upstream, originKey: string) {
  const record = providerAt(upstream, {})
  const { authUrl: _, tokenUrl: __, tokenKeyUrl: ___, issuer: ____, ...bare } = record.config
  const discoveryUrl = `${upstream.url}/.well-known/openid-configuration`
  return { ...record, originKey, config: { ...bare, discoveryUrl } }
}

/** Attacks by upstream providers and their users. */
export const upstreamAttacks: readonly Attack[] = [
  {
    attack: 'uses an old session at a provider without auth_time for a request with max_age',
    outcome: 'a fresh sign-in there is required; other tokens have no recent auth_time',
    attempt: inBothModes(async ({ mode, signIn, tokensOf }) => {
      if (mode === 'uaa') return // UAA: counts from the return (P10).
      const { browser } = await signIn({})
      assert.equal(decodeJwt((await tokensOf(browser)).access_token)['auth_time'], undefined)
      const query = { response_type: 'code', client_id: 'auto', redirect_uri: 'https://auto.example/cb', max_age: '60' }
      const asked = await browser.send('/oauth/authorize', { query })
      assert.equal(asked.headers['location'], 'http://localhost:8080/login')
      const silent = await browser.send('/oauth/authorize', { query: { ...query, prompt: 'none' } })
      assert.equal(silent.location().searchParams.get('error'), 'login_required')
    }),
  },
  {
    attack: 'sends administrative groups in the group claim of a provider with AS_SCOPES',
    outcome: 'becomes a member of the other groups only',
    attempt: inBothModes(
      async ({ server, signIn, userOf }) => {
        const groups = ['svc.admin', 'SVC.Admin', 'SCIM.write', 'zones.z1.admin', 'clients.admin', 'app.read', 'a b']
        const { browser } = await signIn({ ...MALLORY, groups })
        const userId = await userOf(browser)
        assert.ok(userId !== undefined)
        const all = await server.store.groups.namesOfUser('svc', userId)
        assert.deepEqual(
          all.filter(name => /admin|scim|zones|app|a b/i.test(name)),
          ['app.read'],
        )
      },
      { ...GROUPS, groupMappingMode: 'AS_SCOPES' },
    ),
  },
  {
    attack: 'sends 10,000 groups',
    outcome: 'is refused, and no account is created',
    attempt: inBothModes(
      async ({ server, signIn, userOf }) => {
        const groups = Array.from({ length: 10_000 }, (_, index) => `${index}`)
        const { browser, answer } = await signIn({ ...MALLORY, groups })
        assert.notEqual(answer.headers['location'], 'http://localhost:8080/')
        assert.equal(await userOf(browser), undefined)
        assert.equal(await server.store.users.findByExternalId('svc', 'corp', 'mallory'), undefined)
      },
      { ...GROUPS, groupMappingMode: 'AS_SCOPES' },
    ),
  },
  {
    attack: 'maps one claim of 9,000 values to 40,000 attributes, and keeps groups by patterns of 200 wildcards',
    outcome: 'time and stored data are limited',
    attempt: inBothModes(async ({ server, signIn, userOf }) => {
      const record = await server.store.providers.findByOrigin('svc', 'corp')
      const attributeMappings = { ...mapped(40_000), external_groups: Array.from({ length: 1000 }, () => 'groups') }
      const externalGroupsWhitelist = Array.from({ length: 1000 }, (_, index) => `*${'0*'.repeat(200)}${index}`)
      assert.ok(record)
      await server.store.providers.update('svc', {
        ...record,
        config: { ...record.config, attributeMappings, externalGroupsWhitelist },
      })
      const groups = Array.from({ length: 500 }, (_, index) => `${index}`)
      const values = Array.from({ length: 9000 }, () => '1')
      const before = process.cpuUsage()
      const { browser } = await signIn({ ...MALLORY, groups, values })
      const user = await server.store.users.find('svc', (await userOf(browser)) ?? '')
      assert.ok(user && JSON.stringify(user).length < 200_000)
      const { user: microseconds } = process.cpuUsage(before)
      assert.ok(microseconds < 8_000_000, `took ${microseconds} µs`)
    }),
  },
  {
    attack: 'signs in with a sub that is not UTF-8, and is decoded like that of another user',
    outcome: 'is refused',
    attempt: inBothModes(async ({ server, upstream, userOf }) => {
      for (const byte of ['fe', 'ff']) {
        const browser = server.browser()
        const { searchParams } = (await browser.send('/login/external/corp')).location()
        const nonce = searchParams.get('nonce')
        const exp = Math.floor(server.clock.now().getTime() / 1000) + 300
        const claims = JSON.stringify({ iss: upstream.url, aud: RELYING_PARTY, nonce, exp, sub: '*' })
        const bytes = Buffer.from(Buffer.from(claims).toString('hex').replace('222a22', `22${byte}22`), 'hex')
        const idToken = await new CompactSign(bytes)
          .setProtectedHeader({ alg: 'RS256', kid: 'corp-1' })
          .sign(upstream.privateKey)
        upstream.answer = () => Promise.resolve({ body: { token_type: 'Bearer', id_token: idToken } })
        await browser.send('/login/callback/corp', { query: { code: 'c', state: searchParams.get('state') ?? '' } })
        assert.equal(await userOf(browser), undefined)
      }
    }),
  },
  {
    attack: 'signs in again after the group mapping was removed from the record',
    outcome: 'the groups and roles are removed',
    attempt: inBothModes(
      async ({ server, signIn, userOf }) => {
        const claims = { ...MALLORY, groups: ['app.read'] }
        const userId = (await userOf((await signIn(claims)).browser)) ?? ''
        assert.ok((await server.store.groups.namesOfUser('svc', userId)).includes('app.read'))
        const record = await server.store.providers.findByOrigin('svc', 'corp')
        assert.ok(record)
        await server.store.providers.update('svc', { ...record, config: { ...record.config, attributeMappings: {} } })
        assert.equal(await userOf((await signIn(claims)).browser), userId)
        assert.ok(!(await server.store.groups.namesOfUser('svc', userId)).includes('app.read'))
        assert.equal((await server.store.users.find('svc', userId))?.providerRoles, undefined)
      },
      { ...GROUPS, groupMappingMode: 'AS_SCOPES' },
    ),
  },
  {
    attack: 'has groups whose names differ from a mapped one by a blank or a character',
    outcome: 'they do not match: only case is ignored',
    attempt: inBothModes(async ({ server, signIn, userOf }) => {
      const made = newGroup({ zoneId: 'svc', displayName: 'keepers' }, { id: 'keepers', now: server.clock.now() })
      await server.store.groups.insert('svc', made)
      await server.store.groups.addExternal('svc', { groupId: 'keepers', externalGroup: 'keepers', origin: 'corp' })
      await server.store.groups.addExternal('svc', {
        groupId: 'keepers',
        externalGroup: '\u00e5\u03c9',
        origin: 'corp',
      })
      const isKeeper = async (groups: string | readonly string[]): Promise<boolean> => {
        const userId = (await userOf((await signIn({ ...MALLORY, groups })).browser)) ?? ''
        return (await server.store.groups.namesOfUser('svc', userId)).includes('keepers')
      }
      assert.equal(await isKeeper([' keepers', 'keepers\u00a0', '\u212aeepers', 'keepers\t']), false)
      assert.equal(await isKeeper(['\u212b\u03a9', '\u00c5\u2126']), false)
      assert.equal(await isKeeper(['Keepers']), true)
      assert.equal(await isKeeper(['\u00c5\u03a9']), true)
      // A provider may write the only group as a string.
      for (const name of [' keepers', 'keepers ', 'keepers\u00a0']) assert.equal(await isKeeper(name), false)
      assert.equal(await isKeeper('keepers'), true)
    }, GROUPS),
  },
  {
    attack: 'uses the issuer of another provider of the zone in their discovery document',
    outcome: 'users of the other one can still use the JWT bearer grant, and are not asserted',
    attempt: async () => {
      for (const mode of MODES) {
        for (const isInRecord of [true, false]) {
          const clock = createTestClock()
          const [corp, rival] = await Promise.all([startUpstream(clock), startUpstream(clock)])
          Object.assign(rival.metadata, { issuer: corp.url })
          const identity_providers = [
            isInRecord ? providerAt(corp, {}) : discoveredAt(corp, 'corp'),
            discoveredAt(rival, 'rival'),
          ]
          const clients = [...defaultBootstrap.clients, PORTER]
          const bootstrap = { ...defaultBootstrap, clients, identity_providers }
          const server = await startServer({ mode, clock, config: { bootstrap } })
          try {
            const statuses = []
            for (const by of [corp, rival]) {
              const assertion = await by.token({ iss: corp.url })
              const answer = await server.token({ grant_type: JWT_BEARER, assertion }, { basic: ['porter', 'secret'] })
              statuses.push(answer.status === 200)
            }
            assert.deepEqual(statuses, [true, false])
            assert.deepEqual(server.faults, [])
          } finally {
            await server.stop()
            await Promise.all([corp.stop(), rival.stop()])
          }
        }
      }
    },
  },
  {
    attack: 'has markup in every claim',
    outcome: 'is signed in, and all pages escape it',
    attempt: inBothModes(
      async ({ server, signIn, userOf }) => {
        const markup = '<img src=x onerror=alert(1)>'
        const { browser } = await signIn({
          sub: markup,
          email: `${markup}@corp.example`,
          given_name: markup,
          family_name: markup,
          groups: [markup],
          amr: [markup],
          acr: markup,
        })
        assert.ok((await userOf(browser)) !== undefined)
        for (const path of ['/home', '/profile', '/']) {
          assert.doesNotMatch((await browser.send(path)).text, /<img src=x/, path)
        }
        assert.deepEqual(server.faults, [])
      },
      { ...GROUPS, groupMappingMode: 'AS_SCOPES' },
    ),
  },
  {
    attack: 'has this server authenticate to a provider of their zone with the key of other zones',
    outcome: 'refused: the zone needs its own key',
    attempt: async () => {
      for (const mode of MODES) {
        const clock = createTestClock()
        const upstream = await startUpstream(clock)
        const config = { relyingPartySecret: undefined, jwtClientAuthentication: true, passwordGrantEnabled: true }
        const identity_providers = [providerAt(upstream, config)]
        const zone = { id: 'z1', subdomain: 'z1', name: 'One', bootstrap: { identity_providers } }
        const bootstrap = { ...defaultBootstrap, identity_zones: [zone] }
        const server = await startServer({ mode, clock, config: { bootstrap } })
        try {
          const browser = server.browser('z1.localhost:8080')
          const { searchParams } = (await browser.send('/login/external/corp')).location()
          const query = { code: 'c', state: searchParams.get('state') ?? '' }
          await browser.send('/login/callback/corp', { query })
          assert.equal(upstream.requests.length, 0)
          assert.deepEqual(server.faults, [])
        } finally {
          await server.stop()
          await upstream.stop()
        }
      }
    },
  },
  {
    attack: 'has the provider changed or replaced between the start and the return',
    outcome: 'the sign-in must be restarted, and neither provider gets the code',
    attempt: inBothModes(async ({ server, upstream, userOf }) => {
      const original = await server.store.providers.findByOrigin('svc', 'corp')
      assert.ok(original)
      for (const change of [
        { config: { ...original.config, tokenUrl: `${upstream.url}/token?stolen` } },
        { config: { ...original.config, issuer: 'https://other.example' } },
        { active: false },
      ]) {
        const browser = server.browser()
        const { searchParams } = (await browser.send('/login/external/corp')).location()
        upstream.nonce = searchParams.get('nonce') ?? ''
        await server.store.providers.update('svc', { ...original, ...change })
        await browser.send('/login/callback/corp', { query: { code: 'c', state: searchParams.get('state') ?? '' } })
        await server.store.providers.update('svc', original)
        assert.equal(await userOf(browser), undefined)
      }
      assert.equal(upstream.requests.length, 0)
    }),
  },
  {
    attack: 'returns from a provider that is replaced while the account is created',
    outcome: 'signs nobody in, and creates no account',
    attempt: inBothModes(async ({ server, upstream, userOf }) => {
      const { providers, users } = server.store
      const original = (await providers.findByOrigin('svc', 'corp')) ?? assert.fail()
      const unchanged = { ...users }
      const create: typeof users.create = async (...args) => {
        const found = (await providers.findForChange('svc', original.id)) ?? assert.fail()
        await providers.apply('svc', { kind: 'delete', ...found })
        await providers.insert('svc', { ...original, id: 'other' })
        return unchanged.create(...args)
      }
      Object.assign(users, { create })
      const browser = server.browser()
      await signInUpstream(browser, upstream, { origin: 'corp', claims: { sub: 'victim' } })
      assert.equal((await providers.findByOrigin('svc', 'corp'))?.id, 'other')
      assert.equal(await userOf(browser), undefined)
      assert.equal(await users.findByExternalId('svc', 'corp', 'victim'), undefined)
    }),
  },
  {
    attack: 'runs a provider that responds after it was disabled, deleted or replaced',
    outcome: 'signs nobody in, and creates no account',
    attempt: inBothModes(async ({ server, upstream, userOf }) => {
      const { providers, users } = server.store
      const original = await providers.findByOrigin('svc', 'corp')
      assert.ok(original)
      const remove = async (): Promise<void> => {
        const found = await providers.findForChange('svc', original.id)
        assert.ok(found)
        await providers.apply('svc', { kind: 'delete', ...found })
      }
      const replace = async (): Promise<void> => {
        await remove()
        const config = { ...original.config, issuer: 'https://other.example' }
        await providers.insert('svc', { ...original, id: 'other', config })
      }
      const disable = () => providers.update('svc', { ...original, active: false })
      const enable = () => providers.update('svc', original)
      const restore = () => providers.insert('svc', original)
      for (const [change, undo] of [
        [disable, enable],
        [remove, restore],
        [replace, async () => {}],
      ] as const) {
        const browser = server.browser()
        const { searchParams } = (await browser.send('/login/external/corp')).location()
        upstream.nonce = searchParams.get('nonce') ?? ''
        upstream.answer = async () => {
          await change()
          return upstream.usual({ sub: 'victim' })
        }
        await browser.send('/login/callback/corp', { query: { code: 'c', state: searchParams.get('state') ?? '' } })
        await undo()
        assert.equal(await userOf(browser), undefined)
        assert.equal(await users.findByExternalId('svc', 'corp', 'victim'), undefined)
      }
    }),
  },
  {
    attack: 'posts their own ID token from a browser with a pending sign-in',
    outcome: 'refused without the nonce and the cookies',
    attempt: inBothModes(
      async ({ server, upstream, userOf }) => {
        const victim = server.browser()
        const { searchParams } = (await victim.send('/login/external/corp')).location()
        const id_token = await upstream.token({ iss: upstream.url, sub: 'mallory', nonce: 'of mallory' })
        const state = searchParams.get('state') ?? ''
        for (const form of [
          { state, id_token, posted_again: 'true' },
          { state: 'guessed', id_token, posted_again: 'true' },
        ]) {
          await server.send('/login/callback/corp', { form })
          await victim.send('/login/callback/corp', { form })
          assert.equal(await userOf(victim), undefined)
        }
      },
      { responseType: 'id_token' },
    ),
  },
  {
    attack: 'has twenty users sign in at an unresponsive provider',
    outcome: 'the circuit breaker opens after five requests, and internal users can sign in',
    attempt: async () => {
      for (const mode of MODES) {
        let connections = 0
        const silent = createServer(socket => {
          connections += 1
          socket.destroy()
        })
        silent.listen(0, '127.0.0.1')
        await once(silent, 'listening')
        const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}` // it listens on TCP
        const clock = createTestClock()
        const identity_providers = [providerAt({ url }, { passwordGrantEnabled: true })]
        const server = await startServer({
          mode,
          clock,
          config: { bootstrap: { ...defaultBootstrap, identity_providers } },
        })
        const signIn = async (username: string, hint: object): Promise<number> => {
          const form = { grant_type: 'password', username, password: 'koala', ...hint }
          return (await server.token(form, { basic: APP })).status
        }
        try {
          const hint = { login_hint: JSON.stringify({ origin: 'corp' }) }
          for (let index = 0; index < 20; index += 1) assert.ok((await signIn(`person-${index}`, hint)) >= 400)
          assert.equal(connections, 5)
          assert.equal(await signIn('marissa', {}), 200)
          clock.advance(30)
          await Promise.all(Array.from({ length: 5 }, (_, index) => signIn(`later-${index}`, hint)))
          assert.equal(connections, 6)
          assert.deepEqual(server.faults, [])
        } finally {
          await server.stop()
          silent.close()
        }
      }
    },
  },
]
