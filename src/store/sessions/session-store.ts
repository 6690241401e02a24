// The part of the store's interface that is about browser sessions.
import type { EndedSession } from '../../model/sessions/ended-session.ts'
import type { NewSession, Session } from '../../model/sessions/session.ts'
import type { User } from '../../model/users/user.ts'

/** A client that has a response of a session. */
interface AnsweredClient {
  readonly clientId: string
  /** Whether it wants a notification when the session ends: only such sessions leave an `EndedSession`. */
  readonly isNotified: boolean
}

/** The session that answers a client. */
export interface AnsweringSession extends Pick<AnsweredClient, 'isNotified'> {
  readonly idDigest: string
}

/** Ended sessions whose clients are still to be notified. */
export interface EndedSessionStore {
  add(ended: EndedSession): Promise<void>
  /** Whether a notification is due; a single index lookup. */
  isDue(now: Date): Promise<boolean>
  /** One that is due, which no other process gets before `until`; the attempt is counted. */
  claim(now: Date, until: Date): Promise<EndedSession | undefined>
  /**
   * Ends a claim, with the clients that are left, and the attempts that count. Does nothing if another process has claimed it
   * since.
   */
  retry(
    claimed: EndedSession,
    left: Pick<EndedSession, 'clients' | 'progress' | 'nextAttemptAt' | 'attempts'>,
  ): Promise<void>
  delete(ended: EndedSession): Promise<void>
  /** How many wait, counted up to 10,000; and when the first attempt at the oldest of them was. */
  waiting(): Promise<{ readonly count: number; readonly beganAt?: Date }>
}

/** Browser sessions. */
export interface SessionStore {
  find(zoneId: string, idDigest: string): Promise<Session | undefined>
  /** With the signed-in user, if it still exists, and its `groupNames`, in one read. */
  findWithUser(
    zoneId: string,
    idDigest: string,
  ): Promise<{ readonly session: Session; readonly user: User | undefined } | undefined>
  insert(zoneId: string, session: Session): Promise<void>
  /** Changes only the given members; `undefined` clears one. Does nothing when the session is gone. */
  update(
    zoneId: string,
    idDigest: string,
    change: { lastSeenAt?: Date; savedRequest?: string | undefined; pendingApproval?: string | undefined },
  ): Promise<void>
  /** Clears the pending approval; false if it is another one by now: of two concurrent answers exactly one gets true. */
  takePendingApproval(zoneId: string, idDigest: string, pendingApproval: string): Promise<boolean>
  /** Adds a client to a signed-in session; concurrent additions are all kept. Does nothing when the session is gone. */
  addClient(zoneId: string, idDigest: string, client: AnsweredClient): Promise<void>
  /** Unexpired sessions of the user, most recently used first, at most 100. */
  listOfUser(zoneId: string, userId: string, now: Date): Promise<readonly Session[]>
  /** Unexpired sessions that came from this session of a provider (`providerSessionOf`), unordered, at most 100. */
  listOfProvider(
    zoneId: string,
    /** `userId`: only that user's. */
    of: { readonly providerSession: string; readonly userId?: string | undefined },
    now: Date,
  ): Promise<readonly Session[]>
  /** The hint of the session for a logout at its provider, as it was written. */
  sealedLogoutHint(zoneId: string, idDigest: string): Promise<string | undefined>
  /** Deletes a batch of the user's sessions, except the one with the digest `kept`; returns the number, 0 when none is left. */
  deleteSomeOthers(zoneId: string, of: { userId: string; kept: string }): Promise<number>
  /** Replaces the session `oldDigest`, if given, by a signed-in one, in one transaction. */
  replace(zoneId: string, oldDigest: string | undefined, session: NewSession): Promise<void>
  /** As `replace`, and clears the user's failed sign-ins; false, and nothing changes, if the old session is gone. */
  replaceAndClear(zoneId: string, oldDigest: string, session: NewSession): Promise<boolean>
  /**
   * As `replace`, and records the logon (`users.recordLogon`) at the session's `createdAt`. The failed sign-ins are cleared,
   * unless a second factor may still be guessed: `keepsFailures`.
   */
  replaceAtLogon(
    zoneId: string,
    oldDigest: string | undefined,
    session: NewSession,
    options?: { readonly keepsFailures?: boolean },
  ): Promise<void>
  delete(zoneId: string, idDigest: string): Promise<void>
}
