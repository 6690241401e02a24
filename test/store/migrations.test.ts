// The rules of migrations, and what a version does with a database that another one has migrated.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { systemClock } from '../../src/base/clock.ts'
import type { ColumnTypes } from '../../src/store/database.ts'
import { migrateDatabase, planOf } from '../../src/store/migrations/maintenance.ts'
import type { Migrated } from '../../src/store/migrations/migrate.ts'
import type { Migration } from '../../src/store/migrations/migration.ts'
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts'
import { stepsOf } from '../../src/store/migrations/steps.ts'
import { openStore } from '../../src/store/open.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { DATABASE_KINDS, emptyDatabase } from '../support/databases.ts'
import { administer } from '../support/postgres.ts'
import { client, token, user } from './records.ts'

const clock = systemClock
const types: ColumnTypes = {
  text: 'text',
  integer: 'bigint',
  flag: 'smallint',
  sequence: 'bigint primary key',
  tableEnd: '',
}

/** Some of these lock several tables at a time. */
const OLDER = new Set(
  MIGRATIONS.slice(
    0,
    MIGRATIONS.findIndex(({ id }) => id === '0027-audit-trail'),
  ).map(({ id }) => id),
)

/** Changes incompatible with versions without the migration; none for `contract`, before which those are stopped. */
function breaks({ id, kind, statements, after }: Migration): readonly string[] {
  if (kind === 'contract') return []
  const tables = new Set<string>()
  const changed = new Set<string>()
  const columns = new Set<string>()
  const found: string[] = after ? ['it changes rows by program'] : []
  for (const text of statements(types).map(each => each.trim().replace(/\s+/g, ' '))) {
    const [, table] = /^create table (\w+)/.exec(text) ?? []
    if (table !== undefined) {
      tables.add(table)
      continue
    }
    const [, altered, column, rest = ''] = /^alter table (\w+) add column (\w+)(.*)$/.exec(text) ?? []
    if (altered !== undefined) {
      columns.add(`${altered}.${column}`)
      if (!tables.has(altered)) changed.add(altered)
      if (!tables.has(altered) && /not null/.test(rest) && !/default/.test(rest)) found.push(`no default: ${text}`)
      if (/unique|references|check/.test(rest)) found.push(`a constraint: ${text}`)
      continue
    }
    const [, unique, on = '', condition = ''] =
      /^create (unique )?index \w+ on (\w+) \(.*?\)+(?: where (.*))?$/.exec(text) ?? []
    if (on !== '') {
      // Rows of an older version lack the new column, so that they are outside of such an index.
      const isOwn = tables.has(on) || [...columns].some(name => `${on}.${condition.split(' ')[0]}` === name)
      if (unique !== undefined && !isOwn) found.push(`unique on what others write: ${text}`)
      continue
    }
    const [, filled = '', set = ''] = /^update (\w+) set (\w+) = /.exec(text) ?? []
    if (filled !== '' && columns.has(`${filled}.${set}`)) continue
    const [, into = ''] = /^insert into (\w+)/.exec(text) ?? []
    if (tables.has(into) && !/\bfrom\b/.test(text)) continue
    found.push(text)
  }
  // A reader of both tables may have one and wait for the other.
  if (changed.size > 1 && !OLDER.has(id)) found.push(`tables: ${[...changed].join(', ')}`)
  return found
}

const expanding = (id: string, ...statements: readonly string[]): Migration => ({
  id,
  kind: 'expand',
  statements: () => statements,
})

