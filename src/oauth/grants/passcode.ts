// A passcode in place of user name and password: a person who signs in through a browser takes it to a program that has
// none. On the wire this is `grant_type=password`.
import { digest } from '../../base/secrets.ts'
import type { Authorization } from '../../model/authorization.ts'
import { allowsProvider } from '../../model/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { mustChangePassword, passwordPolicy } from '../../model/password-policy.ts'
import type { User } from '../../model/user.ts'
import { callerKey } from '../../web/limits.ts'
import { tokenFormatOf } from '../params.ts'
import type { GrantDeps, GrantRequest } from './grant.ts'
import { PROVIDER_BARRED } from './grant.ts'
import { authorizeFor, checkProvider, refusal, refused } from './resource-owner.ts'

/** Whether the form has a passcode instead of a name and a password; an empty one counts only where no name is. */
export function bringsPasscode({ params, accept }: GrantRequest, { behaviour }: GrantDeps): boolean {
  // UAA: `curl`, which accepts anything, must say that it accepts JSON. See docs/compatibility.md, C11.
  if (!behaviour.passcodeForAnyAccept && !acceptsTokens(accept)) return false
  if (params.get('passcode') !== undefined) return true
  return params.raw('passcode') !== undefined && params.get('username') === undefined
}

/** Whether JSON, a form or nothing in particular is accepted first. UAA: that decides, and nothing else does. */
export function acceptsTokens(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === '') return true
  const first = accept.split(/[,;]/, 1)[0]?.trim().toLowerCase() ?? ''
  return first === 'application/json' || first === 'application/x-www-form-urlencoded'
}

const POST_ONLY = 'Credentials must be sent by (one of methods): [POST]'

/** Uses the passcode up, then looks at whose it was: of two attempts at one code only one gets this far. */
export async function authorizeByPasscode(request: GrantRequest, deps: GrantDeps): Promise<Authorization> {
  const { zone, client, params, remoteAddress } = request
  const { behaviour, service, limits, audit } = deps
  // UAA: takes GET for everything else where that is switched on. See docs/compatibility.md, C5.
  if (request.method === 'GET') throw refusal(behaviour.badPasscode, POST_ONLY, service)
  const value = params.get('passcode')
  if (value === undefined) throw refusal(behaviour.missingPasscode, 'Passcode information is missing.', service)
  const format = tokenFormatOf(params)
  const caller = callerKey(remoteAddress, zone.id, client.clientId)
  const owner = await limits.wrongPasscodes.attempt(
    caller,
    () => redeem(value, request, deps),
    found => found === undefined,
  )
  const facts = { zoneId: zone.id, clientId: client.clientId, remoteAddress, data: 'passcode' }
  if (owner === undefined) {
    audit({ type: 'PrincipalAuthenticationFailure', principal: client.clientId, ...facts })
    throw refusal(behaviour.badPasscode, 'Invalid passcode', service)
  }
  if (owner === 'gone') throw refusal(behaviour.badCredentials, 'Invalid user.', service)
  if (!owner.verified) {
    audit({ type: 'UnverifiedUserAuthentication', principal: owner.id, origin: owner.origin, ...facts })
    throw refused({ reason: 'account-not-verified' }, deps)
  }
  const policy = passwordPolicy(await deps.store.providers.findByOrigin(zone.id, owner.origin))
  if (mustChangePassword(owner, policy, deps.clock.now())) throw refused({ reason: 'password-change-required' }, deps)
  if (!allowsProvider(client, owner.origin)) throw new OAuthError(behaviour.userProviderBarred, PROVIDER_BARRED)
  await checkProvider(zone, owner, deps)
  audit({ type: 'UserAuthenticationSuccess', principal: owner.id, origin: owner.origin, ...facts })
  // The sign-in was the browser's, at a time and by means that a passcode does not tell: no `auth_time`, no `amr`.
  return authorizeFor({ user: owner, amr: [], format }, request, deps)
}

const FORM = /^[\w-]{32}$/

/** Whose passcode it was; undefined when it is none, or no longer one. */
async function redeem(
  value: string,
  { zone }: GrantRequest,
  { store, clock }: GrantDeps,
): Promise<User | 'gone' | undefined> {
  if (!FORM.test(value)) return undefined
  const code = await store.oneTimeCodes.redeem(zone.id, 'passcode', digest(value))
  if (!code || code.expiresAt <= clock.now()) return undefined
  const user = await store.users.find(zone.id, code.userId)
  if (!user?.active) return 'gone'
  // A new password ends the sessions from before it, and so it does with what they left behind.
  return code.passwordRevision === user.passwordRevision ? user : undefined
}
