// Unregistered clients: their id is the address of a document that describes them (OAuth Client ID Metadata
// Document). The document is fetched on demand, cached in memory, and never stored. Its client has the same rights as
// clients that register themselves.
import { createCache } from '../../base/cache.ts'
import type { Cache } from '../../base/cache.ts'
import { freshSeconds } from '../../base/cache-control.ts'
import { addSeconds } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import { loadOnce } from '../../base/concurrency/load-once.ts'
import type { Outbound } from '../../base/outbound.ts'
import { OutboundBusy, OutboundError } from '../../base/outbound/error.ts'
import { registrantShare } from '../../clients/outbound-share.ts'
import type { Client } from '../../model/clients/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import type { Zone } from '../../model/zones/zone.ts'
import type { Store } from '../../store/store.ts'
import type { Limits } from '../../web/limits/limits.ts'
import { TooManyRequests } from '../../web/limits/too-many-requests.ts'
import type { ReadingDeps } from './reading.ts'
import { documentUrlProblem, isAddress } from '../../model/clients/document-address.ts'

/** Finds the client that a document describes. */
export interface ClientDocuments {
  /**
   * Undefined for an id that is no such address, in a zone without them, and for a document that cannot be used. Throws
   * `OutboundBusy` if no request for it can be sent, or the zone has fetched too many, and none is cached.
   */
  find(zoneId: string, clientId: string): Promise<Client | undefined>
  /** Whether the site said, when it was last asked, that there is no such document. */
  isGone(zoneId: string, clientId: string): boolean
}

/** Dependencies for fetching and reading them. */
interface DocumentDeps extends ReadingDeps {
  readonly store: Store
  readonly outbound: Outbound
  readonly behaviour: Behaviour
  readonly clock: Clock
  readonly limits: Pick<Limits, 'documentFetches'>
  readonly log: { refusal(message: string): void }
}

/** Of the document; the draft asks for at least 5 kB. */
const MAX_BYTES = 16 * 1024
/** How long it is used before it is fetched again: the upper limit keeps a redirect URI that was removed from being used. */
const FRESH_SECONDS = { min: 60, usual: 15 * 60, max: 15 * 60 } as const
/** How long a document is used that cannot be fetched again. */
const STALE_SECONDS = 24 * 60 * 60
/** How long one that could not be used is not fetched again: twice as long after each further error, up to the maximum. */
const PAUSE_SECONDS = { first: 5, max: 60 } as const
/** Of one zone; untrusted callers choose the addresses. */
const MAX_KEPT = 200
/** Ids of one zone whose documents were valid: a flood of other addresses cannot prevent fetching these again. */
const MAX_KNOWN = 2000
const MAX_ZONES = 1000

const reading = loadOnce(() => import('./reading.ts'))

/** What is known of one address. */
interface Cached {
  /** Absent when the document cannot be used. */
  readonly client?: Client
  readonly isGone?: boolean
  /** After an error. */
  readonly pauseSeconds?: number | undefined
  readonly fetchAfter: Date
  readonly forgetAt: Date
  /** The policy that it was read with; if the zone's policy changes, the document is read again. */
  readonly zone: Zone['config']
}

/** The cache of one zone. Failures are stored separately, so that invented addresses displace no document. */
interface OfZone {
  readonly usable: Cache<Cached>
  readonly failed: Cache<Cached>
  readonly known: Cache<object>
  /** Until then, reaching the limit of fetches is not logged again. */
  quietUntil: Date
}

const nothingYet = (): OfZone => ({
  quietUntil: new Date(0),
  usable: createCache(MAX_KEPT),
  failed: createCache(MAX_KEPT),
  known: createCache(MAX_KNOWN),
})

/** The site says that there is no document. */
class DocumentGone extends OAuthError {
  override readonly name = 'DocumentGone'
}

/** Whether the document may still exist. */
const isUnreachable = (cause: unknown): boolean =>
  cause instanceof OutboundBusy ||
  (cause instanceof OutboundError && ['timeout', 'unreachable'].includes(cause.failure))

/** Errors a while ago do not lengthen the pause. */
const pauseAfter = (before: Cached | undefined, now: Date): number =>
  before?.pauseSeconds !== undefined && now < addSeconds(before.fetchAfter, PAUSE_SECONDS.max)
    ? Math.min(before.pauseSeconds * 2, PAUSE_SECONDS.max)
    : PAUSE_SECONDS.first

