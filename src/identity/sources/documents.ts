// Documents that providers publish at a URL, such as discovery documents and SAML metadata: cached, fetched once for concurrent
// callers, and used for a while when they cannot be refreshed. Does not know how a document is fetched or parsed.
import { isWithin } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { createFairCache } from '../../base/fair-cache.ts'
import { OutboundBusy } from '../../base/outbound.ts'
import type { OutboundShare } from '../../base/outbound.ts'
import { createWaitingCallers } from '../../base/outbound/waiting-callers.ts'

/** The result of fetching; `paused`: the server did not answer lately, and nothing was sent. */
export type Fetched<T> =
  | { readonly outcome: 'fetched'; readonly document: T; readonly cacheSeconds?: number }
  | { readonly outcome: 'failed' }
  | { readonly outcome: 'paused' }

/** Where a document is, and how to fetch it. Callers with the same key get the same document. */
export interface Source<T> {
  readonly key: string
  readonly zoneId: string
  readonly get: (share: OutboundShare) => Promise<Fetched<T>>
}

/** A cached document; undefined in place of one that could not be fetched. */
interface CachedDocument<T> {
  readonly document: T | undefined
}

/** Cached documents. */
interface Documents<T> {
  /**
   * The document; undefined if it cannot be fetched, or could not a moment ago. Throws `OutboundBusy` if too many requests are
   * under way, or too many callers of the zone wait, and no earlier document counts.
   */
  read(source: Source<T>, purpose: OutboundShare['purpose']): Promise<T | undefined>
  /** The cached document, even if it is stale, and fetches it in the background; undefined if it was never fetched. */
  peek(source: Source<T>): CachedDocument<T> | undefined
  /** The document, fetched now: at most once in 30 seconds, and undefined otherwise. Throws `OutboundBusy`. */
  renew(source: Source<T>, purpose: OutboundShare['purpose']): Promise<T | undefined>
}

const CACHE_SECONDS = 600
/** Minimum, so that a provider with a shorter lifetime is not fetched at every sign-in. */
const MIN_CACHE_SECONDS = 60
/** Pause after a failure, since every sign-in would fetch the document again. */
const PAUSE_SECONDS = 30
/** How long a document counts after it could not be fetched again. */
const STALE_SECONDS = 60 * 60
/** Documents of all zones, whose administrators choose how many there are, and displace only their own. */
const MAX_DOCUMENTS = 10_000
/** Concurrent background fetches for pages, per zone: a page may show a thousand providers. */
const MAX_REFRESHES = 4

interface Entry<T> extends CachedDocument<T> {
  readonly fetchedAt: Date
  /** Time of the last attempt, successful or not, and how long no other is made. */
  readonly triedAt: Date
  readonly freshSeconds: number
}

/** Caches documents for ten minutes; one that cannot be fetched again counts for an hour. */
export function createDocuments<T>({ clock }: { clock: Clock }): Documents<T> {
  const entries = createFairCache<Entry<T>>({ capacity: MAX_DOCUMENTS })
  const refreshes = new Map<string, number>()
  const fetching = new Map<string, Promise<T | undefined>>()
  const waiting = createWaitingCallers()

  function remember({ key, zoneId }: Source<T>, entry: Entry<T>): T | undefined {
    entries.set(key, zoneId, entry)
    return entry.document
  }

  /** The cached document, even if it is stale, unless it is too old. */
  function validOf(key: string): Entry<T> | undefined {
    const found = entries.get(key)
    if (!found) return undefined
    const now = clock.now()
    if (found.fetchedAt > now) return { ...found, fetchedAt: now } // the clock was set back since
    return isWithin(STALE_SECONDS, found.fetchedAt, now) ? found : undefined
  }

  async function load(source: Source<T>, purpose: OutboundShare['purpose']): Promise<T | undefined> {
    const { key, zoneId, get } = source
    const fetched = await get({ zoneId, purpose })
    const now = clock.now()
    const before = validOf(key)
    if (fetched.outcome === 'paused') return before?.document // no result to cache
    if (fetched.outcome === 'fetched') {
      const { document, cacheSeconds = CACHE_SECONDS } = fetched
      const freshSeconds = Math.min(Math.max(cacheSeconds, MIN_CACHE_SECONDS), CACHE_SECONDS)
      return remember(source, { document, freshSeconds, fetchedAt: now, triedAt: now })
    }
    const paused = { freshSeconds: PAUSE_SECONDS, triedAt: now }
    return remember(source, before ? { ...before, ...paused } : { document: undefined, fetchedAt: now, ...paused })
  }

  function fetchOnce(source: Source<T>, purpose: OutboundShare['purpose']): Promise<T | undefined> {
    const { key } = source
    const pending = fetching.get(key) ?? load(source, purpose).finally(() => fetching.delete(key))
    fetching.set(key, pending)
    return pending
  }

  /** Fetches the document in the background of a page. */
  function refresh(source: Source<T>): void {
    const { key, zoneId } = source
    const count = refreshes.get(zoneId) ?? 0
    if (count >= MAX_REFRESHES || fetching.has(key)) return
    refreshes.set(zoneId, count + 1)
    fetchOnce(source, 'background')
      .catch(() => {}) // `read` reports an internal fault
      .finally(() => {
        const left = (refreshes.get(zoneId) ?? 1) - 1
        if (left === 0) refreshes.delete(zoneId)
        else refreshes.set(zoneId, left)
      })
  }

  const freshOf = (key: string): Entry<T> | undefined => {
    const found = entries.get(key)
    return found && isWithin(found.freshSeconds, found.triedAt, clock.now()) ? found : undefined
  }

  return {
    async read(source, purpose) {
      const { key, zoneId } = source
      const fresh = freshOf(key)
      if (fresh) return fresh.document
      try {
        return await waiting(zoneId, () => fetchOnce(source, purpose))
      } catch (error) {
        const before = error instanceof OutboundBusy ? validOf(key)?.document : undefined
        if (before === undefined) throw error
        return before
      }
    },
    peek(source) {
      if (!freshOf(source.key)) refresh(source)
      return entries.get(source.key)
    },
    async renew(source, purpose) {
      if (isWithin(PAUSE_SECONDS, entries.get(source.key)?.triedAt, clock.now())) return undefined
      return waiting(source.zoneId, () => fetchOnce(source, purpose))
    },
  }
}
