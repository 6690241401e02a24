// The responses of a server while its PostgreSQL is killed or frozen, and afterwards.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { onThisMachine } from '../support/busy-machine.ts'
import { MODES } from '../support/oauth.ts'
import { startPostgres } from '../support/postgres.ts'
import type { OwnPostgres } from '../support/postgres.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import { freshDatabaseOn } from '../support/databases.ts'
import { inTime } from '../store/cases.ts'

/** The documented guarantees. */
const PROMPT_MS = 2000
const RECOVERY_MS = 5000

const SERVICE = { grant_type: 'client_credentials', client_id: 'service', client_secret: 'service-secret' }
const APP = { client_id: 'app', client_secret: 'app-secret' }
const MARISSA = { username: 'marissa', password: 'koala' }

const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    {
      client_id: 'cold',
      client_secret: 'cold-secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['jobs.run'],
    },
  ],
}

type Ask = (server: TestServer, opaque: string) => Promise<TestAnswer>

/** Requests that still work, from caches. */
const GO_ON: Readonly<Record<string, Ask>> = {
  'a token of a client that is known': server => server.token(SERVICE),
  'the keys': server => server.send('/token_keys'),
  'the active key': server => server.send('/token_key'),
  'the discovery of OpenID Connect': server => server.send('/.well-known/openid-configuration'),
  'the metadata of OAuth': server => server.send('/.well-known/oauth-authorization-server'),
  'whether the process lives': server => server.send('/livez'),
}

/** Rejected input. */
const REFUSED: Readonly<Record<string, Ask>> = {
  'a token of a client that is not known': server =>
    server.token({ ...SERVICE, client_id: 'cold', client_secret: 'cold-secret' }),
  'an opaque token': server => server.token({ ...SERVICE, token_format: 'opaque' }),
  'a password at the token endpoint': server => server.token({ grant_type: 'password', ...APP, ...MARISSA }),
  'a refresh token': server => server.token({ grant_type: 'refresh_token', refresh_token: 'x', ...APP }),
  'a code': server => server.token({ grant_type: 'authorization_code', code: 'x', ...APP }),
  introspection: (server, token) =>
    server.send('/introspect', { form: { token }, basic: ['resource', 'resource-secret'] }),
  revocation: (server, token) => server.send('/oauth/revoke', { form: { token }, basic: ['app', 'app-secret'] }),
  userinfo: (server, bearer) => server.send('/userinfo', { bearer }),
  'the list of users': (server, bearer) => server.send('/Users', { bearer }),
  'the sign-in page': server => server.send('/login', { headers: { accept: 'text/html' } }),
  'the form of the sign-in page': server => server.send('/login.do', { form: MARISSA }),
  authorization: server => server.send('/oauth/authorize?response_type=code&client_id=app&scope=openid'),
  'whether it is ready': server => server.send('/readyz'),
  'whether it is well': server => server.send('/healthz'),
}

/** A client with keys on a server that accepts connections and never responds. */
const SIGNER = {
  client_id: 'signer',
  authorized_grant_types: ['client_credentials'],
  authorities: ['jobs.run'],
  token_endpoint_auth_method: 'private_key_jwt',
}

/** An assertion that is valid as far as it is read before the keys. */
function assertionOfSigner(server: TestServer): string {
  const now = Math.floor(server.clock.now().getTime() / 1000)
  const aud = `${server.baseUrl}/oauth/token`
  const claims = { iss: 'signer', sub: 'signer', aud, jti: randomUUID(), iat: now, exp: now + 60 }
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${encode({ alg: 'ES256', kid: 'k1' })}.${encode(claims)}.${'A'.repeat(86)}`
}

const isFast = process.env['LATCHKEY_TEST_FAST'] !== undefined

describe('A database outage with client keys on an unresponsive server', {
  skip: isFast && 'a fast run has no PostgreSQL',
}, () => {
  it('rejects an assertion before fetching keys', async t => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo // it listens on TCP
    const postgres = await startPostgres()
    const clients = [...bootstrap.clients, { ...SIGNER, jwks_uri: `http://127.0.0.1:${port}/keys` }]
    const { url } = await freshDatabaseOn(postgres.url)
    const server = await startServer({ database: url, config: { bootstrap: { ...bootstrap, clients } } })
    t.after(async () => {
      silent.close()
      silent.closeAllConnections()
      await server.stop()
    })
    await server.store.clients.find('svc', 'signer')
    await postgres.kill()
    await inTime(true, () => Promise.resolve(server.store.isUnreachable()))
    const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
    const form = { client_assertion_type: type, client_assertion: assertionOfSigner(server) }
    const begin = performance.now()
    const answer = await server.token({ grant_type: 'client_credentials', ...form })
    assert.equal(answer.status, 503, answer.text)
    assert.ok(performance.now() - begin < onThisMachine(PROMPT_MS))
  })
})

