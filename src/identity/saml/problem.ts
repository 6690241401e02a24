/** What is wrong with a message, in one word per class; the audit trail and the log get it. */
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
  readonly reason: SamlReason
  constructor(reason: SamlReason, detail: string) {
    super(detail)
    this.name = 'SamlProblem'
    this.reason = reason
  }
}
