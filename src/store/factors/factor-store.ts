// The part of the store's interface that is about second factors. Each change brings `factors` of the account up to date in
// its transaction, so that a request needs no further read to know which factors there are.
import type { FactorCodeKind, FactorCodesLeft, Passkey, Totp } from '../../model/users/passkey.ts'
import type { FactorMethod } from '../../records/user.ts'

/** Passkeys, secrets of one-time passwords, and codes that stand in for them. Changes do nothing for unknown users. */
export interface FactorStore {
  /** The oldest first. */
  passkeysOf(zoneId: string, userId: string): Promise<readonly Passkey[]>
  findPasskey(zoneId: string, credentialId: string): Promise<Passkey | undefined>
  /** False if the zone has the credential already, the user has `max` passkeys, or other factors than `expected`. */
  addPasskey(zoneId: string, passkey: Passkey, max: number, expected?: readonly FactorMethod[]): Promise<boolean>
  /** False, and nothing is written, unless the counter moves forward or neither side counts; of two equal uses one is true. */
  usePasskey(zoneId: string, credentialId: string, use: PasskeyUse): Promise<boolean>
  renamePasskey(zoneId: string, of: PasskeyOfUser, name: string): Promise<boolean>
  /** With `leaves`, false unless one of these is left. */
  removePasskey(zoneId: string, of: PasskeyOfUser, leaves?: readonly FactorMethod[]): Promise<boolean>
  totpOf(zoneId: string, userId: string): Promise<Totp | undefined>
  /** Takes the place of an earlier one; false if the user has other factors than `expected`. */
  setTotp(zoneId: string, userId: string, totp: Totp, expected?: readonly FactorMethod[]): Promise<boolean>
  /** False if this step or a later one was used before, here or by another process. */
  useTotp(zoneId: string, userId: string, use: { readonly step: number; readonly at: Date }): Promise<boolean>
  /** With `leaves`, false unless one of these is left. */
  removeTotp(zoneId: string, userId: string, leaves?: readonly FactorMethod[]): Promise<boolean>
  /** Takes the place of all codes of the kind. */
  setCodes(zoneId: string, userId: string, codes: NewFactorCodes): Promise<boolean>
  codesLeft(zoneId: string, userId: string, now: Date): Promise<FactorCodesLeft>
  /** Deletes the code and returns it; undefined if it is unknown or expired. Of two concurrent uses one gets it. */
  useCode(zoneId: string, userId: string, digest: string, now: Date): Promise<UsedFactorCode | undefined>
  /** Puts back a code that was used in vain, unless newer ones have taken its place, or it would be gone with the last factor. */
  restoreCode(zoneId: string, userId: string, code: UsedFactorCode): Promise<void>
  /** Deletes all codes of the kind. */
  removeCodes(zoneId: string, userId: string, kind: FactorCodeKind): Promise<boolean>
  /** Deletes every factor and every code; browsers no longer count as remembered. */
  reset(zoneId: string, userId: string): Promise<boolean>
  /** Browsers no longer count as remembered. */
  forgetDevices(zoneId: string, userId: string): Promise<boolean>
  /** The user declined an offered passkey. */
  declineOffer(zoneId: string, userId: string): Promise<boolean>
}

/** A passkey of one user, by our id. */
interface PasskeyOfUser {
  readonly userId: string
  readonly id: string
}

/** What a sign-in with a passkey leaves behind. */
interface PasskeyUse {
  readonly counter: number
  /** Kept if it is not known yet. */
  readonly isBackupEligible: boolean
  readonly isBackedUp: boolean
  readonly isUserVerified: boolean
  readonly at: Date
}

/** A code that was used. */
export interface UsedFactorCode {
  readonly kind: FactorCodeKind
  readonly digest: string
  readonly createdAt: Date
  readonly expiresAt?: Date
}

/** A set of codes, as digests. */
interface NewFactorCodes {
  readonly kind: FactorCodeKind
  readonly digests: readonly string[]
  readonly createdAt: Date
  /** Absent: they do not expire. */
  readonly expiresAt?: Date
}
