import { digest } from '../../base/secrets.ts'
import type { AssertionResult } from '../../identity/assertion-sign-in.ts'
import { SAML_NOT_PRECREATED } from '../../model/zones/identity-provider.ts'
import { bearerPath } from '../../model/zones/saml-paths.ts'
import { userAgentIn } from '../../model/users/user-agent.ts'
import { samlEntityIdOf } from '../../model/zones/zone.ts'
import { assertedUser, assertionRefusal, authorizeByAssertion } from './assertion.ts'
import type { Grant, GrantDeps, GrantRequest } from './grant.ts'
import { SAML2_BEARER } from '../../model/clients/grant-types.ts'

/**
 * Accepts a SAML 2.0 bearer assertion about a user (RFC 7522). It names the alias of the token endpoint as its recipient,
 * at the address of the zone that the request used, also where it is presented at /oauth/token.
 */
export const saml2Bearer: Grant = {
  type: SAML2_BEARER,
  caller: 'client',
  async authorize(request, deps) {
    const { zone, client, params, undoOnFailure } = request
    const { behaviour, identity, service, urls } = deps
    const assertion = params.get('assertion')
    if (assertion === undefined) {
      throw assertionRefusal(behaviour.missingAssertion, 'SAML Assertion is missing', { service })
    }
    const recipient = urls.ofZone(zone) + bearerPath(samlEntityIdOf(zone, deps.samlEntityId))
    const signIn = { assertion, type: 'saml', client, recipient, undoOnFailure }
    const result = inWordsOfSaml(await identity.signInWithAssertion(request, signIn))
    const isUnreadable = result.outcome === 'unreadable'
    const why = isUnreadable ? await identity.problemIn('saml', assertion) : UNREPORTED[result.outcome]
    if (why !== undefined) report(request, { assertion, why }, deps)
    // UAA: one code for every assertion that cannot be used. See docs/compatibility.md, C11.
    const externalUser = assertedUser(result, deps, behaviour.unusableAssertion)
    if (externalUser) return authorizeByAssertion(SAML2_BEARER, externalUser, { request, deps })
    const description = isUnreadable
      ? 'Error decoding incoming SAML message'
      : behaviour.reportUnknownIssuer
        ? 'No SAML identity provider found in zone for the issuer of the assertion'
        : 'Error determining metadata contracts'
    throw assertionRefusal(behaviour.unusableAssertion, description, { service })
  },
}

/** The reason in the audit trail for outcomes in which no provider read the assertion; `identity` reports all others. */
const UNREPORTED: Partial<Readonly<Record<AssertionResult['outcome'], string>>> = {
  'no-provider': 'issuer',
  'provider-barred': 'client',
}

/** UAA: names the protocol in one of the refusals. */
const inWordsOfSaml = (result: AssertionResult): AssertionResult =>
  result.outcome === 'refused' && result.reason === 'not-precreated'
    ? { ...result, description: SAML_NOT_PRECREATED }
    : result

function report(
  { zone, client, remoteAddress, headers }: GrantRequest,
  { assertion, why }: { readonly assertion: string; readonly why: string },
  { audit }: GrantDeps,
): void {
  const userAgent = userAgentIn(headers)
  audit({
    type: 'IdentityProviderAuthenticationFailure',
    zoneId: zone.id,
    principal: digest(assertion),
    authenticationType: 'saml',
    clientId: client.clientId,
    remoteAddress,
    ...(userAgent !== undefined && { userAgent }),
    data: why,
  })
}
