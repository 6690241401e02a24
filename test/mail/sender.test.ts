import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createRandom } from '../../src/base/random.ts'
import { createVault } from '../../src/base/secrets.ts'
import { createMailer } from '../../src/mail/mailer.ts'
import { delayAfter } from '../../src/mail/retry-delay.ts'
import { createSender } from '../../src/mail/sender.ts'
import type { Sender } from '../../src/mail/sender.ts'
import { createTransport } from '../../src/mail/transport.ts'
import type { Delivery, OutgoingMail, Transport } from '../../src/mail/transport.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import type { TestClock } from '../support/clock.ts'
import { createTestClock } from '../support/clock.ts'
import { openMigrated } from '../support/database-images.ts'
import { DATABASE_KINDS, freshDatabase } from '../support/databases.ts'
import { freePort } from '../support/free-port.ts'
import { smtpAt, startMailServer } from '../support/mail-server.ts'
import { zone } from '../store/records.ts'

const random = createRandom()
const vault = createVault(Buffer.alloc(32, 7), random)
const toStop: (() => unknown)[] = []

afterEach(async () => {
  for (const stop of toStop.splice(0).toReversed()) await stop()
})

/** Time that only a test advances; pauses end in order. */
function createTime(clock: TestClock) {
  const pauses = new Map<object, { readonly at: number; readonly milliseconds: number; readonly end: () => void }>()
  const now = (): number => clock.now().getTime()
  return {
    pause: (milliseconds: number, signal: AbortSignal) =>
      new Promise<void>(resolve => {
        const key = {}
        const end = (): void => {
          pauses.delete(key)
          resolve()
        }
        if (signal.aborted) return resolve()
        signal.addEventListener('abort', end)
        pauses.set(key, { at: now() + milliseconds, milliseconds, end })
      }),
    pauses: () => [...pauses.values()].map(({ milliseconds }) => milliseconds),
    /** Moves the clock to the end of the shortest pause; false if that is after `until`. */
    next(until: number): boolean {
      const [first] = [...pauses.values()].toSorted((left, right) => left.at - right.at)
      if (!first || first.at > until) return false
      clock.advance((first.at - now()) / 1000)
      first.end()
      return true
    },
  }
}

interface Sending {
  readonly sender: Sender
  readonly lines: string[]
  readonly faults: unknown[]
  /** Mails given to the transport, with the second. */
  readonly sent: { readonly id: string; readonly to: string; readonly second: number }[]
  /** Waits until the sender is idle. */
  readonly settle: () => Promise<void>
  /** Advances time; by default, each attempt ends before. */
  readonly pass: (seconds: number, when?: 'during an attempt') => Promise<void>
  /** Queues mails to `name-<number>@example.org`. */
  readonly queue: (count: number, options?: { readonly name?: string; readonly minutes?: number }) => Promise<void>
}

interface Given {
  readonly clock?: TestClock
  readonly store?: Store
  /** If it differs from the clock of the process. */
  readonly databaseClock?: TestClock
  readonly rate?: number
  readonly transport?: Transport
  /** Instead of a transport. */
  readonly deliver?: (mail: OutgoingMail, signal: AbortSignal) => Delivery | Promise<Delivery>
}

async function memory(clock: TestClock): Promise<Store> {
  const store = await openStore('sqlite::memory:', { clock, memory: await openMigrated() })
  toStop.push(() => store.close())
  return store
}

