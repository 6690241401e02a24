import type { Client } from '../clients/client.ts'
import type { Confirmation } from './confirmation.ts'
import type { GrantedScopes } from './scopes.ts'
import type { TokenFormat } from './token.ts'
import type { User } from '../users/user.ts'
import type { AddressedZone } from '../request.ts'

/** The subject of the tokens. */
type Subject =
  | { readonly kind: 'client' }
  | {
      readonly kind: 'user'
      readonly user: User
      /** Absent if the grant does not record a sign-in (a passcode). */
      readonly authenticatedAt?: Date
      /** RFC 8176. */
      readonly amr: readonly string[]
      /** Authentication context classes, if the provider sent any. */
      readonly acr?: readonly string[] | undefined
      /** The `sid` of the browser session for this client. */
      readonly sessionId?: string
    }

/** The kinds of token that a grant may yield. */
export type TokenKind = 'access_token' | 'refresh_token' | 'id_token'

/** The decision of a grant, from which the issuer issues tokens without further decisions. */
export interface Authorization {
  readonly zone: AddressedZone
  readonly client: Client
  /** The original grant, kept through every refresh. */
  readonly grantType: string
  readonly subject: Subject
  readonly scopes: GrantedScopes
  readonly tokens: readonly TokenKind[]
  readonly format?: TokenFormat | undefined
  readonly nonce?: string
  /** Attributes of the request (`{"az_attr":{…}}`) for the claim of that name. */
  readonly azAttr?: Readonly<Record<string, string>> | undefined
  /** Stores the access token, so that it can be revoked, even if the zone does not require it. */
  readonly revocable?: boolean
  /** The authorization code issued alongside; its hash is in the ID token (`c_hash`). */
  readonly code?: string
  /** The `state` of the authorization response that the tokens are in; its hash is in the ID token (`s_hash`). */
  readonly state?: string
  /** Identifies all tokens issued from one grant. */
  readonly grantId?: string
  /** How the client authenticated; absent for a non-empty secret. */
  readonly clientAuthMethod?: string | undefined
  /** What the access token is bound to, and the refresh token of a client without credential (RFC 9449 §5, RFC 8705 §4). */
  readonly confirmation?: Confirmation | undefined
  /** The audience of the access token, where the request named resources (RFC 8707 §2.2). */
  readonly resources?: readonly string[] | undefined
  /** The resources that the refresh token may be used for; `resources` unless given. */
  readonly grantedResources?: readonly string[] | undefined
  /** The actor for the subject: the claim `act` (RFC 8693 §4.1). */
  readonly actor?: Readonly<Record<string, unknown>> | undefined
  /** The clients that an exchanged token came through, with the `rev_sig` of their tokens: what ends those ends it. */
  readonly exchangedFrom?: Readonly<Record<string, unknown>> | undefined
  /** The client of the first token, if the user had to approve its scopes: the exchanged token needs that, too. */
  readonly approvedClient?: string | undefined
  /** The kind of token that an exchange gives (RFC 8693 §2.2.1). */
  readonly issuedTokenType?: string | undefined
  /** When the access token expires at the latest. */
  readonly expiresBefore?: Date | undefined
  /** The refresh token that this refresh keeps or rotates. */
  readonly refreshed?: RefreshedFrom
}

/** Values that a refresh takes from the refresh token. */
interface RefreshedFrom {
  /** The value to return if it is not rotated. */
  readonly value: string
  readonly rotate: boolean
  /** All scopes of the refresh token, of which the new access token may have fewer. */
  readonly grantedScopes: readonly string[]
  readonly issuedAt: Date
  readonly expiresAt: Date
}
