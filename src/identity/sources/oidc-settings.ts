// The effective settings of an OpenID Connect provider: those of its record, completed from its discovery document.
import { addSeconds } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { OutboundError } from '../../base/outbound.ts'
import type { Outbound, OutboundShare } from '../../base/outbound.ts'
import type { IdentityProvider } from '../../model/identity-provider.ts'
import type { OidcRecord } from './oidc-request.ts'

/** The known settings of a provider; what needs a missing one is not possible. */
export interface OidcSettings {
  readonly issuer?: string
  readonly tokenKey?: string
  readonly tokenKeyUrl?: string
  /** Whether keys are fetched anew as often as is allowed (`cacheJwks: false`). */
  readonly refetchesKeys?: true
  /** The client id of this server at the provider. */
  readonly relyingPartyId?: string
  /** The authorization endpoint. This and the following are read only with `endpoints`. */
  readonly authUrl?: string
  readonly tokenUrl?: string
  readonly userInfoUrl?: string
  /** Whether it can have answers posted (OAuth 2.0 Form Post Response Mode). */
  readonly postsAnswers?: true
  /** `authorization_response_iss_parameter_supported` (RFC 9207 §3). */
  readonly sendsIssuer?: true
  /** `end_session_endpoint` (RP-Initiated Logout §2.1); read only with `logout`. */
  readonly logoutUrl?: string
}

/** Which settings are needed: `keys` to verify signatures, `endpoints` also to redirect users, `logout` to sign them out. */
export type Wanted = 'keys' | 'endpoints' | 'logout'

/** Reads the effective settings of a provider; fetches the discovery document only if a wanted setting is missing. */
export interface OidcSettingsReader {
  /** Waits for the discovery document where one is needed. */
  read(
    provider: IdentityProvider,
    options?: { readonly wanted?: Wanted; readonly purpose?: OutboundShare['purpose'] },
  ): Promise<OidcSettings>
  /** Reads without waiting, from a cached document even if it is stale, and refreshes it; undefined without one. */
  peek(provider: IdentityProvider, wanted?: Wanted): OidcSettings | undefined
}

type Document = Readonly<Record<string, unknown>>

const EMPTY: Document = {}
/** The limit of outbound requests was reached. */
const BUSY: Document = {}
const CACHE_SECONDS = 600
/** Pause after a failure, since every assertion would fetch the document again. */
const FAILURE_CACHE_SECONDS = 30
/** How long a document counts after it could not be fetched again. */
const STALE_SECONDS = 60 * 60
const MAX_DOCUMENTS = 10_000
/** Documents that pages have fetched beside them at a time, for each zone: a page may show a thousand providers. */
const MAX_REFRESHES = 4
const FORM_POST = 'form_post'
/** What is kept of a document. */
const MEMBERS = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'jwks_uri',
  'userinfo_endpoint',
  'end_session_endpoint',
  'response_modes_supported',
  'authorization_response_iss_parameter_supported',
] as const

/** Caches discovery documents for ten minutes; one that cannot be fetched counts as empty. */
export function createOidcSettings(deps: { outbound: Outbound; clock: Clock }): OidcSettingsReader {
  const { outbound, clock } = deps
  const known = new Map<string, { readonly document: Document; readonly until: Date; readonly fetchedAt: Date }>()
  const merged = new WeakMap<
    IdentityProvider,
    Map<Wanted, { readonly document: Document; readonly settings: OidcSettings }>
  >()
  const refreshes = new Map<string, number>()
  const fetching = new Map<string, Promise<Document>>()

  async function load(url: string, share: OutboundShare): Promise<Document> {
    const document = await getDocument(url, share)
    const now = clock.now()
    const before = known.get(url)
    const isStillGood = before !== undefined && addSeconds(before.fetchedAt, STALE_SECONDS) > now
    if (document === BUSY) return isStillGood ? before.document : EMPTY // no request was sent, so nothing is cached
    known.delete(url)
    const [oldest] = known.keys()
    if (known.size >= MAX_DOCUMENTS && oldest !== undefined) known.delete(oldest)
    if (document !== EMPTY) {
      known.set(url, { document, until: addSeconds(now, CACHE_SECONDS), fetchedAt: now })
      return document
    }
    const until = addSeconds(now, FAILURE_CACHE_SECONDS)
    const kept = isStillGood ? { ...before, until } : { document, until, fetchedAt: now }
    known.set(url, kept)
    return kept.document
  }

  /** `merge`, once for each document: a page with a thousand providers would spend milliseconds on it. */
  function settingsOf(provider: IdentityProvider, document: Document, wanted: Wanted): OidcSettings {
    const all = merged.get(provider) ?? new Map()
    merged.set(provider, all)
    const before = all.get(wanted)
    if (before?.document === document) return before.settings
    const settings = merge(provider, document, wanted)
    all.set(wanted, { document, settings })
    return settings
  }

  /** Fetches the document beside a page. */
  function refresh(url: string, zoneId: string): void {
    const count = refreshes.get(zoneId) ?? 0
    if (count >= MAX_REFRESHES || fetching.has(url)) return
    refreshes.set(zoneId, count + 1)
    fetchDocument(url, { zoneId, purpose: 'background' })
      .catch(() => {}) // `read` reports an internal fault
      .finally(() => {
        const left = (refreshes.get(zoneId) ?? 1) - 1
        if (left === 0) refreshes.delete(zoneId)
        else refreshes.set(zoneId, left)
      })
  }

  async function getDocument(url: string, share: OutboundShare): Promise<Document> {
    try {
      const { value } = await outbound.getJson(url, share)
      return typeof value === 'object' && value !== null && !Array.isArray(value) ? essence({ ...value }) : EMPTY
    } catch (error) {
      if (error instanceof OutboundError) return error.failure === 'busy' ? BUSY : EMPTY
      throw error
    }
  }

  function remembered(url: string): { readonly document: Document; readonly isFresh: boolean } | undefined {
    const found = known.get(url)
    return found && { document: found.document, isFresh: found.until > clock.now() }
  }

  function fetchDocument(url: string, share: OutboundShare): Promise<Document> {
    const pending = fetching.get(url) ?? load(url, share).finally(() => fetching.delete(url))
    fetching.set(url, pending)
    return pending
  }

  return {
    async read(provider, { wanted = 'keys', purpose = 'background' } = {}) {
      const url = documentNeeded(provider, wanted)
      if (url === undefined) return settingsOf(provider, EMPTY, wanted)
      const found = remembered(url)
      const { zoneId } = provider
      const document = found?.isFresh ? found.document : await fetchDocument(url, { zoneId, purpose })
      return settingsOf(provider, document, wanted)
    },
    peek(provider, wanted = 'keys') {
      const url = documentNeeded(provider, wanted)
      if (url === undefined) return settingsOf(provider, EMPTY, wanted)
      const found = remembered(url)
      if (!found?.isFresh) refresh(url, provider.zoneId)
      return found && settingsOf(provider, found.document, wanted)
    },
  }
}

