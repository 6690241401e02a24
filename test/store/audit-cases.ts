// Test cases of every database for the audit trail.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { auditRecordOf } from '../../src/model/audit/audit-entry.ts'
import type { AuditEvent } from '../../src/model/audit/event.ts'
import { linked } from '../../src/ops/audit/chain.ts'
import { verifyAuditTrail } from '../../src/ops/audit/verify.ts'
import type { AuditQuery, Store } from '../../src/store/store.ts'
import { testHashes } from '../support/audit.ts'
import { at, zone } from './records.ts'
import type { Lent } from './token-cases.ts'

/** The cases of the audit trail, inside the suite of a database. */
export function auditCases({ store, open, newZone }: Lent): void {
  async function existing(): Promise<string> {
    const id = newZone()
    await store().zones.insert(zone({ id, subdomain: `sub-${id}` }))
    return id
  }
  /** Appends events, one a second. */
  const append = (to: Store, zoneId: string, events: readonly Partial<AuditEvent>[], start = 1): Promise<void> =>
    to.audit.append(zoneId, state => {
      const records = events.map((event, index) =>
        auditRecordOf({ type: 'UserModifiedEvent', zoneId, principal: 'u1', ...event }, at(start + index)),
      )
      return linked(testHashes, zoneId, { records, state, now: at(0) })
    })
  const many = (count: number, event: Partial<AuditEvent> = {}) => Array.from({ length: count }, () => event)
  const verify = (zoneId: string) => verifyAuditTrail(store().audit, testHashes, { zoneId })
  const numbers = async (zoneId: string, query: Partial<AuditQuery> = {}): Promise<readonly number[]> =>
    (await store().audit.find(zoneId, { count: 1000, ...query })).entries.map(({ number }) => number)

  describe('The audit trail', () => {
    it('is one chain with concurrent writers', async () => {
      const z = await existing()
      const other = await open()
      try {
        await Promise.all(
          Array.from({ length: 20 }, (_, index) => append(index % 2 === 0 ? store() : other, z, many(60))),
        )
      } finally {
        await other.close()
      }
      const report = await verify(z)
      assert.deepEqual(report.problems, [])
      assert.equal(report.first, 1)
      assert.equal(report.head?.number, 1200)
    })

    it('stores every member of an event, separately for each zone', async () => {
      const [z, other] = [await existing(), await existing()]
      const full: AuditEvent = {
        type: 'UserAuthenticationFailure',
        zoneId: z,
        principal: 'ü"1',
        clientId: 'app',
        origin: 'ldap',
        remoteAddress: '2001:db8::1',
        actor: 'u9',
        userAgent: 'Browser/1',
        byOther: true,
        authenticationType: 'ldap',
        data: '{"a":1}',
      }
      await append(store(), z, [full])
      await append(store(), other, [{}])
      const { entries } = await store().audit.find(z, { count: 10 })
      assert.equal(entries.length, 1)
      const [{ hash, ...entry } = { hash: '' }] = entries
      assert.match(hash, /^[\w-]{43}$/)
      assert.deepEqual(entry, { ...auditRecordOf(full, at(1)), zoneId: z, number: 1 })
      assert.equal(await store().audit.has(z, { number: 1, hash }), true)
      assert.equal(await store().audit.has(other, { number: 1, hash }), false)
    })

    it('is filtered by principal, client, type, outcome, time and number', async () => {
      const z = await existing()
      await append(store(), z, [
        { principal: 'u1', clientId: 'app' },
        { principal: 'u2', type: 'UserAuthenticationFailure' },
        { principal: 'u1', type: 'UserAuthenticationFailure', clientId: 'other' },
        { principal: 'u1', type: 'TokenIssuedEvent', actor: 'u2' },
      ])
      assert.deepEqual(await numbers(z), [4, 3, 2, 1])
      assert.deepEqual(await numbers(z, { principal: 'u1' }), [4, 3, 1])
      assert.deepEqual(await numbers(z, { actor: 'u2' }), [4])
      assert.deepEqual(await numbers(z, { actor: 'u2', principal: 'u2' }), [])
      assert.deepEqual(await numbers(z, { clientId: 'app' }), [1])
      assert.deepEqual(await numbers(z, { types: ['TokenIssuedEvent', 'UserModifiedEvent'] }), [4, 1])
      assert.deepEqual(await numbers(z, { outcome: 'failure' }), [3, 2])
      assert.deepEqual(await numbers(z, { outcome: 'success', principal: 'u1' }), [4, 1])
      assert.deepEqual(await numbers(z, { from: at(2), to: at(3) }), [3, 2])
      assert.deepEqual(await numbers(z, { from: at(100) }), [])
      assert.deepEqual(await numbers(z, { before: 3 }), [2, 1])
      assert.deepEqual(await numbers(z, { principal: 'nobody\0' }), [])
      const { entries, next } = await store().audit.find(z, { count: 3 })
      assert.deepEqual([entries.length, next], [3, 2])
      assert.equal((await store().audit.find(z, { count: 5 })).next, undefined)
    })

    it('limits the entries scanned for a page, and returns where to continue', async () => {
      const z = await existing()
      await append(store(), z, [{ principal: 'rare', clientId: 'rare' }])
      for (let i = 0; i < 21; i += 1) await append(store(), z, many(1000), 10)
      const first = await store().audit.find(z, { clientId: 'rare', count: 10 })
      assert.deepEqual(first, { entries: [], next: 1002 })
      const second = await store().audit.find(z, { clientId: 'rare', count: 10, before: 1002 })
      assert.deepEqual([second.entries.length, second.next], [1, undefined])
      assert.deepEqual(await numbers(z, { principal: 'rare' }), [1])
    })

    it('ignores events of unknown zones', async () => {
      const z = newZone()
      await append(store(), z, many(2))
      assert.deepEqual(await store().audit.state(z), { chain: undefined, last: undefined })
    })
  })

  describe('Delivery of the audit trail', () => {
    it('is claimed once, continues after accepted entries, and is delayed after a failure', async () => {
      const [z, webhook] = [await existing(), `w-${newZone()}`]
      await append(store(), z, many(3))
      const claim = (now: number, name = webhook) =>
        store().audit.claimDelivery({ name, zones: [z] }, at(now), at(now + 60))
      const [first, second] = await Promise.all([claim(1), claim(1)])
      const claimed = first ?? second
      assert.ok(claimed && !(first && second))
      assert.equal(claimed.number, 0)
      assert.ok(await claim(1, `${webhook}2`)) // another webhook
      await store().audit.finishDelivery(claimed, 2)
      const next = await claim(2)
      assert.deepEqual([next?.number, next?.attempts], [2, 1])
      assert.ok(next)
      await store().audit.retryDelivery(next, at(100))
      assert.equal(await claim(99), undefined)
      const again = await claim(100)
      assert.deepEqual([again?.number, again?.attempts], [2, 2])
      assert.ok(again)
      await store().audit.finishDelivery(next, 3) // whose claim has ended
      assert.equal(await claim(101), undefined)
      const late = await claim(161)
      assert.ok(late)
      await store().audit.finishDelivery(late, 3)
      assert.equal(await claim(1000), undefined)
    })

    it('reports the number and age of pending entries', async () => {
      const [z, other, webhook] = [await existing(), await existing(), `w-${newZone()}`]
      assert.deepEqual(await store().audit.waiting({ name: webhook, zones: [z] }), { count: 0, since: undefined })
      await append(store(), z, many(3))
      await append(store(), other, many(2))
      const [first, second] = await store().audit.read(z, { after: 0, count: 2 })
      assert.deepEqual(await store().audit.waiting({ name: webhook, zones: [z] }), {
        count: 3,
        since: new Date(first?.happenedAt ?? 0),
      })
      assert.equal((await store().audit.waiting({ name: webhook, zones: [z, other] })).count, 5)
      assert.ok((await store().audit.waiting({ name: webhook })).count >= 5)
      const claimed = await store().audit.claimDelivery({ name: webhook, zones: [z] }, at(1), at(60))
      assert.ok(claimed)
      await store().audit.finishDelivery(claimed, 1)
      assert.deepEqual(await store().audit.waiting({ name: webhook, zones: [z] }), {
        count: 2,
        since: new Date(second?.happenedAt ?? 0),
      })
    })
  })
}
