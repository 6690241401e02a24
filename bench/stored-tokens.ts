// Fills a database with many tokens in seconds: copies of a row that the server has stored, under new ids. The server
// is stopped meanwhile, so the file needs no durability.
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { digest } from '../src/base/secrets.ts'
import type { Accounts } from './accounts.ts'
import type { Processes } from './processes.ts'
import { discover, form, tokenOf } from './requests.ts'
import { startLatchkey } from './servers.ts'
import type { LatchkeyHome, Server } from './servers.ts'

const ROWS_PER_TURN = 10_000

/** The tokens to store. They expire one millisecond apart, from `firstExpiry` on. */
export interface Filling {
  readonly rows: number
  readonly firstExpiry: Date
  /** How many of them to return, spread evenly over the table. */
  readonly returned: number
}

/** The result of a filling. */
export interface FilledDatabase {
  readonly rows: number
  /** Values of stored tokens, in the order of their rows. */
  readonly tokens: readonly string[]
  /** Of the database file. */
  readonly bytes: number
  readonly seconds: number
}

/** Starts a Latchkey whose database contains the tokens. */
export async function startFilledLatchkey(
  processes: Processes,
  accounts: Accounts,
  { home, filling }: { home: LatchkeyHome; filling: Filling },
): Promise<{ server: Server; filled: FilledDatabase }> {
  const { baseUrl, running } = await startLatchkey(processes, accounts, home)
  const fields = { grant_type: 'client_credentials', scope: accounts.scope, token_format: 'opaque' }
  await tokenOf(form((await discover(baseUrl)).token, fields, accounts.service.opaque))
  await running.stop()
  const filled = await storeTokens(home.database, filling)
  return { server: await startLatchkey(processes, accounts, home), filled }
}

/** Stores copies of the newest opaque token; the database must have one. */
async function storeTokens(file: string, { rows, firstExpiry, returned }: Filling): Promise<FilledDatabase> {
  const start = performance.now()
  const database = new DatabaseSync(file)
  try {
    // An unfinished file is discarded, so it need not survive a crash.
    database.exec('pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -700000')
    const tokens = await fill(database, { rows, firstExpiry, returned })
    return { rows, tokens, bytes: statSync(file).size, seconds: (performance.now() - start) / 1000 }
  } finally {
    database.close()
  }
}

async function fill(database: DatabaseSync, { rows, firstExpiry, returned }: Filling): Promise<string[]> {
  database.exec(
    `create temp table template as select * from tokens where format = 'opaque' order by issued_at desc limit 1`,
  )
  const template = database.prepare('select * from template').get()
  if (!template) throw new Error('the database has no opaque token to copy')
  const claims: Record<string, unknown> = JSON.parse(String(template.claims))
  const own = new Set(['id_digest', 'claims', 'expires_at'])
  const columns = Object.keys(template)
  const insert = database.prepare(
    `insert into tokens (${columns.join(', ')})
     select ${columns.map(column => (own.has(column) ? `:${column}` : column)).join(', ')} from template`,
  )
  // Rebuilding the indexes at the end costs a tenth of updating them row by row.
  const indexes = database
    .prepare(`select name, sql from sqlite_master where type = 'index' and tbl_name = 'tokens' and sql is not null`)
    .all()

  const tokens: string[] = []
  const stride = Math.ceil(rows / returned)
  for (const { name } of indexes) database.exec(`drop index "${String(name)}"`)
  database.exec('begin')
  for (let index = 0; index < rows; index += 1) {
    const token = randomBytes(16).toString('hex')
    const expiresAt = firstExpiry.getTime() + index
    insert.run({
      id_digest: digest(token),
      claims: JSON.stringify({ ...claims, exp: Math.floor(expiresAt / 1000) }),
      expires_at: expiresAt,
    })
    if (index % stride === 0) tokens.push(token)
    if (index % ROWS_PER_TURN === 0) await nextTurn() // lets Ctrl-C through
  }
  database.exec('commit')
  for (const { sql } of indexes) database.exec(String(sql))
  return tokens
}
