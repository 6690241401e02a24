/** A passkey: a public-key credential of a user (Web Authentication Level 3 §4). */
export interface Passkey {
  /** Our random id, used in forms and APIs. */
  readonly id: string
  readonly userId: string
  /** The authenticator's, base64url; unique in the zone. */
  readonly credentialId: string
  /** COSE key, base64url. */
  readonly publicKey: string
  /** The authenticator's count of signatures; 0 for one that does not count. */
  readonly counter: number
  readonly transports: readonly string[]
  /** The model of the authenticator; zeros where it does not say. */
  readonly aaguid: string
  /** Whether other devices of the user may get it; never changes. Absent for an older one that has not been used since. */
  readonly isBackupEligible?: boolean
  /** Whether other devices of the user have it, too. */
  readonly isBackedUp: boolean
  /** Whether a trusted attestation says that hardware protects the private key. */
  readonly isAttested: boolean
  /** Whether it has verified its user in a ceremony that another factor protected: only then can it sign in alone (`uvInitialized`). */
  readonly hasVerifiedUser: boolean
  /** The name given by the user. */
  readonly name: string
  readonly createdAt: Date
  readonly lastUsedAt?: Date
}

/** The secret that a user's authenticator app makes one-time passwords from (RFC 6238). */
export interface Totp {
  /** Sealed; see `factors/one-time-passwords.ts`. */
  readonly sealedSecret: string
  /** The last time step whose password was used: passwords up to this step are refused. */
  readonly lastStep: number
  readonly createdAt: Date
  readonly lastUsedAt?: Date
}

/** A single-use replacement for a second factor: a recovery code, or a code issued by an administrator. */
export type FactorCodeKind = 'recovery' | 'bypass'

/** The codes that a user still has. */
export interface FactorCodesLeft {
  readonly recovery: number
  readonly recoveryCreatedAt?: Date
  readonly bypassUntil?: Date
}
