import { constants, sign } from 'node:crypto'
import { SAML } from '../../support/saml/saml-xml.ts'
import type { AttackClass, Means } from '../attack.ts'
import type { HandSigned } from '../forging.ts'
import {
  canonical,
  digestOf,
  genuine,
  handSigned,
  idOf,
  messageOf,
  publicKeyHmac,
  referenceTo,
  victimAssertion,
} from '../forging.ts'

const more = (name: string): string => `http://www.w3.org/2001/04/xmldsig-more#${name}`
const pss = (hash: string): string => `http://www.w3.org/2007/05/xmldsig-more#${hash}-rsa-MGF1`
const basic = (name: string): string => `http://www.w3.org/2000/09/xmldsig#${name}`

const by =
  (parts: Partial<HandSigned> & { readonly digest?: readonly [method: string, name: string] }) =>
  (means: Means): string => {
    const xml = victimAssertion(means)
    const text = canonical(xml)
    const [method, name] = parts.digest ?? [SAML.sha256, 'sha256']
    const reference = referenceTo(`#${idOf(xml)}`, text, { method, digest: digestOf(text, name) })
    return messageOf(means, handSigned(xml, means.idp.key, parts, reference))
  }

/** Signed with the provider's key. */
const hashedBy =
  (means: Means, algorithm: string, padding = constants.RSA_PKCS1_PADDING) =>
  (text: string) =>
    sign(algorithm, Buffer.from(text), { key: means.idp.key.privateKey, padding }).toString('base64')

/** Broken algorithms, algorithms without a secret, and none. */
export const algorithms: AttackClass = {
  name: 'algorithm downgrade',
  sources: ['CVE-2009-0217', 'RFC 6194', 'RFC 9231', 'W3C XML Signature Best Practices'],
  controls: [
    {
      name: 'RSA with SHA-512',
      forge: means =>
        genuine(means, {}, { algorithm: more('rsa-sha512'), digest: 'http://www.w3.org/2001/04/xmlenc#sha512' }),
    },
    {
      name: 'signed by hand',
      forge: means => messageOf(means, handSigned(means.idp.assertion(means.parts), means.idp.key)),
    },
  ],
  attacks: [
    { name: 'declared as ECDSA, signed with RSA', reasons: ['bad-signature'], forge: by({ method: SAML.ecdsaSha256 }) },
    {
      name: 'declared as RSA-PSS, signed with PKCS #1 1.5',
      reasons: ['bad-signature'],
      forge: by({ method: pss('sha256') }),
    },
    {
      name: 'RSA-PSS with SHA-1',
      reasons: ['algorithm'],
      forge: means =>
        by({ method: pss('sha1'), value: hashedBy(means, 'sha1', constants.RSA_PKCS1_PSS_PADDING) })(means),
    },
    {
      name: 'RSA with SHA-1',
      reasons: ['algorithm'],
      forge: means => by({ method: basic('rsa-sha1'), value: hashedBy(means, 'sha1') })(means),
    },
    {
      name: 'RSA with MD5',
      reasons: ['algorithm'],
      forge: means => by({ method: more('rsa-md5'), value: hashedBy(means, 'md5') })(means),
    },
    { name: 'a digest with SHA-1', reasons: ['algorithm'], forge: by({ digest: [basic('sha1'), 'sha1'] }) },
    { name: 'a digest with MD5', reasons: ['algorithm'], forge: by({ digest: [more('md5'), 'md5'] }) },
    {
      name: 'HMAC with the certificate as secret',
      reasons: ['algorithm'],
      forge: means => by({ method: more('hmac-sha256'), value: publicKeyHmac(means.idp.key, 'certificate') })(means),
    },
    {
      name: 'HMAC with the public key as secret',
      reasons: ['algorithm'],
      forge: means => by({ method: more('hmac-sha256'), value: publicKeyHmac(means.idp.key, 'key') })(means),
    },
    {
      name: 'HMAC of no bits',
      source: 'CVE-2009-0217',
      reasons: ['algorithm'],
      forge: by({
        method: basic('hmac-sha1'),
        methodContent: '<ds:HMACOutputLength>0</ds:HMACOutputLength>',
        value: () => '',
      }),
    },
    { name: 'none', reasons: ['algorithm'], forge: by({ method: 'none', value: () => '' }) },
    { name: 'an algorithm without a name', reasons: ['algorithm'], forge: by({ method: '', value: () => 'AAAA' }) },
    {
      name: 'an algorithm named like an inherited member',
      reasons: ['algorithm'],
      forge: by({ method: 'constructor', value: () => 'AAAA' }),
    },
    {
      name: 'a digest algorithm named like an inherited member',
      reasons: ['algorithm'],
      forge: by({ digest: ['__proto__', 'sha256'] }),
    },
    {
      name: 'a signature of the digest of another algorithm',
      reasons: ['bad-signature'],
      forge: means => by({ value: hashedBy(means, 'sha1') })(means),
    },
    {
      name: 'SignedInfo with an unknown canonicalization',
      reasons: ['algorithm'],
      forge: by({ canonicalization: 'urn:none' }),
    },
  ],
}
