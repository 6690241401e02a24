/** An ended session, and the clients still to be notified. */
export interface EndedSession {
  readonly zoneId: string
  /** The digest of the session's cookie. */
  readonly id: string
  readonly userId: string
  /** Each client's `sid` is derived from it. */
  readonly sessionSalt: string
  readonly clients: readonly string[]
  /** See `SignIn.byPath`. */
  readonly byPath?: true
  /** While a process has claimed it, when another one may. */
  readonly nextAttemptAt: Date
  /** Counted when an attempt begins. */
  readonly attempts: number
}
