// Shared by the two kinds of `grant_type=password`: a password and a passcode.
import type { SignInRefusal } from '../../identity/source.ts'
import type { Authorization } from '../../model/tokens/authorization.ts'
import type { Refusal } from '../../model/compatibility.ts'
import { concerning, descriptionText, OAuthError } from '../../model/oauth-error.ts'
import type { Rule } from '../../model/rules.ts'
import { parseScope, userScopes } from '../../model/tokens/scopes.ts'
import type { GrantedScopes } from '../../model/tokens/scopes.ts'
import type { Service } from '../../model/service.ts'
import type { TokenFormat } from '../../model/tokens/token.ts'
import type { User } from '../../model/users/user.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { basicChallenge } from '../../clients/authentication/refusals.ts'
import type { DecidedRequest, DecisionDeps } from './grant.ts'
import { requireAllowedProvider } from './grant.ts'

/** An authenticated user, with the methods and time of authentication as far as they are known. */
export interface ResourceOwner {
  readonly user: User
  readonly amr: readonly string[]
  readonly acr?: readonly string[]
  /** Absent for a passcode, which does not record the time of the sign-in. */
  readonly authenticatedAt?: Date
  readonly format: TokenFormat | undefined
}

/** Grants the user's scopes that the client may have (RFC 6749 §4.3). All of them count as approved. */
export async function authorizeFor(
  { user, amr, acr, authenticatedAt, format }: ResourceOwner,
  request: DecidedRequest,
  deps: Pick<DecisionDeps, 'groupsOf' | 'behaviour' | 'random'>,
): Promise<Authorization> {
  const { zone, client, clientAuthMethod } = request
  return {
    zone,
    client,
    grantType: 'password',
    subject: { kind: 'user', user, amr, acr, ...(authenticatedAt && { authenticatedAt }) },
    scopes: await scopesOfUser(user, request, deps),
    tokens: ['access_token', 'refresh_token', 'id_token'],
    grantId: deps.random.hex(16),
    ...(format && { format }),
    ...(clientAuthMethod !== undefined && { clientAuthMethod }),
  }
}

/** The user's scopes that the client may have and the request asks for. */
export async function scopesOfUser(
  user: User,
  { zone, client, params, because }: Pick<DecidedRequest, 'zone' | 'client' | 'params' | 'because'>,
  { groupsOf, behaviour }: Pick<DecisionDeps, 'groupsOf' | 'behaviour'>,
): Promise<GrantedScopes> {
  const groups = await groupsOf(zone, user)
  try {
    return userScopes({ client, requested: parseScope(params.get('scope')), because }, groups, behaviour)
  } catch (error) {
    throw concerning(error, user.id)
  }
}

/** UAA: a refusal of the user carries the challenge for clients. See docs/compatibility.md, C11. */
export function refusal(to: Refusal, description: string, service: Service, rule?: Rule): OAuthError {
  switch (to.status) {
    case 401: {
      // UAA: the header says "Bad credentials" beside this code, regardless of the body.
      const shown = to.error === 'invalid_client' ? 'Bad credentials' : description
      return new OAuthError(to, description, { challenge: basicChallenge(service, shown), rule })
    }
    case 403:
      return new OAuthError(to, description, { challenge: basicChallenge(service), rule })
    default:
      return new OAuthError(to, description, { rule })
  }
}

/** Refuses users of a disabled provider, even if valid tokens or codes exist. */
export async function checkProvider(
  zone: Zone,
  { origin }: User,
  deps: Pick<DecisionDeps, 'behaviour' | 'service' | 'store'>,
): Promise<void> {
  if (!(await deps.store.providers.isOpen(zone.id, origin))) throw refused({ reason: 'provider-disabled' }, deps)
}

/** Refuses users of a provider that the client does not allow, or that is disabled. */
export async function requireUsableProvider(
  { zone, client }: Pick<DecidedRequest, 'zone' | 'client'>,
  user: User,
  deps: Pick<DecisionDeps, 'behaviour' | 'service' | 'store'>,
): Promise<void> {
  requireAllowedProvider(client, user, deps.behaviour)
  await checkProvider(zone, user, deps)
}

/** The description of `mfa_required`. */
export const MFA_REQUIRED = 'A second factor is required: sign in with a browser, or use a passcode.'

/** The refusal of a sign-in without the required second factor. */
export const lacksFactor = (to: Refusal | 'mfa_required' | 'invalid_grant' = 'mfa_required'): OAuthError =>
  new OAuthError(to, MFA_REQUIRED, { rule: 'second-factor' })

/** Refuses the exchange of a token of a user who now needs a second factor that the token does not show. */
export async function requireFactorOfToken(
  zone: Zone,
  { user, acr }: { readonly user: User; readonly acr: readonly string[] | undefined },
  { findOutstandingDemand }: Pick<DecisionDeps, 'findOutstandingDemand'>,
): Promise<void> {
  if ((await findOutstandingDemand(zone, user, { acr }))?.name === 'second-factor') throw lacksFactor()
}

/** The error for a user who may not sign in. */
export function refused(
  { reason, description }: { readonly reason: SignInRefusal; readonly description?: string },
  { behaviour, service }: Pick<DecisionDeps, 'behaviour' | 'service'>,
): OAuthError {
  switch (reason) {
    case 'bad-credentials':
      return refusal(behaviour.badCredentials, 'Bad credentials', service, 'bad-credentials')
    case 'account-locked': {
      const description = 'Your account has been locked because of too many failed attempts to login.'
      return refusal(behaviour.signInRefused, description, service, 'account-locked')
    }
    case 'account-not-verified':
      return refusal(behaviour.unverifiedAccount, 'Account not verified', service, 'account-not-verified')
    case 'second-factor-required':
      return lacksFactor()
    case 'password-change-required':
      return refusal(behaviour.signInRefused, 'password change required', service, 'password-change')
    case 'refused-upstream':
    case 'account-not-precreated':
    case 'not-invited':
      return refusal(
        behaviour.signInRefused,
        foreignDescription(description ?? 'Bad credentials'),
        service,
        'refused-upstream',
      )
    case 'provider-disabled':
      return refusal(behaviour.signInRefused, 'The identity provider is disabled.', service, 'provider-disabled')
  }
}

/** A description that may come from upstream, and is repeated in a header. */
export const foreignDescription = (text: string): string => descriptionText(text.slice(0, 400))
