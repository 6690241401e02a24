/** Thrown when the database does not belong to this configuration; the message is for the operator. */
export class BootstrapError extends Error {
  override name = 'BootstrapError'
}