async function startSending(given: Given = {}): Promise<Sending> {
  const clock = given.clock ?? createTestClock()
  const store = given.store ?? (await memory(clock))
  const { deliver = () => ({ outcome: 'sent' }) } = given
  const transport = given.transport ?? { send: async (mail, signal) => deliver(mail, signal), close: () => {} }
  const time = createTime(clock)
  const startedAt = clock.now().getTime()
  const lines: string[] = []
  const faults: unknown[] = []
  const sent: { id: string; to: string; second: number }[] = []
  let running = 0
  const sender = createSender({
    smtp: smtpAt(2525, given.rate === undefined ? {} : { rate: given.rate }),
    mails: store.mails,
    transport: {
      close: () => transport.close(),
      async send(mail, signal) {
        sent.push({ id: mail.id, to: mail.to, second: (clock.now().getTime() - startedAt) / 1000 })
        running += 1
        try {
          return await transport.send(mail, signal)
        } finally {
          running -= 1
        }
      },
    },
    vault,
    clock,
    expiryTime: async () => (given.databaseClock ?? clock).now(),
    sharedTime: async () => (given.databaseClock ?? clock).now(),
    random,
    log: {
      info: line => void lines.push(line),
      warn: line => void lines.push(line),
      fault: (_, cause) => void faults.push(cause),
    },
    pause: time.pause,
  })
  toStop.push(() => sender.stop())
  const mailer = createMailer({ store, vault, clock, random })
  const isBusy = (): boolean => running > 0 || time.pauses().length === 0
  const settle = async (): Promise<void> => {
    do await nextTurn()
    while (isBusy())
  }
  return {
    sender,
    lines,
    faults,
    sent,
    settle,
    async pass(seconds, when) {
      const until = clock.now().getTime() + seconds * 1000
      const wait = async (): Promise<void> => {
        for (let turns = 0; turns < 10; turns += 1) await nextTurn()
      }
      do await (when ? wait() : settle())
      while (time.next(until))
      clock.advance((until - clock.now().getTime()) / 1000)
    },
    async queue(count, { name = 'ann', minutes = 600 } = {}) {
      const usefulUntil = new Date(clock.now().getTime() + minutes * 60_000)
      for (let number = 1; number <= count; number += 1) {
        const to = `${name}-${number}@example.org`
        const link = 'https://id.example/verify?code=secret-code'
        const mail = { from: 'Example', to, subject: 'Hello', text: link, html: `<p>${link}</p>` }
        await mailer.send(zone({ id: 'z1' }), mail, usefulUntil)
      }
    },
  }
}

const refusing = (reason: string): Delivery => ({ outcome: 'refused', reason })
const deferring: Delivery = { outcome: 'deferred', reason: '451 4.7.1 to RCPT TO' }
const unavailable: Delivery = { outcome: 'unavailable', reason: 'connect ECONNREFUSED' }

