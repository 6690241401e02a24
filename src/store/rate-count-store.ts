// The part of the store's interface that is about limits which several processes count together.

/** How far the clocks of servers may differ. A window that begins further in the future is from before a clock was set back. */
export const CLOCKS_AGREE_WITHIN_MS = 60_000

/** The count of one key in a process since its last report. */
export interface RateReport {
  /** A digest; it says which limit it belongs to. */
  readonly key: string
  /** Negative: attempts that were counted before and did not fail after all. */
  readonly added: number
  /** The window of the process, in milliseconds since 1970; it becomes that of all unless they have one. */
  readonly beganAt: number
  readonly endsAt: number
}

/** The count of one key in all processes. */
export interface RateCount {
  readonly total: number
  readonly beganAt: number
  readonly endsAt: number
}

/** Counts in windows of time. */
export interface RateCountStore {
  /** Adds the reports, each of another key, and answers the counts of all processes, in the same order. */
  add(reports: readonly RateReport[], now: Date): Promise<readonly RateCount[]>
}
