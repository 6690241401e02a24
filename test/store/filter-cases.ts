// Test cases of every database for filters: the same results as computed in JavaScript from the same rows.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { systemClock } from '../../src/base/clock.ts'
import type { Comparison, Filter, FilterValue } from '../../src/model/filters/filter.ts'
import { InvalidFilter, SCIM_COMPARISONS, filterText, parseFilter } from '../../src/model/filters/filter.ts'
import type { Database } from '../../src/store/database.ts'
import { statement, statementOnce } from '../../src/store/database.ts'
import type { Attribute } from '../../src/store/listing/filter-sql.ts'
import type { Listing } from '../../src/store/listing/listing.ts'
import type { Outline } from '../../src/store/listing/outline.ts'
import { readPage } from '../../src/store/listing/numbered-page.ts'
import { openPostgres } from '../../src/store/engine/postgres/postgres.ts'
import { openSqlite } from '../../src/store/engine/sqlite/sqlite.ts'
import type { ListQuery, Store } from '../../src/store/store.ts'
import type { DatabaseKind } from '../support/databases.ts'
import { at, client } from './records.ts'
import type { Lent } from './token-cases.ts'
import { inBatches } from './batches.ts'

interface Thing {
  readonly zone_id: string
  readonly id: string
  readonly name: string | null
  readonly code: string
  readonly size: number | null
  readonly made_at: number
  readonly is_new: 0 | 1
  readonly tags: string
}
const COLUMNS = ['zone_id', 'id', 'name', 'code', 'size', 'made_at', 'is_new', 'tags'] as const

/** Multiple values of a record, in a table of their own. */
interface Mail {
  readonly zone_id: string
  readonly thing_id: string
  readonly value: string
  readonly type: string | null
  readonly is_primary: 0 | 1
}
const MAIL_COLUMNS = ['zone_id', 'thing_id', 'value', 'type', 'is_primary'] as const
const mailsOf = new Map<string, readonly Mail[]>()
const MAILS = { from: 'mails where zone_id = :zone_id', owner: 'thing_id' }
const MAIL_MEMBERS: ReadonlyMap<string, Attribute & { readonly of: (mail: Mail) => unknown }> = new Map([
  ['value', { column: 'value', type: 'text', of: (mail: Mail) => mail.value }],
  ['type', { column: 'type', type: 'text', of: (mail: Mail) => mail.type }],
  ['primary', { column: 'is_primary', type: 'flag', of: (mail: Mail) => mail.is_primary === 1 }],
])
const mailsIn = (thing: Thing, attribute: string): readonly unknown[] =>
  (mailsOf.get(thing.id) ?? []).flatMap(mail => MAIL_MEMBERS.get(attribute)?.of(mail) ?? [])

const ATTRIBUTES: ReadonlyMap<string, Attribute & { readonly of: (thing: Thing) => unknown }> = new Map([
  ['id', { column: 'id', type: 'text', of: thing => thing.id }],
  ['name', { column: 'name', type: 'text', of: thing => thing.name }],
  ['code', { column: 'code', type: 'exact', of: thing => thing.code }],
  ['size', { column: 'size', type: 'number', of: thing => thing.size }],
  ['meta.made', { column: 'made_at', type: 'date', of: thing => thing.made_at }],
  ['new', { column: 'is_new', type: 'flag', of: thing => thing.is_new === 1 }],
  ['tags', { column: 'tags', type: 'list', of: thing => JSON.parse(thing.tags) as readonly string[] }], // as below
  [
    'mails',
    { column: 'value', type: 'text', rows: { ...MAILS, members: MAIL_MEMBERS }, of: thing => mailsIn(thing, 'value') },
  ],
  ['mails.type', { column: 'type', type: 'text', rows: MAILS, of: thing => mailsIn(thing, 'type') }],
  ['mails.primary', { column: 'is_primary', type: 'flag', rows: MAILS, of: thing => mailsIn(thing, 'primary') }],
])

