import type { AttackClass, Means } from '../attack.ts'
import {
  aboutVictim,
  appended,
  canonical,
  forgedCopy,
  genuine,
  handSignature,
  idOf,
  messageOf,
  referenceTo,
  replaced,
  signatureOf,
  signedAssertion,
  signedInfoOf,
  unsigned,
  victimAssertion,
} from '../forging.ts'
import { SAML } from '../../support/saml/saml-xml.ts'

/** A `SignedInfo` with the digest of the forged, unsigned assertion. */
const forgedInfo = (forged: string): string =>
  signedInfoOf({ references: referenceTo(`#${idOf(forged)}`, canonical(forged)) })

/** A signed assertion, and the attacker's signature of the forged one. */
function signedTwice(means: Means): { readonly signed: string; readonly own: string } {
  const signed = signedAssertion(means)
  const forged = aboutVictim(unsigned(signed))
  const references = referenceTo(`#${idOf(forged)}`, canonical(forged))
  return { signed, own: handSignature({ key: means.ownKey, references }) }
}

/** Signatures with duplicate parts. */
export const signedInfo: AttackClass = {
  name: 'several SignedInfo or Signature',
  sources: ['CVE-2025-29774', 'OneUptime issue 2981 (2026)'],
  controls: [{ name: 'one of each', forge: genuine }],
  attacks: [
    ...(['before', 'after'] as const).map(place => ({
      name: `a forged SignedInfo ${place} the signed one`,
      reasons: ['bad-signature'],
      forge: (means: Parameters<typeof signedAssertion>[0]) => {
        const signed = signedAssertion(means)
        const forged = aboutVictim(unsigned(signed))
        const [info = ''] = /<ds:SignedInfo.*<\/ds:SignedInfo>/s.exec(signed) ?? []
        const both = place === 'before' ? forgedInfo(forged) + info : info + forgedInfo(forged)
        return messageOf(
          means,
          aboutVictim(signed).replace(info, () => both),
        )
      },
    })),
    {
      name: 'a forged SignedInfo in an Object, first in the signature',
      reasons: ['bad-signature'],
      forge: means => {
        const signed = signedAssertion(means)
        const forged = aboutVictim(unsigned(signed))
        return messageOf(
          means,
          aboutVictim(signed).replace(
            '<ds:SignedInfo',
            () => `<ds:Object>${forgedInfo(forged)}</ds:Object><ds:SignedInfo`,
          ),
        )
      },
    },
    {
      name: 'the signed SignedInfo in an Object, the forged one in its place',
      reasons: ['bad-signature'],
      forge: means => {
        const signed = signedAssertion(means)
        const forged = aboutVictim(unsigned(signed))
        const [info = ''] = /<ds:SignedInfo.*<\/ds:SignedInfo>/s.exec(signed) ?? []
        return messageOf(
          means,
          aboutVictim(signed).replace(info, () => `${forgedInfo(forged)}<ds:Object>${info}</ds:Object>`),
        )
      },
    },
    {
      name: 'two signatures, the second one of the attacker',
      reasons: ['bad-signature'],
      forge: means => {
        const { signed, own } = signedTwice(means)
        return messageOf(
          means,
          aboutVictim(signed).replace('</ds:Signature>', () => `</ds:Signature>${own}`),
        )
      },
    },
    {
      name: 'two signatures, the first one of the attacker',
      reasons: ['bad-signature'],
      forge: means => {
        const { signed, own } = signedTwice(means)
        return messageOf(
          means,
          aboutVictim(signed).replace('<ds:Signature ', () => `${own}<ds:Signature `),
        )
      },
    },
    {
      name: 'a second signature of the same value, which the enveloped transform removes, with the forged assertion in it',
      source: 'OneUptime issue 2981 (2026)',
      reasons: ['several-assertions'],
      forge: means => {
        const signed = signedAssertion(means)
        const [value = ''] = /<ds:SignatureValue>.*<\/ds:SignatureValue>/s.exec(signed) ?? []
        const decoy = `<ds:Signature xmlns:ds="${SAML.signature}">${value}<ds:Object>${forgedCopy(signed)}</ds:Object></ds:Signature>`
        return messageOf(means, appended(signed, decoy))
      },
    },
    {
      name: 'a signed error response with the forged assertion in a second signature of the same value',
      source: 'OneUptime issue 2981 (2026)',
      only: 'acs',
      reasons: ['bad-signature'],
      forge: means => {
        const { idp, parts } = means
        const signed = idp.responseAround('', {
          ...parts,
          status: 'urn:oasis:names:tc:SAML:2.0:status:Requester',
          signs: ['response'],
        })
        const [value = ''] = /<ds:SignatureValue>.*<\/ds:SignatureValue>/s.exec(signed) ?? []
        return appended(
          signed,
          `<ds:Signature xmlns:ds="${SAML.signature}">${value}<ds:Object>${victimAssertion(means)}</ds:Object></ds:Signature>`,
        )
      },
    },
    {
      name: 'a forged subject in a second signature of the same value',
      source: 'OneUptime issue 2981 (2026)',
      reasons: ['bad-signature'],
      forge: means => {
        const signed = signedAssertion(means)
        const [value = ''] = /<ds:SignatureValue>.*<\/ds:SignatureValue>/s.exec(signed) ?? []
        const [subject = ''] = /<saml:Subject>.*<\/saml:Subject>/s.exec(aboutVictim(signed)) ?? []
        const decoy = `<ds:Signature xmlns:ds="${SAML.signature}">${value}${subject}</ds:Signature>`
        return messageOf(means, replaced(signed, '<saml:Subject>', `${decoy}<saml:Subject>`))
      },
    },
    {
      name: 'two SignatureMethod elements',
      reasons: ['bad-signature'],
      forge: means =>
        replaced(
          genuine(means),
          '<ds:SignatureMethod ',
          '<ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#hmac-sha256"/><ds:SignatureMethod ',
        ),
    },
    {
      name: 'two SignatureValue elements',
      reasons: ['bad-signature'],
      forge: means => {
        const xml = genuine(means)
        const [value = ''] = /<ds:SignatureValue>.*<\/ds:SignatureValue>/s.exec(xml) ?? []
        return aboutVictim(xml).replace(value, () => value + value)
      },
    },
    {
      name: 'a signature within the signature',
      reasons: ['bad-signature'],
      forge: means => {
        const signed = signedAssertion(means)
        const signature = signatureOf(signed)
        return messageOf(
          means,
          aboutVictim(signed).replace(
            signature,
            () => `<ds:Signature xmlns:ds="${SAML.signature}">${signature}</ds:Signature>`,
          ),
        )
      },
    },
  ],
}
