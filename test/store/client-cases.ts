// Test cases of every database for changes of clients: all or nothing, and never over what somebody else wrote.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AlreadyExists, ChangedMeanwhile } from '../../src/store/store.ts'
import type { ClientChange } from '../../src/store/store.ts'
import { approval, at, client, fullClient, token } from './records.ts'
import type { Lent } from './token-cases.ts'

/** The cases of clients, inside the suite of a database. */
export function clientCases({ store, open, newZone }: Lent): void {
  const insert = (zoneId: string, ...ids: readonly string[]): Promise<void> =>
    store().clients.apply(
      zoneId,
      ids.map(clientId => ({ kind: 'insert', client: client({ zoneId, clientId }) })),
    )
  /** The ids, names and revisions of existing clients. */
  const left = async (zoneId: string, ids: readonly string[]): Promise<readonly string[]> => {
    const found = await Promise.all(ids.map(id => store().clients.findForChange(zoneId, id)))
    return found.flatMap(each => (each ? `${each.client.clientId} ${each.client.name ?? '-'} ${each.revision}` : []))
  }
  const rename = (zoneId: string, clientId: string, revision: number, name: string): ClientChange => ({
    kind: 'update',
    client: client({ zoneId, clientId, name }),
    revision,
  })

  describe('Changes of clients', () => {
    it('store records unchanged', async () => {
      const z = newZone()
      const records = [client({ zoneId: z }), client({ ...fullClient, zoneId: z, clientId: 'full' })]
      await store().clients.apply(
        z,
        records.map(each => ({ kind: 'insert', client: each })),
      )
      for (const record of records) {
        assert.deepEqual(await store().clients.findForChange(z, record.clientId), { client: record, revision: 0 })
        assert.deepEqual(await store().clients.find(z, record.clientId), record)
      }
      const changed = client({ ...fullClient, zoneId: z, name: 'Changed' })
      await store().clients.apply(z, [{ kind: 'update', client: changed, revision: 0 }])
      assert.deepEqual(await store().clients.findForChange(z, 'app'), { client: changed, revision: 1 })
      assert.deepEqual(await store().clients.find(z, 'app'), changed)
    })

    it('do not overwrite a client created again with the same id', async () => {
      const z = newZone()
      const { clients } = store()
      await insert(z, 'app')
      const stale = await clients.findForChange(z, 'app')
      assert.ok(stale)
      const recreated = client({ ...stale.client, createdAt: at(7), incarnation: 'second' })
      await clients.apply(z, [{ kind: 'delete', clientId: 'app', revision: stale.revision }])
      await clients.apply(z, [{ kind: 'insert', client: recreated }])
      const change = { kind: 'update', client: { ...stale.client, name: 'Late' }, revision: stale.revision } as const
      await assert.rejects(clients.apply(z, [change]), ChangedMeanwhile)
      assert.deepEqual((await clients.findForChange(z, 'app'))?.client, recreated)
    })

    it('delete records that concurrent requests write after the deletion', async () => {
      const z = newZone()
      const { clients, tokens, approvals } = store()
      await insert(z, 'gone', 'again', 'kept')
      const expiresAt = at(9000)
      const write = async (clientId: string): Promise<void> => {
        for (let n = 0; n < 3; n += 1) {
          await tokens.insert(z, token({ zoneId: z, clientId, userId: 'u', idDigest: `${clientId}${n}`, expiresAt }))
        }
        await approvals.save(z, [approval({ zoneId: z, clientId, userId: 'u', expiresAt })])
      }
      const count = async (clientId: string, now: number): Promise<readonly number[]> => [
        (await tokens.listOfClient(z, clientId, at(now))).length,
        (await approvals.list(z, 'u', clientId, at(now))).length,
      ]
      for (const clientId of ['gone', 'again']) await clients.apply(z, [{ kind: 'delete', clientId, revision: 0 }])
      for (const clientId of ['gone', 'again', 'kept']) await write(clientId)
      await store().purge(at(0))
      await insert(z, 'again')
      assert.deepEqual(await count('again', 1), [3, 0], 'the tokens have the signature of the client that was deleted')
      await approvals.save(z, [approval({ zoneId: z, clientId: 'again', userId: 'u', expiresAt })])
      await store().purge(at(300))
      assert.deepEqual(await count('gone', 300), [3, 1], 'of a request that may still run')
      await store().purge(at(301))
      assert.deepEqual(await count('gone', 301), [0, 0])
      assert.deepEqual(await count('again', 301), [3, 1])
      assert.deepEqual(await count('kept', 301), [3, 1])
    })

    it('return nothing for unknown or impossible ids', async () => {
      const z = newZone()
      await insert(z, 'app')
      for (const [zoneId, clientId] of [
        [z, 'APP'],
        [newZone(), 'app'],
        [z, 'app\0'],
        [z, '\ud800'],
      ] as const) {
        assert.equal(await store().clients.findForChange(zoneId, clientId), undefined)
        assert.equal(await store().clients.findMetadata(zoneId, clientId), undefined)
      }
    })

    it('increment the revision with each visible write', async () => {
      const z = newZone()
      await insert(z, 'app')
      const clients = store().clients
      const secret = { hash: 'h', revision: 'r' }
      const writes: readonly [string, () => Promise<unknown>, number][] = [
        ['a change', () => clients.apply(z, [rename(z, 'app', 0, 'x')]), 1],
        ['the bootstrap', () => clients.update(z, client({ zoneId: z, secrets: [secret] })), 2],
        ['another salt', () => clients.setTokenSalt(z, 'app', 'salt'), 3],
        ['other keys', () => clients.changeKeys(z, 'app', () => ({ jwksUri: 'https://a.example/' })), 4],
        [
          'metadata',
          () =>
            clients.apply(z, [
              { kind: 'describe', clientId: 'app', description: { showOnHomePage: true, appIcon: '' }, revision: 4 },
            ]),
          5,
        ],
        ['a renewed hash, which is not visible', () => clients.renewSecretHash(z, 'app', { ...secret, hash: 'n' }), 5],
      ]
      for (const [name, write, revision] of writes) {
        await write()
        assert.equal((await clients.findForChange(z, 'app'))?.revision, revision, name)
      }
    })

    it('reject an outdated revision', async () => {
      const z = newZone()
      await insert(z, 'app')
      await store().clients.apply(z, [rename(z, 'app', 0, 'first')])
      const description = { clientName: 'late', showOnHomePage: false, appIcon: '' }
      const late: readonly ClientChange[] = [
        rename(z, 'app', 0, 'late'),
        rename(z, 'app', 2, 'early'),
        rename(z, 'gone', 0, 'late'),
        { kind: 'describe', clientId: 'app', description, revision: 0 },
        { kind: 'delete', clientId: 'app', revision: 0 },
        { kind: 'delete', clientId: 'gone', revision: 0 },
      ]
      for (const change of late) await assert.rejects(store().clients.apply(z, [change]), ChangedMeanwhile)
      assert.deepEqual(await left(z, ['app', 'gone']), ['app first 1'])
    })

    it('roll back the whole batch if any change fails', async () => {
      const z = newZone()
      await insert(z, 'b', 'd')
      await store().approvals.save(z, [approval({ zoneId: z, clientId: 'b' }), approval({ zoneId: z, clientId: 'd' })])
      const before = await left(z, ['a', 'b', 'c', 'd', 'e'])
      const good: readonly ClientChange[] = [
        { kind: 'insert', client: client({ zoneId: z, clientId: 'a' }) },
        { kind: 'insert', client: client({ zoneId: z, clientId: 'e' }) },
        { kind: 'delete', clientId: 'b', revision: 0 },
      ]
      const bad: readonly [ClientChange, new (...args: never[]) => Error][] = [
        [{ kind: 'insert', client: client({ zoneId: z, clientId: 'd' }) }, AlreadyExists],
        [rename(z, 'd', 7, 'x'), ChangedMeanwhile],
        [rename(z, 'c', 0, 'x'), ChangedMeanwhile],
        [{ kind: 'delete', clientId: 'd', revision: 7 }, ChangedMeanwhile],
        [{ kind: 'insert', client: client({ zoneId: z, clientId: 'c', name: 'nul\0' }) }, TypeError],
      ]
      for (const [change, error] of bad) {
        for (const place of [0, 1, 3]) {
          await assert.rejects(store().clients.apply(z, good.toSpliced(place, 0, change)), error)
          assert.deepEqual(await left(z, ['a', 'b', 'c', 'd', 'e']), before)
        }
      }
      assert.equal((await store().approvals.list(z, 'u1', 'b', at(0))).length, 1)
      await store().clients.apply(z, good)
      assert.deepEqual(await left(z, ['a', 'b', 'c', 'd', 'e']), ['a - 0', 'd - 0', 'e - 0'])
    })

    it('name the client that exists already', async () => {
      const z = newZone()
      await insert(z, 'b')
      await assert.rejects(insert(z, 'a', 'b', 'c'), /^AlreadyExists: client b already exists$/)
    })

    it('delete approvals with a client, or when requested', async () => {
      const z = newZone()
      const other = newZone()
      await insert(z, 'a', 'b', 'c')
      for (const zoneId of [z, other]) {
        const decisions = ['a', 'b', 'c'].flatMap(clientId =>
          ['u1', 'u2'].map(userId => approval({ zoneId, clientId, userId })),
        )
        await store().approvals.save(zoneId, decisions)
      }
      await store().clients.apply(z, [
        { kind: 'delete', clientId: 'a', revision: 0 },
        { kind: 'update', client: client({ zoneId: z, clientId: 'b' }), revision: 0, forgetApprovals: true },
        rename(z, 'c', 0, 'x'),
      ])
      const decided = async (zoneId: string) =>
        (await store().approvals.listOfUser(zoneId, 'u2', at(0))).map(({ clientId }) => clientId)
      assert.deepEqual(await decided(z), ['c'])
      assert.deepEqual(await decided(other), ['a', 'b', 'c'])
    })

    it('are visible at once, despite caches', async () => {
      const z = newZone()
      const other = await open()
      try {
        await insert(z, 'app')
        await store().clients.find(z, 'app')
        await other.clients.find(z, 'app')
        await store().clients.apply(z, [rename(z, 'app', 0, 'new')])
        assert.equal((await store().clients.find(z, 'app'))?.name, 'new')
        assert.equal((await other.clients.findForChange(z, 'app'))?.client.name, 'new')
        await store().clients.apply(z, [{ kind: 'delete', clientId: 'app', revision: 1 }])
        assert.equal(await store().clients.find(z, 'app'), undefined)
        assert.equal(await other.clients.findForChange(z, 'app'), undefined)
      } finally {
        await other.close()
      }
    })

    it('do not deadlock in opposite order; one of two concurrent batches fails', async () => {
      const z = newZone()
      const ids = Array.from({ length: 20 }, (_, index) => `client-${index}`)
      await insert(z, ...ids)
      const other = await open()
      try {
        for (let revision = 0; revision < 10; revision += 1) {
          const changes = ids.map(id => rename(z, id, revision, `${revision}`))
          const outcomes = await Promise.allSettled([
            store().clients.apply(z, changes),
            other.clients.apply(z, changes.toReversed()),
          ])
          assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
          const refused = outcomes.find(outcome => outcome.status === 'rejected')
          assert.ok(refused?.reason instanceof ChangedMeanwhile, String(refused?.reason))
        }
      } finally {
        await other.close()
      }
      assert.deepEqual(
        await left(z, ids),
        ids.map(id => `${id} 9 10`),
      )
    })

    it('store display metadata separately from the client', async () => {
      const z = newZone()
      const clients = store().clients
      await clients.apply(z, [
        { kind: 'insert', client: client({ zoneId: z, clientId: 'plain' }) },
        { kind: 'insert', client: client({ zoneId: z, clientId: 'shown', name: 'Shown' }), createdBy: 'u1' },
        { kind: 'insert', client: client({ zoneId: z, clientId: 'bare' }) },
      ])
      const made = { clientId: 'shown', clientName: 'Shown', showOnHomePage: true, createdBy: 'u1' }
      assert.deepEqual(await clients.findMetadata(z, 'shown'), made)
      assert.deepEqual(await clients.findMetadata(z, 'plain'), { clientId: 'plain', showOnHomePage: true })
      const description = { showOnHomePage: false, appLaunchUrl: 'https://a.example/', appIcon: 'YQ==' }
      await clients.apply(z, [
        { kind: 'describe', clientId: 'shown', description, revision: 0 },
        {
          kind: 'describe',
          clientId: 'bare',
          description: { clientName: 'Bare', showOnHomePage: true, appIcon: '' },
          revision: 0,
        },
      ])
      assert.equal((await clients.find(z, 'bare'))?.name, 'Bare')
      await clients.update(z, client({ zoneId: z, clientId: 'shown', name: 'Other' }))
      const shown = { ...made, ...description, clientName: 'Other' }
      const bare = { clientId: 'bare', clientName: 'Bare', showOnHomePage: true, appIcon: '' }
      assert.deepEqual(await clients.listMetadata(z, { count: 9 }), [bare, shown])
      assert.deepEqual(await clients.listMetadata(z, { count: 1 }), [bare])
      assert.deepEqual(await clients.listMetadata(z, { count: 9, after: bare.clientId }), [shown])
      assert.deepEqual(await clients.listMetadata(newZone(), { count: 9 }), [])
      assert.deepEqual(await clients.listOnHomePage(z), [], 'one is hidden, the other has no URL')
      const found = { showOnHomePage: true, appLaunchUrl: 'https://b.example/', appIcon: '' }
      await clients.apply(z, [{ kind: 'describe', clientId: 'plain', description: found, revision: 0 }])
      assert.deepEqual(await clients.listOnHomePage(z), [{ clientId: 'plain', ...found }])
    })
  })
}
