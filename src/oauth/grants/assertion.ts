// What the grants by assertion share (RFC 7521): somebody else's signed word for a person, delivered by a client. Owns
// what a client is told of an assertion and what follows from a good one; refuses to know how one is read.
import type { AssertionResult } from '../../identity/identity.ts'
import type { Authorization } from '../../model/authorization.ts'
import type { Refusal } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { parseScope, userScopes } from '../../model/scopes.ts'
import type { Service } from '../../model/service.ts'
import type { User } from '../../model/user.ts'
import { tokenFormatOf } from '../params.ts'
import type { GrantDeps, GrantRequest } from './grant.ts'
import { PROVIDER_BARRED } from './grant.ts'
import { refusal } from './resource-owner.ts'

/** Whom a good assertion speaks of. */
export interface AssertedPerson {
  readonly user: User
  readonly amr: readonly string[]
  /** Absent when the assertion does not tell when the person signed in. */
  readonly authenticatedAt?: Date | undefined
}

/** The grants whose client brings an assertion; also the `grant_type` of their tokens. */
export type AssertionGrantType =
  | 'urn:ietf:params:oauth:grant-type:jwt-bearer'
  | 'urn:ietf:params:oauth:grant-type:saml2-bearer'

/** Everything that the client may have of the person's; what is not autoapproved counts once the person approved it. */
export async function authorizeByAssertion(
  grantType: AssertionGrantType,
  { user, amr, authenticatedAt }: AssertedPerson,
  { request, deps }: { request: GrantRequest; deps: GrantDeps },
): Promise<Authorization> {
  const { zone, client, params, clientAuthMethod } = request
  const format = tokenFormatOf(params)
  return {
    zone,
    client,
    grantType,
    subject: { kind: 'user', user, amr, ...(authenticatedAt && { authenticatedAt }) },
    scopes: userScopes(client, parseScope(params.get('scope')), await deps.groupsOf(zone, user), deps.behaviour),
    tokens: ['access_token', 'refresh_token'], // no ID token: nobody signed in to this client
    grantId: deps.random.hex(16),
    ...(format && { format }),
    ...(clientAuthMethod !== undefined && { clientAuthMethod }),
  }
}

/** The person whom a provider's assertion named; undefined when no single provider could be asked. */
export function assertedPerson(result: AssertionResult, { behaviour, service }: GrantDeps): AssertedPerson | undefined {
  switch (result.outcome) {
    case 'signed-in':
      return result
    case 'no-provider':
      return undefined
    case 'provider-barred':
      throw new OAuthError(behaviour.userProviderBarred, PROVIDER_BARRED)
    case 'refused': {
      const to = result.reason === 'untrusted' ? behaviour.untrustedAssertion : behaviour.unusableAssertion
      throw assertionRefusal(to, result.description, { service, detail: result.detail })
    }
  }
}

/** A refusal of the person, which repeats of the assertion only what is harmless in a header. */
export function assertionRefusal(
  to: Refusal,
  description: string,
  { service, detail, cause }: { service: Service; detail?: string | undefined; cause?: unknown },
): OAuthError {
  const told = refusal(to, printable(description), service)
  return new OAuthError(told, told.message, {
    detail,
    cause,
    ...(told.challenge !== undefined && { challenge: told.challenge }),
  })
}

const printable = (text: string): string => text.slice(0, 400).replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?')
