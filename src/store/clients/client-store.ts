// The part of the store's interface that is about clients.
import type { ClientKeys } from '../../model/clients/client-keys.ts'
import type { ClientDescription, ClientMetadata } from '../../model/clients/client-metadata.ts'
import type { Client, ClientSecret } from '../../model/clients/client.ts'
import type { ListQuery, Page } from '../list-query.ts'

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
  /** The longest and the shortest token lifetimes set on clients of the zone; empty if no client sets one. Not cached. */
  lifetimes(zoneId: string): Promise<readonly Pick<Client, 'accessTokenSeconds' | 'refreshTokenSeconds'>[]>
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
