// Shared work of several nodes: done by one of them, and continued when that one is killed.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { DATABASE_KINDS, freshDatabase } from '../support/databases.ts'
import { inTime } from './cases.ts'
import { at } from './records.ts'

const OTHER_PROCESS = join(import.meta.dirname, 'other-process.ts')
const SESSIONS = 40

for (const kind of DATABASE_KINDS) {
  describe(`Two nodes on one ${kind} database`, () => {
    async function withNodes(test: (nodes: readonly [Store, Store], url: string) => Promise<void>): Promise<void> {
      const database = await freshDatabase(kind)
      const nodes = [
        await openStore(database.url, { clock: systemClock }),
        await openStore(database.url, { clock: systemClock }),
      ] as const
      try {
        await test(nodes, database.url)
      } finally {
        for (const node of nodes) await node.close()
        await database.drop()
      }
    }
    const end = async (store: Store): Promise<void> => {
      const ended = {
        zoneId: 'z1',
        userId: 'u1',
        sessionSalt: 's',
        clients: ['app'],
        nextAttemptAt: at(0),
        attempts: 0,
      }
      for (let number = 0; number < SESSIONS; number += 1) await store.endedSessions.add({ ...ended, id: `s${number}` })
    }

    it('claim each ended session once, and those of a killed node when its claims expire', () =>
      withNodes(async ([one, two], url) => {
        await end(one)
        const killed = spawn(process.execPath, [OTHER_PROCESS, url, 'claim-and-hang', 'killed'])
        const [line] = (await once(killed.stdout, 'data')) as [Buffer]
        const theirs = JSON.parse(line.toString()) as string[]
        assert.equal(theirs.length, 5)
        assert.equal(await one.leases.take('task', 'one', 1000), false)
        killed.kill('SIGKILL')
        await once(killed, 'exit')
        const claimAll = async (store: Store, now: number): Promise<readonly string[]> => {
          const found: string[] = []
          for (;;) {
            const ended = await store.endedSessions.claim(at(now), at(now + 100))
            if (!ended) return found
            found.push(ended.id)
            await store.endedSessions.delete(ended)
          }
        }
        const ours = (await Promise.all([one, two, one, two].map(store => claimAll(store, 1)))).flat()
        assert.deepEqual([ours.length, new Set([...ours, ...theirs]).size], [SESSIONS - 5, SESSIONS])
        assert.deepEqual(await claimAll(two, 99), [])
        assert.deepEqual((await claimAll(two, 100)).toSorted(), theirs.slice(2).toSorted())
        await inTime(true, () => two.leases.take('task', 'two', 60_000))
        assert.equal(await one.leases.take('task', 'one', 1000), false)
      }))

    it('use the time of the database', () =>
      withNodes(async nodes => {
        for (const node of nodes) {
          assert.ok(Math.abs((await node.now()).getTime() - systemClock.now().getTime()) < 60_000)
        }
      }))

    it('hold a lease one at a time, renew it, and release only their own', () =>
      withNodes(async ([one, two]) => {
        const taken = await Promise.all(
          [one, two, one, two].map((store, index) => store.leases.take('purge', `node-${index}`, 60_000)),
        )
        assert.equal(taken.filter(Boolean).length, 1)
        const holder = `node-${taken.indexOf(true)}`
        assert.equal(await two.leases.take('purge', holder, 60_000), true)
        assert.equal(await two.leases.take('another', 'node-9', 60_000), true)
        await one.leases.release('purge', 'node-9')
        assert.equal(await one.leases.take('purge', 'node-9', 60_000), false)
        await one.leases.release('purge', holder)
        assert.equal(await one.leases.take('purge', 'node-9', 0), true)
        assert.equal(await two.leases.take('purge', holder, 60_000), true, 'an expired lease is free')
      }))
  })
}

describe('A lease on PostgreSQL', {
  skip: !DATABASE_KINDS.includes('postgres') && 'a fast run has no PostgreSQL',
}, () => {
  it('does not depend on the node’s clock', async () => {
    const database = await freshDatabase('postgres')
    const ahead = { now: () => new Date(systemClock.now().getTime() + 86_400_000) }
    const [right, wrong] = [
      await openStore(database.url, { clock: systemClock }),
      await openStore(database.url, { clock: ahead }),
    ]
    assert.equal(await right.leases.take('purge', 'right', 60_000), true)
    assert.equal(await wrong.leases.take('purge', 'wrong', 60_000), false)
    await Promise.all([right.close(), wrong.close()])
    await database.drop()
  })
})
