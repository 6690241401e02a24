import type { IdentityProvider } from '../model/identity-provider.ts'
import { type Caches, remembered, type ZoneProviders } from './changes.ts'
import { type Database, statement } from './database.ts'
import { flag, fromJson, toJson } from './rows.ts'
import { insertInto, list, PROVIDER_COLUMNS, type ProviderRow, updateByKey } from './schema.ts'
import type { ProviderStore } from './store.ts'

const OF_ZONE = statement<{ zone_id: string }, ProviderRow>(
  `select ${list(PROVIDER_COLUMNS)} from identity_providers where zone_id = :zone_id order by origin_key`,
)
const INSERT = statement<ProviderRow>(insertInto('identity_providers', PROVIDER_COLUMNS))
const UPDATE = statement<ProviderRow>(updateByKey('identity_providers', PROVIDER_COLUMNS, ['zone_id', 'id']))

/** The identity providers of the database; a zone has few, so they are remembered together. */
export function createProviders(db: Database, caches: Caches): ProviderStore {
  const ofZone = (zoneId: string): Promise<ZoneProviders | undefined> =>
    remembered(db, caches.providers, [zoneId], async () => {
      const providers = (await db.read(OF_ZONE, { zone_id: zoneId })).map(toProvider)
      return {
        byOrigin: new Map(providers.map(provider => [provider.originKey, provider])),
        active: providers.filter(({ active }) => active),
      }
    })

  async function keep(into: typeof INSERT, zoneId: string, provider: IdentityProvider): Promise<void> {
    await db.transaction(async within => {
      await within.run(into, toRow(zoneId, provider))
      await within.announce({ kind: 'providers', zoneId, key: '' })
    })
  }

  return {
    findByOrigin: async (zoneId, originKey) => (await ofZone(zoneId))?.byOrigin.get(originKey),
    listActive: async zoneId => (await ofZone(zoneId))?.active ?? [],
    insert: (zoneId, provider) => keep(INSERT, zoneId, provider),
    update: (zoneId, provider) => keep(UPDATE, zoneId, provider),
  }
}

const toRow = (zoneId: string, provider: IdentityProvider): ProviderRow => ({
  zone_id: zoneId,
  id: provider.id,
  origin_key: provider.originKey,
  type: provider.type,
  name: provider.name,
  active: flag(provider.active),
  config: toJson(provider.config),
  version: provider.version,
  created_at: provider.createdAt.getTime(),
  updated_at: provider.updatedAt.getTime(),
})

const toProvider = (row: ProviderRow): IdentityProvider => ({
  zoneId: row.zone_id,
  id: row.id,
  originKey: row.origin_key,
  type: row.type,
  name: row.name,
  active: row.active === 1,
  config: fromJson<Readonly<Record<string, unknown>>>(row.config),
  version: row.version,
  createdAt: new Date(row.created_at),
  updatedAt: new Date(row.updated_at),
})
