// A database from before user names were compared by their Unicode form: who is still found by name.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openStore } from '../../src/store/open.ts'
import { AlreadyExists } from '../../src/store/store.ts'
import { createTestClock } from '../support/clock.ts'
import { DATABASE_KINDS, freshDatabase, runStatements } from '../support/databases.ts'
import type { TestDatabase } from '../support/databases.ts'
import { user } from './records.ts'

const COMPOSED = 'Z\u00e9lie'
const DECOMPOSED = 'Ze\u0301lie'

/** Takes the migration back; the name of `u2` gets the key that it had before. */
const revertMigration = (database: TestDatabase): Promise<void> =>
  runStatements(
    database,
    `alter table users drop column profile`,
    `update users set user_name = '${DECOMPOSED}', user_name_lower = 'ze\u0301lie' where id = 'u2'`,
    `update users set user_name = 'Ze\u0301bulon', user_name_lower = 'ze\u0301bulon' where id = 'u3'`,
    `delete from migrations where id = '0008-profiles'`,
  )

for (const kind of DATABASE_KINDS) {
  describe(`Migration of user names, on ${kind}`, () => {
    it('finds them in every Unicode form, and one of equivalent duplicates', async () => {
      const database = await freshDatabase(kind)
      const options = { clock: createTestClock(), onError: assert.ifError }
      const first = await openStore(database.url, options)
      await first.users.insert('z1', user({ id: 'u1', userName: COMPOSED, origin: 'svc' }))
      await first.users.insert('z1', user({ id: 'u2', userName: 'second', origin: 'svc' }))
      await first.users.insert('z1', user({ id: 'u3', userName: 'third', origin: 'svc' }))
      await first.close()
      await revertMigration(database)

      const store = await openStore(database.url, options)
      for (const name of [COMPOSED, DECOMPOSED]) {
        assert.equal((await store.users.findByName('z1', 'svc', name))?.id, 'u1')
      }
      assert.equal((await store.users.find('z1', 'u2'))?.userName, DECOMPOSED)
      assert.equal((await store.users.findByName('z1', 'svc', 'z\u00e9bulon'))?.id, 'u3')
      const twin = user({ id: 'u4', userName: 'Z\u00e9bulon', origin: 'svc' })
      await assert.rejects(store.users.insert('z1', twin), AlreadyExists)
      await store.close()
      await database.drop()
    })
  })
}
