// The parts of an explanation, in the form of the API.
import type { Rule } from '../../model/rules.ts'

/** A rule, and its result for this request. */
export interface Reason {
  readonly rule: Rule
  readonly detail: string
}

/** The outcome for a scope. */
export interface ExplainedScope {
  readonly scope: string
  /**
   * `undecided`: the user has to decide about it first. `not_requested`: the request names others. `absent`: the token does not
   * have it, but a new one might.
   */
  readonly outcome: 'granted' | 'removed' | 'undecided' | 'not_requested' | 'absent'
  readonly because: readonly Reason[]
  /** For a token: what the records give today, where that is known. */
  readonly today?: 'granted' | 'removed' | 'undecided' | 'not_requested' | undefined
}

/** The kinds of tokens. */
export type ExplainedKind = 'access_token' | 'refresh_token' | 'id_token'

/** Whether there is a token of the kind. */
export interface ExplainedToken {
  readonly token: ExplainedKind
  readonly outcome: 'issued' | 'not_issued'
  readonly format?: 'jwt' | 'opaque'
  /** Seconds. */
  readonly expires_in?: number
  readonly because: readonly Reason[]
}

/** Where a claim comes from, or why it is not there. */
export interface ExplainedClaim {
  readonly claim: string
  readonly token: ExplainedKind
  readonly outcome: 'present' | 'absent'
  /** Omitted if it is unique to one token or is a hash. */
  readonly value?: unknown
  readonly because: readonly Reason[]
  /** For a token: the value in a new token, if it differs; null for none. */
  readonly today?: unknown
}

/** Why nothing is granted. */
export interface ExplainedRefusal extends Reason {
  /** The error code that the client gets, and the description with it. */
  readonly error: string
  readonly description: string
}

/** An explanation that has only its decision yet. */
export const emptyExplanation = (decision: Explanation['decision']): Explanation => ({
  decision,
  request: {},
  scopes: [],
  tokens: [],
  claims: [],
  refusals: [],
  outstanding: [],
  not_checked: [],
})

/** An answer to one of the three questions. */
export interface Explanation {
  /** `pending`: granted once the outstanding steps are done. `valid` and `invalid` are for tokens. */
  readonly decision: 'granted' | 'pending' | 'refused' | 'valid' | 'invalid'
  /** The question as it was parsed. */
  readonly request: Readonly<Record<string, unknown>>
  readonly scopes: readonly ExplainedScope[]
  readonly tokens: readonly ExplainedToken[]
  readonly claims: readonly ExplainedClaim[]
  readonly refusals: readonly ExplainedRefusal[]
  /** What the user or the client still has to do. */
  readonly outstanding: readonly Reason[]
  /** What only a real request can show. */
  readonly not_checked: readonly string[]
  /** For a token: the result of the same grant now. */
  readonly today?: Pick<Explanation, 'decision' | 'refusals' | 'outstanding' | 'not_checked'> | undefined
  /** For a token that is no longer valid: events of the audit trail since it was issued that may have ended it. */
  readonly events?: readonly ExplainedEvent[] | undefined
  /** For a refusal: the event of the audit trail. The other members are the result of the same request now. */
  readonly recorded?: RecordedEvent | undefined
}

/** An event that was asked about. */
export interface RecordedEvent extends ExplainedEvent {
  readonly principal: string
  readonly request_id?: string
  readonly client_id?: string
  readonly remote_address?: string
  readonly user_agent?: string
  readonly origin?: string
  /** The request, the error that the caller got, and the detail that it did not get. */
  readonly refusal?: Readonly<Record<string, string>>
}

/** An event of the audit trail. */
export interface ExplainedEvent {
  readonly number: number
  readonly time: string
  readonly type: string
  readonly data?: string | undefined
}
