import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { createHealth } from '../../src/ops/health.ts'
import { StoreBusy } from '../../src/store/store.ts'
import { MODES } from '../support/oauth.ts'
import { startServer } from '../support/server.ts'

const UNKNOWN = { status: 200, text: 'UAA running. Database status unknown.\n' }
const OK = { status: 200, text: 'ok' }
const FAILED = { status: 503, text: 'Database Connection failed.\n' }
const STOPPING = { status: 503, text: 'stopping\n' }

/** A health check of a database controlled by the test. */
function healthOf(check: () => Promise<void>) {
  const lines: string[] = []
  const note = (line: string): void => void lines.push(line)
  return { health: createHealth({ check, log: { warn: note, info: note } }), lines }
}

/** Waits until all promise callbacks have run. */
const settle = async (): Promise<void> => {
  for (let i = 0; i < 20; i += 1) await Promise.resolve()
}

describe('createHealth', () => {
  // Covers GET /healthz: 200 database unknown
  it('is unknown before the first check, then has its result', async () => {
    let works = true
    const { health, lines } = healthOf(() => (works ? Promise.resolve() : Promise.reject(new Error('gone'))))
    assert.deepEqual(health.answer, UNKNOWN)
    await health.probe()
    assert.deepEqual(health.answer, OK)
    works = false
    assert.deepEqual(health.answer, OK)
    await health.probe()
    await health.probe()
    assert.deepEqual(health.answer, FAILED)
    works = true
    await health.probe()
    assert.deepEqual(health.answer, OK)
    assert.deepEqual(lines, ['the database does not work: gone', 'the database works again'])
  })

  it('checks at the configured interval, until stopped', async t => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
    const ping = mock.fn(() => Promise.resolve())
    const { health } = healthOf(ping)
    const end = health.keepProbing(10_000)
    assert.equal(ping.mock.callCount(), 0)
    for (const count of [1, 2, 3]) {
      t.mock.timers.tick(10_000)
      await settle()
      assert.equal(ping.mock.callCount(), count)
    }
    assert.deepEqual(health.answer, OK)
    end()
    t.mock.timers.tick(60_000)
    assert.equal(ping.mock.callCount(), 3)
  })

  it('treats a hanging database as failed, sends no second query, and accepts a late response', async t => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
    let answer = (): void => {}
    const ping = mock.fn(() => new Promise<void>(resolve => (answer = resolve)))
    const { health } = healthOf(ping)
    const probed = health.probe()
    t.mock.timers.tick(4999)
    assert.deepEqual(health.answer, UNKNOWN)
    t.mock.timers.tick(1)
    await probed
    assert.deepEqual(health.answer, FAILED)
    const again = health.probe()
    t.mock.timers.tick(5000)
    await again
    assert.equal(ping.mock.callCount(), 1)
    assert.deepEqual(health.answer, FAILED)
    answer()
    await settle()
    assert.deepEqual(health.answer, OK)
    void health.probe()
    assert.equal(ping.mock.callCount(), 2)
    answer()
    await settle()
  })

  it('checks at once after a failed request, but not for each of many', async () => {
    const check = mock.fn(() => Promise.reject(new Error('full')))
    const { health } = healthOf(check)
    for (let request = 0; request < 100; request += 1) {
      health.suspect()
      await settle()
    }
    assert.deepEqual(health.answer, FAILED)
    assert.equal(check.mock.callCount(), 1)
  })

  it('checks every second while the database fails', async t => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
    let works = false
    const check = mock.fn(() => (works ? Promise.resolve() : Promise.reject(new Error('gone'))))
    const { health } = healthOf(check)
    const end = health.keepProbing(10_000)
    await health.probe()
    t.mock.timers.tick(1000)
    await settle()
    assert.equal(check.mock.callCount(), 2)
    works = true
    t.mock.timers.tick(1000)
    await settle()
    assert.deepEqual(health.answer, OK)
    t.mock.timers.tick(5000)
    await settle()
    assert.equal(check.mock.callCount(), 3)
    end()
  })

  it('has failed while the database is known to be unreachable, whatever the last check', async () => {
    let away = false
    const log = { warn: () => {}, info: () => {} }
    const health = createHealth({ check: () => Promise.resolve(), isUnreachable: () => away, log })
    await health.probe()
    away = true
    assert.deepEqual(health.answer, FAILED)
    away = false
    assert.deepEqual(health.answer, OK)
  })

  it('does not treat a busy database as failed', async () => {
    const { health, lines } = healthOf(() => Promise.reject(new StoreBusy('too many')))
    await health.probe()
    assert.deepEqual(health.answer, UNKNOWN)
    assert.deepEqual(lines, [])
  })

  it('is stopping, whatever the state of the database', async () => {
    const { health, lines } = healthOf(() => Promise.reject(new Error('closed')))
    health.stop()
    assert.deepEqual(health.answer, STOPPING)
    await health.probe()
    assert.deepEqual(health.answer, STOPPING)
    assert.deepEqual(lines, [])
  })
})

describe('GET /healthz', () => {
  for (const mode of MODES) {
    // Covers GET /healthz: 200 ok; rule: no zone
    it(`returns ok as uncached plain text to any caller at any host, in ${mode}`, async () => {
      const server = await startServer({ mode, config: { base_url: 'https://id.example' } })
      try {
        for (const host of ['id.example', '10.0.0.7:8080', 'nowhere.id.example', 'other.example']) {
          const answer = await server.send('/healthz', { host, headers: { accept: 'application/json' } })
          assert.equal(answer.status, 200, host)
          assert.equal(answer.text, 'ok', host)
          assert.match(String(answer.headers['content-type']), /^text\/plain/)
          assert.equal(answer.headers['cache-control'], 'no-store')
          assert.equal(answer.headers['x-content-type-options'], 'nosniff')
          assert.equal(answer.headers['set-cookie'], undefined)
        }
      } finally {
        await server.stop()
      }
    })

    // Covers GET /healthz: 503 database
    // Covers GET /readyz: 503 while it stops
    // Covers GET /livez: 200 whatever the database does
    it(`returns 503 if the database fails or the server stops, in ${mode}`, async () => {
      const server = await startServer({ mode })
      try {
        await server.store.close()
        assert.equal((await server.send('/healthz')).text, 'ok', 'not before the check')
        await server.app.health.probe()
        const failed = await server.send('/healthz')
        assert.deepEqual({ status: failed.status, text: failed.text }, FAILED)
        assert.equal(failed.headers['cache-control'], 'no-store')
        server.app.health.stop()
        const stopping = await server.send('/healthz')
        assert.deepEqual({ status: stopping.status, text: stopping.text }, STOPPING)
        const ready = await server.send('/readyz')
        assert.deepEqual({ status: ready.status, text: ready.text }, STOPPING)
        const live = await server.send('/livez')
        assert.deepEqual({ status: live.status, text: live.text }, OK, 'independent of outages')
      } finally {
        await server.stop()
      }
    })
  }

  it('is below the base path', async () => {
    const server = await startServer({ config: { base_url: 'http://localhost:8080/uaa' } })
    try {
      assert.equal((await server.send('/uaa/healthz')).text, 'ok')
      assert.equal((await server.send('/healthz')).status, 404)
    } finally {
      await server.stop()
    }
  })
})
