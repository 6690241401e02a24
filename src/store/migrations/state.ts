// Which migrations a database has had.
import { statement } from '../database.ts'
import type { Database } from '../database.ts'
import { StoreUnavailable } from '../store.ts'
import type { Migration } from './migration.ts'

/** The migration that lets a database say which kind each one is of. */
export const KINDS_ID = '0030-kinds-of-migrations'

/** The migrations that a database lacks, and those that this version does not know. */
interface SchemaState {
  /** Whether nothing was ever applied. */
  readonly isNew: boolean
  readonly pending: readonly Migration[]
  /** Migrations of a newer version, all of the kind `expand`. */
  readonly unknown: readonly string[]
}

interface Applied {
  id: string
  kind: string | null
}

const WITHOUT_KINDS = statement<object, Applied>(`select id, null as kind from migrations`)
const WITH_KINDS = statement<object, Applied>(`select id, kind from migrations`)
const HAS_KINDS = statement<object, { id: string }>(`select id from migrations where id = '${KINDS_ID}'`)

/** Anything that reads: the database or a transaction. */
type Read = Database['read']

/**
 * Compares the database with the list, writing nothing. Throws `StoreUnavailable` where a newer version has changed something
 * that this one needs.
 */
export async function schemaState(db: Database, list: readonly Migration[]): Promise<SchemaState> {
  const rows = await db.read(statement<object, { name: string }>(db.tables), {})
  const tables = rows.map(({ name }) => name)
  if (!tables.includes('migrations')) {
    refuseForeign(tables, list, db)
    return { isNew: true, pending: list, unknown: [] }
  }
  return stateOf((of, args) => db.read(of, args), list)
}

/** In a foreign database, such as that of a UAA, the first `create table` would fail and change nothing; this message says more. */
function refuseForeign(tables: readonly string[], list: readonly Migration[], { columnTypes }: Database): void {
  const created = new Set(
    list.flatMap(({ statements }) => statements(columnTypes).map(text => /^\s*create table (\w+)/.exec(text)?.[1])),
  )
  const foreign = tables.filter(name => created.has(name)).toSorted()
  if (foreign.length === 0) return
  throw new StoreUnavailable(
    `the database is that of another program, which has tables ${foreign.join(', ')}: give this server its own`,
  )
}

/** As `schemaState`, where the table is known to exist. */
export async function stateOf(read: Read, list: readonly Migration[]): Promise<SchemaState> {
  const hasKinds = (await read(HAS_KINDS, {})).length > 0
  const applied = await read(hasKinds ? WITH_KINDS : WITHOUT_KINDS, {})
  const listed = new Set(list.map(({ id }) => id))
  const unknown = applied.filter(({ id }) => !listed.has(id))
  // This version cannot trust a kind that a newer version introduced.
  const breaking = unknown.filter(({ kind }) => kind !== 'expand').map(({ id }) => id)
  if (breaking.length > 0) {
    throw new StoreUnavailable(
      `the database was changed by a newer version of this server (${breaking.toSorted().join(', ')}), and this one cannot work with it`,
    )
  }
  const done = new Set(applied.map(({ id }) => id))
  return {
    isNew: applied.length === 0,
    pending: list.filter(({ id }) => !done.has(id)),
    unknown: unknown.map(({ id }) => id).toSorted(),
  }
}
