import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { systemClock } from '../../src/base/clock.ts'
import { migrateDatabase } from '../../src/store/migrations/maintenance.ts'
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts'
import { POSTGRES } from '../../src/store/engine/postgres/dialect.ts'
import { fillNewFile } from './database-images.ts'
import { administer, postgresUrl } from './postgres.ts'

const ALL_KINDS = ['sqlite', 'postgres'] as const

/** The databases for tests of the store and for HTTP tests that depend on it; only SQLite in a fast run. */
export const DATABASE_KINDS = ALL_KINDS.filter(
  kind => kind === 'sqlite' || process.env['LATCHKEY_TEST_FAST'] === undefined,
)

/** One of the kinds. */
export type DatabaseKind = (typeof ALL_KINDS)[number]

/** A database for one test. */
export interface TestDatabase {
  /** What `openStore` takes. */
  readonly url: string
  /** Removes it, despite open connections. */
  drop(): Promise<void>
}

/** Creates a separate database that has all tables: a file in a temporary folder, or one on the tests' PostgreSQL. */
export async function freshDatabase(kind: DatabaseKind): Promise<TestDatabase> {
  if (kind === 'sqlite') {
    const database = emptyFile()
    await fillNewFile(database.url)
    return database
  }
  const server = await postgresUrl()
  return freshDatabaseOn(server, await migratedTemplate(server))
}

/** The same without tables, for tests of what makes them. */
export const emptyDatabase = async (kind: DatabaseKind): Promise<TestDatabase> =>
  kind === 'sqlite' ? emptyFile() : freshDatabaseOn(await postgresUrl())

function emptyFile(): TestDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-sqlite-'))
  return {
    url: `sqlite:${join(folder, 'latchkey.db')}`,
    drop: () => Promise.resolve(rmSync(folder, { recursive: true, force: true })),
  }
}

let template: Promise<string> | undefined

/** The name of a database with all tables, from which PostgreSQL copies; the first process that asks for it makes it. */
function migratedTemplate(server: string): Promise<string> {
  template ??= (async () => {
    const schema = MIGRATIONS.map(({ id, statements }) => [id, statements(POSTGRES.columnTypes)])
    const name = `latchkey_template_${createHash('sha256').update(JSON.stringify(schema)).digest('hex').slice(0, 16)}`
    const client = new Client({ connectionString: server })
    await client.connect()
    try {
      await client.query('select pg_advisory_lock(1)') // released at the end of the connection
      const { rowCount } = await client.query('select 1 from pg_database where datname = $1 and datistemplate', [name])
      if (rowCount === 0) {
        await client.query(`drop database if exists ${name}`) // of a process that was interrupted
        await client.query(`create database ${name} template template0 encoding 'UTF8'`)
        await migrateDatabase(databaseOn(server, name), { clock: systemClock })
        await client.query(`alter database ${name} with is_template true allow_connections false`)
      }
    } finally {
      await client.end()
    }
    return name
  })()
  return template
}

/** Creates a separate database on a PostgreSQL, by the URL of a superuser. */
export async function freshDatabaseOn(server: string, from = 'template0'): Promise<TestDatabase> {
  const name = `latchkey_${randomBytes(8).toString('hex')}`
  await administer(server, `create database ${name} template ${from} encoding 'UTF8'`)
  return { url: databaseOn(server, name), drop: () => administer(server, `drop database ${name} with (force)`) }
}

const databaseOn = (server: string, name: string): string =>
  Object.assign(new URL(server), { pathname: `/${name}` }).href

/** Runs statements without the store, for example to restore the state of an earlier version. */
export async function runStatements({ url }: TestDatabase, ...statements: readonly string[]): Promise<void> {
  if (!url.startsWith('sqlite:')) return administer(url, ...statements)
  const raw = new DatabaseSync(url.slice('sqlite:'.length))
  for (const statement of statements) raw.exec(statement)
  raw.close()
}
