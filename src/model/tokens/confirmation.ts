// What a sender-constrained token is bound to: the claim `cnf` (RFC 7800 §3).
import { isJsonRecord } from '../../base/json.ts'

/** The supported methods, by the member of `cnf`. */
const CONFIRMATION_MEMBERS = ['jkt', 'x5t#S256'] as const

/** One of `CONFIRMATION_MEMBERS`. */
export type ConfirmationMember = (typeof CONFIRMATION_MEMBERS)[number]

/** Thumbprints, base64url: of a key (`jkt`, RFC 9449 §6.1), of a certificate (`x5t#S256`, RFC 8705 §3.1). */
export type Confirmation = { readonly [M in ConfirmationMember]?: string }

/**
 * What a token's claims say. Undefined for a token that is bound to nothing; `unknown` for a `cnf` of an
 * unsupported kind, whose token must be refused.
 */
export function confirmationIn(cnf: unknown): Confirmation | 'unknown' | undefined {
  if (cnf === undefined) return undefined
  if (!isJsonRecord(cnf)) return 'unknown'
  const entries = Object.entries(cnf)
  const isKnown = ([name, value]: [string, unknown]): boolean =>
    CONFIRMATION_MEMBERS.some(member => member === name) && typeof value === 'string' && value !== ''
  return entries.length > 0 && entries.every(isKnown) ? cnf : 'unknown'
}

/** Whether the request proves everything that `bound` requires; nothing satisfies `unknown`. */
export const isMet = (bound: Confirmation | 'unknown' | undefined, proven: Confirmation = {}): boolean =>
  bound === undefined ||
  (bound !== 'unknown' && CONFIRMATION_MEMBERS.every(name => (bound[name] ?? proven[name]) === proven[name]))
