// The part of the store's interface that is about key pairs: those of zones, which sign tokens, and those of the server.
import type { SigningKeyRecord } from '../../model/tokens/signing-key.ts'

/** Signing keys; `list` is cached. */
export interface SigningKeyStore {
  /** Every key of the zone, oldest first. */
  list(zoneId: string): Promise<readonly SigningKeyRecord[]>
  /** Adds a key or replaces the one with this id; if it is active, every other key of the zone becomes inactive. */
  save(zoneId: string, key: SigningKeyRecord): Promise<void>
  /** Adds an inactive key; throws `AlreadyExists` when its id is taken. */
  insert(zoneId: string, key: SigningKeyRecord): Promise<void>
  /**
   * Makes the key the active one, even if it was retired. False when there is no such key, it expired before `now`, or it
   * has no private half.
   */
  activate(zoneId: string, keyId: string, now: Date): Promise<boolean>
  /** Sets the expiry to `expiresAt` unless an earlier one is set; false when the key is active or missing. */
  retire(zoneId: string, keyId: string, expiresAt: Date): Promise<boolean>
  /**
   * Adds an active key unless the zone has one, and returns the zone's keys: two processes that start at once agree on one
   * key.
   */
  saveFirst(zoneId: string, key: SigningKeyRecord): Promise<readonly SigningKeyRecord[]>
}

/** A key pair of the server itself, not of a zone. */
export interface ServerKey {
  readonly name: string
  /** Sealed: PKCS#8 PEM. */
  readonly sealedPrivateKey: string
  /** PEM. */
  readonly certificate: string
  readonly createdAt: Date
}

/** Key pairs that the server generates; each is generated once and never changes. */
export interface ServerKeyStore {
  find(name: string): Promise<ServerKey | undefined>
  /** Stores the key unless there is one with this name; returns the stored one, the same to all concurrent callers. */
  saveFirst(key: ServerKey): Promise<ServerKey>
}
