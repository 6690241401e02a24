// Test cases of every database for codes of devices (RFC 8628).
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MAX_ENTRIES } from '../../src/model/tokens/device-code.ts'
import type { DeviceDecision, DeviceRequest } from '../../src/model/tokens/device-code.ts'
import { AlreadyExists } from '../../src/store/store.ts'
import { at } from './records.ts'
import type { Lent } from './token-cases.ts'

const asked = (given: Partial<DeviceRequest> = {}): DeviceRequest => ({
  codeDigest: 'device',
  userCodeDigest: 'user',
  clientId: 'tv',
  scopes: ['openid'],
  remoteAddress: '192.0.2.1',
  userAgent: 'TV',
  requestedAt: at(0),
  expiresAt: at(600),
  ...given,
})

const decision: DeviceDecision = {
  userId: 'u1',
  scopes: ['openid'],
  authenticatedAt: at(-60),
  amr: ['pwd'],
  acr: ['1'],
  grantId: 'g1',
  revocationSignature: 'abc',
}

const DEVICE = { codeDigest: 'device', clientId: 'tv' }

/** The cases of devices, inside the suite of a database. */
export function deviceCases({ store, newZone }: Lent): void {
  describe('A device code', () => {
    it('is found in its zone until it expires', async () => {
      const z = newZone()
      await store().devices.insert(z, asked())
      assert.deepEqual(await store().devices.enter(z, 'user', at(1)), asked())
      assert.equal(await store().devices.enter(newZone(), 'user', at(1)), undefined)
      assert.equal(await store().devices.enter(z, 'user', at(600)), undefined)
    })

    it('is deleted when the tokens of its user or client are revoked', async () => {
      const z = newZone()
      const { devices, tokens } = store()
      const allow = async (codeDigest: string, clientId: string, userId: string): Promise<void> => {
        await devices.insert(z, asked({ codeDigest, userCodeDigest: codeDigest, clientId }))
        await devices.decide(z, codeDigest, { ...decision, userId }, at(1))
      }
      await allow('mine', 'tv', 'u_1')
      await allow('of another', 'tv', 'u-1')
      await allow('elsewhere', 'radio', 'u_1')
      await tokens.revokeGrantsOf(z, { clientId: 'tv', userId: 'u_1' }, at(9000))
      const outcome = async (codeDigest: string, clientId: string): Promise<string> =>
        (await devices.poll(z, { codeDigest, clientId }, at(2))).outcome
      assert.equal(await outcome('mine', 'tv'), 'unknown')
      assert.equal(await outcome('of another', 'tv'), 'approved')
      assert.equal(await outcome('elsewhere', 'radio'), 'approved')
      await allow('of anyone', 'tv', 'u-2')
      await tokens.revokeGrantsOf(z, { clientId: 'tv' }, at(9000))
      assert.equal(await outcome('of anyone', 'tv'), 'unknown')
    })

    it('has its grant revoked even if redeemed during a revocation', async () => {
      const z = newZone()
      const { devices, tokens } = store()
      const redeem = async (codeDigest: string, userId: string): Promise<void> => {
        await devices.insert(z, asked({ codeDigest, userCodeDigest: codeDigest }))
        await devices.decide(z, codeDigest, { ...decision, userId, grantId: `of ${userId}` }, at(1))
        assert.equal((await devices.poll(z, { codeDigest, clientId: 'tv' }, at(2))).outcome, 'approved')
        assert.equal((await devices.poll(z, { codeDigest, clientId: 'tv' }, at(2))).outcome, 'unknown')
      }
      await redeem('first', 'u1')
      await redeem('second', 'u2')
      await tokens.revokeGrantsOf(z, { clientId: 'tv', userId: 'u1' }, at(9000))
      assert.equal(await tokens.isRevoked(z, { grantId: 'of u1', tokenId: 'made since' }), true)
      assert.equal(await tokens.isRevoked(z, { grantId: 'of u2', tokenId: 'made since' }), false)
    })

    it('has a unique user code', async () => {
      const z = newZone()
      await store().devices.insert(z, asked())
      await assert.rejects(store().devices.insert(z, asked({ codeDigest: 'another' })), AlreadyExists)
      await store().devices.insert(newZone(), asked())
    })

    it('can be entered a limited number of times', async () => {
      const z = newZone()
      await store().devices.insert(z, asked())
      for (let count = 0; count < MAX_ENTRIES; count += 1) {
        assert.ok(await store().devices.enter(z, 'user', at(1)))
      }
      assert.equal(await store().devices.enter(z, 'user', at(1)), undefined)
    })

    it('is decided once and redeemed once', async () => {
      const z = newZone()
      await store().devices.insert(z, asked())
      const decided = await Promise.all([
        store().devices.decide(z, 'user', decision, at(1)),
        store().devices.decide(z, 'user', decision, at(1)),
      ])
      assert.equal(decided.filter(Boolean).length, 1)
      assert.equal((await store().devices.poll(z, { ...DEVICE, clientId: 'other' }, at(2))).outcome, 'unknown')
      const polls = await Promise.all([
        store().devices.poll(z, DEVICE, at(2)),
        store().devices.poll(z, DEVICE, at(2)),
        store().devices.poll(z, DEVICE, at(2)),
      ])
      const given = polls.filter(({ outcome }) => outcome === 'approved')
      assert.deepEqual(given, [{ outcome: 'approved', decision }])
      assert.ok(polls.every(({ outcome }) => outcome === 'approved' || outcome === 'unknown'))
    })

    it('keeps an unknown time of sign-in', async () => {
      const z = newZone()
      const { authenticatedAt: _, ...unknown } = decision
      await store().devices.insert(z, asked())
      await store().devices.decide(z, 'user', unknown, at(1))
      assert.deepEqual(await store().devices.poll(z, DEVICE, at(2)), { outcome: 'approved', decision: unknown })
    })

    it('can be redeemed again after an undo, unless it was revoked or denied', async () => {
      const z = newZone()
      const { devices, tokens } = store()
      const outcome = async (seconds: number) => (await devices.poll(z, DEVICE, at(seconds))).outcome
      await devices.insert(z, asked())
      await devices.decide(z, 'user', decision, at(1))
      assert.equal(await outcome(2), 'approved')
      await devices.undoPoll(z, DEVICE, at(1))
      await devices.undoPoll(z, { ...DEVICE, clientId: 'other' }, at(2))
      assert.equal(await outcome(3), 'unknown')
      await devices.undoPoll(z, DEVICE, at(2))
      assert.equal(await outcome(4), 'approved')
      await devices.undoPoll(z, DEVICE, at(2))
      assert.equal(await outcome(5), 'unknown')
      await tokens.revokeGrantsOf(z, { clientId: 'tv', userId: 'u1' }, at(9000))
      await devices.undoPoll(z, DEVICE, at(4))
      assert.equal(await outcome(6), 'unknown')

      const denied = { codeDigest: 'denied', clientId: 'tv' }
      await devices.insert(z, asked({ codeDigest: 'denied', userCodeDigest: 'denied' }))
      await devices.decide(z, 'denied', undefined, at(1))
      assert.equal((await devices.poll(z, denied, at(2))).outcome, 'denied')
      await devices.undoPoll(z, denied, at(2))
      assert.equal((await devices.poll(z, denied, at(3))).outcome, 'unknown')
    })

    it('reports denial, too frequent polling and expiry', async () => {
      const z = newZone()
      await store().devices.insert(z, asked())
      const outcome = async (seconds: number) => (await store().devices.poll(z, DEVICE, at(seconds))).outcome
      assert.equal(await outcome(1), 'pending')
      assert.equal(await outcome(5), 'early')
      assert.equal(await outcome(14), 'early')
      assert.equal(await outcome(29), 'pending')
      assert.equal(await outcome(600), 'expired')
      assert.equal(await store().devices.decide(z, 'user', decision, at(600)), false)
      assert.equal(await store().devices.decide(z, 'user', undefined, at(599)), true)
      assert.equal(await store().devices.decide(z, 'user', decision, at(599)), false)
      assert.equal(await outcome(599), 'denied')
      assert.equal(await outcome(599), 'unknown')
    })

    it('is purged some minutes after it expires', async () => {
      const z = newZone()
      await store().devices.insert(z, asked())
      await store().purge(at(660))
      assert.equal((await store().devices.poll(z, DEVICE, at(660))).outcome, 'expired')
      await store().purge(at(1000))
      assert.equal((await store().devices.poll(z, DEVICE, at(1000))).outcome, 'unknown')
    })
  })
}
