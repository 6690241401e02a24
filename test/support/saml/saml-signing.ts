// Keys of SAML providers for tests; signs with xml-crypto's signing half, and encrypts with xml-encryption.
import type { BinaryLike, KeyLike } from 'node:crypto'
import { createHash, createPrivateKey, createPublicKey, createSign } from 'node:crypto'
import { SignedXml } from 'xml-crypto'
import { encrypt } from 'xml-encryption'
import type { KeyEncryptionAlgorithm } from 'xml-encryption'
import { certificateOf } from '../certificate.ts'
import { privatePem } from '../config.ts'
import { inTurn } from '../rsa-keys.ts'
import { SAML } from './saml-xml.ts'
import type { EncryptionParts, SigningParts } from './saml-parts.ts'

/** A key pair of a provider. */
export interface SamlTestKey {
  /** PKCS#8 PEM. */
  readonly privateKey: string
  /** X.509 in PEM. */
  readonly certificate: string
}

/** A key pair with its self-signed certificate. */
export function samlTestKey(kind: 'rsa' | 'ec' = 'rsa'): SamlTestKey {
  const privateKey = kind === 'rsa' ? privatePem('rsa', 2048) : privatePem('ec', 'P-256')
  return { privateKey, certificate: certificateOf(privateKey, { name: 'provider' }) }
}

/** The next of a few keys, which providers share, because making one takes time. */
export const nextKey = inTurn(8, () => samlTestKey())

/** ECDSA for xml-crypto, which supports only RSA. */
class EcdsaSha256 {
  getAlgorithmName = (): string => SAML.ecdsaSha256
  getSignature = (signedInfo: BinaryLike, key: KeyLike): string =>
    createSign('sha256')
      .update(signedInfo)
      .sign({ key: key as string, dsaEncoding: 'ieee-p1363' }, 'base64') // the PEM of the signer
  verifySignature = (): never => {
    throw new Error('nothing is verified here')
  }
}

/** SHA-384 for xml-crypto, which supports SHA-1, SHA-256 and SHA-512. */
class Sha384 {
  getAlgorithmName = (): string => SAML.sha384
  getHash = (xml: string): string => createHash('sha384').update(xml).digest('base64')
}

/** Signs the root element, behind its issuer. */
export function signed(xml: string, key: SamlTestKey, signing: SigningParts = {}): string {
  const { key: own = key, digest = SAML.sha256, canonicalization = SAML.exclusive } = signing
  const isRsa = createPrivateKey(own.privateKey).asymmetricKeyType === 'rsa'
  const signer = new SignedXml({
    privateKey: own.privateKey,
    publicCert: own.certificate,
    idAttribute: 'ID',
    signatureAlgorithm: signing.algorithm ?? (isRsa ? SAML.rsaSha256 : SAML.ecdsaSha256),
    canonicalizationAlgorithm: canonicalization,
  })
  signer.SignatureAlgorithms[SAML.ecdsaSha256] = EcdsaSha256
  signer.HashAlgorithms[SAML.sha384] = Sha384
  signer.addReference({
    xpath: '/*',
    transforms: [...(signing.transforms ?? [SAML.enveloped, SAML.exclusive])],
    digestAlgorithm: digest,
    inclusiveNamespacesPrefixList: [...(signing.inclusivePrefixes ?? [])],
  })
  signer.computeSignature(xml, {
    prefix: 'ds',
    location: { reference: "/*/*[local-name(.)='Issuer']", action: 'after' },
  })
  return signer.getSignedXml()
}

/** Encrypts text to the certificate; the result is an `EncryptedData` element. */
export const encrypted = (
  xml: string,
  { certificate, algorithm = SAML.gcm, keyAlgorithm = SAML.oaep, digest, mask }: EncryptionParts,
): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = {
      rsa_pub: createPublicKey(certificate).export({ type: 'spki', format: 'pem' }),
      pem: certificate,
      encryptionAlgorithm: algorithm,
      keyEncryptionAlgorithm: keyAlgorithm as KeyEncryptionAlgorithm, // its types lack those of XML Encryption 1.1
      ...(digest !== undefined && { keyEncryptionDigest: digest }),
      ...(mask !== undefined && { keyEncryptionMgf: mask }),
      disallowEncryptionWithInsecureAlgorithm: false,
      warnInsecureAlgorithm: false,
    }
    encrypt(xml, options, (error: Error | null, result) => {
      if (error) reject(error)
      else resolve(result)
    })
  })

/** A copy with the last bit of one byte of the ciphertext flipped; a negative place counts from the end. */
export function withBitTurned(encryptedData: string, place: number): string {
  const text = [...encryptedData.matchAll(/CipherValue>\s*([A-Za-z0-9+/=]+)/g)].at(-1)?.[1] ?? ''
  const bytes = Buffer.from(text, 'base64')
  const at = place < 0 ? bytes.length + place : place
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  return encryptedData.replace(text, bytes.toString('base64'))
}
