// Counts mails by outcome, for the metrics.
import type { Clock } from '../base/clock.ts'
import type { MailStore } from '../store/store.ts'
import type { Delivery } from './transport.ts'

/** The outcome of an attempt or of a mail. */
export type MailOutcome = Exclude<Delivery['outcome'], 'interrupted'> | 'expired' | 'unreadable'

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

/** Counts of one process. */
export interface MailCounts {
  add(outcome: MailOutcome, count?: number): void
  /** Changes since the last report, and queued mails. */
  report(): Promise<readonly MailMeasurement[]>
  /** Totals since the start, and queued mails. */
  totals(): Promise<MailTotals>
}

/** All counts start at 0. */
export function createMailCounts(mails: Pick<MailStore, 'waiting'>, clock: Clock): MailCounts {
  const counts: Record<MailOutcome, number> = {
    sent: 0,
    refused: 0,
    deferred: 0,
    unavailable: 0,
    expired: 0,
    unreadable: 0,
  }
  let reported = { ...counts }

  async function totals(): Promise<MailTotals> {
    const { count, since } = await mails.waiting()
    const age = since ? Math.max(0, clock.now().getTime() - since.getTime()) : 0
    return { outcomes: { ...counts }, waiting: count, waitingMilliseconds: age }
  }

  return {
    add(outcome, count = 1) {
      counts[outcome] += count
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
