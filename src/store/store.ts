// The interface to the database for the rest of the source. Owns all stored records; does not know what a token means or
// which callers may read one. The zone is always the first argument, so that it cannot be forgotten.
import type { AccountEvent } from '../model/users/account-event.ts'
import type { Approval } from '../model/users/approval.ts'
import type { Client, ClientSecret } from '../model/clients/client.ts'
import type { ClientKeys } from '../model/clients/client-keys.ts'
import type { ClientDescription, ClientMetadata } from '../model/clients/client-metadata.ts'
import type { Filter, FilterDialect } from '../model/filters/filter.ts'
import type { Group } from '../model/users/group.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { SigningKeyRecord } from '../model/tokens/signing-key.ts'
import type { AuthorizationCode, ProofId, Redemption, StoredToken } from '../model/tokens/token.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { AuditStore } from './audit-store.ts'
import type { FactorStore } from './factor-store.ts'
import type { GroupStore } from './group-store.ts'
import type { LeaseStore } from './lease-store.ts'
import type { MailStore } from './mail-store.ts'
import type { OnceStore, OneTimeCodeStore, PushedRequestStore } from './once-store.ts'
import type { DeviceStore } from './device-store.ts'
import type { RateCountStore } from './rate-count-store.ts'
import type { RegistrationStore } from './registration-store.ts'
import type { SealedStore } from './sealed-store.ts'
import type { SearchServer } from './search-servers.ts'
import type { AnsweringSession, EndedSessionStore, SessionStore } from './session-store.ts'
import type { UserStore } from './user-store.ts'

export { InvalidNesting, NoSuchMember } from './group-store.ts'
export type * from './audit-store.ts'
export type { FactorStore } from './factor-store.ts'
export type * from './group-store.ts'
export type * from './search-servers.ts'
export type { LeaseStore } from './lease-store.ts'
export type { MailStore } from './mail-store.ts'
export type { OnceStore, OneTimeCodeStore, PushedRequestStore } from './once-store.ts'
export type { SessionStore } from './session-store.ts'
export { StoreUnreachable, StoreBusy, StoreLocked, StoreUnavailable } from './unavailable.ts'
export type { GroupOfUser, PasswordChange, UserCopy, UserStore } from './user-store.ts'

/** Thrown by `insert` when a record with the same natural key exists. */
export class AlreadyExists extends Error {
  readonly what: string
  constructor(what: string, options?: ErrorOptions) {
    super(`${what} already exists`, options)
    this.name = 'AlreadyExists'
    this.what = what
  }
}

/** Thrown by a write that would make what is read together larger than is read at a time. */
export class TooLarge extends Error {
  constructor(what: string) {
    super(`${what} would be too large together`)
    this.name = 'TooLarge'
  }
}

/** Thrown by a write when the record was changed or deleted after it was read: the caller answers 409. */
export class ChangedMeanwhile extends Error {
  constructor(what: string) {
    super(`${what} was changed meanwhile`)
    this.name = 'ChangedMeanwhile'
  }
}

/** All stored records, by area. A write is durable when its promise resolves. */
export interface Store {
  readonly zones: ZoneStore
  readonly clients: ClientStore
  readonly registrations: RegistrationStore
  readonly devices: DeviceStore
  readonly users: UserStore
  readonly factors: FactorStore
  readonly groups: GroupStore
  readonly providers: ProviderStore
  readonly keys: SigningKeyStore
  readonly serverKeys: ServerKeyStore
  readonly approvals: ApprovalStore
  readonly codes: CodeStore
  readonly tokens: TokenStore
  readonly oneTimeCodes: OneTimeCodeStore
  readonly mails: MailStore
  readonly leases: LeaseStore
  readonly assertions: OnceStore
  /** Of keys that senders prove (RFC 9449 §11.1). */
  readonly proofs: OnceStore
  readonly pushedRequests: PushedRequestStore
  readonly sessions: SessionStore
  readonly endedSessions: EndedSessionStore
  readonly events: EventStore
  readonly accountEvents: AccountEventStore
  readonly audit: AuditStore
  readonly rateCounts: RateCountStore
  readonly bootstrap: BootstrapStore
  readonly sealed: SealedStore
  /** Deletes a small batch of rows that expired before `now`; returns the number of rows, 0 when none is left. */
  purge(now: Date): Promise<number>
  /** The time of the database, which is the same for every node. */
  now(): Promise<Date>
  /** Checks that the database can be read; throws `StoreUnavailable`. */
  ping(): Promise<void>
  /** Checks with a small write that the disk has space and the database is writable; throws `StoreUnavailable`. */
  probeWriting(now: Date): Promise<void>
  /** Whether the database is known to be down: then only cached records are read, and everything else throws at once. */
  isUnreachable(): boolean
  /** The servers that have answered searches; empty where the database has no replicas. */
  searchServers(): readonly SearchServer[]
  /** Finishes pending writes and closes every connection. */
  close(): Promise<void>
}

