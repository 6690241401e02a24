import assert from 'node:assert/strict'
import { it } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import type { Database } from '../../src/store/database.ts'
import { openDatabase } from '../../src/store/engine/open-database.ts'
import { createExternalGroups } from '../../src/store/groups/external-groups.ts'
import { openStore } from '../../src/store/open.ts'
import { freshDatabase } from '../support/databases.ts'

it('lists mappings, of which a zone can have very many, without blocking others', async t => {
  const database = await freshDatabase('sqlite')
  t.after(() => database.drop())
  await (await openStore(database.url, { clock: systemClock })).close() // makes the tables
  const listener = { changed() {}, missed() {} }
  const opened = await openDatabase(database.url, { clock: systemClock, listener, onError: () => {} })
  t.after(() => opened.close())
  const read: Database['read'] = () => assert.fail('a statement in the main thread')
  const page = await createExternalGroups({ ...opened, read }).listExternal('z', { startIndex: 1, count: 10 })
  assert.deepEqual(page, { records: [], totalResults: 0 })
})
