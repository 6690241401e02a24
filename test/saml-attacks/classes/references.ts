import { SAML } from '../../support/saml/saml-xml.ts'
import type { AttackClass, Means } from '../attack.ts'
import {
  appended,
  canonical,
  genuine,
  handSigned,
  idOf,
  messageOf,
  referenceTo,
  signedAssertion,
  transform,
  victimAssertion,
} from '../forging.ts'

/** Signed by the provider's own key over these references. */
const over =
  (references: (id: string, text: string) => string, more = '') =>
  (means: Means): string => {
    const xml = victimAssertion(means)
    return messageOf(means, handSigned(xml, means.idp.key, { more }, references(idOf(xml), canonical(xml))))
  }

const OBJECT = `<ds:Object xmlns:ds="${SAML.signature}" Id="object"></ds:Object>`
const exclusive = { transforms: transform(SAML.exclusive) }

/** SAML requires one reference, to the id of the parent element of the signature. */
export const references: AttackClass = {
  name: 'references',
  sources: ['SAML Core 5.4.2', 'W3C XML Signature Best Practices'],
  controls: [{ name: 'one reference to the element', forge: genuine }],
  attacks: [
    {
      name: 'an empty URI: the whole document',
      reasons: ['bad-signature'],
      forge: over((_, text) => referenceTo('', text)),
    },
    { name: 'no URI', reasons: ['bad-signature'], forge: over((_, text) => referenceTo(undefined, text)) },
    {
      name: 'a URL',
      reasons: ['bad-signature', 'document-type'],
      forge: over((_, text) => referenceTo('http://127.0.0.1:9/assertion.xml', text)),
    },
    {
      name: 'a file',
      reasons: ['bad-signature', 'document-type'],
      forge: over((_, text) => referenceTo('file:///etc/passwd', text)),
    },
    {
      name: 'an id that does not exist',
      reasons: ['bad-signature'],
      forge: over((_, text) => referenceTo('#nowhere', text)),
    },
    { name: 'an id without #', reasons: ['bad-signature'], forge: over((id, text) => referenceTo(id, text)) },
    {
      name: 'XPointer',
      reasons: ['bad-signature'],
      forge: over((id, text) => referenceTo(`#xpointer(id('${id}'))`, text)),
    },
    {
      name: 'XPath in the id',
      source: 'CVE-2024-45409',
      reasons: ['bad-signature'],
      forge: over((_, text) => referenceTo("#x' or '1'='1", text)),
    },
    {
      name: 'two references to the element',
      reasons: ['bad-signature'],
      forge: over((id, text) => referenceTo(`#${id}`, text).repeat(2)),
    },
    {
      name: 'a second reference to an Object of the signature',
      reasons: ['bad-signature'],
      forge: over((id, text) => referenceTo(`#${id}`, text) + referenceTo('#object', OBJECT, exclusive), OBJECT),
    },
    {
      name: 'only an Object of the signature',
      reasons: ['bad-signature'],
      forge: over(() => referenceTo('#object', OBJECT, exclusive), OBJECT),
    },
    {
      name: 'a Manifest that names the element',
      reasons: ['bad-signature'],
      forge: means => {
        const xml = victimAssertion(means)
        const manifest = `<ds:Manifest xmlns:ds="${SAML.signature}" Id="manifest">${referenceTo(`#${idOf(xml)}`, 'x')}</ds:Manifest>`
        const reference = referenceTo('#manifest', manifest, exclusive)
        return messageOf(
          means,
          handSigned(xml, means.idp.key, { more: `<ds:Object>${manifest}</ds:Object>` }, reference),
        )
      },
    },
    {
      name: 'a signature without a reference',
      reasons: ['bad-signature'],
      forge: over(() => ''),
    },
    {
      name: 'a thousand references',
      reasons: ['too-large'],
      forge: over((id, text) => referenceTo(`#${id}`, text).repeat(1000)),
    },
    {
      name: 'a reference to a nested signed assertion',
      reasons: ['several-assertions'],
      forge: means => {
        const signed = signedAssertion(means)
        const xml = appended(victimAssertion(means), signed)
        const reference = referenceTo(`#${idOf(signed)}`, canonical(signed))
        return messageOf(means, handSigned(xml, means.idp.key, {}, reference))
      },
    },
  ],
}
