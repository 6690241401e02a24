/** What was tried to notify one client of an ended session. */
export interface ClientProgress {
  readonly attempts: number
  readonly nextAttemptAt: Date
}

/** An ended session, and the clients still to be notified. */
export interface EndedSession {
  readonly zoneId: string
  /** The digest of the session's cookie. */
  readonly id: string
  readonly userId: string
  /** Each client's `sid` is derived from it. */
  readonly sessionSalt: string
  readonly clients: readonly string[]
  /** Clients that were tried or had to wait. Undefined before the first attempt, and after those of an earlier version. */
  readonly progress?: ReadonlyMap<string, ClientProgress>
  /** When it was first claimed. */
  readonly beganAt?: Date
  /** See `SignIn.byPath`. */
  readonly byPath?: true
  /** While a process has claimed it, when another one may. */
  readonly nextAttemptAt: Date
  /** The most at any of its clients; counted when an attempt begins. */
  readonly attempts: number
}
