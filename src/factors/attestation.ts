// The attestation of an authenticator that creates a passkey (Web Authentication Level 3 §6.5). Without roots configured by
// the operator, attestation is neither requested nor stored. With them, only a chain to one of them counts; anything
// else is treated as no attestation, so that users of other authenticators can have a passkey, too.
import { leadsToRoot } from '../base/certificates/certificate-chain.ts'

/** An attestation object as the library decodes it. */
interface DecodedAttestation {
  get(key: 'fmt'): string
  get(key: 'attStmt'): { get(key: 'x5c'): unknown }
}

/** How an attestation is handled. */
type AttestationUse =
  /** Verified with the passkey; `provesHardware` then. */
  | { readonly kind: 'verified'; readonly provesHardware: boolean }
  /** Removed before anything is verified. */
  | { readonly kind: 'ignored' }
  | { readonly kind: 'refused' }

/** Decides it; the certificates of `roots` are in DER. */
export function useOfAttestation(
  attestation: DecodedAttestation,
  { roots, now }: { readonly roots: readonly Uint8Array[]; readonly now: Date },
): AttestationUse {
  const format = attestation.get('fmt')
  const chain = format === 'packed' ? attestation.get('attStmt').get('x5c') : undefined
  if (format === 'none' || (format === 'packed' && chain === undefined)) {
    return { kind: 'verified', provesHardware: false }
  }
  if (roots.length === 0) return { kind: 'refused' }
  const isTrusted = isChain(chain) && leadsToRoot(chain, roots, now)
  return isTrusted ? { kind: 'verified', provesHardware: true } : { kind: 'ignored' }
}

const isChain = (value: unknown): value is readonly Uint8Array[] =>
  Array.isArray(value) && value.every(each => each instanceof Uint8Array)
