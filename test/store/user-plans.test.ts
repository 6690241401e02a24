// How SQLite finds users, and the sessions of an origin: by an index, never by all of the zone. PostgreSQL has statistics, and
// the benchmark measures both.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import type { FilterDialect } from '../../src/model/filters/filter.ts'
import { parseFilter } from '../../src/model/filters/filter.ts'
import type { Database, Statement, Transaction } from '../../src/store/database.ts'
import { openStore } from '../../src/store/open.ts'
import { openSqlite } from '../../src/store/engine/sqlite/sqlite.ts'
import { endSomeSessions } from '../../src/store/deletion/origin-deletion.ts'
import { createUserList } from '../../src/store/users/user-list.ts'
import { freshDatabase } from '../support/databases.ts'
import type { TestDatabase } from '../support/databases.ts'

const filters: readonly { filter: string; dialect?: FilterDialect }[] = [
  { filter: 'id eq "a"' },
  { filter: 'userName eq "a"' },
  { filter: 'userName eq "a" and origin eq "b"', dialect: 'uaa' },
  { filter: 'userName eq "a" or id eq "b" or userName eq "c"', dialect: 'uaa' },
  { filter: '(userName eq "a" or userName eq "b") and (origin eq "c" or origin eq "d")', dialect: 'uaa' },
  { filter: 'userName sw "abc"' },
  { filter: 'userName sw "abc" and active eq true' },
  { filter: 'externalId eq "a"' },
  { filter: 'externalId eq "a" and active eq true' },
  { filter: 'email eq "a"', dialect: 'uaa' },
  { filter: 'phoneNumber eq "a"', dialect: 'uaa' },
  { filter: 'emails eq "a"' },
  { filter: 'emails.value sw "a"' },
  { filter: 'emails[type eq "work" and value eq "a"]' },
  { filter: 'userName eq "a" or emails eq "b"' },
  { filter: 'groups.display eq "a"' },
  { filter: 'groups eq "a"' },
  { filter: 'meta.lastModified gt "2030-01-01T00:00:00Z"' },
]

describe('Query plans of users on SQLite', () => {
  let database: TestDatabase
  let db: Database
  let raw: DatabaseSync
  let statements: { readonly sql: string; readonly args: object; readonly names: readonly string[] }[] = []
  before(async () => {
    database = await freshDatabase('sqlite')
    await (await openStore(database.url, { clock: systemClock })).close() // makes the tables
    const path = database.url.slice('sqlite:'.length)
    raw = new DatabaseSync(path)
    const opened = await openSqlite(path, {
      clock: systemClock,
      listener: { changed() {}, missed() {} },
      onError: () => {},
    })
    function read<Args extends object, Row>(of: Statement<Args, Row>, args: Args): Promise<readonly Row[]> {
      statements.push({ sql: of.pieces.join('?'), args, names: of.names })
      return opened.read(of, args)
    }
    db = { ...opened, read, scan: read, search: read }
  })
  after(async () => {
    raw.close()
    await db.close()
    await database.drop()
  })

  /** The steps that read `users`, of every statement since the last call. */
  function steps(): readonly string[] {
    const plans = statements.flatMap(({ sql, args, names }) => {
      const values = names.map(name => Reflect.get(args, name) as string | number | null) // as the store binds them
      return raw.prepare(`explain query plan ${sql}`).all(...values)
    })
    statements = []
    return plans.map(({ detail }) => String(detail)).filter(detail => /^(?:SEARCH|SCAN) users/.test(detail))
  }

  for (const { filter, dialect = 'scim' } of filters) {
    it(`use an index for the filter ${filter}`, async () => {
      const lists = createUserList(db)
      const query = { filter: parseFilter(filter, dialect), sortBy: 'id', descending: false, count: 10, dialect }
      await lists.list('z', { ...query, startIndex: 1 })
      await lists.page('z', query)
      const found = steps()
      assert.ok(found.length >= 2)
      for (const step of found) assert.match(step, /\(zone_id=\? AND (?!created_at)/)
    })
  }

  for (const sortBy of ['id', 'userName', 'meta.created', 'meta.lastModified']) {
    for (const descending of [false, true]) {
      it(`use the order of an index for ${sortBy}${descending ? ', descending' : ''}`, async () => {
        const after = { value: sortBy.startsWith('meta.') ? 1 : 'a', key: 'a' }
        const query = {
          filter: parseFilter('id pr', 'scim'),
          sortBy,
          descending,
          count: 10,
          dialect: 'scim',
          after,
        } as const
        await createUserList(db).page('z', query)
        const plan = statements.at(-1)?.sql ?? ''
        assert.deepEqual(
          steps().map(step => /\(zone_id=\? AND .*[<>]/.test(step)),
          [true],
          plan,
        )
      })
    }
  }

  it('use an index to delete the sessions of a provider', async () => {
    const plans: string[] = []
    const within: Pick<Transaction, 'run'> = {
      async run(of, args) {
        const values = of.names.map(name => Reflect.get(args, name) as string) // as the store binds them
        const plan = raw.prepare(`explain query plan ${of.pieces.join('?')}`).all(...values)
        plans.push(...plan.map(({ detail }) => String(detail)).filter(detail => detail.includes(' sessions ')))
        const rows = of.verb === 'select' ? [{ id_digest: 'd' } as never] : []
        return { rows, changes: 0 }
      },
    }
    await endSomeSessions(within as Transaction, 'z', 'ldap') // uses nothing else
    const [found, ...changed] = plans
    assert.match(found ?? '', /sessions_by_origin \(zone_id=\? AND origin=\?\)/)
    assert.equal(changed.length, 3) // locked, read and deleted
    for (const plan of changed) assert.match(plan, /\(zone_id=\? AND id_digest=\?\)/)
  })
})
