// Keeps what happened to accounts, for their owners. Listens to the audit trail, where every event passes already: code
// that reports a change there need not know of this. The audit stays synchronous and cheap: an event is put into a list, which is
// written off the request path. A process that is killed loses what it has not written yet; the log has it.
import type { Background } from '../base/concurrency/background.ts'
import { addSeconds } from '../base/clock.ts'
import type { Clock } from '../base/clock.ts'
import { ACCOUNT_EVENT_DAYS, accountEventOf } from '../model/users/account-event.ts'
import type { AccountEvent } from '../model/users/account-event.ts'
import type { Audit } from '../model/audit/event.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'

/** The recent events of accounts. */
export interface AccountHistory {
  /** An audit that also keeps what concerns accounts. */
  readonly recorded: (audit: Audit) => Audit
  /** Recent events of the account, newest first, including the events of this process that are not stored yet. */
  readonly list: (zone: Pick<Zone, 'id'>, userId: string) => Promise<readonly AccountEvent[]>
}

/** Limit of pending events while the database is slow; more are dropped. */
const MAX_WAITING = 10_000
/** Limit for failed sign-ins among them, which anonymous callers can cause. */
const MAX_WAITING_FAILURES = 1000

/** One instance serves every zone. */
export function createAccountHistory({
  store,
  clock,
  background,
  onError,
}: {
  readonly store: Pick<Store, 'accountEvents'>
  readonly clock: Clock
  readonly background: Background
  /** Receives why events could not be written; they are lost. */
  readonly onError: (cause: unknown) => void
}): AccountHistory {
  let waiting: { readonly zoneId: string; readonly event: AccountEvent }[] = []
  let isScheduled = false
  let written = Promise.resolve()

  async function writeWaiting(): Promise<void> {
    isScheduled = false
    const batch = waiting
    waiting = []
    for (const [zoneId, events] of Map.groupBy(batch, each => each.zoneId)) {
      try {
        await store.accountEvents.add(
          zoneId,
          events.map(({ event }) => event),
        )
      } catch (cause) {
        onError(cause)
      }
    }
  }

  /** One after another, so that events stay in their order. */
  function flush(): Promise<void> {
    written = written.then(writeWaiting)
    return written
  }

  return {
    recorded: audit => auditEvent => {
      audit(auditEvent)
      const event = accountEventOf(auditEvent, clock.now())
      if (!event) return
      if (waiting.length >= (event.type === 'sign-in-failed' ? MAX_WAITING_FAILURES : MAX_WAITING)) return
      waiting.push({ zoneId: auditEvent.zoneId, event })
      isScheduled ||= background.run(flush)
    },
    async list(zone, userId) {
      await flush()
      const since = addSeconds(clock.now(), -ACCOUNT_EVENT_DAYS * 86_400)
      return store.accountEvents.list(zone.id, userId, since)
    },
  }
}
