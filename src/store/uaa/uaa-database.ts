// Reads the PostgreSQL database of a UAA for an import: in one read-only transaction, so that all rows are of one moment, and a page
// at a time. Knows the tables of UAA, and not what they become here.
import { Client } from 'pg'
import { clientConfig, translate } from '../engine/postgres/connections.ts'
import { StoreUnavailable } from '../store.ts'
import { UAA_TABLES } from './tables.ts'
import type { UaaRow, UaaTable, UaaTableName } from './tables.ts'

/** An open database of a UAA. */
export interface UaaDatabase {
  /** Every row of the table, in the order of its key. */
  rows<T extends UaaTableName>(table: T): AsyncGenerator<UaaRow<T>>
  close(): Promise<void>
}

const CONNECT_MS = 10_000
/** A large table may have to be sorted before its first rows. */
const QUERY_MS = 600_000

/** Connects to the `postgres://` URL; with `isAlone`, one at a time may. Throws `StoreUnavailable`. */
export async function openUaaDatabase(url: string, { isAlone = false } = {}): Promise<UaaDatabase> {
  const options = {
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    application_name: 'latchkey import-uaa',
  }
  const client = new Client({ ...clientConfig(url), ...options })
  client.on('error', () => {}) // the next statement fails
  const query = async (text: string, values: readonly unknown[] = []): Promise<readonly object[]> => {
    try {
      return (await client.query<object>(text, [...values])).rows
    } catch (error) {
      throw ofSource(error)
    }
  }
  await client.connect().catch((error: unknown) => {
    throw ofSource(error)
  })
  try {
    await query('begin transaction isolation level repeatable read read only')
    // The connection is idle while the rows that were read are written, however long that takes.
    await query(`set local idle_in_transaction_session_timeout = 0`)
    await refuseOther(query)
    if (isAlone) await refuseAnother(query)
  } catch (error) {
    await client.end()
    throw error
  }
  return {
    rows: table => rowsOf(UAA_TABLES[table], query) as AsyncGenerator<never>, // as the columns of the table are cast
    close: () => client.end(),
  }
}

/** Is read together with the users. */
const USER_INFO = 'user_info'

type Query = (text: string, values?: readonly unknown[]) => Promise<readonly object[]>

/** The messages are about another database than that of the server. */
function ofSource(error: unknown): unknown {
  const translated = translate(error)
  if (!(translated instanceof Error)) return translated
  return new StoreUnavailable(`UAA's database: ${translated.message}`, { cause: error })
}

async function refuseOther(query: Query): Promise<void> {
  const tables: readonly UaaTable[] = Object.values(UAA_TABLES)
  // Not from the information_schema, which hides what the user may not read.
  const rows = await query(
    `select c.relname || '.' || a.attname as name, c.relname as table, has_table_privilege(c.oid, 'select') as readable
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relname = any ($1) and pg_table_is_visible(c.oid) and a.attnum > 0 and not a.attisdropped`,
    [[...tables.map(({ name }) => name), USER_INFO]],
  )
  const there = new Set(rows.map(row => Reflect.get(row, 'name')))
  if (!there.has('identity_zone.id')) {
    throw new StoreUnavailable("UAA's database: there is no table identity_zone in it")
  }
  const missing = [...tables, { name: USER_INFO, key: ['user_id'], needs: ['info'] }].flatMap(({ name, key, needs }) =>
    [...new Set([...key, ...needs])].map(column => `${name}.${column}`).filter(column => !there.has(column)),
  )
  if (missing.length > 0) {
    throw new StoreUnavailable(
      `UAA's database lacks ${missing.join(', ')}: bring UAA to its schema 4.110 or a later one first`,
    )
  }
  const closed = new Set(
    rows.filter(row => Reflect.get(row, 'readable') !== true).map(row => String(Reflect.get(row, 'table'))),
  )
  if (closed.size === 0) return
  const names = [...closed].sort().join(', ')
  throw new StoreUnavailable(`UAA's database: its user may not read ${names}: grant it select on them`)
}

/** An import that still writes after another has finished would restore what users delete meanwhile. */
async function refuseAnother(query: Query): Promise<void> {
  const [row] = await query(`select pg_try_advisory_xact_lock(hashtext('latchkey import-uaa')) as locked`)
  if (row && Reflect.get(row, 'locked') === true) return
  throw new StoreUnavailable("UAA's database: another import is under way: wait until it has ended")
}

/** Reads by a cursor: if no index has the order, the table is sorted once, not for each page. */
async function* rowsOf({ name, columns, key, pageSize }: UaaTable, query: Query): AsyncGenerator<object> {
  const selected = Object.entries(columns).map(([column, [sql]]) => `${sql} as "${column}"`)
  const order = key.map(column => `${name}.${column}`)
  const cursor = `rows_of_${name}`
  await query(
    `declare ${cursor} no scroll cursor for select ${selected.join(', ')} from ${name} order by ${order.join(', ')}`,
  )
  for (;;) {
    const page = await query(`fetch ${pageSize} from ${cursor}`)
    yield* page
    if (page.length < pageSize) break
  }
  await query(`close ${cursor}`)
}
