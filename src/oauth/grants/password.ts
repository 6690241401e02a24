import type { NoProvider } from '../../identity/identity.ts'
import type { SignInRefusal } from '../../identity/source.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { parseLoginHint } from '../../model/login-hint.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { parseScope, userScopes } from '../../model/scopes.ts'
import { tokenFormatOf } from '../params.ts'
import type { Grant } from './grant.ts'

/** A client that was told the person's password (RFC 6749 §4.3); all scopes count as approved. */
export const password: Grant = {
  type: 'password',
  caller: 'client',
  async authorize({ zone, client, params, clientAuthMethod, remoteAddress }, deps) {
    const { behaviour, identity, random } = deps
    const userName = params.get('username')
    const typed = params.get('password')
    if (userName === undefined) throw new OAuthError(behaviour.missingPassword, 'No username supplied')
    if (typed === undefined) throw new OAuthError(behaviour.missingPassword, 'No password supplied')
    const format = tokenFormatOf(params)
    const { origin } = parseLoginHint(params.get('login_hint'))
    const result = await identity.signInWithPassword(zone, { userName, password: typed, client, origin, remoteAddress })
    if (result.outcome === 'no-provider') throw noProvider(result.reason, behaviour)
    if (result.outcome === 'refused') throw refused(result.reason, behaviour)
    const { user, amr } = result
    return {
      zone,
      client,
      grantType: 'password',
      subject: { kind: 'user', user, amr, authenticatedAt: deps.clock.now() },
      scopes: userScopes(client, parseScope(params.get('scope')), await deps.groupsOf(zone, user), behaviour),
      tokens: ['access_token', 'refresh_token', 'id_token'],
      grantId: random.hex(16),
      ...(format && { format }),
      ...(clientAuthMethod !== undefined && { clientAuthMethod }),
    }
  },
}

function refused(reason: SignInRefusal, behaviour: Behaviour): OAuthError {
  switch (reason) {
    case 'bad-credentials':
      return new OAuthError(behaviour.badCredentials, 'Bad credentials')
    case 'account-locked':
      return new OAuthError(
        behaviour.signInRefused,
        'Your account has been locked because of too many failed attempts to login.',
      )
    case 'account-not-verified':
      return new OAuthError(behaviour.unverifiedAccount, 'Account not verified')
    case 'password-change-required':
      return new OAuthError(behaviour.signInRefused, 'password change required')
    case 'provider-disabled':
      return new OAuthError(behaviour.signInRefused, 'The identity provider is disabled.')
  }
}

function noProvider(reason: NoProvider, behaviour: Behaviour): OAuthError {
  switch (reason) {
    case 'unusable-hint':
      return new OAuthError(
        behaviour.unusableLoginHint,
        'The origin provided in the login_hint does not match an active Identity Provider, that supports password grant.',
      )
    case 'provider-barred':
      return new OAuthError(
        behaviour.providerBarred,
        "Client is not authorized for specified user's identity provider.",
      )
    case 'no-provider':
      return new OAuthError(
        behaviour.noProviderLeft,
        'The client is not authorized for any identity provider that supports password grant.',
      )
    case 'several-providers':
      return new OAuthError(
        behaviour.severalProvidersLeft,
        'The client is authorized for multiple identity providers that support password grant and could not determine which identity provider to use.',
      )
  }
}
