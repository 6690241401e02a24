// One workload: what is sent, and how it is shown before and after the measurement that the server does the work.
import type { Accounts, Algorithm } from './accounts.ts'
import type { FlowJob } from './flows.ts'
import type { Limits } from './limits.ts'
import type { Endpoints, HttpRequest } from './requests.ts'

/** One row of the report. `signedBy` is the key of its Latchkey instance; the peer has both keys. */
export interface Workload {
  readonly name: string
  readonly signedBy: Algorithm
  /** False if the peer lacks the feature. */
  readonly peer: boolean
  /** Whether the peer is measured with a store on disk too. */
  readonly durablePeer?: boolean
  /** The upper bound of the rate on this machine, with a title. */
  readonly limit?: { readonly title: string; rate(limits: Limits): number | undefined }
  /** The row of Latchkey that this one is compared with. */
  readonly beside?: string
  /** Tokens in the database before the first request; such a row has its own instance. */
  readonly storedTokens?: number
  /** Whether Latchkey hashes passwords at minimal cost, as the peer always does. */
  readonly cheapHashes?: boolean
  readonly work: RequestWork | FlowWork
}

/** A single request, repeated by the load tool. */
export interface RequestWork {
  readonly kind: 'request'
  /** Builds the request; may send others first. `tokens` are some of the stored ones. */
  prepare(endpoints: Endpoints, accounts: Accounts, tokens: readonly string[]): Promise<HttpRequest>
  /** Sends it and throws unless the responses are correct, and new each time. */
  prove(request: HttpRequest, endpoints: Endpoints, accounts: Accounts): Promise<void>
}

/** Several requests that build on one another, driven by `flows.ts`. */
export interface FlowWork {
  readonly kind: 'flow'
  job(endpoints: Endpoints, accounts: Accounts): FlowJob
  /** Throws unless wrong requests are refused. The driver checks the responses to the measured ones. */
  prove?(endpoints: Endpoints, accounts: Accounts): Promise<void>
}
