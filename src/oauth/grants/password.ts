import type { NoProvider } from '../../identity/identity.ts'
import type { SignInRefusal } from '../../identity/source.ts'
import type { Refusal } from '../../model/compatibility.ts'
import { parseLoginHint } from '../../model/login-hint.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { parseScope, userScopes } from '../../model/scopes.ts'
import type { Service } from '../../model/service.ts'
import { basicChallenge } from '../client-auth/client-auth.ts'
import { tokenFormatOf } from '../params.ts'
import type { Grant, GrantDeps } from './grant.ts'
import { PROVIDER_BARRED } from './grant.ts'

/** A client that was told the person's password (RFC 6749 §4.3); all scopes count as approved. */
export const password: Grant = {
  type: 'password',
  caller: 'client',
  async authorize({ zone, client, params, clientAuthMethod, remoteAddress }, deps) {
    const { behaviour, identity, random } = deps
    const userName = params.get('username')
    const typed = params.get('password')
    if (userName === undefined) throw refusal(behaviour.missingPassword, 'No username supplied', deps.service)
    if (typed === undefined) throw refusal(behaviour.missingPassword, 'No password supplied', deps.service)
    const format = tokenFormatOf(params)
    const { origin } = parseLoginHint(params.get('login_hint'))
    const result = await identity.signInWithPassword(zone, { userName, password: typed, client, origin, remoteAddress })
    if (result.outcome === 'no-provider') throw noProvider(result.reason, deps)
    if (result.outcome === 'refused') throw refused(result.reason, deps)
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

/** UAA: a person is refused where clients are, and is challenged like one. See docs/compatibility.md, C11. */
function refusal(to: Refusal, description: string, service: Service): OAuthError {
  switch (to.status) {
    case 401:
      return new OAuthError(to, description, { challenge: basicChallenge(service, description) })
    case 403:
      return new OAuthError(to, description, { challenge: basicChallenge(service) })
    default:
      return new OAuthError(to, description)
  }
}

function refused(reason: SignInRefusal, { behaviour, service }: GrantDeps): OAuthError {
  switch (reason) {
    case 'bad-credentials':
      return refusal(behaviour.badCredentials, 'Bad credentials', service)
    case 'account-locked': {
      const description = 'Your account has been locked because of too many failed attempts to login.'
      return refusal(behaviour.signInRefused, description, service)
    }
    case 'account-not-verified':
      return refusal(behaviour.unverifiedAccount, 'Account not verified', service)
    case 'password-change-required':
      return refusal(behaviour.signInRefused, 'password change required', service)
    case 'provider-disabled':
      return refusal(behaviour.signInRefused, 'The identity provider is disabled.', service)
  }
}

const NO_PROVIDER: Readonly<Record<NoProvider, string>> = {
  'unusable-hint':
    'The origin provided in the login_hint does not match an active Identity Provider, that supports password grant.',
  'provider-barred': PROVIDER_BARRED,
  'no-provider': 'The client is not authorized for any identity provider that supports password grant.',
  'several-providers':
    'The client is authorized for multiple identity providers that support password grant and could not determine which identity provider to use.',
}

function noProvider(reason: NoProvider, { behaviour, service }: GrantDeps): OAuthError {
  const description = NO_PROVIDER[reason]
  switch (reason) {
    case 'unusable-hint':
      return refusal(behaviour.unusableLoginHint, description, service)
    case 'provider-barred':
      return refusal(behaviour.providerBarred, description, service)
    case 'no-provider':
      return refusal(behaviour.noProviderLeft, description, service)
    case 'several-providers':
      return refusal(behaviour.severalProvidersLeft, description, service)
  }
}
