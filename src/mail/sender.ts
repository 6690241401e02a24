// Sends the mails of the queue, one at a time. Several processes may run a sender on one database: a lease lets one of them
// send, and a claim keeps each mail from being sent by another even when the lease changes hands meanwhile. A process that is
// killed between the server's answer and the deletion leaves its mail to be sent again, with the same Message-ID.
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
import type { SmtpSettings, WaitingMail } from '../model/mail.ts'
import type { MailStore } from '../store/store.ts'
import { openMail } from './mailer.ts'
import type { Delivery, OutgoingMail, Transport } from './transport.ts'

/** Dependencies of `createSender`. */
interface SenderDeps {
  readonly smtp: SmtpSettings
  readonly mails: Omit<MailStore, 'add' | 'newest'>
  readonly transport: Transport
  readonly vault: Vault
  readonly clock: Clock
  readonly random: Random
  readonly log: {
    readonly info: (message: string) => void
    readonly warn: (message: string) => void
    readonly fault: (message: string, cause: unknown) => void
  }
  /** Resolves after so many milliseconds, or at once when the signal is aborted. */
  readonly pause: (milliseconds: number, signal: AbortSignal) => Promise<void>
}

/** The worker of the queue. */
export interface Sender {
  /** Begins; called once. */
  start(): void
  /** Looks for mails at once: one was queued. */
  wake(): void
  /** Finishes the mail under way; the others stay queued. */
  stop(): Promise<void>
  /** What happened since the last report, and what waits. */
  report(): Promise<readonly MailMeasurement[]>
  /** What happened since the start, and what waits. */
  totals(): Promise<MailTotals>
}

/** Mails by outcome since the start, and those that wait. */
interface MailTotals {
  readonly outcomes: Readonly<Record<MailOutcome, number>>
  readonly waiting: number
  /** Since the oldest of them was queued. */
  readonly waitingMilliseconds: number
}

/** A number for the metrics. */
interface MailMeasurement {
  readonly name: string
  readonly kind: 'count' | 'gauge'
  readonly value: number
}

const SECOND = 1000
const MINUTE = 60 * SECOND
/** How soon a mail is noticed that another process queued. */
const POLL_MS = SECOND
/** How soon another process takes over when the sending process is killed. */
const LEASE_MS = 15 * SECOND
const RENEW_MS = 5 * SECOND
/** Kept without work, so that a slow trickle of mails does not write the lease again for each. */
const IDLE_MS = 5 * SECOND
const MAX_ATTEMPT_MS = 3 * MINUTE
/** Longer than an attempt can last. */
const CLAIM_MS = 5 * MINUTE
/** Before the next attempt at a mail that was refused for now; doubles after the last. */
const DELAYS_MS = [1 * MINUTE, 5 * MINUTE, 15 * MINUTE, 60 * MINUTE]
/** While the server takes no mail at all. */
const MIN_PAUSE_MS = 5 * SECOND
const MAX_PAUSE_MS = 5 * MINUTE
const DELETE_USELESS_EVERY_MS = 10 * SECOND

/** The outcome of an attempt or of a mail. */
type MailOutcome = Exclude<Delivery['outcome'], 'interrupted'> | 'expired' | 'unreadable'
type Ended = Exclude<Delivery, { outcome: 'sent' }>

