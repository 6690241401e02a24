import type { AttackClass } from '../attack.ts'
import {
  aboutVictim,
  afterIssuer,
  genuine,
  messageOf,
  replaced,
  signatureOf,
  signedAssertion,
  signedResponse,
  unsigned as withoutSignature,
  victimAssertion,
} from '../forging.ts'

/** Unsigned content. */
export const unsigned: AttackClass = {
  name: 'no signature',
  sources: ['OWASP SAML Security Cheat Sheet', 'CVE-2026-28323'],
  controls: [{ name: 'a signed assertion', forge: genuine }],
  attacks: [
    { name: 'never signed', reasons: ['no-signature'], forge: means => messageOf(means, victimAssertion(means)) },
    {
      name: 'signature stripped',
      reasons: ['no-signature'],
      forge: means => messageOf(means, withoutSignature(signedAssertion(means))),
    },
    {
      name: 'signature of the response stripped',
      only: 'acs',
      reasons: ['no-signature'],
      forge: means => withoutSignature(signedResponse(means)),
    },
    {
      name: 'changed after signing',
      reasons: ['bad-signature'],
      forge: means => messageOf(means, aboutVictim(signedAssertion(means))),
    },
    {
      name: 'changed after the response was signed',
      only: 'acs',
      reasons: ['bad-signature'],
      forge: means => aboutVictim(signedResponse(means)),
    },
    {
      name: 'an empty Signature element',
      reasons: ['bad-signature'],
      forge: means =>
        messageOf(
          means,
          afterIssuer(victimAssertion(means), '<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"/>'),
        ),
    },
    {
      name: 'an empty SignatureValue',
      reasons: ['bad-signature'],
      forge: means => genuine(means).replace(/<ds:SignatureValue>[^<]*/, '<ds:SignatureValue>'),
    },
    {
      name: 'no SignatureValue',
      reasons: ['bad-signature'],
      forge: means => replaced(genuine(means), /<ds:SignatureValue>.*<\/ds:SignatureValue>/s, ''),
    },
    {
      name: 'no Reference',
      reasons: ['bad-signature'],
      forge: means => replaced(aboutVictim(genuine(means)), /<ds:Reference .*<\/ds:Reference>/s, ''),
    },
    {
      name: 'the signature in a comment',
      reasons: ['comment'],
      forge: means => {
        const signed = signedAssertion(means)
        return messageOf(means, afterIssuer(victimAssertion(means), `<!--${signatureOf(signed)}-->`))
      },
    },
    {
      name: 'the signature in another namespace',
      reasons: ['no-signature', 'bad-signature'],
      forge: means =>
        genuine(means).replaceAll('http://www.w3.org/2000/09/xmldsig#"', 'http://www.w3.org/2000/09/xmldsig"'),
    },
    {
      name: 'the signature of another message',
      reasons: ['bad-signature'],
      forge: means => messageOf(means, afterIssuer(victimAssertion(means), signatureOf(signedAssertion(means)))),
    },
    {
      name: 'a signed response without an assertion',
      only: 'acs',
      reasons: ['several-assertions'],
      forge: ({ idp, parts }) => idp.responseAround('', { ...parts, signs: ['response'] }),
    },
    { name: 'not XML', reasons: ['not-xml'], forge: () => 'victim' },
    { name: 'an empty message', reasons: [], forge: () => '' },
  ],
}
