import { isSameIssuer } from '../model/zones/zone-names.ts'
import type { Zone, ZoneConfig } from '../model/zones/zone.ts'
import { remembered } from './changes.ts'
import type { Caches } from './changes.ts'
import { statement } from './database.ts'
import type { Database, Transaction } from './database.ts'
import { isDeletedZone, noteDeletedZone } from './deletion/deletions.ts'
import { addMissingGroups } from './groups/group-changes.ts'
import { activateKey, replaceKeys } from './keys/keys.ts'
import { addProvider } from './providers.ts'
import { flag, fromJson, lowerCase, toJson, withoutNulls } from './rows.ts'
import { insertInto, list, ZONE_COLUMNS } from './schema.ts'
import type { ZoneRow } from './schema.ts'
import { AlreadyExists, ChangedMeanwhile } from './store.ts'
import type { ZoneState, ZoneStore } from './store.ts'
import { clearZone, createZoneClearing, deleteGroupsAbout, removeRightsOver } from './deletion/zone-deletion.ts'

const FIND = statement<{ id: string }, ZoneRow>(`select ${list(ZONE_COLUMNS)} from zones where id = :id`)
const FIND_ID = statement<{ subdomain_lower: string }, { id: string }>(
  `select id from zones where subdomain_lower = :subdomain_lower`,
)
const INSERT = statement<ZoneRow>(insertInto('zones', ZONE_COLUMNS))
const CHANGED = ZONE_COLUMNS.filter(column => column !== 'id').map(column => `${column} = :${column}`)
const UPDATE_TEXT = `update zones set ${list(CHANGED)}, revision = revision + 1 where id = :id`
const UPDATE = statement<ZoneRow>(UPDATE_TEXT)
// Revisions restart for a zone that replaces a deleted one with the same id.
const REPLACE = statement<ZoneRow & { known_revision: number }>(
  `${UPDATE_TEXT} and revision = :known_revision and created_at = :created_at`,
)
const DELETE = statement<{ id: string }>(`delete from zones where id = :id`)

interface StateRow extends ZoneRow {
  revision: number
  active_key_id: string | null
}
const STATE = `select ${list(ZONE_COLUMNS)}, revision,
  (select key_id from signing_keys where signing_keys.zone_id = zones.id and active = 1) as active_key_id from zones`
const READ = statement<{ id: string }, StateRow>(`${STATE} where id = :id`)
const LIST = statement<{ created_at: number; id: string; most: number }, StateRow>(
  `${STATE} where (created_at, id) > (:created_at, :id) order by created_at, id limit :most`,
)
/** Before every zone. */
const BEGINNING = { created_at: Number.MIN_SAFE_INTEGER, id: '' }
const GROUP_NAMES = statement<
  { zone_id: string; after: string; most: number },
  { display_name: string; display_name_lower: string }
>(
  `select display_name, display_name_lower from groups
   where zone_id = :zone_id and display_name_lower > :after order by display_name_lower limit :most`,
)
/** Names read together: a zone may have a million groups. */
const NAMES_AT_ONCE = 1000
const ALIASED = statement<{ zone_id: string }, { id: string }>(
  `select id from identity_providers where zone_id = :zone_id and alias_id is not null and deleted is null limit 1`,
)

// Few zones choose an entity id or an issuer of their own; the others are not parsed.
const WITH_IDENTITY = statement<{ id: string }, { id: string; config: string }>(
  `select id, config from zones where id <> :id and (config like '%"entityID":"_%' or config like '%"issuer":"_%')`,
)
const CONFIG = statement<{ id: string }, { config: string }>(`select config from zones where id = :id`)

const entityIdOf = ({ samlConfig }: ZoneConfig): string => (samlConfig?.entityID ?? '').trim().toLowerCase()

/** Whether both have the issuer; differently written issuers are the same to many clients. */
function haveSameIssuer({ issuer: one }: ZoneConfig, { issuer: other }: ZoneConfig): boolean {
  const [a, b] = [URL.parse(one ?? ''), URL.parse(other ?? '')]
  return a !== null && b !== null && isSameIssuer(a, b)
}

/**
 * Throws `AlreadyExists` if another zone has chosen the SAML entity id, ignoring case, or the issuer: zones may share a key. An
 * issuer that the zone has already is kept, since an import may have stored it twice. Zones of `checked` do not count.
 */
async function refuseTakenIdentity(
  within: Transaction,
  { id, config }: Zone,
  checked: ReadonlySet<string> = new Set(),
): Promise<void> {
  const entityId = entityIdOf(config)
  if (entityId === '' && config.issuer === undefined) return
  await within.lock('identities of zones')
  const others = (await within.run(WITH_IDENTITY, { id })).rows
    .filter(row => !checked.has(row.id))
    .map(row => fromJson<ZoneConfig>(row.config))
  if (entityId !== '' && others.some(other => entityIdOf(other) === entityId)) throw new AlreadyExists('SAML entity id')
  if (!others.some(other => haveSameIssuer(other, config))) return
  const [before] = (await within.run(CONFIG, { id })).rows
  if (!before || fromJson<ZoneConfig>(before.config).issuer !== config.issuer) throw new AlreadyExists('issuer')
}

