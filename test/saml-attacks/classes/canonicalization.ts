import { SAML } from '../../support/saml/saml-xml.ts'
import type { AttackClass, Means } from '../attack.ts'
import { aboutVictim, appended, genuine, messageOf, replaced, signedAssertion, victimAssertion } from '../forging.ts'

/** A genuine message with a change that the digest might not cover. */
const changed =
  (what: string | RegExp, piece: string) =>
  (means: Means): string =>
    replaced(genuine(means), what, piece)

/** A changed assertion, signed by the provider. */
const signedWith = (change: (xml: string) => string) => (means: Means) =>
  messageOf(means, means.idp.sign(change(victimAssertion(means))))

const NAME = />mallory<\/saml:NameID>/
const OTHER = 'urn:mallory'

/** Ambiguous names, prefixes and attributes. */
export const canonicalization: AttackClass = {
  name: 'namespaces and attributes',
  sources: [
    'Jensen et al., The curse of namespaces in XML Signature, 2009',
    'PortSwigger, SAML roulette: the hacker always wins, 2025',
    'PortSwigger, The Fragile Lock, 2025 (attribute pollution, namespace confusion)',
  ],
  controls: [
    {
      name: 'another prefix, and the default namespace',
      forge: means => {
        const { idp, parts } = means
        const xml = idp.assertion(parts).replaceAll('saml:', '').replace('xmlns:saml=', 'xmlns=')
        const [open = '', issuer = ''] = /^<Assertion[^>]*>(<Issuer>[^<]*<\/Issuer>)/.exec(xml) ?? []
        const rest = xml.slice(open.length)
        const prefixed = `${open.replace(issuer, '')}<s:Issuer xmlns:s="${SAML.assertion}">${idp.entityId}</s:Issuer>${rest}`
        return messageOf(means, idp.sign(prefixed))
      },
    },
    {
      name: 'a list of inclusive prefixes',
      forge: means => genuine(means, {}, { inclusivePrefixes: ['xs', 'saml'] }),
    },
    {
      name: 'attribute values with xsi:type',
      forge: means =>
        messageOf(
          means,
          means.idp.sign(
            appended(
              means.idp.assertion(means.parts),
              '<saml:AttributeStatement><saml:Attribute Name="x"><saml:AttributeValue xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string">x</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>',
            ),
          ),
        ),
    },
  ],
  attacks: [
    {
      name: 'a second NameID in another namespace, before the NameID',
      reasons: ['bad-signature'],
      forge: changed('<saml:NameID', `<saml:NameID xmlns:saml="${OTHER}">victim</saml:NameID><saml:NameID`),
    },
    {
      name: 'a second NameID without namespace, before the NameID',
      reasons: ['bad-signature'],
      forge: changed('<saml:NameID', '<NameID>victim</NameID><saml:NameID'),
    },
    {
      name: 'the prefix bound to another namespace at the assertion',
      reasons: ['bad-signature', 'not-xml', 'issuer'],
      forge: means =>
        aboutVictim(genuine(means)).replace(`xmlns:saml="${SAML.assertion}" ID`, `xmlns:saml="${OTHER}" ID`),
    },
    {
      name: 'an assertion of another namespace, signed',
      reasons: ['several-assertions', 'not-xml', 'issuer'],
      forge: signedWith(xml => xml.replace(SAML.assertion, OTHER)),
    },
    {
      name: 'an assertion of SAML 1.1, signed',
      reasons: ['several-assertions', 'not-xml', 'issuer'],
      forge: signedWith(xml => xml.replace(SAML.assertion, 'urn:oasis:names:tc:SAML:1.0:assertion')),
    },
    {
      name: 'an undeclared prefix, as only XML 1.1 allows',
      reasons: ['not-xml'],
      forge: changed('<saml:Subject>', '<saml:Subject xmlns:saml="">'),
    },
    {
      name: 'the default namespace removed',
      reasons: ['bad-signature'],
      forge: changed('<saml:Subject>', '<saml:Subject xmlns=""><NameID>victim</NameID>'),
    },
    {
      name: 'the prefix xml bound to another namespace',
      reasons: ['not-xml'],
      forge: changed('<saml:Subject>', `<saml:Subject xmlns:xml="${OTHER}">`),
    },
    {
      name: 'the prefix xmlns declared',
      reasons: ['not-xml'],
      forge: changed('<saml:Subject>', `<saml:Subject xmlns:xmlns="${OTHER}">`),
    },
    {
      name: 'a prefix that is not declared',
      reasons: ['not-xml'],
      forge: changed('<saml:Subject>', '<saml:Subject x:y="z">'),
    },
    {
      name: 'the same attribute twice',
      reasons: ['not-xml'],
      forge: changed(' Method="', ` Method="${SAML.bearer}" Method="`),
    },
    {
      name: 'the same attribute twice by two prefixes',
      reasons: ['not-xml'],
      forge: changed('<saml:Subject>', '<saml:Subject xmlns:a="urn:x" xmlns:b="urn:x" a:y="1" b:y="2">'),
    },
    {
      name: 'an additional attribute of another namespace, signed',
      reasons: [],
      means: 'victim',
      forge: signedWith(xml =>
        xml.replace(' Recipient="', ' xmlns:x="urn:x" x:Recipient="https://other.example" Recipient="'),
      ),
    },
    {
      name: 'the recipient only in another namespace, signed',
      reasons: ['recipient'],
      forge: signedWith(xml => xml.replace(' Recipient="', ' xmlns:x="urn:x" x:Recipient="')),
    },
    {
      name: 'NotOnOrAfter only in the SAML namespace, signed',
      reasons: ['subject'],
      forge: signedWith(xml => xml.replace(/ NotOnOrAfter="([^"]*)"\/>/, ' saml:NotOnOrAfter="$1"/>')),
    },
    {
      name: 'the id only in another namespace',
      reasons: ['bad-signature'],
      forge: means =>
        aboutVictim(genuine(means))
          .replace('<saml:Assertion ', '<saml:Assertion xmlns:x="urn:x" ')
          .replace(/(<saml:Assertion[^>]*) ID=/, '$1 x:ID='),
    },
    {
      name: 'xml:space and xml:lang added',
      reasons: ['bad-signature'],
      forge: changed('<saml:Subject>', '<saml:Subject xml:space="preserve" xml:lang="en">'),
    },
    {
      name: 'xml:base added at the response',
      only: 'acs',
      reasons: [],
      means: 'mallory',
      forge: changed('<samlp:Response ', '<samlp:Response xml:base="https://other.example/" '),
    },
    {
      name: 'an attribute added to the signed assertion',
      reasons: ['bad-signature'],
      forge: changed('<saml:NameID ', '<saml:NameID SPProvidedID="victim" '),
    },
    {
      name: 'a NameID with blanks around it',
      reasons: ['bad-signature'],
      forge: changed(NAME, '> victim </saml:NameID>'),
    },
    {
      name: 'an unused namespace declaration with the victim’s name',
      reasons: [],
      means: 'mallory',
      forge: changed('<saml:Subject>', '<saml:Subject xmlns:victim="urn:victim">'),
    },
    {
      name: 'XML 1.1',
      reasons: ['not-xml'],
      forge: means => `<?xml version="1.1"?>${genuine(means)}`,
    },
    {
      name: 'a NameID in another case, signed',
      reasons: ['name-id'],
      forge: signedWith(xml => xml.replaceAll('saml:NameID', 'saml:NameId')),
    },
    {
      name: 'a list of inclusive prefixes with an outer declaration',
      only: 'acs',
      reasons: ['bad-signature'],
      means: 'mallory',
      forge: means => {
        const signed = signedAssertion(means, {}, { inclusivePrefixes: ['x'] })
        return messageOf(means, signed).replace('<samlp:Response ', '<samlp:Response xmlns:x="urn:victim" ')
      },
    },
  ],
}
