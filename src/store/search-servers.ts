// The servers that answer searches: the primary server of a PostgreSQL, or a standby of it.

/** The primary, or one of its replicas. */
export interface SearchServer {
  /** `primary`, or host and port of a replica. */
  readonly name: string
  readonly searches: number
  /** Whether searches go to the replica now; absent for the primary. */
  readonly isUsed?: boolean | undefined
}

/** Standby servers of PostgreSQL that may answer searches. */
export interface ReplicaOptions {
  readonly urls: readonly string[]
  /** Called when one comes into use, and when it no longer is. */
  readonly onChange: (change: ReplicaChange) => void
}

/** A replica that is used from now on, or not, and why not. */
export interface ReplicaChange {
  readonly name: string
  readonly isUsed: boolean
  readonly reason?: string
}
