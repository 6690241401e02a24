// Metrics of the queues in the database: mails, logouts of applications, the audit trail for webhooks. They are read when the
// metrics are requested. While the database is down they keep their last values: the other metrics matter most then.
import { Counter, Gauge } from 'prom-client'
import type { Registry } from 'prom-client'

/** The number of pending entries, and of outcomes since the start. */
interface QueueTotals {
  readonly outcomes: Readonly<Record<string, number>>
  readonly waiting: number
  /** Age of the oldest pending entry. */
  readonly waitingMilliseconds: number
}

/** A queue, asked at each scrape. */
export interface QueueSource {
  totals(): Promise<QueueTotals>
}

/** The queues of the webhooks of the audit trail. */
export interface WebhookSource {
  totals(): Promise<readonly (QueueTotals & { readonly name: string })[]>
}

interface Texts {
  readonly waiting: string
  readonly age: string
  readonly outcomes: string
}

/** Adds `latchkey_mails_…`. */
export function addMailMetrics(registry: Registry, mails: QueueSource): void {
  addQueue(
    registry,
    { name: 'latchkey_mails', source: mails },
    {
      waiting: 'Mails in the queue, up to 10,000; of all processes.',
      age: 'Seconds since the oldest mail in the queue was queued.',
      outcomes: 'Mails, and attempts to send them, by outcome.',
    },
  )
}

/** Adds `latchkey_logouts_…`: the deliveries of OpenID Connect Back-Channel Logout. */
export function addLogoutMetrics(registry: Registry, logouts: QueueSource): void {
  addQueue(
    registry,
    { name: 'latchkey_logouts', source: logouts },
    {
      waiting: 'Pending logout notifications to applications, up to 10,000; of all processes.',
      age: 'Approximate seconds since the first attempt for the oldest pending notification.',
      outcomes: 'Attempts to notify an application of an ended session, by outcome.',
    },
  )
}

function addQueue(
  registry: Registry,
  { name, source }: { readonly name: string; readonly source: QueueSource },
  help: Texts,
): void {
  const collect = collectorOf(source, totals => {
    counter.reset()
    for (const [outcome, count] of Object.entries(totals.outcomes)) counter.inc({ outcome }, count)
    waiting.set(totals.waiting)
    age.set(totals.waitingMilliseconds / 1000)
  })
  const common = { registers: [registry], collect }
  const waiting = new Gauge({ name: `${name}_waiting`, help: help.waiting, ...common })
  const age = new Gauge({ name: `${name}_waiting_seconds`, help: help.age, ...common })
  const counter = new Counter({
    name: `${name}_total`,
    help: help.outcomes,
    labelNames: ['outcome'] as const,
    ...common,
  })
}

/**
 * Sets the metrics of a queue from one query. Every metric of the queue must wait for it: one that does not shows the values of
 * the previous request. Without the database they keep their values.
 */
function collectorOf<T>(source: { totals(): Promise<T> }, set: (totals: T) => void): () => Promise<void> {
  let asked: Promise<void> | undefined
  return () =>
    (asked ??= source
      .totals()
      .then(set, () => {})
      .finally(() => (asked = undefined)))
}

/** Adds `latchkey_audit_webhook_…`; the label is the name of the webhook in the configuration. */
export function addWebhookMetrics(registry: Registry, webhooks: WebhookSource): void {
  const collect = collectorOf(webhooks, totals => {
    counter.reset()
    for (const { name: webhook, outcomes, ...queue } of totals) {
      for (const [outcome, count] of Object.entries(outcomes)) counter.inc({ webhook, outcome }, count)
      waiting.set({ webhook }, queue.waiting)
      age.set({ webhook }, queue.waitingMilliseconds / 1000)
    }
  })
  const common = { registers: [registry], collect }
  const labelNames = ['webhook'] as const
  const waiting = new Gauge({
    name: 'latchkey_audit_webhook_waiting',
    help: 'Entries of the audit trail that the webhook has not accepted yet, of up to 1,000 zones; of all processes.',
    labelNames,
    ...common,
  })
  const age = new Gauge({
    name: 'latchkey_audit_webhook_waiting_seconds',
    help: 'Seconds since the oldest of these entries was written.',
    labelNames,
    ...common,
  })
  const counter = new Counter({
    name: 'latchkey_audit_webhook_total',
    help: 'Entries by outcome: accepted, lost because retention deleted them first; and failed attempts.',
    labelNames: ['webhook', 'outcome'] as const,
    ...common,
  })
}
