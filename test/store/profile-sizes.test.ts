// A page of users has profiles of 4 MiB together, and no more than these are read from the database: a page of five hundred
// users may have 32 MB.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { parseFilter } from '../../src/model/filters/filter.ts'
import type { Database, Statement } from '../../src/store/database.ts'
import { openDatabase } from '../../src/store/engine/open-database.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { createUserList } from '../../src/store/users/user-list.ts'
import { DATABASE_KINDS, freshDatabase } from '../support/databases.ts'
import type { TestDatabase } from '../support/databases.ts'
import { user } from './records.ts'

const MAX = 4 * 1024 * 1024
const USERS = 150
/** Characters of two bytes each. */
const TITLE = 'é'.repeat(30_000)
/** The number of profiles within 4 MiB: JSON adds some bytes to each title. */
const FITTING = Math.floor(MAX / (Buffer.byteLength(TITLE) + 12))
const PAGE = { filter: parseFilter('id pr', 'scim'), sortBy: 'id', descending: false, dialect: 'scim' } as const

for (const kind of DATABASE_KINDS) {
  describe(`Users with large profiles on ${kind}`, () => {
    let database: TestDatabase
    let store: Store
    let db: Database
    let bytes = 0
    before(async () => {
      database = await freshDatabase(kind)
      store = await openStore(database.url, { clock: systemClock })
      for (let index = 0; index < USERS; index += 1) {
        const id = `u${String(index).padStart(3, '0')}`
        await store.users.insert('z', user({ zoneId: 'z', id, userName: id, profile: { title: TITLE } }))
      }
      await store.users.insert('small', user({ zoneId: 'small', id: 'x', userName: 'x', email: 'x@list.example' }))
      const opened = await openDatabase(database.url, {
        clock: systemClock,
        listener: { changed() {}, missed() {} },
        onError() {},
      })
      const counting =
        (way: 'read' | 'scan' | 'search') =>
        async <Args extends object, Row>(of: Statement<Args, Row>, args: Args): Promise<readonly Row[]> => {
          const rows = await opened[way](of, args)
          bytes += Buffer.byteLength(JSON.stringify(rows))
          return rows
        }
      db = { ...opened, read: counting('read'), scan: counting('scan'), search: counting('search') }
    })
    after(async () => {
      await db.close()
      await store.close()
      await database.drop()
    })

    const idsOf = (records: readonly { readonly id: string }[]): readonly string[] => records.map(({ id }) => id)
    const expected = (from: number, to: number): readonly string[] =>
      Array.from({ length: to - from }, (_, index) => `u${String(from + index).padStart(3, '0')}`)

    it('are read up to the size limit of a page by number', async () => {
      bytes = 0
      const { records, totalResults } = await createUserList(db).list('z', { ...PAGE, startIndex: 1, count: USERS })
      assert.equal(totalResults, USERS)
      assert.deepEqual(idsOf(records), expected(0, FITTING))
      assert.equal(records[0]?.profile?.title, TITLE)
      assert.ok(bytes > MAX * 0.9 && bytes < MAX * 1.1, String(bytes))
    })

    it('are read up to the size limit of a page by cursor, which continues there', async () => {
      const lists = createUserList(db)
      bytes = 0
      const first = await lists.page('z', { ...PAGE, count: USERS })
      assert.deepEqual(idsOf(first.records), expected(0, FITTING))
      assert.ok(bytes > MAX * 0.9 && bytes < MAX * 1.1, String(bytes))
      const { records } = await lists.page('z', { ...PAGE, count: USERS, after: first.next })
      assert.deepEqual(idsOf(records), expected(FITTING, FITTING * 2))
    })

    it('are returned in order, also descending', async () => {
      const query = { ...PAGE, descending: true, startIndex: 2, count: 66 }
      const { records } = await createUserList(db).list('z', query)
      assert.deepEqual(idsOf(records), expected(USERS - 67, USERS - 1).toReversed())
    })

    it('are read with all members', async () => {
      const { records } = await createUserList(db).list('small', { ...PAGE, startIndex: 1, count: 10 })
      assert.deepEqual(records, [await store.users.find('small', 'x')])
    })
  })
}
