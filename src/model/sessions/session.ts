import { digest } from '../../base/secrets.ts'
import type { Behaviour } from '../compatibility.ts'
import type { User } from '../users/user.ts'

/** A browser session: anonymous while it only stores a pending request, signed in once it has a user. */
export interface Session {
  readonly zoneId: string
  /** Digest of the cookie's value; the value itself is never stored. */
  readonly idDigest: string
  readonly signIn?: SignIn
  /** The URL, below the base URL, that the user requested before being asked to sign in. */
  readonly savedRequest?: string
  /** The authorization request that is pending approval, with the listed scopes, to compare with the posted form. */
  readonly pendingApproval?: string
  /** Ids of the clients that the user signed in to; absent if there is none. */
  readonly clients?: readonly string[]
  readonly createdAt: Date
  readonly lastSeenAt: Date
  readonly expiresAt: Date
}

/** A sign-in: user, methods and time. */
export interface SignIn {
  readonly userId: string
  readonly origin: string
  /**
   * When the user authenticated: at a provider that may be earlier than the session. Absent if the provider does not say, and was
   * not asked for a new sign-in.
   */
  readonly authenticatedAt?: Date
  /** The time is unknown, but the provider was sent `prompt=login`, which its protocol does not define. */
  readonly wasDemanded?: true
  /** Methods, RFC 8176. */
  readonly amr: readonly string[]
  /** Authentication context classes, if the provider sent any. */
  readonly acr?: readonly string[]
  /** Random; each client's `sid` is derived from it, so that clients cannot correlate theirs. */
  readonly sessionSalt: string
  /** The account's `passwordRevision` at sign-in; absent in older sessions. */
  readonly passwordRevision?: string
  /** The `User-Agent` at sign-in, shortened by `keptUserAgent`. */
  readonly userAgent?: string
  /** The IP address that signed in, as trusted proxies report it, in its canonical form. */
  readonly remoteAddress?: string
  /** The provider's session that it came from; see `providerSessionOf`. */
  readonly providerSession?: string
  /** Whether the zone was addressed by its path: the issuer that the session's clients know is that of the address. */
  readonly byPath?: true
}

/** A session as it is written. */
export interface NewSession extends Session {
  readonly signIn: SignIn
  /** `UpstreamSession.logoutHint`, sealed; read by `SessionStore.sealedLogoutHint` only, since most requests have no use for it. */
  readonly sealedLogoutHint?: string | undefined
}

/** Stored of a sign-in at a provider, for the logout there and from there. */
export interface UpstreamSession {
  /** What the provider needs at a logout by its protocol: OpenID Connect's ID token. */
  readonly logoutHint: string
  /** The provider's id of the session: the claim `sid`, or SAML's SessionIndex. */
  readonly sid?: string
  /** When the provider's session ends, if it is limited (SAML's SessionNotOnOrAfter). Ours does not outlive it. */
  readonly endsAt?: Date
}

/** A digest of the provider's `sid`: one of another provider is never equal. */
export const providerSessionOf = (origin: string, sid: string): string => digest(JSON.stringify([origin, sid]))

/** The `sid` of a browser session for one client (Front-Channel Logout §3); clients cannot correlate theirs. */
export const sessionIdFor = ({ sessionSalt }: Pick<SignIn, 'sessionSalt'>, clientId: string): string =>
  digest(`${sessionSalt} ${clientId}`).slice(0, 32)

/** Maximum number of recorded clients, which bounds a future logout of all of them. */
export const MAX_CLIENTS = 100

/** Default idle timeout: 30 minutes. Every session ends after twelve hours. */
export const SESSION_IDLE_SECONDS = 1800
/** See `SESSION_IDLE_SECONDS`. */
export const SESSION_ABSOLUTE_SECONDS = 43_200

/** Accepted difference to the clock of a provider, when it says at what time it authenticated the user. */
export const PROVIDER_SKEW_SECONDS = 60

/** How long after a sign-in the user may change what protects the account: possession of the session alone is not enough. */
const FRESH_SECONDS = 300

