// Test cases of every database for the events of accounts.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ACCOUNT_EVENT_DAYS, MAX_EVENTS_PER_TYPE } from '../../src/model/users/account-event.ts'
import type { AccountEvent } from '../../src/model/users/account-event.ts'
import { at, user } from './records.ts'
import type { Lent } from './token-cases.ts'

const event = (given: Partial<AccountEvent> = {}): AccountEvent => ({
  userId: 'u1',
  type: 'signed-in',
  at: at(1),
  byOther: false,
  ...given,
})

/** The cases of events, inside the suite of a database. */
export function accountEventCases({ store, open, newZone }: Lent): void {
  const list = (zoneId: string, userId = 'u1', since = at(0)) => store().accountEvents.list(zoneId, userId, since)
  const seconds = async (zoneId: string, type: AccountEvent['type']) =>
    (await list(zoneId)).filter(each => each.type === type).map(each => (each.at.getTime() - at(0).getTime()) / 1000)
  async function zoneWith(...ids: readonly string[]): Promise<string> {
    const zoneId = newZone()
    for (const id of ids) await store().users.insert(zoneId, user({ zoneId, id, userName: id }))
    return zoneId
  }

  describe('Account events', () => {
    it('are stored unchanged, newest first, by account and zone', async () => {
      const z = await zoneWith('u1', 'u2')
      const other = await zoneWith('u1')
      const full = event({
        at: at(2),
        type: 'access-revoked',
        byOther: true,
        remoteAddress: '2001:db8::1',
        userAgent: 'Browser/1 (Test)',
        clientId: 'a"\n|pp',
      })
      await store().accountEvents.add(z, [event(), full, event({ userId: 'u2' })])
      await store().accountEvents.add(other, [event({ type: 'unlocked' })])
      assert.deepEqual(await list(z), [full, event()])
      assert.deepEqual(await list(z, 'u2'), [event({ userId: 'u2' })])
      assert.deepEqual(await list(other), [event({ type: 'unlocked' })])
      assert.deepEqual(await list(z, 'nobody'), [])
      assert.deepEqual(await list(z, 'u1', at(1)), [full])
    })

    it('are limited per type, without dropping events of other types', async () => {
      const z = await zoneWith('u1', 'u2')
      await store().accountEvents.add(z, [event({ type: 'password-changed' }), event({ userId: 'u2' })])
      for (const first of [10, 50]) {
        const failures = Array.from({ length: 30 }, (_, place) =>
          event({ type: 'sign-in-failed', at: at(first + place) }),
        )
        await store().accountEvents.add(z, failures)
      }
      await store().accountEvents.add(z, [event({ type: 'sign-in-failed', at: at(90) })])
      const kept = await seconds(z, 'sign-in-failed')
      assert.equal(kept.length, MAX_EVENTS_PER_TYPE)
      assert.deepEqual(kept.slice(0, 2), [90, 79])
      assert.deepEqual(await seconds(z, 'password-changed'), [1])
      assert.equal((await list(z, 'u2')).length, 1)
    })

    it('are limited with concurrent writers, none of which fails', async () => {
      const z = await zoneWith('u1', 'u2')
      const second = await open()
      const batch = (userIds: readonly string[]) =>
        userIds.flatMap(userId => Array.from({ length: 6 }, () => event({ userId })))
      await Promise.all(
        Array.from({ length: 8 }, (_, place) =>
          (place % 2 === 0 ? store() : second).accountEvents.add(
            z,
            batch(place % 3 === 0 ? ['u1', 'u2'] : ['u2', 'u1']),
          ),
        ),
      )
      await second.close()
      for (const userId of ['u1', 'u2']) {
        await store().accountEvents.add(z, [event({ userId })])
        assert.equal((await list(z, userId)).length, MAX_EVENTS_PER_TYPE)
      }
    })

    it('are not stored for unknown accounts, and are deleted with the account', async () => {
      const z = await zoneWith('u1', 'u2')
      await store().accountEvents.add(z, [event(), event({ userId: 'gone' }), event({ userId: 'u2' })])
      assert.deepEqual(await list(z, 'gone'), [])
      await store().users.delete(z, 'u1')
      assert.deepEqual(await list(z), [])
      assert.equal((await list(z, 'u2')).length, 1)
    })

    it(`are purged after ${ACCOUNT_EVENT_DAYS} days`, async () => {
      const z = await zoneWith('u1')
      await store().accountEvents.add(z, [event({ at: at(-86_400) }), event({ at: at(20) })])
      await store().purge(at(ACCOUNT_EVENT_DAYS * 86_400 - 3600))
      assert.deepEqual(await list(z, 'u1', at(-100_000)), [event({ at: at(20) })])
    })
  })
}
