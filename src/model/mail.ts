/** A mail that waits to be sent. */
export interface WaitingMail {
  readonly id: string
  readonly zoneId: string
  /** Sealed for the zone and the id: a link in the mail may sign its reader in. */
  readonly sealed: string
  readonly createdAt: Date
  /** Not tried before. */
  readonly nextAttemptAt: Date
  /** Attempts so far. */
  readonly attempts: number
  /** Given up then, because nobody can use it any more. */
  readonly usefulUntil: Date
}
