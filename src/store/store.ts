// The seam to the database: what the rest of the source may ask of it. Owns every record at rest; refuses to know what
// a token means or who may read one. The zone is the first argument everywhere, so that it cannot be forgotten.
import type { Approval } from '../model/approval.ts'
import type { Client, ClientSecret } from '../model/client.ts'
import type { ClientKeys } from '../model/client-keys.ts'
import type { ClientDescription, ClientMetadata } from '../model/client-metadata.ts'
import type { Filter } from '../model/filter.ts'
import type { ExternalGroup, Group, Membership } from '../model/group.ts'
import type { IdentityProvider } from '../model/identity-provider.ts'
import type { Session, SignIn } from '../model/session.ts'
import type { SigningKeyRecord } from '../model/signing-key.ts'
import type { AuthorizationCode, OneTimeCode, Redemption, StoredToken } from '../model/token.ts'
import type { User } from '../model/user.ts'
import type { Zone } from '../model/zone.ts'

/** Thrown by `insert` when a record with the same natural key exists. */
export class AlreadyExists extends Error {
  constructor(what: string, options?: ErrorOptions) {
    super(`${what} already exists`, options)
    this.name = 'AlreadyExists'
  }
}

/** Thrown by a write of a record that somebody else changed or deleted after it was read: the caller answers 409. */
export class ChangedMeanwhile extends Error {
  constructor(what: string) {
    super(`${what} was changed meanwhile`)
    this.name = 'ChangedMeanwhile'
  }
}

/** Thrown when the database cannot be reached or refuses to work: the caller answers 503. */
export class StoreUnavailable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreUnavailable'
  }
}

/** Everything at rest, area by area. Every write is durable when its promise resolves. */
export interface Store {
  readonly zones: ZoneStore
  readonly clients: ClientStore
  readonly users: UserStore
  readonly groups: GroupStore
  readonly providers: ProviderStore
  readonly keys: SigningKeyStore
  readonly approvals: ApprovalStore
  readonly codes: CodeStore
  readonly tokens: TokenStore
  readonly oneTimeCodes: OneTimeCodeStore
  readonly assertions: AssertionStore
  readonly sessions: SessionStore
  readonly events: EventStore
  readonly bootstrap: BootstrapStore
  /** One small batch of deleting what expired before `now`; answers how many rows went, 0 when nothing is left. */
  purge(now: Date): Promise<number>
  /** A read that proves the database answers; throws `StoreUnavailable`. */
  ping(): Promise<void>
  /** A small write that proves there is room and the database may be written; throws `StoreUnavailable`. */
  probeWriting(now: Date): Promise<void>
  /** Finishes the writes under way and closes every connection. */
  close(): Promise<void>
}

/** Zones; reads are cached. */
export interface ZoneStore {
  find(id: string): Promise<Zone | undefined>
  /** By lower-case subdomain, inactive ones too. */
  findBySubdomain(subdomain: string): Promise<Zone | undefined>
  insert(zone: Zone): Promise<void>
  /** Replaces the record with this id. */
  update(zone: Zone): Promise<void>
  /** The record as it is in the database at this moment, with what a change of it has to know. */
  read(id: string): Promise<ZoneState | undefined>
  /**
   * Zones as they are in the database, oldest first, so many at most: from the first one on, or from the one after. So
   * every zone is met once that was there all the time, however many come and go.
   */
  list(page: { readonly count: number; readonly after?: ZoneState | undefined }): Promise<readonly ZoneState[]>
  /**
   * Adds a zone with what it begins with, all or nothing; nothing that an earlier zone with this id left behind is in it.
   * Throws `AlreadyExists` when the id or the subdomain is taken.
   */
  create(zone: Zone, contents: ZoneContents): Promise<void>
  /**
   * Replaces the record that was read with this revision, adds the groups that are missing and changes the keys, all or
   * nothing. Throws `ChangedMeanwhile`, or `AlreadyExists` when the subdomain is taken.
   */
  replace(zone: Zone, revision: number, also: ZoneAdditions): Promise<void>
  /**
   * Deletes the zone with everything in it, and the groups of the default zone that are named after it, in one
   * transaction; what the bootstrap did stays known, so that it does not bring the zone back. `aliased` when one of its
   * providers has an alias: then nothing is deleted.
   */
  delete(id: string, defaultZoneId: string): Promise<'deleted' | 'aliased' | 'missing'>
  /** Names of all groups of the zone, in no order. */
  groupNames(id: string): Promise<readonly string[]>
}

