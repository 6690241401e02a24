import type { Clock } from '../base/clock.ts'
import type { Passwords } from '../base/passwords.ts'
import type { IdentityProvider } from '../model/identity-provider.ts'
import type { User } from '../model/user.ts'
import type { Zone } from '../model/zone.ts'
import type { Store } from '../store/store.ts'

/** Why a sign-in was refused; what a caller tells the person follows from it, and never more than it. */
export type SignInRefusal =
  | 'bad-credentials'
  | 'account-locked'
  | 'account-not-verified'
  | 'password-change-required'
  | 'provider-disabled'

/** What checking a password concluded. */
export type SignInResult =
  | { readonly outcome: 'signed-in'; readonly user: User; readonly amr: readonly string[] }
  | { readonly outcome: 'refused'; readonly reason: SignInRefusal; readonly userId?: string }

/** A user name and password as they were typed. */
export interface PasswordAttempt {
  readonly userName: string
  readonly password: string
}

/** A provider, opened: it has the abilities of its protocol and lacks the others. */
export interface IdentitySource {
  /** Takes a user name and a password. */
  readonly password?: { check(attempt: PasswordAttempt): Promise<SignInResult> }
}

/** What every source may use. */
export interface SourceDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly clock: Clock
}

/** A type of identity provider. */
export interface IdentitySourceType {
  /** The `type` of the providers that it opens; the internal one has the service's name. */
  readonly type: string
  open(zone: Zone, provider: IdentityProvider, deps: SourceDeps): IdentitySource
}
