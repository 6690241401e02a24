/** The problem of a message, in one word per class; the audit trail and the log get it. */
export type SamlReason =
  | 'too-large'
  | 'not-xml'
  | 'document-type'
  | 'comment'
  | 'no-signature'
  | 'bad-signature'
  | 'algorithm'
  | 'several-assertions'
  | 'status'
  | 'issuer'
  | 'audience'
  | 'recipient'
  | 'destination'
  | 'in-response-to'
  | 'expired'
  | 'not-yet-valid'
  | 'condition'
  | 'subject'
  | 'authn-context'
  | 'decryption'
  | 'replay'
  | 'metadata'
  | 'name-id'

/** Thrown for SAML that is refused. The message is for the log, and repeats nothing secret. */
export class SamlProblem extends Error {
  override name = 'SamlProblem'
  readonly reason: SamlReason
  /** The provider's code for its own refusal (SAML Core §3.2.2.2); not validated. */
  readonly code?: string
  constructor(reason: SamlReason, detail: string, code?: string) {
    super(detail)
    this.reason = reason
    if (code !== undefined) this.code = code
  }
}

/** The problem that was thrown, as a value; throws anything else. */
export function asProblem(error: unknown): SamlProblem {
  if (error instanceof SamlProblem) return error
  throw error
}

/** The result, or the problem that the work throws. */
export function resultOrProblem<T>(work: () => T): T | SamlProblem {
  try {
    return work()
  } catch (error) {
    return asProblem(error)
  }
}

const MAX_QUOTED_LENGTH = 200

/** Words of a message, for the log. */
export const quoted = (text: string | undefined): string =>
  text === undefined ? 'nothing' : JSON.stringify(text.slice(0, MAX_QUOTED_LENGTH))

/** What a message is meant for, or from, and what it should have been. */
export const mismatchText = (found: string | undefined, wanted: string): string =>
  `${quoted(found)}, not ${quoted(wanted)}`

/** How far the clocks are apart, or how late a message came. */
export const timeAndNow = (time: Date, now: Date): string => `${time.toISOString()}; here it was ${now.toISOString()}`
