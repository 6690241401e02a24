import type { AttackClass, Means } from '../attack.ts'
import { genuine, messageOf, replaced, signedResponse, victimAssertion } from '../forging.ts'

/** A changed assertion, signed by the provider. */
const signed =
  (change: (xml: string, means: Means) => string) =>
  (means: Means): string =>
    messageOf(means, means.idp.sign(change(victimAssertion(means), means)))
const status = (name: string): string => `urn:oasis:names:tc:SAML:2.0:status:${name}`
const method = (name: string): string => `urn:oasis:names:tc:SAML:2.0:cm:${name}`
const NAME = /<saml:NameID.*<\/saml:NameID>/s
const CONFIRMATION = /<saml:SubjectConfirmation .*<\/saml:SubjectConfirmation>/s

/** Signed and valid assertions that do not state a sign-in of a user. */
export const statements: AttackClass = {
  name: 'statements that say something else',
  sources: ['SAML Core 2.3.3, 2.4, 2.5, 3.2.2', 'SAML Profiles 4.1.4', 'RFC 7522 3', 'CVE-2026-18967'],
  controls: [
    { name: 'a sign-in', forge: genuine },
    {
      name: 'a second confirmation of another method',
      forge: means => {
        const xml = means.idp.assertion(means.parts)
        const [bearer = ''] = CONFIRMATION.exec(xml) ?? []
        return messageOf(
          means,
          means.idp.sign(
            xml.replace(bearer, () => `<saml:SubjectConfirmation Method="${method('holder-of-key')}"/>${bearer}`),
          ),
        )
      },
    },
  ],
  attacks: [
    ...['Requester', 'Responder', 'AuthnFailed', 'PartialLogout'].map(name => ({
      name: `status ${name} with an assertion`,
      only: 'acs' as const,
      reasons: ['status'],
      forge: (means: Means) => genuine(means, { status: status(name) }),
    })),
    {
      name: 'status Responder of a signed response',
      only: 'acs',
      reasons: ['status'],
      forge: means => signedResponse(means, { status: status('Responder') }),
    },
    {
      name: 'no status',
      only: 'acs',
      reasons: ['status'],
      forge: means => replaced(genuine(means), /<samlp:Status>.*<\/samlp:Status>/s, ''),
    },
    {
      name: 'two Status elements, the first one Success',
      only: 'acs',
      reasons: ['status'],
      forge: means =>
        replaced(
          genuine(means),
          '</samlp:Status>',
          `</samlp:Status><samlp:Status><samlp:StatusCode Value="${status('Responder')}"/></samlp:Status>`,
        ),
    },
    {
      name: 'two StatusCode elements, the first one Success',
      only: 'acs',
      reasons: ['status'],
      forge: means =>
        replaced(
          genuine(means),
          '</samlp:Status>',
          `<samlp:StatusCode Value="${status('Responder')}"/></samlp:Status>`,
        ),
    },
    {
      name: 'Success within Responder',
      only: 'acs',
      reasons: ['status'],
      forge: means =>
        replaced(
          genuine(means),
          /<samlp:StatusCode [^>]*>/,
          `<samlp:StatusCode Value="${status('Responder')}"><samlp:StatusCode Value="${status('Success')}"/></samlp:StatusCode>`,
        ),
    },
    {
      name: 'two signed assertions',
      only: 'acs',
      reasons: ['several-assertions'],
      forge: means => messageOf(means, means.idp.signedAssertion(means.parts) + means.idp.sign(victimAssertion(means))),
    },
    {
      name: 'two assertions in a signed response',
      only: 'acs',
      reasons: ['several-assertions'],
      forge: ({ idp, parts, ...means }) =>
        idp.responseAround(idp.assertion(parts) + victimAssertion({ idp, parts, ...means }), {
          ...parts,
          signs: ['response'],
        }),
    },
    {
      name: 'confirmation: holder of key',
      reasons: ['subject'],
      forge: means => genuine(means, { method: method('holder-of-key') }),
    },
    {
      name: 'confirmation: sender-vouches',
      reasons: ['subject'],
      forge: means => genuine(means, { method: method('sender-vouches') }),
    },
    { name: 'confirmation: none', reasons: ['subject'], forge: signed(xml => replaced(xml, CONFIRMATION, '')) },
    {
      name: 'confirmation without data',
      reasons: ['subject'],
      forge: signed(xml => replaced(xml, /<saml:SubjectConfirmationData[^>]*>/, '')),
    },
    { name: 'no subject', reasons: ['subject'], forge: means => genuine(means, { nameId: null }) },
    { name: 'no name', reasons: ['name-id'], forge: signed(xml => replaced(xml, NAME, '')) },
    { name: 'an empty name', reasons: ['name-id'], forge: means => genuine(means, { nameId: '' }) },
    { name: 'a blank name', reasons: ['name-id'], forge: means => genuine(means, { nameId: '   ' }) },
    {
      name: 'two names',
      reasons: ['name-id'],
      forge: signed(xml => xml.replace(NAME, text => text + text.replace('victim', 'mallory'))),
    },
    {
      name: 'two subjects',
      reasons: ['subject'],
      forge: signed(xml =>
        xml.replace(/<saml:Subject>.*<\/saml:Subject>/s, text => text + text.replace('victim', 'mallory')),
      ),
    },
    {
      name: 'a BaseID instead of a name',
      reasons: ['name-id'],
      forge: signed(xml => replaced(xml, NAME, '<saml:BaseID NameQualifier="victim"/>')),
    },
    {
      name: 'two conditions, the second one for another audience',
      reasons: ['condition'],
      forge: signed(xml =>
        replaced(
          xml,
          '</saml:Conditions>',
          '</saml:Conditions><saml:Conditions><saml:AudienceRestriction><saml:Audience>x</saml:Audience></saml:AudienceRestriction></saml:Conditions>',
        ),
      ),
    },
    {
      name: 'an unknown condition',
      reasons: ['condition'],
      forge: means => genuine(means, { moreConditions: '<saml:Condition Type="x"/>' }),
    },
    {
      name: 'a condition of another namespace',
      reasons: ['condition'],
      forge: means => genuine(means, { moreConditions: '<x:Only xmlns:x="urn:x"/>' }),
    },
    {
      name: 'no sign-in (no AuthnStatement)',
      only: 'acs',
      reasons: ['subject'],
      forge: means => genuine(means, { authnInstant: null }),
    },
    {
      name: 'version 1.1',
      reasons: ['not-xml'],
      forge: signed(xml => replaced(xml, 'Version="2.0"', 'Version="1.1"')),
    },
    { name: 'no version', reasons: ['not-xml'], forge: signed(xml => replaced(xml, ' Version="2.0"', '')) },
    {
      name: 'version 3.0 of the response',
      only: 'acs',
      reasons: ['not-xml'],
      forge: means => replaced(genuine(means), 'Version="2.0"', 'Version="3.0"'),
    },
    {
      name: 'an assertion instead of a response, or vice versa',
      reasons: ['not-xml'],
      forge: means => {
        const assertion = means.idp.signedAssertion(means.parts)
        return means.endpoint === 'acs' ? assertion : means.idp.responseAround(assertion, { ...means.parts, signs: [] })
      },
    },
    {
      name: 'a logout response instead of a response',
      reasons: ['not-xml'],
      forge: ({ idp, parts }) => idp.sign(idp.logoutResponse({ inResponseTo: parts.inResponseTo ?? 'x' })),
    },
    {
      name: 'a request instead of a response',
      reasons: ['not-xml'],
      forge: means =>
        replaced(genuine(means), /^<(\w+:\w+)/, '<samlp:AuthnRequest').replace(/<\/\w+:\w+>$/, '</samlp:AuthnRequest>'),
    },
  ],
}
