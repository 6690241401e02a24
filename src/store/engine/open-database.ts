import type { Database } from '../database.ts'
import { openSqlite, type SqliteOptions } from './sqlite.ts'

/** Connects to the database of a URL. Throws `StoreUnavailable`, or for an unknown kind a plain error without the URL. */
export async function openDatabase(url: string, options: SqliteOptions): Promise<Database> {
  if (/^postgres(ql)?:\/\//.test(url)) return (await import('./postgres.ts')).openPostgres(url, options)
  if (url.startsWith('sqlite://'))
    throw new Error('a SQLite database is named sqlite:<path>, without slashes before it')
  if (/^sqlite:./.test(url)) return openSqlite(url.slice('sqlite:'.length), options)
  throw new Error('a database URL begins with sqlite: or postgres://')
}
