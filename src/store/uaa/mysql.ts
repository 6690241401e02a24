// A UAA's MySQL or MariaDB: one read-only transaction, in which each table arrives as a stream.
import { isIP } from 'node:net'
import { addAbortSignal } from 'node:stream'
import { createConnection } from 'mysql2'
import type { Connection, ConnectionOptions, RowDataPacket } from 'mysql2'
import { readSmallFile } from '../../base/files/small-file.ts'
import { isLoopbackHost } from '../../base/loopback.ts'
import { StoreUnavailable } from '../store.ts'
import { CONNECT_MS, selectFrom } from './engine.ts'
import type { UaaDialect, UaaEngine } from './engine.ts'
import type { AnyUaaRow, UaaTable } from './tables.ts'

/** The server waits this long for a connection that reads nothing, because rows that it read before are being written. */
const IDLE_SECONDS = 86_400

/**
 * Settings of the session. An operator may have changed the defaults: rows would be missing, or the connection end while they
 * are written.
 */
const SETTINGS = `set session time_zone = '+00:00', sql_mode = '', sql_select_limit = 18446744073709551615,
  wait_timeout = ${IDLE_SECONDS}, net_write_timeout = ${IDLE_SECONDS}
  /*!50708 , max_execution_time = 0 */
  /*M!100300 , max_statement_time = 0, idle_transaction_timeout = 0, idle_readonly_transaction_timeout = 0 */`

const CLAIM_SECONDS = 2

const MAX_CA_BYTES = 4 * 1024 * 1024

const DIALECT: UaaDialect = {
  quoted: name => `\`${name}\``,
  casts: {
    text: expression => `convert(${expression} using utf8mb4)`,
    base64: expression => `to_base64(${expression})`,
    flag: expression => `${expression} + 0e0`, // there is no boolean type; a decimal would arrive as text
    number: expression => `${expression} + 0e0`,
    // Not `unix_timestamp`, which ends in 2038. The dates 0000-00-00 of old rows become null.
    time: expression => `floor(timestampdiff(microsecond, '1970-01-01', ${expression}) / 1000) + 0e0`,
  },
}

/**
 * Connects to the `mysql://` or `mariadb://` URL. TLS, by which the server proves the name in the URL, is required of other
 * machines unless the URL says `sslmode=disable`. Throws `StoreUnavailable`.
 */
export async function openMysql(url: string): Promise<UaaEngine> {
  const connection = createConnection(optionsOf(url))
  const lost = new AbortController()
  connection.on('error', error => lost.abort(error)) // the next statement fails; a stream would wait forever
  const inTurn = connection.promise()
  async function query(sql: string, values: readonly unknown[] = []): Promise<readonly unknown[][]> {
    try {
      const [rows] = await inTurn.query<RowDataPacket[]>({ sql, values: [...values], rowsAsArray: true })
      return rows as unknown[][] // also of what returns none
    } catch (error) {
      throw ofSource(error)
    }
  }
  try {
    await query(SETTINGS)
    await query('set session transaction isolation level repeatable read')
    await query('start transaction with consistent snapshot, read only')
  } catch (error) {
    connection.destroy()
    throw error
  }
  let isReading = false
  return {
    async columnsOf(tables) {
      // Has no columns on which the user has no privilege at all.
      const rows = await query(
        `select lower(table_name), lower(column_name), find_in_set('select', privileges)
         from information_schema.columns where table_schema = database() and table_name in (?)`,
        [tables],
      )
      return rows.map(([table, column, place]) => ({
        table: String(table),
        column: String(column),
        isReadable: Number(place) > 0,
      }))
    },
    async claim() {
      // The server takes a moment to notice that an import has ended.
      const [row] = await query(`select get_lock(concat('latchkey import-uaa ', md5(database())), ${CLAIM_SECONDS})`)
      return row?.[0] === 1
    },
    async *rows(table) {
      isReading = true // and stays so if the reader leaves: the connection is in the middle of a table
      yield* rowsOf(table, connection, lost.signal)
      isReading = false
    },
    close: async () => (isReading ? connection.destroy() : inTurn.end()),
  }
}

function optionsOf(url: string): ConnectionOptions {
  const { hostname, port, username, password, pathname, searchParams } = new URL(url)
  const ca = searchParams.get('sslrootcert')
  const mode = searchParams.get('sslmode') ?? (isLoopbackHost(hostname) && ca === null ? 'disable' : 'verify-full')
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  // `mysql2` would compare the certificate with the name localhost.
  if (mode !== 'disable' && isIP(host) !== 0) {
    throw new StoreUnavailable(
      "UAA's database: TLS requires the name of the server instead of its address, to compare the certificate with; or add sslmode=disable",
    )
  }
  return {
    host,
    port: port === '' ? 3306 : Number(port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    charset: 'utf8mb4',
    connectTimeout: CONNECT_MS,
    disableEval: true,
    flags: ['-LOCAL_FILES'], // by which a server reads files of its clients
    supportBigNumbers: true,
    ...(mode !== 'disable' && {
      ssl: {
        minVersion: 'TLSv1.2',
        rejectUnauthorized: true,
        verifyIdentity: true,
        ...(ca !== null && { ca: readSmallFile(ca, MAX_CA_BYTES) }),
      },
    }),
  }
}

/** Backpressure goes to the server: it sends on when the rows so far have been taken. */
async function* rowsOf(table: UaaTable, connection: Connection, lost: AbortSignal): AsyncGenerator<AnyUaaRow> {
  const columns = Object.entries(table.columns)
  const query = connection.query({ sql: selectFrom(table, DIALECT), rowsAsArray: true })
  const stream = addAbortSignal(lost, query.stream({ highWaterMark: table.pageSize }))
  try {
    for await (const values of stream as AsyncIterable<readonly AnyUaaRow[string][]>) {
      const cells = columns.map(([member, { kind }], index) => {
        const value = values[index] ?? null
        return [member, kind === 'flag' && value !== null ? value !== 0 : value] as const
      })
      yield Object.fromEntries(cells)
    }
  } catch (error) {
    throw ofSource(lost.aborted ? lost.reason : error)
  }
}

function ofSource(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const code: unknown = Reflect.get(error, 'code')
  const message = error.message === '' && typeof code === 'string' ? code : error.message // several addresses failed
  return new StoreUnavailable(`UAA's database: ${message}`, { cause: error })
}
