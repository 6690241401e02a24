// What the server has acknowledged, and what it was asked for without an answer: the first must hold, the second must have
// happened wholly or not at all.
import type { Visitor } from '../support/visitor.ts'

/** Objects of one kind, and their states. */
export interface Entries<T> {
  /** Acknowledged and not ended. */
  readonly kept: Set<T>
  /** Whose end was acknowledged. */
  readonly ended: Set<T>
  /** Whose end was requested without a response. */
  readonly doubtful: Set<T>
  /** The oldest one, if there are more than a few, for the caller to end. */
  take(): T | undefined
  /** Ends one: its state is uncertain until `work` returns. */
  end<R>(entry: T, work: () => Promise<R>): Promise<R>
}

/** A user made by the SCIM API. */
export interface Person {
  readonly userName: string
  id: string
  /** The last version of the record that was acknowledged, and those that may have been written after it. */
  version: number
  readonly doubtfulVersions: Set<number>
  /** Whether the consent to the client `asking` was acknowledged. */
  isApproved: boolean
  /** An operation uses it. */
  isBusy: boolean
}

/** A signed-in browser, by its cookies. */
export type Session = Visitor['cookies']

/** Everything compared with the server afterwards. */
export interface Ledger {
  readonly people: Entries<Person>
  /** Names of users that may exist, since there was no response. */
  readonly doubtfulNames: Set<string>
  readonly refreshTokens: Entries<string>
  readonly opaqueTokens: Entries<string>
  readonly sessions: Entries<Session>
}

/** How many are kept before one is ended. */
const STOCK = 8

/** Ended entries: only the latest are kept. */
const MAX_ENDED = 2000

function createEntries<T>(): Entries<T> {
  const kept = new Set<T>()
  const ended = new Set<T>()
  const doubtful = new Set<T>()
  return {
    kept,
    ended,
    doubtful,
    take() {
      if (kept.size <= STOCK) return undefined
      const [first] = kept
      if (first !== undefined) kept.delete(first)
      return first
    },
    async end(entry, work) {
      kept.delete(entry)
      doubtful.add(entry)
      const result = await work()
      doubtful.delete(entry)
      ended.add(entry)
      const [oldest] = ended
      if (ended.size > MAX_ENDED && oldest !== undefined) ended.delete(oldest)
      return result
    },
  }
}

/** An empty one. */
export const createLedger = (): Ledger => ({
  people: createEntries(),
  doubtfulNames: new Set(),
  refreshTokens: createEntries(),
  opaqueTokens: createEntries(),
  sessions: createEntries(),
})

/** The number of records to compare. */
export const sizesOf = ({ doubtfulNames, ...all }: Ledger): string =>
  Object.entries(all)
    .map(([name, { kept, ended, doubtful }]) => `${name} ${kept.size}+${ended.size} ended+${doubtful.size} in doubt`)
    .join(', ') + `, ${doubtfulNames.size} names in doubt`
