// A database from before nested groups were kept as pairs, which may hold cycles.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openStore } from '../../src/store/open.ts'
import { InvalidNesting } from '../../src/store/store.ts'
import { createTestClock } from '../support/clock.ts'
import { DATABASE_KINDS, freshDatabase, runStatements } from '../support/databases.ts'
import type { TestDatabase } from '../support/databases.ts'
import { group } from './records.ts'

/** Takes the migration back. */
const revertMigration = (database: TestDatabase): Promise<void> =>
  runStatements(
    database,
    `drop table group_nesting`,
    `drop index group_members_nested`,
    `drop index group_members_of_member`,
    `create index group_members_by_member on group_members (zone_id, member_id)`,
    `alter table external_groups drop column created_at`,
    `delete from migrations where id = '0010-nested-groups'`,
  )

for (const kind of DATABASE_KINDS) {
  describe(`Migration of nested groups, on ${kind}`, () => {
    it('keeps them reachable, including cycles, until a link is removed', async () => {
      const database = await freshDatabase(kind)
      const options = { clock: createTestClock(), onError: assert.ifError }
      const first = await openStore(database.url, options)
      for (const z of ['z1', 'z2']) {
        for (const id of ['a', 'b', 'c', 'd', 'e']) {
          await first.groups.insert(z, group({ zoneId: z, id, displayName: id }))
        }
        await first.groups.addMember(z, { groupId: 'a', memberId: 'u', memberType: 'USER', origin: 'svc' })
      }
      const links = ['ab', 'bc', 'ca', 'cd'].map(([memberId = '', groupId = '']) => ({ memberId, groupId }))
      for (const link of links) {
        await first.groups.addMember('z1', { ...link, memberType: 'GROUP', origin: 'svc' })
      }
      await first.close()
      await revertMigration(database)

      const store = await openStore(database.url, options)
      const { groups } = store
      assert.deepEqual(await groups.namesOfUser('z1', 'u'), ['a', 'b', 'c', 'd'])
      assert.deepEqual(await groups.namesOfUser('z2', 'u'), ['a'])
      const member = { memberType: 'GROUP', origin: 'svc' } as const
      const nest = (memberId: string, groupId: string) => groups.insertMember('z1', { ...member, memberId, groupId })
      await assert.rejects(nest('e', 'a'), InvalidNesting, 'the nesting is in a cycle')
      await assert.rejects(nest('d', 'a'), InvalidNesting)
      await groups.removeMember('z1', 'a', 'c')
      assert.deepEqual(await groups.namesOfUser('z1', 'u'), ['a', 'b', 'c', 'd'])
      assert.deepEqual((await groups.listOuter('z1', 'd')).length, 0)
      await groups.removeMember('z1', 'c', 'b')
      assert.deepEqual(await groups.namesOfUser('z1', 'u'), ['a', 'b'])
      assert.equal(await nest('e', 'a'), 'added')
      await store.close()
      await database.drop()
    })
  })
}
