// The hashes of the audit trail. They are keyed by the master key: an attacker with write access to
// nothing but the database can change entries, but cannot compute matching hashes.
import { sameSecret } from '../../base/secrets.ts'
import type { Vault } from '../../base/secrets.ts'
import { auditRecordOf, hashedText } from '../../model/audit/audit-entry.ts'
import type { AuditChain, AuditEntry, AuditPosition, AuditRecord } from '../../model/audit/audit-entry.ts'
import type { AuditState } from '../../store/store.ts'

/** Makes and checks the hashes. */
export type AuditHashes = Pick<Vault, 'keyedDigest'>

/** Before the first entry of a zone. */
export const GENESIS: AuditPosition = { number: 0, hash: '' }

/** The hash of an entry that follows the one with the hash `previous`. */
export const entryHash = (
  { keyedDigest }: AuditHashes,
  previous: string,
  { zoneId, number }: Pick<AuditEntry, 'zoneId' | 'number'>,
  record: AuditRecord,
): string => keyedDigest(`audit entry\n${previous}\n${hashedText(zoneId, number, record)}`)

/** The chain with its seal. */
export function sealed({ keyedDigest }: AuditHashes, { zoneId, base, head }: Omit<AuditChain, 'seal'>): AuditChain {
  const seal = keyedDigest(`audit chain\n${JSON.stringify([zoneId, base.number, base.hash, head.number, head.hash])}`)
  return { zoneId, base, head, seal }
}

/** Whether the seal is that of the chain. */
export const isSealed = (hashes: AuditHashes, chain: AuditChain): boolean =>
  sameSecret(sealed(hashes, chain).seal, chain.seal)

/** What differs between the chain of a zone and its last entry; undefined if they agree. */
function alterationIn(hashes: AuditHashes, { chain, last, impossible }: AuditState): string | undefined {
  const inserted = impossible === undefined ? undefined : `entry ${impossible} was inserted`
  if (!chain) return last ? `the head is missing, and the last entry is ${last.number}` : inserted
  if (!isSealed(hashes, chain)) return 'the head was changed'
  const { number, hash } = last ?? chain.base
  const { head } = chain
  if (number !== head.number) return `the last entry is ${number}, not ${head.number}`
  return hash === head.hash ? inserted : `entry ${number} was changed`
}

/**
 * The entries of new records, and the chain with them. Where the chain has been altered, an entry that says so comes first:
 * the alteration must not disappear behind correct hashes.
 */
export function linked(
  hashes: AuditHashes,
  zoneId: string,
  { records, state, now }: { readonly records: readonly AuditRecord[]; readonly state: AuditState; readonly now: Date },
): { readonly entries: readonly AuditEntry[]; readonly chain: AuditChain; readonly alteration: string | undefined } {
  const alteration = alterationIn(hashes, state)
  const { base, head } = startOf(hashes, state)
  const all =
    alteration === undefined
      ? records
      : [
          auditRecordOf({ type: 'AuditTrailAlteredEvent', zoneId, principal: zoneId, data: alteration }, now),
          ...records,
        ]
  let position = head
  const entries = all.map((record): AuditEntry => {
    const number = position.number + 1
    const hash = entryHash(hashes, position.hash, { zoneId, number }, record)
    position = { number, hash }
    return { ...record, zoneId, number, hash }
  })
  return { entries, chain: sealed(hashes, { zoneId, base, head: position }), alteration }
}

/** Where the next entry is appended; entries that are not sealed stay before the base. */
function startOf(hashes: AuditHashes, { chain, last }: AuditState): Pick<AuditChain, 'base' | 'head'> {
  if (chain && isSealed(hashes, chain)) {
    const number = Math.max(chain.head.number, last?.number ?? 0)
    return { base: chain.base, head: { number, hash: chain.head.hash } }
  }
  const start = last ?? GENESIS
  return { base: start, head: start }
}
