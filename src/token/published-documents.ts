// JSON documents that other servers publish at a URL, such as JWK sets: cached for the publisher's `max-age`, fetched once for
// concurrent callers of a zone and at most every 30 seconds (once more for what a document lacks), and used for an hour when they
// cannot be refreshed. Does not know their contents.
import { freshSeconds } from '../base/cache-control.ts'
import { isWithin } from '../base/clock.ts'
import type { Clock } from '../base/clock.ts'
import { createFairCache } from '../base/fair-cache.ts'
import type { Outbound, OutboundShare } from '../base/outbound.ts'
import { OutboundBusy, OutboundError } from '../base/outbound.ts'
import { createWaitingCallers } from '../base/outbound/waiting-callers.ts'

/** Thrown when a document cannot be fetched or is invalid. */
export class UnusableDocument extends Error {
  override name = 'UnusableDocument'
}

/** Where a document is. */
interface DocumentAddress {
  readonly uri: string
  /** The share that fetching counts against. */
  readonly share?: OutboundShare | undefined
  /** Whether it is fetched again before each use, as often as is allowed. */
  readonly refetch?: boolean | undefined
}

/** Reads documents of one kind. */
interface PublishedDocuments<T> {
  /**
   * What `find` finds in the document. If it finds nothing, the document is fetched again, unless that was done a moment ago:
   * what is wanted may be new. Throws `UnusableDocument` without a document, and `OutboundBusy` if
   * too many requests are under way to fetch it.
   */
  find<R>(address: DocumentAddress, find: (document: T) => R | undefined): Promise<R | undefined>
}

/** Minimum seconds between two fetches of a document, successful or not. */
const PAUSE_SECONDS = 30
/**
 * The same for a document that lacks what is wanted, such as a key that was published a moment ago; once in `PAUSE_SECONDS`,
 * since anyone can name keys that do not exist.
 */
const EARLY_PAUSE_SECONDS = 5
const FRESH_SECONDS = { min: 5 * 60, usual: 10 * 60, max: 24 * 60 * 60 } as const
/** How long a document is used after it could not be refreshed. */
const STALE_SECONDS = 60 * 60
/** Documents of all zones; the administrators of one, and those who register clients in it, displace only their own. */
const MAX_DOCUMENTS = 5000

/**
 * The cached state of a URL in a zone. Zones share none: their administrators can use up what a zone has for requests, so that
 * they fail.
 */
interface Published<T> {
  document: T | undefined
  readonly zoneId: string
  /** When the document was fetched, and for how long it is not fetched again unless it lacks what is wanted. */
  fetchedAt: Date | undefined
  freshSeconds: number
  triedAt: Date | undefined
  /** Time of the last fetch within `PAUSE_SECONDS` after another. */
  earlyAt: Date | undefined
  /** Why the last fetch failed. */
  failure: string | undefined
  pending: Promise<void> | undefined
}

/** `read` parses a document, and throws `UnusableDocument` for one that cannot be used. */
export function createPublishedDocuments<T>({
  outbound,
  clock,
  read,
  sizeOf,
}: {
  outbound: Outbound
  clock: Clock
  read: (json: unknown) => T
  /** The bytes that a document takes. */
  sizeOf: (document: T) => number
}): PublishedDocuments<T> {
  const published = createFairCache<Published<T>>({
    capacity: MAX_DOCUMENTS,
    sizeOf: ({ document, failure = '' }) => 2 * failure.length + (document === undefined ? 0 : sizeOf(document)),
  })
  const waiting = createWaitingCallers()

  async function fetchInto(entry: Published<T>, { uri, share }: DocumentAddress): Promise<void> {
    const now = clock.now()
    entry.triedAt = now
    try {
      const { value, headers } = await outbound.getJson(uri, share)
      entry.document = read(value)
      entry.fetchedAt = now
      entry.freshSeconds = freshSeconds(headers, FRESH_SECONDS)
      entry.failure = undefined
    } catch (error) {
      // The clock was set back since: the document counts from now.
      if (entry.fetchedAt && entry.fetchedAt > now) Object.assign(entry, { fetchedAt: now, freshSeconds: 0 })
      if (!isWithin(entry.freshSeconds + STALE_SECONDS, entry.fetchedAt, now)) entry.document = undefined
      if (error instanceof OutboundBusy) entry.triedAt = undefined // no request was sent
      if (!(error instanceof OutboundError || error instanceof UnusableDocument)) throw error
      entry.failure = error.message
    } finally {
      published.set(keyOf(entry.zoneId, uri), entry.zoneId, entry) // its size has changed
    }
  }

  /** Whether the document may be fetched now; notes an early fetch. */
  function mayFetch(entry: Published<T>, isLacking: boolean): boolean {
    const now = clock.now()
    if (!isWithin(PAUSE_SECONDS, entry.triedAt, now)) return true
    const isEarly = isLacking && entry.failure === undefined && !isWithin(EARLY_PAUSE_SECONDS, entry.triedAt, now)
    if (!isEarly || isWithin(PAUSE_SECONDS, entry.earlyAt, now)) return false
    entry.earlyAt = now
    return true
  }

  /** Fetches the document unless that was tried recently; concurrent callers share one request, unless too many wait. */
  async function refresh(entry: Published<T>, address: DocumentAddress, isLacking = false): Promise<void> {
    if (!entry.pending && !mayFetch(entry, isLacking)) return
    const fetchOnce = (): Promise<void> =>
      (entry.pending ??= fetchInto(entry, address).finally(() => (entry.pending = undefined)))
    await waiting(entry.zoneId, fetchOnce)
  }

  function entryOf({ uri, share }: DocumentAddress): Published<T> {
    const zoneId = share?.zoneId ?? ''
    const key = keyOf(zoneId, uri)
    const known = published.get(key)
    if (known) return known
    const unknown: Published<T> = {
      document: undefined,
      zoneId,
      fetchedAt: undefined,
      freshSeconds: 0,
      triedAt: undefined,
      earlyAt: undefined,
      failure: undefined,
      pending: undefined,
    }
    published.set(key, zoneId, unknown)
    return unknown
  }

  return {
    async find(address, find) {
      const entry = entryOf(address)
      const isFresh = isWithin(entry.freshSeconds, entry.fetchedAt, clock.now())
      if (!entry.document || address.refetch || !isFresh) {
        await refresh(entry, address).catch((cause: unknown) => {
          if (!(cause instanceof OutboundBusy && entry.document)) throw cause
        })
      }
      if (!entry.document) throw new UnusableDocument(entry.failure ?? 'the document was not fetched')
      const found = find(entry.document)
      if (found !== undefined) return found
      await refresh(entry, address, true)
      return find(entry.document)
    },
  }
}

const keyOf = (zoneId: string, uri: string): string => JSON.stringify([zoneId, uri])
