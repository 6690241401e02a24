// A revocation on one node is effective on another within one second with notifications, or two with polling.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DATABASE_KINDS, freshDatabase } from '../support/databases.ts'
import { tokensOf } from '../support/oauth.ts'
import { startServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const REVOCATIONS = 100
const CONCURRENCY = 10

const resource = { client_id: 'resource', client_secret: 'secret', authorities: ['svc.resource'] }
const admin = { client_id: 'admin', client_secret: 'secret', authorities: ['svc.admin'] }
const clients = [
  resource,
  admin,
  ...Array.from({ length: REVOCATIONS }, (_, number) => ({
    client_id: `c${number}`,
    client_secret: 'secret',
    authorities: ['jobs.run'],
  })),
].map(client => ({ ...client, authorized_grant_types: ['client_credentials'] }))

const issue = async (server: TestServer, clientId: string): Promise<string> =>
  tokensOf(await server.token({ grant_type: 'client_credentials' }, { basic: [clientId, 'secret'] })).access_token

/** Milliseconds from the revocation on one node to the first refusal by the other, in ascending order. */
async function delays([one, two]: readonly [TestServer, TestServer]): Promise<readonly number[]> {
  const bearer = await issue(one, 'admin')
  const isActive = async (token: string): Promise<unknown> =>
    (await two.send('/introspect', { form: { token }, basic: ['resource', 'secret'] })).json()['active']
  const found: number[] = []
  const remaining = Array.from({ length: REVOCATIONS }, (_, number) => `c${number}`)
  async function work(): Promise<void> {
    for (let clientId = remaining.pop(); clientId !== undefined; clientId = remaining.pop()) {
      const token = await issue(one, clientId)
      assert.equal(await isActive(token), true)
      const { status } = await one.send(`/oauth/token/revoke/client/${clientId}`, { bearer })
      assert.equal(status, 200)
      const begin = performance.now()
      while ((await isActive(token)) === true) await new Promise(resolve => setTimeout(resolve, 5))
      found.push(performance.now() - begin)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
  return found.toSorted((a, b) => a - b)
}

const isFast = !DATABASE_KINDS.includes('postgres') && 'a fast run has no PostgreSQL'

for (const { changes, limit } of [
  { changes: 'listen', limit: 1000 },
  { changes: 'poll', limit: 2000 },
] as const) {
  describe(`Revocation between nodes with changes=${changes}`, { skip: isFast }, () => {
    it(`takes effect within ${limit} ms at the 99th percentile`, async t => {
      const database = await freshDatabase('postgres')
      const config = { database_options: { changes }, bootstrap: { clients } }
      const nodes = [
        await startServer({ database: database.url, config }),
        await startServer({ database: database.url, config }),
      ] as const
      t.after(async () => {
        for (const node of nodes) await node.stop()
        await database.drop()
      })
      const found = await delays(nodes)
      const [median, p99] = [found[REVOCATIONS / 2], found[Math.ceil(REVOCATIONS * 0.99) - 1]]
      t.diagnostic(
        `median ${median?.toFixed()} ms, 99th percentile ${p99?.toFixed()} ms, most ${found.at(-1)?.toFixed()} ms`,
      )
      assert.ok(p99 !== undefined && p99 < limit, `the 99th percentile is ${p99} ms`)
    })
  })
}
