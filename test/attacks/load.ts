import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import { certificateOf } from '../support/certificate.ts'
import { createTestClock } from '../support/clock.ts'
import { RELYING_PARTY } from '../support/oidc-provider.ts'
import { startUpstream } from '../support/upstream.ts'
import type { Upstream } from '../support/upstream.ts'
import { privatePem } from '../support/config.ts'
import { keyWithRounds } from '../support/encrypted-key.ts'
import { sendJson, startZoneServer, tokenOf } from '../support/zones.ts'
import type { Attack } from './attack.ts'
import { cpuStopwatch } from '../support/cpu-time.ts'

const PASSWORD_GRANT = { grant_type: 'password', client_id: 'app', client_secret: 'app-secret' }
/** A hash takes some milliseconds, so that hundreds of them fill every queue. */
const SLOW = { hashCost: { memoryKib: 4096, passes: 2 } }
const BEHIND_PROXY = { listen: { trusted_proxies: ['127.0.0.1'] } }

const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })

/** Many wrong passwords or secrets at once, and then a legitimate user. */
async function flood(
  guess: (server: TestServer, index: number) => Promise<TestAnswer>,
  honest: (server: TestServer) => Promise<TestAnswer>,
): Promise<void> {
  const identity_zones = [
    { id: 'z1', subdomain: 'z1', name: 'z1', bootstrap: { clients: defaultBootstrap.clients, users: [] } },
  ]
  const config = { ...BEHIND_PROXY, bootstrap: { ...defaultBootstrap, identity_zones } }
  const server = await startServer({ ...SLOW, config })
  try {
    // A verified secret is cached and costs no hash.
    assert.equal((await server.token({ ...PASSWORD_GRANT, username: 'joel', password: 'wombat' })).status, 200)
    const guesses = Array.from({ length: 400 }, (_, index) => guess(server, index))
    assert.equal((await honest(server)).status, 200)
    const statuses = new Set((await Promise.all(guesses)).map(({ status }) => status))
    assert.ok(statuses.has(503), 'the attack did not fill any queue')
  } finally {
    await server.stop()
  }
}

/** As its administrator, gives a zone `count` SAML keys that take `rounds` rounds each to decrypt. */
async function withEncryptedKeys(
  { count, rounds }: { readonly count: number; readonly rounds: number },
  attempt: (change: () => Promise<TestAnswer>, server: TestServer) => Promise<void>,
): Promise<void> {
  const server = await startZoneServer()
  try {
    const bearer = await tokenOf(server, 'admin-of-z1')
    const pair = {
      key: keyWithRounds(rounds),
      passphrase: 'x',
      certificate: certificateOf(privatePem('ec', 'P-256')),
    }
    const keys = Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, pair]))
    const body = { subdomain: 'one', name: 'Zone 1', config: { samlConfig: { keys, activeKeyId: 'k0' } } }
    const headers = { 'x-identity-zone-id': 'z1' }
    await attempt(() => sendJson(server, 'PUT', '/identity-zones/z1', body, { bearer, headers }), server)
  } finally {
    await server.stop()
  }
}

/** Two working providers in the default zone, and forty unresponsive ones in the named zone. */
async function withSilentProviders(
  zone: 'svc' | 'z1',
  attempt: (server: TestServer, upstream: Upstream) => Promise<void>,
): Promise<void> {
  const silent = createServer(() => {})
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as AddressInfo // no pipe
  const clock = createTestClock()
  const upstream = await startUpstream(clock)
  const provider = (originKey: string, config: Readonly<Record<string, string>>) => ({
    originKey,
    type: 'oidc1.0',
    name: originKey,
    config: { relyingPartyId: RELYING_PARTY, linkText: originKey, ...config },
  })
  const good = [
    provider('found', { discoveryUrl: `${upstream.url}/.well-known/openid-configuration` }),
    provider('known', {
      issuer: upstream.url,
      authUrl: `${upstream.url}/authorize`,
      tokenUrl: `${upstream.url}/token`,
      tokenKeyUrl: `${upstream.url}/keys`,
    }),
  ]
  const slow = Array.from({ length: 40 }, (_, index) =>
    provider(`slow-${index}`, { discoveryUrl: `http://slow-${index}.localhost:${port}/` }),
  )
  const bootstrap = {
    ...defaultBootstrap,
    identity_providers: [...good, ...(zone === 'svc' ? slow : [])],
    identity_zones: [
      { id: 'z1', subdomain: 'z1', name: 'z1', bootstrap: { identity_providers: zone === 'z1' ? slow : [] } },
    ],
  }
  const server = await startServer({ clock, config: { bootstrap } })
  try {
    await attempt(server, upstream)
  } finally {
    silent.closeAllConnections()
    silent.close()
    await server.stop()
    await upstream.stop()
  }
}

