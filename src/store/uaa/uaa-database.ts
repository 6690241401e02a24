// Reads the database of a UAA for an import. Knows the tables of UAA, and not what they become here.
import { StoreUnavailable } from '../store.ts'
import type { UaaEngine } from './engine.ts'
import { UAA_TABLES } from './tables.ts'
import type { UaaRow, UaaTable, UaaTableName } from './tables.ts'

/** An open database of a UAA. */
export interface UaaDatabase {
  /** Every row of the table, in the order of its key. */
  rows<T extends UaaTableName>(table: T): AsyncGenerator<UaaRow<T>>
  close(): Promise<void>
}

/** Connects to the URL of a PostgreSQL, MySQL or MariaDB; with `isAlone`, one at a time may. Throws `StoreUnavailable`. */
export async function openUaaDatabase(url: string, { isAlone = false } = {}): Promise<UaaDatabase> {
  const engine = await openEngine(url)
  try {
    await refuseOther(engine)
    if (isAlone) await refuseAnother(engine)
  } catch (error) {
    await engine.close()
    throw error
  }
  return {
    rows: table => engine.rows(UAA_TABLES[table]) as AsyncGenerator<never>, // as the columns of the table are cast
    close: () => engine.close(),
  }
}

async function openEngine(url: string): Promise<UaaEngine> {
  if (/^postgres(?:ql)?:/.test(url)) return (await import('./postgres.ts')).openPostgres(url)
  return (await import('./mysql.ts')).openMysql(url)
}

/** Is read together with the users. */
const USER_INFO = { name: 'user_info', key: ['user_id'], needs: ['info'] }

async function refuseOther(engine: UaaEngine): Promise<void> {
  const tables: readonly Pick<UaaTable, 'name' | 'key' | 'needs'>[] = [...Object.values(UAA_TABLES), USER_INFO]
  const found = await engine.columnsOf(tables.map(({ name }) => name))
  const there = new Set(found.map(({ table, column }) => `${table}.${column}`))
  if (!there.has('identity_zone.id')) {
    throw new StoreUnavailable(
      "UAA's database: there is no table identity_zone in it, or its user has no access to that table",
    )
  }
  const missing = tables.flatMap(({ name, key, needs }) =>
    [...new Set([...key, ...needs])].map(column => `${name}.${column}`).filter(column => !there.has(column)),
  )
  if (missing.length > 0) {
    throw new StoreUnavailable(
      `UAA's database lacks ${missing.join(', ')}: bring UAA to its schema 4.110 or a later one first`,
    )
  }
  const closed = new Set(found.filter(({ isReadable }) => !isReadable).map(({ table }) => table))
  if (closed.size === 0) return
  const names = [...closed].sort().join(', ')
  throw new StoreUnavailable(`UAA's database: its user may not read the tables ${names}: grant it select on them`)
}

/** An import that still writes after another has finished would restore what users delete meanwhile. */
async function refuseAnother(engine: UaaEngine): Promise<void> {
  if (await engine.claim()) return
  throw new StoreUnavailable("UAA's database: another import is under way: wait until it has ended")
}
