import type { User } from './user.ts'

/** An authorization code at rest (RFC 6749 §4.1.2): everything that its exchange must agree with. */
export interface AuthorizationCode {
  readonly zoneId: string
  readonly codeDigest: string
  readonly clientId: string
  readonly userId: string
  /** The URI as the request named it; absent when the request named none. */
  readonly redirectUri?: string
  readonly scopes: readonly string[]
  readonly codeChallenge?: string
  readonly codeChallengeMethod?: 'S256' | 'plain'
  readonly nonce?: string
  readonly tokenFormat?: TokenFormat
  readonly azAttr?: Readonly<Record<string, string>>
  readonly authenticatedAt: Date
  readonly amr: readonly string[]
  /** The `sid` of the browser session for this client. */
  readonly sessionId?: string
  /** Names everything that this code gives, so that it can be revoked together. */
  readonly grantId: string
  /** `rev_sig` of the tokens that it stands for: what ends them ends it. Absent in codes from before it was kept. */
  readonly revocationSignature?: string
  readonly expiresAt: Date
  /** Until when a used code is remembered: as long as a token that it gave may live, so that its reuse revokes them. */
  readonly keptUntil: Date
}

/** What redeeming a code found; a second redemption finds it `used`. */
export type Redemption =
  /** With the account, if it is still there, and the names of its groups. */
  | { readonly outcome: 'redeemed'; readonly code: AuthorizationCode; readonly user: User | undefined }
  | { readonly outcome: 'used'; readonly code: AuthorizationCode }
  | { readonly outcome: 'unknown' }

/** How long a passcode can be used. */
export const PASSCODE_SECONDS = 300

/** A code that a person takes from one place to another, at rest. */
export interface OneTimeCode {
  readonly zoneId: string
  readonly purpose: 'passcode'
  readonly userId: string
  /** The account's `passwordRevision` when the code was made; absent in codes from before it was kept. */
  readonly passwordRevision?: string
  readonly codeDigest: string
  readonly expiresAt: Date
}

/** How a token is handed out: readable by resource servers, or a random value that only this server can look up. */
export type TokenFormat = 'jwt' | 'opaque'

/** An access or refresh token at rest: the opaque and revocable ones only; a plain JWT has no row. */
export interface StoredToken {
  readonly zoneId: string
  /** Digest of the token's id, which for an opaque token is its value. */
  readonly idDigest: string
  readonly kind: 'access_token' | 'refresh_token'
  readonly format: TokenFormat
  readonly clientId: string
  readonly userId?: string
  readonly grantId?: string
  /** The claims that the token stands for, as a JWT would carry them. */
  readonly claims: Readonly<Record<string, unknown>>
  /** When a rotating refresh token was exchanged; a second use is a theft. */
  readonly usedAt?: Date
  readonly issuedAt: Date
  readonly expiresAt: Date
}
