import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OutboundBusy } from '../../../src/base/outbound.ts'
import { createDocuments } from '../../../src/identity/sources/documents.ts'
import type { Fetched, Source } from '../../../src/identity/sources/documents.ts'
import { createTestClock } from '../../support/clock.ts'

/** A document whose fetches return `state.next`; counts them. */
function published() {
  const clock = createTestClock()
  const documents = createDocuments<string>({ clock })
  const state = { asked: 0, next: { outcome: 'fetched', document: 'one' } as Fetched<string> }
  const source: Source<string> = {
    key: 'k',
    zoneId: 'z',
    get() {
      state.asked += 1
      return Promise.resolve(state.next)
    },
  }
  return { clock, documents, state, source }
}

describe('createDocuments', () => {
  it('fetches a document once for concurrent reads, and again after ten minutes', async () => {
    const { clock, documents, state, source } = published()
    assert.deepEqual(await Promise.all([1, 2, 3].map(() => documents.read(source, 'sign-in'))), ['one', 'one', 'one'])
    clock.advance(599)
    await documents.read(source, 'sign-in')
    assert.equal(state.asked, 1)
    clock.advance(1)
    state.next = { outcome: 'fetched', document: 'two' }
    assert.equal(await documents.read(source, 'sign-in'), 'two')
    assert.equal(state.asked, 2)
  })

  it('queues at most a hundred reads per zone, without delaying other zones', async () => {
    const { clock, documents, state, source } = published()
    const { promise, resolve } = Promise.withResolvers<Fetched<string>>()
    const silent = (key: string): Source<string> => ({ ...source, key, get: () => promise })
    await documents.read({ ...source, key: 'stale' }, 'sign-in')
    clock.advance(601)
    const waiting = Array.from({ length: 100 }, (_, n) => documents.read(silent(`k${n % 2}`), 'sign-in'))
    await assert.rejects(documents.read(silent('k0'), 'sign-in'), OutboundBusy)
    await assert.rejects(documents.renew(silent('k0'), 'sign-in'), OutboundBusy)
    assert.equal(await documents.read(silent('stale'), 'sign-in'), 'one')
    assert.equal(await documents.read({ ...source, zoneId: 'other' }, 'sign-in'), 'one')
    assert.equal(state.asked, 2)
    resolve({ outcome: 'fetched', document: 'late' })
    assert.deepEqual([...new Set(await Promise.all(waiting))], ['late'])
    assert.equal(await documents.read({ ...source, key: 'next' }, 'sign-in'), 'one')
  })

  for (const { cacheSeconds, seconds } of [
    { cacheSeconds: 1, seconds: 60 },
    { cacheSeconds: 300, seconds: 300 },
    { cacheSeconds: 86_400, seconds: 600 },
  ]) {
    it(`caches a document with cacheSeconds ${cacheSeconds} for ${seconds} s`, async () => {
      const { clock, documents, state, source } = published()
      state.next = { outcome: 'fetched', document: 'one', cacheSeconds }
      await documents.read(source, 'sign-in')
      clock.advance(seconds - 1)
      await documents.read(source, 'sign-in')
      assert.equal(state.asked, 1)
      clock.advance(1)
      await documents.read(source, 'sign-in')
      assert.equal(state.asked, 2)
    })
  }

  it('evicts the oldest document of a zone with too many, but none of another zone', async () => {
    const { documents, state, source } = published()
    await documents.read(source, 'sign-in')
    const other = (key: number): Source<string> => ({ ...source, key: String(key), zoneId: 'other' })
    for (let key = 0; key < 10_001; key += 1) await documents.read(other(key), 'background')
    state.asked = 0
    await documents.read(source, 'sign-in')
    await documents.read(other(10_000), 'background')
    assert.equal(state.asked, 0)
    await documents.read(other(0), 'background')
    assert.equal(state.asked, 1)
  })

  it('evicts the oldest document of all zones beyond a total', async () => {
    const { documents, state, source } = published()
    const of = (key: number): Source<string> => ({ ...source, key: String(key), zoneId: `z${key % 100}` })
    for (let key = 0; key < 10_001; key += 1) await documents.read(of(key), 'background')
    state.asked = 0
    await documents.read(of(1), 'background')
    assert.equal(state.asked, 0)
    await documents.read(of(0), 'background')
    assert.equal(state.asked, 1)
  })

  it('keeps a document for an hour if refetching fails, retrying twice a minute', async () => {
    const { clock, documents, state, source } = published()
    await documents.read(source, 'sign-in')
    state.next = { outcome: 'failed' }
    for (let second = 0; second < 3590; second += 10) {
      clock.advance(10)
      assert.equal(await documents.read(source, 'sign-in'), 'one', `after ${second + 10} s`)
    }
    assert.ok(state.asked <= 102, String(state.asked))
    clock.advance(30)
    assert.equal(await documents.read(source, 'sign-in'), undefined)
  })

  it('renews a document at most every 30 seconds, even after a failure', async () => {
    const { clock, documents, state, source } = published()
    await documents.read(source, 'sign-in')
    const renewals = async (): Promise<unknown> =>
      (await Promise.all([1, 2, 3].map(() => documents.renew(source, 'sign-in')))).filter(Boolean).length
    assert.equal(await renewals(), 0)
    clock.advance(30)
    state.next = { outcome: 'fetched', document: 'two' }
    assert.equal(await renewals(), 3)
    assert.equal(state.asked, 2)
    assert.equal(await renewals(), 0)
    clock.advance(30)
    state.next = { outcome: 'failed' }
    await renewals()
    await renewals()
    assert.equal(state.asked, 3)
    assert.equal(await documents.read(source, 'sign-in'), 'two')
  })

  it('refreshes after the clock was set back, and returns the cached document while it cannot', async () => {
    const { clock, documents, state, source } = published()
    await documents.read(source, 'sign-in')
    clock.advance(-86_400)
    state.next = { outcome: 'failed' }
    assert.equal(await documents.read(source, 'sign-in'), 'one')
    assert.equal(state.asked, 2)
    clock.advance(-86_400)
    state.next = { outcome: 'fetched', document: 'two' }
    assert.equal(await documents.renew(source, 'sign-in'), 'two')
    assert.equal(state.asked, 3)
    clock.advance(3600)
    state.next = { outcome: 'failed' }
    assert.equal(await documents.read(source, 'sign-in'), undefined)
  })

  it('peek returns the cached document, and fetches in the background', async () => {
    const { documents, state, source } = published()
    assert.equal(documents.peek(source), undefined)
    assert.equal(await documents.read(source, 'sign-in'), 'one')
    assert.equal(state.asked, 1)
    assert.deepEqual(documents.peek(source)?.document, 'one')
  })
})
