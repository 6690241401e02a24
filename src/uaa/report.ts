// What an import says: each row that it cannot take, with the reason, and the numbers at the end. Never a secret: reasons name
// members, not their values.
import { visible } from '../base/text/control-characters.ts'

/** What is counted, in the order of the summary. */
const IMPORTED = [
  'zone',
  'signing key',
  'SAML key',
  'identity provider',
  'client',
  'group',
  'user',
  'membership',
  'external group',
  'approval',
  'token',
] as const

/** One of them. */
type Imported = (typeof IMPORTED)[number]

/** The outcomes of rows. */
interface Counts {
  imported: number
  /** Was there already, from an earlier run of the same import. */
  same: number
  /** Has no use here, such as what has expired. */
  leftOut: number
  refused: number
}

/** Collects the outcomes. */
export interface ImportReport {
  imported(kind: Imported): void
  same(kind: Imported): void
  /** What has no use here; without `why` it is only counted. */
  leftOut(kind: Imported, row: string, why?: string): void
  /** What cannot be taken and should be: the import is not complete. */
  refused(kind: Imported, row: string, why: string): void
  /** Information for the operator, printed once. */
  note(text: string): void
  readonly counts: Readonly<Record<Imported, Readonly<Counts>>>
}

/** Each line goes to `print` immediately, so that a million of them need no memory. */
export function createReport(print: (line: string) => void): ImportReport {
  const counts = Object.fromEntries(
    IMPORTED.map(kind => [kind, { imported: 0, same: 0, leftOut: 0, refused: 0 }]),
  ) as Record<Imported, Counts> // every kind has its counts
  const noted = new Set<string>()
  return {
    counts,
    imported(kind) {
      counts[kind].imported += 1
    },
    same(kind) {
      counts[kind].same += 1
    },
    leftOut(kind, row, why) {
      counts[kind].leftOut += 1
      if (why !== undefined) print(shown(`left out: ${kind} ${row}: ${why}`))
    },
    refused(kind, row, why) {
      counts[kind].refused += 1
      print(shown(`refused: ${kind} ${row}: ${why}`))
    },
    note(text) {
      if (noted.has(text)) return
      noted.add(text)
      print(shown(`note: ${text}`))
    },
  }
}

const MAX_LINE = 1000

/** Names are untrusted. */
const shown = (line: string): string => visible(line).slice(0, MAX_LINE)

/** Number of refused rows. */
export const refusedIn = ({ counts }: ImportReport): number =>
  Object.values(counts).reduce((sum, { refused }) => sum + refused, 0)

/** The table of numbers. */
export function summaryOf({ counts }: ImportReport): string {
  const lines = IMPORTED.flatMap(kind => {
    const { imported, same, leftOut, refused } = counts[kind]
    const parts = [
      `${imported.toLocaleString('en-US')} imported`,
      ...(same > 0 ? [`${same.toLocaleString('en-US')} there already`] : []),
      ...(leftOut > 0 ? [`${leftOut.toLocaleString('en-US')} left out`] : []),
      ...(refused > 0 ? [`${refused.toLocaleString('en-US')} refused`] : []),
    ]
    return imported + same + leftOut + refused === 0 ? [] : [`${`${kind}s`.padEnd(20)}${parts.join(', ')}`]
  })
  return lines.map(line => `${line}\n`).join('')
}
