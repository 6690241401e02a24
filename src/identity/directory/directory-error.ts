// The failures of a connection to a directory.

/** The kinds of failure; `refused` includes a wrong password, `missing` an absent entry or attribute. */
export type DirectoryFailure = 'refused' | 'missing' | 'misconfigured' | 'untrusted' | 'unreachable'

/** The only error of a session. Its message contains no name, password or text from the directory. */
export class DirectoryError extends Error {
  override name = 'DirectoryError'
  readonly failure: DirectoryFailure
  constructor(failure: DirectoryFailure, message: string) {
    super(message)
    this.failure = failure
  }
}
