import type { User } from '../users/user.ts'

/** A stored authorization code (RFC 6749 §4.1.2), with everything that its exchange must match. */
export interface AuthorizationCode {
  readonly zoneId: string
  readonly codeDigest: string
  readonly clientId: string
  readonly userId: string
  /** The `redirect_uri` of the request, if any. */
  readonly redirectUri?: string
  readonly scopes: readonly string[]
  readonly codeChallenge?: string
  readonly codeChallengeMethod?: 'S256' | 'plain'
  readonly nonce?: string
  readonly tokenFormat?: TokenFormat
  readonly azAttr?: Readonly<Record<string, string>>
  /** Absent if it was requested with a token that does not say when its user signed in. */
  readonly authenticatedAt?: Date
  readonly amr: readonly string[]
  readonly acr?: readonly string[] | undefined
  /** The `sid` of the browser session for this client. */
  readonly sessionId?: string
  /** Identifies all tokens issued from this code, so that they can be revoked together. */
  readonly grantId: string
  /** Thumbprint of the key that must redeem it (RFC 9449 §10). */
  readonly jkt?: string
  /** The resources that its tokens may be for (RFC 8707 §2). */
  readonly resources?: readonly string[]
  /** `rev_sig`, as in tokens: what invalidates them invalidates the code. Absent in older codes. */
  readonly revocationSignature?: string
  readonly expiresAt: Date
  /** Until when a used code is kept: as long as its tokens may live, so that its reuse revokes them. */
  readonly keptUntil: Date
}

/** The result of redeeming a code; `used` from the second time on. */
export type Redemption =
  /** With the account, if it still exists, and the names of its groups. */
  | { readonly outcome: 'redeemed'; readonly code: AuthorizationCode; readonly user: User | undefined }
  | { readonly outcome: 'used'; readonly code: AuthorizationCode }
  | { readonly outcome: 'unknown' }
  /** The proof sent with it was used before; the code is unchanged. */
  | { readonly outcome: 'replayed' }

/** The stored id of a single-use proof (RFC 9449 §11.1). */
export interface ProofId {
  readonly idDigest: string
  readonly expiresAt: Date
}

/** The description of the refusal of a proof that was used before. */
export const PROOF_USED = 'The proof was already used'

/** Lifetime of a passcode. */
export const PASSCODE_SECONDS = 300

/** The purpose of a one-time code; it can be redeemed only for this. */
export type CodePurpose =
  /** Copied from the browser to a program that cannot show a sign-in page. */
  | 'passcode'
  /** Signs in a user who was authenticated by a client. */
  | 'autologin'
  /** Mailed, or given to a login server: sets a new password. */
  | 'password-reset'
  /** Mailed: proves the address of a new account. */
  | 'sign-up'
  /** Mailed: proves the new address of an account. */
  | 'email-change'
  /** As `email-change`, but given to a login server, and redeemed by it. */
  | 'email-verification'
  /** Accepts an invitation. */
  | 'invitation'
  /** `POST /Codes`: stands for a text of the login server that made it. */
  | 'text'

/** A stored one-time code. */
export interface OneTimeCode {
  readonly zoneId: string
  readonly purpose: CodePurpose
  /** Absent if it stands for no account. */
  readonly userId?: string
  /** The account's `passwordRevision` when the code was created; absent where the code outlives a new password. */
  readonly passwordRevision?: string
  /** Additional data, in the format of its purpose. */
  readonly data?: string
  readonly codeDigest: string
  readonly expiresAt: Date
}

/** Purposes of which an account has one code at most: a new one replaces the earlier. */
export const SINGLE_CODE_PURPOSES: ReadonlySet<CodePurpose> = new Set(['passcode', 'password-reset', 'email-change'])

/** `jwt`: readable by resource servers; `opaque`: a random value that only this server can look up. */
export type TokenFormat = 'jwt' | 'opaque'

/** A stored access or refresh token, opaque or revocable; plain JWTs are not stored. */
export interface StoredToken {
  readonly zoneId: string
  /** Digest of the token's id, which for an opaque token is its value. */
  readonly idDigest: string
  readonly kind: 'access_token' | 'refresh_token'
  readonly format: TokenFormat
  readonly clientId: string
  readonly userId?: string
  readonly grantId?: string
  /** The claims of the token, as in a JWT. */
  readonly claims: Readonly<Record<string, unknown>>
  /** When a rotated refresh token was used; a second use indicates theft. */
  readonly usedAt?: Date
  readonly issuedAt: Date
  readonly expiresAt: Date
}
