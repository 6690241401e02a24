// What the ways of `grant_type=password` share: the person told the client something that only the person could know.
import type { SignInRefusal } from '../../identity/source.ts'
import type { Authorization } from '../../model/authorization.ts'
import type { Refusal } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { parseScope, userScopes } from '../../model/scopes.ts'
import type { Service } from '../../model/service.ts'
import type { TokenFormat } from '../../model/token.ts'
import type { User } from '../../model/user.ts'
import type { Zone } from '../../model/zone.ts'
import { basicChallenge } from '../../clients/authentication/authentication.ts'
import type { GrantDeps, GrantRequest } from './grant.ts'

/** A person who was recognised, and what is known of how and when. */
export interface ResourceOwner {
  readonly user: User
  readonly amr: readonly string[]
  /** Absent when it was not now. */
  readonly authenticatedAt?: Date
  readonly format: TokenFormat | undefined
}

/** Everything that the client may have of the person's (RFC 6749 §4.3): all scopes count as approved. */
export async function authorizeFor(
  { user, amr, authenticatedAt, format }: ResourceOwner,
  { zone, client, params, clientAuthMethod }: GrantRequest,
  { behaviour, random, groupsOf }: GrantDeps,
): Promise<Authorization> {
  return {
    zone,
    client,
    grantType: 'password',
    subject: { kind: 'user', user, amr, ...(authenticatedAt && { authenticatedAt }) },
    scopes: userScopes(client, parseScope(params.get('scope')), await groupsOf(zone, user), behaviour),
    tokens: ['access_token', 'refresh_token', 'id_token'],
    grantId: random.hex(16),
    ...(format && { format }),
    ...(clientAuthMethod !== undefined && { clientAuthMethod }),
  }
}

/** UAA: a person is refused where clients are, and is challenged like one. See docs/compatibility.md, C11. */
export function refusal(to: Refusal, description: string, service: Service): OAuthError {
  switch (to.status) {
    case 401:
      return new OAuthError(to, description, { challenge: basicChallenge(service, description) })
    case 403:
      return new OAuthError(to, description, { challenge: basicChallenge(service) })
    default:
      return new OAuthError(to, description)
  }
}

/** A disabled provider ends what its people began, whatever they or their clients still hold. */
export async function checkProvider(
  zone: Zone,
  { origin }: User,
  deps: Pick<GrantDeps, 'behaviour' | 'service' | 'store'>,
): Promise<void> {
  if (!(await deps.store.providers.isActive(zone.id, origin))) throw refused({ reason: 'provider-disabled' }, deps)
}

/** What a client is told of a person who may not sign in. */
export function refused(
  { reason, description }: { readonly reason: SignInRefusal; readonly description?: string },
  { behaviour, service }: Pick<GrantDeps, 'behaviour' | 'service'>,
): OAuthError {
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
    case 'refused-upstream':
      return refusal(behaviour.signInRefused, plain(description ?? 'Bad credentials'), service)
    case 'provider-disabled':
      return refusal(behaviour.signInRefused, 'The identity provider is disabled.', service)
  }
}

/** What a header may hold. */
const plain = (text: string): string => text.slice(0, 400).replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?')
