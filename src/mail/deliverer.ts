// Attempts to send a mail that this process has claimed, and records the outcome: the mail is deleted or waits for the next
// attempt.
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
import type { WaitingMail } from '../model/mail.ts'
import type { MailStore } from '../store/store.ts'
import type { MailCounts, MailOutcome } from './mail-counts.ts'
import { openMail } from './mailer.ts'
import { delayAfter, jittered } from './retry-delay.ts'
import type { ServerPause } from './server-pause.ts'
import type { Delivery, OutgoingMail, Transport } from './transport.ts'

/** Dependencies of `createDeliverer`. */
export interface DelivererDeps {
  readonly mails: Pick<MailStore, 'delete' | 'postpone'>
  readonly transport: Transport
  readonly vault: Vault
  readonly clock: Clock
  /** Decides when mails expire: not this process's clock if that is ahead. */
  readonly expiryTime: () => Promise<Date>
  /** Time of the database, by which mails are due and claimed for all nodes. */
  readonly sharedTime: () => Promise<Date>
  readonly random: Random
  readonly log: {
    readonly info: (message: string) => void
    readonly warn: (message: string) => void
    readonly fault: (message: string, cause: unknown) => void
  }
  /** Resolves after this many milliseconds, or immediately when the signal is aborted. */
  readonly pause: (milliseconds: number, signal: AbortSignal) => Promise<void>
}

/** State shared by the attempts of one process. */
interface Shared {
  readonly counts: MailCounts
  readonly serverPause: ServerPause
  /** Extends the lease of this process; called during an attempt. */
  readonly renewLease: () => Promise<unknown>
}

/** Delivers a claimed mail; returns whether the server accepts mails, as far as this attempt shows. */
type Deliverer = (waiting: WaitingMail) => Promise<'available' | 'unavailable'>

type Failed = Exclude<Delivery, { outcome: 'sent' }>

/** Interval of lease renewal. */
const RENEW_MS = 5000
const MAX_ATTEMPT_MS = 180_000

/** Remembers the mails that were sent and could not be deleted. */
export function createDeliverer(deps: DelivererDeps, { counts, serverPause, renewLease }: Shared): Deliverer {
  const { mails, vault, clock, expiryTime, sharedTime, random, log } = deps
  /** Mails that could not be deleted because the database failed. */
  const sentBefore = new Set<string>()

  async function finish(waiting: WaitingMail, outcome: MailOutcome): Promise<'available'> {
    await mails.delete(waiting)
    sentBefore.delete(waiting.id)
    counts.add(outcome)
    return 'available'
  }

  /** Whether the mail will have expired after this many milliseconds. */
  async function isUseless({ usefulUntil }: WaitingMail, milliseconds: number): Promise<boolean> {
    const isLateAt = (now: Date): boolean => now.getTime() + milliseconds >= usefulUntil.getTime()
    return isLateAt(clock.now()) && isLateAt(await expiryTime())
  }

  const after = async (milliseconds: number): Promise<Date> => new Date((await sharedTime()).getTime() + milliseconds)

  async function defer(waiting: WaitingMail, mail: OutgoingMail, { reason }: Failed): Promise<void> {
    const delay = jittered(delayAfter(waiting.attempts), random)
    const next = await after(delay)
    if (await isUseless(waiting, delay)) {
      log.warn(`${nameOf(mail)} was discarded at attempt ${waiting.attempts}: ${reason}`)
      await finish(waiting, 'expired')
      return
    }
    counts.add('deferred')
    log.info(`${nameOf(mail)} waits until ${next.toISOString()}: ${reason}`)
    await mails.postpone(waiting, next, waiting.attempts)
  }

  async function keepOutcome(
    waiting: WaitingMail,
    mail: OutgoingMail,
    delivery: Delivery,
  ): Promise<'available' | 'unavailable'> {
    switch (delivery.outcome) {
      case 'sent':
        sentBefore.add(waiting.id)
        return finish(waiting, 'sent')
      case 'refused':
        log.warn(`${nameOf(mail)} was refused and discarded: ${delivery.reason}`)
        return finish(waiting, 'refused')
      case 'deferred':
        await defer(waiting, mail, delivery)
        return 'available'
      case 'unavailable':
        counts.add('unavailable')
        await mails.postpone(waiting, await after(serverPause.begin(delivery.reason)), waiting.attempts - 1)
        return 'unavailable'
      case 'interrupted':
        counts.add('unavailable')
        serverPause.begin(delivery.reason)
        await defer(waiting, mail, delivery)
        return 'unavailable'
    }
  }

  return async waiting => {
    if (sentBefore.has(waiting.id)) return finish(waiting, 'sent')
    if (await isUseless(waiting, 0)) return finish(waiting, 'expired')
    const mail = opened(waiting, vault, log)
    if (!mail) return finish(waiting, 'unreadable')
    const state = await keepOutcome(waiting, mail, await attempt(mail, deps, renewLease))
    if (state === 'available') serverPause.end()
    return state
  }
}

function opened(waiting: WaitingMail, vault: Vault, log: DelivererDeps['log']): OutgoingMail | undefined {
  try {
    const { id, createdAt } = waiting
    return { ...openMail(vault, waiting), id, createdAt }
  } catch (cause) {
    log.fault('a queued mail cannot be decrypted and is deleted; the master key may have changed', cause)
    return undefined
  }
}

/** Renews the lease during the attempt, and aborts an attempt that takes too long. */
async function attempt(
  mail: OutgoingMail,
  { transport, pause, log }: Pick<DelivererDeps, 'transport' | 'pause' | 'log'>,
  renewLease: () => Promise<unknown>,
): Promise<Delivery> {
  const over = new AbortController()
  const tooLong = new AbortController()
  const watch = async (): Promise<void> => {
    for (let elapsed = RENEW_MS; ; elapsed += RENEW_MS) {
      await pause(RENEW_MS, over.signal)
      if (over.signal.aborted) return
      if (elapsed >= MAX_ATTEMPT_MS) tooLong.abort()
      await renewLease().catch((cause: unknown) => log.fault('mail queue', cause))
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

/** For the log, which must not contain the address. */
const nameOf = ({ id, to }: OutgoingMail): string => `mail ${id} to …${to.slice(to.lastIndexOf('@'))}`
