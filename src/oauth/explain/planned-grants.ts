// What each grant would decide. The grants themselves decide; this file adds what precedes them in a request (sign-in,
// approval), and lists what a plan cannot check.
import type { SignInRefusal } from '../../identity/source.ts'
import { afterSignIn, problemOf } from '../../identity/sources/internal.ts'
import type { Authorization } from '../../model/tokens/authorization.ts'
import { allowsProvider } from '../../model/clients/client.ts'
import { confirmationIn } from '../../model/tokens/confirmation.ts'
import { DEVICE_CODE, JWT_BEARER, SAML2_BEARER, TOKEN_EXCHANGE } from '../../model/clients/grant-types.ts'
import type { TokenGrantType } from '../../model/clients/grant-types.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { User } from '../../model/users/user.ts'
import type { AssertionGrantType } from '../grants/assertion.ts'
import { authorizeByAssertion } from '../grants/assertion.ts'
import { authorizeClient } from '../grants/client-credentials.ts'
import { noProvider } from '../grants/password.ts'
import { authorizeByRefresh, isUsedUp, ownerOf, readRefreshToken } from '../grants/refresh-token.ts'
import {
  authorizeFor,
  checkProvider,
  refused,
  requireFactorOfToken,
  requireUsableProvider,
} from '../grants/resource-owner.ts'
import { authorizeByExchange } from '../grants/token-exchange.ts'
import { authorizeByUser } from '../grants/user-token.ts'
import { tokenFormatOf } from '../params.ts'
import { approvalProblem } from '../../token/approvals.ts'
import type { ExplainDeps } from './deps.ts'
import type { Reason } from './explanation.ts'
import { planCode, planDevice, planPresentedSignIn } from './planned-sign-in.ts'
import type { Planning } from './planning.ts'
import { FROM_PROVIDER, inactive, lockOf, missing, namedUser, userOf } from './planning.ts'

type Plan = (planning: Planning, deps: ExplainDeps) => Authorization | Promise<Authorization>

const assertion =
  (type: AssertionGrantType): Plan =>
  (planning, deps) =>
    planAssertion(type, planning, deps)

/** By grant. */
export const PLANS: Readonly<Record<TokenGrantType, Plan>> = {
  client_credentials: ({ request }) => authorizeClient(request),
  password: planPassword,
  authorization_code: planCode,
  [DEVICE_CODE]: planDevice,
  refresh_token: planRefresh,
  user_token: planUserToken,
  [JWT_BEARER]: assertion(JWT_BEARER),
  [SAML2_BEARER]: assertion(SAML2_BEARER),
  [TOKEN_EXCHANGE]: planExchange,
}

async function planPassword(planning: Planning, deps: ExplainDeps): Promise<Authorization> {
  const { request, findings } = planning
  const { zone, client } = request
  const user = namedUser(planning)
  const { behaviour, service, clock } = deps
  findings.notChecked.push('Whether the password is correct.')
  if (!allowsProvider(client, user.origin)) throw await barredProvider(planning, user, deps)
  await checkProvider(zone, user, deps)
  if (!user.active) throw refusedBecause('bad-credentials', inactive(user), deps)
  if (user.origin === service.name) {
    const until = await lockOf(planning, user, deps)
    if (until) {
      const detail = `The account is locked until ${until.toISOString()}.`
      const reason = behaviour.hideLockout ? 'bad-credentials' : 'account-locked'
      throw refusedBecause(reason, { rule: 'account-locked', detail }, deps)
    }
    const problem = await problemOf({ zone, user, opensSession: false }, deps)
    if (problem !== undefined) throw refused({ reason: problem }, deps)
  } else {
    findings.notChecked.push(FROM_PROVIDER)
    await requireFactorOfToken(zone, { user, acr: undefined }, deps)
  }
  const format = tokenFormatOf(request.params)
  const now = clock.now()
  return authorizeFor({ user: afterSignIn(user, now), amr: ['pwd'], authenticatedAt: now, format }, request, deps)
}

