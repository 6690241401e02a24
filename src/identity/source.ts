import type { Clock } from '../base/clock.ts'
import type { Passwords } from '../base/passwords.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Destination } from '../model/sessions/destination.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { UpstreamSession } from '../model/sessions/session.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'
import type { AddressedZone, RequestOrigin } from '../model/request.ts'
import type { DemandFinder } from './outstanding-demand.ts'
import type { SignInDemand } from '../model/sessions/sign-in-demands.ts'
import type { LogoutMessage, LogoutRequestReading, LogoutTokenReading, SignOut } from './provider-logout.ts'

/** Why a sign-in was refused. Messages to the user must reveal no more than this. */
export type SignInRefusal =
  | 'bad-credentials'
  | 'account-locked'
  | 'account-not-verified'
  | SignInDemand['refusal']
  | 'provider-disabled'
  /** The external provider refused or gave no usable response. */
  | 'refused-upstream'
  /** The external provider accepted the user, whose account an administrator must create first. */
  | 'account-not-precreated'
  /** The external provider accepted a user other than the one who was invited. */
  | 'not-invited'

/** The result of checking a password. */
export type SignInResult =
  | {
      readonly outcome: 'signed-in'
      readonly user: User
      readonly amr: readonly string[]
      readonly acr?: readonly string[]
    }
  | RefusedSignIn

/** A sign-in that is refused. */
export interface RefusedSignIn {
  readonly outcome: 'refused'
  readonly reason: SignInRefusal
  readonly userId?: string
  /** Whether the account here has no password yet, so that a user of the directory may have the name. */
  readonly hasNoPassword?: boolean
  /** Replaces the default error description for the client. */
  readonly description?: string
}

/** A user name and password as they were typed. */
export interface PasswordAttempt {
  readonly userName: string
  readonly password: string
  /**
   * Whether a browser session follows, which records the logon itself and can ask for the outstanding steps. Without one, a
   * user with an outstanding step is refused.
   */
  readonly opensSession?: boolean
}

/** A user as described by an external provider: verified, and read with the provider's attribute mappings. */
export interface ExternalUser {
  readonly userName: string
  /** Id that the provider never reassigns; together with the origin it alone identifies the account. */
  readonly externalId: string
  /** The SAML format of `externalId`: the same text in another format can be another user. */
  readonly externalIdFormat?: string
  /** Whether the provider's record asks for that format. */
  readonly isRequestedFormat?: boolean
  /** Whether the provider's administrators gave `userName` to this user alone: an account prepared with it is theirs. */
  readonly nameIsAssigned?: boolean
  readonly email?: string
  /** Whether the provider has verified `email`; absent if it does not say. */
  readonly emailVerified?: boolean
  readonly givenName?: string
  readonly familyName?: string
  readonly phoneNumber?: string
  /** The provider's authentication methods (RFC 8176), and `ext` for an external provider. */
  readonly amr: readonly string[]
  /** When the user signed in at the provider; absent if it does not say. */
  readonly authenticatedAt?: Date
  /** Authentication context classes that the provider used (`acr`). */
  readonly acr?: readonly string[]
  /** The user's groups at the provider; absent if it sends none, which leaves memberships unchanged. */
  readonly groups?: ExternalGroups
  /** Values of the mapped `user.attribute.<name>`, by name; one without values is removed. */
  readonly attributes?: Readonly<Record<string, readonly string[]>>
}

/** A user's groups at a provider, and how they are mapped here. Names that are no short text are left out by the source. */
export interface ExternalGroups {
  /** Names that the mappings of `/Groups/External` are looked up by, case-insensitively. */
  readonly mapped?: readonly string[]
  /** Whether these are DNs, which mappings may spell in another way. */
  readonly areDns?: boolean
  /** Names of groups here. Administrative ones count only where `externalGroupsWhitelist` has exactly the same name. */
  readonly asScopes?: readonly string[]
  /** Patterns of the groups here that count, in which `*` is any characters; absent means all. */
  readonly keeps?: readonly string[]
  /** The claim `roles`; `memberships`: the groups here that resulted. */
  readonly roles: readonly string[] | 'memberships'
  /** Whether groups that the zone lacks are created. */
  readonly addsMissing: boolean
}

