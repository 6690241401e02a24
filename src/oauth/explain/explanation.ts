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
   * `undecided`: the user has to decide about it first. `not_asked`: the request names others. `absent`: the token does not
   * have it, but a new one might.
   */
  readonly outcome: 'granted' | 'removed' | 'undecided' | 'not_asked' | 'absent'
  readonly because: readonly Reason[]
  /** Of a token: what the records give today, where that is known. */
  readonly today?: 'granted' | 'removed' | 'undecided' | 'not_asked' | undefined
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
  /** Left out where it is made for one token only, or is a hash. */
  readonly value?: unknown
  readonly because: readonly Reason[]
  /** Of a token: the value that it would have today, where that is another one; null for none. */
  readonly today?: unknown
}

/** Why nothing is granted. */
export interface ExplainedRefusal extends Reason {
  /** The error code that the client gets, and the description with it. */
  readonly error: string
  readonly description: string
}

/** An answer that has only its decision as yet. */
export const emptyExplanation = (decision: Explanation['decision']): Explanation => ({
  decision,
  request: {},
  scopes: [],
  tokens: [],
  claims: [],
  refusals: [],
  still_owed: [],
  not_checked: [],
})

/** An answer to one of the three questions. */
export interface Explanation {
  /** `pending`: granted as soon as what is still owed is done. `valid` and `invalid` are of tokens. */
  readonly decision: 'granted' | 'pending' | 'refused' | 'valid' | 'invalid'
  /** The question as it was parsed. */
  readonly request: Readonly<Record<string, unknown>>
  readonly scopes: readonly ExplainedScope[]
  readonly tokens: readonly ExplainedToken[]
  readonly claims: readonly ExplainedClaim[]
  readonly refusals: readonly ExplainedRefusal[]
  /** What the user or the client has to do first. */
  readonly still_owed: readonly Reason[]
  /** What only a real request can show. */
  readonly not_checked: readonly string[]
  /** Of a token: what a new one of the same grant would come to. */
  readonly today?: Pick<Explanation, 'decision' | 'refusals' | 'still_owed' | 'not_checked'> | undefined
  /** For a token that is no longer valid: events of the audit trail since it was issued that may have ended it. */
  readonly events?: readonly ExplainedEvent[] | undefined
  /** Of a refusal: what the audit trail has. The rest is what the same request would get now. */
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
