import { readCertificates } from './certificate.ts'
import { openPrivateKey } from './private-key.ts'

/** SAML signs and decrypts on the main thread: two milliseconds with this length, thirty with twice the length. */
const MAX_RSA_BITS = 4096
const MIN_RSA_BITS = 1024

/**
 * The unencrypted PKCS#8 PEM of the RSA or EC private key that belongs to the certificate. Undefined for anything else:
 * no key, a wrong passphrase, the certificate of another key.
 */
export async function readCertifiedKey(given: {
  readonly key: string
  readonly passphrase?: string | undefined
  readonly certificate: string
}): Promise<string | undefined> {
  const key = await openPrivateKey(given.key, given.passphrase ?? '')
  if (key === undefined || !['rsa', 'ec'].includes(key.type)) return undefined
  if (key.bits !== undefined && (key.bits < MIN_RSA_BITS || key.bits > MAX_RSA_BITS)) return undefined
  return readCertificates(given.certificate)?.[0]?.publicPem === key.publicPem ? key.privatePem : undefined
}

/** Whether two PEM strings hold the same certificates, ignoring line endings; false if either holds none. */
export function isSameCertificate(one: string, other: string): boolean {
  const rawOf = (pem: string): string | undefined =>
    readCertificates(pem)
      ?.map(({ raw }) => raw.toString('base64'))
      .join()
  const raw = rawOf(one)
  return raw !== undefined && raw === rawOf(other)
}
