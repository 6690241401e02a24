// Explains a hypothetical request: it is decided by the same rules as a real one, and has no side effects.
import type { Authorization } from '../../model/tokens/authorization.ts'
import type { Client } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { AddressedZone } from '../../model/request.ts'
import { RULES } from '../../model/rules.ts'
import type { Rule } from '../../model/rules.ts'
import { parseScope } from '../../model/tokens/scopes.ts'
import { refreshTokenSeconds } from '../../token/lifetimes.ts'
import { clientKey, signable, tokenKey } from '../../token/keys/key-choice.ts'
import { idBarrier, planTokens, refreshBarrier } from '../../token/plan.ts'
import type { TokenPlan } from '../../token/plan.ts'
import {
  findGrant,
  requireClientLevel,
  requireGrantOfClient,
  requireGrantOfProfile,
  requireScopesForPassword,
  withRequest,
} from '../token-rules.ts'
import { readParams } from '../params.ts'
import { explainClaims } from './claim-reasons.ts'
import type { ExplainDeps } from './deps.ts'
import type { ExplainedRefusal, ExplainedScope, ExplainedToken, Explanation, Reason } from './explanation.ts'
import { PLANS } from './planned-grants.ts'
import type { Findings } from './planning.ts'
import { decidedRequest, findPlannedClient, findPlannedUser, paramsOf } from './planned-request.ts'
import type { PlannedRequest } from './planned-request.ts'
import { explainRefusal } from './refusal-details.ts'
import { explainClientScopes, explainUserScopes, createScopeNotes } from './scope-reasons.ts'
import type { DecidedScopes } from './scope-reasons.ts'

/** The result that the request would have now. */
export async function explainPlanned(
  zone: AddressedZone,
  planned: PlannedRequest,
  deps: ExplainDeps,
): Promise<Explanation> {
  const { because, removedBy } = createScopeNotes()
  const findings: Findings = { isPending: false, outstanding: [], notChecked: [] }
  const params = paramsOf(planned)
  let client: Client | undefined
  let authorization: Authorization | undefined
  let refusal: ExplainedRefusal | undefined
  try {
    const grant = findGrant(zone, planned.grantType, deps)
    client = await findPlannedClient(zone, planned.clientId, deps)
    const of = { client, type: grant.type, params }
    findings.user = planned.user && (await findPlannedUser(zone, { wanted: planned.user, grantType: grant.type }, deps))
    if (grant.type === 'password') requireScopesForPassword(client, deps)
    // The receiving client of a user token does not call the endpoint itself; and a code is for the resources of an earlier request.
    const ofToken = grant.type === 'authorization_code' ? { ...of, params: readParams() } : of
    if (grant.type !== 'user_token') requireGrantOfClient(zone, ofToken, deps)
    requireGrantOfProfile(zone, of, deps)
    findings.notChecked.push('Whether the client authenticates.')
    const request = decidedRequest(zone, { client, params, because })
    const decided = await PLANS[grant.type](
      { request, acrValues: planned.acrValues, origin: originIn(planned), findings },
      deps,
    )
    await requireClientLevel(decided, deps)
    const meant = withRequest(decided, params, deps)
    await requireSigningKeys(meant, deps)
    authorization = meant
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    refusal = await explainRefusal(zone, error, { parties: { client, user: findings.user }, deps })
  }
  const plan = authorization && planTokens(authorization, deps)
  return {
    decision: refusal ? 'refused' : findings.isPending ? 'pending' : 'granted',
    request: shownRequest(planned, findings),
    scopes: client
      ? await scopesOf(
          zone,
          { client, findings, refusal, removedBy, requested: requestedIn(planned), about: planned.about ?? [] },
          deps,
        )
      : [],
    tokens: plan ? tokensOf(plan, deps) : [],
    claims: plan ? explainClaims(plan, deps) : [],
    refusals: refusal ? [refusal] : [],
    outstanding: findings.outstanding,
    not_checked: findings.notChecked,
  }
}

/** None if there are too many, for which the request is refused before any scope is decided. */
function requestedIn({ scope }: PlannedRequest): readonly string[] {
  try {
    return parseScope(scope)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    return []
  }
}

