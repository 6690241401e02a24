import type { Zone, ZoneConfig } from '../model/zone.ts'
import { type Caches, remembered } from './changes.ts'
import { type Database, statement } from './database.ts'
import { flag, fromJson, lowerCase, toJson, withoutNulls } from './rows.ts'
import { insertInto, list, updateByKey, ZONE_COLUMNS, type ZoneRow } from './schema.ts'
import type { ZoneStore } from './store.ts'

const FIND = statement<{ id: string }, ZoneRow>(`select ${list(ZONE_COLUMNS)} from zones where id = :id`)
const FIND_ID = statement<{ subdomain_lower: string }, { id: string }>(
  `select id from zones where subdomain_lower = :subdomain_lower`,
)
const INSERT = statement<ZoneRow>(insertInto('zones', ZONE_COLUMNS))
const UPDATE = statement<ZoneRow>(updateByKey('zones', ZONE_COLUMNS, ['id']))

/** The zones of the database. */
export function createZones(db: Database, caches: Caches): ZoneStore {
  const find = (id: string): Promise<Zone | undefined> =>
    remembered(db, caches.zones, [id], async () => {
      const [row] = await db.read(FIND, { id })
      return row && toZone(row)
    })

  async function keep(into: typeof INSERT, zone: Zone): Promise<void> {
    await db.transaction(async within => {
      await within.run(into, toRow(zone))
      await within.announce({ kind: 'zones', zoneId: zone.id, key: '' })
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
      // The zone's own record is never stale; the hint is, once the zone has another subdomain.
      if (zone !== undefined && lowerCase(zone.subdomain) === lower) return zone
      caches.subdomains.drop(lower)
      const other = await findId(lower)
      return other && find(other.id)
    },
    insert: zone => keep(INSERT, zone),
    update: zone => keep(UPDATE, zone),
  }
}

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
  withoutNulls<Zone>({
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
