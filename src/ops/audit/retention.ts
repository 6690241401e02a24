// Deletes old entries of the audit trail, from the oldest on. The chain then begins after the last one deleted.
import { addSeconds } from '../../base/clock.ts'
import type { AuditPosition } from '../../model/audit/audit-entry.ts'
import type { Store } from '../../store/store.ts'
import { entryHash, isSealed, sealed } from './chain.ts'
import type { AuditHashes } from './chain.ts'

/**
 * Deletes a batch of expired entries of each zone; returns their number. Stops at an entry that does not fit: otherwise
 * an attacker could have entries deleted by changing their times.
 */
export async function deleteExpired(
  { store, hashes }: { readonly store: Pick<Store, 'audit'>; readonly hashes: AuditHashes },
  now: Date,
  days: number,
): Promise<number> {
  const before = addSeconds(now, -days * 86_400)
  let count = 0
  for (const zoneId of await store.audit.listExpired(before)) {
    count += await store.audit.shorten(zoneId, before, (chain, oldest) => {
      if (!isSealed(hashes, chain)) return undefined
      let base: AuditPosition = chain.base
      for (const entry of oldest) {
        if (entry.happenedAt >= before.getTime() || entry.number !== base.number + 1) break
        if (entry.hash !== entryHash(hashes, base.hash, entry, entry)) break
        base = entry
      }
      return sealed(hashes, { ...chain, base: { number: base.number, hash: base.hash } })
    })
  }
  return count
}
