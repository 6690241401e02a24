import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { SigningKeyRecord } from '../../src/model/tokens/signing-key.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { AlreadyExists } from '../../src/store/store.ts'
import type { TestDatabase } from '../support/databases.ts'
import { DATABASE_KINDS, freshDatabase } from '../support/databases.ts'
import { client, key as keyRecord } from './records.ts'

const at = (seconds: number): Date => new Date(Date.UTC(2026, 0, 1) + seconds * 1000)

/** A key that could sign. */
const key = (given: Partial<SigningKeyRecord>): SigningKeyRecord => keyRecord({ sealedPrivateKey: 'sealed', ...given })

for (const kind of DATABASE_KINDS) {
  describe(`Keys of a zone, on ${kind}`, () => {
    let database: TestDatabase
    let store: Store
    let other: Store
    before(async () => {
      database = await freshDatabase(kind)
      store = await openStore(database.url, { clock: { now: () => at(0) } })
      other = await openStore(database.url, { clock: { now: () => at(0) } })
    })
    after(async () => {
      await store.close()
      await other.close()
      await database.drop()
    })
    let zones = 0
    /** A zone of its own with the keys a, which signs, and b. */
    async function newZone(): Promise<string> {
      const z = `z${(zones += 1)}`
      await store.keys.save(z, key({ zoneId: z, keyId: 'a', active: true, createdAt: at(1) }))
      await store.keys.insert(z, key({ zoneId: z, keyId: 'b', createdAt: at(2) }))
      return z
    }
    const listed = async (z: string): Promise<readonly string[]> =>
      (await store.keys.list(z)).map(({ keyId, active, expiresAt }) =>
        [keyId, active ? '*' : '', expiresAt ? ` until ${(expiresAt.getTime() - at(0).getTime()) / 1000}` : ''].join(
          '',
        ),
      )

    it('may be a shared secret without a public key, or have a certificate', async () => {
      const z = await newZone()
      const { publicKey: _, ...secret } = key({ zoneId: z, keyId: 'mac', algorithm: 'HS256', createdAt: at(3) })
      const certified = key({ zoneId: z, keyId: 'cert', certificate: 'in PEM', createdAt: at(4) })
      await store.keys.insert(z, secret)
      await store.keys.insert(z, certified)
      assert.deepEqual((await store.keys.list(z)).slice(2), [secret, certified])
    })

    it('are inserted inactive, even if marked active', async () => {
      const z = await newZone()
      await store.keys.insert(z, key({ zoneId: z, keyId: 'c', active: true, createdAt: at(3) }))
      assert.deepEqual(await listed(z), ['a*', 'b', 'c'])
    })

    it('reject a duplicate id', async () => {
      const z = await newZone()
      await assert.rejects(store.keys.insert(z, key({ zoneId: z, keyId: 'a', publicKey: 'another' })), AlreadyExists)
      assert.notEqual((await store.keys.list(z))[0]?.publicKey, 'another')
      assert.deepEqual(await listed(z), ['a*', 'b'])
    })

    it('have one active key, whose retirement ends when it is activated', async () => {
      const z = await newZone()
      assert.equal(await store.keys.retire(z, 'b', at(50)), true)
      assert.deepEqual(await listed(z), ['a*', 'b until 50'])
      assert.equal(await store.keys.activate(z, 'b', at(10)), true)
      assert.deepEqual(await listed(z), ['a', 'b*'])
      assert.equal(await store.keys.activate(z, 'b', at(10)), true)
      assert.deepEqual(await listed(z), ['a', 'b*'])
    })

    const notActivated: readonly { name: string; keyId: string; prepare?: (z: string) => Promise<unknown> }[] = [
      { name: 'an unknown key', keyId: 'c' },
      { name: 'an empty id', keyId: '' },
      { name: 'an invalid id', keyId: 'b\0' },
      { name: 'an id in another case', keyId: 'B' },
      { name: 'an expired key', keyId: 'b', prepare: z => store.keys.retire(z, 'b', at(10)) },
      {
        name: 'a key without a private key',
        keyId: 'b',
        async prepare(z) {
          const { sealedPrivateKey: _, ...verifying } = key({ zoneId: z, keyId: 'b', createdAt: at(2) })
          await store.keys.save(z, verifying)
        },
      },
      {
        name: 'a key of another zone',
        keyId: 'foreign',
        prepare: async () => store.keys.insert('elsewhere', key({ zoneId: 'elsewhere', keyId: 'foreign' })),
      },
    ]
    for (const { name, keyId, prepare } of notActivated) {
      it(`are not activated: ${name}`, async () => {
        const z = await newZone()
        await prepare?.(z)
        const earlier = await listed(z)
        assert.equal(await store.keys.activate(z, keyId, at(10)), false)
        assert.deepEqual(await listed(z), earlier)
      })
    }

    it('are not retired if active or unknown', async () => {
      const z = await newZone()
      for (const keyId of ['a', 'c', '']) assert.equal(await store.keys.retire(z, keyId, at(1)), false)
      assert.deepEqual(await listed(z), ['a*', 'b'])
    })

    it('never have their retirement postponed', async () => {
      const z = await newZone()
      for (const [until, want] of [
        [50, 50],
        [90, 50],
        [20, 20],
      ] as const) {
        assert.equal(await store.keys.retire(z, 'b', at(until)), true)
        assert.deepEqual(await listed(z), ['a*', `b until ${want}`])
      }
    })

    it('have one active key after concurrent activations in two processes', async () => {
      const z = await newZone()
      const ids = ['a', 'b']
      await Promise.all([...ids, ...ids].flatMap(id => [store, other].map(each => each.keys.activate(z, id, at(0)))))
      assert.equal((await store.keys.list(z)).filter(({ active }) => active).length, 1)
    })

    it('keep an active key when it is retired and activated concurrently', async () => {
      const z = await newZone()
      await Promise.all([store.keys.activate(z, 'b', at(0)), other.keys.retire(z, 'b', at(1))])
      const active = (await store.keys.list(z)).find(each => each.active)
      assert.deepEqual([active?.keyId, active?.expiresAt], ['b', undefined])
    })

    it('are purged once expired, except the active one, also from the caches of other processes', async () => {
      const z = await newZone()
      const far = await newZone()
      await store.keys.retire(z, 'b', at(100))
      await store.keys.retire(far, 'b', at(200))
      await store.keys.save(z, key({ zoneId: z, keyId: 'a', active: true, createdAt: at(1), expiresAt: at(1) }))
      assert.equal((await other.keys.list(z)).length, 2)
      while ((await store.purge(at(100))) > 0); // what other cases left behind
      assert.deepEqual(await listed(z), ['a* until 1', 'b until 100'])
      assert.equal(await store.purge(at(101)), 1)
      assert.equal(await store.purge(at(101)), 0)
      assert.deepEqual(await listed(z), ['a* until 1'])
      assert.deepEqual(await listed(far), ['a*', 'b until 200'])
      const deadline = performance.now() + 5000
      while ((await other.keys.list(z)).length > 1) {
        assert.ok(performance.now() < deadline, 'the other process was not notified')
        await new Promise(resolve => setTimeout(resolve, 10))
      }
    })

    it('come with the longest and shortest token lifetimes of clients', async () => {
      const z = await newZone()
      const lifetimes = (): Promise<object> => store.clients.lifetimes(z)
      assert.deepEqual(await lifetimes(), [{}, {}])
      const { accessTokenSeconds: _, refreshTokenSeconds: __, ...plain } = client({ zoneId: z })
      await store.clients.insert(z, { ...plain, clientId: 'none' })
      assert.deepEqual(await lifetimes(), [{}, {}])
      await store.clients.insert(z, { ...plain, clientId: 'one', accessTokenSeconds: 7 })
      await store.clients.insert(z, { ...plain, clientId: 'two', accessTokenSeconds: 2 ** 31 - 1 })
      assert.deepEqual(await lifetimes(), [{ accessTokenSeconds: 2 ** 31 - 1 }, { accessTokenSeconds: 7 }])
      await store.clients.insert(z, { ...plain, clientId: 'three', refreshTokenSeconds: 9 })
      await store.clients.insert(z, { ...plain, clientId: 'four', refreshTokenSeconds: -1 })
      assert.deepEqual(await lifetimes(), [
        { accessTokenSeconds: 2 ** 31 - 1, refreshTokenSeconds: 9 },
        { accessTokenSeconds: 7, refreshTokenSeconds: -1 },
      ])
    })
  })
}
