// The part of the store's interface that is about single-use codes, ids and requests.
import type { PushedRequest } from '../../model/tokens/pushed-request.ts'
import type { CodePurpose, OneTimeCode } from '../../model/tokens/token.ts'

/** Single-use codes that a user types or follows as a link. */
export interface OneTimeCodeStore {
  /**
   * Stores the code; for the purposes of `SINGLE_CODE_PURPOSES` it replaces the account's earlier one. Throws `AlreadyExists` when
   * the zone has another code with this digest.
   */
  save(zoneId: string, code: OneTimeCode): Promise<void>
  /** The code, expired or not, without using it up. */
  find(zoneId: string, purpose: CodePurpose, codeDigest: string): Promise<OneTimeCode | undefined>
  /** Deletes the code and returns it, even if it is expired; of two concurrent redemptions exactly one gets it. */
  redeem(zoneId: string, purpose: CodePurpose, codeDigest: string): Promise<OneTimeCode | undefined>
  /** Stores a redeemed code again; does nothing if the account got another one since that would replace it. */
  restore(zoneId: string, code: OneTimeCode): Promise<void>
  /** Deletes the account's codes for the purpose. */
  forget(zoneId: string, purpose: CodePurpose, userId: string): Promise<void>
}

/** Ids of what was used, for replay detection. */
export interface OnceStore {
  /** Stores the id until `expiresAt`; false when it is stored already: of two concurrent uses exactly one gets true. */
  use(zoneId: string, idDigest: string, expiresAt: Date): Promise<boolean>
}

/** Ids of assertions and of other messages. */
export interface AssertionStore extends OnceStore {
  /** Makes the id usable again. */
  release(zoneId: string, idDigest: string): Promise<void>
  /** Whether the id is stored, expired or not. */
  isUsed(zoneId: string, idDigest: string): Promise<boolean>
  /** Stores the id until `expiresAt`, or longer if it is stored for longer. */
  keep(zoneId: string, idDigest: string, expiresAt: Date): Promise<void>
  /** When the id expires, or has expired; undefined if it is not stored. */
  expiryOf(zoneId: string, idDigest: string): Promise<Date | undefined>
}

/** Authorization requests that clients pushed (RFC 9126). */
export interface PushedRequestStore {
  insert(zoneId: string, request: PushedRequest): Promise<void>
  /** The request, expired or not, without using it up. */
  find(zoneId: string, idDigest: string): Promise<PushedRequest | undefined>
  /** Deletes the request; false if it is gone: of two concurrent answers exactly one gets true. */
  take(zoneId: string, idDigest: string): Promise<boolean>
  /** How many requests of the client are kept, counted up to `most`. */
  count(zoneId: string, clientId: string, most: number): Promise<number>
}
