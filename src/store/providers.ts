import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import { providerFields } from '../records/provider.ts'
import type { ProviderRow } from '../records/provider.ts'
import { rowMapping } from '../records/record.ts'
import { remembered } from './changes.ts'
import type { Caches, ZoneProviders } from './changes.ts'
import { statement } from './database.ts'
import type { Database, Transaction } from './database.ts'
import { deleteSomeOfOrigin, endSessionsOfOrigin } from './deletion/origin-deletion.ts'
import { insertInto, list, PROVIDER_COLUMNS, updateByKey } from './schema.ts'
import type { Flag } from './schema.ts'
import { AlreadyExists, ChangedMeanwhile, TooLarge } from './store.ts'
import type { ProviderChange, ProviderStore } from './store.ts'

const OF_ZONE = statement<{ zone_id: string }, ProviderRow & { deleted: Flag | null }>(
  `select ${list(PROVIDER_COLUMNS)}, deleted from identity_providers where zone_id = :zone_id order by origin_key`,
)
const INSERT = statement<ProviderRow>(insertInto('identity_providers', PROVIDER_COLUMNS))
// Every write increments the revision, for optimistic locking.
const COUNTED = updateByKey('identity_providers', PROVIDER_COLUMNS, ['zone_id', 'id']).replace(
  ' where ',
  ', revision = revision + 1 where deleted is null and ',
)
const UPDATE = statement<ProviderRow>(COUNTED)

type CountedRow = ProviderRow & { revision: number }
const LIST = statement<{ zone_id: string }, CountedRow>(
  `select ${list(PROVIDER_COLUMNS)}, revision from identity_providers
   where zone_id = :zone_id and deleted is null order by origin_key`,
)
const FIND = statement<{ zone_id: string; id: string }, CountedRow>(
  `select ${list(PROVIDER_COLUMNS)}, revision from identity_providers
   where zone_id = :zone_id and id = :id and deleted is null`,
)
const FIND_STORED = statement<{ zone_id: string; origin_key: string }, ProviderRow>(
  `select ${list(PROVIDER_COLUMNS)} from identity_providers
   where zone_id = :zone_id and origin_key = :origin_key and deleted is null`,
)
const REPLACE = statement<CountedRow>(`${COUNTED} and revision = :revision`)

interface Origin {
  zone_id: string
  origin_key: string
}
// Inactive until its accounts are deleted: without a provider, an external login server could sign them in.
const MARK = statement<{ zone_id: string; id: string; revision: number }>(
  `update identity_providers set active = 0, deleted = 1, revision = revision + 1
   where zone_id = :zone_id and id = :id and revision = :revision and deleted is null`,
)
const MARKED = statement<object, Origin>(
  `select zone_id, origin_key from identity_providers where deleted is not null limit 20`,
)
const IS_MARKED = statement<Origin, { id: string }>(
  `select id from identity_providers where zone_id = :zone_id and origin_key = :origin_key and deleted is not null`,
)
const DELETE_MARKED = statement<Origin>(
  `delete from identity_providers where zone_id = :zone_id and origin_key = :origin_key and deleted is not null`,
)

/** Deletes the accounts of a provider that is marked as deleted, in portions, and then the provider. */
async function finishDeletion(db: Database, zoneId: string, originKey: string): Promise<void> {
  const step = (within: Transaction): Promise<boolean> => deletePortion(within, zoneId, originKey)
  while (await db.transaction(step));
}

async function deletePortion(within: Transaction, zoneId: string, originKey: string): Promise<boolean> {
  const key = { zone_id: zoneId, origin_key: originKey }
  // Another process may have finished, and the origin may exist again.
  if ((await within.run(IS_MARKED, key)).rows.length === 0) return false
  if (await deleteSomeOfOrigin(within, zoneId, originKey)) return true
  await within.run(DELETE_MARKED, key)
  await within.announce({ kind: 'providers', zoneId, key: '' })
  return false
}

/** Finishes deletions of providers that a stopped process had begun; returns how many. */
export async function purgeProviders(db: Database): Promise<number> {
  const marked = await db.read(MARKED, {})
  for (const { zone_id: zoneId, origin_key: originKey } of marked) await finishDeletion(db, zoneId, originKey)
  return marked.length
}

/**
 * Bytes of the settings of a zone's providers: every process caches them together, independent of their creator. Each comma
 * counts as 16 more: a setting takes as much in memory, even if it is a single digit. Each provider counts as 4 KiB more: the
 * sign-in page, lists and changes take time for every provider of the zone, even for one without settings.
 */
const MAX_BYTES = 16 * 1024 * 1024
const SIZE = statement<{ zone_id: string }, { bytes: number }>(
  `select cast(coalesce(sum(4096 + octet_length(config) + 16 * (length(config) - length(replace(config, ',', '')))), 0)
     as bigint) as bytes
   from identity_providers where zone_id = :zone_id`,
)

async function sizeOf(within: Transaction, zoneId: string): Promise<number> {
  const { rows } = await within.run(SIZE, { zone_id: zoneId })
  return rows[0]?.bytes ?? 0
}

interface Changed {
  readonly zoneId: string
  readonly provider: IdentityProvider
}