/** Does nothing until it is started. */
export function createSender(deps: SenderDeps): Sender {
  const { smtp, mails, transport, vault, clock, random, log, pause } = deps
  const holder = random.uuid()
  const counts: Record<MailOutcome, number> = {
    sent: 0,
    refused: 0,
    deferred: 0,
    unavailable: 0,
    expired: 0,
    unreadable: 0,
  }
  let reported = { ...counts }
  const server = `${smtp.host}:${smtp.port}`
  let resting: AbortController | undefined
  let running: Promise<void> | undefined
  let woken = false
  const stopped = new AbortController()
  let isHolder = false
  let busyAt = 0
  let nextSlot = 0
  let turns = 0
  let deletedUselessAt = 0
  /** 0 while the server takes mails. */
  let pauseMs = 0
  let pausedUntil = 0
  /** Mails that could not be deleted because the database failed. */
  const sentBefore = new Set<string>()

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      let wait: number
      try {
        wait = await turn(clock.now().getTime())
      } catch (cause) {
        log.fault('mail queue', cause)
        wait = MIN_PAUSE_MS
      }
      await rest(wait)
    }
  }

  /** Milliseconds until then; 0 if it is farther away than it can be, because the clock was set back. */
  function untilThen(then: number, max: number): number {
    const left = then - clock.now().getTime()
    return left > max ? 0 : left
  }

  /** Sends at most one mail; returns the milliseconds until the next turn. */
  async function turn(now: number): Promise<number> {
    if (Math.abs(now - deletedUselessAt) >= DELETE_USELESS_EVERY_MS) {
      deletedUselessAt = now
      await deleteUseless()
    }
    const wait = Math.max(untilThen(nextSlot, SECOND), untilThen(pausedUntil, 2 * MAX_PAUSE_MS))
    if (wait > 0) return Math.min(wait, DELETE_USELESS_EVERY_MS)
    if (!(await mails.isDue(new Date(now)))) {
      if (isHolder && Math.abs(now - busyAt) >= IDLE_MS) await release()
      return POLL_MS
    }
    const claimed = await mails.claim({
      holder,
      now: new Date(now),
      leaseMilliseconds: LEASE_MS,
      mailUntil: new Date(now + CLAIM_MS),
      // Every other time the last one: a user who waits for a link does not wait behind a hundred thousand invitations.
      end: (turns += 1) % 2 === 0 ? 'newest' : 'oldest',
    })
    ;({ isHolder } = claimed)
    if (!claimed.mail) return POLL_MS
    busyAt = now
    nextSlot = now + SECOND / smtp.rate
    await send(claimed.mail)
    return 0
  }

  async function send(waiting: WaitingMail): Promise<void> {
    if (sentBefore.has(waiting.id)) return finish(waiting, 'sent')
    if (waiting.usefulUntil.getTime() <= clock.now().getTime()) return finish(waiting, 'expired')
    const mail = opened(waiting)
    if (!mail) return finish(waiting, 'unreadable')
    const delivery = await attempt(mail)
    switch (delivery.outcome) {
      case 'sent':
        sentBefore.add(waiting.id)
        await finish(waiting, 'sent')
        return resume()
      case 'refused':
        log.warn(`${nameOf(mail)} is refused and given up: ${delivery.reason}`)
        await finish(waiting, 'refused')
        return resume()
      case 'deferred':
        await defer(waiting, mail, delivery)
        return resume()
      case 'unavailable':
        counts.unavailable += 1
        await mails.postpone(waiting, suspend(delivery), waiting.attempts - 1)
        return release()
      case 'interrupted':
        counts.unavailable += 1
        suspend(delivery)
        await defer(waiting, mail, delivery)
        return release()
    }
  }

  function opened(waiting: WaitingMail): OutgoingMail | undefined {
    try {
      const { id, createdAt } = waiting
      return { ...openMail(vault, waiting), id, createdAt }
    } catch (cause) {
      log.fault('a mail of the queue cannot be opened, and is deleted: was the master key changed?', cause)
      return undefined
    }
  }

  /** Renews the lease as long as the attempt lasts, and ends an attempt that lasts too long. */
  async function attempt(mail: OutgoingMail): Promise<Delivery> {
    const over = new AbortController()
    const tooLong = new AbortController()
    const watch = async (): Promise<void> => {
      for (let elapsed = RENEW_MS; ; elapsed += RENEW_MS) {
        await pause(RENEW_MS, over.signal)
        if (over.signal.aborted) return
        if (elapsed >= MAX_ATTEMPT_MS) tooLong.abort()
        await mails.renew(holder, LEASE_MS).catch((cause: unknown) => log.fault('mail queue', cause))
      }
    }
    const watching = watch()
    try {
      return await transport.send(mail, tooLong.signal)
    } finally {
      over.abort()
      await watching
    }
  }

  async function defer(waiting: WaitingMail, mail: OutgoingMail, { reason }: Ended): Promise<void> {
    const next = new Date(clock.now().getTime() + jittered(delayAfter(waiting.attempts)))
    if (next >= waiting.usefulUntil) {
      log.warn(`${nameOf(mail)} is given up after ${waiting.attempts} attempts: ${reason}`)
      return finish(waiting, 'expired')
    }
    counts.deferred += 1
    log.info(`${nameOf(mail)} waits until ${next.toISOString()}: ${reason}`)
    await mails.postpone(waiting, next, waiting.attempts)
  }

  async function totals(): Promise<MailTotals> {
    const { count, since } = await mails.waiting()
    const age = since ? Math.max(0, clock.now().getTime() - since.getTime()) : 0
    return { outcomes: { ...counts }, waiting: count, waitingMilliseconds: age }
  }

  async function finish(waiting: WaitingMail, outcome: MailOutcome): Promise<void> {
    await mails.delete(waiting)
    sentBefore.delete(waiting.id)
    counts[outcome] += 1
  }

  /** Stops asking the server for a while; returns until when. */
  function suspend({ reason }: Ended): Date {
    if (pauseMs === 0) log.warn(`the mail server ${server} is unavailable, all mails wait: ${reason}`)
    pauseMs = Math.min(Math.max(2 * pauseMs, MIN_PAUSE_MS), MAX_PAUSE_MS)
    pausedUntil = clock.now().getTime() + jittered(pauseMs)
    return new Date(pausedUntil)
  }

  function resume(): void {
    if (pauseMs > 0) log.info(`the mail server ${server} is available again`)
    pauseMs = 0
  }

  /** Lets another process send, which may reach the server. */
  async function release(): Promise<void> {
    isHolder = false
    await mails.release(holder)
  }

  async function deleteUseless(): Promise<void> {
    for (let count = -1; count !== 0; ) {
      count = await mails.deleteUseless(clock.now())
      if (count === 0) return
      counts.expired += count
      log.warn(`${count} mails are given up: they could not be sent before their links expired`)
    }
  }

  /** Between 80 and 120 per cent, so that processes and mails do not keep step. */
  const jittered = (milliseconds: number): number =>
    Math.round(milliseconds * (0.8 + (0.4 * random.bytes(2).readUInt16BE()) / 0xffff))

  async function rest(milliseconds: number): Promise<void> {
    if (milliseconds > 0 && !woken && !stopped.signal.aborted) {
      resting = new AbortController()
      await pause(milliseconds, resting.signal)
      resting = undefined
    }
    woken = false
  }

  return {
    start() {
      running ??= run()
    },
    wake() {
      woken = true
      resting?.abort()
    },
    async stop() {
      stopped.abort()
      resting?.abort()
      await running
      transport.close()
      if (isHolder) await release()
    },
    async report() {
      const { outcomes, waiting, waitingMilliseconds } = await totals()
      const before = reported
      reported = { ...outcomes }
      return [
        ...Object.entries(outcomes).map(([outcome, total]) => ({
          name: `mails.${outcome}.count`,
          kind: 'count' as const,
          value: total - before[outcome as MailOutcome], // a key of the record
        })),
        { name: 'mails.waiting.count', kind: 'gauge', value: waiting },
        { name: 'mails.waiting.time', kind: 'gauge', value: waitingMilliseconds },
      ]
    },
    totals,
  }
}

/** After so many attempts. */
export function delayAfter(attempts: number): number {
  const last = DELAYS_MS.length - 1
  return (DELAYS_MS[Math.min(attempts - 1, last)] ?? MINUTE) * 2 ** Math.max(0, attempts - 1 - last)
}

/** For the log, which must not have the address. */
const nameOf = ({ id, to }: OutgoingMail): string => `mail ${id} to …${to.slice(to.lastIndexOf('@'))}`
