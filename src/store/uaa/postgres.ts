// A UAA's PostgreSQL: one read-only transaction, in which a cursor reads a page at a time.
import { Client } from 'pg'
import { clientConfig, translate } from '../engine/postgres/connections.ts'
import { StoreUnavailable } from '../store.ts'
import { CONNECT_MS, selectFrom } from './engine.ts'
import type { FoundColumn, UaaDialect, UaaEngine } from './engine.ts'
import type { AnyUaaRow, UaaTable } from './tables.ts'

/** A large table may have to be sorted before its first rows. */
const QUERY_MS = 600_000

const DIALECT: UaaDialect = {
  quoted: name => `"${name}"`,
  casts: {
    text: expression => `cast(${expression} as text)`,
    base64: expression => `encode(${expression}, 'base64')`,
    flag: expression => `cast(${expression} as boolean)`,
    number: expression => `cast(${expression} as double precision)`,
    time: expression => `cast(floor(extract(epoch from ${expression}) * 1000) as double precision)`,
  },
}

/** Connects to the `postgres://` URL. Throws `StoreUnavailable`. */
export async function openPostgres(url: string): Promise<UaaEngine> {
  const client = new Client({
    ...clientConfig(url),
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    application_name: 'latchkey import-uaa',
  })
  client.on('error', () => {}) // the next statement fails
  async function query<Row>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    try {
      return (await client.query<Row & object>(text, [...values])).rows
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
  } catch (error) {
    await client.end()
    throw error
  }
  return {
    // Not from the information_schema, which hides what the user may not read.
    columnsOf: tables =>
      query<FoundColumn>(
        `select c.relname as "table", a.attname as "column", has_table_privilege(c.oid, 'select') as "isReadable"
         from pg_class c join pg_attribute a on a.attrelid = c.oid
         where c.relname = any ($1) and pg_table_is_visible(c.oid) and a.attnum > 0 and not a.attisdropped`,
        [tables],
      ),
    async claim() {
      const [row] = await query<{ locked: boolean }>(
        `select pg_try_advisory_xact_lock(hashtext('latchkey import-uaa')) as locked`,
      )
      return row?.locked === true
    },
    rows: table => rowsOf(table, query),
    close: () => client.end(),
  }
}

/** The messages are about another database than that of the server. */
function ofSource(error: unknown): unknown {
  const translated = translate(error)
  if (!(translated instanceof Error)) return translated
  return new StoreUnavailable(`UAA's database: ${translated.message}`, { cause: error })
}

/** Reads by a cursor: if no index has the order, the table is sorted once, not for each page. */
async function* rowsOf(
  table: UaaTable,
  query: <Row>(text: string) => Promise<readonly Row[]>,
): AsyncGenerator<AnyUaaRow> {
  const cursor = `rows_of_${table.name}`
  await query(`declare ${cursor} no scroll cursor for ${selectFrom(table, DIALECT)}`)
  for (;;) {
    const page = await query<AnyUaaRow>(`fetch ${table.pageSize} from ${cursor}`)
    yield* page
    if (page.length < table.pageSize) break
  }
  await query(`close ${cursor}`)
}
