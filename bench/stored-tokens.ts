// A database with many tokens in it, made in seconds: rows like the one that the server has just stored, under ids of
// their own. The server does not run meanwhile, so that the file needs no safety of its own.
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

/** How many tokens to store, and when they expire: one millisecond after another, from `firstExpiry` on. */
export interface Filling {
  readonly rows: number
  readonly firstExpiry: Date
  /** How many of them to tell, evenly spread over the table. */
  readonly told: number
}

/** What was stored. */
export interface FilledDatabase {
  readonly rows: number
  /** Values of tokens that are stored, in the order of their rows. */
  readonly tokens: readonly string[]
  /** Of the database file. */
  readonly bytes: number
  readonly seconds: number
}

/** Starts a Latchkey whose database has the tokens already. */
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

/** Stores opaque tokens like the newest one of the database, of which there must be one. */
async function storeTokens(file: string, { rows, firstExpiry, told }: Filling): Promise<FilledDatabase> {
  const start = performance.now()
  const database = new DatabaseSync(file)
  try {
    // A file that is not finished is thrown away, so nothing has to survive a crash here.
    database.exec('pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -700000')
    const tokens = await fill(database, { rows, firstExpiry, told })
    return { rows, tokens, bytes: statSync(file).size, seconds: (performance.now() - start) / 1000 }
  } finally {
    database.close()
  }
}

async function fill(database: DatabaseSync, { rows, firstExpiry, told }: Filling): Promise<string[]> {
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
  // Sorted once at the end they cost a tenth of what they cost row by row.
  const indexes = database
    .prepare(`select name, sql from sqlite_master where type = 'index' and tbl_name = 'tokens' and sql is not null`)
    .all()

  const tokens: string[] = []
  const stride = Math.ceil(rows / told)
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
    if (index % ROWS_PER_TURN === 0) await nextTurn() // so that Ctrl-C is heard
  }
  database.exec('commit')
  for (const { sql } of indexes) database.exec(String(sql))
  return tokens
}