/** A zone at one moment. */
export interface ZoneState {
  readonly zone: Zone
  /** Counts the writes of the record. */
  readonly revision: number
  /** Of the key that signs; absent while the zone has none. */
  readonly activeKeyId?: string
}

/** What a new zone begins with. */
export interface ZoneContents {
  readonly provider: IdentityProvider
  readonly groups: readonly Group[]
  readonly keys: readonly SigningKeyRecord[]
}

/** What is changed together with a zone's record. */
export interface ZoneAdditions {
  readonly groups: readonly Group[]
  /** These instead of all that the zone has, or another of those that it has; absent leaves them as they are. */
  readonly keys?: readonly SigningKeyRecord[] | { readonly activate: string; readonly now: Date }
}

/** What is asked of a list. */
export interface ListQuery {
  readonly filter: Filter
  readonly sortBy: string
  readonly descending: boolean
  /** Of the first record of the page; the first of all is 1. */
  readonly startIndex: number
  /** The most records of the page; 0 asks only how many there are. */
  readonly count: number
}

/** A page of a list. */
export interface Page<T> {
  readonly records: readonly T[]
  /** How many records match, on this page and all others. */
  readonly totalResults: number
}

/** Clients; `find` is cached. */
export interface ClientStore {
  find(zoneId: string, clientId: string): Promise<Client | undefined>
  /** Not cached. Throws `InvalidFilter` for an attribute or a value that clients are not listed by. */
  list(zoneId: string, query: ListQuery): Promise<Page<Client>>
  insert(zoneId: string, client: Client): Promise<void>
  update(zoneId: string, client: Client): Promise<void>
  /** Past the cache, with the count of the record's writes, which `apply` wants to be told. */
  findForChange(zoneId: string, clientId: string): Promise<StoredClient | undefined>
  /**
   * Makes all of the changes or none, each of another client. Throws `AlreadyExists` for an insertion of what is there,
   * and `ChangedMeanwhile` for a record that was written or deleted since its revision was read.
   */
  apply(zoneId: string, changes: readonly ClientChange[]): Promise<void>
  /** How the client is shown; not cached. */
  findMetadata(zoneId: string, clientId: string): Promise<ClientMetadata | undefined>
  /** Of those that have an address or an icon, or of all: so many, by id, behind the one named. */
  listMetadata(
    zoneId: string,
    page: { readonly count: number; readonly after?: string | undefined; readonly all?: boolean },
  ): Promise<readonly ClientMetadata[]>
  /** Of those that can be opened from the home page, by id, a hundred at most; not cached. */
  listOnHomePage(zoneId: string): Promise<readonly ClientMetadata[]>
  /** Renews the hash of one secret, matched by its revision; leaves the record alone when the secret changed meanwhile. */
  renewSecretHash(zoneId: string, clientId: string, secret: ClientSecret): Promise<void>
  /** The longest lifetimes that clients of the zone have of their own; absent where none has any. Not cached. */
  maxLifetimes(zoneId: string): Promise<{ accessTokenSeconds?: number; refreshTokenSeconds?: number }>
  /** Sets the salt of the client's revocation signature: no token issued before is good any more. */
  setTokenSalt(zoneId: string, clientId: string, salt: string): Promise<void>
  /**
   * Replaces the client's keys by what `change` makes of those in the database, and answers both; undefined without such
   * a client. Of two changes at once neither is lost. What `change` throws leaves the record alone.
   */
  changeKeys(
    zoneId: string,
    clientId: string,
    change: (before: ClientKeys) => ClientKeys,
  ): Promise<{ readonly before: ClientKeys; readonly after: ClientKeys } | undefined>
}

/** A client as it was read to be changed. */
export interface StoredClient {
  readonly client: Client
  /** How often the record was written. */
  readonly revision: number
}

/** One change of one client. */
export type ClientChange =
  | { readonly kind: 'insert'; readonly client: Client; readonly createdBy?: string | undefined }
  /** Replaces the record, but not how it is shown. */
  | {
      readonly kind: 'update'
      readonly client: Client
      readonly revision: number
      /** Whether people are asked again what the client may do. */
      readonly forgetApprovals?: boolean
    }
  | {
      readonly kind: 'describe'
      readonly clientId: string
      readonly description: ClientDescription
      readonly revision: number
    }
  /** Takes the approvals along. */
  | { readonly kind: 'delete'; readonly clientId: string; readonly revision: number }

