// Reads the metadata of an identity provider: the keys that verify its signatures, and its endpoints. Used both to validate
// records and at every sign-in.
import { X509Certificate } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { isWithinRsaLimits } from '../../base/certificates/rsa-limits.ts'
import { readSamlMetadata } from '../../providers/saml-metadata.ts'
import type { SamlEndpoint, SamlEntity } from '../../providers/saml-metadata.ts'
import { SamlProblem } from './problem.ts'

/** A provider that users can be sent to, and whose messages can be verified. */
export interface SamlProvider {
  readonly entityId: string
  /** At least one; any of them signs. */
  readonly signingKeys: readonly KeyObject[]
  /** Without an address where the provider has none with a binding that we support; it can sign bearer assertions then. */
  readonly signOn: Endpoints & { readonly preferred?: keyof Endpoints }
  readonly logout?: Endpoints & {
    readonly preferred?: keyof Endpoints
    /** Where answers to its logout requests go. */
    readonly responses: Endpoints
  }
  readonly wantsSignedRequests: boolean
  /** When it expires. */
  readonly validUntil?: Date
  readonly cacheSeconds?: number
}

/** Absolute http(s) URLs, by binding. */
export interface Endpoints {
  readonly redirect?: string
  readonly post?: string
}

/** Reads metadata; throws a `SamlProblem` whose message is for the author of the record. */
export function readProviderMetadata(text: string, now: Date): SamlProvider {
  const metadata = readSamlMetadata(text)
  if (metadata.outcome === 'unreadable') throw unusable(metadata.problem)
  const { entityId, provider } = metadata
  if (!provider) throw unusable('it has no SAML 2.0 identity provider (IDPSSODescriptor)')
  const validUntil = earliest(metadata)
  if (validUntil && validUntil <= now) throw unusable('it is no longer valid (validUntil)')
  const signingKeys = keysOf(provider.signing)
  if (signingKeys.length === 0) throw unusable('it has no certificate with a key that can verify signatures')
  const signOn = endpointsIn(provider.signOn)
  const logout = endpointsIn(provider.logout)
  const cacheSeconds = shortest(metadata)
  return {
    entityId,
    signingKeys,
    signOn,
    ...(logout.preferred && { logout: { ...logout, responses: responsesIn(provider.logout) } }),
    wantsSignedRequests: provider.wantsSignedRequests,
    ...(validUntil && { validUntil }),
    ...(cacheSeconds !== undefined && { cacheSeconds }),
  }
}

const unusable = (detail: string): SamlProblem => new SamlProblem('metadata', detail)

/** Enough for any rollover; a signature by an unknown key is tried with every key. */
const MAX_KEYS = 10

/**
 * Keys that verify signatures. Leaves out what cannot: their provider may have it for others. The dates of certificates do
 * not count, because metadata alone says which keys are good (SAML V2.0 Metadata Interoperability Profile §2.6.1).
 */
function keysOf(descriptors: readonly (readonly string[])[]): readonly KeyObject[] {
  const certified = descriptors.flatMap(texts => {
    const all = texts.flatMap(text => certificateIn(text) ?? [])
    // A chain may follow the provider's own certificate: what an authority signs is not the provider's.
    return all.filter(each => !all.some(other => isIssuerOf(each, other)))
  })
  return strongKeys(
    certified.map(({ publicKey }) => publicKey),
    'it',
  )
}

/** The keys that may verify signatures, each once; throws a `SamlProblem` above the limit on signing keys. */
export function strongKeys(all: readonly KeyObject[], holder: string): readonly KeyObject[] {
  const keys = new Map(
    all.filter(isStrong).map(key => [key.export({ type: 'spki', format: 'der' }).toString('base64'), key]),
  )
  if (keys.size > MAX_KEYS) throw unusable(`${holder} has more than ${MAX_KEYS} signing keys`)
  return [...keys.values()]
}

