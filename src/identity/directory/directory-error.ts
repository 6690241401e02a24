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

/** Reports a refusal that is not about the user as misconfiguration, naming the setting. */
export async function asMisconfigured<T>(subject: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (cause) {
    if (!(cause instanceof DirectoryError) || cause.failure === 'unreachable' || cause.failure === 'untrusted')
      throw cause
    throw new DirectoryError('misconfigured', `${subject}: ${cause.message}`)
  }
}