/** Why a provider's user cannot sign in; the description is for the caller. */
export interface ExternalRefusal {
  readonly outcome: 'refused'
  /**
   * `untrusted`: verification failed. `unusable`: verified, but not mapped to an account. `not-precreated`: their account must be
   * made beforehand. `not-invited`: not the user that was invited. `second-factor-required`: where there is no browser to ask for
   * it.
   */
  readonly reason: 'untrusted' | 'unusable' | 'not-precreated' | 'not-invited' | 'second-factor-required'
  readonly description: string
  /** For the log only. */
  readonly detail?: string
  /** One word for what was wrong, which the audit trail gets. */
  readonly audit?: string
}

/** Where a client presented an assertion. */
export interface Presentation {
  readonly zone: AddressedZone
  /** The absolute URL of the endpoint, which SAML assertions name as their recipient. */
  readonly recipient: string
  /** Called with how to make an assertion usable again that can be used once only. */
  readonly undoOnFailure: (undo: () => Promise<void>) => void
}

/** Reads assertions that a provider signed and a client presents (RFC 7521). */
export interface AssertionReader {
  /** Verifies it and reads its subject. */
  read(
    assertion: string,
    presentation: Presentation,
  ): Promise<{ readonly outcome: 'genuine'; readonly externalUser: ExternalUser } | ExternalRefusal>
}

/** An attempt to sign a user in at a provider. Its values are secret, shared with the provider only. */
export interface RedirectAttempt {
  /** The URL that the provider redirects back to. */
  readonly redirectUri: string
  /** Expected in the ID token. */
  readonly nonce: string
  /** Binds the code to this request (RFC 7636 §4.1). */
  readonly codeVerifier: string
}

/** The start of an attempt. */
export interface RedirectStart extends RedirectAttempt {
  readonly state: string
  /** The name that the user has already entered, for providers with `userPropagationParameter`. */
  readonly userName?: string | undefined
  /** Whether the provider must authenticate the user again (`prompt=login`). */
  readonly reauthenticate: boolean
  /** How long ago it may have done so, in seconds. */
  readonly maxAge?: number | undefined
  /** Parameters of the client's authorization request that are for the provider too. */
  readonly passedOn?: Readonly<Record<string, string>>
}

/** The fields of a protocol's answer, as the browser brings it back in a query or a posted form. */
export interface AnswerShape {
  /** The field that repeats what the sign-in was started with: `state`, or SAML's `RelayState`. */
  readonly state: string
  /** Every other field that the source reads. */
  readonly fields: readonly string[]
  /** Whether there are tokens among them: they come in the fragment or a posted form, and must not get into a URL. */
  readonly hasTokens?: true
}

/** The response that the browser delivered: the fields of the shape, by name. */
export type RedirectAnswer = Readonly<Record<string, string | undefined>>

/** Why a redirect sign-in failed. */
export type RedirectRefusal =
  | ExternalRefusal
  /** The provider's error code (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6), or an equivalent; not validated. */
  | { readonly outcome: 'declined'; readonly error: string; readonly detail?: string; readonly audit?: string }
  /** The provider could not be reached, or its response could not be read. */
  | { readonly outcome: 'unavailable'; readonly detail: string; readonly audit?: string }