/** Values that are special in some layer: the language, `like`, JSON, UTF-8, case. */
const TEXTS = [
  '',
  'a',
  'A',
  'ab',
  'aB',
  'b%',
  'b_',
  'bx',
  'é',
  'É',
  'ß',
  'İ',
  'K',
  'k',
  '\u{1f511}',
  '\uffee',
  ':a',
  '$1',
  "'",
  '--',
  'x,',
  ',y',
  '[z]',
]
const AWKWARD = ['"', '\\', '\\"', '"a', 'a\\', 'a\n', ',', '[', ']', '","']

const lower = (text: string): string => text.replace(/[A-Z]/g, letter => letter.toLowerCase())
const inBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other))

/** Whether the comparison holds; both values are strings or both are numbers. */
function holds(one: string | number, comparison: Exclude<Comparison, 'ne'>, other: string | number): boolean {
  const order = typeof one === 'string' ? inBytes(one, String(other)) : one - Number(other)
  switch (comparison) {
    case 'eq':
      return order === 0
    case 'co':
      return String(one).includes(String(other))
    case 'sw':
      return String(one).startsWith(String(other))
    case 'ew':
      return String(one).endsWith(String(other))
    case 'gt':
      return order > 0
    case 'ge':
      return order >= 0
    case 'lt':
      return order < 0
    case 'le':
      return order <= 0
  }
}

/** The values of an attribute: none for null. */
type Look = (attribute: string) => { readonly found: unknown; readonly isExact: boolean }

const lookAt =
  (thing: Thing): Look =>
  attribute => {
    const known = ATTRIBUTES.get(attribute.toLowerCase())
    return { found: known?.of(thing), isExact: known?.type === 'exact' }
  }
const lookAtMail =
  (mail: Mail): Look =>
  attribute => ({ found: MAIL_MEMBERS.get(attribute.toLowerCase())?.of(mail), isExact: false })

const matches = (thing: Thing, filter: Filter): boolean => means(filter, lookAt(thing), mailsOf.get(thing.id) ?? [])

/** An independent implementation of filters. */
function means(filter: Filter, look: Look, mails: readonly Mail[]): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.parts.every(part => means(part, look, mails))
    case 'or':
      return filter.parts.some(part => means(part, look, mails))
    case 'not':
      return !means(filter.part, look, mails)
    case 'values':
      return mails.some(mail => means(filter.filter, lookAtMail(mail), []))
    case 'present':
    case 'compare': {
      const { found, isExact } = look(filter.attribute)
      const present = Array.isArray(found) ? found.length > 0 : found !== null
      if (filter.kind === 'present') return present
      const { comparison, value } = filter
      if (comparison === 'ne') return !means({ ...filter, comparison: 'eq' }, look, mails)
      if (value === null) return !present
      const fold = isExact ? String : lower
      return [found].flat().some(each => {
        if (typeof each === 'boolean') return each === value
        if (typeof each === 'string') return holds(fold(each), comparison, fold(String(value)))
        return (
          each !== null &&
          holds(Number(each), comparison, typeof value === 'string' ? Date.parse(value) : Number(value))
        )
      })
    }
  }
}

const things = (zoneId: string): Thing[] =>
  fc
    .sample(
      fc.record({
        name: fc.option(fc.constantFrom(...TEXTS, ...AWKWARD)),
        code: fc.constantFrom(...TEXTS, ...AWKWARD),
        size: fc.option(fc.constantFrom(-1, 0, 1, Number.MAX_SAFE_INTEGER)),
        made_at: fc.constantFrom(0, 1000, at(0).getTime(), at(1).getTime()),
        is_new: fc.constantFrom(0 as const, 1 as const),
        tags: fc.array(fc.constantFrom(...TEXTS), { maxLength: 3 }).map(tags => JSON.stringify(tags)),
      }),
      { numRuns: 60, seed: 7 },
    )
    .map((thing, index) => ({ ...thing, zone_id: zoneId, id: `${TEXTS[index % TEXTS.length] ?? ''}${index}` }))

