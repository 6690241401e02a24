// The interface to the database for the rest of the source. Owns all stored records; does not know what a token means or
// which callers may read one. The zone is always the first argument, so that it cannot be forgotten.
import type { Client } from '../model/clients/client.ts'
import type { AccountEvent } from '../model/users/account-event.ts'
import type { Approval } from '../model/users/approval.ts'
import type { Group } from '../model/users/group.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { SigningKeyRecord } from '../model/tokens/signing-key.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { AuditStore } from './audit/audit-store.ts'
import type { ClientStore } from './clients/client-store.ts'
import type { FactorStore } from './factors/factor-store.ts'
import type { GroupStore } from './groups/group-store.ts'
import type { ServerKeyStore, SigningKeyStore } from './keys/key-store.ts'
import type { LeaseStore } from './lease-store.ts'
import type { MailStore } from './mail-store.ts'
import type { AssertionStore, OnceStore, OneTimeCodeStore, PushedRequestStore } from './tokens/once-store.ts'
import type { DeviceStore } from './tokens/device-store.ts'
import type { RateCountStore } from './rate-count-store.ts'
import type { RegistrationStore } from './clients/registration-store.ts'
import type { SealedStore } from './keys/sealed-store.ts'
import type { SearchServer } from './search-servers.ts'
import type { EndedSessionStore, SessionStore } from './sessions/session-store.ts'
import type { CodeStore, TokenStore } from './tokens/token-store.ts'
import type { UserStore } from './users/user-store.ts'

export { InvalidNesting, NoSuchMember } from './groups/group-store.ts'
export type * from './audit/audit-store.ts'
export type * from './clients/client-store.ts'
export type { FactorStore } from './factors/factor-store.ts'
export type * from './groups/group-store.ts'
export type * from './keys/key-store.ts'
export type * from './list-query.ts'
export type * from './search-servers.ts'
export type { LeaseStore } from './lease-store.ts'
export type { MailStore } from './mail-store.ts'
export type { AssertionStore, OnceStore, OneTimeCodeStore, PushedRequestStore } from './tokens/once-store.ts'
export type { SessionStore } from './sessions/session-store.ts'
export type * from './tokens/token-store.ts'
export { StoreUnreachable, StoreBusy, StoreDenied, StoreLocked, StoreUnavailable } from './unavailable.ts'
export type { GroupOfUser, PasswordChange, UserCopy, UserStore } from './users/user-store.ts'
export { MAX_DETAILS, MAX_GROUPS_OF_USER, MAX_UNBOUND, TooManyDetails } from './users/user-store.ts'

/** Thrown by `insert` when a record with the same natural key exists. */
export class AlreadyExists extends Error {
  override name = 'AlreadyExists'
  readonly what: string
  constructor(what: string, options?: ErrorOptions) {
    super(`${what} already exists`, options)
    this.what = what
  }
}

/** Thrown by a write that would make records that are read together exceed the size limit of one read. */
export class TooLarge extends Error {
  override name = 'TooLarge'
  constructor(what: string) {
    super(`${what} would be too large together`)
  }
}

/** Thrown by a write of a request whose zone was deleted after the request began. */
export class ZoneDeleted extends Error {
  override name = 'ZoneDeleted'
  constructor() {
    super('The identity zone was deleted meanwhile.')
  }
}

