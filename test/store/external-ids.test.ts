// A database from before external ids were unique.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openStore } from '../../src/store/open.ts'
import type { User } from '../../src/model/users/user.ts'
import { createTestClock } from '../support/clock.ts'
import { DATABASE_KINDS, freshDatabase, runStatements } from '../support/databases.ts'
import type { TestDatabase } from '../support/databases.ts'
import { at, user } from './records.ts'

/** Takes the migration back. */
const revertMigration = (database: TestDatabase): Promise<void> =>
  runStatements(
    database,
    `drop index users_by_external_id`,
    `delete from migrations where id = '0005-one-account-for-each-external-id'`,
  )

for (const kind of DATABASE_KINDS) {
  describe(`Migration of external ids, on ${kind}`, () => {
    it('keeps them, and resolves a duplicate to the account used last', async () => {
      const database = await freshDatabase(kind)
      const options = { clock: createTestClock(), onError: assert.ifError }
      const first = await openStore(database.url, options)
      await revertMigration(database)
      const insert = (id: string, given: Partial<User>): Promise<void> =>
        first.users.insert('z1', user({ id, userName: id, origin: 'corp', ...given }))
      await insert('alone', { externalId: 'Sub' })
      await insert('folded', { externalId: 'sub' })
      await insert('old', { externalId: 'twice', lastLogonAt: at(1), createdAt: at(0) })
      await insert('new', { externalId: 'twice', lastLogonAt: at(3), createdAt: at(0) })
      await insert('unused', { externalId: 'twice', createdAt: at(2) })
      await insert('even-a', { externalId: 'even' })
      await insert('even-b', { externalId: 'even' })
      await insert('blank-a', { externalId: '' })
      await insert('blank-b', { externalId: '' })
      await insert('nobody', {})
      await insert('local-a', { externalId: 'twice', passwordHash: 'x' })
      await insert('local-b', { externalId: 'twice', passwordHash: 'x' })
      await first.close()

      const store = await openStore(database.url, options)
      const rows = [
        ['Sub', 'alone'],
        ['sub', 'folded'],
        ['twice', 'new'],
        ['even', 'even-b'],
        ['twice replaced old', 'old'],
      ] as const
      for (const [externalId, want] of rows) {
        assert.equal((await store.users.findByExternalId('z1', 'corp', externalId))?.id, want)
      }
      for (const id of ['local-a', 'local-b']) assert.equal((await store.users.find('z1', id))?.externalId, 'twice')
      assert.equal((await store.users.find('z1', 'nobody'))?.externalId, undefined)
      await store.close()
      await database.drop()
    })
  })
}