/** None, one or two for each. */
const mails = (of: readonly Thing[], zoneId: string): Mail[] =>
  of.flatMap((thing, index) =>
    fc
      .sample(
        fc.record({
          value: fc.constantFrom(...TEXTS, ...AWKWARD),
          type: fc.option(fc.constantFrom('work', 'Work', 'home')),
          is_primary: fc.constantFrom(0 as const, 1 as const),
        }),
        { numRuns: index % 3, seed: index },
      )
      .map(mail => ({ ...mail, zone_id: zoneId, thing_id: thing.id })),
  )

const filters = ((): fc.Arbitrary<Filter> => {
  const compare = (
    attribute: string,
    comparisons: readonly Comparison[],
    values: fc.Arbitrary<FilterValue>,
  ): fc.Arbitrary<Filter> =>
    fc
      .tuple(fc.constantFrom(...comparisons), values)
      .map(([comparison, value]) => ({ kind: 'compare', attribute, comparison, value }))
  const ordered = SCIM_COMPARISONS.filter(word => !['co', 'sw', 'ew'].includes(word))
  const texts = fc.constantFrom(...TEXTS, ...AWKWARD)
  const bothWays = ['eq', 'ne'] as const
  const members = fc.oneof(
    compare('value', SCIM_COMPARISONS, texts),
    compare('Type', SCIM_COMPARISONS, fc.constantFrom('work', 'home', 'w')),
    compare('primary', bothWays, fc.boolean()),
    compare('type', bothWays, fc.constant(null)),
    fc.constant<Filter>({ kind: 'not', part: { kind: 'present', attribute: 'type' } }),
  )
  const inBrackets = fc
    .tuple(fc.constantFrom('and' as const, 'or' as const), fc.array(members, { minLength: 2, maxLength: 3 }))
    .map(([kind, parts]): Filter => ({ kind: 'values', attribute: 'mails', filter: { kind, parts } }))
  const leaves = fc.oneof(
    inBrackets,
    compare('mails', SCIM_COMPARISONS, texts),
    compare('mails.type', SCIM_COMPARISONS, fc.constantFrom('WORK', 'ome')),
    compare('mails.primary', bothWays, fc.boolean()),
    compare('id', SCIM_COMPARISONS, texts),
    compare('NAME', SCIM_COMPARISONS, texts),
    compare('code', SCIM_COMPARISONS, texts),
    compare('size', ordered, fc.constantFrom(-2, 0, 1, Number.MAX_SAFE_INTEGER)),
    compare('meta.made', ordered, fc.constantFrom('1970-01-01T00:00:01Z', '2030-01-01T00:00:00.000Z', 1000)),
    compare('new', bothWays, fc.boolean()),
    compare('tags', ['eq', 'ne', 'co', 'sw'], fc.constantFrom(...TEXTS)),
    fc.constantFrom(...ATTRIBUTES.keys()).chain(attribute => compare(attribute, bothWays, fc.constant(null))),
    fc.constantFrom(...ATTRIBUTES.keys()).map((attribute): Filter => ({ kind: 'present', attribute })),
  )
  return fc.letrec<{ tree: Filter }>(tie => ({
    tree: fc.oneof(
      { maxDepth: 3 },
      leaves,
      fc.record({
        kind: fc.constantFrom('and' as const, 'or' as const),
        parts: fc.array(tie('tree'), { minLength: 2, maxLength: 3 }),
      }),
      fc.record({ kind: fc.constant('not' as const), part: tie('tree') }),
    ),
  })).tree
})()

