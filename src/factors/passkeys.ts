// The two passkey ceremonies: registration and authentication (Web Authentication Level 3 §7). The options are
// created here; responses are verified by the library, which is loaded with the first one. Independent of sessions
// and pages.
import type { Clock } from '../base/clock.ts'
import type { JsonRecord } from '../base/json.ts'
import type { Random } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
import type { Passkey } from '../model/users/passkey.ts'
import type { User } from '../model/users/user.ts'
import type { Store } from '../store/store.ts'
import { authenticate, authenticationOptions } from './authentication.ts'
import type { PasskeyProof } from './authentication.ts'
import type { Ceremony, PasskeyRefusal } from './ceremony.ts'
import { createChallenges } from './challenges.ts'
import { readRegistration, registrationOptions } from './registration.ts'

/** Passkeys of all zones. */
export interface Passkeys {
  /** The options of `navigator.credentials.create` for a new passkey of the user. */
  registrationOptions(at: Ceremony, account: { readonly user: User; readonly siteName: string }): Promise<JsonRecord>
  /** The new passkey in the browser's response; it is not stored yet. */
  readRegistration(
    at: Ceremony,
    sent: { readonly user: User; readonly answer: string; readonly name: string },
  ): Promise<{ readonly outcome: 'new'; readonly passkey: Passkey } | PasskeyRefusal>
  /** The options of `navigator.credentials.get`: with a user for a second factor, else to identify the user. */
  authenticationOptions(at: Ceremony, user?: User): Promise<JsonRecord>
  /** Verifies the browser's response, and records the use of the passkey. */
  authenticate(
    at: Ceremony,
    sent: { readonly answer: string; readonly user?: User },
  ): Promise<PasskeyProof | PasskeyRefusal>
}

/** Dependencies of `createPasskeys`. */
interface PasskeyDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly vault: Vault
  /** Root certificates of attestations, in DER; without them, no attestation is requested. */
  readonly attestationRoots?: readonly Uint8Array[]
}

/** One instance serves every zone. */
export function createPasskeys(given: PasskeyDeps): Passkeys {
  const deps = { ...given, challenges: createChallenges(given) }
  return {
    registrationOptions: (at, account) => registrationOptions(at, account, deps),
    readRegistration: (at, sent) => readRegistration(at, sent, deps),
    authenticationOptions: (at, user) => authenticationOptions(at, user, deps),
    authenticate: (at, sent) => authenticate(at, sent, deps),
  }
}
