import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { TestDatabase } from '../support/databases.ts'
import { DATABASE_KINDS, freshDatabase } from '../support/databases.ts'
import { auditBootstrap, auditConfig, verified } from '../support/audit.ts'
import { commandRunner } from '../support/commands.ts'
import { temporaryFolder } from '../support/config.ts'
import { runToEnd, serve } from '../support/process.ts'
import { startServer } from '../support/server.ts'
import { openTables } from '../support/tables.ts'

const basic = `Basic ${btoa('service:service-secret')}`

async function askForTokens(baseUrl: string, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const answer = await fetch(`${baseUrl}/oauth/token`, {
      method: 'POST',
      headers: { authorization: basic },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    })
    assert.equal(answer.status, 200)
  }
}

for (const kind of DATABASE_KINDS) {
  describe(`latchkey audit verify on ${kind}`, () => {
    const folder = temporaryFolder()
    const killed = temporaryFolder()
    const commands = commandRunner(folder)
    let database: TestDatabase
    before(async () => {
      database = await freshDatabase(kind)
    })
    after(async () => {
      commands.end()
      await database.drop()
    })

    const verify = (...args: readonly string[]) =>
      commands.run(['audit', 'verify', '--config', 'latchkey.json', ...args])

    // Covers latchkey audit: verify
    it('reports an intact trail after a stop, then a deleted entry', async () => {
      const config = { database: database.url, bootstrap: auditBootstrap, audit: { enabled: true } }
      const first = await serve({ folder, config })
      await askForTokens(first.baseUrl, 5)
      await first.stop()
      const second = await serve({ folder, config: { ...config, ...(kind === 'postgres' && { workers: 2 }) } })
      await askForTokens(second.baseUrl, 5)
      await second.stop()

      const intact = await verify()
      assert.equal(intact.status, 0, intact.stderr)
      assert.doesNotMatch(intact.stderr, /warning/)
      assert.match(intact.stdout, /^svc: intact, entries 1 to 20\n {2}head 20:([\w-]{43})\n/m)
      assert.match(intact.stdout, /^z1: intact, no entries\n/m)
      const head = /head (20:[\w-]{43})/.exec(intact.stdout)?.[1] ?? ''
      assert.equal((await verify('--zone', 'svc', '--expect', head)).status, 0)
      assert.equal((await verify('--zone', 'svc', '--expect', head.replace('20:', '21:'))).status, 1)

      const tables = await openTables(database.url)
      await tables.run('delete from audit_entries where number = 7')
      await tables.close()
      const altered = await verify('--zone', 'svc')
      assert.equal(altered.status, 1)
      assert.match(altered.stdout, /^svc: ALTERED, entries 1 to 20\n.*\n {2}entry 7 is missing\n$/)
      const off = await commands.run(['audit', 'verify', '--database', database.url])
      assert.match(off.stderr, /^latchkey: warning: audit\.enabled is not true: no new events are stored\n$/)
    })

    it('reports an intact trail of a killed server, which continues it', async () => {
      const own = await freshDatabase(kind)
      const config = { database: own.url, bootstrap: auditBootstrap, audit: { enabled: true } }
      const first = await serve({ folder: killed, config })
      await askForTokens(first.baseUrl, 100)
      await first.stop('SIGKILL')
      const second = await serve({ folder: killed, config })
      await askForTokens(second.baseUrl, 1)
      await second.stop()
      const args = ['audit', 'verify', '--config', 'latchkey.json', '--zone', 'svc']
      const { status, stdout } = await runToEnd(args, { folder: killed })
      assert.equal(status, 0, stdout)
      await own.drop()
    })

    for (const [args, message] of [
      [[], 'audit requires verify'],
      [['check'], 'audit requires verify, not check'],
      [['verify', '--expect', 'x'], "Option '--expect' needs '--zone <value>'"],
      [['verify', '--zone', 'svc', '--expect', '5'], '--expect must be NUMBER:HASH'],
    ] as const) {
      it(`rejects ${JSON.stringify(args)}`, async () => {
        const { status, stderr } = await commands.run(['audit', ...args])
        assert.equal(status, 2)
        assert.ok(stderr.includes(message), stderr)
      })
    }

    it('rejects an unknown zone or database', async () => {
      const unknown = await verify('--zone', 'nowhere')
      assert.deepEqual([unknown.status, unknown.stderr], [1, 'latchkey: there is no zone nowhere\n'])
      const missing = await verify('--database', 'sqlite:./none.db')
      assert.equal(missing.status, 1)
      assert.match(missing.stderr, /there is no database/)
    })
  })
}

describe('latchkey audit verify', () => {
  it('does not take for intact what retention has deleted before the comparison', async test => {
    const folder = temporaryFolder()
    const database = `sqlite:${join(folder, 'a.db')}`
    const server = await startServer({ database, config: auditConfig({ days: 1 }) })
    test.after(() => server.stop())
    await server.token({ grant_type: 'client_credentials' }, { basic: ['service', 'service-secret'] })
    const { head } = await verified(server)
    assert.ok(head)
    await server.token({ grant_type: 'client_credentials' }, { basic: ['service', 'service-secret'] })
    await server.app.trail?.flush()
    server.clock.advance(2 * 86_400)
    await server.app.trail?.deleteExpired()
    const args = ['audit', 'verify', '--database', database, '--zone', 'svc', '--expect', `${head.number}:${head.hash}`]
    const { status, stdout } = await runToEnd(args, { folder, env: { LATCHKEY_MASTER_KEY: '07'.repeat(32) } })
    assert.match(stdout, /^ {2}retention has deleted the expected entry, which was not compared: expect a newer one$/m)
    assert.equal(status, 1)
  })
})
