import { createFairCache } from './fair-cache.ts'
import type { CacheBounds } from './fair-cache.ts'

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

/** Finds the owner of a key. */
interface Owned {
  /** All values have one owner unless set. */
  readonly ownerOf?: (key: string) => string
}

/** Keeps values within the bounds, and evicts as `createFairCache` does. Absence and failures are not cached. */
export function createCache<V extends object>({ ownerOf = () => '', ...bounds }: CacheBounds<V> & Owned): Cache<V> {
  const values = createFairCache<V>(bounds)
  const loading = new Map<string, Promise<V | undefined>>()

  function startLoading(key: string, load: () => Promise<V | undefined>): Promise<V | undefined> {
    const pending = load()
      .then(value => {
        if (value !== undefined && loading.get(key) === pending) values.set(key, ownerOf(key), value)
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
      // The order of use is maintained only when it matters: this is the way of every request.
      const value = values.isHalfFull ? values.get(key) : values.peek(key)
      if (value === undefined) return loading.get(key) ?? startLoading(key, load)
      return Promise.resolve(value)
    },
    peek: key => values.peek(key),
    drop(key) {
      values.drop(key)
      loading.delete(key)
    },
    dropPrefix(prefix) {
      for (const key of values.keys()) if (key.startsWith(prefix)) values.drop(key)
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