const refusals: readonly { name: string; filter: string }[] = [
  { name: 'an unknown attribute', filter: 'nothing pr' },
  { name: 'a column that is not an attribute', filter: 'made_at gt 0' },
  { name: 'the zone id', filter: 'zone_id eq "other"' },
  { name: 'a name of Object.prototype', filter: 'constructor pr' },
  { name: 'another name of Object.prototype', filter: 'toString eq "x"' },
  { name: 'a number for a string', filter: 'name eq 1' },
  { name: 'a boolean for a string', filter: 'code eq true' },
  { name: 'a string for a number', filter: 'size eq "1"' },
  { name: 'a fraction for an integer', filter: 'size eq 1.5' },
  { name: 'an integer that is not safe', filter: 'size lt 1e17' },
  { name: 'a substring of a number', filter: 'size co 1' },
  { name: 'an invalid date', filter: 'meta.made gt "yesterday"' },
  { name: 'a nonexistent day', filter: 'meta.made gt "2030-02-30T00:00:00.000Z"' },
  { name: 'a nonexistent hour', filter: 'meta.made gt "2030-02-20T25:00:00.000Z"' },
  { name: 'a date without a time zone', filter: 'meta.made gt "2030-02-20T00:00:00"' },
  { name: 'a prefix of a date', filter: 'meta.made sw "2030-01-01T00:00:00Z"' },
  { name: 'a string for a boolean', filter: 'new eq "true"' },
  { name: 'an order of booleans', filter: 'new gt false' },
  { name: 'an order of lists', filter: 'tags gt "a"' },
  { name: 'a number for a list', filter: 'tags eq 1' },
  { name: 'an order of null', filter: 'name gt null' },
  { name: 'NUL in a string', filter: 'name eq "\\u0000"' },
  { name: 'NUL in a list', filter: 'tags co "\\u0000"' },
  { name: 'NUL beside a matching term', filter: 'id pr or code sw "a\\u0000"' },
  { name: 'a lone surrogate', filter: 'not (name co "\\ud800")' },
  { name: 'a suffix of a number', filter: 'size ew 1' },
  { name: 'a suffix of a list', filter: 'tags ew "a"' },
  { name: '"ne" with a wrong type', filter: 'size ne "1"' },
  { name: 'brackets after a single value', filter: 'name[value eq "a"]' },
  { name: 'brackets after a member', filter: 'mails.type[value eq "a"]' },
  { name: 'an unknown member', filter: 'mails[display eq "a"]' },
  { name: 'a column that is not a member', filter: 'mails[is_primary eq true]' },
  { name: 'an attribute of the record in brackets', filter: 'mails[name eq "a"]' },
  { name: 'the zone id in brackets', filter: 'mails[zone_id eq "theirs"]' },
  { name: 'NUL in brackets', filter: 'mails[value eq "\\u0000"]' },
  { name: 'a lone surrogate in a list', filter: 'tags sw "\\udc00"' },
]

/** Additional dependencies of the filter cases. */
interface FilterLent extends Lent {
  readonly url: () => string
  readonly kind: DatabaseKind
  readonly inTime: (expected: unknown, ask: () => Promise<unknown>) => Promise<void>
}

