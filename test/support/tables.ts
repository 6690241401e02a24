// The tables as described by the database, and rows written without the store, so that tests of deletion include every
// table, even ones added later.
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'

/** A column that must have a value. */
interface Column {
  readonly table: string
  readonly name: string
  readonly isText: boolean
}

/** Rows of a database, read and written without the store. */
export interface Tables {
  /** Names of the tables that have a column `zone_id`. */
  readonly ofZones: readonly string[]
  /** Adds a row of the zone to the table, with `text` in every other text that must have a value, and 1 in every number. */
  fill(table: string, zoneId: string, text: string): Promise<void>
  /** How many rows of the zone each table of zones has; those without any are left out. */
  count(zoneId: string): Promise<Readonly<Record<string, number>>>
  run(sql: string, ...values: readonly (string | number)[]): Promise<readonly Record<string, unknown>[]>
  close(): Promise<void>
}

/** Opens a connection of its own to the database that the URL names. */
export async function openTables(url: string): Promise<Tables> {
  const connection = url.startsWith('sqlite:') ? openSqlite(url.slice('sqlite:'.length)) : await openPostgres(url)
  const { run } = connection
  const columns = await connection.columns()
  const ofZones = [...new Set(columns.filter(({ name }) => name === 'zone_id').map(({ table }) => table))].toSorted()
  return {
    ...connection,
    ofZones,
    async fill(table, zoneId, text) {
      const needed = columns.filter(column => column.table === table)
      const values = needed.map(({ name, isText }) => (name === 'zone_id' ? zoneId : isText ? text : 1))
      const places = values.map((_, index) => connection.place(index + 1))
      await run(
        `insert into ${table} (${needed.map(({ name }) => name).join(', ')}) values (${places.join(', ')})`,
        ...values,
      )
    },
    async count(zoneId) {
      const counts = new Map<string, number>()
      for (const table of ofZones) {
        const [row] = await run(
          `select count(*) as number from ${table} where zone_id = ${connection.place(1)}`,
          zoneId,
        )
        if (Number(row?.['number']) > 0) counts.set(table, Number(row?.['number']))
      }
      return Object.fromEntries(counts)
    },
  }
}

function openSqlite(path: string) {
  const database = new DatabaseSync(path, { timeout: 5000 })
  const run: Tables['run'] = (sql, ...values) => Promise.resolve(database.prepare(sql).all(...values))
  return {
    run,
    place: (number: number) => `?${number}`,
    async columns(): Promise<readonly Column[]> {
      const rows = await run(
        `select m.name as table_name, c.name as name, c.type as type from sqlite_master m, pragma_table_info(m.name) c
         where m.type = 'table' and m.name not like 'sqlite_%'
           and c."notnull" = 1 and c.dflt_value is null and not (c.pk = 1 and c.type = 'INTEGER')
         order by m.name`,
      )
      return rows.map(row => ({
        table: String(row['table_name']),
        name: String(row['name']),
        isText: String(row['type']).toLowerCase() === 'text',
      }))
    },
    close: () => Promise.resolve(database.close()),
  }
}

async function openPostgres(url: string) {
  const client = new Client({ connectionString: url })
  await client.connect()
  const run: Tables['run'] = async (sql, ...values) =>
    (await client.query<Record<string, unknown>>(sql, [...values])).rows
  return {
    run,
    place: (number: number) => `$${number}`,
    async columns(): Promise<readonly Column[]> {
      const rows = await run(
        `select table_name, column_name as name, data_type as type from information_schema.columns
         where table_schema = 'public' and is_nullable = 'NO' and column_default is null and is_identity = 'NO'
         order by table_name`,
      )
      return rows.map(row => ({
        table: String(row['table_name']),
        name: String(row['name']),
        isText: row['type'] === 'text',
      }))
    },
    close: () => client.end(),
  }
}
