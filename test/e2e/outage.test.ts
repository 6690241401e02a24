// The real process with a PostgreSQL that is late, killed, frozen, and started again.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { onThisMachine } from '../support/busy-machine.ts'
import { freshDatabaseOn } from '../support/databases.ts'
import { freePort } from '../support/free-port.ts'
import { startPostgres } from '../support/postgres.ts'
import type { OwnPostgres } from '../support/postgres.ts'
import { isHealthy, launch, serve } from '../support/process.ts'
import { defaultBootstrap } from '../support/server.ts'

const isFast = process.env['LATCHKEY_TEST_FAST'] !== undefined
const KEY = { LATCHKEY_MASTER_KEY: 'cd'.repeat(32) }
const SERVICE = { grant_type: 'client_credentials', client_id: 'service', client_secret: 'service-secret' }
const JOEL = {
  grant_type: 'password',
  client_id: 'app',
  client_secret: 'app-secret',
  username: 'joel',
  password: 'wombat',
}

/** The documented guarantees. */
const PROMPT_MS = 2000
const RECOVERY_MS = 5000

describe('A database outage', { skip: isFast && 'a fast run has no PostgreSQL' }, () => {
  let postgres: OwnPostgres
  before(async () => (postgres = await startPostgres()))
  after(() => postgres.kill())

  /** Repeats the query until the result is as expected. */
  async function becomes<T>(wanted: T, ask: () => Promise<T>): Promise<void> {
    const begin = performance.now()
    for (;;) {
      const found = await ask()
      if (found === wanted) return
      assert.ok(performance.now() - begin < onThisMachine(RECOVERY_MS), `still ${String(found)}`)
      await pause(20)
    }
  }

  it('delays the start of the process, which logs it', async t => {
    const { url } = await freshDatabaseOn(postgres.url)
    await postgres.kill()
    const port = await freePort()
    const started = launch(['serve', '--port', String(port), '--database', url], { env: KEY })
    t.after(() => started.signal('SIGKILL'))
    await started.printed(/waiting for the database/)
    assert.equal(await isHealthy(port), false)
    await postgres.restart()
    await started.printed(/Latchkey (?:\S+ )?is ready/)
    assert.equal(await isHealthy(port), true)
    assert.match(started.stdout, /the database is available/)
    started.signal('SIGTERM')
    assert.equal((await started.ended).status, 0)
  })

  it('delays writing the configured records, which is logged', async t => {
    const { url } = await freshDatabaseOn(postgres.url)
    const port = await freePort()
    // Each is hashed, which takes long enough for the database to go away.
    const users = Array.from({ length: 60 }, (_, number) => ({
      userName: `user-${number}`,
      password: `pass-${number}`,
      emails: [{ value: `user-${number}@example.org` }],
    }))
    const config = { ...defaultBootstrap, users: [...defaultBootstrap.users, ...users] }
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-outage-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    writeFileSync(join(folder, 'latchkey.json'), JSON.stringify({ bootstrap: config, database: url }))
    const started = launch(['serve', '--port', String(port), '--config', 'latchkey.json'], { env: KEY, folder })
    t.after(() => started.signal('SIGKILL'))
    await started.printed(/schema brought up to date/)
    await postgres.kill()
    await started.printed(/waiting for the database/)
    await postgres.restart()
    await started.printed(/is ready|listening/)
    assert.equal(await isHealthy(port), true)
    assert.match(started.stdout, /the database is available/)
    started.signal('SIGTERM')
    assert.equal((await started.ended).status, 0)
  })

  it('does not delay stopping during the start', async () => {
    const port = await freePort()
    const nobody = `postgres://somebody:hidden@127.0.0.1:${await freePort()}/x`
    const started = launch(['serve', '--port', String(port), '--database', nobody], { env: KEY })
    await started.printed(/waiting for the database/)
    assert.doesNotMatch(started.stdout, /hidden/)
    const begin = performance.now()
    started.signal('SIGTERM')
    assert.equal((await started.ended).status, 0)
    assert.ok(performance.now() - begin < onThisMachine(PROMPT_MS))
  })

  it('does not prevent stopping in time with status 0', async t => {
    const { url } = await freshDatabaseOn(postgres.url)
    const server = await serve({ config: { bootstrap: defaultBootstrap, database: url }, env: KEY })
    t.after(() => server.signal('SIGKILL'))
    postgres.freeze()
    t.after(() => postgres.thaw())
    const begin = performance.now()
    assert.equal((await server.stop()).status, 0)
    const took = performance.now() - begin
    assert.ok(took < 9500, `it took ${took} ms, nearly as long as requests under way are given`)
  })

  for (const workers of [1, 2]) {
    it(`is survived three times with ${workers} worker(s), without losing acknowledged writes`, async t => {
      const { url } = await freshDatabaseOn(postgres.url)
      const server = await serve({ config: { bootstrap: defaultBootstrap, database: url, workers }, env: KEY })
      t.after(() => server.stop())
      let slowest = 0
      const send = async (path: string, form?: Record<string, string>, basic?: string): Promise<Response> => {
        const begin = performance.now()
        const headers = { connection: 'close', ...(basic && { authorization: `Basic ${btoa(basic)}` }) }
        const init = form ? { method: 'POST', body: new URLSearchParams(form) } : {}
        const response = await fetch(`${server.baseUrl}${path}`, { ...init, headers })
        slowest = Math.max(slowest, performance.now() - begin)
        return response
      }
      const status = async (form: Record<string, string>): Promise<number> => (await send('/oauth/token', form)).status
      const opaque: string[] = []
      for (const outage of ['kill', 'freeze', 'kill'] as const) {
        // Every worker gets to know the client: while one is busy, the other takes connections.
        const first = await Promise.all(Array.from({ length: 40 }, () => status(SERVICE)))
        assert.deepEqual(new Set(first), new Set([200]))
        const kept = await send('/oauth/token', { ...SERVICE, token_format: 'opaque' })
        opaque.push(JSON.parse(await kept.text()).access_token)
        await postgres[outage]()
        slowest = 0
        const asked = Array.from({ length: 20 }, () => Promise.all([status(SERVICE), status(JOEL)]))
        for (const [service, joel] of await Promise.all(asked)) assert.deepEqual([service, joel], [200, 503])
        assert.equal((await send('/token_keys')).status, 200)
        assert.equal((await send('/livez')).status, 200)
        assert.equal((await send('/readyz')).status, 503)
        assert.ok(slowest < onThisMachine(PROMPT_MS), `${outage}: an answer took ${slowest} ms`)
        if (outage === 'freeze') postgres.thaw()
        else await postgres.restart()
        for (let worker = 0; worker < workers * 4; worker += 1) {
          await becomes(200, () => status(JOEL))
          await becomes(200, async () => (await send('/readyz')).status)
        }
        for (const token of opaque) {
          const answer = await send('/introspect', { token }, 'resource:resource-secret')
          assert.equal(JSON.parse(await answer.text()).active, true)
        }
      }
      assert.equal((await server.stop()).status, 0)
    })
  }
})
