// Records which definitions the bootstrap has applied, so that a start applies only changed ones.
import type { Vault } from '../base/secrets.ts'
import type { Store } from '../store/store.ts'
import { AlreadyExists } from '../store/store.ts'

/** A record of the configuration: its identity and its whole definition. */
interface DefinedRecord {
  readonly zoneId: string
  readonly kind: 'zone' | 'signing-key' | 'active-key' | 'provider' | 'group' | 'client' | 'user' | 'external-group'
  readonly key: string
  readonly definition: unknown
}

/** Applies each definition once. */
export interface Ledger {
  /** Runs `apply` unless this definition was the last one applied, even if the record has changed since. */
  once(record: DefinedRecord, apply: () => Promise<void>): Promise<void>
  /** Makes the next start with this definition apply it again. */
  forget(record: Omit<DefinedRecord, 'definition'>): Promise<void>
  /** Number of applied records. */
  readonly applied: number
}

/** Stores definitions as keyed digests, because they contain secrets. `onApplied` gets the number of applied records so far. */
export function createLedger(store: Store, vault: Vault, onApplied?: (applied: number) => void): Ledger {
  let applied = 0
  let zone: { readonly id: string; readonly known: Promise<ReadonlyMap<string, string>> } | undefined

  /** Known digests of one zone at a time: a query for each of thousands of unchanged records takes most of a start. */
  async function knownIn(zoneId: string): Promise<ReadonlyMap<string, string>> {
    const load = async (): Promise<ReadonlyMap<string, string>> => {
      const all = await store.bootstrap.appliedInZone(zoneId)
      return new Map(all.map(({ kind, key, digest }) => [`${kind}\0${key}`, digest]))
    }
    if (zone?.id !== zoneId) zone = { id: zoneId, known: load() }
    return zone.known
  }

  return {
    async once({ zoneId, kind, key, definition }, apply) {
      const digest = vault.keyedDigest(`bootstrap ${kind} ${canonicalJson(definition)}`)
      if ((await knownIn(zoneId)).get(`${kind}\0${key}`) === digest) return
      // Asked again: another process that starts now may have applied it meanwhile.
      if ((await store.bootstrap.applied(zoneId, kind, key)) === digest) return
      await apply()
      await store.bootstrap.remember(zoneId, kind, key, digest)
      applied += 1
      onApplied?.(applied)
    },
    async forget({ zoneId, kind, key }) {
      await store.bootstrap.remember(zoneId, kind, key, 'forgotten')
      zone = undefined
    },
    get applied() {
      return applied
    },
  }
}

/** How one record is found, inserted and updated. */
interface Upsert<T> {
  readonly find: () => Promise<T | undefined>
  readonly insert: () => Promise<void>
  readonly update: (existing: T) => Promise<void>
}

/** Inserts or updates the record; safe when another process inserts it at the same time. */
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

/** JSON with sorted members, so that their order does not matter. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : member,
  )
}
