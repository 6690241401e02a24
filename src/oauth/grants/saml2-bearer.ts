import { samlEntityIdOf } from '../../model/zone.ts'
import { assertedPerson, assertionRefusal, authorizeByAssertion } from './assertion.ts'
import type { Grant } from './grant.ts'

const TYPE = 'urn:ietf:params:oauth:grant-type:saml2-bearer'

/** Accepts a SAML 2.0 bearer assertion about a user (RFC 7522). */
export const saml2Bearer: Grant = {
  type: TYPE,
  caller: 'client',
  async authorize(request, deps) {
    const { zone, client, params } = request
    const { behaviour, identity, service, urls } = deps
    const assertion = params.get('assertion')
    if (assertion === undefined) {
      throw assertionRefusal(behaviour.missingAssertion, 'SAML Assertion is missing', { service })
    }
    const alias = encodeURIComponent(samlEntityIdOf(zone, deps.samlEntityId))
    const recipient = `${urls.ofZone(zone)}/oauth/token/alias/${alias}`
    const result = await identity.signInWithAssertion(request, { assertion, type: 'saml', client, recipient })
    const person = assertedPerson(result, deps)
    if (!person) {
      const description = 'No SAML identity provider found in zone for the issuer of the assertion'
      throw assertionRefusal(behaviour.unusableAssertion, description, { service })
    }
    return authorizeByAssertion(TYPE, person, { request, deps })
  },
}
