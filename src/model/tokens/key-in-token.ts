// A signing key that a PKCS#11 token keeps: a hardware module, a smart card, a network service, SoftHSM.
import type { SigningAlgorithm } from './signing-key.ts'
import { hashBytesOfSymmetric } from './signing-key.ts'

/** Where the key is, and how to reach it. */
export interface Pkcs11Settings {
  /** Path of the maker's library. */
  readonly module: string
  /** Label of the token. */
  readonly token: string
  /** Label of the private key. */
  readonly label: string
  readonly pin: string
  /** How many signatures are made at a time: sessions, each in a process of its own. */
  readonly sessions: number
}

/** A signing key of the configuration whose private half is in a token. */
export interface KeyInToken {
  readonly algorithm: SigningAlgorithm
  readonly pkcs11: Pkcs11Settings
  /** Certificates of the public key in PEM. */
  readonly certificate?: string
}

/** Stored in the database, sealed, instead of the private key. No PEM and no usable shared secret: `isInToken` checks both. */
export const IN_TOKEN = 'pkcs11:'

/** Whether the private key of the algorithm is in a token. A shared secret never is, regardless of its content. */
export const isInToken = (algorithm: SigningAlgorithm, privateKey: string): boolean =>
  privateKey === IN_TOKEN && hashBytesOfSymmetric(algorithm) === undefined
