import { readCertificates } from '../../base/certificates/certificate.ts'
import type { Problems } from '../problems.ts'

/** `passkeys` in the configuration file. */
export interface PasskeysFile {
  readonly attestation_roots?: string
}

/** The server's requirements for authenticators. */
export interface PasskeySettings {
  /** Root certificates in DER for attestations that prove hardware; absent: no attestation is requested. */
  readonly attestationRoots?: readonly Uint8Array[]
}

/** Reads `passkeys`. */
export function passkeysOf(file: PasskeysFile | undefined, problems: Problems): PasskeySettings {
  const key = 'passkeys.attestation_roots'
  if (file?.attestation_roots === undefined || !problems.hasValidTypes(key)) return {}
  const certificates = readCertificates(file.attestation_roots)
  if (certificates) return { attestationRoots: certificates.map(({ raw }) => raw) }
  problems.add(key, 'must be X.509 certificates in PEM')
  return {}
}
