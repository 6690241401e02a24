// Sends the mails of the queue, one at a time. Several processes may run a sender on one database: a lease lets one of them
// send, and a claim keeps each mail from being sent by another even when the lease changes hands meanwhile. A process that is
// killed between the server's answer and the deletion leaves its mail to be sent again, with the same Message-ID.
import type { SmtpSettings } from '../model/mail.ts'
import type { MailStore } from '../store/store.ts'
import { createDeliverer } from './deliverer.ts'
import type { DelivererDeps } from './deliverer.ts'
import { createMailCounts } from './mail-counts.ts'
import type { MailCounts } from './mail-counts.ts'
import { untilThen } from './retry-delay.ts'
import { createServerPause, MIN_PAUSE_MS } from './server-pause.ts'

/** Dependencies of `createSender`. */
interface SenderDeps extends DelivererDeps {
  readonly smtp: SmtpSettings
  readonly mails: Omit<MailStore, 'add' | 'newest'>
}

/** The worker of the queue. */
export interface Sender extends Pick<MailCounts, 'report' | 'totals'> {
  /** Starts the worker; call it once. */
  start(): void
  /** Checks the queue immediately, because a mail was added. */
  wake(): void
  /** Finishes the current mail; the others stay queued. */
  stop(): Promise<void>
}

const SECOND = 1000
/** Polling interval for mails queued by other processes. */
const POLL_MS = SECOND
/** Time until another process takes over after the sending process is killed. */
const LEASE_MS = 15 * SECOND
/** Time to keep the lease while idle, so that a slow trickle of mails does not write it for each. */
const IDLE_MS = 5 * SECOND
/** Longer than any attempt. */
const CLAIM_MS = 300 * SECOND
const DELETE_EXPIRED_EVERY_MS = 10 * SECOND

/** Does nothing until it is started. */
export function createSender(deps: SenderDeps): Sender {
  const { smtp, mails, transport, clock, expiryTime, sharedTime, random, log, pause } = deps
  const holder = random.uuid()
  const counts = createMailCounts(mails, clock)
  const serverPause = createServerPause({ server: `${smtp.host}:${smtp.port}`, clock, random, log })
  const renewLease = () => mails.renew(holder, LEASE_MS)
  const deliver = createDeliverer(deps, { counts, serverPause, renewLease })
  let resting: AbortController | undefined
  let running: Promise<void> | undefined
  let woken = false
  const stopped = new AbortController()
  let isHolder = false
  let busyAt = 0
  let nextSlot = 0
  let turns = 0
  let deletedUselessAt = 0

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

  /** Sends at most one mail; returns the milliseconds until the next turn. */
  async function turn(now: number): Promise<number> {
    if (Math.abs(now - deletedUselessAt) >= DELETE_EXPIRED_EVERY_MS) {
      deletedUselessAt = now
      await deleteExpired()
    }
    const wait = Math.max(untilThen(nextSlot, clock.now().getTime(), SECOND), serverPause.left())
    if (wait > 0) return Math.min(wait, DELETE_EXPIRED_EVERY_MS)
    const shared = await sharedTime()
    if (!(await mails.isDue(shared))) {
      if (isHolder && Math.abs(now - busyAt) >= IDLE_MS) await release()
      return POLL_MS
    }
    const claimed = await mails.claim({
      holder,
      now: shared,
      leaseMilliseconds: LEASE_MS,
      mailUntil: new Date(shared.getTime() + CLAIM_MS),
      // Every second time the newest: a user who needs a link must not wait behind a hundred thousand invitations.
      end: (turns += 1) % 2 === 0 ? 'newest' : 'oldest',
    })
    ;({ isHolder } = claimed)
    if (!claimed.mail) return POLL_MS
    busyAt = now
    nextSlot = now + SECOND / smtp.rate
    if ((await deliver(claimed.mail)) === 'unavailable') await release()
    return 0
  }

  /** Lets another process send, which may be able to reach the server. */
  async function release(): Promise<void> {
    isHolder = false
    await mails.release(holder)
  }

  async function deleteExpired(): Promise<void> {
    for (let count = -1; count !== 0; ) {
      count = await mails.deleteExpired(await expiryTime())
      if (count === 0) return
      counts.add('expired', count)
      log.warn(`${count} mails were discarded: they could not be sent before their links expired`)
    }
  }

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
    report: () => counts.report(),
    totals: () => counts.totals(),
  }
}
