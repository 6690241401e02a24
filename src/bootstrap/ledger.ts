// Remembers what the bootstrap applied, so that a start changes nothing that the configuration does not change.
import type { Vault } from '../base/secrets.ts'
import type { Store } from '../store/store.ts'
import { AlreadyExists } from '../store/store.ts'

/** A record of the configuration: what it is, and everything that the configuration says about it. */
export interface DefinedRecord {
  readonly zoneId: string
  readonly kind: 'zone' | 'signing-key' | 'active-key' | 'provider' | 'group' | 'client' | 'user' | 'external-group'
  readonly key: string
  readonly definition: unknown
}

/** Applies each definition once. */
export interface Ledger {
  /** Runs `apply` unless this very definition was the last one applied to the record, whatever became of the record. */
  once(record: DefinedRecord, apply: () => Promise<void>): Promise<void>
  /** Makes the next start with this definition apply it again. */
  forget(record: Omit<DefinedRecord, 'definition'>): Promise<void>
  /** How many records were applied. */
  readonly applied: number
}

/** Definitions are remembered as keyed digests, because they hold secrets. */
export function createLedger(store: Store, vault: Vault): Ledger {
  let applied = 0
  return {
    async once({ zoneId, kind, key, definition }, apply) {
      const digest = vault.keyedDigest(`bootstrap ${kind} ${canonicalJson(definition)}`)
      if ((await store.bootstrap.applied(zoneId, kind, key)) === digest) return
      await apply()
      await store.bootstrap.remember(zoneId, kind, key, digest)
      applied += 1
    },
    forget: ({ zoneId, kind, key }) => store.bootstrap.remember(zoneId, kind, key, 'forgotten'),
    get applied() {
      return applied
    },
  }
}

/** How one record is found, made and changed. */
export interface Upsert<T> {
  readonly find: () => Promise<T | undefined>
  readonly insert: () => Promise<void>
  readonly update: (existing: T) => Promise<void>
}

/** Makes the record or changes the one that is there, also when another process makes it in between. */
export async function upsert<T>({ find, insert, update }: Upsert<T>): Promise<void> {
  const existing = await find()
  if (existing !== undefined) return update(existing)
  try {
    await insert()
  } catch (error) {
    const other = error instanceof AlreadyExists ? await find() : undefined
    if (other === undefined) throw error
    await update(other)
  }
}

/** Side by side, but never so many that they crowd the queue of the password hashes. */
export async function inBatches<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const size = 16
  for (let start = 0; start < items.length; start += size) {
    await Promise.all(items.slice(start, start + size).map(work))
  }
}

/** JSON in which the order of members says nothing. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : member,
  )
}
