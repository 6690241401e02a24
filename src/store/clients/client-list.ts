// Lists of clients: the attributes for filters and sorting, named like UAA's columns.
import { clientFields } from '../../records/client.ts'
import type { ClientRow } from '../../records/client.ts'
import { filterAttributes, sortOrders } from '../../records/record.ts'
import type { Caches } from '../changes.ts'
import { remembered } from '../changes.ts'
import { CLIENT_COLUMNS, toClient } from './client-rows.ts'
import type { Database } from '../database.ts'
import type { Attribute } from '../listing/filter-sql.ts'
import type { Listing } from '../listing/listing.ts'
import { readPage } from '../listing/numbered-page.ts'
import type { ClientStore } from '../store.ts'

// UAA's column names, and two columns that are not part of the record.
const ATTRIBUTES: ReadonlyMap<string, Attribute> = new Map([
  ...filterAttributes(clientFields),
  ['show_on_home_page', { column: 'show_on_home_page', type: 'flag' }],
  ['created_by', { column: 'created_by', type: 'text' }],
])

const ORDERS: ReadonlyMap<string, string> = new Map([
  ...sortOrders(clientFields),
  ['resource_ids', 'client_id'], // the same for every client
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
