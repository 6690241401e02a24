// What can go wrong on the way out, and with what comes back.

/** Why a request was not made, or its answer not taken. */
export type OutboundFailure =
  | 'forbidden' // the address, or where it leads
  | 'busy'
  | 'timeout'
  | 'unreachable'
  | 'redirect'
  | 'too-large'
  | 'bad-answer'

/** The one error of outbound.ts. Its message names scheme, host and port only, so that it can be logged. */
export class OutboundError extends Error {
  readonly failure: OutboundFailure
  constructor(failure: OutboundFailure, message: string) {
    super(message)
    this.name = 'OutboundError'
    this.failure = failure
  }
}
