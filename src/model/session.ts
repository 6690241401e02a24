import type { User } from './user.ts'

/** A browser's visit: anonymous while it only remembers where to go on, signed in once it has a user. */
export interface Session {
  readonly zoneId: string
  /** Digest of the cookie's value; the value itself is never stored. */
  readonly idDigest: string
  readonly signIn?: SignIn
  /** The URL, below the base URL, that the person was on the way to when asked to sign in. */
  readonly savedRequest?: string
  /** The authorization request that waits for approval: its query, to be compared with what is posted. */
  readonly pendingApproval?: string
  /** Ids of the clients that were answered for the person who is signed in; absent while there is none. */
  readonly clients?: readonly string[]
  readonly createdAt: Date
  readonly lastSeenAt: Date
  readonly expiresAt: Date
}

/** Who signed in, how and when. */
export interface SignIn {
  readonly userId: string
  readonly origin: string
  readonly authenticatedAt: Date
  /** Methods, RFC 8176. */
  readonly amr: readonly string[]
  /** Random; the root of the `sid` of each client, so that no client can recognise another's. */
  readonly sessionSalt: string
  /** The account's `passwordRevision` then; absent in sessions from before it was kept. */
  readonly passwordRevision?: string
  /** The browser as it called itself then, in the form of `keptUserAgent`. */
  readonly userAgent?: string
}

/** More clients than this are not recorded: whoever logs them all out one day must come to an end. */
export const MAX_CLIENTS = 100

/** Idle 30 minutes unless the operator says otherwise, twelve hours at most. */
export const SESSION_IDLE_SECONDS = 1800
/** See `SESSION_IDLE_SECONDS`. */
export const SESSION_ABSOLUTE_SECONDS = 43_200

/** Whether the session can still be used. */
export function isLive(session: Session, now: Date, idleSeconds: number): boolean {
  return session.expiresAt > now && session.lastSeenAt.getTime() + idleSeconds * 1000 > now.getTime()
}

/**
 * Whether the user may go on with a session: it ends with the user, and when the password changes. Compares revisions
 * instead of times, because the clock may have been set back.
 */
export const mayContinue = (user: User, signIn: SignIn): boolean =>
  user.active &&
  (signIn.passwordRevision === undefined
    ? user.passwordChangedAt <= signIn.authenticatedAt
    : user.passwordRevision === signIn.passwordRevision)

/** Where a person goes on after signing in. */
export interface SavedRequest {
  /** Path and query below the zone's base URL. */
  readonly path: string
  /** Whether a new sign-in was demanded although somebody is signed in. */
  readonly reauthenticate: boolean
}

const REAUTHENTICATE = '#reauthenticate' // no URL that reaches a server has a fragment, so this cannot be mistaken

/** The text of a saved request as it is kept. */
export const formatSavedRequest = ({ path, reauthenticate }: SavedRequest): string =>
  reauthenticate ? path + REAUTHENTICATE : path

/** What `formatSavedRequest` wrote; undefined for no text. */
export function parseSavedRequest(text: string | undefined): SavedRequest | undefined {
  if (text === undefined) return undefined
  const reauthenticate = text.endsWith(REAUTHENTICATE)
  return { path: reauthenticate ? text.slice(0, -REAUTHENTICATE.length) : text, reauthenticate }
}