/** Zones; reads are cached. */
export interface ZoneStore {
  find(id: string): Promise<Zone | undefined>
  /** By lower-case subdomain; includes inactive zones. */
  findBySubdomain(subdomain: string): Promise<Zone | undefined>
  insert(zone: Zone): Promise<void>
  /** Replaces the record with this id. */
  update(zone: Zone): Promise<void>
  /** The current record, not cached, with the revision that `replace` requires. */
  read(id: string): Promise<ZoneState | undefined>
  /**
   * At most `count` zones, not cached, oldest first, starting behind `after`. Keyset pagination: a zone that exists
   * throughout is returned exactly once.
   */
  list(page: { readonly count: number; readonly after?: ZoneState | undefined }): Promise<readonly ZoneState[]>
  /**
   * Adds a zone with its initial contents in one transaction, after deleting leftovers of an earlier zone with this id.
   * Throws `AlreadyExists` when the id or the subdomain is taken.
   */
  create(zone: Zone, contents: ZoneContents): Promise<void>
  /**
   * Replaces the record with this revision, adds missing groups and changes the keys, in one transaction. Throws
   * `ChangedMeanwhile`, or `AlreadyExists` when the subdomain is taken.
   */
  replace(zone: Zone, revision: number, also: ZoneAdditions): Promise<void>
  /**
   * Deletes the zone with everything in it, and the groups of the default zone that are named after it, in one
   * transaction. The bootstrap's record of the zone stays, so that a start does not create it again. `aliased` when one of
   * its providers has an alias: then nothing is deleted.
   */
  delete(id: string, defaultZoneId: string): Promise<'deleted' | 'aliased' | 'missing'>
  /** Names of all groups of the zone, unordered. */
  groupNames(id: string): Promise<readonly string[]>
}

/** A zone with its revision. */
export interface ZoneState {
  readonly zone: Zone
  /** Counts the writes of the record. */
  readonly revision: number
  /** Absent while the zone has no active key. */
  readonly activeKeyId?: string
}

/** The initial contents of a new zone. */
export interface ZoneContents {
  readonly provider: IdentityProvider
  readonly groups: readonly Group[]
  readonly keys: readonly SigningKeyRecord[]
}

/** Changes made in the same transaction as a zone's record. */
export interface ZoneAdditions {
  readonly groups: readonly Group[]
  /** Replaces all keys of the zone, or activates one of them; absent changes nothing. */
  readonly keys?: readonly SigningKeyRecord[] | { readonly activate: string; readonly now: Date }
}

/** The dialect of attribute names in a list: UAA's unless given. */
export interface NamedAttributes {
  readonly dialect?: FilterDialect
}

/** Filter, order and page of a list. */
export interface ListQuery {
  readonly filter: Filter
  readonly sortBy: string
  readonly descending: boolean
  /** Index of the first record of the page, from 1. */
  readonly startIndex: number
  /** Maximum records on the page; 0 returns only the total. */
  readonly count: number
}

/** A list from a position on. */
export interface CursorQuery extends Pick<ListQuery, 'filter' | 'sortBy' | 'descending'> {
  /** Maximum records on the page; at least 1. */
  readonly count: number
  /** The `next` of the page before, or the `first` of the one behind with the order reversed; both with the same filter. */
  readonly after?: Position | undefined
}

