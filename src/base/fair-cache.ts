import { approximateBytes } from './size.ts'

/** A bounded cache whose values belong to owners, such as zones. */
export interface FairCache<V> {
  /** The value, which counts as used now. */
  get(key: string): V | undefined
  /** The value, without counting as a use. */
  peek(key: string): V | undefined
  /** Keeps the value in the share of the owner, in place of any earlier one; a value of half of all the bytes is not kept. */
  set(key: string, owner: string, value: V): void
  /** Removes one key. */
  drop(key: string): void
  clear(): void
  keys(): Iterable<string>
  /** The number of cached values. */
  readonly size: number
  /** Whether more than half of the values or of the bytes are used: until then no eviction is near. */
  readonly isHalfFull: boolean
}

/** The bounds of a cache. */
export interface CacheBounds<V> {
  /** How many values it keeps. */
  readonly capacity: number
  /** About how many bytes they take together; 32 MiB unless set. */
  readonly bytes?: number
  /** The bytes of one value; those of its members unless set. */
  readonly sizeOf?: (value: V) => number
}

/** Tenants choose how large most of what is cached is. */
const DEFAULT_BYTES = 32 * 1024 * 1024
/** Bytes that the cache itself takes for an entry. */
const ENTRY_BYTES = 200

interface Share {
  /** What was used least recently first. */
  readonly keys: Set<string>
  bytes: number
}

/**
 * Keeps values within the bounds. A full cache evicts the least recently used value of the owner that has the most, so that an
 * owner with many, or with large ones, displaces only its own; of several that have as many, the one that was served least
 * recently.
 */
export function createFairCache<V>(bounds: CacheBounds<V>): FairCache<V> {
  const { capacity, bytes: maxBytes = DEFAULT_BYTES, sizeOf = approximateBytes } = bounds
  const entries = new Map<string, { readonly owner: string; readonly value: V; readonly bytes: number }>()
  /** The owner that was served least recently first. */
  const shares = new Map<string, Share>()
  let bytes = 0

  function drop(key: string): void {
    const entry = entries.get(key)
    if (!entry) return
    entries.delete(key)
    bytes -= entry.bytes
    const share = shares.get(entry.owner)
    if (!share) return
    share.keys.delete(key)
    share.bytes -= entry.bytes
    if (share.keys.size === 0) shares.delete(entry.owner)
  }

  /** Re-inserts the owner and its key, so that both orders are those of use. */
  function touch(owner: string, key: string): Share {
    const share = shares.get(owner) ?? { keys: new Set(), bytes: 0 }
    share.keys.delete(key)
    share.keys.add(key)
    shares.delete(owner)
    shares.set(owner, share)
    return share
  }

  const hasRoom = (added: number): boolean => entries.size < capacity && bytes + added <= maxBytes

  function evictOne(): void {
    const measure = (share: Share): number => (entries.size >= capacity ? share.keys.size : share.bytes)
    let most: Share | undefined
    for (const share of shares.values()) if (!most || measure(share) > measure(most)) most = share
    for (const key of most?.keys ?? []) return drop(key)
  }

  return {
    get(key) {
      const entry = entries.get(key)
      if (!entry) return undefined
      touch(entry.owner, key)
      return entry.value
    },
    peek: key => entries.get(key)?.value,
    set(key, owner, value) {
      drop(key)
      const added = ENTRY_BYTES + 2 * key.length + sizeOf(value)
      if (capacity < 1 || added > maxBytes / 2) return
      while (!hasRoom(added)) evictOne()
      entries.set(key, { owner, value, bytes: added })
      bytes += added
      touch(owner, key).bytes += added
    },
    drop,
    clear() {
      entries.clear()
      shares.clear()
      bytes = 0
    },
    keys: () => entries.keys(),
    get size() {
      return entries.size
    },
    get isHalfFull() {
      return entries.size > capacity / 2 || bytes > maxBytes / 2
    },
  }
}
