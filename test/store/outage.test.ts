import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { systemClock } from '../../src/base/clock.ts'
import { createFeed } from '../../src/store/engine/postgres/feed.ts'
import { openStore } from '../../src/store/open.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { Store } from '../../src/store/store.ts'
import { onThisMachine } from '../support/busy-machine.ts'
import { administer, startPostgres } from '../support/postgres.ts'
import type { OwnPostgres } from '../support/postgres.ts'
import { inTime } from './cases.ts'
import { client, token } from './records.ts'

/** The documented guarantees. */
const PROMPT_MS = 2000

const isFast = process.env['LATCHKEY_TEST_FAST'] !== undefined

describe('A PostgreSQL outage', { skip: isFast && 'a fast run has no PostgreSQL' }, () => {
  let postgres: OwnPostgres
  let store: Store
  before(async () => {
    postgres = await startPostgres()
    store = await openStore(postgres.url, { clock: systemClock })
    await store.clients.insert('z1', client())
    await store.clients.insert('z1', client({ clientId: 'cold' }))
  })
  after(async () => {
    await store.close()
    await postgres.kill()
  })
  beforeEach(async () => {
    await inTime(false, () => Promise.resolve(store.isUnreachable()))
    await inTime(true, async () => (await findClient()) === (await findClient()))
  })

  const findClient = (): Promise<unknown> => store.clients.find('z1', 'app')

  /** Asserts that it fails as expected, and in time. */
  async function failsInTime(work: () => Promise<unknown>): Promise<void> {
    const begin = performance.now()
    await assert.rejects(work(), StoreUnavailable)
    assert.ok(performance.now() - begin < onThisMachine(PROMPT_MS), `it took ${performance.now() - begin} ms`)
  }

  const ways: readonly { name: string; away: () => unknown; back: () => unknown }[] = [
    { name: 'is killed', away: () => postgres.kill(), back: () => postgres.restart() },
    { name: 'is frozen', away: () => postgres.freeze(), back: () => postgres.thaw() },
  ]
  for (const { name, away, back } of ways) {
    it(`fails reads and writes in time when it ${name}, serves cached records, and ends`, async t => {
      const known = await findClient()
      await away()
      let isBack = false
      t.after(() => isBack || back())
      const stored = token({ idDigest: name, grantId: name })
      // More than there are connections, so that some wait for one.
      const writes = Array.from({ length: 30 }, () => store.tokens.insert('z1', stored))
      await Promise.all(writes.map(each => failsInTime(() => each)))
      await inTime(true, () => Promise.resolve(store.isUnreachable()))
      assert.equal(await findClient(), known)
      await failsInTime(() => store.clients.find('z1', 'cold'))
      await failsInTime(() => store.ping())
      await back()
      isBack = true
      await inTime(false, () => Promise.resolve(store.isUnreachable()))
      await inTime('written', () =>
        store.tokens.insert('z1', token({ idDigest: `${name} again`, grantId: name })).then(
          () => 'written',
          () => 'refused',
        ),
      )
      // Earlier entries are not trusted.
      assert.notEqual(await findClient(), known)
    })
  }

  it('is bridged by the caches from the loss of connections until it is detected', async () => {
    await postgres.kill()
    const found = await Promise.all(Array.from({ length: 20 }, findClient))
    assert.ok(found.every(each => each !== undefined))
    await postgres.restart()
  })

  it('is bridged by the caches until the database is used again', async () => {
    const known = await findClient()
    await postgres.kill()
    await inTime(true, () => Promise.resolve(store.isUnreachable()))
    const back = postgres.restart()
    let found: unknown = known
    while (found === known) {
      found = await findClient() // rejects if the caches were cleared too early
      await pause(2)
    }
    assert.deepEqual(found, known)
    await back
  })

  it('is not assumed when a single statement waits for a lock', async t => {
    const lock = administer(postgres.url, `begin; lock table clients; select pg_sleep(3); commit`)
    t.after(() => lock)
    await inTime(true, async () => {
      await administer(postgres.url, 'select 1')
      return true
    })
    const write = store.clients.update('z1', client({ name: 'changed' }))
    await write
    assert.equal(store.isUnreachable(), false)
  })

  it('is not assumed when this process was suspended for two seconds', async () => {
    const errors: unknown[] = []
    const stalled = await openStore(postgres.url, { clock: systemClock, onError: error => errors.push(error) })
    const known = await stalled.clients.find('z1', 'app')
    for (let stall = 0; stall < 3; stall += 1) {
      await pause(100 * stall) // so that an answer is due when it begins, or is not
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000)
      await stalled.ping()
      assert.equal(await stalled.clients.find('z1', 'app'), known)
    }
    assert.deepEqual(errors, [])
    await stalled.close()
  })

  it('does not restore a cached record that another process has just deleted', async () => {
    const other = await openStore(postgres.url, { clock: systemClock })
    await store.clients.insert('z1', client({ clientId: 'leaked' }))
    assert.ok(await store.clients.find('z1', 'leaked'))
    await other.clients.apply('z1', [{ kind: 'delete', clientId: 'leaked', revision: 0 }])
    await other.close()
    await inTime(undefined, () => store.clients.find('z1', 'leaked'))
    await postgres.kill()
    await failsInTime(() => store.clients.find('z1', 'leaked'))
    await postgres.restart()
  })

  it('is bridged by the caches for a limited time', async () => {
    const url = new URL(postgres.url)
    let isUnreachable = false
    const waits: number[] = []
    const feed = createFeed({
      connect: () => new Client({ connectionString: url.href, connectionTimeoutMillis: 800 }),
      listens: async () => true,
      listener: { changed: () => {}, missed: () => {} },
      onError: () => {},
      onUnreachable: () => (isUnreachable = true),
      spread: milliseconds => {
        waits.push(milliseconds)
        return milliseconds / 10
      },
      maxKeptMs: 1000,
    })
    await feed.start()
    assert.deepEqual([feed.isCurrent(), feed.isUnreachable(), feed.mayTrustCaches()], [true, false, false])
    await postgres.kill()
    await inTime(true, () => Promise.resolve(isUnreachable))
    assert.deepEqual([feed.isCurrent(), feed.isUnreachable(), feed.mayTrustCaches()], [false, true, true])
    await inTime(false, () => Promise.resolve(feed.mayTrustCaches()))
    assert.equal(feed.isUnreachable(), true)
    await postgres.restart()
    await inTime(false, () => Promise.resolve(feed.isUnreachable()))
    // Each process attempts, and recovers, at another time.
    assert.deepEqual([waits.slice(0, 3), waits.at(-1)], [[100, 300, 700], 250])
    await feed.stop()
  })

  it('does not delay closing the store when the database is frozen', async () => {
    const other = await openStore(postgres.url, { clock: systemClock })
    await other.ping()
    postgres.freeze()
    const begin = performance.now()
    await other.close()
    assert.ok(performance.now() - begin < onThisMachine(PROMPT_MS))
    postgres.thaw()
  })
})
