// Single logout (SAML Core §3.7): sends logout requests to providers, and reads and answers theirs.
import type { KeyObject } from 'node:crypto'
import { addSeconds, stopwatch } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import { pauseToMultipleOf } from '../../base/concurrency/pause.ts'
import type { Random } from '../../base/random.ts'
import type { Destination } from '../../model/sessions/destination.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import type { AnswerLogout, LogoutMessage, LogoutRequest, LogoutRequestReading, SignOut } from '../provider-logout.ts'
import { createDecryption, DECRYPTION_REFUSAL_MS } from './encryption.ts'
import { logoutRequest, logoutResponse, UNSPECIFIED } from './messages.ts'
import type { LogoutName } from './messages.ts'
import { asProblem, mismatchText, resultOrProblem, SamlProblem, timeAndNow } from './problem.ts'
import type { Endpoints, SamlProvider } from './provider-metadata.ts'
import type { SamlProviders } from './providers.ts'
import { checkRedirectSignature, readDeflated } from './redirect-signature.ts'
import type { ServiceProvider, ServiceProviders } from './service-provider.ts'
import { verifiedText } from './signed-xml.ts'
import { postTo, redirectTo } from './signing.ts'
import type { OutgoingMessage } from './signing.ts'
import { checkIssuer, instantOf, isUsableId, MAX_ID_LENGTH, nameIdOf, SKEW_SECONDS } from './statement.ts'
import type { SamlNameId } from './statement.ts'
import { childrenNamed, decodeXml, isNamed, NAMESPACES, parseXml } from './xml.ts'
import type { XmlElement } from './xml.ts'

const { protocol: PROTOCOL } = NAMESPACES

/** How long a request of ours may take to arrive. */
const REQUEST_SECONDS = 300
const ID_LENGTH = 43
/** Users have one or two sessions at a provider. */
const MAX_SESSIONS = 100

/** What a session keeps for its logout (`UpstreamSession.logoutHint`), as JSON. */
interface LogoutHint {
  readonly nameId: LogoutName
  readonly sessionIndex?: string | undefined
}

/** Dependencies of `createSamlLogout`. */
interface SamlLogoutDeps {
  readonly providers: SamlProviders
  readonly serviceProviders: ServiceProviders
  readonly clock: Clock
  readonly random: Random
}

/** Single logout with the providers of all zones, in both directions. */
export interface SamlLogout {
  /**
   * A signed request to log the user out there; undefined if the provider takes none or is not known now, and if the
   * session names no user.
   */
  request(record: IdentityProvider, signOut: SignOut): Promise<Destination | undefined>
  read(record: IdentityProvider, message: LogoutMessage): Promise<LogoutRequestReading>
}

interface Endpoint {
  readonly binding: keyof Endpoints
  readonly url: string
}

/** See `SamlLogout`. */
export function createSamlLogout({ providers, serviceProviders, clock, random }: SamlLogoutDeps): SamlLogout {
  const answerBy =
    (endpoint: Endpoint | undefined, own: ServiceProvider, inResponseTo: string): AnswerLogout =>
    ({ refused, relayState }) => {
      if (!endpoint) return undefined
      const xml = logoutResponse({
        id: `_${random.urlSafe(ID_LENGTH)}`,
        issuedAt: clock.now(),
        destination: endpoint.url,
        issuer: own.entityId,
        inResponseTo,
        status: refused === undefined ? 'Success' : 'Requester',
        message: refused,
      })
      return sentTo(endpoint, { kind: 'SAMLResponse', xml, relayState, key: own.active })
    }

  /** Also tries keys that the provider has published since. */
  async function verified(record: IdentityProvider, message: LogoutMessage): Promise<Verified> {
    const provider = await providers.read(record, 'background')
    const request = resultOrProblem(() => verifiedRequest(message, provider))
    if (!(request instanceof SamlProblem)) return request
    const renewed = request.reason === 'bad-signature' ? await providers.renew(record) : undefined
    if (!renewed) throw request
    return verifiedRequest(message, renewed)
  }

  return {
    async request(record, { zone, hint, requestId, returnTo }) {
      const named = hint === undefined ? undefined : (parseJson(hint) as LogoutHint | undefined) // sealed by us
      if (!named) return undefined
      const provider = await providers.read(record, 'background').catch(asProblem)
      const { logout } = provider instanceof SamlProblem ? {} : provider
      const endpoint = logout && endpointIn(logout, logout.preferred)
      if (!endpoint) return undefined
      const own = await serviceProviders.of(zone)
      const issuedAt = clock.now()
      const xml = logoutRequest({
        id: requestId,
        issuedAt,
        notOnOrAfter: addSeconds(issuedAt, REQUEST_SECONDS),
        destination: endpoint.url,
        issuer: own.entityId,
        name: named.nameId,
        sessionIndex: named.sessionIndex,
      })
      return sentTo(endpoint, { kind: 'SAMLRequest', xml, relayState: relayStateOf(returnTo), key: own.active })
    },
    async read(record, message) {
      const elapsed = stopwatch()
      const own = await serviceProviders.of(message.zone)
      const found = await verified(record, message).catch(asProblem)
      if (found instanceof SamlProblem) {
        const description = 'The logout request could not be verified.'
        const { reason: audit } = found
        return { outcome: 'refused', reason: 'untrusted', description, detail: `${audit}: ${found.message}`, audit }
      }
      const { root, id, provider } = found
      const binding = message.query === undefined ? 'post' : 'redirect'
      const answer = answerBy(provider.logout && endpointIn(provider.logout.responses, binding), own, id)
      const { destinations } = message
      const request = resultOrProblem(() => requestIn(root, { id, destinations, provider, own, now: clock.now() }))
      if (!(request instanceof SamlProblem)) return { outcome: 'genuine', request, answer }
      if (request.reason === 'decryption') await pauseToMultipleOf(DECRYPTION_REFUSAL_MS, elapsed())
      return { outcome: 'unusable', reason: request.reason, detail: request.message, answer }
    },
  }
}

