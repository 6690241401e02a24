// Checks the stored audit trail of a zone against its hashes.
import type { AuditPosition } from '../../model/audit/audit-entry.ts'
import type { AuditStore } from '../../store/store.ts'
import { entryHash, GENESIS, isSealed } from './chain.ts'
import type { AuditHashes } from './chain.ts'

/** The result of a check. */
export interface AuditReport {
  /** The first entry that must exist, and the newest one; absent without entries. */
  readonly first?: number
  readonly head?: AuditPosition
  /** Set if retention has deleted the expected entry, so that it could not be compared. */
  readonly isExpectedGone?: true
  /** Empty for an unaltered chain; the first twenty. */
  readonly problems: readonly string[]
}

const PAGE = 500
const MAX_PROBLEMS = 20

const differs = ({ number }: Pick<AuditPosition, 'number'>): string => `entry ${number} differs from the expected one`

/** A run of entries in words. */
const span = (from: number, to: number): string =>
  from === to ? `entry ${from} is missing` : `entries ${from} to ${to} are missing`

/**
 * Reads the whole chain. The server may run meanwhile: entries that it appends, or deletes by retention, are no problem.
 * `expected` is a position that was noted earlier: a chain that does not lead to it was replaced by an older one.
 */
export async function verifyAuditTrail(
  store: Pick<AuditStore, 'state' | 'read'>,
  hashes: AuditHashes,
  { zoneId, expected }: { readonly zoneId: string; readonly expected?: AuditPosition | undefined },
): Promise<AuditReport> {
  const problems: string[] = []
  const found = (problem: string): void => {
    if (problems.length < MAX_PROBLEMS) problems.push(problem)
  }
  const { chain, last, impossible } = await store.state(zoneId)
  if (impossible !== undefined) found(`entry ${impossible} was inserted`)
  if (!chain) {
    if (last) found('the head is missing')
    if (expected) found(`entry ${expected.number} is missing`)
    return { problems }
  }
  if (!isSealed(hashes, chain)) found('the head was changed')
  const { base, head } = chain
  if (expected && expected.number > head.number) found(`entry ${expected.number} is missing`)
  if (expected?.number === base.number && expected.hash !== base.hash) found(differs(expected))
  const isExpectedGone = expected !== undefined && expected.number < base.number

  // Numbers begin at 1, but an inserted entry can have any.
  const [left] = await store.read(zoneId, { after: Number.MIN_SAFE_INTEGER, count: 1 })
  if (left && left.number <= base.number) found(`entry ${left.number} is left from before the chain begins`)
  const { position, first } = await followChain(store, hashes, { zoneId, chain, expected, found })
  if (position.number < head.number) found(span(position.number + 1, head.number))
  else if (position.number === head.number && position.hash !== head.hash)
    found(`entry ${position.number} is not the one that the head names`)
  const after = await store.state(zoneId)
  if (after.last && after.last.number > (after.chain?.head.number ?? 0))
    found(`entry ${after.last.number} is after the head`)
  return { ...(first !== undefined && { first }), head, ...(isExpectedGone && { isExpectedGone }), problems }
}

interface Followed {
  readonly zoneId: string
  readonly chain: { readonly base: AuditPosition; readonly head: AuditPosition }
  readonly expected: AuditPosition | undefined
  readonly found: (problem: string) => void
}

/** Compares each entry up to the head with the one before it; returns the last position, and the number of the first entry. */
async function followChain(
  store: Pick<AuditStore, 'state' | 'read'>,
  hashes: AuditHashes,
  { zoneId, chain: { base, head }, expected, found }: Followed,
): Promise<{ readonly position: AuditPosition; readonly first: number | undefined }> {
  let position = base
  let first: number | undefined
  reading: for (;;) {
    const page = await store.read(zoneId, { after: position.number, count: PAGE })
    if (page.length === 0) return { position, first }
    for (const entry of page) {
      if (entry.number > head.number) return { position, first }
      const isNext = entry.number === position.number + 1
      if (!isNext) {
        const now = (await store.state(zoneId)).chain?.base ?? GENESIS
        if (now.number > position.number && now.number < entry.number) {
          position = now // retention has moved on
          continue reading
        }
        found(span(position.number + 1, entry.number - 1))
      }
      const hash = entryHash(hashes, position.hash, entry, entry)
      // After a gap, the hash of the previous entry is missing.
      if (isNext && entry.hash !== hash) found(`entry ${entry.number} was changed`)
      if (entry.type === 'AuditTrailAlteredEvent') found(`entry ${entry.number} reports an alteration: ${entry.facts}`)
      if (expected?.number === entry.number && expected.hash !== entry.hash) found(differs(entry))
      position = entry
      first ??= entry.number
    }
  }
}
