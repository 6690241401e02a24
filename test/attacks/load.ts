import assert from 'node:assert/strict'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer, usualBootstrap } from '../support/server.ts'
import type { Attack } from './attack.ts'

const PASSWORD_GRANT = { grant_type: 'password', client_id: 'app', client_secret: 'app-secret' }
/** A hash takes some milliseconds, so that hundreds of them fill every queue. */
const SLOW = { hashCost: { memoryKib: 4096, passes: 2 } }
const BEHIND_PROXY = { listen: { trusted_proxies: ['127.0.0.1'] } }

const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })

/** Many wrong passwords or secrets at once, and then somebody honest. */
async function besiege(
  guess: (server: TestServer, index: number) => Promise<TestAnswer>,
  honest: (server: TestServer) => Promise<TestAnswer>,
): Promise<void> {
  const identity_zones = [
    { id: 'z1', subdomain: 'z1', name: 'z1', bootstrap: { clients: usualBootstrap.clients, users: [] } },
  ]
  const config = { ...BEHIND_PROXY, bootstrap: { ...usualBootstrap, identity_zones } }
  const server = await startServer({ ...SLOW, config })
  try {
    // Whose secret was verified once costs no hash.
    assert.equal((await server.token({ ...PASSWORD_GRANT, username: 'joel', password: 'wombat' })).status, 200)
    const guesses = Array.from({ length: 400 }, (_, index) => guess(server, index))
    assert.equal((await honest(server)).status, 200)
    const statuses = new Set((await Promise.all(guesses)).map(({ status }) => status))
    assert.ok(statuses.has(503), 'the attack did not fill any queue')
  } finally {
    await server.stop()
  }
}

/** One tenant, address or visitor must not use up what everybody needs. */
export const loadAttacks: readonly Attack[] = [
  {
    attack: 'guesses passwords of 400 names at once from one network',
    outcome: 'a person elsewhere signs in meanwhile',
    attempt: () =>
      besiege(
        (server, index) =>
          server.token(
            { ...PASSWORD_GRANT, username: `name-${index}`, password: 'x' },
            from(`203.0.113.${index % 250}`),
          ),
        server => server.token({ ...PASSWORD_GRANT, username: 'marissa', password: 'koala' }, from('198.51.100.1')),
      ),
  },
  {
    attack: 'guesses secrets of 400 clients of one zone at once, each from a network of its own',
    outcome: 'a client of another zone gets its token meanwhile',
    attempt: () =>
      besiege(
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
]
