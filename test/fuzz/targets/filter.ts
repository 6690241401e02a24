import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import type { Filter, FilterDialect } from '../../../src/model/filters/filter.ts'
import { filterText, InvalidFilter, parseFilter, parsePath } from '../../../src/model/filters/filter.ts'
import { matches } from '../../../src/model/filters/filter-match.ts'
import { compileFilter } from '../../../src/store/listing/filter-sql.ts'
import type { Attribute, Filterable } from '../../../src/store/listing/filter-sql.ts'
import { changed, jumble } from '../changes.ts'
import { target, verdictOf } from '../target.ts'
import { anyCodePoint } from '../../support/code-points.ts'

const emails: Attribute = {
  column: 'address',
  type: 'text',
  rows: {
    from: 'emails where emails.zone_id = :zone_id',
    owner: 'person',
    members: new Map<string, Attribute>([
      ['value', { column: 'address', type: 'text' }],
      ['type', { column: 'kind', type: 'exact' }],
    ]),
  },
}
const attributes = new Map<string, Attribute>([
  ['id', { column: 'id', type: 'exact' }],
  ['username', { column: 'name', type: 'text', indexed: true }],
  ['constructor', { column: 'title', type: 'text' }],
  ['age', { column: 'age', type: 'number' }],
  ['active', { column: 'active', type: 'flag' }],
  ['meta.created', { column: 'created', type: 'dateTime' }],
  ['scope', { column: 'scopes', type: 'list' }],
  ['emails', emails],
  ['emails.value', emails],
])
const users: Filterable = { table: 'people', key: 'id', attributes }

const database = new DatabaseSync(':memory:')
database.exec(`create table people (zone_id text, id text, name text, title text, age integer, active integer, created integer,
  scopes text); create table emails (zone_id text, person text, address text, kind text);
  insert into people values ('z', 'p1', 'Ann', null, 7, 1, 0, '["a","b"]'), ('other', 'p2', 'Bob', '', null, 0, 1, '[]');
  insert into emails values ('z', 'p1', 'ann@example.org', 'work')`)

/** Only words known to the compiler, none from a caller. */
const WORDS = new Set(
  `select from where and or not in union all is null coalesce false replace lower substr length like escape zone_id people
  emails person address kind id name title age active created scopes emails.zone_id`.split(/\s+/),
)
const SIGNS = new Set(['=', '<>', '<', '>', '<=', '>=', '-', "''", "'[]'", "'\\'"])
const isOurs = (word: string): boolean =>
  WORDS.has(word) || SIGNS.has(word) || /^(?::filter_\d+|:zone_id|\d+)$/.test(word)

function checkSql(filter: Filter): void {
  verdictOf(
    [InvalidFilter],
    () => compileFilter(filter, users),
    ({ text, args }) => {
      const strange = text.split(/[\s(),]+/).filter(word => word !== '' && !isOurs(word))
      assert.deepEqual(strange, [], 'words of the caller in SQL')
      const named = new Set(text.match(/:filter_\d+/g))
      assert.deepEqual(
        [...named].toSorted(),
        Object.keys(args)
          .map(name => `:${name}`)
          .toSorted(),
      )
      const found = database
        .prepare(`select id from people where zone_id = :zone_id and ${text}`)
        .all({ zone_id: 'z', ...args } as Record<string, string>)
      assert.ok(
        found.every(row => row['id'] === 'p1'),
        'a row of another zone',
      )
    },
  )
}

const PIECES = [
  'and',
  'or',
  'not',
  ' not (',
  'eq',
  'co',
  'pr',
  ' ',
  '(',
  ')',
  '[',
  ']',
  '].value',
  '"',
  "'",
  '\\"',
  "\\'",
  '\\u0000',
  '\\ud800',
  'null',
  'true',
  '1',
  '-1e5',
  'userName',
  'emails',
  '--',
  ';',
  ':filter_1',
  '/*',
  '%',
  '_',
  'urn:a:b:',
  '.',
  '$',
  '"x" or "a" eq "a',
]
const values = fc.oneof(
  fc.constantFrom(
    '"ann"',
    '""',
    '"a%_\\\\"',
    "'it\\'s'",
    'true',
    'null',
    '7',
    '-0',
    '"2030-01-01T00:00:00.000Z"',
    '"\\u0000"',
    '"\'; drop table people; --"',
  ),
  fc.string({ unit: anyCodePoint, maxLength: 6 }).map(text => JSON.stringify(text)),
)
const names = fc.constantFrom(
  'userName',
  'id',
  'age',
  'active',
  'meta.created',
  'scope',
  'emails',
  'emails.value',
  'constructor',
  'emails[type eq "work"].value',
  'urn:ietf:x:User:title',
)
const comparison = fc
  .tuple(names, fc.constantFrom('eq', 'co', 'sw', 'gt', 'GE', 'lt', 'le', 'ne', 'ew', 'pr'), values)
  .map(([name, operator, value]) => (operator === 'pr' ? `${name} pr` : `${name} ${operator} ${value}`))
const filters = fc
  .array(comparison, { minLength: 1, maxLength: 4 })
  .chain(parts =>
    fc.constantFrom(
      parts.join(' and '),
      parts.join(' or '),
      parts.map(part => `not (${part})`).join(' and '),
      `(${parts.join(' or ')}) and (${parts.join(') or (')})`,
      `emails[${parts.join(' and ')}]`,
    ),
  )

function check([text, dialect]: readonly [string, FilterDialect]) {
  verdictOf([InvalidFilter], () => parsePath(text))
  return verdictOf(
    [InvalidFilter],
    () => parseFilter(text, dialect),
    filter => {
      const printed = filterText(filter)
      // What is printed may be longer than what was read, by escapes.
      if (printed.length <= 4096) assert.deepEqual(parseFilter(printed, dialect), filter)
      assert.equal(
        typeof matches(filter, { userName: 'Ann', emails: [{ value: 'a', type: 'work' }], age: 7 }),
        'boolean',
      )
      checkSql(filter)
    },
  )
}

/**
 * Filters of both dialects: printed and read again they are the same; the SQL that comes of them consists of our own words and
 * of parameters, and the database takes it.
 */
export const filter = target({
  name: 'filter',
  inputs: fc.tuple(
    fc.oneof(changed(filters, PIECES), filters, jumble(PIECES, 20)),
    fc.constantFrom<FilterDialect>('uaa', 'scim'),
  ),
  check,
})
