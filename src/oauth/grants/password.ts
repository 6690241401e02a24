import type { NoProvider } from '../../identity/password-providers.ts'
import { PROVIDER_BARRED } from '../../model/clients/client.ts'
import type { Authorization } from '../../model/tokens/authorization.ts'
import { parseLoginHint } from '../../model/sessions/login-hint.ts'
import type { OAuthError } from '../../model/oauth-error.ts'
import { concerning } from '../../model/oauth-error.ts'
import { limitedSignIn } from '../../web/limits/limits.ts'
import { tokenFormatOf } from '../params.ts'
import type { Grant, GrantDeps, GrantRequest } from './grant.ts'
import { authorizeByPasscode, bringsPasscode } from './passcode.ts'
import { authorizeFor, refusal, refused } from './resource-owner.ts'

/** Resource owner password credentials (RFC 6749 §4.3), or a passcode in their place. */
export const password: Grant = {
  type: 'password',
  caller: 'client',
  authorize: (request, deps) =>
    bringsPasscode(request, deps) ? authorizeByPasscode(request, deps) : authorizeByPassword(request, deps),
}

async function authorizeByPassword(request: GrantRequest, deps: GrantDeps): Promise<Authorization> {
  const { client, params } = request
  const { behaviour, identity, limits, service } = deps
  const userName = params.get('username')
  const userPassword = params.get('password')
  if (userName === undefined) {
    throw refusal(behaviour.missingPassword, 'No username supplied', service, 'missing-parameter')
  }
  if (userPassword === undefined) {
    throw refusal(behaviour.missingPassword, 'No password supplied', service, 'missing-parameter')
  }
  const format = tokenFormatOf(params)
  const { origin } = parseLoginHint(params.get('login_hint'))
  const field = (name: string): string | undefined => params.get(name)
  const result = await limitedSignIn(limits, { from: request, userName }, () =>
    identity.signInWithPassword(request, { userName, password: userPassword, client, origin, field }),
  )
  if (result.outcome === 'no-provider') throw noProvider(result.reason, deps)
  if (result.outcome === 'refused') throw concerning(refused(result, deps), result.userId)
  return authorizeFor({ ...result, authenticatedAt: deps.clock.now(), format }, request, deps)
}

/** The error descriptions when no single provider can verify the password. */
const NO_PROVIDER: Readonly<Record<NoProvider, string>> = {
  'unusable-hint':
    'The origin provided in the login_hint does not match an active Identity Provider, that supports password grant.',
  'provider-barred': PROVIDER_BARRED,
  'no-provider': 'The client is not authorized for any identity provider that supports password grant.',
  'several-providers':
    'The client is authorized for multiple identity providers that support password grant and could not determine which identity provider to use.',
}

/** The error for a request that no provider can answer. */
export function noProvider(
  reason: NoProvider,
  { behaviour, service }: Pick<GrantDeps, 'behaviour' | 'service'>,
): OAuthError {
  const description = NO_PROVIDER[reason]
  switch (reason) {
    case 'unusable-hint':
      return refusal(behaviour.unusableLoginHint, description, service)
    case 'provider-barred':
      return refusal(behaviour.providerBarred, description, service, 'provider-not-allowed')
    case 'no-provider':
      return refusal(behaviour.noProviderLeft, description, service, 'provider-not-allowed')
    case 'several-providers':
      return refusal(behaviour.severalProvidersLeft, description, service)
  }
}
