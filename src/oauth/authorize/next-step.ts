// What the browser does next, in one pure decision. Every page returns to /oauth/authorize, which decides again.
import type { Approval } from '../../model/users/approval.ts'
import { allowsProvider } from '../../model/clients/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { OAuthErrorCode } from '../../model/oauth-error.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { approvedScopes, isAutoApproved } from '../../model/tokens/scopes.ts'
import type { GrantedScopes } from '../../model/tokens/scopes.ts'
import { checkedRequest, found } from './context.ts'
import type { AuthorizationRequest, AuthorizeContext, Demands } from './context.ts'
import { meet } from './demands.ts'
import { wasAskedForHint } from './checks/prompt.ts'
import { PROVIDER_SKEW_SECONDS } from '../../model/sessions/session.ts'
import { SECOND_FACTOR } from '../../model/sessions/sign-in-demands.ts'
import type { SignInDemand } from '../../model/sessions/sign-in-demands.ts'
import type { RequiredLevel } from '../../model/sessions/step-up.ts'
import type { OAuthDeps } from '../deps.ts'

/** What the decision needs to know about the signed-in user. */
export interface SignedIn {
  readonly origin: string
  /** Undefined if it is unknown, which meets no `max_age`. */
  readonly authenticatedAt: Date | undefined
  /** The scopes that the rules allow this user, or their refusal. */
  readonly scopes: GrantedScopes | OAuthError
  /** Unexpired decisions for this client. */
  readonly approvals: readonly Approval[]
  /** Whether this very request was just approved on the page. */
  readonly justApproved: boolean
  /** Set when the request's `id_token_hint` names another user; whether a sign-in was already required for that. */
  readonly isAnother?: { readonly wasAsked: boolean }
  /** The level that the sign-in lacks for this request. */
  readonly lacking?: RequiredLevel | undefined
}

/** One scope on the approval page. */
export interface ScopeDecision {
  readonly scope: string
  readonly state: 'undecided' | 'approved' | 'denied'
  /** Whether the client approves it itself. */
  readonly isAutomatic: boolean
}

/** The scopes that the user is asked to approve. */
export interface ApprovalQuestion {
  /** The scopes that the page lists. */
  readonly scopes: readonly ScopeDecision[]
  /** Everything that would be granted, including what is approved automatically. */
  readonly asked: GrantedScopes
}

/** What happens next; `respond` ends the flow. */
export type Step =
  /** An outstanding step of the sign-in, for the zone or for this request. */
  | { readonly kind: 'meet-demand'; readonly demand: SignInDemand }
  | { readonly kind: 'sign-in' }
  /** The user selects the account to continue with. */
  | { readonly kind: 'choose-account' }
  | ({ readonly kind: 'approve' } & ApprovalQuestion)
  | { readonly kind: 'respond'; readonly scopes: GrantedScopes }
  | { readonly kind: 'refuse'; readonly error: OAuthErrorCode; readonly description: string }
  /** The user's provider is not one of the client's: offer another sign-in. */
  | { readonly kind: 'switch-provider' }

/** The error for the client of a user who is not signed in. */
export const LOGIN_REQUIRED: Step = { kind: 'refuse', error: 'login_required', description: 'The user must sign in' }

/** The check that asks `nextStep`; continues when the response can be made. */
export function decide(context: AuthorizeContext, { clock, behaviour, subjects }: OAuthDeps): Step | undefined {
  const { request, answer, program, hinted } = context
  const { user, authenticatedAt } = found(context.authenticatedUser)
  const isAnother = hinted !== undefined && hinted.subject !== subjects.of(request.zone, hinted.client, user)
  const signedIn: SignedIn = {
    origin: user.origin,
    authenticatedAt,
    scopes: found(context.scopes),
    approvals: found(context.approvals),
    justApproved: answer !== undefined,
    ...(isAnother && { isAnother: { wasAsked: wasAskedForHint(context) } }),
    lacking: context.lacking,
  }
  const step = nextStep(checkedRequest(context), signedIn, { now: clock.now(), behaviour })
  if (step.kind === 'meet-demand') return meet(step.demand, context, behaviour)
  if (step.kind === 'sign-in' && program) return LOGIN_REQUIRED
  if (step.kind !== 'respond') return step
  context.granted = step.scopes
  return undefined
}

