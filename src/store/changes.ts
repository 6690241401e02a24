// Caches of the store and their invalidation. Every change of a cached record is announced inside its transaction: SQLite
// writes a row that other processes poll for, PostgreSQL notifies. A process that receives a change drops exactly that
// record and any load in progress, whose result may be stale: a load that starts after the drop sees the committed change.
import { createCache } from '../base/cache.ts'
import type { Cache } from '../base/cache.ts'
import { approximateBytes } from '../base/size.ts'
import type { Client } from '../model/clients/client.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { SigningKeyRecord } from '../model/tokens/signing-key.ts'
import type { Zone } from '../model/zones/zone.ts'
import { isStorable } from './database.ts'
import type { Database, Outage } from './database.ts'
import type { Outline } from './listing/outline.ts'
import { StoreUnavailable } from './store.ts'

const KINDS = ['zones', 'clients', 'providers', 'keys', 'everything'] as const

/**
 * A cached record that changed; `key` is empty where the zone's records are cached together. `everything` is the zone
 * itself with all its contents; an older version that does not know this kind clears all its caches.
 */
export interface Change {
  readonly kind: (typeof KINDS)[number]
  readonly zoneId: string
  readonly key: string
}

/** Receives changes of its own and of other processes. */
export interface ChangeListener {
  changed(change: Change): void
  /** Called when changes may have been lost: clear everything. */
  missed(): void
}

/** All providers of a zone, indexed for both look-ups. */
export interface ZoneProviders {
  readonly byOrigin: ReadonlyMap<string, IdentityProvider>
  readonly active: readonly IdentityProvider[]
  /** Origins whose provider is being deleted. */
  readonly deleted: ReadonlySet<string>
}

/** The caches of the store; bounded, so that memory does not grow with the number of zones. */
export interface Caches extends ChangeListener {
  readonly zones: Cache<Zone>
  /** Subdomain to zone id; a hint that must be checked against the zone. */
  readonly subdomains: Cache<{ readonly id: string }>
  readonly clients: Cache<Client>
  /** The number of clients of each zone, and positions of some of them. */
  readonly clientOutlines: Cache<Outline>
  readonly providers: Cache<ZoneProviders>
  readonly keys: Cache<readonly SigningKeyRecord[]>
}

/** The cache key of a record in a zone. Storable strings do not contain the separator. */
const keyInZone = (zoneId: string, key: string): string => `${zoneId}\0${key}`

/** The zone of such a key. */
const zoneOf = (key: string): string => key.slice(0, key.indexOf('\0'))

const PROVIDER_BYTES = 64 * 1024 * 1024
/**
 * The settings of one zone's providers, which are bounded where they are written, may take several times as much in memory as there.
 * They are kept in any case: every sign-in would read them again.
 */
const MAX_PROVIDER_BYTES = PROVIDER_BYTES / 2 - 1024

/** Makes the empty caches of one store. */
export function createCaches(): Caches {
  const caches = {
    zones: createCache<Zone>({ capacity: 1000 }),
    subdomains: createCache<{ readonly id: string }>({ capacity: 1000 }),
    clients: createCache<Client>({ capacity: 10_000, ownerOf: zoneOf }),
    clientOutlines: createCache<Outline>({ capacity: 100 }), // of up to 200 kB each, which grow later
    providers: createCache<ZoneProviders>({
      capacity: 1000,
      bytes: PROVIDER_BYTES,
      sizeOf: providers => Math.min(approximateBytes(providers), MAX_PROVIDER_BYTES),
    }),
    keys: createCache<readonly SigningKeyRecord[]>({ capacity: 1000 }),
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

/** Serialises a change for a column or a notification. */
export const writeChange = ({ kind, zoneId, key }: Change): string => JSON.stringify([kind, zoneId, key])

/** The number that may follow a change in a notification. */
export const changeNumberOf = (text: string): number | undefined => {
  const digits = /,([0-9]{1,15})\]$/.exec(text)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** Parses the format of `writeChange`; undefined for anything else, which a newer version may have sent. */
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
 * The cached record, or the loaded one. Bypasses the cache while changes of other processes do not arrive, unless the
 * database is down: then no process can change records. Undefined for a key that cannot be stored: it could collide with another
 * cache key.
 */
export function remembered<V extends object>(
  source: Pick<Database, 'receivesChanges' | 'outage'>,
  cache: Cache<V>,
  key: readonly [string, string?],
  load: () => Promise<V | undefined>,
): Promise<V | undefined> {
  const [first, second] = key
  if (!isStorable(first) || (second !== undefined && !isStorable(second))) return Promise.resolve(undefined)
  const cacheKey = second === undefined ? first : keyInZone(first, second)
  if (source.receivesChanges()) return cache.get(cacheKey, load)
  if (!source.outage) return load()
  return loadedOrKept(source.outage, () => cache.peek(cacheKey), load)
}

async function loadedOrKept<V extends object>(
  outage: Outage,
  kept: () => V | undefined,
  load: () => Promise<V | undefined>,
): Promise<V | undefined> {
  const cached = outage.mayTrustCaches() ? kept() : undefined
  if (cached !== undefined) return cached
  try {
    return await load()
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    await outage.decided() // the database may just be found to be unreachable
    const late = outage.mayTrustCaches() ? kept() : undefined
    if (late === undefined) throw error
    return late
  }
}
