// The stored audit trail while its PostgreSQL is killed or frozen.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { inTime } from '../../store/cases.ts'
import { auditConfig, machineToken, verified } from '../../support/audit.ts'
import { freshDatabaseOn } from '../../support/databases.ts'
import { SERVICE } from '../../support/oauth.ts'
import { startPostgres } from '../../support/postgres.ts'
import type { OwnPostgres } from '../../support/postgres.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const isFast = process.env['LATCHKEY_TEST_FAST'] !== undefined

describe('The audit trail during an outage', { skip: isFast && 'a fast run has no PostgreSQL' }, () => {
  let postgres: OwnPostgres
  let server: TestServer
  before(async () => {
    postgres = await startPostgres()
    const database = await freshDatabaseOn(postgres.url)
    server = await startServer({ database: database.url, config: auditConfig() })
  })
  after(async () => {
    await server.stop()
    await postgres.kill()
  })

  const issue = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i += 1) {
      assert.equal((await server.token({ grant_type: 'client_credentials' }, { basic: SERVICE })).status, 200)
    }
  }
  let expected = 0

  const ways: readonly { name: string; away: () => unknown; back: () => unknown }[] = [
    { name: 'killed', away: () => postgres.kill(), back: () => postgres.restart() },
    { name: 'frozen', away: () => postgres.freeze(), back: () => postgres.thaw() },
  ]
  for (const { name, away, back } of ways) {
    it(`stores each event once and in order after the database was ${name}`, async () => {
      await issue(3)
      const writing = server.app.trail?.flush()
      await away()
      await issue(3)
      await writing
      await server.app.trail?.flush()
      await back()
      await inTime(true, () =>
        server.store.ping().then(
          () => true,
          () => false,
        ),
      )
      await issue(3)
      expected += 18
      await inTime(expected, async () => {
        await server.app.trail?.flush()
        return (await verified(server)).head?.number
      })
      assert.deepEqual((await verified(server)).problems, [])
    })
  }

  it('returns 503 to an auditor', async () => {
    const bearer = await machineToken(server, 'auditor')
    await postgres.kill()
    const answer = await server.send('/audit/events', { bearer })
    assert.equal(answer.status, 503)
    assert.match(String(answer.headers['retry-after']), /^\d+$/)
    await postgres.restart()
  })
})