/** The cases of filters and pages, inside the suite of a database. */
export function filterCases({ store, open, newZone, url, kind, inTime }: FilterLent): void {
  describe('Filters on the database', () => {
    let db: Database
    let rows: readonly Thing[]
    let outlines = new Map<string, Outline>()
    const listing: Listing = {
      table: 'things',
      columns: COLUMNS,
      key: 'id',
      attributes: ATTRIBUTES,
      orders: new Map([
        ['id', 'id'],
        ['name', 'name'],
        ['size', 'size'],
        ['tags', 'tags'],
      ]),
      async outline(zoneId, load) {
        const known = outlines.get(zoneId) ?? (await load())
        outlines.set(zoneId, known)
        return known
      },
    }
    const zoneId = 'mine'
    const query = { filter: parseFilter('id pr'), sortBy: 'id', descending: false, startIndex: 1, count: 1000, zoneId }
    const ask = (filter: Filter): Promise<{ rows: readonly Thing[]; totalResults: number }> =>
      readPage<Thing>(db, listing, { ...query, filter })
    const idsOf = (found: readonly { readonly id: string }[]): readonly string[] => found.map(({ id }) => id)

    before(async () => {
      const options = { clock: systemClock, listener: { changed() {}, missed() {} }, onError: () => {} }
      db =
        kind === 'sqlite'
          ? await openSqlite(url().slice('sqlite:'.length), options)
          : await openPostgres(url(), options)
      const { text, integer, flag, tableEnd } = db.columnTypes
      await db.write(
        statement(`create table things (zone_id ${text} not null, id ${text} not null, name ${text}, code ${text} not null,
          size ${integer}, made_at ${integer} not null, is_new ${flag} not null, tags ${text} not null,
          primary key (zone_id, id))${tableEnd}`),
        {},
      )
      rows = things(zoneId).sort((one, other) => inBytes(one.id, other.id))
      const insert = statement<Thing>(
        `insert into things (${COLUMNS.join(', ')}) values (${COLUMNS.map(column => `:${column}`).join(', ')})`,
      )
      for (const thing of [...rows, ...things('theirs').slice(0, 5)]) await db.write(insert, thing)
      await db.write(
        statement(`create table mails (zone_id ${text} not null, thing_id ${text} not null, value ${text} not null,
          type ${text}, is_primary ${flag} not null)${tableEnd}`),
        {},
      )
      const insertMail = statement<Mail>(
        `insert into mails (${MAIL_COLUMNS.join(', ')}) values (${MAIL_COLUMNS.map(column => `:${column}`).join(', ')})`,
      )
      for (const mail of mails(rows, zoneId)) {
        mailsOf.set(mail.thing_id, [...(mailsOf.get(mail.thing_id) ?? []), mail])
        await db.write(insertMail, mail)
        await db.write(insertMail, { ...mail, zone_id: 'theirs', value: 'a', type: 'work' })
      }
    })
    after(async () => {
      mailsOf.clear()
      await db.write(statement(`drop table mails`), {})
      await db.write(statement(`drop table things`), {})
      await db.close()
    })

    it('match the specified rows in byte order, within their zone', async () => {
      await fc.assert(
        fc.asyncProperty(filters, async filter => {
          const want = rows.filter(thing => matches(thing, filter))
          const { rows: found, totalResults } = await ask(filter)
          assert.deepEqual(idsOf(found), idsOf(want), filterText(filter))
          assert.equal(totalResults, want.length)
        }),
        { numRuns: 300 },
      )
    })

    it('match only whole entries of a list', async () => {
      const lists = AWKWARD.map((tag, index) => ({
        ...rows[0],
        zone_id: 'awkward',
        id: `${index}`,
        tags: JSON.stringify(['a', tag, 'b']),
      }))
      const insert = statement<Thing>(
        `insert into things (${COLUMNS.join(', ')}) values (${COLUMNS.map(column => `:${column}`).join(', ')})`,
      )
      for (const thing of lists) await db.write(insert, thing as Thing) // `rows` has a first one
      for (const [index, tag] of AWKWARD.entries()) {
        const filter: Filter = { kind: 'compare', attribute: 'tags', comparison: 'eq', value: tag }
        const found = await readPage<Thing>(db, listing, { ...query, zoneId: 'awkward', filter })
        // These also separate entries in the stored text, so no row is found by them.
        assert.deepEqual(idsOf(found.rows), [',', '[', ']'].includes(tag) ? [] : [`${index}`], tag)
      }
    })

    for (const kind of ['or', 'and'] as const) {
      // A zone may have more providers, which the filter of `/ids/Users` names.
      it(`may have thousands of parts: ${kind}`, async () => {
        const [first] = rows
        const others = Array.from({ length: 2500 }, (_, index): Filter => {
          const part: Filter = { kind: 'compare', attribute: 'code', comparison: 'eq', value: `none ${index}` }
          return kind === 'or' ? part : { kind: 'not', part }
        })
        const one: Filter = { kind: 'compare', attribute: 'id', comparison: 'eq', value: first?.id ?? '' }
        const want = rows.filter(({ id }) => id.toLowerCase() === first?.id.toLowerCase())
        assert.deepEqual(idsOf((await ask({ kind, parts: [...others, one] })).rows), idsOf(want))
      })
    }

    for (const { name, filter } of refusals) {
      it(`reject ${name}`, () => assert.rejects(() => ask(parseFilter(filter, 'scim')), InvalidFilter))
    }

    const orders: readonly { sortBy: string; of: (one: Thing, other: Thing) => number }[] = [
      { sortBy: 'id', of: () => 0 },
      {
        sortBy: 'NAME',
        of: (one, other) =>
          Number(one.name !== null) - Number(other.name !== null) || inBytes(one.name ?? '', other.name ?? ''),
      },
      {
        sortBy: 'size',
        of: (one, other) =>
          Number(one.size !== null) - Number(other.size !== null) || (one.size ?? 0) - (other.size ?? 0),
      },
      { sortBy: 'tags', of: (one, other) => inBytes(one.tags, other.tags) },
    ]
    for (const { sortBy, of } of orders) {
      for (const descending of [false, true]) {
        for (const filter of ['id pr', 'not (size eq 1)']) {
          it(`return pages by ${sortBy}${descending ? ', descending' : ''}: ${filter}`, async () => {
            const sorted = rows
              .filter(thing => matches(thing, parseFilter(filter)))
              .sort((one, other) => of(one, other) || inBytes(one.id, other.id))
            const want = idsOf(descending ? sorted.toReversed() : sorted)
            const page = async (startIndex: number, count: number): Promise<void> => {
              const asked = { ...query, filter: parseFilter(filter), sortBy, descending, startIndex, count }
              const { rows: found, totalResults } = await readPage<Thing>(db, listing, asked)
              assert.deepEqual(
                idsOf(found),
                want.slice(startIndex - 1, startIndex - 1 + count),
                `${startIndex} ${count}`,
              )
              assert.equal(totalResults, want.length)
            }
            outlines = new Map()
            for (let start = 1; start <= want.length + 7; start += 7) await page(start, 7) // one after the other
            for (const start of [50, 3, 61, 22, 2, 59, 1, 2 ** 31 - 1]) await page(start, 5) // and here and there
            await page(1, 0)
            await page(1, 500)
          })
        }
      }
    }

    it('reject unknown sort attributes', async () => {
      for (const sortBy of ['code', '', 'id desc', 'id; drop table things', '__proto__', 'zone_id']) {
        await assert.rejects(() => readPage(db, listing, { ...query, sortBy }), InvalidFilter)
      }
    })

    it('do not accumulate prepared statements', {
      skip: kind === 'sqlite' && 'it keeps none by name',
    }, async () => {
      for (let count = 1; count <= 600; count += 1) {
        await db.read(statementOnce(`select id from things where id = :id or ${count} = 0`), { id: 'x' })
      }
      await db.read(statement<{ id: string }>(`select name from things where id = :id`), { id: 'x' })
      const kept = await db.read(
        statementOnce<{ statement: string }>(
          `select statement from pg_prepared_statements where statement like 'select % from things %'`,
        ),
        {},
      )
      assert.deepEqual(
        kept.map(row => row.statement),
        ['select name from things where id = $1'],
      )
    })
  })

  describe('The list of clients', () => {
    const query: ListQuery = {
      filter: parseFilter('client_id pr'),
      sortBy: 'client_id',
      descending: false,
      startIndex: 1,
      count: 100,
    }
    const idsIn = async (of: Store, zoneId: string, asked: Partial<ListQuery> = {}): Promise<readonly string[]> => {
      const { records, totalResults } = await of.clients.list(zoneId, { ...query, ...asked })
      if (!asked.count) assert.equal(totalResults, records.length)
      return records.map(({ clientId }) => clientId)
    }

    it('returns the stored records of the zone only', async () => {
      const [mine, theirs] = [newZone(), newZone()]
      const kept = [client({ zoneId: mine, clientId: 'a' }), client({ zoneId: mine, clientId: 'b', autoapprove: true })]
      for (const each of kept) await store().clients.insert(mine, each)
      await store().clients.insert(theirs, client({ zoneId: theirs, clientId: 'c' }))
      assert.deepEqual(await store().clients.list(mine, query), { records: kept, totalResults: 2 })
      assert.deepEqual(await store().clients.list(newZone(), query), { records: [], totalResults: 0 })
    })

    const found: readonly { filter: string; want: readonly string[] }[] = [
      { filter: 'client_id eq "ONE"', want: ['one'] },
      { filter: 'scope eq "CLOUD.read"', want: ['one'] },
      { filter: 'scope eq "cloud"', want: [] },
      { filter: 'scope co "cloud"', want: ['Two', 'one'] },
      { filter: 'authorized_grant_types sw "pass"', want: ['Two'] },
      { filter: 'web_server_redirect_uri co "example.org/cb"', want: ['one'] },
      { filter: 'web_server_redirect_uri pr', want: ['one'] },
      { filter: 'access_token_validity ge 600', want: ['Two'] },
      { filter: 'refresh_token_validity pr', want: ['one'] },
      { filter: 'autoapprove eq "true"', want: ['Two'] },
      { filter: 'autoapprove eq true or autoapprove eq "openid"', want: ['Two', 'one'] },
      { filter: 'show_on_home_page eq true', want: ['Two', 'one'] },
      { filter: 'created_by pr', want: [] },
      { filter: 'required_user_groups eq "staff"', want: ['one'] },
      { filter: `lastModified gt "${at(1).toISOString()}"`, want: ['Two'] },
      { filter: `lastmodified le ${at(1).getTime()}`, want: ['one'] },
    ]
    for (const { filter, want } of found) {
      it(`supports the filter ${filter.replaceAll(/[\d:.TZ-]{24}|\d{13}/g, 'date')}`, async () => {
        const z = newZone()
        await store().clients.insert(
          z,
          client({
            zoneId: z,
            clientId: 'one',
            scope: ['openid', 'cloud.read'],
            authorizedGrantTypes: ['authorization_code'],
            redirectUris: ['https://a.example.org/cb'],
            refreshTokenSeconds: 9,
            autoapprove: ['openid'],
            requiredUserGroups: ['staff'],
          }),
        )
        await store().clients.insert(
          z,
          client({
            zoneId: z,
            clientId: 'Two',
            scope: ['cloud.write'],
            authorizedGrantTypes: ['password'],
            accessTokenSeconds: 600,
            autoapprove: true,
            updatedAt: at(2),
          }),
        )
        assert.deepEqual(await idsIn(store(), z, { filter: parseFilter(filter) }), want)
      })
    }

    it('supports many clients', async () => {
      const z = newZone()
      const ids = Array.from({ length: 1100 }, (_, index) => `c${String(index).padStart(4, '0')}`)
      const isEven = (_: string, index: number): boolean => index % 2 === 0
      await inBatches(ids, (clientId, index) =>
        store().clients.insert(
          z,
          client({
            zoneId: z,
            clientId,
            scope: [index % 2 === 0 ? 'even' : 'odd'],
            accessTokenSeconds: 2000 - index,
          }),
        ),
      )
      const even = parseFilter('scope eq "even"')
      assert.deepEqual(await idsIn(store(), z, { count: 2000 }), ids)
      assert.deepEqual(await idsIn(store(), z, { filter: even, count: 2000 }), ids.filter(isEven))
      assert.deepEqual(
        await idsIn(store(), z, { filter: even, startIndex: 500, count: 7, descending: true }),
        ids.filter(isEven).toReversed().slice(499, 506),
      )
      assert.deepEqual(
        await idsIn(store(), z, { sortBy: 'access_token_validity', count: 3 }),
        ids.toReversed().slice(0, 3),
      )
      assert.deepEqual(await idsIn(store(), z, { filter: parseFilter('client_id eq "C0700"') }), ['c0700'])
    })

    for (const name of ['authorities', 'resource_ids', 'name', 'redirect_uri', 'secrets', 'additional']) {
      it(`rejects a filter by ${name}`, () =>
        assert.rejects(() => idsIn(store(), newZone(), { filter: parseFilter(`${name} pr`) }), InvalidFilter))
    }

    it('updates its total when a client is added or deleted, in any process', async () => {
      const z = newZone()
      const other = await open()
      assert.deepEqual(await idsIn(store(), z), [])
      assert.deepEqual(await idsIn(other, z), [])
      await store().clients.insert(z, client({ zoneId: z, clientId: 'b' }))
      assert.deepEqual(await idsIn(store(), z), ['b'])
      await store().clients.insert(z, client({ zoneId: z, clientId: 'a' }))
      assert.deepEqual(await idsIn(store(), z), ['a', 'b'])
      assert.deepEqual(await idsIn(store(), z, { startIndex: 2, count: 1 }), ['b'])
      await inTime('a b', async () => (await idsIn(other, z, { count: 2 })).join(' '))
      await other.close()
    })
  })
}
