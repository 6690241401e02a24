// The effective settings of an OpenID Connect provider: those of its record, completed from its discovery document.
import type { Clock } from '../../../base/clock.ts'
import { OutboundError } from '../../../base/outbound.ts'
import type { Outbound, OutboundShare } from '../../../base/outbound.ts'
import type { IdentityProvider } from '../../../model/zones/identity-provider.ts'
import { createDocuments } from '../documents.ts'
import type { Fetched, Source } from '../documents.ts'
import { stringOf } from './request.ts'
import type { OidcRecord } from './request.ts'

/** The known settings of a provider; what needs a missing one is not possible. */
export interface OidcSettings {
  readonly issuer?: string
  readonly tokenKey?: string
  readonly tokenKeyUrl?: string
  /** Whether keys are fetched again as often as is allowed (`cacheJwks: false`). */
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
export type SettingsPurpose = 'keys' | 'endpoints' | 'logout'

/** Reads the effective settings of a provider; fetches the discovery document only if a wanted setting is missing. */
export interface OidcSettingsReader {
  /** Waits for the discovery document where one is needed. */
  read(
    provider: IdentityProvider,
    options?: { readonly wanted?: SettingsPurpose; readonly purpose?: OutboundShare['purpose'] },
  ): Promise<OidcSettings>
  /** Reads without waiting, from a cached document even if it is stale, and refreshes it; undefined without one. */
  peek(provider: IdentityProvider, wanted?: SettingsPurpose): OidcSettings | undefined
}

type Document = Readonly<Record<string, unknown>>

const EMPTY: Document = {}
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
  const { outbound } = deps
  const documents = createDocuments<Document>(deps)
  const merged = new WeakMap<
    IdentityProvider,
    Map<SettingsPurpose, { readonly document: Document; readonly settings: OidcSettings }>
  >()

  /** `merge`, once for each document: a page with a thousand providers would spend milliseconds on it. */
  function settingsOf(provider: IdentityProvider, document: Document, wanted: SettingsPurpose): OidcSettings {
    const all = merged.get(provider) ?? new Map()
    merged.set(provider, all)
    const before = all.get(wanted)
    if (before?.document === document) return before.settings
    const settings = merge(provider, document, wanted)
    all.set(wanted, { document, settings })
    return settings
  }

  async function getDocument(url: string, share: OutboundShare): Promise<Fetched<Document>> {
    try {
      const { value } = await outbound.getJson(url, share)
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
      return isObject ? { outcome: 'fetched', document: essence({ ...value }) } : { outcome: 'failed' }
    } catch (error) {
      if (error instanceof OutboundError) return { outcome: error.failure === 'paused' ? 'paused' : 'failed' }
      throw error
    }
  }

  const sourceOf = ({ zoneId }: IdentityProvider, url: string): Source<Document> => ({
    // By zone: administrators can use up what their zone has for requests, so that they fail.
    key: JSON.stringify([zoneId, url]),
    zoneId,
    get: share => getDocument(url, share),
  })

  return {
    async read(provider, { wanted = 'keys', purpose = 'background' } = {}) {
      const url = documentNeeded(provider, wanted)
      const document = url === undefined ? EMPTY : await documents.read(sourceOf(provider, url), purpose)
      return settingsOf(provider, document ?? EMPTY, wanted)
    },
    peek(provider, wanted = 'keys') {
      const url = documentNeeded(provider, wanted)
      if (url === undefined) return settingsOf(provider, EMPTY, wanted)
      const cached = documents.peek(sourceOf(provider, url))
      return cached && settingsOf(provider, cached.document ?? EMPTY, wanted)
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
  authUrl: stringOf(config.authUrl),
  issuer: stringOf(config.issuer),
  tokenUrl: stringOf(config.tokenUrl),
  tokenKey: stringOf(config.tokenKey),
  tokenKeyUrl: stringOf(config.tokenKeyUrl),
  logoutUrl: stringOf(config.logoutUrl),
})

/** The URL of the discovery document, if the record lacks a wanted setting and has the URL. */
function documentNeeded(provider: IdentityProvider, wanted: SettingsPurpose): string | undefined {
  const own = ownSettings(provider)
  const hasKeys = own.issuer !== undefined && (own.tokenKey ?? own.tokenKeyUrl) !== undefined
  const isComplete = {
    keys: hasKeys,
    endpoints: hasKeys && own.authUrl !== undefined && own.tokenUrl !== undefined,
    logout: own.logoutUrl !== undefined,
  }[wanted]
  const { config }: OidcRecord = provider
  return isComplete ? undefined : stringOf(config.discoveryUrl)
}

function merge(provider: IdentityProvider, found: Document, wanted: SettingsPurpose): OidcSettings {
  const { config }: OidcRecord = provider
  const own = ownSettings(provider)
  const relyingPartyId = stringOf(config.relyingPartyId)
  const issuer = own.issuer ?? stringOf(found['issuer']) ?? own.tokenUrl ?? stringOf(found['token_endpoint'])
  const tokenKeyUrl = own.tokenKeyUrl ?? stringOf(found['jwks_uri'])
  const authUrl = own.authUrl ?? stringOf(found['authorization_endpoint'])
  const tokenUrl = own.tokenUrl ?? stringOf(found['token_endpoint'])
  const userInfoUrl = stringOf(config.userInfoUrl) ?? stringOf(found['userinfo_endpoint'])
  const modes = found['response_modes_supported']
  const logoutUrl = own.logoutUrl ?? stringOf(found['end_session_endpoint'])
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
