import assert from 'node:assert/strict'
import { signedIn } from '../support/authorize.ts'
import { freshDatabase } from '../support/databases.ts'
import { hiddenFields } from '../support/forms.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import { startUpstream, upstreamRecord } from '../support/upstream.ts'
import type { Attack } from './attack.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const TV = { client_id: 'tv', allowpublic: true, authorized_grant_types: [GRANT], scope: ['openid'] }
const CONFIG = {
  listen: { trusted_proxies: ['127.0.0.1'] },
  bootstrap: { ...defaultBootstrap, clients: [...defaultBootstrap.clients, TV] },
}

/** Two servers on one database. */
const against = (attempt: (servers: readonly [TestServer, TestServer]) => Promise<void>) => async (): Promise<void> => {
  const database = await freshDatabase('sqlite')
  const one = await startServer({ database: database.url, config: CONFIG })
  const other = await startServer({ database: database.url, config: CONFIG, clock: one.clock })
  try {
    await attempt([one, other])
    assert.deepEqual([...one.faults, ...other.faults], [])
  } finally {
    await one.stop()
    await other.stop()
    await database.drop()
  }
}

const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })

/** How many of `count` concurrent attempts at both servers were refused neither with 429 nor because of the queue. */
async function judged(
  servers: readonly TestServer[],
  { count, attempt }: { count: number; attempt: (server: TestServer, index: number) => Promise<TestAnswer> },
): Promise<number> {
  const attempts = Array.from({ length: count }, (_, index) => servers.map(server => attempt(server, index))).flat()
  return (await Promise.all(attempts)).filter(({ status }) => status !== 429 && status !== 503).length
}

