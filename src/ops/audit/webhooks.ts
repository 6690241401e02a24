// Sends the audit trail to webhooks, signed as https://www.standardwebhooks.com says. The position of each webhook in
// the chain of each zone is in the database, so that any process can continue and nothing is skipped. No request waits for it.
import { addSeconds, epochSeconds } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { createBreaker } from '../../base/concurrency/breaker.ts'
import { OutboundBusy, OutboundError } from '../../base/outbound.ts'
import type { Outbound } from '../../base/outbound.ts'
import { signedBy } from '../../base/secrets.ts'
import { auditEntryToJson } from '../../model/audit/audit-entry.ts'
import type { AuditWebhook } from '../../model/audit/audit-settings.ts'
import type { AuditDelivery, Store } from '../../store/store.ts'

/** Dependencies of the sender. */
interface AuditWebhookDeps {
  readonly store: Pick<Store, 'audit' | 'now'>
  readonly webhooks: readonly AuditWebhook[]
  readonly outbound: Outbound
  readonly clock: Clock
  readonly log: { warn(message: string): void; fault(message: string, cause: unknown): void }
}

/** Counts for one webhook: entries it has `accepted`, or that were `lost` to retention before, and attempts that `failed`. */
export interface WebhookTotals {
  readonly name: string
  readonly outcomes: Readonly<Record<'accepted' | 'lost' | 'failed', number>>
  /** Entries. */
  readonly waiting: number
  /** Since the oldest of them was written. */
  readonly waitingMilliseconds: number
}

/** The sender of webhooks. */
interface AuditWebhooks {
  /** To each webhook that no earlier call still serves; ends with those that it serves. */
  deliver(signal?: AbortSignal): Promise<void>
  /** For metrics: outcomes since the start, and pending entries. */
  totals(): Promise<readonly WebhookTotals[]>
}

/** Longer than an attempt can last. */
const CLAIM_SECONDS = 60
const ENTRIES_AT_ONCE = 100
const ZONES_AT_ONCE = 4
/** Waits before the next attempt; the last one repeats until retention deletes the entries. */
const DELAYS_SECONDS = [5, 30, 120, 600, 1800]

/** Sends what is due to every webhook; one instance serves the process. */
export function createAuditWebhooks(deps: AuditWebhookDeps): AuditWebhooks {
  const { store, webhooks, outbound, clock, log } = deps
  const breaker = createBreaker({ clock })
  const busy = new Set<string>()
  const counted = new Map(webhooks.map(({ name }) => [name, { accepted: 0, lost: 0, failed: 0 }]))

  function count(webhook: AuditWebhook, outcome: 'accepted' | 'lost' | 'failed', entries = 1): void {
    const counts = counted.get(webhook.name)
    if (counts) counts[outcome] += entries
  }

  /** Why the attempt failed: undefined for success. */
  async function post(webhook: AuditWebhook, id: string, body: string): Promise<string | undefined> {
    const timestamp = String(epochSeconds(clock.now()))
    const signature = signedBy(webhook.key, `${id}.${timestamp}.${body}`)
    try {
      const { status } = await outbound.fetch(webhook.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          'webhook-signature': `v1,${signature}`,
        },
        body,
        ignoreBody: true,
        // A share for each, so that slow ones leave connections to the others. No zone has such an id.
        share: { zoneId: `webhook ${webhook.name}`, purpose: 'background' },
      })
      return status >= 200 && status < 300 ? undefined : `it responded with status ${status}`
    } catch (cause) {
      if (cause instanceof OutboundError || cause instanceof OutboundBusy) return cause.message
      throw cause
    }
  }

  async function settle(webhook: AuditWebhook, claimed: AuditDelivery): Promise<void> {
    const { zoneId, number, attempts } = claimed
    const entries = await store.audit.read(zoneId, { after: number, count: ENTRIES_AT_ONCE })
    const [first, last] = [entries[0], entries.at(-1)]
    // Retention or the deletion of the zone came first.
    if (!first || !last) return store.audit.retryDelivery(claimed, addSeconds(await store.now(), CLAIM_SECONDS))
    if (number > 0 && first.number > number + 1) {
      log.warn(`audit webhook ${webhook.name}: entries ${number + 1} to ${first.number - 1} of zone ${zoneId} are gone`)
    }
    // The same for every attempt, and so is the batch unless it has grown.
    const id = `${zoneId}.${first.number}.${last.number}`
    const events = entries.map(auditEntryToJson)
    const problem = await post(webhook, id, JSON.stringify({ zone: zoneId, events }))
    breaker.report(webhook.name, problem === undefined ? 'answered' : 'failed')
    if (problem === undefined) {
      count(webhook, 'accepted', entries.length)
      count(webhook, 'lost', number > 0 ? first.number - number - 1 : 0)
      return store.audit.finishDelivery(claimed, last.number)
    }
    count(webhook, 'failed')
    const delay = DELAYS_SECONDS[Math.min(attempts, DELAYS_SECONDS.length) - 1] ?? CLAIM_SECONDS
    if (attempts === 1 || attempts % 10 === 0) {
      log.warn(`audit webhook ${webhook.name}: zone ${zoneId} waits; attempt ${attempts} failed: ${problem}`)
    }
    return store.audit.retryDelivery(claimed, addSeconds(await store.now(), delay))
  }

  async function deliverTo(webhook: AuditWebhook, signal: AbortSignal | undefined): Promise<void> {
    const claim = async (): Promise<AuditDelivery | undefined> => {
      if (signal?.aborted || !breaker.admits(webhook.name)) return undefined
      const now = await store.now() // which is the same for every node
      return store.audit.claimDelivery(webhook, now, addSeconds(now, CLAIM_SECONDS))
    }
    const work = async (first: AuditDelivery | undefined): Promise<void> => {
      for (let claimed = first; claimed; claimed = await claim()) await settle(webhook, claimed)
    }
    // Nearly always no zone has entries, or one.
    const first = await claim()
    if (!first) return
    await Promise.all([
      work(first),
      ...Array.from({ length: ZONES_AT_ONCE - 1 }, async () => {
        await work(await claim())
      }),
    ])
  }

  return {
    async deliver(signal) {
      const idle = webhooks.filter(({ name }) => !busy.has(name))
      for (const { name } of idle) busy.add(name)
      const outcomes = await Promise.allSettled(
        idle.map(webhook => deliverTo(webhook, signal).finally(() => busy.delete(webhook.name))),
      )
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') log.fault('audit webhooks', outcome.reason)
      }
    },
    totals: () =>
      Promise.all(
        webhooks.map(async webhook => {
          const { name } = webhook
          const { count: waiting, since } = await store.audit.waiting(webhook)
          const outcomes = { accepted: 0, lost: 0, failed: 0, ...counted.get(name) }
          const waitingMilliseconds = since ? Math.max(0, clock.now().getTime() - since.getTime()) : 0
          return { name, outcomes, waiting, waitingMilliseconds }
        }),
      ),
  }
}