/** Implements `ZoneStore` for both databases. */
export function createZones(db: Database, caches: Caches): ZoneStore {
  const clearInPortions = createZoneClearing(db)

  const find = (id: string): Promise<Zone | undefined> =>
    remembered(db, caches.zones, [id], async () => {
      const [row] = await db.read(FIND, { id })
      return row && toZone(row)
    })

  const announce = (within: Transaction, zoneId: string, kind: 'zones' | 'keys' | 'everything'): Promise<void> =>
    within.announce({ kind, zoneId, key: '' })

  async function keep(into: typeof INSERT, zone: Zone, checked?: ReadonlySet<string>): Promise<void> {
    await db.transaction(async within => {
      if (checked) await refuseTakenIdentity(within, zone, checked)
      await within.run(into, toRow(zone))
      await announce(within, zone.id, 'zones')
    })
  }

  async function findId(subdomain: string): Promise<{ readonly id: string } | undefined> {
    const [row] = await db.read(FIND_ID, { subdomain_lower: subdomain })
    return row && { id: row.id }
  }

  return {
    find,
    async findBySubdomain(subdomain) {
      const lower = lowerCase(subdomain)
      const hint = await remembered(db, caches.subdomains, [lower], () => findId(lower))
      if (hint === undefined) return undefined
      const zone = await find(hint.id)
      // The cached zone is current, but the hint is stale once the zone has another subdomain.
      if (zone !== undefined && lowerCase(zone.subdomain) === lower) return zone
      caches.subdomains.drop(lower)
      const other = await findId(lower)
      return other && find(other.id)
    },
    insert: (zone, checked) => keep(INSERT, zone, checked),
    update: (zone, checked) => keep(UPDATE, zone, checked),
    async read(id) {
      const [row] = await db.read(READ, { id })
      return row && toState(row)
    },
    async list({ count, after }) {
      const place = after ? { created_at: after.zone.createdAt.getTime(), id: after.zone.id } : BEGINNING
      return (await db.read(LIST, { ...place, most: count })).map(toState)
    },
    async create(zone, { provider, groups, keys }) {
      if (await isDeletedZone(db, zone.id)) await clearInPortions(zone.id)
      await db.transaction(async within => {
        await refuseTakenIdentity(within, zone)
        await within.run(INSERT, toRow(zone))
        await clearZone(within, zone.id)
        await addProvider(within, zone.id, provider)
        await addMissingGroups(within, zone.id, groups)
        await replaceKeys(within, zone.id, keys)
        await announce(within, zone.id, 'everything')
      })
    },
    replace: (zone, revision, { groups, keys }) =>
      db.transaction(async within => {
        await refuseTakenIdentity(within, zone)
        const { changes } = await within.run(REPLACE, { ...toRow(zone), known_revision: revision })
        if (changes === 0) throw new ChangedMeanwhile('zone')
        await addMissingGroups(within, zone.id, groups)
        if (keys !== undefined) {
          if (!('activate' in keys)) await replaceKeys(within, zone.id, keys)
          else if (!(await activateKey(within, zone.id, keys.activate, keys.now))) throw new ChangedMeanwhile('zone')
          await announce(within, zone.id, 'keys')
        }
        await announce(within, zone.id, 'zones')
      }),
    async delete(id, defaultZoneId) {
      const deletion = await db.transaction(async within => {
        if ((await within.run(ALIASED, { zone_id: id })).rows.length > 0) return { outcome: 'aliased' } as const
        if ((await within.run(DELETE, { id })).changes === 0) return { outcome: 'missing' } as const
        await noteDeletedZone(within, id)
        const groups = await deleteGroupsAbout(within, id, defaultZoneId)
        const clients = await removeRightsOver(within, id, defaultZoneId)
        await announce(within, id, 'everything')
        return { outcome: 'deleted', clients, groups } as const
      })
      // Its records can no longer be found. The clean-up continues if this process stops in between.
      if (deletion.outcome === 'deleted') await clearInPortions(id)
      return deletion
    },
    async *groupNames(id) {
      let rows = await db.read(GROUP_NAMES, { zone_id: id, after: '', most: NAMES_AT_ONCE })
      while (rows.length > 0) {
        yield rows.map(row => row.display_name)
        const after = rows.at(-1)?.display_name_lower
        if (after === undefined || rows.length < NAMES_AT_ONCE) return
        rows = await db.read(GROUP_NAMES, { zone_id: id, after, most: NAMES_AT_ONCE })
      }
    },
  }
}

const toState = (row: StateRow): ZoneState =>
  withoutNulls<ZoneState>({ zone: toZone(row), revision: row.revision, activeKeyId: row.active_key_id })

const toRow = (zone: Zone): ZoneRow => ({
  id: zone.id,
  subdomain: zone.subdomain,
  subdomain_lower: lowerCase(zone.subdomain),
  name: zone.name,
  description: zone.description ?? null,
  active: flag(zone.active),
  version: zone.version,
  config: toJson(zone.config),
  created_at: zone.createdAt.getTime(),
  updated_at: zone.updatedAt.getTime(),
})

const toZone = (row: ZoneRow): Zone =>
  withoutNulls<Omit<Zone, 'address'>>({
    id: row.id,
    subdomain: row.subdomain,
    name: row.name,
    description: row.description,
    active: row.active === 1,
    version: row.version,
    config: fromJson<ZoneConfig>(row.config),
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  })