describe('`createSender`', () => {
  it('sends queued mails and deletes them', async () => {
    const clock = createTestClock()
    const store = await memory(clock)
    const { sender, queue, settle, pass, sent, lines } = await startSending({ clock, store })
    await queue(2)
    sender.start()
    await pass(1)
    assert.deepEqual(sent.map(({ to }) => to).toSorted(), ['ann-1@example.org', 'ann-2@example.org'])
    await settle()
    assert.deepEqual([await store.mails.newest(10), lines], [[], []])
  })

  it('sends immediately after wake, and mails of other processes within a second', async () => {
    const { sender, queue, pass, settle, sent } = await startSending()
    sender.start()
    await pass(10.5)
    await queue(1, { name: 'own' })
    sender.wake()
    await settle()
    await pass(0.5) // the second attempt of the loop
    assert.equal(sent[0]?.second, 10.5)
    await pass(9.4)
    await queue(1, { name: 'other' })
    await pass(1)
    assert.ok((sent[1]?.second ?? 99) - 20.4 <= 1, String(sent[1]?.second))
  })

  it('limits the rate', async () => {
    const { sender, queue, pass, sent } = await startSending({ rate: 4 })
    await queue(40)
    sender.start()
    await pass(5)
    assert.ok(sent.length <= 21 && sent.length >= 20, String(sent.length))
    const gaps = sent.slice(1).map(({ second }, index) => second - (sent[index]?.second ?? 0))
    assert.ok(Math.min(...gaps) >= 0.25, String(Math.min(...gaps)))
  })

  it('sends a new mail before a long queue', async () => {
    const { sender, queue, pass, sent } = await startSending({ rate: 1 })
    await queue(50, { name: 'invited' })
    sender.start()
    await pass(5)
    await queue(1, { name: 'forgetful' })
    await pass(3)
    assert.ok(sent.some(({ to }) => to === 'forgetful-1@example.org'))
    assert.equal(sent.length, 9)
  })

  it('retries after 1, 5, 15 and 60 minutes, then doubles the delay', async () => {
    assert.deepEqual(
      [1, 2, 3, 4, 5, 6].map(attempts => delayAfter(attempts) / 60_000),
      [1, 5, 15, 60, 120, 240],
    )
    const { sender, queue, pass, sent } = await startSending({ deliver: () => deferring })
    await queue(1, { minutes: 120 })
    sender.start()
    await pass(120 * 60)
    const minutes = sent.map(({ second }) => second / 60)
    const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0] = minutes
    assert.equal(minutes.length, 5)
    for (const [gap, want] of [
      [second - first, 1],
      [third - second, 5],
      [fourth - third, 15],
      [fifth - fourth, 60],
    ] as const) {
      assert.ok(gap >= 0.8 * want && gap <= 1.2 * want + 0.1, `${gap} instead of ${want}`)
    }
  })

  it('keeps the id across attempts', async () => {
    const { sender, queue, pass, sent } = await startSending({
      deliver: () => (sent.length < 3 ? deferring : { outcome: 'sent' }),
    })
    await queue(1)
    sender.start()
    await pass(3600)
    assert.deepEqual([sent.length, new Set(sent.map(({ id }) => id)).size], [3, 1])
  })

  it('discards expired mails, and logs no address or content', async () => {
    const clock = createTestClock()
    const store = await memory(clock)
    const { sender, queue, pass, lines, sent } = await startSending({ clock, store, deliver: () => deferring })
    await queue(1, { minutes: 3 })
    sender.start()
    await pass(600)
    assert.equal(sent.length, 2)
    assert.deepEqual(await store.mails.newest(1), [])
    assert.match(lines.at(-1) ?? '', /^mail [0-9a-f-]{36} to …@example\.org was discarded at attempt 2: 451 4\.7\.1/)
    assert.doesNotMatch(lines.join(), /ann|secret-code/)
  })

  it('discards a refused mail immediately, with one log line', async () => {
    const { sender, queue, pass, lines, sent } = await startSending({
      deliver: ({ to }) => (to.startsWith('gone') ? refusing('550 5.1.1 to RCPT TO') : { outcome: 'sent' }),
    })
    await queue(1, { name: 'gone' })
    await queue(2)
    sender.start()
    await pass(3600)
    assert.equal(sent.length, 3)
    assert.deepEqual(
      lines.map(line => line.replace(/[0-9a-f-]{36}/, 'id')),
      ['mail id to …@example.org was refused and discarded: 550 5.1.1 to RCPT TO'],
    )
  })

  it('pauses while the server is unavailable, counts no attempts, and logs it once', async () => {
    const clock = createTestClock()
    const store = await memory(clock)
    let isUp = false
    const { sender, queue, pass, lines, sent } = await startSending({
      clock,
      store,
      deliver: () => (isUp ? { outcome: 'sent' } : unavailable),
    })
    await queue(20)
    sender.start()
    await pass(3600)
    assert.ok(sent.length >= 12 && sent.length <= 22, String(sent.length)) // 5 s, doubling to 5 minutes
    const kept = await store.mails.newest(100)
    assert.equal(kept.length, 20)
    assert.ok(kept.every(({ attempts }) => attempts === 0))
    isUp = true
    await pass(400)
    assert.equal((await store.mails.newest(100)).length, 0)
    assert.deepEqual(lines, [
      'the mail server 127.0.0.1:2525 is unavailable, mail delivery is paused: connect ECONNREFUSED',
      'the mail server 127.0.0.1:2525 is available again',
    ])
  })

  it('deletes and counts mails that expired in an outage', async () => {
    const { sender, queue, pass, lines } = await startSending({ deliver: () => unavailable })
    await queue(250, { minutes: 10 })
    sender.start()
    await pass(900)
    const report = await sender.report()
    const value = (name: string): number | undefined => report.find(each => each.name === name)?.value
    assert.deepEqual(
      [value('mails.expired.count'), value('mails.waiting.count'), value('mails.sent.count')],
      [250, 0, 0],
    )
    assert.equal(lines.filter(line => line.includes('discarded')).length, 2)
  })

  it('retries an interrupted delivery', async () => {
    const { sender, queue, pass, sent } = await startSending({
      deliver: () => ({ outcome: 'interrupted', reason: 'Connection closed' }),
    })
    await queue(1)
    sender.start()
    await pass(45)
    assert.equal(sent.length, 1)
    await pass(60)
    assert.equal(sent.length, 2)
  })

  it('aborts an attempt after three minutes, and renews its lease until then', async () => {
    const clock = createTestClock()
    const store = await memory(clock)
    const endedAt: number[] = []
    const begunAt = clock.now().getTime()
    const { sender, queue, pass } = await startSending({
      clock,
      store,
      deliver: (_, signal) =>
        new Promise(resolve => {
          signal.addEventListener('abort', () => {
            endedAt.push(clock.now().getTime() - begunAt)
            resolve(unavailable)
          })
        }),
    })
    await queue(2)
    sender.start()
    for (let seconds = 20; seconds <= 160; seconds += 20) {
      await pass(20, 'during an attempt')
      const now = clock.now()
      const other = { holder: 'other', now, leaseMilliseconds: 0, mailUntil: now, end: 'oldest' } as const
      assert.equal((await store.mails.claim(other)).isHolder, false)
    }
    assert.deepEqual(endedAt, [])
    await pass(21, 'during an attempt')
    assert.deepEqual(endedAt, [180_000])
  })

  it('discards mails by the clock of the database', async () => {
    const databaseClock = createTestClock()
    const store = await memory(databaseClock)
    const behind = await startSending({ clock: databaseClock, store })
    await behind.queue(1, { name: 'deferred', minutes: 30 })
    await behind.queue(1, { minutes: 30 })
    const clock = createTestClock(databaseClock.now().getTime() + 86_400_000)
    const deliver = ({ to }: OutgoingMail): Delivery => (to.startsWith('ann') ? { outcome: 'sent' } : deferring)
    const { sender, pass, lines } = await startSending({ clock, databaseClock, store, deliver })
    sender.start()
    await pass(2)
    const { outcomes, waiting } = await sender.totals()
    assert.deepEqual([waiting, outcomes.sent, outcomes.expired, lines.length], [1, 1, 0, 1])
    databaseClock.advance(1800)
    await pass(11)
    assert.deepEqual([await store.mails.newest(9), (await sender.totals()).outcomes.expired], [[], 1])
  })

  it('schedules retries by the clock of the database', async () => {
    const databaseClock = createTestClock()
    const store = await memory(databaseClock)
    const clock = createTestClock(databaseClock.now().getTime() + 86_400_000)
    const ahead = await startSending({ clock, databaseClock, store, deliver: () => deferring })
    const right = await startSending({ clock: databaseClock, store })
    await ahead.queue(2)
    assert.equal(await store.mails.isDue(databaseClock.now()), true)
    ahead.sender.start()
    await ahead.pass(1)
    await ahead.sender.stop()
    assert.equal(ahead.sent.length, 2)
    right.sender.start()
    await right.pass(40)
    assert.equal(right.sent.length, 0)
    await right.pass(40)
    assert.equal(right.sent.length, 2)
  })

  it('deletes a mail that cannot be decrypted, and reports a fault', async () => {
    const clock = createTestClock()
    const store = await memory(clock)
    const { sender, pass, faults, sent } = await startSending({ clock, store })
    const sealed = createVault(Buffer.alloc(32, 8), random).seal('{}', 'other')
    const now = clock.now()
    const usefulUntil = new Date(now.getTime() + 1e6)
    await store.mails.add({
      id: 'm',
      zoneId: 'z1',
      sealed,
      createdAt: now,
      nextAttemptAt: now,
      attempts: 0,
      usefulUntil,
    })
    sender.start()
    await pass(2)
    assert.deepEqual([faults.length, sent.length, await store.mails.newest(1)], [1, 0, []])
  })

  it('does not send a mail again if its deletion failed', async () => {
    const clock = createTestClock()
    const store = await memory(clock)
    let failures = 1
    const failing: Store = {
      ...store,
      mails: {
        ...store.mails,
        async delete(mail) {
          if ((failures -= 1) >= 0) throw new Error('the database is unavailable')
          await store.mails.delete(mail)
        },
      },
    }
    const { sender, queue, pass, sent, faults } = await startSending({ clock, store: failing })
    await queue(1)
    sender.start()
    await pass(600)
    assert.deepEqual([sent.length, faults.length, await store.mails.newest(1)], [1, 1, []])
  })

  it('finishes the current mail on stop, and releases the lease', async () => {
    const clock = createTestClock()
    const store = await memory(clock)
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const { promise: delivery, resolve: finish } = Promise.withResolvers<Delivery>()
    const { sender, queue } = await startSending({ clock, store, deliver: () => (begin(), delivery) })
    await queue(3)
    sender.start()
    await begun
    const stopped = sender.stop()
    finish({ outcome: 'sent' })
    await stopped
    assert.equal((await store.mails.newest(10)).length, 2)
    // The lease is released.
    const now = clock.now()
    const claim = { holder: 'next', now, leaseMilliseconds: 0, mailUntil: now, end: 'oldest' } as const
    assert.equal((await store.mails.claim(claim)).isHolder, true)
  })

  it('reports counts for metrics', async () => {
    const { sender, queue, pass } = await startSending({
      deliver: ({ to }) =>
        to.startsWith('ann-1@') ? refusing('550') : to.startsWith('ann-2@') ? deferring : { outcome: 'sent' },
    })
    await queue(4)
    sender.start()
    await pass(10)
    const report = await sender.report()
    assert.deepEqual(Object.fromEntries(report.map(({ name, value }) => [name, value])), {
      'mails.sent.count': 2,
      'mails.refused.count': 1,
      'mails.deferred.count': 1,
      'mails.unavailable.count': 0,
      'mails.expired.count': 0,
      'mails.unreadable.count': 0,
      'mails.waiting.count': 1,
      'mails.waiting.time': 10_000,
    })
    assert.equal((await sender.report()).find(({ name }) => name === 'mails.sent.count')?.value, 0)
  })

  it('sends queued mails once the SMTP server is reachable', async () => {
    const port = await freePort()
    const transport = createTransport(smtpAt(port))
    const { sender, queue, pass, sent, lines } = await startSending({ transport })
    await queue(3)
    sender.start()
    await pass(20)
    assert.ok(sent.length > 0)
    const server = await startMailServer({ port })
    toStop.push(() => server.stop())
    await pass(60)
    assert.equal(server.received.length, 3)
    assert.doesNotMatch(lines.join(), /secret-code|ann/)
  })
})