describe('Migrations', () => {
  it('have unique ids and statements that a plan can describe', () => {
    assert.equal(new Set(MIGRATIONS.map(({ id }) => id)).size, MIGRATIONS.length)
    for (const migration of MIGRATIONS) assert.ok(stepsOf(migration, types).length > 0)
  })

  for (const migration of MIGRATIONS) {
    it(`${migration.id} is compatible with older versions, or of the kind contract`, () =>
      assert.deepEqual(breaks(migration), []))
  }

  const broken: readonly string[] = [
    'alter table users add column nickname text not null',
    'alter table users add column nickname text unique',
    'alter table users rename column email to address',
    'alter table users drop column email',
    'drop table changes',
    'drop index users_by_email',
    'create unique index users_by_phone on users (zone_id, phone_number)',
    "update users set email = ''",
    'insert into user_counts (zone_id) select zone_id from users',
    'vacuum',
  ]
  for (const statement of broken) {
    it(`may not be of the kind expand with: ${statement}`, () =>
      assert.equal(breaks(expanding('x', statement)).length, 1))
  }

  it('do not lock two tables that older versions read together', () => {
    const [one, two] = ['users', 'sessions'].map(table => `alter table ${table} add column note text`)
    assert.ok(one && two)
    assert.deepEqual(breaks(expanding('x', one, two)), ['tables: users, sessions'])
    assert.deepEqual(
      breaks(expanding('x', one, 'create table notes (id text)', 'alter table notes add column a text')),
      [],
    )
  })

  it('are rejected by the plan if of an unknown form', () =>
    assert.throws(() => stepsOf(expanding('x', 'vacuum'), types), /x has a statement of an unknown form: vacuum/))
})

const NEXT: readonly Migration[] = [
  ...MIGRATIONS,
  expanding(
    '9001-nicknames',
    'alter table users add column nickname text',
    'create index users_by_nickname on users (nickname)',
  ),
  expanding('9002-badges', 'create table badges (id bigint)'),
]
const contracting = (id: string, ...statements: readonly string[]): Migration => ({
  ...expanding(id, ...statements),
  kind: 'contract',
})

