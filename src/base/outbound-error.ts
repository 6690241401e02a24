// Failures of outbound requests and their responses.

/** Why a request was not made, or its response not accepted. */
export type OutboundFailure =
  | 'forbidden' // the URL, or an address that its host resolves to
  | 'busy'
  | 'timeout'
  | 'unreachable'
  | 'redirect'
  | 'too-large'
  | 'bad-answer'

/** The only error that outbound.ts throws. Its message names scheme, host and port only, so it is safe to log. */
export class OutboundError extends Error {
  readonly failure: OutboundFailure
  constructor(failure: OutboundFailure, message: string) {
    super(message)
    this.name = 'OutboundError'
    this.failure = failure
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
