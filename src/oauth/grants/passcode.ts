// A passcode in place of user name and password: the user obtains it in a browser for a program that has none.
// On the wire this is `grant_type=password`.
import { digest } from '../../base/secrets.ts'
import type { AuditEventType } from '../../model/audit/event.ts'
import type { Authorization } from '../../model/tokens/authorization.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { concerningUser } from '../../model/oauth-error.ts'
import { enteredPasscode, parsePasscodeSignIn } from '../../model/users/passcode.ts'
import type { PasscodeSignIn } from '../../model/users/passcode.ts'
import { supportsLevels } from '../../model/users/second-factor.ts'
import { userAgentIn } from '../../model/users/user-agent.ts'
import type { User } from '../../model/users/user.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { callerKey } from '../../web/limits/limits.ts'
import { tokenFormatOf } from '../params.ts'
import type { GrantDeps, GrantRequest } from './grant.ts'
import { authorizeFor, refusal, refused, requireUsableProvider } from './resource-owner.ts'
import type { ResourceOwner } from './resource-owner.ts'
import type { RequestContext } from '../../model/request.ts'

/** Whether the request uses a passcode. An empty `passcode` counts only if there is no `username`. */
export function bringsPasscode({ params, headers }: GrantRequest, { behaviour }: GrantDeps): boolean {
  // UAA: a client that accepts anything, such as curl, must ask for JSON explicitly. See docs/compatibility.md, C11.
  if (!behaviour.passcodeForAnyAccept && !acceptsTokens(headers['accept'])) return false
  if (params.get('passcode') !== undefined) return true
  return params.raw('passcode') !== undefined && params.get('username') === undefined
}

/** Whether the first media type of `Accept` is JSON or a form, or the header is absent. UAA: ignores later types. */
export function acceptsTokens(accept: RequestContext['headers'][string]): boolean {
  if (typeof accept !== 'string' || accept.trim() === '') return true
  const first = accept.split(/[,;]/, 1)[0]?.trim().toLowerCase() ?? ''
  return first === 'application/json' || first === 'application/x-www-form-urlencoded'
}

const POST_ONLY = 'Credentials must be sent by (one of methods): [POST]'

/** Consumes the passcode before checking its owner, so that only one of two concurrent attempts succeeds. */
export async function authorizeByPasscode(request: GrantRequest, deps: GrantDeps): Promise<Authorization> {
  const { zone, client, params, remoteAddress } = request
  const { behaviour, service, limits, audit } = deps
  // UAA: refuses GET here even where `queryString` allows it. See docs/compatibility.md, C5.
  if (request.method === 'GET') throw refusal(behaviour.badPasscode, POST_ONLY, service)
  const value = params.get('passcode')
  if (value === undefined) throw refusal(behaviour.missingPasscode, 'Passcode information is missing.', service)
  const format = tokenFormatOf(params)
  const caller = callerKey(request, client.clientId)
  const redeemed = await limits.wrongPasscodes.attempt(
    caller,
    () => redeem(value, request, deps),
    found => found === undefined,
  )
  const userAgent = userAgentIn(request.headers)
  const from = { remoteAddress, ...(userAgent !== undefined && { userAgent }) }
  const facts = { zoneId: zone.id, clientId: client.clientId, ...from, data: 'passcode' }
  if (redeemed === undefined) {
    audit({ type: 'PrincipalAuthenticationFailure', principal: client.clientId, ...facts })
    throw refusal(behaviour.badPasscode, 'Invalid passcode', service)
  }
  if (redeemed === 'gone') throw refusal(behaviour.badCredentials, 'Invalid user.', service)
  const { owner, signIn } = redeemed
  const report = (type: AuditEventType): void => audit({ type, principal: owner.id, origin: owner.origin, ...facts })
  await concerningUser(owner, () => requireSignIn(request, { owner, signIn, report }, deps))
  report('UserAuthenticationSuccess')
  return authorizeFor({ user: owner, ...signInClaims(signIn, zone, behaviour), format }, request, deps)
}

/** Refuses an owner who may not sign in by now. */
async function requireSignIn(
  request: GrantRequest,
  {
    owner,
    signIn,
    report,
  }: { readonly owner: User; readonly signIn: PasscodeSignIn; readonly report: (type: AuditEventType) => void },
  deps: GrantDeps,
): Promise<void> {
  // Whether another provider verified the address does not affect whether the user may sign in.
  if (!owner.verified && owner.origin === deps.service.name) {
    report('UnverifiedUserAuthentication')
    throw refused({ reason: 'account-not-verified' }, deps)
  }
  const demand = await deps.findOutstandingDemand(request.zone, owner, signIn)
  if (demand) throw refused({ reason: demand.refusal }, deps)
  await requireUsableProvider(request, owner, deps)
}

/** How the session signed in, in zones that have levels. UAA: neither `auth_time` nor `amr` in any. See row P8. */
function signInClaims(
  { amr, acr, authenticatedAt }: PasscodeSignIn,
  zone: Zone,
  behaviour: Behaviour,
): Pick<ResourceOwner, 'amr' | 'acr' | 'authenticatedAt'> {
  if (!supportsLevels(zone, behaviour)) return { amr: [] }
  const level = acr && { acr }
  return behaviour.passcodeTokensShowSignIn
    ? { amr, ...level, ...(authenticatedAt && { authenticatedAt }) }
    : { amr: [], ...level }
}

/** The owner of the passcode; undefined for an unknown or expired one. */
async function redeem(
  value: string,
  { zone, undoOnFailure }: GrantRequest,
  { store, clock, behaviour }: GrantDeps,
): Promise<{ readonly owner: User; readonly signIn: PasscodeSignIn } | 'gone' | undefined> {
  const passcode = enteredPasscode(value, behaviour)
  if (passcode === undefined) return undefined
  const code = await store.oneTimeCodes.redeem(zone.id, 'passcode', digest(passcode))
  if (code) undoOnFailure(() => store.oneTimeCodes.restore(zone.id, code))
  if (code?.userId === undefined || code.expiresAt <= clock.now()) return undefined
  const user = await store.users.find(zone.id, code.userId)
  if (!user?.active) return 'gone'
  // A new password ends earlier sessions and the passcodes that they issued.
  if (code.passwordRevision !== user.passwordRevision) return undefined
  return { owner: user, signIn: parsePasscodeSignIn(code.data) }
}