/** Throws if no signing key fits the client. A zone without keys passes: its first token would create one. */
async function requireSigningKeys(authorization: Authorization, deps: ExplainDeps): Promise<void> {
  const { zone, client } = authorization
  if ((await deps.keys.list(zone.id)).length === 0) return
  const signing = { zone, client, keys: deps.keys }
  await signable(tokenKey(signing), deps.behaviour)
  if (idBarrier(authorization) === undefined) await signable(clientKey('id_token', signing), deps.behaviour)
}

const originIn = ({ user }: PlannedRequest): string | undefined => (user && 'origin' in user ? user.origin : undefined)

/** These refuse before all scopes were checked. */
const BEFORE_ALL_SCOPES: ReadonlySet<Rule> = new Set(['client-scope', 'client-without-scopes', 'client-authorities'])
async function scopesOf(
  zone: AddressedZone,
  {
    client,
    findings,
    refusal,
    removedBy,
    requested,
    about,
  }: Pick<DecidedScopes, 'client' | 'removedBy' | 'requested' | 'about'> & {
    readonly findings: Findings
    readonly refusal: ExplainedRefusal | undefined
  },
  deps: ExplainDeps,
): Promise<readonly ExplainedScope[]> {
  const { user, approvals, within } = findings
  if (removedBy.size === 0) return []
  const isIncomplete = refusal !== undefined && BEFORE_ALL_SCOPES.has(refusal.rule)
  const decided: DecidedScopes = {
    client,
    requested,
    about,
    removedBy,
    within,
    isIncomplete,
    approvals,
    ...(refusal && { refusal: { rule: refusal.rule, detail: refusal.detail } }),
  }
  const scopes = user ? await explainUserScopes({ zone, user, decided }, deps) : explainClientScopes(decided)
  return scopes.toSorted(
    (a, b) => OUTCOMES.indexOf(a.outcome) - OUTCOMES.indexOf(b.outcome) || (a.scope < b.scope ? -1 : 1),
  )
}

const OUTCOMES: readonly ExplainedScope['outcome'][] = ['granted', 'undecided', 'removed', 'not_requested']

/** The tokens that the response would have. */
function tokensOf({ facts, format, seconds }: TokenPlan, deps: ExplainDeps): readonly ExplainedToken[] {
  const { authorization } = facts
  const { tokens, zone, client, grantType } = authorization
  const none = (token: ExplainedToken['token'], rule: Rule): ExplainedToken => ({
    token,
    outcome: 'not_issued',
    because: [{ rule, detail: NO_TOKEN[rule] ?? RULES[rule] }],
  })
  const byGrant: Reason = { rule: 'grant-type', detail: `${grantType} gives it.` }
  const refresh = refreshBarrier(authorization, deps)
  const id = idBarrier(authorization)
  return [
    tokens.includes('access_token')
      ? { token: 'access_token', outcome: 'issued', format, expires_in: seconds, because: [byGrant] }
      : none('access_token', 'grant-type'),
    refresh === undefined
      ? {
          token: 'refresh_token',
          outcome: 'issued',
          expires_in: refreshTokenSeconds(zone, client),
          because: [byGrant, { rule: 'client-grant-type', detail: 'The client has the grant type refresh_token.' }],
        }
      : none('refresh_token', refresh),
    id === undefined
      ? { token: 'id_token', outcome: 'issued', format: 'jwt', expires_in: seconds, because: [byGrant] }
      : none('id_token', id),
  ]
}

const NO_TOKEN: Partial<Readonly<Record<Rule, string>>> = {
  'grant-type': 'The grant does not give it.',
  'client-grant-type': 'The client does not have the grant type refresh_token.',
  'openid-scope': 'The scope openid is not granted.',
  'offline-scope': 'The scope that restricts refresh tokens (jwt.token.refresh.restrict_grant) is not granted.',
}

/** The question, without tokens. */
function shownRequest(
  { clientId, grantType, scope, resources, acrValues, audience }: PlannedRequest,
  { user }: Findings,
): Explanation['request'] {
  return {
    client_id: clientId,
    grant_type: grantType,
    ...(user && { user_id: user.id, username: user.userName, origin: user.origin }),
    ...(scope !== undefined && { scope }),
    ...(resources && resources.length > 0 && { resource: resources }),
    ...(acrValues !== undefined && { acr_values: acrValues }),
    ...(audience !== undefined && { audience }),
  }
}
