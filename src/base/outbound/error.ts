// Failures of outbound requests and their responses.

/** Why a request was not made, or its response not accepted. */
export type OutboundFailure =
  | 'forbidden' // the URL, or an address that its host resolves to
  | 'paused' // the server did not answer lately; nothing was sent
  | 'timeout'
  | 'unreachable'
  | 'redirect'
  | 'too-large'
  | 'bad-answer'

/** The failure of a request. Its message names scheme, host and port only, so it is safe to log. */
export class OutboundError extends Error {
  override name = 'OutboundError'
  readonly failure: OutboundFailure
  constructor(failure: OutboundFailure, message: string) {
    super(message)
    this.failure = failure
  }
}

/**
 * Thrown when no request can be sent, or waited for, because too many are under way: the caller answers 503 with `Retry-After`.
 * Not an `OutboundError`, so that it is not mistaken for a failure of the other server, or of what the server was to confirm.
 */
export class OutboundBusy extends Error {
  override name = 'OutboundBusy'
  constructor(label: string) {
    super(`${label}: too many requests are in progress`)
  }
}

/** The failure of a connection; `label` names the server. */
export const unreachable = (label: string, cause: unknown): OutboundError =>
  new OutboundError('unreachable', `${label}: cannot be reached (${codeOf(cause)})`)

/** Node's error code; its message might repeat what was sent. */
function codeOf(cause: unknown): string {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined
  return typeof code === 'string' ? code : 'no code'
}