interface Certificate {
  readonly x509: X509Certificate
  readonly publicKey: KeyObject
}

const isIssuerOf = ({ x509 }: Certificate, { x509: other }: Certificate): boolean =>
  other.subject !== other.issuer && other.checkIssued(x509)

/** DER in base64, with white space in between. */
function certificateIn(text: string): Certificate | undefined {
  const base64 = text.replace(/\s+/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return undefined
  try {
    const x509 = new X509Certificate(Buffer.from(base64, 'base64'))
    return { x509, publicKey: x509.publicKey }
  } catch {
    return undefined // OpenSSL's reasons differ by version
  }
}

const CURVES = new Set(['prime256v1', 'secp384r1', 'secp521r1'])

/** Whether a signature of the key proves something, and takes little time to verify. */
function isStrong(key: KeyObject): boolean {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  if (type === 'ec') return CURVES.has(details?.namedCurve ?? '')
  return type === 'rsa' && isWithinRsaLimits(key)
}

const BINDINGS: Readonly<Record<string, keyof Endpoints>> = {
  'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect': 'redirect',
  'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST': 'post',
}

const bindingOf = ({ binding }: SamlEndpoint): keyof Endpoints | undefined =>
  Object.hasOwn(BINDINGS, binding) ? BINDINGS[binding] : undefined

/** The first of each binding that we support; preferred is what stands first, as in UAA. */
function endpointsIn(endpoints: readonly SamlEndpoint[]): Endpoints & { readonly preferred?: keyof Endpoints } {
  const usable = endpoints.flatMap(endpoint => {
    const binding = bindingOf(endpoint)
    return binding && isWebAddress(endpoint.location) ? [{ binding, location: endpoint.location }] : []
  })
  const [first] = usable
  return { ...byBinding(usable), ...(first && { preferred: first.binding }) }
}

const responsesIn = (endpoints: readonly SamlEndpoint[]): Endpoints =>
  byBinding(
    endpoints.flatMap(endpoint => {
      const binding = bindingOf(endpoint)
      const location = endpoint.responseLocation ?? endpoint.location
      return binding && isWebAddress(location) ? [{ binding, location }] : []
    }),
  )

const byBinding = (usable: readonly { readonly binding: keyof Endpoints; readonly location: string }[]): Endpoints =>
  Object.fromEntries(usable.toReversed().map(({ binding, location }) => [binding, location]))

const MAX_ADDRESS_LENGTH = 2000

/** An absolute http(s) URL as a header and a form can carry it, without credentials; a fragment would swallow the message. */
function isWebAddress(text: string): boolean {
  if (text.length > MAX_ADDRESS_LENGTH || !/^https?:\/\/[\w!$%&'()*+,./:;=?@[\]~-]+$/i.test(text)) return false
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && url.username === '' && url.password === ''
}

/** The first of all limits; one that cannot be read has passed. */
function earliest({ validUntil = [] }: SamlEntity): Date | undefined {
  const times = validUntil.map(text => {
    const value = text.trim()
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?$/.test(value)) return 0
    const time = Date.parse(/[Z+]|-\d\d:\d\d$/.test(value.slice(10)) ? value : `${value}Z`)
    return Number.isNaN(time) ? 0 : time
  })
  return times.length === 0 ? undefined : new Date(Math.min(...times))
}

/** Seconds; of a duration in months or years, or one that cannot be read, nothing. */
function shortest({ cacheDuration = [] }: SamlEntity): number | undefined {
  const seconds = cacheDuration.flatMap(text => {
    const parts = /^P(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,9})(?:\.\d+)?S)?)?$/.exec(text.trim())
    if (!parts || !/\d/.test(text)) return []
    const [days = 0, hours = 0, minutes = 0, rest = 0] = parts.slice(1).map(part => Number(part ?? 0))
    return [((days * 24 + hours) * 60 + minutes) * 60 + rest]
  })
  return seconds.length === 0 ? undefined : Math.min(...seconds)
}
