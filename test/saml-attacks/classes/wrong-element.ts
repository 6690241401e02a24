import type { AttackClass, Means } from '../attack.ts'
import {
  afterIssuer,
  appended,
  canonical,
  forgedCopy,
  genuine,
  handSignature,
  handSigned,
  idOf,
  messageOf,
  referenceTo,
  replaced,
  signatureOf,
  signedAssertion,
  signedResponse,
  unsigned,
  victimAssertion,
} from '../forging.ts'
import { SAML } from '../../support/saml/saml-xml.ts'

/** A fragment that the provider once signed, with an `ID` of its own. */
const signedPiece = ({ idp }: Means, piece: string): string =>
  handSignature({ key: idp.key, references: referenceTo('#piece', canonical(piece)) })

const NAME_ID = `<saml:NameID xmlns:saml="${SAML.assertion}" ID="piece">mallory</saml:NameID>`
const STATEMENT = `<saml:AttributeStatement xmlns:saml="${SAML.assertion}" ID="piece"><saml:Attribute Name="x"></saml:Attribute></saml:AttributeStatement>`

/** A genuine assertion that the provider signed with this piece before the name, where the schema has nothing of the kind. */
const besideName =
  (piece: string) =>
  (means: Means): string => {
    const xml = replaced(means.idp.assertion(means.parts), '<saml:NameID', `${piece}<saml:NameID`)
    return messageOf(means, handSigned(xml, means.idp.key))
  }

/** A valid signature of another element than the processed one. */
export const wrongElement: AttackClass = {
  name: 'signature of another element, or at another position',
  sources: ['CVE-2024-8698', 'CVE-2025-54369', 'CVE-2025-54419', 'SAML Core 5.4.2'],
  controls: [
    { name: 'a signed assertion', forge: genuine },
    { name: 'a signed response', only: 'acs', forge: signedResponse },
  ],
  attacks: [
    {
      name: 'only the attributes are signed',
      reasons: ['bad-signature'],
      forge: means =>
        messageOf(means, afterIssuer(appended(victimAssertion(means), STATEMENT), signedPiece(means, STATEMENT))),
    },
    {
      name: 'only a name is signed, in Advice',
      reasons: ['bad-signature'],
      forge: means =>
        messageOf(
          means,
          afterIssuer(
            replaced(
              victimAssertion(means),
              '</saml:Conditions>',
              `</saml:Conditions><saml:Advice>${NAME_ID}</saml:Advice>`,
            ),
            signedPiece(means, NAME_ID),
          ),
        ),
    },
    {
      name: 'the signature of the assertion as one of the response, beside a forged assertion',
      only: 'acs',
      reasons: ['several-assertions'],
      forge: means => {
        const signed = signedAssertion(means)
        return afterIssuer(messageOf(means, forgedCopy(signed) + unsigned(signed)), signatureOf(signed))
      },
    },
    {
      name: 'the signature of the assertion as one of the response, the signed assertion first',
      only: 'acs',
      reasons: ['several-assertions'],
      forge: means => {
        const signed = signedAssertion(means)
        return afterIssuer(messageOf(means, unsigned(signed) + forgedCopy(signed)), signatureOf(signed))
      },
    },
    {
      name: 'the signature of the response within its assertion',
      only: 'acs',
      reasons: ['bad-signature'],
      forge: means => {
        const signed = signedResponse(means)
        const [, assertion = ''] = /(<saml:Assertion.*<\/saml:Assertion>)/s.exec(signed) ?? []
        return unsigned(signed).replace(assertion, afterIssuer(assertion, signatureOf(signed)))
      },
    },
    {
      name: 'the signature at the end of the message',
      only: 'acs',
      reasons: ['bad-signature'],
      forge: means => {
        const signed = signedAssertion(means)
        return appended(messageOf(means, forgedCopy(signed)), signatureOf(signed))
      },
    },
    {
      name: 'the signature deep within the subject',
      reasons: ['no-signature', 'bad-signature'],
      forge: means => {
        const signed = signedAssertion(means)
        return messageOf(means, unsigned(signed).replace('</saml:Subject>', `${signatureOf(signed)}</saml:Subject>`))
      },
    },
    ...(['Signature', 'SignedInfo'] as const).flatMap(part => [
      {
        name: `an empty ${part} in the subject, which the provider signed`,
        reasons: ['bad-signature'],
        forge: besideName(`<ds:${part} xmlns:ds="${SAML.signature}"></ds:${part}>`),
      },
      {
        name: `an empty ${part} of another namespace in the subject, which the provider signed`,
        reasons: ['bad-signature'],
        forge: besideName(`<ds:${part} xmlns:ds="urn:other"></ds:${part}>`),
      },
    ]),
    {
      name: 'a signed message other than a response or assertion',
      reasons: ['not-xml'],
      forge: ({ idp, parts }) => idp.sign(idp.logoutResponse({ inResponseTo: parts.inResponseTo ?? 'x' })),
    },
    {
      name: 'a signed logout request around a forged assertion',
      reasons: ['not-xml'],
      forge: means => appended(means.idp.sign(means.idp.logoutRequest()), victimAssertion(means)),
    },
    {
      name: 'a Reference that matches the forged assertion only ignoring case',
      reasons: ['several-assertions'],
      forge: means => {
        const signed = signedAssertion(means)
        const id = idOf(signed)
        return messageOf(
          means,
          replaced(appended(forgedCopy(signed), signed), / ID="[^"]*"/, ` ID="${id.toUpperCase()}"`),
        )
      },
    },
  ],
}