/** Where a page begins or ends. */
export interface Position {
  /** The sort attribute of the record there. */
  readonly value: string | number | null
  readonly key: string
}

/** A page that the next one follows, if there is one. */
export interface CursorPage<T> {
  readonly records: readonly T[]
  /** Where the page begins: in the other direction, what follows this is the page before. */
  readonly first?: Position
  readonly next?: Position
}

/** A page of a list. */
export interface Page<T> {
  readonly records: readonly T[]
  /** Number of matching records on all pages. */
  readonly totalResults: number
}

/** Clients; `find` is cached. */
export interface ClientStore {
  find(zoneId: string, clientId: string): Promise<Client | undefined>
  /** Not cached. Throws `InvalidFilter` for an unsupported attribute or value. */
  list(zoneId: string, query: ListQuery): Promise<Page<Client>>
  insert(zoneId: string, client: Client): Promise<void>
  update(zoneId: string, client: Client): Promise<void>
  /** Not cached; with the revision that `apply` requires. */
  findForChange(zoneId: string, clientId: string): Promise<StoredClient | undefined>
  /**
   * Makes the changes, each to a different client, in one transaction. Throws `AlreadyExists` when an inserted client
   * exists, and `ChangedMeanwhile` for a record that was written or deleted since its revision was read.
   */
  apply(zoneId: string, changes: readonly ClientChange[]): Promise<void>
  /** Display metadata of the client; not cached. */
  findMetadata(zoneId: string, clientId: string): Promise<ClientMetadata | undefined>
  /** At most `count` entries after the client id `after`, ordered by id; without `all`, only clients with a URL or icon. */
  listMetadata(
    zoneId: string,
    page: { readonly count: number; readonly after?: string | undefined; readonly all?: boolean },
  ): Promise<readonly ClientMetadata[]>
  /** Clients shown on the home page, ordered by id, at most 100; not cached. */
  listOnHomePage(zoneId: string): Promise<readonly ClientMetadata[]>
  /** Replaces the hash of one secret, matched by its revision; does nothing if the secret changed meanwhile. */
  renewSecretHash(zoneId: string, clientId: string, secret: ClientSecret): Promise<void>
  /** The longest token lifetimes set on clients of the zone; absent if no client sets one. Not cached. */
  maxLifetimes(zoneId: string): Promise<{ accessTokenSeconds?: number; refreshTokenSeconds?: number }>
  /** Sets the salt of the client's revocation signature, which invalidates all earlier tokens. */
  setTokenSalt(zoneId: string, clientId: string, salt: string): Promise<void>
  /**
   * Replaces the client's keys by the result of `change` and returns both; undefined without such a client. Concurrent
   * changes are serialised. If `change` throws, nothing is written.
   */
  changeKeys(
    zoneId: string,
    clientId: string,
    change: (before: ClientKeys) => ClientKeys,
  ): Promise<{ readonly before: ClientKeys; readonly after: ClientKeys } | undefined>
}

/** A client with its revision, read in order to change it. */
export interface StoredClient {
  readonly client: Client
  /** Counts the writes of the record. */
  readonly revision: number
}

/** One change of one client. */
export type ClientChange =
  | { readonly kind: 'insert'; readonly client: Client; readonly createdBy?: string | undefined }
  /** Replaces the record, but not its display metadata. */
  | {
      readonly kind: 'update'
      readonly client: Client
      readonly revision: number
      /** Whether to delete the approvals, so that users are asked again. */
      readonly forgetApprovals?: boolean
    }
  | {
      readonly kind: 'describe'
      readonly clientId: string
      readonly description: ClientDescription
      readonly revision: number
    }
  /** Also deletes the approvals. */
  | { readonly kind: 'delete'; readonly clientId: string; readonly revision: number }

