import type { Client, ClientSecret } from '../../model/clients/client.ts'
import type { ClientRow } from '../../records/client.ts'
import type { ClientKeys } from '../../model/clients/client-keys.ts'
import { remembered } from '../changes.ts'
import type { Caches } from '../changes.ts'
import { createClientList } from './client-list.ts'
import { createClientChanges } from './client-changes.ts'
import { CLIENT_COLUMNS, toClient, toClientRow } from './client-rows.ts'
import { isStorable, statement } from '../database.ts'
import type { Database } from '../database.ts'
import { fromJson, toJson, withoutNulls } from '../rows.ts'
import { insertInto, list, updateByKey } from '../schema.ts'
import type { ClientStore } from '../store.ts'

interface Key {
  zone_id: string
  client_id: string
}

const FIND = statement<Key, ClientRow>(
  `select ${list(CLIENT_COLUMNS)} from clients where zone_id = :zone_id and client_id = :client_id`,
)
const INSERT = statement<ClientRow>(insertInto('clients', CLIENT_COLUMNS))
// Every visible write increments the revision, for optimistic locking.
const UPDATE = statement<ClientRow>(
  updateByKey('clients', CLIENT_COLUMNS, ['zone_id', 'client_id']).replace(
    ' where ',
    ', revision = revision + 1 where ',
  ),
)
const SECRETS = statement<Key, { secrets: string }>(
  `select secrets from clients where zone_id = :zone_id and client_id = :client_id`,
)
const RENEW_SECRETS = statement<Key & { secrets: string; expected: string }>(
  `update clients set secrets = :secrets
   where zone_id = :zone_id and client_id = :client_id and secrets = :expected`,
)

const SET_TOKEN_SALT = statement<Key & { token_salt: string }>(
  `update clients set token_salt = :token_salt, revision = revision + 1
   where zone_id = :zone_id and client_id = :client_id`,
)

// Locks the row: keys that are made of these must not overwrite those of another change.
const HOLD_KEYS = statement<Key, { jwks: string | null; jwks_uri: string | null }>(
  `update clients set revision = revision + 1 where zone_id = :zone_id and client_id = :client_id
   returning jwks, jwks_uri`,
)
const SET_KEYS = statement<Key & { jwks: string | null; jwks_uri: string | null }>(
  `update clients set jwks = :jwks, jwks_uri = :jwks_uri where zone_id = :zone_id and client_id = :client_id`,
)

const LIFETIMES = statement<{ zone_id: string }, { access_seconds: number | null; refresh_seconds: number | null }>(
  `select max(access_token_seconds) as access_seconds, max(refresh_token_seconds) as refresh_seconds
   from clients where zone_id = :zone_id
   union all select min(access_token_seconds), min(refresh_token_seconds) from clients where zone_id = :zone_id`,
)

/** Implements `ClientStore` for both databases. */
export function createClients(db: Database, caches: Caches): ClientStore {
  async function keep(into: typeof INSERT, zoneId: string, client: Client): Promise<void> {
    await db.transaction(async within => {
      await within.run(into, toClientRow({ ...client, zoneId }))
      await within.announce({ kind: 'clients', zoneId, key: client.clientId })
    })
  }

  return {
    ...createClientChanges(db),
    find: (zoneId, clientId) =>
      remembered(db, caches.clients, [zoneId, clientId], async () => {
        const [row] = await db.read(FIND, { zone_id: zoneId, client_id: clientId })
        return row && toClient(row)
      }),
    list: createClientList(db, caches),
    insert: (zoneId, client) => keep(INSERT, zoneId, client),
    update: (zoneId, client) => keep(UPDATE, zoneId, client),
    async lifetimes(zoneId) {
      const rows = await db.read(LIFETIMES, { zone_id: zoneId })
      return rows.map(row =>
        withoutNulls<{ accessTokenSeconds?: number; refreshTokenSeconds?: number }>({
          accessTokenSeconds: row.access_seconds,
          refreshTokenSeconds: row.refresh_seconds,
        }),
      )
    },
    setTokenSalt: (zoneId, clientId, salt) =>
      db.transaction(async within => {
        await within.run(SET_TOKEN_SALT, { zone_id: zoneId, client_id: clientId, token_salt: salt })
        await within.announce({ kind: 'clients', zoneId, key: clientId })
      }),
    async changeKeys(zoneId, clientId, change) {
      if (!isStorable(zoneId) || !isStorable(clientId)) return undefined
      return db.transaction(async within => {
        const key = { zone_id: zoneId, client_id: clientId }
        const [row] = (await within.run(HOLD_KEYS, key)).rows
        if (row === undefined) return undefined
        const before = withoutNulls<ClientKeys>({ jwks: row.jwks, jwksUri: row.jwks_uri })
        const after = change(before)
        await within.run(SET_KEYS, { ...key, jwks: after.jwks ?? null, jwks_uri: after.jwksUri ?? null })
        await within.announce({ kind: 'clients', zoneId, key: clientId })
        return { before, after }
      })
    },
    async renewSecretHash(zoneId, clientId, renewed) {
      const key = { zone_id: zoneId, client_id: clientId }
      const [row] = await db.read(SECRETS, key)
      const secrets = row && replaceHash(fromJson<readonly ClientSecret[]>(row.secrets), renewed)
      if (row === undefined || secrets === undefined) return
      await db.transaction(async within => {
        // Compare-and-swap: a concurrent change of the secrets wins, and the next login tries again.
        const { changes } = await within.run(RENEW_SECRETS, { ...key, secrets: toJson(secrets), expected: row.secrets })
        if (changes > 0) await within.announce({ kind: 'clients', zoneId, key: clientId })
      })
    },
  }
}

function replaceHash(secrets: readonly ClientSecret[], renewed: ClientSecret): ClientSecret[] | undefined {
  if (!secrets.some(({ revision }) => revision === renewed.revision)) return undefined
  return secrets.map(secret => (secret.revision === renewed.revision ? renewed : secret))
}
