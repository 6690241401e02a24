import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { DATABASE_KINDS, freshDatabase } from '../support/databases.ts'
import type { TestDatabase } from '../support/databases.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import { exchange, insertCode, isAlive, passwordTokens, refresh, SERVICE, tokensOf } from '../support/oauth.ts'

const COUNT = 20
const together = (send: () => Promise<TestAnswer>): Promise<readonly TestAnswer[]> =>
  Promise.all(Array.from({ length: COUNT }, send))

/** Returns the only success; all others must be `invalid_grant`. */
function onlyWinner(answers: readonly TestAnswer[]): TestAnswer {
  const outcomes = answers.map(answer =>
    answer.status === 200 ? '200' : `${answer.status} ${String(answer.json()['error'])}`,
  )
  assert.deepEqual(outcomes.toSorted(), ['200', ...Array.from({ length: COUNT - 1 }, () => '400 invalid_grant')])
  return answers[outcomes.indexOf('200')] ?? assert.fail()
}

const config = { zone_config: { tokenPolicy: { refreshTokenRotate: true } } }

for (const kind of DATABASE_KINDS) {
  describe(`Concurrent requests on ${kind}`, () => {
    let database: TestDatabase
    /** Two servers on one database, without shared memory. */
    let servers: readonly TestServer[]
    let server: TestServer
    before(async () => {
      database = await freshDatabase(kind)
      const first = await startServer({ database: database.url, config })
      servers = [first, await startServer({ database: database.url, config, clock: first.clock })]
      server = first
    })
    after(async () => {
      for (const each of servers) await each.stop()
      await database.drop()
    })
    const next = (index: number): TestServer => servers[index % servers.length] ?? server

    it('exchange one code once (RFC 6749 §4.1.2), and the second attempt revokes its tokens', async () => {
      const code = await insertCode(server)
      let index = 0
      const answers = await together(() => exchange(next(index++), code))
      const winner = onlyWinner(answers)
      for (const each of servers) assert.equal(await isAlive(each, tokensOf(winner).access_token), false)
    })

    it('refresh one rotating token once (RFC 9700 §4.14.2), and the second attempt revokes its family', async () => {
      const { refresh_token: token } = await passwordTokens(server)
      let index = 0
      const answers = await together(() => refresh(next(index++), token))
      const winner = onlyWinner(answers)
      const given = tokensOf(winner)
      for (const each of servers) {
        assert.equal(await isAlive(each, given.access_token), false)
        assert.equal((await refresh(each, given.refresh_token)).status, 400)
      }
    })

    it('each receive their own token for client_credentials', async () => {
      let index = 0
      const form = { grant_type: 'client_credentials', token_format: 'opaque' }
      const answers = await together(() => next(index++).token(form, { basic: SERVICE }))
      const tokens = answers.map(answer => tokensOf(answer).access_token)
      assert.equal(new Set(tokens).size, COUNT)
      for (const token of tokens) assert.ok(await isAlive(server, token))
    })

    it('cause no faults', () => {
      for (const { faults } of servers) assert.deepEqual(faults, [])
    })
  })
}
