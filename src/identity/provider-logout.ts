// Logout at providers and by providers, whatever their protocol.
import { OutboundBusy } from '../base/outbound/error.ts'
import type { Destination } from '../model/sessions/destination.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { AddressedZone } from '../model/request.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'
import type { ProviderSources } from './provider-sources.ts'
import type { ExternalRefusal } from './source.ts'

/** A logout at the provider that follows the one here. */
export interface SignOut {
  readonly zone: AddressedZone
  /** `post_logout_redirect_uri`. */
  readonly returnTo: string
  /** See `UpstreamSession`. */
  readonly hint?: string | undefined
  /** The id of the request, in a protocol whose answers name what they answer. */
  readonly requestId: string
  readonly state?: string | undefined
}

/** What a verified logout token says (OpenID Connect Back-Channel Logout §2.4): of a user, of a session, or of both. */
export interface LogoutNotice {
  /** Its `jti`, which is accepted once. */
  readonly id: string
  /** When the token expires. */
  readonly usableUntil: Date
  /** The user; all of their sessions if there is no `sid`. */
  readonly externalId?: string
  /** The provider's id of the session. */
  readonly sid?: string
}

/** A logout token, read. */
export type LogoutTokenReading = { readonly outcome: 'genuine'; readonly notice: LogoutNotice } | ExternalRefusal

/** A provider's request to log a user out, as a browser brought it (SAML Core §3.7.1). */
export interface LogoutMessage {
  readonly zone: AddressedZone
  /** The decoded document. */
  readonly xml: string
  /** The query as it was sent, which has the signature of the redirect binding; absent for a posted form. */
  readonly query?: string
  /** The absolute URLs of the endpoint that it came to. */
  readonly destinations: readonly string[]
}

/** What a verified request says: of a user, and of these sessions only unless there is none. */
export interface LogoutRequest extends Required<Pick<LogoutNotice, 'id' | 'usableUntil' | 'externalId'>> {
  readonly sids: readonly string[]
  /** By the provider's clock. */
  readonly issuedAt: Date
  /** See `ExternalUser`; absent for a request that names none, which says the same of every format. */
  readonly externalIdFormat?: string
}

/** Answers a request; undefined if the provider takes no answers. */
export type AnswerLogout = (answer: {
  /** Why it was refused, in one word. */
  readonly refused?: string | undefined
  /** The provider's RelayState, which is returned. */
  readonly relayState?: string | undefined
}) => Destination | undefined

/** A request, read; unsigned requests are refused without a response. */
export type LogoutRequestReading =
  | { readonly outcome: 'genuine'; readonly request: LogoutRequest; readonly answer: AnswerLogout }
  | { readonly outcome: 'unusable'; readonly reason: string; readonly detail: string; readonly answer: AnswerLogout }
  | ExternalRefusal

/** None is active under this origin or name, or it does not support logouts. */
export interface NoSuchProvider {
  readonly outcome: 'no-provider'
}

/** Ends sessions at providers, and reads their messages about sessions here. */
export interface ProviderLogout {
  /** The logout at the provider; undefined without one, or while it is unknown. May fetch the document that names it. */
  signOut(origin: string, signOut: SignOut): Promise<Destination | undefined>
  /** Verifies a logout token of the provider. */
  readLogoutToken(zone: Zone, origin: string, token: string): Promise<LogoutTokenReading | NoSuchProvider>
  /** Verifies a request of the provider that it says it is from. */
  readLogoutRequest(
    message: LogoutMessage,
  ): Promise<(LogoutRequestReading & { readonly origin: string }) | NoSuchProvider>
}

/** A part of `createIdentity`, which gives it the providers. */
export function createProviderLogout({
  store,
  open,
  claimedIssuer,
  providersOf,
  isUnchanged,
}: { readonly store: Store } & Pick<
  ProviderSources,
  'open' | 'claimedIssuer' | 'providersOf' | 'isUnchanged'
>): ProviderLogout {
  const activeOf = async (zone: Zone, origin: string): Promise<IdentityProvider | undefined> => {
    const provider = await store.providers.findByOrigin(zone.id, origin)
    return provider?.active === true ? provider : undefined
  }

  return {
    async signOut(origin, signOut) {
      const provider = await activeOf(signOut.zone, origin)
      try {
        return provider && (await (await open(signOut.zone, provider)).signOut?.(signOut))
      } catch (error) {
        if (error instanceof OutboundBusy) return undefined // our session has ended
        throw error
      }
    },
    async readLogoutToken(zone, origin, token) {
      const provider = await activeOf(zone, origin)
      const reading = provider && (await (await open(zone, provider)).readLogoutToken?.(token))
      return reading && (await isUnchanged(provider)) ? reading : { outcome: 'no-provider' }
    },
    async readLogoutRequest(message) {
      const issuer = await claimedIssuer('saml', Buffer.from(message.xml).toString('base64'))
      const claiming = issuer === undefined ? [] : await providersOf(message.zone, 'saml', issuer)
      let refused: Awaited<ReturnType<ProviderLogout['readLogoutRequest']>> = { outcome: 'no-provider' }
      // Where the metadata of several claim one entity id, the signature shows whose request it is.
      for (const { provider, source } of claiming.slice(0, MAX_CLAIMING)) {
        const reading = await source.readLogoutRequest?.(message)
        if (!reading || !(await isUnchanged(provider))) continue
        const read = { ...reading, origin: provider.originKey }
        if (reading.outcome !== 'refused') return read
        refused = read
      }
      return refused
    },
  }
}

/** Providers that a request is compared with. */
const MAX_CLAIMING = 4