/** One instance serves the process; documents are cached in its memory. */
export function createClientDocuments(deps: DocumentDeps): ClientDocuments {
  const { store, behaviour, clock } = deps
  const zones = createCache<OfZone>(MAX_ZONES)
  const underWay = new Map<string, Promise<Cached>>()

  /**
   * Naming many addresses stops the zone from fetching more of them for a minute; cached documents remain usable. Whether the
   * others exist is then not known.
   */
  async function takeFetch(zone: Zone, ofZone: OfZone): Promise<void> {
    try {
      await deps.limits.documentFetches.take(zone.id)
    } catch (cause) {
      if (!(cause instanceof TooManyRequests)) throw cause
      const now = clock.now()
      if (ofZone.quietUntil <= now) {
        ofZone.quietUntil = addSeconds(now, PAUSE_SECONDS.max)
        deps.log.refusal(`metadata documents of zone ${zone.id} are not fetched: too many were in the last minute`)
      }
      throw new OutboundBusy('metadata documents')
    }
  }

  async function fetched(zone: Zone, clientId: string, before: Cached | undefined): Promise<Cached> {
    const now = clock.now()
    try {
      const { readDocument } = await reading()
      const answer = await documentAt(zone, clientId, deps.outbound)
      const client = await readDocument(parseJson(await answer.text()), { zone, clientId }, deps)
      const fetchAfter = addSeconds(now, freshSeconds(answer.headers, FRESH_SECONDS))
      return { zone: zone.config, client, fetchAfter, forgetAt: addSeconds(now, STALE_SECONDS) }
    } catch (cause) {
      const isBusy = cause instanceof OutboundBusy
      if (!(isBusy || cause instanceof OutboundError || cause instanceof OAuthError)) throw cause
      deps.log.refusal(`the metadata document ${clientId} cannot be used: ${cause.message}`)
      const pauseSeconds = isBusy ? before?.pauseSeconds : pauseAfter(before, now)
      const fetchAfter = isBusy ? now : addSeconds(now, pauseSeconds ?? 0) // then no request was sent
      // Only an unreachable site is tolerated: a changed document counts at once.
      const isForgiven = isUnreachable(cause) && before?.client !== undefined && before.zone === zone.config
      if (isForgiven && now < before.forgetAt) return { ...before, pauseSeconds, fetchAfter }
      if (isBusy) throw cause
      const isGone = cause instanceof DocumentGone
      return { zone: zone.config, isGone, pauseSeconds, fetchAfter, forgetAt: fetchAfter }
    }
  }

  async function refreshed(zone: Zone, clientId: string, ofZone: OfZone): Promise<Client | undefined> {
    const { usable, failed, known } = ofZone
    // `get`, so that what is in use is displaced last.
    const kept = (await usable.get(clientId, () => Promise.resolve(undefined))) ?? failed.peek(clientId)
    const isKnown = (await known.get(clientId, () => Promise.resolve(undefined))) !== undefined
    const now = clock.now()
    const isRead = kept !== undefined && kept.zone === zone.config
    if (isRead && now < kept.fetchAfter) return kept.client
    const key = JSON.stringify([zone.id, clientId])
    const running = underWay.get(key)
    if (running) return (await running).client
    const fetchOnce = async (): Promise<Cached> => {
      if (!isKnown) await takeFetch(zone, ofZone)
      return fetched(zone, clientId, kept)
    }
    const work = fetchOnce().finally(() => underWay.delete(key))
    underWay.set(key, work)
    const found = await work
    for (const cache of [usable, failed]) cache.drop(clientId)
    await (found.client ? usable : failed).get(clientId, () => Promise.resolve(found))
    if (found.client) await known.get(clientId, () => Promise.resolve({}))
    return found.client
  }

  return {
    async find(zoneId, clientId) {
      if (documentUrlProblem(clientId) !== undefined) return undefined
      const zone = await store.zones.find(zoneId)
      if (!zone?.active || !supportsProtocol(zone, 'clientMetadataDocuments', behaviour)) return undefined
      const ofZone = await zones.get(zoneId, () => Promise.resolve(nothingYet()))
      return ofZone && refreshed(zone, clientId, ofZone)
    },
    isGone: (zoneId, clientId) => zones.peek(zoneId)?.failed.peek(clientId)?.isGone === true,
  }
}

/** The response with the JSON at the address; no redirect is followed. Throws `OutboundError`, and `OAuthError` for anything else. */
async function documentAt(zone: Zone, address: string, outbound: Outbound): Promise<Response> {
  const answer = await outbound.fetch(address, {
    headers: { accept: 'application/json' },
    maxBytes: MAX_BYTES,
    share: registrantShare(zone.id, 'sign-in'), // a user waits for it
  })
  if (answer.status >= 500) throw new OutboundError('unreachable', `the answer has status ${answer.status}`)
  if (answer.status !== 200) {
    const kind = answer.status === 404 || answer.status === 410 ? DocumentGone : OAuthError
    throw new kind('invalid_client', `the answer has status ${answer.status}`)
  }
  const [type = ''] = (answer.headers.get('content-type') ?? '').toLowerCase().split(';', 1)
  if (!/^application\/(?:[\w.+-]+\+)?json$/.test(type.trim())) {
    throw new OAuthError('invalid_client', 'the answer is not JSON')
  }
  return answer
}

/**
 * The store, in which a client may be described by its document: no stored client has an address as its id. The APIs that
 * change clients read and write what is stored.
 */
export function withClientDocuments(store: Store, documents: ClientDocuments): Store {
  const { clients } = store
  return {
    ...store,
    clients: {
      ...clients,
      find: (zoneId, clientId) => (isAddress(clientId) ? documents : clients).find(zoneId, clientId),
    },
  }
}