/** Thrown by a write when the record was changed or deleted after it was read: the caller answers 409. */
export class ChangedMeanwhile extends Error {
  override name = 'ChangedMeanwhile'
  constructor(what: string) {
    super(`${what} was changed concurrently`)
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
  readonly assertions: AssertionStore
  /** Proofs of senders' keys (RFC 9449 §11.1). */
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
  /**
   * Runs the work of a request: what it writes into its zone is refused with `ZoneDeleted` once the zone was deleted, even if
   * it was created again with the same id. `zone` is asked at each write.
   */
  during<T>(zone: () => Pick<Zone, 'id' | 'createdAt'> | undefined, work: () => T): T
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
  /** Calls back each time the database has returned after an outage, or after a moment that may have been one: nothing is cached. */
  onReturn(act: () => void): void
  /** The servers that have answered searches; empty where the database has no replicas. */
  searchServers(): readonly SearchServer[]
  /** Finishes pending writes and closes every connection. */
  close(): Promise<void>
}

/** What became of the zone, and what the default zone lost with it: authorities of clients, and groups. */
type ZoneDeletion =
  | { readonly outcome: 'deleted'; readonly clients: readonly ChangedClient[]; readonly groups: readonly LostGroup[] }
  | { readonly outcome: 'aliased' }
  | { readonly outcome: 'missing' }

/** A group of the default zone that was deleted with the zone that it was about, and its members. */
export interface LostGroup {
  readonly id: string
  readonly displayName: string
  readonly memberIds: readonly string[]
}

/** A client after a change of its authorities. */
export type ChangedClient = Pick<Client, 'clientId' | 'scope' | 'authorities'>

/** Zones; reads are cached. */
export interface ZoneStore {
  find(id: string): Promise<Zone | undefined>
  /** By lower-case subdomain; includes inactive zones. */
  findBySubdomain(subdomain: string): Promise<Zone | undefined>
  /**
   * With `checked`, throws `AlreadyExists` when another zone has the SAML entity id or the issuer, except for these, with
   * which they have been compared.
   */
  insert(zone: Zone, checked?: ReadonlySet<string>): Promise<void>
  /** Replaces the record with this id. Throws as `insert`. */
  update(zone: Zone, checked?: ReadonlySet<string>): Promise<void>
  /** The current record, not cached, with the revision that `replace` requires. */
  read(id: string): Promise<ZoneState | undefined>
  /**
   * At most `count` zones, not cached, oldest first, starting behind `after`. Keyset pagination: a zone that exists
   * throughout is returned exactly once.
   */
  list(page: { readonly count: number; readonly after?: ZoneState | undefined }): Promise<readonly ZoneState[]>
  /**
   * Adds a zone with its initial contents in one transaction, after deleting leftovers of an earlier zone with this id.
   * Throws `AlreadyExists` when id, subdomain, SAML entity id or issuer is taken.
   */
  create(zone: Zone, contents: ZoneContents): Promise<void>
  /**
   * Replaces the record with this revision, adds missing groups and changes the keys, in one transaction. Throws
   * `ChangedMeanwhile`, or `AlreadyExists` when subdomain, SAML entity id or issuer is taken.
   */
  replace(zone: Zone, revision: number, also: ZoneAdditions): Promise<void>
  /**
   * Deletes the zone with everything in it, and the groups of the default zone and authorities of its clients that are named
   * after it, in one transaction. The bootstrap's record of the zone stays, so that a start does not create it again. `aliased`
   * when one of its providers has an alias: then nothing is deleted.
   */
  delete(id: string, defaultZoneId: string): Promise<ZoneDeletion>
  /** Names of all groups of the zone, in pages. */
  groupNames(id: string): AsyncIterable<readonly string[]>
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
   * Replaces all decisions of the user, or those for one client, expired ones too, in one transaction; returns the previous
   * decisions.
   */
  replace(
    zoneId: string,
    of: { readonly userId: string; readonly clientId?: string | undefined },
    approvals: readonly Approval[],
  ): Promise<readonly Approval[]>
}

/** Failed sign-ins, for account lockout. */
export interface EventStore {
  /** Returns the id of the failure. */
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

/** The digest of the definition that was last applied to a record. */
interface AppliedRecord {
  readonly kind: string
  readonly key: string
  readonly digest: string
}

/** The definitions that the bootstrap applied, so that a start does not reset records changed through an API. */
export interface BootstrapStore {
  /** The digest of the definition last applied to this record. */
  applied(zoneId: string, kind: string, key: string): Promise<string | undefined>
  /** The same for all records of the zone, by kind and key. */
  appliedInZone(zoneId: string): Promise<readonly AppliedRecord[]>
  remember(zoneId: string, kind: string, key: string, definitionDigest: string): Promise<void>
}
