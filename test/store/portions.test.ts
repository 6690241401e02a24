// What deletes very many rows does so in portions, between which other writes run, and is continued by the clean-up when the
// process stops in between. Written for SQLite, where each portion keeps all other writes waiting.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { createCaches } from '../../src/store/changes.ts'
import type { Database, Transaction } from '../../src/store/database.ts'
import { openSqlite } from '../../src/store/engine/sqlite/sqlite.ts'
import { openStore } from '../../src/store/open.ts'
import { createProviders } from '../../src/store/providers.ts'
import { createZones } from '../../src/store/zones.ts'
import type { ProviderChange, Store } from '../../src/store/store.ts'
import { freshDatabase } from '../support/databases.ts'
import type { TestDatabase } from '../support/databases.ts'
import { openTables } from '../support/tables.ts'
import { at, provider, signedIn, user, zone } from './records.ts'

const ACCOUNTS = 110
/** Of the tables of accounts together, in one transaction. */
const MAX_ROWS = 400

describe('Deleting many rows', () => {
  let database: TestDatabase
  let store: Store
  let db: Database
  /** Rows that each transaction changed. */
  let portions: number[]
  /** The process stops within this number of transactions. */
  let stopsAfter: number
  beforeEach(async () => {
    database = await freshDatabase('sqlite')
    store = await openStore(database.url, { clock: systemClock })
    const listener = { changed() {}, missed() {} }
    const opened = await openSqlite(database.url.slice('sqlite:'.length), {
      clock: systemClock,
      listener,
      onError() {},
    })
    ;[portions, stopsAfter] = [[], Infinity]
    db = {
      ...opened,
      async write(of, args) {
        if (portions.length >= stopsAfter) throw new Error('stopped')
        const outcome = await opened.write(of, args)
        portions.push(outcome.changes)
        return outcome
      },
      async transaction(work) {
        if (portions.length >= stopsAfter) throw new Error('stopped')
        let rows = 0
        const counted = (within: Transaction): Transaction => ({
          ...within,
          async run(of, args) {
            const outcome = await within.run(of, args)
            if (of.verb === 'delete') rows += outcome.changes
            return outcome
          },
        })
        const result = await opened.transaction(within => work(counted(within)))
        portions.push(rows)
        return result
      },
    }
  })
  afterEach(async () => {
    await store.close()
    await db.close()
    await database.drop()
  })

  async function addAccounts(zoneId: string, origin: string): Promise<void> {
    const add = (id: string): readonly Promise<unknown>[] => {
      const session = signedIn({ zoneId, idDigest: id, expiresAt: at(9000) })
      return [
        store.users.insert(zoneId, user({ zoneId, id, userName: id, origin })),
        store.sessions.insert(zoneId, { ...session, signIn: { ...session.signIn, userId: id, origin } }),
      ]
    }
    await Promise.all(Array.from({ length: ACCOUNTS }, (_, place) => add(`${origin}${place}`)).flat()) // one commit
  }

  async function rowsOf(zoneId: string): Promise<Readonly<Record<string, number>>> {
    const tables = await openTables(database.url)
    try {
      return await tables.count(zoneId)
    } finally {
      await tables.close()
    }
  }

  it('deletes the records of a zone', async () => {
    await store.zones.insert(zone({ id: 'z', subdomain: 'z' }))
    await addAccounts('z', 'ldap')
    assert.deepEqual(await createZones(db, createCaches()).delete('z', 'default'), {
      outcome: 'deleted',
      clients: [],
      groups: [],
    })
    assert.deepEqual(await rowsOf('z'), {})
    assert.ok(Math.max(...portions) <= MAX_ROWS, String(portions))
  })

  it('continues after a restart, and first deletes the rest if the zone is created again', async () => {
    for (const id of ['z', 'again']) {
      await store.zones.insert(zone({ id, subdomain: id }))
      await addAccounts(id, 'ldap')
      ;[portions, stopsAfter] = [[], 3]
      await assert.rejects(createZones(db, createCaches()).delete(id, 'default'), /stopped/)
      assert.equal(await store.zones.read(id), undefined)
      assert.ok(Number((await rowsOf(id))['users']) > 0)
    }
    ;[portions, stopsAfter] = [[], Infinity]
    const contents = { provider: provider({ zoneId: 'again' }), groups: [], keys: [] }
    await createZones(db, createCaches()).create(zone({ id: 'again', subdomain: 'again' }), contents)
    assert.ok(Math.max(...portions) <= MAX_ROWS, String(portions))
    assert.deepEqual(await rowsOf('again'), { identity_providers: 1 })
    await store.purge(at(0))
    await store.purge(at(301))
    assert.deepEqual(await rowsOf('z'), {})
    assert.deepEqual(await rowsOf('again'), { identity_providers: 1 })
  })

  describe('of a provider', () => {
    const made = provider({ zoneId: 'z', id: 'p', originKey: 'ldap', type: 'ldap' })
    const deletion: ProviderChange = { kind: 'delete', provider: made, revision: 0 }
    beforeEach(async () => {
      await store.zones.insert(zone({ id: 'z', subdomain: 'z' }))
      await store.providers.insert('z', made)
      for (const origin of ['ldap', 'kept']) await addAccounts('z', origin)
    })

    it('deletes its accounts', async () => {
      await createProviders(db, createCaches()).apply('z', deletion)
      const left = await rowsOf('z')
      assert.deepEqual([left['users'], left['sessions'], left['identity_providers']], [ACCOUNTS, ACCOUNTS, undefined])
      assert.ok(Math.max(...portions) <= MAX_ROWS, String(portions))
      assert.ok(portions.length > 2)
      assert.equal(await store.users.count('z'), ACCOUNTS)
    })

    it('makes it unavailable at once, and continues after a restart', async () => {
      ;[portions, stopsAfter] = [[], 2]
      const { providers } = store
      await assert.rejects(createProviders(db, createCaches()).apply('z', deletion), /stopped/)
      assert.ok(Number((await rowsOf('z'))['users']) > ACCOUNTS)
      assert.deepEqual(await providers.list('z'), [])
      assert.equal(await providers.findForChange('z', 'p'), undefined)
      assert.equal(await providers.findStored('z', 'ldap'), undefined)
      const fresh = createProviders(db, createCaches())
      assert.deepEqual(
        [
          await fresh.isOpen('z', 'ldap'),
          await fresh.isActive('z', 'ldap'),
          await fresh.isBeingDeleted('z', 'ldap'),
          await fresh.isBeingDeleted('z', 'kept'),
        ],
        [false, false, true, false],
      )
      const update: ProviderChange = { kind: 'update', provider: made, revision: 1 }
      await assert.rejects(providers.apply('z', update), { name: 'ChangedMeanwhile' })
      await assert.rejects(providers.apply('z', { ...deletion, revision: 1 }), { name: 'ChangedMeanwhile' })
      await store.purge(at(0))
      const left = await rowsOf('z')
      assert.deepEqual([left['users'], left['identity_providers']], [ACCOUNTS, undefined])
      await providers.insert('z', made)
      assert.equal(await providers.isBeingDeleted('z', 'ldap'), false)
    })

    it('finishes before its origin is reused', async () => {
      ;[portions, stopsAfter] = [[], 2]
      await assert.rejects(createProviders(db, createCaches()).apply('z', deletion), /stopped/)
      const again = provider({ ...made, id: 'p2' })
      await store.providers.apply('z', { kind: 'insert', provider: again })
      assert.equal((await rowsOf('z'))['users'], ACCOUNTS)
      assert.deepEqual(await store.providers.findStored('z', 'ldap'), again)
      assert.equal(await store.providers.isActive('z', 'ldap'), true)
    })
  })
})