/** Implements `ProviderStore` for both databases; caches all providers of a zone together, since there are few. */
export function createProviders(db: Database, caches: Caches): ProviderStore {
  const ofZone = (zoneId: string): Promise<ZoneProviders | undefined> =>
    remembered(db, caches.providers, [zoneId], async () => {
      const rows = await db.read(OF_ZONE, { zone_id: zoneId })
      const providers = rows.map(toProvider)
      return {
        deleted: new Set(rows.flatMap(row => (row.deleted === null ? [] : [row.origin_key]))),
        byOrigin: new Map(providers.map(provider => [provider.originKey, provider])),
        active: providers.filter(({ active }) => active),
      }
    })

  const isDisabled = async ({ zoneId, provider }: Changed): Promise<boolean> =>
    (await db.read(FIND_STORED, { zone_id: zoneId, origin_key: provider.originKey }))[0]?.active === 0

  const endSessions = ({ zoneId, provider }: Changed): Promise<void> =>
    endSessionsOfOrigin(db, zoneId, provider.originKey)

  /**
   * Writes, and ends the sessions of disabled providers afterwards. Those of a provider that is enabled are ended before it: a
   * process that disabled it may have stopped before it had ended them all.
   */
  async function writeAndEndSessions(changed: readonly Changed[], write: () => Promise<void>): Promise<void> {
    for (const each of changed) if (each.provider.active && (await isDisabled(each))) await endSessions(each)
    await write()
    for (const each of changed) if (!each.provider.active) await endSessions(each)
  }

  /**
   * Finishes the deletion of an origin that is added again before the process that deletes it has finished, or after it has
   * stopped.
   */
  async function finishFormer(zoneId: string, originKey: string): Promise<void> {
    if ((await db.read(IS_MARKED, { zone_id: zoneId, origin_key: originKey })).length === 0) return
    await finishDeletion(db, zoneId, originKey)
  }

  const keep = (into: typeof INSERT, zoneId: string, provider: IdentityProvider): Promise<void> =>
    writeAndEndSessions([{ zoneId, provider }], () =>
      db.transaction(async within => {
        await within.run(into, toRow(zoneId, provider))
        await within.announce({ kind: 'providers', zoneId, key: '' })
      }),
    )

  return {
    findByOrigin: async (zoneId, originKey) => (await ofZone(zoneId))?.byOrigin.get(originKey),
    isActive: async (zoneId, originKey) => (await ofZone(zoneId))?.byOrigin.get(originKey)?.active === true,
    isOpen: async (zoneId, originKey) => (await ofZone(zoneId))?.byOrigin.get(originKey)?.active !== false,
    listKnown: async zoneId => [...((await ofZone(zoneId))?.byOrigin.values() ?? [])],
    listActive: async zoneId => (await ofZone(zoneId))?.active ?? [],
    isBeingDeleted: async (zoneId, originKey) => (await ofZone(zoneId))?.deleted.has(originKey) === true,
    async insert(zoneId, provider) {
      await finishFormer(zoneId, provider.originKey)
      await keep(INSERT, zoneId, provider)
    },
    update: (zoneId, provider) => keep(UPDATE, zoneId, provider),
    async list(zoneId) {
      const rows = await db.read(LIST, { zone_id: zoneId })
      return rows.map(row => ({ provider: toProvider(row), revision: row.revision }))
    },
    async findForChange(zoneId, id) {
      const [row] = await db.read(FIND, { zone_id: zoneId, id })
      return row && { provider: toProvider(row), revision: row.revision }
    },
    async findStored(zoneId, originKey) {
      const [row] = await db.read(FIND_STORED, { zone_id: zoneId, origin_key: originKey })
      return row && toProvider(row)
    },
    async apply(zoneId, change, copy) {
      // A fixed order prevents deadlocks between two changes of an alias pair.
      const changes = [{ zoneId, change }, ...(copy ? [{ zoneId: copy.provider.zoneId, change: copy }] : [])]
      const ordered = changes.toSorted((left, right) => (left.zoneId < right.zoneId ? -1 : 1))
      const changed = (kind: ProviderChange['kind']): readonly Changed[] =>
        ordered
          .filter(each => each.change.kind === kind)
          .map(each => ({ zoneId: each.zoneId, provider: each.change.provider }))
      for (const each of changed('insert')) await finishFormer(each.zoneId, each.provider.originKey)
      await writeAndEndSessions(changed('update'), () =>
        db.transaction(async within => {
          for (const each of ordered) {
            const before = await sizeOf(within, each.zoneId)
            await make(within, each.zoneId, each.change)
            const after = await sizeOf(within, each.zoneId)
            if (after > MAX_BYTES && after > before) throw new TooLarge('the identity providers of the zone')
            await within.announce({ kind: 'providers', zoneId: each.zoneId, key: '' })
          }
        }),
      )
      for (const each of changed('delete')) await finishDeletion(db, each.zoneId, each.provider.originKey)
    },
  }
}

async function make(within: Transaction, zoneId: string, change: ProviderChange): Promise<void> {
  const { provider } = change
  const what = `identity provider ${provider.originKey}`
  switch (change.kind) {
    case 'insert':
      await within.run(INSERT, toRow(zoneId, provider)).catch(naming(what))
      return
    case 'update': {
      const row = { ...toRow(zoneId, provider), revision: change.revision }
      const { changes } = await within.run(REPLACE, row).catch(naming(what))
      if (changes === 0) throw new ChangedMeanwhile(what)
      return
    }
    case 'delete': {
      const { changes } = await within.run(MARK, { zone_id: zoneId, id: provider.id, revision: change.revision })
      if (changes === 0) throw new ChangedMeanwhile(what)
    }
  }
}

const naming =
  (what: string) =>
  (cause: unknown): never => {
    throw cause instanceof AlreadyExists ? new AlreadyExists(what, { cause }) : cause
  }

/** Adds a provider, inside a transaction that announces it. */
export async function addProvider(within: Transaction, zoneId: string, provider: IdentityProvider): Promise<void> {
  await within.run(INSERT, toRow(zoneId, provider))
}

const { toRow: rowOf, toRecord: toProvider } = rowMapping(providerFields)

const toRow = (zoneId: string, provider: IdentityProvider): ProviderRow => rowOf({ ...provider, zoneId })
