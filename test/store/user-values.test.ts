// What is derived from users to find and count them: always what the users have, also in an earlier database.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Store } from '../../src/store/store.ts'
import { openStore } from '../../src/store/open.ts'
import { createTestClock } from '../support/clock.ts'
import { DATABASE_KINDS, freshDatabase } from '../support/databases.ts'
import type { DatabaseKind } from '../support/databases.ts'
import type { Tables } from '../support/tables.ts'
import { openTables } from '../support/tables.ts'
import { at, provider, user, zone } from './records.ts'

const options = { clock: createTestClock() }

async function withStore(kind: DatabaseKind, test: (store: Store, tables: Tables, url: string) => Promise<void>) {
  const database = await freshDatabase(kind)
  const store = await openStore(database.url, options)
  const tables = await openTables(database.url)
  try {
    await test(store, tables, database.url)
  } finally {
    await tables.close()
    await store.close()
    await database.drop()
  }
}

const VALUES = `select user_id, attribute, position, value, type, is_primary from user_values
  where value_lower = lower(value) order by user_id, attribute, position`

const valuesIn = async (tables: Tables): Promise<readonly string[]> =>
  (await tables.run(VALUES)).map(row => Object.values(row).join(' '))

async function isCounted(store: Store, tables: Tables, zoneId: string): Promise<number> {
  const [row] = await tables.run(`select count(*) as total from users where zone_id = '${zoneId}'`)
  assert.equal(await store.users.count(zoneId), Number(row?.['total']))
  return Number(row?.['total'])
}

for (const kind of DATABASE_KINDS) {
  describe(`E-mail addresses and phone numbers of users, on ${kind}`, () => {
    const emails = [{ value: 'Other@x' }, { value: 'A@x', type: 'work', primary: true }]

    it('are indexed by every write of a user', async () => {
      await withStore(kind, async ({ users }, tables) => {
        await users.insert('z1', user({ email: 'A@x', profile: { emails } }))
        assert.deepEqual(await valuesIn(tables), ['u1 emails 0 A@x work 1', 'u1 emails 1 Other@x  0'])
        const phoneNumbers = [{ value: '2', type: 'fax' }]
        await users.update('z1', user({ email: '', phoneNumber: '1', profile: { phoneNumbers } }))
        assert.deepEqual(await valuesIn(tables), ['u1 phoneNumbers 0 1  1', 'u1 phoneNumbers 1 2 fax 0'])
        await users.updateProfile('z1', user({ email: 'b@x' }))
        assert.deepEqual(await valuesIn(tables), ['u1 emails 0 b@x  1'])
        assert.equal(await users.bind('z1', user({ email: 'c@x', externalId: 'e' })), true)
        assert.deepEqual(await valuesIn(tables), ['u1 emails 0 c@x  1'])
        assert.equal(await users.bind('z1', user({ email: 'd@x', externalId: 'f' })), false)
        const account = await users.find('z1', 'u1')
        assert.ok(account)
        assert.ok(await users.replace('z1', account, { ...account, phoneNumber: '3' }))
        assert.equal(await users.replace('z1', account, { ...account, phoneNumber: '4' }), undefined)
        assert.deepEqual(await valuesIn(tables), ['u1 emails 0 c@x  1', 'u1 phoneNumbers 0 3  1'])
        await users.update('z1', user({ id: 'gone', userName: 'gone', email: 'e@x' }))
        assert.deepEqual(await valuesIn(tables), ['u1 emails 0 c@x  1', 'u1 phoneNumbers 0 3  1'])
        assert.equal(await users.delete('z1', 'u1'), true)
        assert.deepEqual(await valuesIn(tables), [])
        assert.equal(await users.create('z1', user({ email: 'f@x' })), true)
        assert.deepEqual(await valuesIn(tables), ['u1 emails 0 f@x  1'])
      })
    })

    it('are unchanged after a failed write, like the number of users', async () => {
      await withStore(kind, async (store, tables) => {
        await store.users.insert('z1', user({ email: 'a@x' }))
        await store.users.insert('z1', user({ id: 'u2', userName: 'second', email: 'b@x' }))
        const before = await valuesIn(tables)
        await assert.rejects(store.users.insert('z1', user({ id: 'u3', email: 'c@x' })))
        await assert.rejects(store.users.update('z1', user({ id: 'u2', email: 'd@x' })))
        for (const profile of [{ emails: [{ value: 'nul\0' }] }, { nickName: 'nul\0' }, { custom: { '\ud800': [] } }]) {
          const unstorable = user({ id: 'u4', userName: 'x', profile })
          await assert.rejects(store.users.insert('z1', unstorable), TypeError)
        }
        assert.deepEqual(await valuesIn(tables), before)
        assert.equal(await isCounted(store, tables, 'z1'), 2)
      })
    })

    it('are deleted with the users of a provider or zone', async () => {
      await withStore(kind, async (store, tables) => {
        await store.zones.insert(zone({ id: 'z1' }))
        const ldap = provider({ zoneId: 'z1', originKey: 'ldap' })
        await store.providers.insert('z1', ldap)
        for (const [index, origin] of ['ldap', 'svc', 'ldap'].entries()) {
          await store.users.insert('z1', user({ id: `u${index}`, userName: `n${index}`, origin, email: `${index}@x` }))
        }
        assert.equal(await isCounted(store, tables, 'z1'), 3)
        await store.providers.apply('z1', { kind: 'delete', provider: ldap, revision: 0 })
        assert.deepEqual(await valuesIn(tables), ['u1 emails 0 1@x  1'])
        assert.equal(await isCounted(store, tables, 'z1'), 1)
        assert.equal((await store.zones.delete('z1', 'svc')).outcome, 'deleted')
        assert.deepEqual(await valuesIn(tables), [])
        assert.equal(await store.users.count('z1'), 0)
      })
    })

    it('are counted correctly with concurrent writes', async () => {
      await withStore(kind, async (store, tables) => {
        const ids = Array.from({ length: 40 }, (_, index) => `user-${index}`)
        await Promise.all(ids.map(id => store.users.insert('z1', user({ id, userName: id }))))
        assert.equal(await isCounted(store, tables, 'z1'), 40)
        await Promise.all(ids.slice(10).flatMap(id => [store.users.delete('z1', id), store.users.delete('z1', id)]))
        assert.equal(await isCounted(store, tables, 'z1'), 10)
      })
    })

    it('of an earlier database are migrated and counted', async () => {
      await withStore(kind, async (store, tables, url) => {
        const account = user({ email: 'A@x', phoneNumber: '1', createdAt: at(0) })
        await store.users.insert('z1', account)
        await store.users.insert('z1', user({ id: 'u2', userName: 'second', email: '' }))
        const before = await valuesIn(tables)
        for (const statement of [
          `drop table user_values`,
          `drop table user_counts`,
          ...['creation', 'change', 'name', 'foreign_id'].map(name => `drop index users_by_${name}`),
          `delete from migrations where id like '%-many-users'`,
        ]) {
          await tables.run(statement)
        }
        const later = await openStore(url, options)
        try {
          assert.deepEqual(await valuesIn(tables), before)
          assert.equal(await isCounted(later, tables, 'z1'), 2)
        } finally {
          await later.close()
        }
      })
    })
  })
}
