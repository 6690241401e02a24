// Sessions that ended, on both databases.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Store } from '../../src/store/store.ts'
import { at, session, signIn, user } from './records.ts'

/** Cases of `EndedSessionStore`, and of what leaves ended sessions. */
export function endedSessionCases(store: () => Store): void {
  describe('A session with clients to notify', () => {
    const begin = async (
      zoneId: string,
      idDigest: string,
      { isNotified = true, salt = 'salt', userId = 'u1' } = {},
    ) => {
      const made = { ...session({ zoneId, idDigest }), signIn: { ...signIn, userId, sessionSalt: salt } }
      await store().sessions.insert(zoneId, made)
      await store().sessions.addClient(zoneId, idDigest, { clientId: 'silent', isNotified: false })
      if (isNotified) await store().sessions.addClient(zoneId, idDigest, { clientId: 'told', isNotified: true })
      return made
    }
    /** Takes all pending entries, and returns those of the zone. */
    async function taken(zoneId: string): Promise<readonly string[]> {
      const found: string[] = []
      for (;;) {
        const ended = await store().endedSessions.claim(at(1), at(2))
        if (!ended) return found
        if (ended.zoneId === zoneId) found.push(ended.id)
        await store().endedSessions.delete(ended)
      }
    }

    it('leaves a notification when deleted; other sessions leave none', async () => {
      const z = 'ended-delete'
      await begin(z, 'a')
      await begin(z, 'b', { isNotified: false })
      await store().sessions.delete(z, 'a')
      await store().sessions.delete(z, 'b')
      await store().sessions.delete(z, 'never')
      const ended = await store().endedSessions.claim(at(1), at(2))
      assert.deepEqual(ended, {
        zoneId: z,
        id: 'a',
        userId: 'u1',
        sessionSalt: 'salt',
        clients: ['silent', 'told'],
        nextAttemptAt: at(2),
        attempts: 1,
        beganAt: at(1),
      })
      await store().endedSessions.delete(ended)
      assert.deepEqual(await taken(z), [])
    })

    it('leaves a notification when another sign-in replaces it, but not when its id changes', async () => {
      const z = 'ended-replace'
      const first = await begin(z, 'a')
      await store().sessions.replace(z, 'a', { ...first, idDigest: 'b', clients: ['silent', 'told'] })
      assert.deepEqual(await taken(z), [])
      const next = { ...first, idDigest: 'c', signIn: { ...first.signIn, sessionSalt: 'other' } }
      assert.equal(await store().sessions.replaceAndClear(z, 'b', next), true)
      assert.deepEqual(await taken(z), ['b'])
      assert.equal(await store().sessions.replaceAndClear(z, 'b', { ...next, idDigest: 'd' }), false)
      assert.equal(await store().sessions.find(z, 'd'), undefined)
      await store().sessions.delete(z, 'c')
      assert.deepEqual(await taken(z), [])
    })

    it('keeps clients that were added while its id changed, but gives none to another sign-in', async () => {
      const z = 'ended-added'
      const first = await begin(z, 'a') // as a request read it before the clients were added
      await store().sessions.replaceAndClear(z, 'a', { ...first, idDigest: 'b' })
      assert.deepEqual((await store().sessions.find(z, 'b'))?.clients, ['silent', 'told'])
      await store().sessions.replace(z, 'b', { ...first, idDigest: 'c' })
      assert.deepEqual((await store().sessions.find(z, 'c'))?.clients, ['silent', 'told'])
      const other = { ...first, idDigest: 'd', signIn: { ...first.signIn, sessionSalt: 'other' } }
      await store().sessions.replace(z, 'c', other)
      assert.equal((await store().sessions.find(z, 'd'))?.clients, undefined)
      assert.deepEqual(await taken(z), ['c'])
      await store().sessions.delete(z, 'd')
    })

    it('leaves a notification when the user’s other sessions are deleted', async () => {
      const z = 'ended-others'
      for (const id of ['a', 'b', 'kept']) await begin(z, id)
      while ((await store().sessions.deleteSomeOthers(z, { userId: 'u1', kept: 'kept' })) > 0);
      assert.deepEqual((await taken(z)).toSorted(), ['a', 'b'])
    })

    it('leaves a notification when the user’s access ends or the account is deleted', async () => {
      const z = 'ended-users'
      for (const id of ['e1', 'e2']) {
        await store().users.insert(z, user({ zoneId: z, id, userName: id }))
        await begin(z, id, { userId: id })
      }
      await store().users.endAccess(z, 'e1', 'revision')
      await store().users.delete(z, 'e2')
      assert.deepEqual((await taken(z)).toSorted(), ['e1', 'e2'])
    })

    it('has its notification claimed once, and again when the claim expires', async () => {
      const z = 'ended-claims'
      await begin(z, 'a')
      await store().sessions.delete(z, 'a')
      const claims = await Promise.all([1, 2, 3].map(() => store().endedSessions.claim(at(1), at(10))))
      const [claimed, another] = claims.filter(each => each?.zoneId === z)
      assert.ok(claimed && !another)
      assert.equal(await store().endedSessions.isDue(at(9)), false)
      const again = await store().endedSessions.claim(at(10), at(20))
      assert.equal(again?.attempts, 2)
      await store().endedSessions.retry(claimed, { clients: [], nextAttemptAt: at(11), attempts: 1 }) // too late: it is another's
      assert.equal(await store().endedSessions.isDue(at(19)), false)
      assert.ok(again)
      const progress = new Map([['told', { attempts: 1, nextAttemptAt: at(30) }]])
      await store().endedSessions.retry(again, { clients: ['told'], progress, nextAttemptAt: at(30), attempts: 1 })
      const third = await store().endedSessions.claim(at(30), at(40))
      assert.deepEqual([third?.clients, third?.attempts, third?.progress], [['told'], 2, progress])
      assert.deepEqual(await store().endedSessions.waiting(), { count: 1, beganAt: at(1) })
      const last = await store().endedSessions.claim(at(40), at(50))
      if (last) await store().endedSessions.delete(last)
    })
  })
}
