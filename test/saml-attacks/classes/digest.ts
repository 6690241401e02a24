import type { AttackClass, Means } from '../attack.ts'
import {
  aboutVictim,
  afterIssuer,
  canonical,
  digestOf,
  genuine,
  messageOf,
  replaced,
  signedAssertion,
  unsigned,
} from '../forging.ts'
import { SAML } from '../../support/saml/saml-xml.ts'

/** The digest of the forged assertion, and the signed one. */
function both(means: Means) {
  const signed = signedAssertion(means)
  const forged = digestOf(canonical(aboutVictim(unsigned(signed))))
  const [, own = ''] = /<ds:DigestValue>([^<]*)</.exec(signed) ?? []
  return { signed, forged, own }
}

/** The compared digest is not the signed one. */
export const digest: AttackClass = {
  name: 'digest from another place',
  sources: ['CVE-2024-45409', 'CVE-2025-29775'],
  controls: [{ name: 'a single digest', forge: genuine }],
  attacks: [
    {
      name: 'a DigestValue in Extensions, before the signature',
      only: 'acs',
      reasons: ['bad-signature'],
      forge: means => {
        const { signed, forged } = both(means)
        const piece = `<samlp:Extensions><ds:DigestValue xmlns:ds="${SAML.signature}">${forged}</ds:DigestValue></samlp:Extensions>`
        return afterIssuer(messageOf(means, aboutVictim(signed)), piece)
      },
    },
    {
      name: 'a DigestValue in StatusDetail',
      only: 'acs',
      reasons: ['bad-signature'],
      forge: means => {
        const { signed, forged } = both(means)
        const piece = `<samlp:StatusDetail><ds:DigestValue xmlns:ds="${SAML.signature}">${forged}</ds:DigestValue></samlp:StatusDetail></samlp:Status>`
        return replaced(messageOf(means, aboutVictim(signed)), '</samlp:Status>', piece)
      },
    },
    {
      name: 'a DigestValue in an Object of the signature, first',
      reasons: ['bad-signature'],
      forge: means => {
        const { signed, forged } = both(means)
        return messageOf(
          means,
          aboutVictim(signed).replace(
            '<ds:SignedInfo',
            `<ds:Object><ds:DigestValue>${forged}</ds:DigestValue></ds:Object><ds:SignedInfo`,
          ),
        )
      },
    },
    {
      name: 'a second DigestValue before the signed one',
      reasons: ['bad-signature'],
      forge: means => {
        const { signed, forged } = both(means)
        return messageOf(
          means,
          aboutVictim(signed).replace('<ds:DigestValue>', `<ds:DigestValue>${forged}</ds:DigestValue><ds:DigestValue>`),
        )
      },
    },
    {
      name: 'the forged digest in a comment before the signed one',
      source: 'CVE-2025-29775',
      reasons: ['comment'],
      forge: means => {
        const { signed, forged, own } = both(means)
        return messageOf(means, aboutVictim(signed).replace(`>${own}<`, `><!--${forged}-->${own}<`))
      },
    },
    {
      name: 'the signed digest in a comment, the forged one as text',
      source: 'CVE-2025-29775',
      reasons: ['comment'],
      forge: means => {
        const { signed, forged, own } = both(means)
        return messageOf(means, aboutVictim(signed).replace(`>${own}<`, `><!--${own}-->${forged}<`))
      },
    },
    {
      name: 'the forged digest in a processing instruction',
      reasons: ['not-xml'],
      forge: means => {
        const { signed, forged, own } = both(means)
        return messageOf(means, aboutVictim(signed).replace(`>${own}<`, `><?x ${own}?>${forged}<`))
      },
    },
    {
      name: 'a comment in the digest of a genuine message',
      source: 'CVE-2025-29775',
      reasons: ['comment'],
      means: 'mallory',
      forge: means => {
        const { own } = both(means)
        return genuine(means).replace('<ds:DigestValue>', `<ds:DigestValue><!--${own}-->`)
      },
    },
    {
      name: 'a part of the digest',
      reasons: ['bad-signature'],
      forge: means => {
        const { signed, own } = both(means)
        return messageOf(means, signed.replace(own, own.slice(0, 20)))
      },
    },
  ],
}