for (const kind of DATABASE_KINDS) {
  describe(`A ${kind} database of another version`, () => {
    async function withDatabase(test: (url: string) => Promise<void>): Promise<void> {
      const database = await emptyDatabase(kind)
      try {
        await migrateDatabase(database.url, { clock })
        await test(database.url)
      } finally {
        await database.drop()
      }
    }
    const open = (url: string, options = {}) => openStore(url, { clock, ...options })
    const refusal = async (work: Promise<unknown>): Promise<string> => {
      const error: unknown = await work.catch((cause: unknown) => cause)
      assert.ok(error instanceof StoreUnavailable)
      return error.message
    }

    it('is used unchanged if the newer version has only added to it', () =>
      withDatabase(async url => {
        const { applied } = await migrateDatabase(url, { clock, migrations: NEXT })
        assert.deepEqual(applied, ['9001-nicknames', '9002-badges'])
        const newer: string[] = []
        const store = await open(url, { onMigrated: (done: Migrated) => newer.push(...done.unknown) })
        await store.users.insert('z1', user())
        assert.ok(await store.users.find('z1', 'u1'))
        await store.close()
        assert.deepEqual(newer, applied)
        assert.deepEqual((await migrateDatabase(url, { clock })).unknown, applied)
        assert.deepEqual((await planOf(url, { clock })).unknown, applied)
        assert.deepEqual((await migrateDatabase(url, { clock, migrations: NEXT })).applied, [])
      }))

    it('is rejected in one line if the newer version has removed something or is unknown', () =>
      withDatabase(async url => {
        await migrateDatabase(url, { clock, migrations: [...NEXT, contracting('9003-no-badges', 'drop table badges')] })
        const message = await refusal(open(url))
        assert.match(message, /^the database was changed by a newer version of this server \(9003-no-badges\)[^\n]*$/)
        assert.equal(await refusal(planOf(url, { clock })), message)
        assert.equal(await refusal(migrateDatabase(url, { clock })), message)
      }))

    it('has a plan of rows, locks and compatibility, which changes nothing', () =>
      withDatabase(async url => {
        const store = await open(url)
        for (const id of ['u1', 'u2']) await store.users.insert('z1', user({ id, userName: id }))
        await store.close()
        const migrations = [...NEXT, contracting('9003-no-changes', 'drop table changes')]
        const plan = await planOf(url, { clock, migrations })
        assert.equal(plan.isNew, false)
        assert.deepEqual(
          plan.pending.map(({ id, kind: of, steps }) => [
            id,
            of,
            steps.map(({ what, rows, lock }) => [what, rows, lock !== undefined]),
          ]),
          [
            [
              '9001-nicknames',
              'expand',
              [
                ['add the column nickname', 2, true],
                ['create the index users_by_nickname', 2, true],
              ],
            ],
            ['9002-badges', 'expand', [['create the table badges', 0, false]]],
            ['9003-no-changes', 'contract', [['drop the table', 0, true]]],
          ],
        )
        assert.equal((await planOf(url, { clock, migrations: NEXT })).pending.length, 2, 'nothing was applied')
      }))

    it('is rejected by a start without permission to migrate, until migrated', () =>
      withDatabase(async url => {
        const migrations = NEXT
        const message = await refusal(migrateDatabase(url, { clock, migrations, refusesPending: true }))
        assert.match(message, /^the database lacks 2 migrations of this version: run latchkey migrate$/)
        await migrateDatabase(url, { clock, migrations })
        assert.deepEqual((await migrateDatabase(url, { clock, migrations, refusesPending: true })).applied, [])
        await (await open(url, { refusesPending: true })).close()
      }))

    it('keeps the migrations before a failed one, and continues with that one', () =>
      withDatabase(async url => {
        const failing = [
          ...NEXT,
          expanding('9003-fails', 'create table more (id bigint)', 'alter table nothing add column x text'),
        ]
        await assert.rejects(migrateDatabase(url, { clock, migrations: failing }), /nothing/)
        const mended = [...NEXT, expanding('9003-fails', 'create table more (id bigint)')]
        assert.deepEqual((await migrateDatabase(url, { clock, migrations: mended })).applied, ['9003-fails'])
      }))

    it('is rejected in one line if another program uses the same table names', async () => {
      const foreign = await emptyDatabase(kind)
      const theirs = ['create table users (id text)', 'create table groups (id text)', 'create table theirs (id text)']
      if (kind === 'postgres') await administer(foreign.url, ...theirs)
      else {
        const file = new DatabaseSync(foreign.url.slice('sqlite:'.length))
        file.exec(theirs.join(';'))
        file.close()
      }
      const message =
        'the database is that of another program, which has tables groups, users: give this server its own'
      assert.equal(await refusal(open(foreign.url)), message)
      assert.equal(await refusal(planOf(foreign.url, { clock })), message)
      await foreign.drop()
    })

    it('is migrated once by concurrent processes, even if empty', async () => {
      const empty = await emptyDatabase(kind)
      assert.equal((await planOf(empty.url, { clock })).isNew, true)
      assert.match(
        await refusal(migrateDatabase(empty.url, { clock, refusesPending: true })),
        /^the database is empty: start the server first, or run latchkey migrate/,
      )
      const migrateAll = async (migrations: readonly Migration[]): Promise<readonly string[]> =>
        (await Promise.all([1, 2, 3].map(() => migrateDatabase(empty.url, { clock, migrations })))).flatMap(
          ({ applied }) => applied,
        )
      assert.equal((await migrateAll(MIGRATIONS)).length, MIGRATIONS.length)
      assert.deepEqual((await migrateAll(NEXT)).toSorted(), ['9001-nicknames', '9002-badges'])
      await empty.drop()
    })
  })
}

describe('A migration during a long read', {
  skip: !DATABASE_KINDS.includes('postgres') && 'a fast run has no PostgreSQL',
}, () => {
  it('reports the lock, waits at most two seconds for it, and tries again later', async t => {
    const database = await emptyDatabase('postgres')
    const store = await openStore(database.url, { clock })
    const reader = new Client({ connectionString: database.url })
    t.after(async () => {
      await reader.end()
      await store.close()
      await database.drop()
    })
    await store.clients.insert('z1', client())
    await reader.connect()
    await reader.query('begin; select count(*) from tokens')
    const migrations = [...MIGRATIONS, expanding('9001-notes', 'alter table tokens add column note text')]
    let pauses = 0
    const heard: unknown[] = []
    const migrating = migrateDatabase(database.url, {
      clock,
      migrations,
      onPending: ids => heard.push(ids),
      onLocked: attempts => heard.push(attempts),
      pause: async () => {
        pauses += 1
        // No request waits for the migration now, although the reader is still there.
        await store.tokens.insert('z1', token())
        await reader.query('commit')
      },
    })
    assert.deepEqual((await migrating).applied, ['9001-notes'])
    assert.equal(pauses, 1)
    assert.deepEqual(heard, [['9001-notes'], { made: 1, max: 300 }])
  })
})
