// The part of the store's interface that is about authorization codes, tokens and revocations.
import type { AuthorizationCode, ProofId, Redemption, StoredToken } from '../../model/tokens/token.ts'
import type { AnsweringSession } from '../sessions/session-store.ts'

/** Authorization codes (RFC 6749 §4.1). */
export interface CodeStore {
  /** Stores the code; in the same transaction, adds its client to the session that answers, if one is given. */
  insert(zoneId: string, code: AuthorizationCode, answering?: AnsweringSession): Promise<void>
  /**
   * Marks the code as used and returns it; of two concurrent redemptions exactly one is `redeemed`. A proof sent with it is used
   * up in the same transaction.
   */
  redeem(zoneId: string, codeDigest: string, now: Date, proof?: ProofId): Promise<Redemption>
  /**
   * Undoes the redemption at this time, for which the client got nothing. A code whose grant or session was revoked meanwhile
   * stays used, and so does the proof.
   */
  undoRedemption(zoneId: string, codeDigest: string, redeemedAt: Date): Promise<void>
  /** Deletes the user's unused codes of these sessions (`AuthorizationCode.sessionId`). */
  deleteOfSessions(zoneId: string, userId: string, sessionIds: ReadonlySet<string>): Promise<void>
}

/** Opaque, revocable and refresh tokens, and the revocations of tokens that are not stored. */
export interface TokenStore {
  insert(zoneId: string, token: StoredToken): Promise<void>
  find(zoneId: string, idDigest: string): Promise<StoredToken | undefined>
  /** Marks a rotating refresh token as used; false when it was used before or is gone. Exactly one caller gets true. */
  use(zoneId: string, idDigest: string, now: Date): Promise<boolean>
  /**
   * Lets a client that lost the response use a refresh token again: undefined when `used` is not the last use in its family or
   * a concurrent request was first. Invalidates its unused successors, and returns their digests.
   */
  useAgain(zoneId: string, used: UsedToken, now: Date): Promise<readonly string[] | undefined>
  /** Undoes the use at this time, for which the client got nothing; after `useAgain`, with what stood there before. */
  undoUse(
    zoneId: string,
    use: {
      readonly idDigest: string
      readonly usedAt: Date
      readonly before?: { readonly usedAt: Date; readonly replaced: readonly string[] }
    },
  ): Promise<void>
  /** Deletes one token; false when there was none. */
  delete(zoneId: string, idDigest: string): Promise<boolean>
  /** Unexpired and unused tokens, at most 5000, unordered. */
  listOfUser(zoneId: string, userId: string, now: Date): Promise<readonly StoredToken[]>
  /** Unexpired and unused tokens of the client and its users, at most 5000, unordered. */
  listOfClient(zoneId: string, clientId: string, now: Date): Promise<readonly StoredToken[]>
  /** Deletes a batch of the user's tokens, of one client if given; returns the number, 0 when none is left. */
  deleteSomeOfUser(zoneId: string, userId: string, clientId?: string): Promise<number>
  /** Deletes a batch of the client's tokens; returns the number, 0 when none is left. */
  deleteSomeOfClient(zoneId: string, clientId: string): Promise<number>
  /**
   * Deletes the unused refresh tokens of this client and user that are older than the one with the digest `kept`, except for
   * the number `others` of the newest others (`refreshTokenUnique`). Used ones stay, for reuse detection.
   */
  deleteRefreshTokens(
    zoneId: string,
    of: { clientId: string; userId: string; kept: string; others: number },
  ): Promise<void>
  /** Revokes a grant: deletes its stored tokens and keeps the revocation until `expiresAt`. */
  revokeGrant(zoneId: string, grantId: string, expiresAt: Date): Promise<void>
  /**
   * Revokes every grant of which the client has a stored token or a code, for the user if one is given, as `revokeGrant`, and
   * deletes its tokens and codes, those of devices included; used codes stay, for reuse detection. In batches: one that fails
   * leaves the rest.
   */
  revokeGrantsOf(
    zoneId: string,
    of: { readonly clientId: string; readonly userId?: string },
    expiresAt: Date,
  ): Promise<void>
  /** Keeps the revocation of a token that is not stored, by its `jti`, until `expiresAt`. */
  revokeUnstored(zoneId: string, tokenId: string, expiresAt: Date): Promise<void>
  /** Whether the grant or the token is revoked; `grantId` is undefined for a token without a grant. */
  isRevoked(zoneId: string, ids: { grantId: string | undefined; tokenId: string }): Promise<boolean>
}

/** A rotating refresh token that was used before. */
interface UsedToken {
  readonly idDigest: string
  readonly grantId: string
  readonly usedAt: Date
}