for (const kind of DATABASE_KINDS) {
  describe(`Two senders on one ${kind} database`, () => {
    it('send each mail exactly once, one at a time', async () => {
      const database = await freshDatabase(kind)
      toStop.push(() => database.drop())
      const clock = createTestClock()
      const stores = [await openStore(database.url, { clock }), await openStore(database.url, { clock })] as const
      toStop.push(async () => {
        for (const store of stores) await store.close()
      })
      let running = 0
      let maxRunning = 0
      const deliver = async (): Promise<Delivery> => {
        maxRunning = Math.max(maxRunning, (running += 1))
        await nextTurn()
        running -= 1
        return { outcome: 'sent' }
      }
      const [one, two] = [
        await startSending({ clock, store: stores[0], rate: 1000, deliver }),
        await startSending({ clock, store: stores[1], rate: 1000, deliver }),
      ]
      await one.queue(30, { name: 'one' })
      await two.queue(30, { name: 'two' })
      one.sender.start()
      two.sender.start()
      for (let second = 0; second < 40; second += 1) {
        await one.pass(0.5)
        await two.pass(0.5)
      }
      const all = [...one.sent, ...two.sent].map(({ id }) => id)
      assert.deepEqual([all.length, new Set(all).size, maxRunning], [60, 60, 1])
      assert.deepEqual(await stores[0].mails.newest(1), [])
    })

    it('take over from a killed process: its lease after 15 seconds, its mail after 5 minutes', async () => {
      const database = await freshDatabase(kind)
      toStop.push(() => database.drop())
      const clock = createTestClock()
      const store = await openStore(database.url, { clock })
      toStop.push(() => store.close())
      const { sender, queue, pass, sent } = await startSending({ clock, store })
      await queue(2)
      const now = clock.now()
      const later = (seconds: number): Date => new Date(now.getTime() + seconds * 1000)
      const killed = { holder: 'killed', now, leaseMilliseconds: 15_000, mailUntil: later(300), end: 'oldest' } as const
      const { mail } = await store.mails.claim(killed)
      sender.start()
      await pass(14)
      assert.equal(sent.length, 0)
      // On PostgreSQL, the clock of the database counts.
      if (kind === 'postgres') {
        const { administer } = await import('../support/postgres.ts')
        await administer(database.url, `update leases set expires_at = expires_at - 15000`)
      }
      await pass(2)
      assert.equal(sent.length, 1)
      await pass(283)
      assert.equal(sent.length, 1)
      await pass(3)
      assert.deepEqual([sent.length, sent[1]?.id], [2, mail?.id])
    })
  })
}
