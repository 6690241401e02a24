import { sign } from 'node:crypto'
import type { AttackClass, Means } from '../attack.ts'
import {
  afterIssuer,
  digestOf,
  genuine,
  handSignature,
  handSigned,
  idOf,
  messageOf,
  referenceTo,
  replaced,
  victimAssertion,
} from '../forging.ts'

/** A signature over empty input, which matches every empty canonicalization. */
const ofNothing =
  ({ idp }: Means) =>
  (): string =>
    sign('sha256', Buffer.alloc(0), idp.key.privateKey).toString('base64')

/** A relative namespace name, which canonicalization must refuse (Canonical XML 1.0, 1.3). */
const RELATIVE = ' xmlns:void="1"'

/** Canonicalization errors that are treated as empty output, whose digest is known. */
export const voidCanonicalization: AttackClass = {
  name: 'void canonicalization',
  sources: ['PortSwigger, The Fragile Lock, 2025', 'CVE-2025-66568', 'CVE-2025-66567'],
  controls: [{ name: 'non-empty canonicalization', forge: genuine }],
  attacks: [
    {
      name: 'the digest of empty input',
      reasons: ['bad-signature'],
      forge: means => {
        const xml = victimAssertion(means)
        const reference = referenceTo(`#${idOf(xml)}`, '')
        return messageOf(means, handSigned(xml, means.idp.key, {}, reference))
      },
    },
    {
      name: 'the digest of empty input, a relative namespace in the assertion',
      reasons: ['not-xml'],
      forge: means => {
        const xml = victimAssertion(means).replace('<saml:Subject>', `<saml:Subject${RELATIVE}>`)
        return messageOf(means, handSigned(xml, means.idp.key, {}, referenceTo(`#${idOf(xml)}`, '')))
      },
    },
    {
      name: 'the signature of empty input, a relative namespace in SignedInfo',
      reasons: ['not-xml'],
      forge: means => {
        const xml = victimAssertion(means)
        const signature = handSignature({
          key: means.idp.key,
          references: referenceTo(`#${idOf(xml)}`, '', { digest: digestOf('') }),
          value: ofNothing(means),
        }).replace('<ds:SignedInfo ', `<ds:SignedInfo${RELATIVE} `)
        return messageOf(means, afterIssuer(xml, signature))
      },
    },
    {
      name: 'the signature of empty input, an empty SignedInfo',
      reasons: ['bad-signature'],
      forge: means => {
        const xml = victimAssertion(means)
        const signature = handSignature({
          key: means.idp.key,
          references: referenceTo(`#${idOf(xml)}`, ''),
          value: ofNothing(means),
        })
        return messageOf(
          means,
          afterIssuer(xml, replaced(signature, /<ds:SignedInfo.*<\/ds:SignedInfo>/s, '<ds:SignedInfo/>')),
        )
      },
    },
    {
      name: 'a relative namespace in a genuine message',
      reasons: ['not-xml'],
      means: 'mallory',
      forge: means => genuine(means).replace('<saml:Subject>', `<saml:Subject${RELATIVE}>`),
    },
    {
      name: 'an empty DigestValue',
      reasons: ['bad-signature'],
      forge: means => {
        const xml = victimAssertion(means)
        return messageOf(means, handSigned(xml, means.idp.key, {}, referenceTo(`#${idOf(xml)}`, '', { digest: '' })))
      },
    },
  ],
}
