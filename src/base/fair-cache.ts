/** A bounded cache whose values belong to owners, such as zones. */
interface FairCache<V> {
  /** The value, which counts as used now. */
  get(key: string): V | undefined
  /** The value, without counting as a use. */
  peek(key: string): V | undefined
  /** Keeps the value in the share of the owner, in place of any earlier one. */
  set(key: string, owner: string, value: V): void
}

/**
 * Keeps at most `capacity` values. A full cache evicts the least recently used value of the owner that has the most, so that an
 * owner with many displaces only its own; of several that have as many, the one that was served least recently.
 */
export function createFairCache<V>(capacity: number): FairCache<V> {
  const entries = new Map<string, { readonly owner: string; readonly value: V }>()
  /** The owner that was served least recently first, and of each the key that was used least recently. */
  const keysOf = new Map<string, Set<string>>()

  function drop(key: string): void {
    const entry = entries.get(key)
    if (!entry) return
    entries.delete(key)
    const keys = keysOf.get(entry.owner)
    keys?.delete(key)
    if (keys?.size === 0) keysOf.delete(entry.owner)
  }

  /** Re-inserts the owner and its key, so that both orders are those of use. */
  function touch(owner: string, key: string): void {
    const keys = keysOf.get(owner) ?? new Set()
    keys.delete(key)
    keysOf.delete(owner)
    keysOf.set(owner, keys.add(key))
  }

  function evictOne(): void {
    let most: ReadonlySet<string> = new Set()
    for (const keys of keysOf.values()) if (keys.size > most.size) most = keys
    for (const key of most) return drop(key)
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
      if (entries.size >= capacity) evictOne()
      entries.set(key, { owner, value })
      touch(owner, key)
    },
  }
}
