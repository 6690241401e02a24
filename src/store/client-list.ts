// Lists of clients: which attributes they are filtered and sorted by, under the names of UAA's columns.
import type { Caches } from './changes.ts'
import { remembered } from './changes.ts'
import { toClient } from './client-rows.ts'
import type { Database } from './database.ts'
import type { Attribute } from './filter-sql.ts'
import type { Listing } from './listing.ts'
import { readPage } from './listing.ts'
import type { ClientRow } from './schema.ts'
import { CLIENT_COLUMNS } from './schema.ts'
import type { ClientStore } from './store.ts'

// Everything approved is `true` in the column, and a list of one entry to those who ask.
const AUTOAPPROVE = `case autoapprove when 'true' then '["true"]' else autoapprove end`

const ATTRIBUTES: ReadonlyMap<string, Attribute> = new Map([
  ['client_id', { column: 'client_id', type: 'text' }],
  ['scope', { column: 'scope', type: 'list' }],
  ['authorized_grant_types', { column: 'authorized_grant_types', type: 'list' }],
  ['web_server_redirect_uri', { column: 'redirect_uris', type: 'list' }],
  ['access_token_validity', { column: 'access_token_seconds', type: 'number' }],
  ['refresh_token_validity', { column: 'refresh_token_seconds', type: 'number' }],
  ['autoapprove', { column: AUTOAPPROVE, type: 'list' }],
  ['show_on_home_page', { column: 'show_on_home_page', type: 'flag' }],
  ['created_by', { column: 'created_by', type: 'text' }],
  ['required_user_groups', { column: 'required_user_groups', type: 'list' }],
  ['lastmodified', { column: 'updated_at', type: 'date' }],
])

const ORDERS: ReadonlyMap<string, string> = new Map([
  ['client_id', 'client_id'],
  ['resource_ids', 'client_id'], // the same for every client
  ['scope', 'scope'],
  ['authorized_grant_types', 'authorized_grant_types'],
  ['web_server_redirect_uri', 'redirect_uris'],
  ['authorities', 'authorities'],
  ['access_token_validity', 'access_token_seconds'],
  ['refresh_token_validity', 'refresh_token_seconds'],
  ['additional_information', 'additional'],
  ['autoapprove', AUTOAPPROVE],
  ['lastmodified', 'updated_at'],
])

/** `list` of the clients. */
export function createClientList(db: Database, caches: Caches): ClientStore['list'] {
  const listing: Listing = {
    table: 'clients',
    columns: CLIENT_COLUMNS,
    key: 'client_id',
    attributes: ATTRIBUTES,
    orders: ORDERS,
    async outline(zoneId, load) {
      return (await remembered(db, caches.clientOutlines, [zoneId], load)) ?? { total: 0, places: new Map() }
    },
  }
  return async (zoneId, query) => {
    const { rows, totalResults } = await readPage<ClientRow>(db, listing, { ...query, zoneId })
    return { records: rows.map(toClient), totalResults }
  }
}
