import type { Database } from '../database.ts'
import type { ReplicaOptions } from '../search-servers.ts'
import { openSqlite } from './sqlite/sqlite.ts'
import type { SqliteOptions } from './sqlite/sqlite.ts'

/** Options of `openDatabase`; replicas are those of a PostgreSQL. */
interface OpenOptions extends SqliteOptions {
  readonly replicas?: ReplicaOptions | undefined
}

/** Connects to the database of a URL. Throws `StoreUnavailable`, or for an unknown kind a plain error without the URL. */
export async function openDatabase(url: string, options: OpenOptions): Promise<Database> {
  if (/^postgres(ql)?:\/\//.test(url)) {
    const primary = await (await import('./postgres/postgres.ts')).openPostgres(url, options)
    const { replicas } = options
    return replicas ? (await import('./postgres/replicas.ts')).withReplicas(primary, replicas) : primary
  }
  if (url.startsWith('sqlite://'))
    throw new Error('a SQLite database is named sqlite:<path>, without slashes before it')
  if (/^sqlite:./.test(url)) return openSqlite(url.slice('sqlite:'.length), options)
  throw new Error('a database URL begins with sqlite: or postgres://')
}
