import { X509Certificate } from 'node:crypto'
import { validityOf } from './certificate-validity.ts'

/** Certificates in DER. */
type Certificates = readonly Uint8Array[]

const MAX_CHAIN = 4

/**
 * Whether the chain, its own certificate first and then issuer after issuer, leads to one of the roots, and all of them are
 * valid at this moment (RFC 5280 §6). Does not check revocation.
 */
export function leadsToRoot(chain: Certificates, roots: Certificates, now: Date): boolean {
  if (chain.length === 0 || chain.length > MAX_CHAIN) return false
  try {
    const certificates = chain.map(each => new X509Certificate(each))
    const isValidChain = certificates.every(
      (each, index) => isValidAt(each, now) && (index === 0 || isIssuer(certificates[index - 1], each)),
    )
    const last = certificates.at(-1)
    return (
      isValidChain &&
      roots.map(each => new X509Certificate(each)).some(root => isValidAt(root, now) && ends(last, root))
    )
  } catch {
    return false // one is no certificate
  }
}

function isValidAt(certificate: X509Certificate, now: Date): boolean {
  const { validFrom, validTo } = validityOf(certificate)
  return validFrom <= now && now <= validTo
}

const isIssuer = (of: X509Certificate | undefined, issuer: X509Certificate): boolean =>
  issuer.ca && of?.checkIssued(issuer) === true && of.verify(issuer.publicKey)

/** Chains are sent with their root or without it. */
const ends = (last: X509Certificate | undefined, root: X509Certificate): boolean =>
  last?.raw.equals(root.raw) === true || isIssuer(last, root)