/** The refusal of a password where the client does not allow the provider of the user: another one may be asked. */
async function barredProvider(
  { request: { zone, client }, origin }: Planning,
  user: User,
  deps: ExplainDeps,
): Promise<OAuthError> {
  if (origin !== undefined) return noProvider('provider-barred', deps)
  const active = await deps.store.providers.listActive(zone.id)
  if (!active.some(provider => allowsProvider(client, provider.originKey))) return noProvider('no-provider', deps)
  const detail = `The password is sent to other providers than ${user.origin}.`
  return refusedBecause('bad-credentials', { rule: 'provider-not-allowed', detail }, deps)
}

/** The refusal of a sign-in, with the rule and the detail that the caller does not get. */
function refusedBecause(reason: SignInRefusal, because: Reason, deps: ExplainDeps): OAuthError {
  const { error, status, message } = refused({ reason }, deps)
  return new OAuthError({ error, status }, message, because)
}

async function planAssertion(type: AssertionGrantType, planning: Planning, deps: ExplainDeps): Promise<Authorization> {
  const { request, findings } = planning
  const { zone, client } = request
  const user = userOf(planning)
  findings.notChecked.push('Whether the assertion is valid.')
  await requireUsableProvider(request, user, deps)
  if (user.origin === deps.service.name && !user.verified) throw refused({ reason: 'account-not-verified' }, deps)
  if (user.origin !== deps.service.name) findings.notChecked.push(FROM_PROVIDER)
  const acr = await planPresentedSignIn(planning, user, deps)
  const authorization = await authorizeByAssertion(type, { user, amr: [], acr }, { request, deps })
  const grant = { user, client, claims: { grant_type: type } }
  const unapproved = await approvalProblem(zone, grant, authorization.scopes, deps)
  if (unapproved !== undefined) {
    const detail = `The token is issued, but introspection, exchange and refresh refuse it until then: ${unapproved}.`
    findings.outstanding.push({ rule: 'approval-missing', detail })
  }
  return authorization
}

async function planUserToken(planning: Planning, deps: ExplainDeps): Promise<Authorization> {
  const user = userOf(planning)
  const { request, findings } = planning
  findings.notChecked.push('Whether the user calls with a token that has the scope for it.')
  if (request.params.all('resource').length > 0) {
    findings.notChecked.push('Whether the client of that token may ask for the resource, too.')
  }
  const [level] = (await planPresentedSignIn(planning, user, deps)) ?? []
  return authorizeByUser({ user, claims: { acr: level } }, request, deps)
}

async function planRefresh(planning: Planning, deps: ExplainDeps): Promise<Authorization> {
  const { request, findings } = planning
  const { zone, params } = request
  const value = params.get('refresh_token')
  if (value === undefined) throw missing('The body has no refresh_token, which this grant requires.')
  const token = await readRefreshToken({ zone, inspected: true }, value, deps)
  const user = ownerOf(token, request, deps)
  findings.user = user
  findings.within = 'refresh-token'
  if (isUsedUp(token, deps)) {
    const description = 'The token expired, was revoked, or the token ID is incorrect.'
    const detail = 'The token was rotated: another one has taken its place. Its use would end the whole grant.'
    throw new OAuthError(deps.behaviour.badRefreshToken, description, { rule: 'token-revoked', detail })
  }
  const bound = confirmationIn(token.claims['cnf'])
  const confirmation = bound === 'unknown' ? undefined : bound
  if (confirmation) findings.notChecked.push('Whether the client proves the key that the token is bound to.')
  return authorizeByRefresh({ token, value, user }, { ...request, confirmation }, deps)
}

async function planExchange(planning: Planning, deps: ExplainDeps): Promise<Authorization> {
  const { request, findings } = planning
  if (request.params.get('subject_token') === undefined) {
    throw missing('The body has no subject_token, which this grant requires.')
  }
  findings.within = 'subject-token'
  const { authorization, user } = await authorizeByExchange(request, deps)
  findings.user = user
  return authorization
}