/** Identity providers; reads are cached. */
export interface ProviderStore {
  findByOrigin(zoneId: string, originKey: string): Promise<IdentityProvider | undefined>
  /** Whether the origin has an active provider; its users and tokens depend on it. */
  isActive(zoneId: string, originKey: string): Promise<boolean>
  /** The same, or that the origin has no provider: an external login server authenticates its users. */
  isOpen(zoneId: string, originKey: string): Promise<boolean>
  /** Whether the provider of the origin was deleted, and the accounts that are left of it must not be used. */
  isBeingDeleted(zoneId: string, originKey: string): Promise<boolean>
  /** Every provider of the zone, active or not, ordered by origin key. */
  listKnown(zoneId: string): Promise<readonly IdentityProvider[]>
  /** Every active provider of the zone, ordered by origin key. */
  listActive(zoneId: string): Promise<readonly IdentityProvider[]>
  insert(zoneId: string, provider: IdentityProvider): Promise<void>
  update(zoneId: string, provider: IdentityProvider): Promise<void>
  /** Every provider of the zone, not cached, ordered by origin key. */
  list(zoneId: string): Promise<readonly StoredProvider[]>
  /** Not cached; with the revision that `apply` requires. */
  findForChange(zoneId: string, id: string): Promise<StoredProvider | undefined>
  /** The provider of the origin as it is stored now; not cached. */
  findStored(zoneId: string, originKey: string): Promise<IdentityProvider | undefined>
  /**
   * Makes the change, and that of its alias in another zone, in one transaction. Throws `AlreadyExists` when an origin or
   * an external key is taken, and `ChangedMeanwhile` for a record that was written or deleted since its revision was read.
   * The accounts of a deleted provider are then deleted in portions.
   */
  apply(zoneId: string, change: ProviderChange, copy?: ProviderChange): Promise<void>
}

/** A provider with its revision, read in order to change it. */
export interface StoredProvider {
  readonly provider: IdentityProvider
  /** Counts the writes of the record. */
  readonly revision: number
}

/** One change of one provider. */
export type ProviderChange =
  | { readonly kind: 'insert'; readonly provider: IdentityProvider }
  | ({ readonly kind: 'update' } & StoredProvider)
  /** Also deletes the accounts of its origin with all their data, and its group mappings. */
  | ({ readonly kind: 'delete' } & StoredProvider)

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

/** Approvals: users' decisions about the scopes of a client. */
export interface ApprovalStore {
  /** Unexpired decisions of the user for the client. */
  list(zoneId: string, userId: string, clientId: string, now: Date): Promise<readonly Approval[]>
  /** Unexpired decisions of the user for every client, ordered by client and scope, at most 1000. */
  listOfUser(zoneId: string, userId: string, now: Date): Promise<readonly Approval[]>
  /** Every decision of the user, expired ones too, in the same order, at most 10,000. */
  listAllOfUser(zoneId: string, userId: string): Promise<readonly Approval[]>
  /** Stores or replaces the decisions, in one transaction. */
  save(zoneId: string, approvals: readonly Approval[]): Promise<void>
  /** Updates only the status of decisions that still exist, in one transaction. */
  decideAgain(zoneId: string, approvals: readonly Approval[]): Promise<void>
  /**
   * Puts these decisions in the place of all of the user's, or of those for one client, expired ones too, in one
   * transaction; returns what was there before.
   */
  replace(
    zoneId: string,
    of: { readonly userId: string; readonly clientId?: string | undefined },
    approvals: readonly Approval[],
  ): Promise<readonly Approval[]>
}

/** Authorization codes (RFC 6749 §4.1). */
export interface CodeStore {
  /** Stores the code; in the same transaction, adds its client to the session that answers, if one is given. */
  insert(zoneId: string, code: AuthorizationCode, answering?: AnsweringSession): Promise<void>
  /**
   * Marks the code as used and returns it; of two concurrent redemptions exactly one is `redeemed`. A proof sent with it is used
   * up in the same transaction.
   */
  redeem(zoneId: string, codeDigest: string, now: Date, proof?: ProofId): Promise<Redemption>
  /** Deletes the user's unused codes of these sessions (`AuthorizationCode.sessionId`). */
  deleteOfSessions(zoneId: string, userId: string, sessionIds: ReadonlySet<string>): Promise<void>
}