/** Users; not cached. User names are compared without case. */
export interface UserStore {
  find(zoneId: string, id: string): Promise<User | undefined>
  findByName(zoneId: string, origin: string, userName: string): Promise<User | undefined>
  /** With the names of the groups (`groupNames`), in one read. */
  findWithGroups(zoneId: string, id: string): Promise<User | undefined>
  /** By name, with the names of the groups and the moments of failed sign-ins after one, oldest first, in one read. */
  findForSignIn(
    zoneId: string,
    origin: string,
    of: { readonly userName: string; readonly failuresSince: Date },
  ): Promise<{ readonly user: User; readonly failures: readonly Date[] } | undefined>
  /** Compared to the letter; an account with a password is never found so. */
  findByExternalId(zoneId: string, origin: string, externalId: string): Promise<User | undefined>
  /** Those of the origin with this address, without case, in no order; three at most, since two are too many already. */
  findByEmail(zoneId: string, origin: string, email: string): Promise<readonly User[]>
  insert(zoneId: string, user: User): Promise<void>
  update(zoneId: string, user: User): Promise<void>
  /** Writes names, addresses and `verified` only: what else changed meanwhile, such as a salt, is not undone. */
  updateProfile(zoneId: string, user: User): Promise<void>
  /**
   * Gives an account its first external id, with its profile and a new `passwordRevision`, and deletes its sessions,
   * stored tokens and codes, in one transaction. False when it has an external id already; throws `AlreadyExists` when
   * another account of the origin has this one, or the name.
   */
  bind(zoneId: string, user: User): Promise<boolean>
  /** Renews the hash of an unchanged password; leaves the record alone when `passwordRevision` differs. */
  renewPasswordHash(zoneId: string, id: string, passwordRevision: string, hash: string): Promise<void>
  /**
   * Sets a new password and forgets failed sign-ins, in one transaction. False when `passwordRevision` is not the
   * account's any more: of two changes at once only one is made.
   */
  setPassword(zoneId: string, id: string, passwordRevision: string, change: PasswordChange): Promise<boolean>
  /** Sets the salt of the user's revocation signature: no token issued before is good any more. */
  setSalt(zoneId: string, id: string, salt: string): Promise<void>
  /** Moves the last logon to previous and sets the new one, and clears failed sign-ins, in one transaction. */
  recordLogon(zoneId: string, id: string, at: Date): Promise<void>
}

/** A new password as it is written. */
export interface PasswordChange {
  readonly passwordHash: string
  /** Another than before, so that no token issued before is good any more. */
  readonly passwordRevision: string
  readonly passwordChangedAt: Date
  /** Whether this is the change that was demanded; otherwise a demand stays as it is. */
  readonly meetsDemand: boolean
}

/** Groups and memberships. */
export interface GroupStore {
  /** By name, without case. */
  findByName(zoneId: string, displayName: string): Promise<Group | undefined>
  /** Of those names, the groups that exist; for the sentences of the approval page. */
  findByNames(zoneId: string, displayNames: readonly string[]): Promise<readonly Group[]>
  insert(zoneId: string, group: Group): Promise<void>
  update(zoneId: string, group: Group): Promise<void>
  /** Adds a member; nothing happens when it is one already. */
  addMember(zoneId: string, membership: Membership): Promise<void>
  /** Names of the groups that the user is in, directly or through nested groups; cycles are harmless. */
  namesOfUser(zoneId: string, userId: string): Promise<readonly string[]>
  /** Adds a mapping; nothing happens when it exists. */
  addExternal(zoneId: string, mapping: ExternalGroup): Promise<void>
}

/** Identity providers; reads are cached. */
export interface ProviderStore {
  findByOrigin(zoneId: string, originKey: string): Promise<IdentityProvider | undefined>
  /** Whether people of the origin may go on; false when it has no provider. */
  isActive(zoneId: string, originKey: string): Promise<boolean>
  /** Every active provider of the zone, by origin key. */
  listActive(zoneId: string): Promise<readonly IdentityProvider[]>
  insert(zoneId: string, provider: IdentityProvider): Promise<void>
  update(zoneId: string, provider: IdentityProvider): Promise<void>
  /** Every provider of the zone as it is in the database at this moment, by origin key. */
  list(zoneId: string): Promise<readonly StoredProvider[]>
  /** Past the cache, with the count of the record's writes, which `apply` wants to be told. */
  findForChange(zoneId: string, id: string): Promise<StoredProvider | undefined>
  /**
   * Makes the changes, all or none; a copy in another zone is changed together with its record. Throws `AlreadyExists`
   * when an origin or an external key is taken, and `ChangedMeanwhile` for a record that was written or deleted since its
   * revision was read.
   */
  apply(zoneId: string, change: ProviderChange, copy?: ProviderChange): Promise<void>
}

