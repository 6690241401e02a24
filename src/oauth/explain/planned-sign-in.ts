// Plans of the grants in which the user signs in with a browser, and decides there: codes and devices.
import { afterSignIn, problemOf } from '../../identity/sources/internal.ts'
import { withLevel } from '../../model/sessions/assurance.ts'
import type { Authorization } from '../../model/tokens/authorization.ts'
import type { Client } from '../../model/clients/client.ts'
import { demandsOn } from '../../model/clients/client-demands.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import { namedResources } from '../../model/tokens/resources.ts'
import type { GrantedScopes } from '../../model/tokens/scopes.ts'
import { approvedScopes, parseScope, requestableScopes, userScopes } from '../../model/tokens/scopes.ts'
import { supportsLevels } from '../../model/users/second-factor.ts'
import type { User } from '../../model/users/user.ts'
import { SECOND_FACTOR } from '../../model/sessions/sign-in-demands.ts'
import { levelsAsked } from '../../model/sessions/step-up.ts'
import type { RequiredLevel } from '../../model/sessions/step-up.ts'
import { levelToReach } from '../authorize/demands.ts'
import { nextStep, scopeDecisions } from '../authorize/next-step.ts'
import type { ScopeDecision, SignedIn, Step } from '../authorize/next-step.ts'
import { authorizeByCode } from '../grants/authorization-code.ts'
import { authorizeByDecision } from '../grants/device-code.ts'
import { requireAllowedProvider } from '../grants/grant.ts'
import { checkProvider, refused } from '../grants/resource-owner.ts'
import { stillGranted } from '../grants/still-granted.ts'
import { lackingLevel } from '../lacking-level.ts'
import type { ExplainDeps } from './deps.ts'
import type { Reason } from './explanation.ts'
import type { Findings, Planning } from './planning.ts'
import { FROM_PROVIDER, lockOf, userOf } from './planning.ts'
import { shortList } from './scope-reasons.ts'
import type { ApprovalRule } from './scope-reasons.ts'

/** The classes of a sign-in, its level first. */
type Classes = readonly string[] | undefined

/** Plans a sign-in in a browser, up to the level that zone, client and request demand. */
async function planSignIn(planning: Planning, deps: ExplainDeps): Promise<Classes> {
  const { request, findings } = planning
  const { zone } = request
  const user = userOf(planning)
  await checkProvider(zone, user, deps)
  if (user.origin === deps.service.name) {
    const problem = await problemOf({ zone, user, opensSession: true }, deps)
    if (problem !== undefined) throw refused({ reason: problem }, deps)
  } else findings.notChecked.push(FROM_PROVIDER)
  const until = await lockOf(planning, user, deps)
  if (until) {
    const detail = `Passwords of the account are refused until ${until.toISOString()}.`
    findings.outstanding.push({ rule: 'account-locked', detail })
  }
  let acr: Classes
  for (;;) {
    const demand = await deps.findOutstandingDemand(zone, user, { acr })
    if (!demand) return acr
    addOutstanding(
      findings,
      demand.name,
      demand.name === 'second-factor' ? ASKED_BY_ZONE : 'The user has to set a new password.',
    )
    if (demand.name !== SECOND_FACTOR.name) return acr
    acr = withLevel('2')
  }
}

const ASKED_BY_ZONE = 'The policy of the zone requires a second factor of the user.'

/** Notes the outstanding step; the plan continues as if it were done. */
function addOutstanding(findings: Findings, rule: Reason['rule'], detail: string): void {
  findings.isPending = true
  findings.outstanding.push({ rule, detail })
}

/** Notes that the client or the request asks for a higher level than the zone, and plans as if it were reached. */
function reach({ level, methods }: RequiredLevel, acr: Classes, findings: Findings): Classes {
  addOutstanding(
    findings,
    'second-factor',
    `The client or the request requires a sign-in of level ${level}, by ${methods.join(' or ')}.`,
  )
  return withLevel(level, acr)
}

/**
 * The classes that the token or assertion which the client presents must show, by the policies of zone and client; undefined if any
 * sign-in is enough.
 */
export async function planPresentedSignIn(
  { request, findings }: Planning,
  user: User,
  deps: ExplainDeps,
): Promise<Classes> {
  const { zone, client } = request
  const isOfZone = (await deps.findOutstandingDemand(zone, user, { acr: undefined }))?.name === SECOND_FACTOR.name
  if (isOfZone) addOutstanding(findings, SECOND_FACTOR.name, ASKED_BY_ZONE)
  const first = isOfZone ? withLevel('2') : undefined
  const lacking = await lackingLevel(zone, { client, user, acr: first }, deps)
  return lacking && lacking.methods.length > 0 ? reach(lacking, first, findings) : first
}

