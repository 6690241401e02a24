/**
 * What one process does for all that share the database. The time is the database's: clocks of machines may differ. A lease
 * does not exclude that its former holder still works, so the guarded work must be safe to do twice, or be claimed as well.
 */
export interface LeaseStore {
  /** Takes or renews the lease for so many milliseconds; false while it is another's. */
  take(name: string, holder: string, milliseconds: number): Promise<boolean>
  /** Ends the lease if it is the holder's. */
  release(name: string, holder: string): Promise<void>
}