/** The order of the steps: sign in, sign in again, select the account, approve the client. */
export function nextStep(
  request: Pick<AuthorizationRequest, keyof Demands | 'client' | 'responseType' | 'resources'>,
  signedIn: SignedIn | undefined,
  { now, behaviour }: { now: Date; behaviour: Behaviour },
): Step {
  const { client, silent } = request
  const loginRequired: Step = silent ? LOGIN_REQUIRED : { kind: 'sign-in' }
  if (!signedIn) return loginRequired
  if (request.forceLogin || isTooOld(signedIn.authenticatedAt, request.maxAge, now)) return loginRequired
  if (signedIn.isAnother) return signedIn.isAnother.wasAsked ? LOGIN_REQUIRED : loginRequired
  if (request.chooseAccount) return { kind: 'choose-account' }
  if (!allowsProvider(client, signedIn.origin)) {
    // UAA shows the page with `prompt=none`, too (row R2).
    return silent && behaviour.redirectErrors ? loginRequired : { kind: 'switch-provider' }
  }

  if (signedIn.scopes instanceof OAuthError) {
    // UAA: a client without any scopes is an error where no page is shown (row R7).
    const isFault = silent && !behaviour.standardSilentErrors && client.scope.length === 0
    const error = isFault ? 'server_error' : signedIn.scopes.error
    return { kind: 'refuse', error, description: signedIn.scopes.message }
  }
  if (signedIn.lacking?.methods.length === 0) {
    const description = `No method of this zone reaches the level ${signedIn.lacking.level}`
    return { kind: 'refuse', error: 'unmet_authentication_requirements', description }
  }
  if (signedIn.lacking) return { kind: 'meet-demand', demand: SECOND_FACTOR }
  const decisions = scopeDecisions(request, signedIn.scopes, signedIn.approvals)
  const isDecided = decisions.every(each => each.state !== 'undecided') && !namesResources(request, decisions)
  const asks = !signedIn.justApproved && (request.forceConsent || !isDecided)
  if (asks && silent) {
    return { kind: 'refuse', error: behaviour.consentRequired, description: 'The user must approve the request' }
  }
  if (asks) {
    const listed = decisions.filter(each => !each.isAutomatic).toSorted(byImportance)
    return { kind: 'approve', scopes: listed, asked: signedIn.scopes }
  }
  const approved = new Set(decisions.filter(({ state }) => state === 'approved').map(({ scope }) => scope))
  const scopes = approvedScopes(signedIn.scopes, scope => approved.has(scope))
  if (scopes.length === 0 && behaviour.refuseNothingApproved) {
    return { kind: 'refuse', error: 'access_denied', description: 'User denied access' }
  }
  if (behaviour.idTokenNeedsOpenid && request.responseType.has('id_token') && !scopes.includes('openid')) {
    return { kind: 'refuse', error: 'invalid_scope', description: 'An ID token requires the scope openid' }
  }
  return { kind: 'respond', scopes }
}

/**
 * Whether the user must see the resources of the request: approvals are about scopes alone, and nobody else judges a client that
 * no administrator created.
 */
const namesResources = (
  { client, resources }: Pick<AuthorizationRequest, 'client' | 'resources'>,
  decisions: readonly ScopeDecision[],
): boolean =>
  client.registration !== undefined && resources !== undefined && decisions.some(({ isAutomatic }) => !isAutomatic)

/** The decisions of client and user about each scope. */
export const scopeDecisions = (
  { client, forceConsent }: Pick<AuthorizationRequest, 'client' | 'forceConsent'>,
  scopes: readonly string[],
  approvals: readonly Approval[],
): readonly ScopeDecision[] =>
  scopes.map(scope => {
    // With prompt=consent the client's autoapproval is ignored; otherwise a refusal would have no effect.
    const isAutomatic = !forceConsent && isAutoApproved(client, scope)
    return { scope, state: isAutomatic ? 'approved' : storedState(scope, approvals), isAutomatic }
  })

function isTooOld(authenticatedAt: Date | undefined, maxAge: number | undefined, now: Date): boolean {
  if (maxAge === undefined) return false
  if (maxAge === 0 || !authenticatedAt) return true // as prompt=login (OpenID Connect Core §3.1.2.1), regardless of the clock
  const age = (now.getTime() - authenticatedAt.getTime()) / 1000
  // One that is still to come was before the clock was set back, nobody knows how long.
  return age > maxAge || age < -PROVIDER_SKEW_SECONDS
}

function storedState(scope: string, approvals: readonly Approval[]): ScopeDecision['state'] {
  const decision = approvals.find(approval => approval.scope === scope)
  if (!decision) return 'undecided'
  return decision.status === 'APPROVED' ? 'approved' : 'denied'
}

const STATES: readonly ScopeDecision['state'][] = ['undecided', 'approved', 'denied']
const FIRST = /^(password|openid)/

/** Undecided scopes first; within a list those about the account itself lead. */
function byImportance(a: ScopeDecision, b: ScopeDecision): number {
  return (
    STATES.indexOf(a.state) - STATES.indexOf(b.state) ||
    Number(FIRST.test(b.scope)) - Number(FIRST.test(a.scope)) ||
    (a.scope < b.scope ? -1 : 1)
  )
}
