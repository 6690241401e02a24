// Shared by the assertion grants (RFC 7521), in which a client presents a statement about a user that an issuer signed.
// Owns the authorization that follows from a valid assertion and the errors of an invalid one; parses none itself.
import type { AssertionResult } from '../../identity/assertion-sign-in.ts'
import { PROVIDER_BARRED } from '../../model/clients/client.ts'
import type { Authorization } from '../../model/tokens/authorization.ts'
import type { Refusal } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import type { User } from '../../model/users/user.ts'
import { tokenFormatOf } from '../params.ts'
import type { DecidedRequest, DecisionDeps, GrantDeps } from './grant.ts'
import { foreignDescription, lacksFactor, refusal, scopesOfUser } from './resource-owner.ts'
import { JWT_BEARER, SAML2_BEARER } from '../../model/clients/grant-types.ts'

/** The subject of a valid assertion. */
export interface AssertedUser {
  readonly user: User
  readonly amr: readonly string[]
  readonly acr?: readonly string[] | undefined
  /** Absent when the assertion does not say when the user signed in. */
  readonly authenticatedAt?: Date | undefined
}

/** The `grant_type` of the request and of the tokens it yields. */
export type AssertionGrantType = typeof JWT_BEARER | typeof SAML2_BEARER

/** Grants the user's scopes that the client may have; those not auto-approved need the user's approval. */
export async function authorizeByAssertion(
  grantType: AssertionGrantType,
  { user, amr, acr, authenticatedAt }: AssertedUser,
  { request, deps }: { request: DecidedRequest; deps: Pick<DecisionDeps, 'groupsOf' | 'behaviour' | 'random'> },
): Promise<Authorization> {
  const { zone, client, clientAuthMethod } = request
  const format = tokenFormatOf(request.params)
  return {
    zone,
    client,
    grantType,
    subject: { kind: 'user', user, amr, acr, ...(authenticatedAt && { authenticatedAt }) },
    scopes: await scopesOfUser(user, request, deps),
    tokens: ['access_token', 'refresh_token'], // no ID token: no user signed in to this client
    grantId: deps.random.hex(16),
    ...(format && { format }),
    ...(clientAuthMethod !== undefined && { clientAuthMethod }),
  }
}

/**
 * The user that a provider's assertion names; undefined unless exactly one provider matches the assertion. `untrusted` is
 * the error where verification fails.
 */
export function assertedUser(
  result: AssertionResult,
  { behaviour, service }: GrantDeps,
  untrusted: Refusal = behaviour.untrustedAssertion,
): AssertedUser | undefined {
  switch (result.outcome) {
    case 'signed-in':
      return result
    case 'unreadable':
    case 'no-provider':
      return undefined
    case 'provider-barred':
      throw new OAuthError(behaviour.userProviderBarred, PROVIDER_BARRED, { rule: 'provider-not-allowed' })
    case 'refused': {
      if (result.reason === 'second-factor-required') throw lacksFactor()
      const to = result.reason === 'untrusted' ? untrusted : behaviour.unusableAssertion
      throw assertionRefusal(to, result.description, { service, detail: result.detail })
    }
  }
}

/** The error for a refused assertion. The description may quote it. */
export function assertionRefusal(
  to: Refusal,
  description: string,
  { service, detail, cause }: { service: Service; detail?: string | undefined; cause?: unknown },
): OAuthError {
  const error = refusal(to, foreignDescription(description), service)
  return new OAuthError(error, error.message, {
    detail,
    cause,
    ...(error.challenge !== undefined && { challenge: error.challenge }),
  })
}
