import type { Client } from './client.ts'
import type { GrantedScopes } from './scopes.ts'
import type { TokenFormat } from './token.ts'
import type { User } from './user.ts'
import type { AddressedZone } from './request.ts'

/** Whom the tokens speak for. */
export type Subject =
  | { readonly kind: 'client' }
  | {
      readonly kind: 'user'
      readonly user: User
      /** Absent when no sign-in stands behind the grant (a passcode). */
      readonly authenticatedAt?: Date
      /** RFC 8176. */
      readonly amr: readonly string[]
      /** The `sid` of the browser session for this client. */
      readonly sessionId?: string
    }

/** The kinds of token that a grant may lead to. */
export type TokenKind = 'access_token' | 'refresh_token' | 'id_token'

/** What a grant concludes: everything the issuer needs, and nothing it could decide differently. */
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
  /** Attributes that the request gave along (`{"az_attr":{…}}`), for the claim of that name. */
  readonly azAttr?: Readonly<Record<string, string>> | undefined
  /** Stores the access token even where the zone does not ask for it, so that it can be revoked by itself. */
  readonly revocable?: boolean
  /** The authorization code issued alongside; its hash is in the ID token (`c_hash`). */
  readonly code?: string
  /** Names everything issued from one act of granting. */
  readonly grantId?: string
  /** `none` or `private_key_jwt`; absent for a real secret. */
  readonly clientAuthMethod?: string | undefined
  /** The refresh token that this refresh keeps or replaces. */
  readonly refreshed?: RefreshedFrom
}

/** What a refresh carries over from the refresh token it was given. */
export interface RefreshedFrom {
  /** The value to hand back, when it is not rotated. */
  readonly value: string
  readonly rotate: boolean
  /** All scopes of the refresh token, of which the new access token may have fewer. */
  readonly grantedScopes: readonly string[]
  readonly issuedAt: Date
  readonly expiresAt: Date
}