/** Rate limits are shared by all servers of a database. */
export const severalServersAttacks: readonly Attack[] = [
  {
    attack: 'guesses 300 passwords of a name at once, at two servers and from addresses of one IPv6 network',
    outcome: 'at most 108 are checked, and users of other networks can sign in',
    attempt: against(async servers => {
      const grant = { grant_type: 'password', client_id: 'app', client_secret: 'app-secret' }
      const count = await judged(servers, {
        count: 150,
        attempt: (server, index) =>
          server.token({ ...grant, username: 'nemo', password: `p${index}` }, from(`2a02:1:2:3::${index}`)),
      })
      const [near, far] = [from('2a02:1:2:3:ffff::1'), from('2a02:1:2:4::1')]
      let more = 0
      for (const server of servers) {
        while ((await server.token({ ...grant, username: 'nemo', password: 'x' }, near)).status === 400) more += 1
      }
      assert.ok(count + more >= 100 && count + more <= 108, `${count} and ${more}`)
      for (const server of servers) {
        assert.equal((await server.token({ ...grant, username: 'nemo', password: 'x' }, far)).status, 400)
        assert.equal((await server.token({ ...grant, username: 'joel', password: 'wombat' }, near)).status, 200)
      }
    }),
  },
  {
    attack: 'guesses a password fifty times concurrently at two servers from many addresses',
    outcome: 'only as many are checked as the lockout allows, and the user can sign in after it',
    attempt: against(async servers => {
      const grant = { grant_type: 'password', client_id: 'app', client_secret: 'app-secret', username: 'joel' }
      const [one, other] = servers
      const guess = (server: TestServer, index: number) =>
        server.token({ ...grant, password: `guess ${index}` }, from(`203.0.113.${index}`))
      assert.equal((await guess(one, 100)).status, 400)
      await judged(servers, { count: 25, attempt: guess })
      const reasons = [...one.events, ...other.events].filter(({ type }) => type === 'UserAuthenticationFailure')
      const looked = reasons.filter(({ data }) => data !== 'the account is locked').length
      assert.ok(looked <= 5, `${looked}`)
      assert.equal((await other.token({ ...grant, password: 'wombat' })).status, 400)
      one.clock.advance(301)
      assert.equal((await other.token({ ...grant, password: 'wombat' })).status, 200)
    }),
  },
  {
    attack: 'guesses 300 secrets of a client at once, at two servers',
    outcome: 'at most 108 are checked; the client gets tokens at other addresses, and other clients at the same one',
    attempt: against(async servers => {
      const ask = (server: TestServer, [client_id, client_secret]: readonly [string, string], address: string) =>
        server.token({ grant_type: 'client_credentials', client_id, client_secret }, from(address))
      // Cached by both servers.
      for (const server of servers) {
        assert.equal((await ask(server, ['service', 'service-secret'], '198.51.100.1')).status, 200)
      }
      const count = await judged(servers, {
        count: 150,
        attempt: (server, index) => ask(server, ['service', `guess ${index}`], '203.0.113.9'),
      })
      let more = 0
      for (const server of servers) {
        while ((await ask(server, ['service', `more ${more}`], '203.0.113.9')).status === 401) more += 1
      }
      assert.ok(count + more >= 100 && count + more <= 108, `${count} and ${more}`)
      for (const server of servers) {
        const refusal = await ask(server, ['service', 'service-secret'], '203.0.113.9')
        assert.deepEqual([refusal.status, refusal.headers['retry-after']], [429, '60'])
        assert.deepEqual(refusal.json(), {
          error: 'too_many_requests',
          error_description: 'Too many attempts. Try again in 60 seconds.',
        })
        assert.equal((await ask(server, ['service', 'service-secret'], '198.51.100.1')).status, 200)
        assert.equal((await ask(server, ['resource', 'resource-secret'], '203.0.113.9')).status, 200)
      }
      servers[0].clock.advance(60)
      for (const server of servers) {
        assert.equal((await ask(server, ['service', 'service-secret'], '203.0.113.9')).status, 200)
      }
    }),
  },
  {
    attack: 'has a service with an old client secret retry continuously',
    outcome: 'it counts as one guess, and services with the new secret are accepted',
    attempt: against(async servers => {
      const ask = (server: TestServer, client_secret: string) =>
        server.token({ grant_type: 'client_credentials', client_id: 'service', client_secret })
      for (let count = 0; count < 110; count += 1) {
        for (const server of servers) assert.equal((await ask(server, 'old-secret')).status, 401)
      }
      for (const server of servers) assert.equal((await ask(server, 'service-secret')).status, 200)
    }),
  },
  {
    attack: 'enters wrong user codes of devices at two servers concurrently',
    outcome: 'at most ten are looked up',
    attempt: against(async servers => {
      const [one] = servers
      const browser = await signedIn(one)
      const page = await browser.send('/device')
      const cookies = Object.fromEntries(browser.cookies)
      const count = await judged(servers, {
        count: 15,
        attempt: (server, index) => {
          const code = 'BCDFGHJKLMNPQRSTVWXZ'.repeat(2).slice(index, index + 8)
          return server.send('/device', { form: { ...hiddenFields(page.text), user_code: code }, cookies })
        },
      })
      assert.ok(count >= 8 && count <= 10, `${count}`)
    }),
  },
  {
    attack: 'requests password reset links for an address at two servers, from many addresses',
    outcome: 'at most ten mails are sent in an hour',
    attempt: against(async servers => {
      const count = await judged(servers, {
        count: 12,
        attempt: (server, index) =>
          server.send('/forgot_password.do', { form: { username: 'joel' }, ...from(`203.0.113.${index}`) }),
      })
      assert.ok(count >= 8 && count <= 10, `${count}`)
      const [one, other] = servers
      await other.mails()
      assert.equal((await one.mails()).length, count)
      one.clock.advance(3600)
      const again = await other.send('/forgot_password.do', { form: { username: 'joel' }, ...from('203.0.113.1') })
      assert.equal(again.status, 302)
    }),
  },
  {
    attack: 'runs a provider that is replaced at another server while it responds',
    outcome: 'signs nobody in, even before this server is notified',
    attempt: against(async ([one, other]) => {
      const upstream = await startUpstream(one.clock)
      try {
        const internal = (await one.store.providers.findByOrigin('svc', 'svc')) ?? assert.fail()
        const { config, ...named } = upstreamRecord(upstream, 'corp')
        const { relyingPartySecret: _, ...settings } = config // which would have to be sealed
        const record = { ...internal, ...named, config: settings, id: 'first' }
        await one.store.providers.insert('svc', record)
        const browser = other.browser()
        const { searchParams } = (await browser.send('/login/external/corp')).location()
        upstream.nonce = searchParams.get('nonce') ?? ''
        upstream.answer = async () => {
          const found = (await one.store.providers.findForChange('svc', 'first')) ?? assert.fail()
          await one.store.providers.apply('svc', { kind: 'delete', ...found })
          await one.store.providers.insert('svc', { ...record, id: 'second' })
          return upstream.usual({ sub: 'victim' })
        }
        await browser.send('/login/callback/corp', { query: { code: 'c', state: searchParams.get('state') ?? '' } })
        assert.equal((await browser.send('/profile')).status, 302)
        assert.equal(await one.store.users.findByExternalId('svc', 'corp', 'victim'), undefined)
      } finally {
        await upstream.stop()
      }
    }),
  },
]