/** The result of redeeming a code, once the user has signed in and approved. */
export async function planCode(planning: Planning, deps: ExplainDeps): Promise<Authorization> {
  const { request, findings } = planning
  const { zone, client, params, because } = request
  const { behaviour, clock, store } = deps
  requireAnyProvider(client)
  noteUncheckedDemands(planning)
  const requested = requestableScopes({ client, requested: parseScope(params.get('scope')), because }, behaviour)
  const resources = resourcesAsked(request, behaviour)
  const user = userOf(planning)
  const first = await planSignIn(planning, deps)
  requireAllowedProvider(client, user, behaviour)
  const scopes = userScopes({ client, requested, because }, await deps.groupsOf(zone, user), behaviour)
  const now = clock.now()
  const approvals = await store.approvals.list(zone.id, user.id, client.clientId, now)
  noteApprovals(scopeDecisions({ client, forceConsent: false }, scopes, approvals), findings)
  const acrValues = supportsLevels(zone, behaviour) ? levelsAsked(planning.acrValues, client) : undefined
  const lacking = await levelToReach(zone, { client, user, acr: first, acrValues }, deps)
  const signedIn: SignedIn = {
    origin: user.origin,
    authenticatedAt: now,
    scopes,
    approvals,
    justApproved: false,
    lacking,
  }
  const stepFor = (who: SignedIn): Step => nextStep({ client, ...resources, ...ASKED }, who, { now, behaviour })
  const wanted = stepFor(signedIn)
  const isLacking = wanted.kind === 'meet-demand' && lacking !== undefined
  const acr = isLacking ? reach(lacking, first, findings) : first
  const granted = grantedBy(isLacking ? stepFor({ ...signedIn, lacking: undefined }) : wanted, findings)
  const code = {
    scopes: granted,
    authenticatedAt: now,
    amr: ['pwd'],
    acr,
    grantId: deps.random.hex(16),
    ...resources,
  }
  return authorizeByCode({ code, user: afterSignIn(user, now) }, request, deps)
}

function requireAnyProvider({ allowedProviders }: Client): void {
  if (allowedProviders?.length !== 0) return
  const description = 'Client is not authorized for any identity providers.'
  throw new OAuthError('unauthorized_client', description, { rule: 'provider-not-allowed' })
}

function resourcesAsked({ zone, client, params }: Planning['request'], behaviour: Behaviour) {
  if (!supportsProtocol(zone, 'resourceIndicators', behaviour)) return false
  const named = namedResources(params.all('resource'), client)
  return named.length > 0 && { resources: named }
}

function noteApprovals(decisions: readonly ScopeDecision[], findings: Findings): void {
  for (const { scope, state, isAutomatic } of decisions) {
    findings.approvals ??= new Map()
    findings.approvals.set(scope, isAutomatic ? 'auto-approve' : BY_STATE[state])
  }
}

const BY_STATE = {
  undecided: 'approval-missing',
  approved: 'approval-given',
  denied: 'approval-denied',
} as const satisfies Record<string, ApprovalRule>

/** An authorization request without parameters that affect the sign-in. */
const ASKED = {
  silent: false,
  forceLogin: false,
  forceConsent: false,
  chooseAccount: false,
  responseType: new Set(['code'] as const),
}

/** The scopes of the code; those that the user has to decide about count as approved. */
function grantedBy(step: Step, findings: Findings): GrantedScopes {
  switch (step.kind) {
    case 'respond':
      return step.scopes
    case 'approve': {
      const namesOf = (state: string): readonly string[] =>
        step.scopes.filter(each => each.state === state).map(({ scope }) => scope)
      const undecided = namesOf('undecided')
      const what = undecided.length > 0 ? shortList(undecided) : 'the resources, as at each request of such a client'
      addOutstanding(findings, 'approval-missing', `The user has to approve ${what}.`)
      const denied = namesOf('denied')
      return approvedScopes(step.asked, scope => !denied.includes(scope))
    }
    case 'refuse': {
      const rule = step.error === 'unmet_authentication_requirements' ? 'second-factor' : 'approval-denied'
      throw new OAuthError(step.error, step.description, { rule })
    }
    case 'sign-in':
    case 'meet-demand':
    case 'choose-account':
    case 'switch-provider':
      throw new Error(`the plan of a signed-in user leads to ${step.kind}`)
  }
}

/** What the client has to do in its requests, by its record, its zone or its profile. */
function noteUncheckedDemands({ request: { zone, client }, findings: { notChecked } }: Planning): void {
  const { pushed, signedRequests, signedResponses, bound, certificateOnly } = demandsOn(zone, client)
  if (pushed) notChecked.push('Whether the client pushes its authorization requests, as it must.')
  if (signedRequests) notChecked.push('Whether the client signs its authorization requests, as it must.')
  if (signedResponses) notChecked.push('Whether the client asks for signed responses, as it must.')
  const ways = certificateOnly ? 'to its certificate' : 'by DPoP or its certificate'
  if (bound) notChecked.push(`Whether the client binds its tokens, ${ways}, as it must.`)
  notChecked.push('Whether redirect URI, PKCE, nonce and response type are as the client needs them.')
}

/** The tokens of a device, once the user has allowed it. */
export async function planDevice(planning: Planning, deps: ExplainDeps): Promise<Authorization> {
  const { request, findings } = planning
  const { zone, client, params, because } = request
  const { behaviour, clock, random } = deps
  const requested = requestableScopes({ client, requested: parseScope(params.get('scope')), because }, behaviour)
  const user = userOf(planning)
  const first = await planSignIn(planning, deps)
  requireAllowedProvider(client, user, behaviour)
  const lacking = await lackingLevel(zone, { client, user, acr: first }, deps)
  if (lacking?.methods.length === 0) {
    throw new OAuthError('access_denied', 'The user denied the request of this device', { rule: 'second-factor' })
  }
  const acr = lacking ? reach(lacking, first, findings) : first
  const asked = userScopes({ client, requested, because }, await deps.groupsOf(zone, user), behaviour)
  addOutstanding(findings, 'approval-missing', 'The user has to allow the device, with the code that it shows.')
  const scopes = await stillGranted({ scopes: asked, user }, request, deps)
  const now = clock.now()
  const decision = { authenticatedAt: now, amr: ['pwd'], acr, grantId: random.hex(16) }
  return authorizeByDecision({ decision, user: afterSignIn(user, now), scopes }, request)
}
