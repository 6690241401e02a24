import type { AttackClass } from '../attack.ts'
import { genuine, messageOf, replaced, signedAssertion, signedResponse, victimAssertion } from '../forging.ts'

/** Messages in the name of another provider. */
export const issuer: AttackClass = {
  name: 'issuer of another provider',
  sources: ['SAML Profiles 4.1.4.2', 'Mainka et al., Your Software at my Service, CCSW 2014'],
  controls: [
    { name: 'the provider', forge: genuine },
    {
      name: 'an assertion in a response without issuer',
      only: 'acs',
      forge: means => genuine(means, { responseIssuer: null }),
    },
  ],
  attacks: [
    {
      name: "another provider's key, this one's name",
      reasons: ['bad-signature'],
      forge: means => messageOf(means, means.rival.sign(victimAssertion(means))),
    },
    {
      name: "another provider's assertion in this one's response",
      only: 'acs',
      reasons: ['bad-signature'],
      forge: means =>
        messageOf(means, signedAssertion({ ...means, idp: means.rival }, { issuer: means.rival.entityId }), {
          responseIssuer: means.idp.entityId,
        }),
    },
    {
      name: "this one's key, another provider's name",
      reasons: ['issuer', 'bad-signature'],
      forge: means => genuine(means, { issuer: means.rival.entityId, responseIssuer: means.idp.entityId }),
    },
    {
      name: "another provider's name in the response",
      only: 'acs',
      reasons: ['issuer', 'bad-signature'],
      forge: means => genuine(means, { responseIssuer: means.rival.entityId }),
    },
    {
      name: "this one's name in the response, another provider's in the signed assertion, the response signed",
      only: 'acs',
      reasons: ['issuer'],
      forge: means => signedResponse(means, { issuer: means.rival.entityId, responseIssuer: means.idp.entityId }),
    },
    {
      name: 'a name without an account',
      reasons: ['issuer'],
      forge: means => genuine(means, { issuer: 'https://nobody.example/saml' }),
    },
    {
      name: 'no name in the assertion',
      reasons: ['bad-signature', 'issuer'],
      forge: means =>
        messageOf(
          means,
          means.idp.sign(means.idp.assertion(means.parts)).replace(/<saml:Issuer>[^<]*<\/saml:Issuer>/, ''),
        ),
    },
    {
      name: 'the name in another case',
      reasons: ['issuer', 'audience'],
      forge: means => genuine(means, { issuer: means.idp.entityId.toUpperCase() }),
    },
    {
      name: 'the name with a blank',
      reasons: ['issuer'],
      forge: means => genuine(means, { issuer: ` ${means.idp.entityId}`, responseIssuer: means.idp.entityId }),
    },
    {
      name: 'a name of another format',
      reasons: ['issuer'],
      forge: means =>
        messageOf(
          means,
          means.idp.sign(
            replaced(
              victimAssertion(means),
              '<saml:Issuer>',
              '<saml:Issuer Format="urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress">',
            ),
          ),
        ),
    },
    {
      name: 'two issuers, the first one correct',
      reasons: ['issuer'],
      forge: means =>
        messageOf(
          means,
          means.idp.sign(
            replaced(
              victimAssertion(means),
              '</saml:Issuer>',
              `</saml:Issuer><saml:Issuer>${means.rival.entityId}</saml:Issuer>`,
            ),
          ),
        ),
    },
  ],
}
