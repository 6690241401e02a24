/** Thrown when the database cannot be reached or refuses to work: the caller answers 503. */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable'
}

/** Thrown when the database works, and too many requests wait for it or for each other: the caller answers 503. */
export class StoreBusy extends StoreUnavailable {
  override name = 'StoreBusy'
}

/** Thrown when a table to be changed is in use: the caller tries again. */
export class StoreLocked extends StoreUnavailable {
  override name = 'StoreLocked'
}

/** Thrown when the account lacks a right in the database; an operator has to grant it. */
export class StoreDenied extends StoreUnavailable {
  override name = 'StoreDenied'
}

/** Thrown when the database cannot be reached, and may be back soon: a start waits for it. */
export class StoreUnreachable extends StoreUnavailable {
  override name = 'StoreUnreachable'
}
