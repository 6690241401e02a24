// Unregistered clients: their id is the address of a document that describes them (OAuth Client ID Metadata
// Document). The document is fetched on demand, cached in memory, and never stored. Its client has the same rights as
// clients that register themselves.
import { freshSeconds } from '../../base/cache-control.ts'
import { isWithin } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { createFairCache } from '../../base/fair-cache.ts'
import type { FairCache } from '../../base/fair-cache.ts'
import { parseJson } from '../../base/json.ts'
import { loadOnce } from '../../base/concurrency/load-once.ts'
import type { Outbound } from '../../base/outbound.ts'
import { OutboundBusy, OutboundError } from '../../base/outbound/error.ts'
import { createWaitingCallers } from '../../base/outbound/waiting-callers.ts'
import { digest } from '../../base/secrets.ts'
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
   * `OutboundBusy` if no request for it can be sent, the zone has fetched too many, or too many of its callers wait, and none is
   * cached.
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

/** Bytes of a document; the draft asks for at least 5 kB. */
const MAX_BYTES = 16 * 1024
/** How long it is used before it is fetched again: the upper limit keeps a redirect URI that was removed from being used. */
const FRESH_SECONDS = { min: 60, usual: 15 * 60, max: 15 * 60 } as const
/** How long a document is used that cannot be fetched again. */
const STALE_SECONDS = 24 * 60 * 60
/** How long one that could not be used is not fetched again: twice as long after each further error, up to the maximum. */
const PAUSE_SECONDS = { first: 5, max: 60 } as const
/** Documents of all zones. A zone displaces only its own; untrusted callers choose the addresses. */
const MAX_KEPT = 20_000
/** Ids whose documents were valid: a flood of other addresses cannot prevent fetching these again. */
const MAX_KNOWN = 50_000
const MAX_ZONES = 1000

const reading = loadOnce(() => import('./reading.ts'))

/** What is known of one address. */
interface Cached {
  /** Absent when the document cannot be used. */
  readonly client?: Client
  readonly isGone?: boolean
  /** After an error. */
  readonly pauseSeconds?: number | undefined
  readonly fetchedAt: Date
  /** Time of the last attempt, successful or not, and how long no other is made. */
  readonly triedAt: Date
  readonly freshSeconds: number
  /** The zone's policy that it was read with; if that changes, the document is read again. */
  readonly policy: string
}

/** The caches of all zones. Failures are stored separately, so that invented addresses displace no document. */
interface Caches {
  readonly usable: FairCache<Cached>
  readonly failed: FairCache<Cached>
  readonly known: FairCache<true>
  /** Zones, and when reaching the limit of fetches was logged. */
  readonly quiet: FairCache<Date>
}

const emptyCaches = (): Caches => ({
  usable: createFairCache({ capacity: MAX_KEPT }),
  failed: createFairCache({ capacity: MAX_KEPT }),
  known: createFairCache({ capacity: MAX_KNOWN }),
  quiet: createFairCache({ capacity: MAX_ZONES }),
})

const policies = new WeakMap<Zone['config'], string>()

/** A digest: documents outlive the cached record of the zone, which may be large. */
function policyOf({ config }: Zone): string {
  const policy = policies.get(config) ?? digest(JSON.stringify(config))
  policies.set(config, policy)
  return policy
}

/** The site says that there is no document. */
class DocumentGone extends OAuthError {
  override readonly name = 'DocumentGone'
}

/** Whether the document may still exist. */
const isUnreachable = (cause: unknown): boolean =>
  cause instanceof OutboundBusy ||
  (cause instanceof OutboundError && ['timeout', 'unreachable'].includes(cause.failure))

/** When the document was fetched: now at the latest, because the clock may have been set back since. */
const fetchTime = ({ fetchedAt }: Cached, now: Date): Date => (fetchedAt < now ? fetchedAt : now)

/** Whether the document is used while its site cannot be asked. */
const outlasts = (before: Cached | undefined, zone: Zone, now: Date): before is Cached =>
  before?.client !== undefined &&
  before.policy === policyOf(zone) &&
  isWithin(STALE_SECONDS, fetchTime(before, now), now)

