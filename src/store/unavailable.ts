/** Thrown when the database cannot be reached or refuses to work: the caller answers 503. */
export class StoreUnavailable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreUnavailable'
  }
}

/** Thrown when the database works, and too many requests wait for it or for each other: the caller answers 503. */
export class StoreBusy extends StoreUnavailable {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreBusy'
  }
}

/** Thrown when a table to be changed is in use: the caller tries again. */
export class StoreLocked extends StoreUnavailable {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreLocked'
  }
}

/** Thrown when the account lacks a right in the database; an operator has to grant it. */
export class StoreDenied extends StoreUnavailable {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreDenied'
  }
}

/** Thrown when the database cannot be reached, and may be back soon: a start waits for it. */
export class StoreUnreachable extends StoreUnavailable {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreUnreachable'
  }
}