/** Whether a sign-in was just now. One that seems to be in the future, after the clock was set back, was not. */
export const isRecent = (at: Date, now: Date): boolean => Math.abs(now.getTime() - at.getTime()) <= FRESH_SECONDS * 1000

/** Whether the user has signed in just now. A second factor does not renew it. */
export const isFresh = ({ createdAt }: Pick<Session, 'createdAt'>, now: Date): boolean => isRecent(createdAt, now)

/**
 * When the user signed in, for `auth_time` and `max_age`; undefined if that is unknown. UAA: then it is the time of the return
 * from the provider (row P10).
 */
export const signInTime = (
  { signIn, createdAt }: Pick<Session, 'signIn' | 'createdAt'>,
  { upstreamAuthTime }: Pick<Behaviour, 'upstreamAuthTime'>,
): Date | undefined => signIn?.authenticatedAt ?? (upstreamAuthTime ? undefined : createdAt)

/** Like `signInTime`, but trusts every provider to have obeyed `prompt=login`: for users who could not continue otherwise. */
export const trustedSignInTime = ({ signIn, createdAt }: Pick<Session, 'signIn' | 'createdAt'>): Date | undefined =>
  signIn?.authenticatedAt ?? (signIn?.wasDemanded ? createdAt : undefined)

/** Whether the session can still be used. */
export function isLive(session: Session, now: Date, idleSeconds: number): boolean {
  return session.expiresAt > now && session.lastSeenAt.getTime() + idleSeconds * 1000 > now.getTime()
}

/**
 * Whether the session is still valid for the user: it ends when the user is deactivated or the password changes.
 * Compares revisions instead of times, because the clock may have been set back.
 */
export const mayContinue = (user: User, signIn: SignIn): boolean =>
  user.active &&
  (signIn.passwordRevision === undefined
    ? signIn.authenticatedAt !== undefined && user.passwordChangedAt <= signIn.authenticatedAt
    : user.passwordRevision === signIn.passwordRevision)

/** The request to continue with after sign-in. */
export interface SavedRequest {
  /** Path and query below the zone's base URL. */
  readonly path: string
  /** Whether the request requires a new sign-in despite a session. */
  readonly reauthenticate: boolean
  /** How long ago the sign-in may have been at another provider, in seconds. */
  readonly maxAge?: number
  /** Where the place in which it is kept does not say when it was made. */
  readonly savedAt?: Date
}

/** How a sign-in was made: now, unless `authenticatedAt` or `isTimeUnknown` says otherwise. */
export interface SignInMethod extends Pick<SignIn, 'amr' | 'acr' | 'authenticatedAt'> {
  /** Whether the provider may have authenticated the user at any time before. */
  readonly isTimeUnknown?: boolean
  readonly wasDemanded?: boolean
  /** The session at the provider that signed the user in. */
  readonly upstream?: UpstreamSession | undefined
}

// Unambiguous, because servers never receive fragments.
const REAUTHENTICATE = '#reauthenticate'
const MAX_AGE = '#max_age='
const SAVED_AT = '#saved_at='
const DEMANDS = /^(.*?)(?:#max_age=(\d{1,10}))?(?:#saved_at=(\d{1,15}))?(#reauthenticate)?$/s

/** Serializes a saved request. */
export const formatSavedRequest = ({ path, reauthenticate, maxAge, savedAt }: SavedRequest): string =>
  [
    path,
    maxAge === undefined ? '' : `${MAX_AGE}${maxAge}`,
    savedAt === undefined ? '' : `${SAVED_AT}${savedAt.getTime()}`,
    reauthenticate ? REAUTHENTICATE : '',
  ].join('')

/** Parses the result of `formatSavedRequest`. */
export function parseSavedRequest(text: string | undefined): SavedRequest | undefined {
  if (text === undefined) return undefined
  const [, path = text, maxAge, savedAt, reauthenticate] = DEMANDS.exec(text) ?? []
  return {
    path,
    reauthenticate: reauthenticate !== undefined,
    ...(maxAge !== undefined && { maxAge: Number(maxAge) }),
    ...(savedAt !== undefined && { savedAt: new Date(Number(savedAt)) }),
  }
}