/** Denial of service by one tenant, address or visitor. */
export const loadAttacks: readonly Attack[] = [
  {
    attack: 'guesses passwords of 400 names at once from one network',
    outcome: 'a user of another network can sign in',
    attempt: () =>
      flood(
        (server, index) =>
          server.token(
            { ...PASSWORD_GRANT, username: `name-${index}`, password: 'x' },
            from(`203.0.113.${index % 250}`),
          ),
        server => server.token({ ...PASSWORD_GRANT, username: 'marissa', password: 'koala' }, from('198.51.100.1')),
      ),
  },
  {
    attack: 'guesses secrets of 400 clients of a zone at once, each from another network',
    outcome: 'a client of another zone gets a token',
    attempt: () =>
      flood(
        (server, index) =>
          server.token(
            { grant_type: 'client_credentials' },
            { host: 'z1.localhost:8080', basic: [`client-${index}`, 'x'], ...from(`10.0.${index % 200}.${index}`) },
          ),
        server =>
          server.token(
            { grant_type: 'client_credentials' },
            { basic: ['service', 'service-secret'], ...from('198.51.100.1') },
          ),
      ),
  },
  {
    attack: 'gives a zone twenty encrypted keys of 100,000 rounds each',
    outcome: 'the change is refused before anything is derived',
    attempt: () =>
      withEncryptedKeys({ count: 20, rounds: 100_000 }, async change => {
        const answer = await change()
        assert.equal(answer.status, 422)
        assert.match(answer.text, /2000000 rounds/)
      }),
  },
  {
    attack: 'gives a zone encrypted keys with the maximum rounds, several times at once',
    outcome: 'other requests are served, and one change is queued',
    attempt: () =>
      withEncryptedKeys({ count: 2, rounds: 100_000 }, async (change, server) => {
        const answered: string[] = []
        const changes = Array.from({ length: 4 }, async () => {
          const { status } = await change()
          if (status !== 503) answered.push('change')
          return status
        })
        for (let asked = 0; asked < 5; asked += 1)
          await server.send('/info', { headers: { accept: 'application/json' } })
        answered.push('others')
        assert.deepEqual(
          (await Promise.all(changes)).toSorted((a, b) => a - b),
          [422, 422, 503, 503],
        )
        assert.deepEqual(answered, ['others', 'change', 'change'])
      }),
  },
  {
    attack: 'tests with wrong and correct passwords whether an account is locked',
    outcome: 'in standard every response is that to a wrong password, at the cost of one hash',
    attempt: async () => {
      const server = await startServer()
      try {
        const guess = async (username: string, password: string) => {
          const token = await server.token({ ...PASSWORD_GRANT, username, password })
          const page = await server.browser().signIn(username, password)
          return [token.status, token.text, page.status, page.headers['location']]
        }
        const first = await guess('marissa', 'wrong')
        for (let count = 0; count < 4; count += 1) assert.deepEqual(await guess('marissa', 'wrong'), first)
        assert.deepEqual(await guess('marissa', 'koala'), first)
        assert.deepEqual(await guess('nobody', 'koala'), first)
        assert.ok(
          server.events.some(({ data }) => data === 'the account is locked'),
          'no operator is told',
        )
      } finally {
        await server.stop()
      }
    },
  },
  {
    attack: 'measures whether a user name exists or is locked',
    outcome: 'each refusal costs one database write',
    attempt: async () => {
      const server = await startServer()
      const { events } = server.store
      let writes = 0
      for (const name of ['recordFailure', 'recordNothing'] as const) {
        const write = events[name].bind(events) as (...args: readonly unknown[]) => Promise<void>
        Object.assign(events, {
          [name]: (...args: readonly unknown[]) => {
            writes += 1
            return write(...args)
          },
        })
      }
      const names = ['nobody', 'marissa', 'marissa', 'marissa', 'marissa', 'marissa', 'marissa', 'marissa']
      for (const [index, username] of names.entries()) {
        await server.token({ ...PASSWORD_GRANT, username, password: 'wrong' })
        assert.equal(writes, index + 1, username)
      }
      assert.ok(server.events.some(({ data }) => data === 'the account is locked'))
      assert.deepEqual(server.faults, [])
      await server.stop()
    },
  },
  {
    attack: 'guesses 250 passwords of a name at the same moment',
    outcome: 'no more are checked than sequentially',
    attempt: async () => {
      const server = await startServer()
      try {
        const guesses = Array.from({ length: 250 }, (_, index) =>
          server.token({ ...PASSWORD_GRANT, username: 'nobody', password: `wrong ${index}` }),
        )
        const statuses = (await Promise.all(guesses)).map(({ status }) => status)
        const judged = server.events.filter(({ type }) => type === 'UserNotFound').length
        assert.ok(judged <= 100, `${judged} were judged`)
        assert.ok(statuses.every(status => [400, 429, 503].includes(status)))
      } finally {
        await server.stop()
      }
    },
  },
  {
    attack: 'gives a zone forty unresponsive providers, and opens its sign-in page',
    outcome: 'the page is shown immediately, and sign-in in other zones works',
    attempt: () =>
      withSilentProviders('z1', async (server, upstream) => {
        const page = await server.send('/login', { host: 'z1.localhost:8080' })
        assert.equal(page.status, 200)
        const answer = await server.browser().send('/login/external/found')
        assert.ok(String(answer.headers['location']).startsWith(`${upstream.url}/authorize`), answer.text)
      }),
  },
  {
    attack: 'has a thousand browsers wait for an unresponsive provider of the zone',
    outcome: 'clients and users of the zone are served',
    attempt: () =>
      withSilentProviders('svc', async (server, upstream) => {
        const waiting = Array.from({ length: 1000 }, () => server.send('/login/external/slow-0'))
        const service = { grant_type: 'client_credentials', client_id: 'service', client_secret: 'service-secret' }
        assert.equal((await server.token(service)).status, 200)
        const answer = await server.browser().send('/login/external/known')
        assert.ok(String(answer.headers['location']).startsWith(`${upstream.url}/authorize`), answer.text)
        await Promise.all(waiting)
      }),
  },
  {
    attack: 'fills every slot for provider discovery while a user of the zone signs in at their provider',
    outcome: 'the code of the user is exchanged',
    attempt: () =>
      withSilentProviders('svc', async (server, upstream) => {
        const browser = server.browser()
        const sent = (await browser.send('/login/external/known')).location().searchParams
        upstream.nonce = sent.get('nonce') ?? ''
        await server.send('/login') // asks the silent ones
        const query = { code: 'c', state: sent.get('state') ?? '', iss: upstream.url }
        const answer = await browser.send('/login/callback/known', { query })
        assert.equal(answer.headers['location'], 'http://localhost:8080/', answer.text)
      }),
  },
  {
    attack: 'gives a zone a thousand origin patterns, and sends origins that are slow to match',
    outcome: 'is refused, or answered without delaying others',
    async attempt() {
      const server = await startZoneServer()
      const bearer = await tokenOf(server, 'admin-of-z1')
      const headers = { 'x-identity-zone-id': 'z1' }
      const outcomes = []
      for (const pattern of [
        '(?:.?){0,300}',
        '(a?){300}a{200}',
        '[\\p{L}\\p{N}]*'.repeat(30),
        '(?:a|[a-z]|.)*',
        '.*a.*b',
        '(a|b|c){1000}'.repeat(38), // takes long to compile, before its size is known
        `(?i)${'[\\x{80}-\\x{10ffff}]'.repeat(24)}`,
      ]) {
        const allowedOrigins = Array.from({ length: 1000 }, (_, index) => `${pattern}${index}`)
        const elapsed = cpuStopwatch()
        for (const length of [1000, 400, 100, 20]) {
          const config = { corsPolicy: { defaultConfiguration: { allowedOrigins: allowedOrigins.slice(0, length) } } }
          const body = { id: 'z1', subdomain: 'one', name: 'Zone 1', config }
          const { status } = await sendJson(server, 'PUT', '/identity-zones/z1', body, { bearer, headers })
          if (status === 200) break
          outcomes.push(status)
        }
        const origin = `https://${'a'.repeat(280)}`
        await server.send('/token_keys', { host: 'one.localhost:8080', headers: { origin } })
        assert.ok(elapsed() < 2000, pattern)
      }
      assert.ok(outcomes.includes(422))
      await server.stop()
    },
  },
  {
    attack: 'sends a forged bearer token with another name in each request, to evade rate limits',
    outcome: 'the limit by address applies; verified tokens have their own limit',
    attempt: async () => {
      const ratelimit = {
        credentialID: 'JWTjsonField:1:sub',
        limiterMappings: [
          {
            name: 'Me',
            pathSelectors: ['equals:/userinfo'],
            withCallerCredentialsID: '2r/60s',
            withCallerRemoteAddressID: '5r/60s',
          },
        ],
      }
      const server = await startServer({ config: { ...BEHIND_PROXY, ratelimit } })
      try {
        const statusOf = async (token: string, address: string) =>
          (await server.send('/userinfo', { bearer: token, ...from(address) })).status
        const forged: number[] = []
        for (let index = 0; index < 7; index += 1) {
          const claims = Buffer.from(JSON.stringify({ sub: `name ${index}` })).toString('base64url')
          forged.push(await statusOf(`e30.${claims}.x`, '203.0.113.1'))
        }
        assert.deepEqual(forged, [401, 401, 401, 401, 401, 429, 429])
        const answer = await server.token({ ...PASSWORD_GRANT, username: 'marissa', password: 'koala' })
        const token = String(answer.json()['access_token'])
        const genuine: number[] = []
        for (let index = 0; index < 4; index += 1) genuine.push(await statusOf(token, '203.0.113.2'))
        assert.deepEqual(genuine, [200, 200, 200, 429]) // the first one by its address
      } finally {
        await server.stop()
      }
    },
  },
  {
    attack: 'sends long authorization requests without ever signing in',
    outcome: 'more than 4 kB are refused, and each network has at most 500 rows',
    attempt: async () => {
      const server = await startServer()
      try {
        const begin = (length: number) =>
          server.send('/oauth/authorize', {
            query: {
              response_type: 'code',
              client_id: 'auto',
              redirect_uri: 'https://auto.example/cb',
              state: 'x'.repeat(length),
              code_challenge: 'c'.repeat(43),
              code_challenge_method: 'S256',
            },
            headers: { accept: 'text/html' },
          })
        const long = await begin(5000)
        assert.equal(long.status, 400)
        assert.match(long.text, /too long to be kept/)
        assert.deepEqual(
          Object.keys(long.cookies).filter(name => name.includes('session')),
          [],
        )
        const first = await begin(3000)
        assert.equal(first.status, 302)
        const waits = async () => (await server.send('/login', { cookies: first.cookies })).text.includes('xxxxxxxx')
        assert.equal(await waits(), true)
        for (let index = 0; index < 500; index += 1) await begin(3000)
        assert.equal(await waits(), false)
      } finally {
        await server.stop()
      }
    },
  },
]
