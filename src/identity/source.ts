import type { Clock } from '../base/clock.ts'
import type { Passwords } from '../base/passwords.ts'
import type { Behaviour } from '../model/compatibility.ts'
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
  /** The provider that was asked did not agree, or gave nothing that can be used. */
  | 'refused-upstream'

/** What checking a password concluded. */
export type SignInResult =
  | { readonly outcome: 'signed-in'; readonly user: User; readonly amr: readonly string[] }
  | {
      readonly outcome: 'refused'
      readonly reason: SignInRefusal
      readonly userId?: string
      /** What a client is told instead of the usual words. */
      readonly description?: string
    }

/** A user name and password as they were typed. */
export interface PasswordAttempt {
  readonly userName: string
  readonly password: string
  /**
   * Whether a browser session begins with it: the session records the logon, and whoever must choose a new password is
   * asked for one in it; they are refused otherwise.
   */
  readonly opensSession?: boolean
  /** Whose share of what is slow it uses. */
  readonly remoteAddress?: string | undefined
}

/** What a provider says of a person: found genuine, and read by the provider's attribute mappings. */
export interface ExternalPerson {
  readonly userName: string
  /** Id that the provider never reassigns; together with the origin it alone identifies the account. */
  readonly externalId: string
  readonly email?: string
  /** Whether the provider vouches for this very address; absent when it does not say. */
  readonly emailVerified?: boolean
  readonly givenName?: string
  readonly familyName?: string
  readonly phoneNumber?: string
  /** How the provider made sure (RFC 8176), and that it was another than this server. */
  readonly amr: readonly string[]
  /** When the person signed in there; absent when the provider does not say. */
  readonly authenticatedAt?: Date
}

/** Why somebody whom a provider names gets no account here; the description is the caller's. */
export interface ExternalRefusal {
  readonly outcome: 'refused'
  /** `untrusted`: nothing proves what is said. `unusable`: it is proven, and no account follows from it. */
  readonly reason: 'untrusted' | 'unusable'
  readonly description: string
  /** For the log only. */
  readonly detail?: string
}

/** Reads statements that a provider signed and somebody else delivers (RFC 7521). */
export interface AssertionReader {
  /** Whether it claims to be this provider's; proves nothing. */
  isFrom(assertion: string): Promise<boolean>
  /** Verifies it and reads whom it names. */
  read(assertion: string): Promise<{ readonly outcome: 'genuine'; readonly person: ExternalPerson } | ExternalRefusal>
}

/** One try to sign somebody in at a provider; only this server and the provider know its values. */
export interface RedirectAttempt {
  /** Where the provider sends the browser back to. */
  readonly redirectUri: string
  /** Comes back in the ID token. */
  readonly nonce: string
  /** Binds the code to this request (RFC 7636 §4.1). */
  readonly codeVerifier: string
}

/** A try that begins. */
export interface RedirectStart extends RedirectAttempt {
  readonly state: string
  /** The name that the person gave already, for providers that want to know it. */
  readonly userName?: string | undefined
  /** Whether a new sign-in was demanded, which one that the provider remembers would not be. */
  readonly reauthenticate: boolean
}

/** The parameters with which the browser came back. */
export interface RedirectAnswer {
  readonly code?: string | undefined
  readonly error?: string | undefined
  /** RFC 9207. */
  readonly issuer?: string | undefined
}

/** Why nobody came back from a provider. */
export type RedirectRefusal =
  | ExternalRefusal
  /** It says so itself, by a code of RFC 6749 §4.1.2.1 or OpenID Connect Core §3.1.2.6; any text may stand there. */
  | { readonly outcome: 'declined'; readonly error: string }
  /** It could not be asked, or gave no answer that can be read. */
  | { readonly outcome: 'unavailable'; readonly detail: string }

/** Sends people to the provider, and takes back who it says they are. */
export interface RedirectSignIn {
  /** The provider's address for the try; undefined while it is not known. */
  start(attempt: RedirectStart): Promise<string | undefined>
  /** Whether `start` would give an address. */
  isReady(): Promise<boolean>
  /** Whether a page shows it: judged by what is known now, so that no page waits. What is not known yet is found out. */
  isOffered(): boolean
  /** Redeems the answer and verifies what comes of it. */
  finish(
    answer: RedirectAnswer,
    attempt: RedirectAttempt,
  ): Promise<{ readonly outcome: 'genuine'; readonly person: ExternalPerson } | RedirectRefusal>
}

/** A user name and password that are told to the provider, by a client that was told them. */
export interface RelayedAttempt extends Pick<PasswordAttempt, 'userName' | 'password'> {
  /** What else the caller sent: a provider may want more of a person than a name and a password. */
  readonly field: (name: string) => string | undefined
  readonly remoteAddress?: string | undefined
}

/** Tells the provider a name and a password, and reads whom it knows by them. */
export interface PasswordRelay {
  check(
    attempt: RelayedAttempt,
  ): Promise<{ readonly outcome: 'genuine'; readonly person: ExternalPerson } | RedirectRefusal>
}

/** A provider, opened: it has the abilities of its protocol and lacks the others. */
export interface IdentitySource {
  /** Takes a user name and a password. */
  readonly password?: { check(attempt: PasswordAttempt): Promise<SignInResult> }
  /** Hands a user name and a password on to the provider, where its record allows it (`passwordGrantEnabled`). */
  readonly relay?: PasswordRelay
  /** Takes people who were sent to the provider. */
  readonly redirect?: RedirectSignIn
  /** Takes what the provider signed. */
  readonly assertion?: AssertionReader
}

/** Dependencies of every source. */
export interface SourceDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly clock: Clock
  readonly behaviour: Behaviour
}

/** A type of identity provider. */
export interface IdentitySourceType {
  /** The `type` of the providers that it opens; the internal one has the service's name. */
  readonly type: string
  open(zone: Zone, provider: IdentityProvider, deps: SourceDeps): IdentitySource
}