/** A provider as it was read to be changed. */
export interface StoredProvider {
  readonly provider: IdentityProvider
  /** How often the record was written. */
  readonly revision: number
}

/** One change of one provider. */
export type ProviderChange =
  | { readonly kind: 'insert'; readonly provider: IdentityProvider }
  | ({ readonly kind: 'update' } & StoredProvider)
  /** Takes along the accounts of its origin, with all that is theirs, and the mappings of its groups. */
  | ({ readonly kind: 'delete' } & StoredProvider)

/** Signing keys; `list` is cached. */
export interface SigningKeyStore {
  /** Every key of the zone, oldest first. */
  list(zoneId: string): Promise<readonly SigningKeyRecord[]>
  /** Adds a key, or replaces the one with this id; when it is active every other key of the zone becomes inactive. */
  save(zoneId: string, key: SigningKeyRecord): Promise<void>
  /** Adds a key that does not sign yet; throws `AlreadyExists` when its id is taken. */
  insert(zoneId: string, key: SigningKeyRecord): Promise<void>
  /**
   * Makes the key the one that signs, retired or not. False when there is no such key, it expired before `now`, or it
   * only verifies.
   */
  activate(zoneId: string, keyId: string, now: Date): Promise<boolean>
  /** Lets the key be forgotten at `expiresAt`, or earlier where that was set before; false when it signs or is not there. */
  retire(zoneId: string, keyId: string, expiresAt: Date): Promise<boolean>
  /**
   * Adds an active key unless the zone has one already, and answers the zone's keys: two processes that find an empty
   * zone at once agree on one key.
   */
  saveFirst(zoneId: string, key: SigningKeyRecord): Promise<readonly SigningKeyRecord[]>
}

/** Approvals. */
export interface ApprovalStore {
  /** Unexpired decisions of the user for the client. */
  list(zoneId: string, userId: string, clientId: string, now: Date): Promise<readonly Approval[]>
  /** Unexpired decisions of the user for every client, ordered by client and scope, a thousand at most. */
  listOfUser(zoneId: string, userId: string, now: Date): Promise<readonly Approval[]>
  /** Stores or replaces each decision, all or none. */
  save(zoneId: string, approvals: readonly Approval[]): Promise<void>
  /** Changes the status of decisions that are still there, and nothing else of them; all or none. */
  decideAgain(zoneId: string, approvals: readonly Approval[]): Promise<void>
  /** Deletes the user's decisions for the client, expired ones too; whether there were any. */
  deleteOfClient(zoneId: string, userId: string, clientId: string): Promise<boolean>
}

/** Authorization codes. */
export interface CodeStore {
  /** Adds the code's client to the session with the digest `answering`, where one is given, in the same transaction. */
  insert(zoneId: string, code: AuthorizationCode, answering?: string): Promise<void>
  /** Marks the code as used and answers it; of two redemptions at the same instant exactly one is `redeemed`. */
  redeem(zoneId: string, codeDigest: string, now: Date): Promise<Redemption>
}

/** Opaque, revocable and refresh tokens, and the list of what was revoked without having a row. */
export interface TokenStore {
  insert(zoneId: string, token: StoredToken): Promise<void>
  find(zoneId: string, idDigest: string): Promise<StoredToken | undefined>
  /** Marks a rotating refresh token as used; false when it already was or is gone: exactly one caller gets true. */
  use(zoneId: string, idDigest: string, now: Date): Promise<boolean>
  /**
   * Lets a used refresh token be used once more, by a client that lost the answer: false when `used` is not the last use
   * in its family or somebody else got in between. The successor that nobody used is put out of use.
   */
  useAgain(zoneId: string, used: UsedToken, now: Date): Promise<boolean>
  /** Deletes one token; whether there was one. */
  delete(zoneId: string, idDigest: string): Promise<boolean>
  /** Unexpired and unused tokens, five thousand at most, in no order. */
  listOfUser(zoneId: string, userId: string, now: Date): Promise<readonly StoredToken[]>
  /** Unexpired and unused tokens, for itself and for its users, five thousand at most, in no order. */
  listOfClient(zoneId: string, clientId: string, now: Date): Promise<readonly StoredToken[]>
  /** Deletes some tokens of the user, through one client where one is named; answers how many, 0 when none is left. */
  deleteSomeOfUser(zoneId: string, userId: string, clientId?: string): Promise<number>
  /** Deletes some tokens of the client; answers how many, 0 when none is left. */
  deleteSomeOfClient(zoneId: string, clientId: string): Promise<number>
  /**
   * Deletes the client's and user's refresh tokens that were not used, but for the one with the digest `kept`
   * (`refreshTokenUnique`); a used one tells of theft.
   */
  deleteRefreshTokens(zoneId: string, of: { clientId: string; userId: string; kept: string }): Promise<void>
  /** Revokes everything of one grant: deletes its stored tokens and remembers the grant until `expiresAt`. */
  revokeGrant(zoneId: string, grantId: string, expiresAt: Date): Promise<void>
  /** Remembers until `expiresAt` that the token with this `jti`, which has no row, is revoked. */
  revokeUnstored(zoneId: string, tokenId: string, expiresAt: Date): Promise<void>
  /** Whether the grant or the token is revoked; `grantId` is undefined for a token that belongs to none. */
  isRevoked(zoneId: string, ids: { grantId: string | undefined; tokenId: string }): Promise<boolean>
}