describe('A database outage after the start', { skip: isFast && 'a fast run has no PostgreSQL' }, () => {
  it('leaves keys and metadata of the default zone available, also in a second outage', async t => {
    const postgres = await startPostgres()
    const { url } = await freshDatabaseOn(postgres.url)
    const server = await startServer({ database: url, config: { bootstrap } })
    const stopProbing = server.app.health.keepProbing(10_000)
    t.after(async () => {
      stopProbing()
      await server.stop()
      await postgres.kill()
    })
    // As every start does.
    await server.app.keys.active('svc')
    await Promise.all([server.store.zones.find('svc'), server.app.keys.list('svc')])
    await server.app.health.probe()
    for (const outage of ['first', 'second']) {
      await postgres.kill()
      await inTime(true, () => Promise.resolve(server.store.isUnreachable()))
      for (const path of ['/token_keys', '/.well-known/openid-configuration'])
        assert.equal((await server.send(path)).status, 200, `${path} in the ${outage} outage`)
      await postgres.restart()
      await inTime(200, async () => (await server.send('/readyz')).status)
      await pause(200) // for two reads, long before the next regular probe
    }
  })
})

for (const mode of MODES) {
  describe(`A database outage in ${mode}`, { skip: isFast && 'a fast run has no PostgreSQL' }, () => {
    let postgres: OwnPostgres
    let server: TestServer
    let stopProbing: () => void
    before(async () => {
      postgres = await startPostgres()
      const database = await freshDatabaseOn(postgres.url)
      server = await startServer({ mode, database: database.url, config: { bootstrap } })
      stopProbing = server.app.health.keepProbing(10_000)
    })
    after(async () => {
      stopProbing()
      await server.stop()
      await postgres.kill()
    })

    async function inTwoSeconds(name: string, ask: Promise<TestAnswer>): Promise<TestAnswer> {
      const begin = performance.now()
      const answer = await ask
      const took = performance.now() - begin
      assert.ok(took < onThisMachine(PROMPT_MS), `${name} took ${took} ms`)
      return answer
    }

    /** Sends all requests concurrently, like users. */
    async function expectOutage(opaque: string): Promise<void> {
      const all = async (asks: Readonly<Record<string, Ask>>, check: (name: string, answer: TestAnswer) => void) =>
        Promise.all(
          Object.entries(asks).map(async ([name, ask]) => check(name, await inTwoSeconds(name, ask(server, opaque)))),
        )
      await Promise.all([
        all(GO_ON, (name, { status, text }) => assert.equal(status, 200, `${name}: ${text}`)),
        all(REFUSED, (name, { status, headers, text }) => {
          assert.equal(status, 503, `${name}: ${text}`)
          if (!name.startsWith('whether')) assert.match(String(headers['retry-after']), /^\d+$/, name)
        }),
      ])
    }

    const ways: readonly { name: string; away: () => unknown; back: () => unknown }[] = [
      { name: 'killed', away: () => postgres.kill(), back: () => postgres.restart() },
      { name: 'frozen', away: () => postgres.freeze(), back: () => postgres.thaw() },
    ]
    for (const { name, away, back } of ways) {
      it(`serves requests that need no database, rejects others in time, and recovers (${name})`, async t => {
        await inTime(200, async () => (await server.send('/readyz')).status)
        for (const ask of Object.values(GO_ON)) assert.equal((await ask(server, '')).status, 200)
        const opaque = (await server.token({ ...SERVICE, token_format: 'opaque' })).json<{ access_token: string }>()
        await away()
        let isBack = false
        t.after(() => isBack || back())
        // Requests do not hang either before the outage is detected.
        const signIn = { grant_type: 'password', ...APP, ...MARISSA }
        const early = await inTwoSeconds('the first request', server.token(signIn))
        assert.equal(early.status, 503)
        await inTime(503, async () => (await server.send('/readyz')).status)
        await expectOutage(opaque.access_token)
        // Guesses are limited by the process alone.
        server.clock.advance(60)
        const statuses = new Map<number, number>()
        for (let count = 0; count < 110; count += 1) {
          const { status } = await server.token({ ...SERVICE, client_secret: `guess ${count}` })
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
        }
        assert.deepEqual(Object.fromEntries(statuses), { 401: 100, 429: 10 })
        server.clock.advance(60)
        await back()
        isBack = true
        const begin = performance.now()
        await inTime(200, async () => (await server.token(signIn)).status)
        await inTime(200, async () => (await server.send('/readyz')).status)
        assert.ok(performance.now() - begin < onThisMachine(RECOVERY_MS), 'it took too long to recover')
        // What was acknowledged before is there.
        const basic = ['resource', 'resource-secret'] as const
        const form = { token: opaque.access_token }
        assert.equal((await server.send('/introspect', { form, basic })).json<{ active: boolean }>().active, true)
      })
    }
  })
}
