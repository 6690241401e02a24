/** A bounded cache of slow look-ups, invalidated by key. */
export interface Cache<V extends object> {
  /** The cached value, or the result of `load`; concurrent callers of one key share a single load. */
  get(key: string, load: () => Promise<V | undefined>): Promise<V | undefined>
  /** The cached value, without loading. */
  peek(key: string): V | undefined
  /** Removes one key. The result of a load in progress goes to its callers but is not cached. */
  drop(key: string): void
  /** Removes every key that begins with `prefix`. */
  dropPrefix(prefix: string): void
  /** Removes all keys. */
  clear(): void
  /** The number of cached values. */
  readonly size: number
}

/** Keeps at most `capacity` values and evicts the least recently used. Absence and failures are not cached. */
export function createCache<V extends object>(capacity: number): Cache<V> {
  const values = new Map<string, V>()
  // Below half of the capacity no eviction is near, so the order of use is not maintained.
  const halfFull = capacity / 2
  const loading = new Map<string, Promise<V | undefined>>()

  function remember(key: string, value: V): void {
    if (capacity < 1) return
    if (values.size >= capacity) {
      const oldest = values.keys().next()
      if (!oldest.done) values.delete(oldest.value)
    }
    values.set(key, value)
  }

  function startLoading(key: string, load: () => Promise<V | undefined>): Promise<V | undefined> {
    const pending = load()
      .then(value => {
        if (value !== undefined && loading.get(key) === pending) remember(key, value)
        return value
      })
      .finally(() => {
        if (loading.get(key) === pending) loading.delete(key)
      })
    loading.set(key, pending)
    return pending
  }

  return {
    get(key, load) {
      const value = values.get(key)
      if (value === undefined) return loading.get(key) ?? startLoading(key, load)
      if (values.size > halfFull) {
        values.delete(key) // re-inserted, so that the map's order is the order of use
        values.set(key, value)
      }
      return Promise.resolve(value)
    },
    peek: key => values.get(key),
    drop(key) {
      values.delete(key)
      loading.delete(key)
    },
    dropPrefix(prefix) {
      for (const key of values.keys()) if (key.startsWith(prefix)) values.delete(key)
      for (const key of loading.keys()) if (key.startsWith(prefix)) loading.delete(key)
    },
    clear() {
      values.clear()
      loading.clear()
    },
    get size() {
      return values.size
    },
  }
}