/** Signs users in by redirect to the provider. */
export interface RedirectSignIn {
  /** Whether the protocol does not define `prompt=login`, so that the provider may have ignored it. */
  readonly mayIgnoreDemands?: true
  readonly answer: AnswerShape
  /** The path below the zone's base URL that its answers come to; `/login/callback/<origin>` unless it says otherwise. */
  readonly callbackPath?: string
  /** The provider's sign-in; undefined while its endpoints are unknown. */
  start(attempt: RedirectStart, zone: AddressedZone): Promise<Destination | undefined>
  /** Whether `start` would return a URL. */
  isReady(): Promise<boolean>
  /** Whether a page shows the provider. Answers from the cache and refreshes it in the background, so no page waits. */
  isOffered(): boolean
  /** Verifies the answer, with the provider where the protocol asks it. */
  finish(
    answer: RedirectAnswer,
    attempt: RedirectAttempt,
    zone: AddressedZone,
  ): Promise<RedirectSuccess | RedirectRefusal>
  /** Verifies an unsolicited response; present only where the record allows IdP-initiated sign-ins. */
  readonly unsolicited?: (
    answer: RedirectAnswer,
    attempt: Pick<RedirectAttempt, 'redirectUri'>,
    zone: AddressedZone,
  ) => Promise<RedirectSuccess | RedirectRefusal>
}

/** A verified answer. */
export interface RedirectSuccess {
  readonly outcome: 'genuine'
  readonly externalUser: ExternalUser
  /** For a later logout. */
  readonly upstream?: UpstreamSession
  /** The refusal if the provider has signed the user out meanwhile; to be asked once the session of the sign-in is stored. */
  readonly loggedOut?: () => Promise<RedirectRefusal | undefined>
}

/** A user name and password that a client sent, to be sent on to the provider. */
export interface RelayedAttempt extends Pick<PasswordAttempt, 'userName' | 'password'> {
  /** Reads further form fields: a provider may require more than a name and a password. */
  readonly field: (name: string) => string | undefined
}

/** Sends a name and password to the provider and reads the user that it returns. */
export interface PasswordRelay {
  /** Whether pages take these passwords too; otherwise only clients send them, with the fields that the provider wants. */
  readonly onPages: boolean
  check(
    from: RequestOrigin,
    attempt: RelayedAttempt,
  ): Promise<{ readonly outcome: 'genuine'; readonly externalUser: ExternalUser } | RedirectRefusal>
}

/** An opened provider, with the sign-in methods that its protocol and settings support. */
export interface IdentitySource {
  /** Checks a user name and password here. */
  readonly password?: { check(from: RequestOrigin, attempt: PasswordAttempt): Promise<SignInResult> }
  /** Sends a user name and password to the provider, if its record allows it (`passwordGrantEnabled`). */
  readonly relay?: PasswordRelay
  readonly redirect?: RedirectSignIn
  /** The logout at the provider; undefined without one, or while it is unknown. Throws `OutboundBusy`. */
  readonly signOut?: (signOut: SignOut) => Promise<Destination | undefined>
  /** Verifies the provider's logout tokens. */
  readonly readLogoutToken?: (token: string) => Promise<LogoutTokenReading>
  /** Verifies the requests for a logout that the provider sends by browser. */
  readonly readLogoutRequest?: (message: LogoutMessage) => Promise<LogoutRequestReading>
  /** The issuer that the record names. */
  readonly issuerInRecord?: string | undefined
  /** The issuer of a record that names none: that of the provider's own document, which may have to be fetched. */
  readonly issuerInDocument?: () => Promise<string | undefined>
  /** Whether that document is where the issuer itself publishes: of several that claim the issuer, it is the genuine one. */
  readonly hasDocumentOf?: (issuer: string) => boolean
  /** Accepts the provider's assertions. */
  readonly assertion?: AssertionReader
}

/** Dependencies of every source. */
export interface SourceDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly clock: Clock
  readonly behaviour: Behaviour
  readonly findOutstandingDemand: DemandFinder
}

/** A type of identity provider. */
export interface IdentitySourceType {
  /** The `type` of its providers; the internal one is named after the service. */
  readonly type: string
  /** The issuer that a message names, unverified: for choosing the provider. */
  readonly issuerOf?: (message: string) => Promise<string | undefined>
  /** One word for why a message names no issuer, which the audit trail gets. */
  readonly problemIn?: (message: string) => Promise<string>
  open(zone: Zone, provider: IdentityProvider, deps: SourceDeps): IdentitySource
}
