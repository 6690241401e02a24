// The settings of an OpenID Connect provider as they hold: what its record says, and for the rest its own discovery
// document.
import { addSeconds } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { OutboundError } from '../../base/outbound.ts'
import type { Outbound, OutboundShare } from '../../base/outbound.ts'
import type { IdentityProvider } from '../../model/identity-provider.ts'

/** The addresses and names of a provider that are known; a missing one makes what needs it impossible. */
export interface OidcSettings {
  readonly issuer?: string
  readonly tokenKey?: string
  readonly tokenKeyUrl?: string
  /** What this server is called there. */
  readonly relyingPartyId?: string
  /** Where people are sent; told with `endpoints` only, like all that follows. */
  readonly authUrl?: string
  readonly tokenUrl?: string
  /** Set when the provider says that it names itself in every answer (RFC 9207 §3). */
  readonly namesItself?: true
}

/** What is wanted of a provider: `keys` to verify what it signed, `endpoints` to send people there as well. */
export type Wanted = 'keys' | 'endpoints'

/** Reads the settings that hold for a provider; of what is not wanted nothing is fetched or told. */
export interface OidcSettingsReader {
  /** Waits for the discovery document where one is needed. */
  read(
    provider: IdentityProvider,
    options?: { readonly wanted?: Wanted; readonly purpose?: OutboundShare['purpose'] },
  ): Promise<OidcSettings>
  /** What is known now, of a document that is out of date too; undefined when it was never asked for. It is, beside this. */
  peek(provider: IdentityProvider, wanted?: Wanted): OidcSettings | undefined
}

type Document = Readonly<Record<string, unknown>>

const NOTHING: Document = {}
/** No place to ask was left. */
const BUSY: Document = {}
const GOOD_SECONDS = 600
/** A provider that does not answer is left alone for a while: every assertion asks for it. */
const BAD_SECONDS = 30
const MAX_DOCUMENTS = 1000

/** Reads settings; a discovery document is remembered for ten minutes, and one that cannot be had counts as empty. */
export function createOidcSettings(deps: { outbound: Outbound; clock: Clock }): OidcSettingsReader {
  const { outbound, clock } = deps
  const known = new Map<string, { readonly document: Document; readonly until: Date }>()
  const fetching = new Map<string, Promise<Document>>()

  async function load(url: string, share: OutboundShare): Promise<Document> {
    const document = await getDocument(url, share)
    if (document === BUSY) return NOTHING // nobody was asked: nothing is known of it
    if (known.size >= MAX_DOCUMENTS) known.clear()
    known.set(url, { document, until: addSeconds(clock.now(), document === NOTHING ? BAD_SECONDS : GOOD_SECONDS) })
    return document
  }

  async function getDocument(url: string, share: OutboundShare): Promise<Document> {
    try {
      const { value } = await outbound.getJson(url, share)
      return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : NOTHING
    } catch (error) {
      // The provider is not known then, which is what is told.
      if (error instanceof OutboundError) return error.failure === 'busy' ? BUSY : NOTHING
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
      if (url === undefined) return merge(provider, NOTHING, wanted)
      const found = remembered(url)
      const { zoneId } = provider
      const document = found?.isFresh ? found.document : await fetchDocument(url, { zoneId, purpose })
      return merge(provider, document, wanted)
    },
    peek(provider, wanted = 'keys') {
      const url = documentNeeded(provider, wanted)
      if (url === undefined) return merge(provider, NOTHING, wanted)
      const found = remembered(url)
      const { zoneId } = provider
      // A fault in it meets whoever waits for the document.
      if (!found?.isFresh) fetchDocument(url, { zoneId, purpose: 'background' }).catch(() => {})
      return found && merge(provider, found.document, wanted)
    },
  }
}

/** The addresses and names that a record says itself. */
const ownSettings = ({ config }: IdentityProvider) => ({
  authUrl: text(config['authUrl']),
  issuer: text(config['issuer']),
  tokenUrl: text(config['tokenUrl']),
  tokenKey: text(config['tokenKey']),
  tokenKeyUrl: text(config['tokenKeyUrl']),
})

/** Where the document is that says what the record leaves out; undefined where nothing is, or there is none. */
function documentNeeded(provider: IdentityProvider, wanted: Wanted): string | undefined {
  const own = ownSettings(provider)
  const hasKeys = own.issuer !== undefined && (own.tokenKey ?? own.tokenKeyUrl) !== undefined
  const isComplete = hasKeys && (wanted === 'keys' || (own.authUrl !== undefined && own.tokenUrl !== undefined))
  return isComplete ? undefined : text(provider.config['discoveryUrl'])
}

function merge(provider: IdentityProvider, found: Document, wanted: Wanted): OidcSettings {
  const { config } = provider
  const own = ownSettings(provider)
  const relyingPartyId = text(config['relyingPartyId'])
  const issuer = own.issuer ?? text(found['issuer']) ?? own.tokenUrl ?? text(found['token_endpoint'])
  const tokenKeyUrl = own.tokenKeyUrl ?? text(found['jwks_uri'])
  const authUrl = own.authUrl ?? text(found['authorization_endpoint'])
  const tokenUrl = own.tokenUrl ?? text(found['token_endpoint'])
  return {
    ...(wanted === 'endpoints' && {
      ...(authUrl !== undefined && { authUrl }),
      ...(tokenUrl !== undefined && { tokenUrl }),
      ...(found['authorization_response_iss_parameter_supported'] === true && { namesItself: true as const }),
    }),
    ...(issuer !== undefined && { issuer }),
    ...(own.tokenKey !== undefined && { tokenKey: own.tokenKey }),
    ...(tokenKeyUrl !== undefined && { tokenKeyUrl }),
    ...(relyingPartyId !== undefined && { relyingPartyId }),
  }
}

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