/** Errors a while ago do not lengthen the pause. */
const pauseAfter = (before: Cached | undefined, now: Date): number =>
  before?.pauseSeconds !== undefined && isWithin(before.freshSeconds + PAUSE_SECONDS.max, before.triedAt, now)
    ? Math.min(before.pauseSeconds * 2, PAUSE_SECONDS.max)
    : PAUSE_SECONDS.first

const keyOf = (zoneId: string, clientId: string): string => JSON.stringify([zoneId, clientId])

/** One instance serves the process; documents are cached in its memory. */
export function createClientDocuments(deps: DocumentDeps): ClientDocuments {
  const { store, behaviour, clock } = deps
  const { usable, failed, known, quiet } = emptyCaches()
  const underWay = new Map<string, Promise<Cached>>()
  const waiting = createWaitingCallers()

  /**
   * Naming many addresses stops the zone from fetching more of them for a minute; cached documents remain usable. Whether the
   * others exist is then not known.
   */
  async function takeFetch(zone: Zone): Promise<void> {
    try {
      await deps.limits.documentFetches.take(zone.id)
    } catch (cause) {
      if (!(cause instanceof TooManyRequests)) throw cause
      const now = clock.now()
      if (!isWithin(PAUSE_SECONDS.max, quiet.peek(zone.id), now)) {
        quiet.set(zone.id, zone.id, now)
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
      const fresh = freshSeconds(answer.headers, FRESH_SECONDS)
      return { policy: policyOf(zone), client, fetchedAt: now, triedAt: now, freshSeconds: fresh }
    } catch (cause) {
      const isBusy = cause instanceof OutboundBusy
      if (!(isBusy || cause instanceof OutboundError || cause instanceof OAuthError)) throw cause
      deps.log.refusal(`the metadata document ${clientId} cannot be used: ${cause.message}`)
      const pauseSeconds = isBusy ? before?.pauseSeconds : pauseAfter(before, now)
      const tried = { pauseSeconds, triedAt: now, freshSeconds: isBusy ? 0 : (pauseSeconds ?? 0) } // then no request was sent
      // Only an unreachable site is tolerated: a changed document counts at once.
      if (isUnreachable(cause) && outlasts(before, zone, now)) {
        return { ...before, ...tried, fetchedAt: fetchTime(before, now) }
      }
      if (isBusy) throw cause
      return { policy: policyOf(zone), isGone: cause instanceof DocumentGone, ...tried, fetchedAt: now }
    }
  }

  async function fetchAndKeep(zone: Zone, clientId: string, before: Cached | undefined): Promise<Cached> {
    const key = keyOf(zone.id, clientId)
    if (known.get(key) !== true) await takeFetch(zone)
    const found = await fetched(zone, clientId, before)
    for (const cache of [usable, failed]) cache.drop(key)
    const cache = found.client ? usable : failed
    cache.set(key, zone.id, found)
    if (found.client) known.set(key, zone.id, true)
    return found
  }

  async function refreshed(zone: Zone, clientId: string): Promise<Client | undefined> {
    const key = keyOf(zone.id, clientId)
    const kept = usable.get(key) ?? failed.peek(key)
    if (kept !== undefined && kept.policy === policyOf(zone) && isWithin(kept.freshSeconds, kept.triedAt, clock.now()))
      return kept.client
    const fetchOnce = (): Promise<Cached> => {
      const work = underWay.get(key) ?? fetchAndKeep(zone, clientId, kept).finally(() => underWay.delete(key))
      underWay.set(key, work)
      return work
    }
    try {
      return (await waiting(zone.id, fetchOnce)).client
    } catch (cause) {
      if (!(cause instanceof OutboundBusy && outlasts(kept, zone, clock.now()))) throw cause
      return kept.client
    }
  }

  return {
    async find(zoneId, clientId) {
      if (documentUrlProblem(clientId) !== undefined) return undefined
      const zone = await store.zones.find(zoneId)
      if (!zone?.active || !supportsProtocol(zone, 'clientMetadataDocuments', behaviour)) return undefined
      return refreshed(zone, clientId)
    },
    isGone: (zoneId, clientId) => failed.peek(keyOf(zoneId, clientId))?.isGone === true,
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
