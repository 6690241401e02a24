/**
 * Leases of tasks that one process runs for all that share the database. They expire by the clock of the database, because clocks
 * of machines may differ. A former holder may still be working, so the task must be safe to run twice, or claim its work as well.
 */
export interface LeaseStore {
  /** Takes or renews the lease for so many milliseconds; false while it is another's. */
  take(name: string, holder: string, milliseconds: number): Promise<boolean>
  /** Ends the lease if it is the holder's. */
  release(name: string, holder: string): Promise<void>
}