/** A rotating refresh token that was used before. */
export interface UsedToken {
  readonly idDigest: string
  readonly grantId: string
  readonly usedAt: Date
}

/** Codes that are shown to a person and typed or clicked once. */
export interface OneTimeCodeStore {
  /** Keeps the code in the place of the person's earlier one for the same purpose. */
  save(zoneId: string, code: OneTimeCode): Promise<void>
  /** Deletes the code and answers it, expired or not; of two redemptions exactly one gets it. */
  redeem(zoneId: string, purpose: OneTimeCode['purpose'], codeDigest: string): Promise<OneTimeCode | undefined>
}

/** Ids of assertions that must not be accepted twice. */
export interface AssertionStore {
  /** Remembers the id until `expiresAt`; false when it is known already: of two uses exactly one gets true. */
  use(zoneId: string, idDigest: string, expiresAt: Date): Promise<boolean>
}

/** Browser sessions. */
export interface SessionStore {
  find(zoneId: string, idDigest: string): Promise<Session | undefined>
  /** With the account that is signed in, if it is still there, and the names of its groups, in one read. */
  findWithUser(
    zoneId: string,
    idDigest: string,
  ): Promise<{ readonly session: Session; readonly user: User | undefined } | undefined>
  insert(zoneId: string, session: Session): Promise<void>
  /** Changes only the members given; `undefined` clears one. Nothing happens when the session is gone. */
  update(
    zoneId: string,
    idDigest: string,
    change: { lastSeenAt?: Date; savedRequest?: string | undefined; pendingApproval?: string | undefined },
  ): Promise<void>
  /** Adds one to the clients of a signed-in session: of several at once none is lost. Nothing happens when it is gone. */
  addClient(zoneId: string, idDigest: string, clientId: string): Promise<void>
  /** Unexpired sessions of the user, those seen last first, a hundred at most. */
  listOfUser(zoneId: string, userId: string, now: Date): Promise<readonly Session[]>
  /** Deletes some sessions of the user, never the one with the digest `kept`; answers how many, 0 when none is left. */
  deleteSomeOthers(zoneId: string, of: { userId: string; kept: string }): Promise<number>
  /** Replaces the session `oldDigest` (when given) by a signed-in one, in one transaction. */
  replace(zoneId: string, oldDigest: string | undefined, session: Session & { signIn: SignIn }): Promise<void>
  /** As `replace`, and records the logon (`users.recordLogon`) at the session's `authenticatedAt`. */
  replaceAtLogon(zoneId: string, oldDigest: string | undefined, session: Session & { signIn: SignIn }): Promise<void>
  delete(zoneId: string, idDigest: string): Promise<void>
}

/** Failed sign-ins, which lock accounts. */
export interface EventStore {
  recordFailure(zoneId: string, userId: string, at: Date): Promise<void>
  /** Costs as much as `recordFailure` and counts for nobody: the time of an answer must not tell whom a failure was counted for. */
  recordNothing(at: Date): Promise<void>
  /** Moments of the user's failures after `since`, oldest first. */
  failures(zoneId: string, userId: string, since: Date): Promise<readonly Date[]>
  clearFailures(zoneId: string, userId: string): Promise<void>
}

/** What the bootstrap applied, so that a record changed through an API is not reset at the next start. */
export interface BootstrapStore {
  /** The digest of the definition that was applied last for this record. */
  applied(zoneId: string, kind: string, key: string): Promise<string | undefined>
  remember(zoneId: string, kind: string, key: string, definitionDigest: string): Promise<void>
}