interface Verified {
  readonly root: XmlElement
  readonly id: string
  readonly provider: SamlProvider
}

/** The provider's request; throws `SamlProblem` for a message that is none, or that it did not sign. */
function verifiedRequest({ xml, query }: LogoutMessage, provider: SamlProvider): Verified {
  const { entityId, signingKeys } = provider
  if (query !== undefined) checkRedirectSignature(query, 'SAMLRequest', signingKeys)
  const root = parseXml(query === undefined ? verifiedText(xml, signingKeys) : xml)
  const { ID: id, Version: version } = root.attributes
  if (!isNamed(root, 'LogoutRequest', PROTOCOL) || version !== '2.0' || !isUsableId(id)) {
    throw new SamlProblem('not-xml', 'it is not a LogoutRequest')
  }
  checkIssuer(root, entityId)
  return { root, id, provider }
}

interface ReadRequest extends Pick<LogoutMessage, 'destinations'> {
  readonly id: string
  readonly provider: SamlProvider
  readonly own: ServiceProvider
  readonly now: Date
}

/** What the request asks for; throws `SamlProblem` for one that is not for us, not of now, or without a user. */
function requestIn(root: XmlElement, { id, destinations, provider, own, now }: ReadRequest): LogoutRequest {
  const { Destination: destination } = root.attributes
  // Required of a signed message (SAML Bindings §3.4.5.2, §3.5.5.2).
  if (destination === undefined || !destinations.includes(destination)) {
    throw new SamlProblem('destination', `it is for ${mismatchText(destination, destinations.join(' '))}`)
  }
  const [issuedAt, end] = [instantOf(root, 'IssueInstant'), instantOf(root, 'NotOnOrAfter')]
  if (!issuedAt) throw new SamlProblem('expired', 'it does not say when it was issued')
  const issued = `it was issued at ${timeAndNow(issuedAt, now)}`
  if (issuedAt < addSeconds(now, -SKEW_SECONDS)) throw new SamlProblem('expired', issued)
  if (issuedAt > addSeconds(now, SKEW_SECONDS)) throw new SamlProblem('not-yet-valid', issued)
  if (end && end <= addSeconds(now, -SKEW_SECONDS)) {
    throw new SamlProblem('expired', `it was valid until ${timeAndNow(end, now)}`)
  }
  const { value: externalId, format = UNSPECIFIED } = nameIn(root, { provider, own })
  const sids = childrenNamed(root, 'SessionIndex', PROTOCOL).map(({ text }) => text)
  if (sids.length > MAX_SESSIONS || !sids.every(isUsableId))
    throw new SamlProblem('subject', 'its session indexes are invalid')
  return {
    id,
    issuedAt,
    usableUntil: addSeconds(now, 2 * SKEW_SECONDS + 1),
    externalId,
    ...(format !== UNSPECIFIED && { externalIdFormat: format }),
    sids: [...new Set(sids)],
  }
}

/** The user, as at the sign-in (`externalUserOf`). */
function nameIn(root: XmlElement, { provider, own }: Pick<ReadRequest, 'provider' | 'own'>): SamlNameId {
  const name = nameIdOf(createDecryption(keysOf(own))(root, 'EncryptedID', []))
  const { nameQualifier = provider.entityId, spNameQualifier = own.entityId } = name
  if (nameQualifier !== provider.entityId || spNameQualifier !== own.entityId) {
    throw new SamlProblem('name-id', 'the NameID belongs to another name space')
  }
  return name
}

const keysOf = ({ active, others }: ServiceProvider): readonly KeyObject[] =>
  [active, ...others].map(({ privateKey }) => privateKey)

/** The document of a message; undefined if it is none. */
export function documentIn(value: string, { isDeflated }: { readonly isDeflated: boolean }): string | undefined {
  const text = resultOrProblem(() => (isDeflated ? readDeflated(value) : decodeXml(value)))
  return text instanceof SamlProblem ? undefined : text
}

/**
 * The id of the request that a response answers, empty if it does not say; undefined if it is none. Reads nothing else, and
 * needs no signature: our session has ended in any case, and the id only selects where this browser
 * was to go.
 */
export function requestAnsweredBy(xml: string): string | undefined {
  const root = resultOrProblem(() => parseXml(xml))
  if (root instanceof SamlProblem || !isNamed(root, 'LogoutResponse', PROTOCOL)) return undefined
  const { InResponseTo: id = '' } = root.attributes
  return id.length > MAX_ID_LENGTH ? '' : id
}

/** The endpoint of this binding, else of the other one. */
function endpointIn(endpoints: Endpoints, first: keyof Endpoints = 'redirect'): Endpoint | undefined {
  const bindings = first === 'redirect' ? (['redirect', 'post'] as const) : (['post', 'redirect'] as const)
  for (const binding of bindings) {
    const url = endpoints[binding]
    if (url !== undefined) return { binding, url }
  }
  return undefined
}

const sentTo = ({ binding, url }: Endpoint, message: OutgoingMessage): Destination =>
  binding === 'redirect' ? redirectTo(url, message) : postTo(url, message)

/** UAA: the parameters of the logout, which are checked again at the return (row L7). */
function relayStateOf(returnTo: string): string | undefined {
  const { searchParams } = new URL(returnTo)
  return searchParams.size === 0 ? undefined : JSON.stringify(Object.fromEntries(searchParams))
}
