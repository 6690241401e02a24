import type { SigningAlgorithm } from './signing-key.ts'

/** Where a signature is made: on the thread that serves requests, in the one for signatures, in the pool, or by a token (PKCS#11). */
export type SigningLocation = 'main' | 'thread' | 'pool' | 'pkcs11'

/** The measurements of one signature. */
export interface Signature {
  readonly algorithm: SigningAlgorithm
  readonly place: SigningLocation
  readonly milliseconds: number
  readonly isMade: boolean
}
