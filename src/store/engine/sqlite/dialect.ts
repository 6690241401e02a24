import type { Dialect } from '../../database.ts'

const LOCK = 'all writes wait'

/** The SQL of SQLite. */
export const SQLITE: Dialect = {
  columnTypes: {
    text: 'text',
    integer: 'integer',
    flag: 'integer',
    sequence: 'integer primary key autoincrement',
    tableEnd: ' strict',
  },
  rowId: 'rowid',
  now: 'latchkey_now()', // a function of each connection
  tables: `select name from sqlite_schema where type = 'table'`,
  rowsOf: table => `select count(*) as rows from ${table}`,
  locks: {
    'create table': undefined,
    'add column': LOCK,
    'create index': LOCK,
    'change rows': LOCK,
    replace: LOCK,
  },
  jsonText: (column, path) => `json_extract(${column}, '$.${path.join('.')}')`,
  isPrimaryEntry: (column, list, valueColumn) => `exists (select 1 from (select value ->> 'primary' as is_primary
    from json_each(${column}, '$.${list}') where value ->> 'value' = ${valueColumn} limit 1) where is_primary = 1)`,
}
