// The part of the store's interface that is about users.
import type { Approval } from '../../model/users/approval.ts'
import type { User } from '../../model/users/user.ts'
import type { CursorPage, CursorQuery, ListQuery, NamedAttributes, Page } from '../list-query.ts'

/** A user may be in so many groups: reading more would take seconds, and a token with all of them would be megabytes. */
export const MAX_GROUPS_OF_USER = 10_000
/** Groups, or decisions, of the users of one list, which are in memory together. */
export const MAX_DETAILS = 100_000
/** Unused accounts with one address that are read at a time. */
export const MAX_UNBOUND = 3

/**
 * What a list reads of the profiles, which may have 64 KiB each: all of them unless given, or only whether the address of
 * the account is marked as primary.
 */
type ProfilesRead = 'whole' | 'primary email'

/** Thrown when the groups or decisions of users are read and are more than that; a few at once or none of them can be read. */
export class TooManyDetails extends Error {
  override name = 'TooManyDetails'
  constructor(ofWhom: 'user' | 'list', what: 'groups' | 'approvals' = 'groups') {
    const whose = ofWhom === 'user' ? 'The user has' : 'These users together have'
    super(`${whose} too many ${what} to read`)
  }
}

/** Users; not cached. User names are case-insensitive. */
export interface UserStore {
  find(zoneId: string, id: string): Promise<User | undefined>
  findByName(zoneId: string, origin: string, userName: string): Promise<User | undefined>
  /** With `groupNames`, in one read. */
  findWithGroups(zoneId: string, id: string): Promise<User | undefined>
  /** By name, with `groupNames` and the times of failed sign-ins after `failuresSince`, oldest first, in one read. */
  findForSignIn(
    zoneId: string,
    origin: string,
    of: { readonly userName: string; readonly failuresSince: Date },
  ): Promise<{ readonly user: User; readonly failures: readonly Date[] } | undefined>
  /** Case-sensitive; never finds an account with a password. */
  findByExternalId(zoneId: string, origin: string, externalId: string): Promise<User | undefined>
  /**
   * Users of the origin with this address, case-insensitive, verified ones first; at most three, since two are already
   * ambiguous.
   */
  findByEmail(zoneId: string, origin: string, email: string): Promise<readonly User[]>
  /** The same of active users without an external id and without a password; at most `MAX_UNBOUND`, which are ambiguous. */
  findUnboundByEmail(zoneId: string, origin: string, email: string): Promise<readonly User[]>
  /** Throws `InvalidFilter` for an unsupported attribute or value. */
  list(zoneId: string, query: ListQuery & NamedAttributes & { readonly profiles?: ProfilesRead }): Promise<Page<User>>
  /** A user who exists throughout and keeps the sort attribute is on exactly one page. Throws as `list`. */
  page(zoneId: string, query: CursorQuery & NamedAttributes): Promise<CursorPage<User>>
  insert(zoneId: string, user: User): Promise<void>
  /** Inserts all of them or none, in one transaction. */
  insertAll(zoneId: string, users: readonly User[]): Promise<void>
  update(zoneId: string, user: User): Promise<void>
  /** How many users the zone has. */
  count(zoneId: string): Promise<number>
  /**
   * Inserts a user with their first decisions, in one transaction. False when the zone has `maxUsers` already, also if
   * several are created at once. Throws `AlreadyExists` when the name, or the external id, is taken.
   */
  create(
    zoneId: string,
    user: User,
    options?: {
      readonly maxUsers?: number | undefined
      readonly approvals?: readonly Approval[]
      readonly copy?: UserCopy | undefined
    },
  ): Promise<boolean>
  /**
   * Replaces `before` by `user` as far as an administrator may: names, addresses, profile, `externalId`, `active`,
   * `verified`, `salt` and the password; of the last three only what the change is about, so that concurrent ones survive.
   * Counts the version, twice if the copy is new. A `passwordRevision` that differs ends all access, and a new password
   * clears failed sign-ins, in the same transaction. Undefined when the user has no longer the version of `before`; throws
   * as `create`.
   */
  replace(zoneId: string, before: User, user: User, copy?: UserCopy): Promise<User | undefined>
  /** Deletes the user with all of the user's data, in one transaction; false when there is none, or has another version. */
  delete(zoneId: string, id: string, version?: number, copy?: User): Promise<boolean>
  /** Sets `verified` and returns the user; undefined when there is none, or has another version. */
  verify(zoneId: string, id: string, version?: number): Promise<User | undefined>
  /** Demands a new password of the user; false when there is none. */
  requirePasswordChange(zoneId: string, id: string): Promise<boolean>
  /** Groups and unexpired decisions of several users, each by the user's id; both are empty for the others. */
  listGroups(zoneId: string, ids: readonly string[]): Promise<ReadonlyMap<string, readonly GroupOfUser[]>>
  listApprovals(zoneId: string, ids: readonly string[], now: Date): Promise<ReadonlyMap<string, readonly Approval[]>>
  /**
   * Writes names, addresses, profile, roles, `verified` and the format of the external id only, so that concurrent changes of
   * other fields, such as a salt, survive.
   */
  updateProfile(zoneId: string, user: User): Promise<void>
  /**
   * Gives an account its first external id, with its profile and a new `passwordRevision`, and deletes its sessions,
   * stored tokens and codes, in one transaction. False when it has an external id already; throws `AlreadyExists` when
   * another account of the origin has this one, or the name.
   */
  bind(zoneId: string, user: User): Promise<boolean>
  /** Replaces the hash of an unchanged password; does nothing if `passwordRevision` differs. */
  renewPasswordHash(zoneId: string, id: string, passwordRevision: string, hash: string): Promise<void>
  /**
   * Sets a new password and clears failed sign-ins, in one transaction. False when `passwordRevision` is no longer current:
   * of two concurrent changes only one succeeds.
   */
  setPassword(zoneId: string, id: string, passwordRevision: string, change: PasswordChange): Promise<boolean>
  /**
   * Sets a new `passwordRevision`, which invalidates every token and session, and deletes sessions, codes, passcodes and
   * stored tokens, in one transaction. The password stays. False when there is no such user.
   */
  endAccess(zoneId: string, id: string, passwordRevision: string): Promise<boolean>
  /** Sets the salt of the user's revocation signature, which invalidates all earlier tokens. */
  setSalt(zoneId: string, id: string, salt: string): Promise<void>
  /** Moves the last logon time to the previous one, sets the new one and clears failed sign-ins, in one transaction. */
  recordLogon(zoneId: string, id: string, at: Date): Promise<void>
}

/** The change of a user's copy in another zone, in the same transaction: a new one, or a change of the one before. */
export interface UserCopy {
  readonly before?: User
  readonly user: User
}

/** A group that a user is in. */
export interface GroupOfUser {
  readonly id: string
  readonly displayName: string
  /** False for one that they are in through others only. */
  readonly direct: boolean
}

/** The columns of a new password. */
export interface PasswordChange {
  readonly passwordHash: string
  /** Must differ from the current one; this invalidates all earlier tokens. */
  readonly passwordRevision: string
  readonly passwordChangedAt: Date
  /** Whether this clears a required password change. */
  readonly meetsDemand: boolean
  /** Whether the account is verified with it, because a mailed code allowed the change. */
  readonly verifies?: boolean
}