/** Opaque, revocable and refresh tokens, and the revocations of tokens that are not stored. */
export interface TokenStore {
  insert(zoneId: string, token: StoredToken): Promise<void>
  find(zoneId: string, idDigest: string): Promise<StoredToken | undefined>
  /** Marks a rotating refresh token as used; false when it was used before or is gone. Exactly one caller gets true. */
  use(zoneId: string, idDigest: string, now: Date): Promise<boolean>
  /**
   * Lets a client that lost the response use a refresh token again: false when `used` is not the last use in its family or
   * a concurrent request was first. Its unused successor is invalidated.
   */
  useAgain(zoneId: string, used: UsedToken, now: Date): Promise<boolean>
  /** Deletes one token; false when there was none. */
  delete(zoneId: string, idDigest: string): Promise<boolean>
  /** Unexpired and unused tokens, at most 5000, unordered. */
  listOfUser(zoneId: string, userId: string, now: Date): Promise<readonly StoredToken[]>
  /** Unexpired and unused tokens of the client and its users, at most 5000, unordered. */
  listOfClient(zoneId: string, clientId: string, now: Date): Promise<readonly StoredToken[]>
  /** Deletes a batch of the user's tokens, of one client if given; returns the number, 0 when none is left. */
  deleteSomeOfUser(zoneId: string, userId: string, clientId?: string): Promise<number>
  /** Deletes a batch of the client's tokens; returns the number, 0 when none is left. */
  deleteSomeOfClient(zoneId: string, clientId: string): Promise<number>
  /**
   * Deletes the oldest unused refresh tokens of this client and user, except the one with the digest `kept` and the number
   * `others` of the newest others (`refreshTokenUnique`). Used ones stay, for reuse detection.
   */
  deleteRefreshTokens(
    zoneId: string,
    of: { clientId: string; userId: string; kept: string; others: number },
  ): Promise<void>
  /** Revokes a grant: deletes its stored tokens and keeps the revocation until `expiresAt`. */
  revokeGrant(zoneId: string, grantId: string, expiresAt: Date): Promise<void>
  /**
   * Revokes every grant of which the client has a stored token for the user, as `revokeGrant`, and deletes its tokens and
   * codes; used codes stay, for reuse detection. One transaction.
   */
  revokeGrantsOf(
    zoneId: string,
    of: { readonly clientId: string; readonly userId: string },
    expiresAt: Date,
  ): Promise<void>
  /** Keeps the revocation of a token that is not stored, by its `jti`, until `expiresAt`. */
  revokeUnstored(zoneId: string, tokenId: string, expiresAt: Date): Promise<void>
  /** Whether the grant or the token is revoked; `grantId` is undefined for a token without a grant. */
  isRevoked(zoneId: string, ids: { grantId: string | undefined; tokenId: string }): Promise<boolean>
}

/** A rotating refresh token that was used before. */
export interface UsedToken {
  readonly idDigest: string
  readonly grantId: string
  readonly usedAt: Date
}

/** Failed sign-ins, for account lockout. */
export interface EventStore {
  /** Answers the id of the failure. */
  recordFailure(zoneId: string, userId: string, at: Date): Promise<number>
  forgetFailure(zoneId: string, id: number): Promise<void>
  /** Takes the time of `recordFailure` without counting, so that timing does not reveal which accounts exist. */
  recordNothing(at: Date): Promise<void>
  /** Times of the user's failures after `since`, oldest first. */
  failures(zoneId: string, userId: string, since: Date): Promise<readonly Date[]>
  clearFailures(zoneId: string, userId: string): Promise<void>
}

/** What happened to accounts, for their owners. */
export interface AccountEventStore {
  /**
   * Adds events of accounts that exist, in their order, and deletes all but the newest of each account and type
   * (`MAX_EVENTS_PER_TYPE`), in one transaction.
   */
  add(zoneId: string, events: readonly AccountEvent[]): Promise<void>
  /** Events of the account after `since`, newest first. */
  list(zoneId: string, userId: string, since: Date): Promise<readonly AccountEvent[]>
}

/** The definitions that the bootstrap applied, so that a start does not reset records changed through an API. */
export interface BootstrapStore {
  /** The digest of the definition last applied to this record. */
  applied(zoneId: string, kind: string, key: string): Promise<string | undefined>
  remember(zoneId: string, kind: string, key: string, definitionDigest: string): Promise<void>
}