/** Characters of an address or an issuer. */
const MAX_TEXT_LENGTH = 1000

/** Only what is used, and nothing that is longer than usual: documents of thousands of providers are kept. */
const essence = (document: Document): Document =>
  Object.fromEntries(MEMBERS.map(name => [name, kept(Object.hasOwn(document, name) ? document[name] : undefined)]))

function kept(value: unknown): unknown {
  if (Array.isArray(value)) return value.includes(FORM_POST) ? [FORM_POST] : []
  return value === true || (typeof value === 'string' && value.length <= MAX_TEXT_LENGTH) ? value : undefined
}

/** The settings in the provider's record. */
const ownSettings = ({ config }: OidcRecord) => ({
  authUrl: text(config.authUrl),
  issuer: text(config.issuer),
  tokenUrl: text(config.tokenUrl),
  tokenKey: text(config.tokenKey),
  tokenKeyUrl: text(config.tokenKeyUrl),
  logoutUrl: text(config.logoutUrl),
})

/** The URL of the discovery document, if the record lacks a wanted setting and has the URL. */
function documentNeeded(provider: IdentityProvider, wanted: Wanted): string | undefined {
  const own = ownSettings(provider)
  const hasKeys = own.issuer !== undefined && (own.tokenKey ?? own.tokenKeyUrl) !== undefined
  const isComplete = {
    keys: hasKeys,
    endpoints: hasKeys && own.authUrl !== undefined && own.tokenUrl !== undefined,
    logout: own.logoutUrl !== undefined,
  }[wanted]
  const { config }: OidcRecord = provider
  return isComplete ? undefined : text(config.discoveryUrl)
}

function merge(provider: IdentityProvider, found: Document, wanted: Wanted): OidcSettings {
  const { config }: OidcRecord = provider
  const own = ownSettings(provider)
  const relyingPartyId = text(config.relyingPartyId)
  const issuer = own.issuer ?? text(found['issuer']) ?? own.tokenUrl ?? text(found['token_endpoint'])
  const tokenKeyUrl = own.tokenKeyUrl ?? text(found['jwks_uri'])
  const authUrl = own.authUrl ?? text(found['authorization_endpoint'])
  const tokenUrl = own.tokenUrl ?? text(found['token_endpoint'])
  const userInfoUrl = text(config.userInfoUrl) ?? text(found['userinfo_endpoint'])
  const modes = found['response_modes_supported']
  const logoutUrl = own.logoutUrl ?? text(found['end_session_endpoint'])
  return {
    ...(wanted === 'endpoints' && {
      ...(authUrl !== undefined && { authUrl }),
      ...(tokenUrl !== undefined && { tokenUrl }),
      ...(userInfoUrl !== undefined && { userInfoUrl }),
      ...(Array.isArray(modes) && modes.includes(FORM_POST) && { postsAnswers: true as const }),
      ...(found['authorization_response_iss_parameter_supported'] === true && { sendsIssuer: true as const }),
    }),
    ...(wanted === 'logout' && logoutUrl !== undefined && { logoutUrl }),
    ...(issuer !== undefined && { issuer }),
    ...(own.tokenKey !== undefined && { tokenKey: own.tokenKey }),
    ...(tokenKeyUrl !== undefined && { tokenKeyUrl }),
    ...(config.cacheJwks === false && { refetchesKeys: true as const }),
    ...(relyingPartyId !== undefined && { relyingPartyId }),
  }
}

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
