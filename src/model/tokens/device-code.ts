// The device grant (RFC 8628): a device shows a short code, which a user enters in a browser.
import { normalized } from '../../base/text/normalized.ts'
import type { Random } from '../../base/random.ts'

/** How long a user has to enter the code. */
export const DEVICE_CODE_SECONDS = 600

/** Seconds between two requests of the device; five more after each that comes too soon (RFC 8628 §3.5). */
export const POLL_SECONDS = 5

/** How often one code may be entered: limits attempts by anyone who sees it on another's screen. */
export const MAX_ENTRIES = 10

/** 34 bits, which cannot be guessed in ten minutes at the allowed rate. */
const USER_CODE_LENGTH = 8

/** Longer input is not a code, regardless of separators. */
const MAX_INPUT_LENGTH = 64

/** The request of a device. */
export interface DeviceRequest {
  readonly codeDigest: string
  readonly userCodeDigest: string
  readonly clientId: string
  /** The requested scopes; empty for all that the client may have. */
  readonly scopes: readonly string[]
  /** The resources that the tokens are for (RFC 8707), if the device names any. */
  readonly resources?: readonly string[] | undefined
  readonly remoteAddress?: string | undefined
  readonly userAgent?: string | undefined
  readonly requestedAt: Date
  readonly expiresAt: Date
}

/** The user's decision, and how they had signed in. */
export interface DeviceDecision {
  readonly userId: string
  readonly scopes: readonly string[]
  /** The resources of the request, which the page showed. */
  readonly resources?: readonly string[] | undefined
  /** Absent if it is unknown. */
  readonly authenticatedAt?: Date | undefined
  readonly amr: readonly string[]
  readonly acr?: readonly string[] | undefined
  readonly grantId: string
  /** `rev_sig`, as in tokens: what makes them invalid makes this invalid. */
  readonly revocationSignature: string
}

/** The answer to a polling device; everything but `pending` and `early` uses the code up. */
export type DevicePoll =
  | { readonly outcome: 'pending' | 'early' | 'denied' | 'expired' | 'unknown' }
  | { readonly outcome: 'approved'; readonly decision: DeviceDecision }

/** A new code, as it is compared. */
export const newUserCode = (random: Random): string => random.consonants(USER_CODE_LENGTH)

/** As it is shown: `BCDF-GHJK`. */
export const shownUserCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`

/** The entered code, as it is compared; undefined for what cannot be a code. Case and separators are ignored. */
export function enteredUserCode(entered: string): string | undefined {
  if (entered.length > MAX_INPUT_LENGTH) return undefined
  // Japanese and Chinese keyboards may write letters of full width.
  const letters = normalized(entered, 'NFKC')
    .replace(/[\s\p{Pd}_.]/gu, '')
    .toUpperCase()
  return /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/.test(letters) ? letters : undefined
}
