// What is remembered of the database, and how it is forgotten. Every change of a cached record is announced inside the
// transaction that makes it: SQLite keeps a row that other processes poll for, PostgreSQL notifies. Whoever hears of a
// change drops exactly that record, and with it any load under way, whose answer may be from before the change: a load
// that begins after the drop finds the change committed, on either database.
import { type Cache, createCache } from '../base/cache.ts'
import type { Client } from '../model/client.ts'
import type { IdentityProvider } from '../model/identity-provider.ts'
import type { SigningKeyRecord } from '../model/signing-key.ts'
import type { Zone } from '../model/zone.ts'
import { isStorable } from './database.ts'
import type { Outline } from './listing.ts'

const KINDS = ['zones', 'clients', 'providers', 'keys', 'everything'] as const

/**
 * A cached record that changed; `key` is empty where everything of the zone is remembered together. `everything` is the
 * zone itself with all that is in it: a version that does not know the word forgets all zones.
 */
export interface Change {
  readonly kind: (typeof KINDS)[number]
  readonly zoneId: string
  readonly key: string
}

/** Hears of changes, its own process's and others'. */
export interface ChangeListener {
  changed(change: Change): void
  /** Some changes were not heard: everything may have changed. */
  missed(): void
}

/** All providers of a zone, as both look-ups need them. */
export interface ZoneProviders {
  readonly byOrigin: ReadonlyMap<string, IdentityProvider>
  readonly active: readonly IdentityProvider[]
}

/** The caches of the store; bounded, so that ten thousand zones cost what one does. */
export interface Caches extends ChangeListener {
  readonly zones: Cache<Zone>
  /** Subdomain to zone id; only a hint, which the zone itself must confirm. */
  readonly subdomains: Cache<{ readonly id: string }>
  readonly clients: Cache<Client>
  /** How many clients each zone has, and which ones are where among them. */
  readonly clientOutlines: Cache<Outline>
  readonly providers: Cache<ZoneProviders>
  readonly keys: Cache<readonly SigningKeyRecord[]>
}

/** The key of a record inside a zone. No storable text holds the separator. */
export const keyInZone = (zoneId: string, key: string): string => `${zoneId}\0${key}`

/** Makes the empty caches of one store. */
export function createCaches(): Caches {
  const caches = {
    zones: createCache<Zone>(1000),
    subdomains: createCache<{ readonly id: string }>(1000),
    clients: createCache<Client>(10_000),
    clientOutlines: createCache<Outline>(1000),
    providers: createCache<ZoneProviders>(1000),
    keys: createCache<readonly SigningKeyRecord[]>(1000),
  }
  return {
    ...caches,
    changed({ kind, zoneId, key }) {
      switch (kind) {
        case 'zones':
          return caches.zones.drop(zoneId)
        case 'clients':
          caches.clientOutlines.drop(zoneId)
          return caches.clients.drop(keyInZone(zoneId, key))
        case 'providers':
          return caches.providers.drop(zoneId)
        case 'keys':
          return caches.keys.drop(zoneId)
        case 'everything':
          caches.zones.drop(zoneId)
          caches.clientOutlines.drop(zoneId)
          caches.clients.dropPrefix(keyInZone(zoneId, ''))
          caches.providers.drop(zoneId)
          return caches.keys.drop(zoneId)
      }
    },
    missed() {
      for (const cache of Object.values(caches)) cache.clear()
    },
  }
}

/** A change as text, for a column or a notification. */
export const writeChange = ({ kind, zoneId, key }: Change): string => JSON.stringify([kind, zoneId, key])

/** Reads what `writeChange` wrote, or undefined for anything else, which a newer version may have sent. */
export function readChange(text: string): Change | undefined {
  let parts: unknown
  try {
    parts = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!Array.isArray(parts)) return undefined
  const [name, zoneId, key]: unknown[] = parts
  const kind = KINDS.find(each => each === name)
  if (kind === undefined) return undefined
  if (typeof zoneId !== 'string' || typeof key !== 'string') return undefined
  return { kind, zoneId, key }
}

/**
 * The remembered record or the loaded one. Past the caches when changes are not heard, and undefined at once for a key
 * that no row can have: it must not share a cache key with one that can.
 */
export function remembered<V extends object>(
  source: { hearsChanges(): boolean },
  cache: Cache<V>,
  key: readonly [string, string?],
  load: () => Promise<V | undefined>,
): Promise<V | undefined> {
  const [first, second] = key
  if (!isStorable(first) || (second !== undefined && !isStorable(second))) return Promise.resolve(undefined)
  if (!source.hearsChanges()) return load()
  return cache.get(second === undefined ? first : keyInZone(first, second), load)
}
