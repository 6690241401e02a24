import { Line, Ranking } from './recency.ts'
import type { Place } from './recency.ts'
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

/** What one owner has. */
interface Share {
  readonly owner: string
  /** The keys in the order of use. */
  readonly line: Line<string>
  count: number
  bytes: number
}

interface Entry<V> {
  readonly share: Share
  readonly place: Place<string>
  readonly value: V
  readonly bytes: number
}

/** Owners whose bytes differ by less than a fifth may have the same. */
const rankOfBytes = (bytes: number): number => Math.ceil(4 * Math.log2(bytes + 1))

/**
 * Keeps values within the bounds. A full cache evicts the least recently used value of the owner that has the most, so that an
 * owner with many, or with large ones, displaces only its own; of several that have about as many, the one that was served, or
 * lost a value, least recently. The time does not depend on the numbers of owners and values.
 */
export function createFairCache<V>(bounds: CacheBounds<V>): FairCache<V> {
  const { capacity, bytes: maxBytes = DEFAULT_BYTES, sizeOf = approximateBytes } = bounds
  const entries = new Map<string, Entry<V>>()
  const shares = new Map<string, Share>()
  const byCount = new Ranking<Share>()
  const byBytes = new Ranking<Share>()
  let bytes = 0

  /** After a change of the share. */
  function rank(share: Share): void {
    if (share.count === 0) {
      shares.delete(share.owner)
      byCount.delete(share)
      byBytes.delete(share)
    } else {
      byCount.set(share, share.count)
      byBytes.set(share, rankOfBytes(share.bytes))
    }
  }

  function drop(key: string): void {
    const entry = entries.get(key)
    if (!entry) return
    const { share, place } = entry
    entries.delete(key)
    bytes -= entry.bytes
    share.line.remove(place)
    share.count -= 1
    share.bytes -= entry.bytes
    rank(share)
  }

  function add(key: string, { owner, value, added }: { owner: string; value: V; added: number }): void {
    const share = shares.get(owner) ?? { owner, line: new Line(), count: 0, bytes: 0 }
    shares.set(owner, share)
    entries.set(key, { share, place: share.line.append(key), value, bytes: added })
    bytes += added
    share.count += 1
    share.bytes += added
    rank(share)
    touch(share)
  }

  function touch(share: Share): void {
    byCount.touch(share)
    byBytes.touch(share)
  }

  const hasRoom = (added: number): boolean => entries.size < capacity && bytes + added <= maxBytes

  function evictOne(): void {
    const most = (entries.size >= capacity ? byCount : byBytes).top()
    if (most?.line.first !== undefined) drop(most.line.first)
  }

  return {
    get(key) {
      const entry = entries.get(key)
      if (!entry) return undefined
      entry.share.line.toEnd(entry.place)
      touch(entry.share)
      return entry.value
    },
    peek: key => entries.get(key)?.value,
    set(key, owner, value) {
      drop(key)
      const added = ENTRY_BYTES + 2 * key.length + sizeOf(value)
      if (capacity < 1 || added > maxBytes / 2) return
      while (!hasRoom(added)) evictOne()
      add(key, { owner, value, added })
    },
    drop,
    clear() {
      entries.clear()
      shares.clear()
      byCount.clear()
      byBytes.clear()
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
