// Changes of one or many clients in one transaction, with optimistic locking by revision.
import type { ClientRow } from '../../records/client.ts'
import { CLIENT_COLUMNS, toClient, toClientRow, toMetadata } from './client-rows.ts'
import type { MetadataRow } from './client-rows.ts'
import { statement } from '../database.ts'
import type { Database, Statement, Transaction } from '../database.ts'
import { noteDeletedClient } from '../deletion/deletions.ts'
import { flag } from '../rows.ts'
import { insertInto, list, updateByKey } from '../schema.ts'
import type { Flag } from '../schema.ts'
import { AlreadyExists, ChangedMeanwhile } from '../store.ts'
import type { ClientChange, ClientStore } from '../store.ts'

interface Key {
  zone_id: string
  client_id: string
}

/** An update that requires and increments the revision. */
const counted = (update: string): string =>
  `${update.replace(' where ', ', revision = revision + 1 where ')} and revision = :revision`

const KEYS = ['zone_id', 'client_id'] as const
const METADATA = ['client_id', 'name', 'show_on_home_page', 'app_launch_url', 'app_icon', 'created_by'] as const

const FIND = statement<Key, ClientRow & { revision: number }>(
  `select ${list(CLIENT_COLUMNS)}, revision from clients where zone_id = :zone_id and client_id = :client_id`,
)
const INSERT = statement<ClientRow & { created_by: string | null }>(
  insertInto('clients', [...CLIENT_COLUMNS, 'created_by']),
)
// Revisions restart for a record that replaces a deleted one with the same id.
const UPDATE = statement<ClientRow & { revision: number }>(
  `${counted(updateByKey('clients', CLIENT_COLUMNS, KEYS))} and created_at = :created_at`,
)
const DESCRIBE = statement<
  Key & { show_on_home_page: Flag; app_launch_url: string | null; app_icon: string; revision: number }
>(counted(updateByKey('clients', ['show_on_home_page', 'app_launch_url', 'app_icon'], KEYS)))
const RENAME = statement<Key & { name: string }>(updateByKey('clients', ['name'], KEYS))
const DELETE = statement<Key & { revision: number }>(
  `delete from clients where zone_id = :zone_id and client_id = :client_id and revision = :revision`,
)
const DELETE_APPROVALS = statement<Key>(`delete from approvals where zone_id = :zone_id and client_id = :client_id`)

const FIND_METADATA = statement<Key, MetadataRow>(
  `select ${list(METADATA)} from clients where zone_id = :zone_id and client_id = :client_id`,
)
const LIST_METADATA = statement<Key & { most: number }, MetadataRow>(
  `select ${list(METADATA)} from clients
   where zone_id = :zone_id and client_id > :client_id and (app_launch_url is not null or app_icon is not null)
   order by client_id limit :most`,
)
const LIST_ALL_METADATA = statement<Key & { most: number }, MetadataRow>(
  `select ${list(METADATA)} from clients where zone_id = :zone_id and client_id > :client_id order by client_id limit :most`,
)

const LIST_ON_HOME_PAGE = statement<{ zone_id: string }, MetadataRow>(
  `select ${list(METADATA)} from clients
   where zone_id = :zone_id and app_launch_url is not null and show_on_home_page = 1 order by client_id limit 100`,
)

/** The part of `ClientStore` for management: optimistic locking, and no caching. */
export function createClientChanges(
  db: Database,
): Pick<ClientStore, 'findForChange' | 'apply' | 'findMetadata' | 'listMetadata' | 'listOnHomePage'> {
  /** Throws `ChangedMeanwhile` when the revision is no longer current. */
  async function writeOnce<Args extends Key & { revision: number }>(
    within: Transaction,
    write: Statement<Args, never>,
    args: Args,
  ): Promise<void> {
    const { changes } = await within.run(write, args)
    if (changes === 0) throw new ChangedMeanwhile(`client ${args.client_id}`)
  }

  async function make(within: Transaction, key: Key, change: ClientChange): Promise<void> {
    switch (change.kind) {
      case 'insert': {
        const row = { ...toClientRow({ ...change.client, zoneId: key.zone_id }), created_by: change.createdBy ?? null }
        await within.run(INSERT, row).catch((cause: unknown) => {
          throw cause instanceof AlreadyExists ? new AlreadyExists(`client ${key.client_id}`, { cause }) : cause
        })
        // A request that began before another client with this id was deleted may have saved some after.
        await within.run(DELETE_APPROVALS, key)
        return
      }
      case 'update':
        await writeOnce(within, UPDATE, {
          ...toClientRow({ ...change.client, zoneId: key.zone_id }),
          revision: change.revision,
        })
        if (change.forgetApprovals) await within.run(DELETE_APPROVALS, key)
        return
      case 'describe': {
        const { clientName, showOnHomePage, appLaunchUrl = null, appIcon } = change.description
        const shown = { show_on_home_page: flag(showOnHomePage), app_launch_url: appLaunchUrl, app_icon: appIcon }
        await writeOnce(within, DESCRIBE, { ...key, ...shown, revision: change.revision })
        if (clientName !== undefined) await within.run(RENAME, { ...key, name: clientName })
        return
      }
      case 'delete':
        await writeOnce(within, DELETE, { ...key, revision: change.revision })
        await within.run(DELETE_APPROVALS, key)
        await noteDeletedClient(within, key.zone_id, key.client_id)
    }
  }

  return {
    async findForChange(zoneId, clientId) {
      const [row] = await db.read(FIND, { zone_id: zoneId, client_id: clientId })
      return row && { client: toClient(row), revision: row.revision }
    },
    async apply(zoneId, changes) {
      // A fixed order prevents deadlocks between two batches.
      const ordered = changes
        .map(change => ({ change, clientId: clientIdOf(change) }))
        .toSorted((left, right) => (left.clientId < right.clientId ? -1 : 1))
      await db.transaction(async within => {
        for (const { change, clientId } of ordered) {
          await make(within, { zone_id: zoneId, client_id: clientId }, change)
          await within.announce({ kind: 'clients', zoneId, key: clientId })
        }
      })
    },
    async findMetadata(zoneId, clientId) {
      const [row] = await db.read(FIND_METADATA, { zone_id: zoneId, client_id: clientId })
      return row && toMetadata(row)
    },
    async listMetadata(zoneId, { count, after = '', all = false }) {
      const wanted = all ? LIST_ALL_METADATA : LIST_METADATA
      return (await db.read(wanted, { zone_id: zoneId, client_id: after, most: count })).map(toMetadata)
    },
    async listOnHomePage(zoneId) {
      return (await db.read(LIST_ON_HOME_PAGE, { zone_id: zoneId })).map(toMetadata)
    },
  }
}

const clientIdOf = (change: ClientChange): string =>
  change.kind === 'insert' || change.kind === 'update' ? change.client.clientId : change.clientId
