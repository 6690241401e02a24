import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { administer, postgresUrl } from './postgres.ts'

const ALL_KINDS = ['sqlite', 'postgres'] as const

/** The databases for tests of the store and for HTTP tests that depend on it; only SQLite in a fast run. */
export const DATABASE_KINDS = ALL_KINDS.filter(
  kind => kind === 'sqlite' || process.env['LATCHKEY_TEST_FAST'] === undefined,
)

/** One of the kinds. */
export type DatabaseKind = (typeof ALL_KINDS)[number]

/** An empty database for one test. */
export interface TestDatabase {
  /** What `openStore` takes. */
  readonly url: string
  /** Removes it, despite open connections. */
  drop(): Promise<void>
}

/** Creates a separate database: a file in a temporary folder, or one on the tests' PostgreSQL. */
export async function freshDatabase(kind: DatabaseKind): Promise<TestDatabase> {
  if (kind === 'sqlite') {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-sqlite-'))
    return {
      url: `sqlite:${join(folder, 'latchkey.db')}`,
      drop: () => Promise.resolve(rmSync(folder, { recursive: true, force: true })),
    }
  }
  return freshDatabaseOn(await postgresUrl())
}

/** Creates a separate database on a PostgreSQL, by the URL of a superuser. */
export async function freshDatabaseOn(server: string): Promise<TestDatabase> {
  const name = `latchkey_${randomBytes(8).toString('hex')}`
  await administer(server, `create database ${name} template template0 encoding 'UTF8'`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => administer(server, `drop database ${name} with (force)`) }
}

/** Runs statements without the store, for example to restore the state of an earlier version. */
export async function runStatements({ url }: TestDatabase, ...statements: readonly string[]): Promise<void> {
  if (!url.startsWith('sqlite:')) return administer(url, ...statements)
  const raw = new DatabaseSync(url.slice('sqlite:'.length))
  for (const statement of statements) raw.exec(statement)
  raw.close()
}
