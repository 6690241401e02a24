import { X509Certificate } from 'node:crypto'
import { validityOf } from './certificate-validity.ts'
import { derSequence, smallNumber } from './der.ts'
import { EXTENSION, extensionsIn, isFullyProcessed } from './extensions.ts'

/** Certificates in DER. */
type Certificates = readonly Uint8Array[]

const MAX_CHAIN = 4

/**
 * Whether the chain, its own certificate first and then issuer after issuer, leads to one of the roots, and all of them are
 * valid at this moment (RFC 5280 §6). One with name constraints, or another critical extension that is not processed, leads
 * nowhere. Does not check revocation.
 */
export function leadsToRoot(chain: Certificates, roots: Certificates, now: Date): boolean {
  if (chain.length === 0 || chain.length > MAX_CHAIN) return false
  try {
    const certificates = chain.map(each => new X509Certificate(each))
    const isValidChain = certificates.every(
      (each, index) => isUsable(each, now) && (index === 0 || isIssuer(each, certificates.slice(0, index))),
    )
    return (
      isValidChain &&
      roots.map(each => new X509Certificate(each)).some(root => isUsable(root, now) && ends(certificates, root))
    )
  } catch {
    return false // one is no certificate
  }
}

function isUsable(certificate: X509Certificate, now: Date): boolean {
  const { validFrom, validTo } = validityOf(certificate)
  return validFrom <= now && now <= validTo && isFullyProcessed(certificate.raw)
}

/** Whether it issued the last one of those below it, and may have so many of them below it. */
function isIssuer(issuer: X509Certificate, below: readonly X509Certificate[]): boolean {
  const of = below.at(-1)
  return (
    issuer.ca &&
    below.length - 1 <= maxPathLength(issuer) &&
    of?.checkIssued(issuer) === true &&
    of.verify(issuer.publicKey)
  )
}

/** RFC 5280 §4.2.1.9: how many authorities may stand between this one and the certificate of a chain. */
function maxPathLength({ raw }: X509Certificate): number {
  const constraints = extensionsIn(raw)?.find(({ id }) => id === EXTENSION.basicConstraints)
  const [, length] = derSequence(constraints?.value)
  return length ? (smallNumber(length) ?? 0) : MAX_CHAIN
}

/** Chains are sent with their root or without it. */
const ends = (chain: readonly X509Certificate[], root: X509Certificate): boolean =>
  chain.at(-1)?.raw.equals(root.raw) === true || isIssuer(root, chain)
