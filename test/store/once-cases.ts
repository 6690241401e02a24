// Test cases of every database for what counts once only: codes that users carry, and the ids of assertions.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PushedRequest } from '../../src/model/tokens/pushed-request.ts'
import type { OneTimeCode } from '../../src/model/tokens/token.ts'
import { AlreadyExists } from '../../src/store/store.ts'
import { at, code } from './records.ts'
import type { Lent } from './token-cases.ts'
import { winners } from './token-cases.ts'

const passcode = (given: Partial<OneTimeCode> = {}): OneTimeCode => ({
  zoneId: 'z1',
  purpose: 'passcode',
  userId: 'u1',
  codeDigest: 'p1',
  passwordRevision: 'revision',
  expiresAt: at(300),
  ...given,
})

/** The cases of what counts once, inside the suite of a database. */
export function onceCases({ store, open, newZone, elsewhere }: Lent): void {
  describe('One-time codes', () => {
    it('are redeemed once, unchanged, expired or not', async () => {
      const z = newZone()
      const kept = passcode({ zoneId: z, expiresAt: at(-100) })
      await store().oneTimeCodes.save(z, kept)
      assert.deepEqual(await store().oneTimeCodes.redeem(z, 'passcode', 'p1'), kept)
      assert.equal(await store().oneTimeCodes.redeem(z, 'passcode', 'p1'), undefined)
    })

    it('replace only the user’s earlier one', async () => {
      const z = newZone()
      await store().oneTimeCodes.save(z, passcode({ zoneId: z, codeDigest: 'earlier' }))
      await store().oneTimeCodes.save(z, passcode({ zoneId: z, codeDigest: 'other', userId: 'u2' }))
      await store().oneTimeCodes.save(z, passcode({ zoneId: z, codeDigest: 'later', expiresAt: at(600) }))
      assert.equal(await store().oneTimeCodes.redeem(z, 'passcode', 'earlier'), undefined)
      assert.equal((await store().oneTimeCodes.redeem(z, 'passcode', 'other'))?.userId, 'u2')
      const later = await store().oneTimeCodes.redeem(z, 'passcode', 'later')
      assert.deepEqual([later?.userId, later?.expiresAt], ['u1', at(600)])
    })

    it('are valid again once restored, unless the user has a newer one', async () => {
      const z = newZone()
      const { oneTimeCodes } = store()
      const code = passcode({ zoneId: z, data: 'd', passwordRevision: 'r1' })
      await oneTimeCodes.save(z, code)
      assert.deepEqual(await oneTimeCodes.redeem(z, 'passcode', 'p1'), code)
      await oneTimeCodes.restore(z, code)
      await oneTimeCodes.restore(z, code)
      assert.deepEqual(await oneTimeCodes.redeem(z, 'passcode', 'p1'), code)
      await oneTimeCodes.save(z, passcode({ zoneId: z, codeDigest: 'later' }))
      await oneTimeCodes.restore(z, code)
      assert.equal(await oneTimeCodes.redeem(z, 'passcode', 'p1'), undefined)
      assert.notEqual(await oneTimeCodes.redeem(z, 'passcode', 'later'), undefined)
    })

    it('are unique within a zone, and valid only there', async () => {
      const [mine, theirs] = [newZone(), newZone()]
      await store().oneTimeCodes.save(mine, passcode({ zoneId: mine }))
      assert.equal(await store().oneTimeCodes.redeem(theirs, 'passcode', 'p1'), undefined)
      await store().oneTimeCodes.save(theirs, passcode({ zoneId: theirs, userId: 'u2' }))
      await assert.rejects(store().oneTimeCodes.save(mine, passcode({ zoneId: mine, userId: 'u2' })), AlreadyExists)
      assert.equal((await store().oneTimeCodes.redeem(mine, 'passcode', 'p1'))?.userId, 'u1')
      assert.equal((await store().oneTimeCodes.redeem(theirs, 'passcode', 'p1'))?.userId, 'u2')
    })

    it('store data, and can be read without being redeemed', async () => {
      const z = newZone()
      const { userId: _, passwordRevision: __, ...anybody } = passcode({ zoneId: z })
      const kept: OneTimeCode = { ...anybody, purpose: 'text', data: '{"a":"\u00e9"}' }
      await store().oneTimeCodes.save(z, kept)
      assert.deepEqual(await store().oneTimeCodes.find(z, 'text', 'p1'), kept)
      assert.equal(await store().oneTimeCodes.find(z, 'passcode', 'p1'), undefined)
      assert.equal(await store().oneTimeCodes.redeem(z, 'passcode', 'p1'), undefined)
      assert.deepEqual(await store().oneTimeCodes.redeem(z, 'text', 'p1'), kept)
      assert.equal(await store().oneTimeCodes.find(z, 'text', 'p1'), undefined)
    })

    it('may be several for some purposes, until they are deleted', async () => {
      const z = newZone()
      for (const codeDigest of ['s1', 's2']) {
        await store().oneTimeCodes.save(z, passcode({ zoneId: z, purpose: 'sign-up', codeDigest }))
      }
      await store().oneTimeCodes.save(z, passcode({ zoneId: z, purpose: 'sign-up', codeDigest: 's3', userId: 'u2' }))
      await store().oneTimeCodes.save(z, passcode({ zoneId: z, codeDigest: 'p1' }))
      const left = async (): Promise<readonly boolean[]> =>
        Promise.all(
          ['s1', 's2', 's3'].map(async each => (await store().oneTimeCodes.find(z, 'sign-up', each)) !== undefined),
        )
      assert.deepEqual(await left(), [true, true, true])
      await store().oneTimeCodes.forget(z, 'sign-up', 'u1')
      assert.deepEqual(await left(), [false, false, true])
      assert.notEqual(await store().oneTimeCodes.redeem(z, 'passcode', 'p1'), undefined)
    })

    for (const text of ['', 'unknown', '\0', '\ud800']) {
      it(`are not found: ${JSON.stringify(text)}`, async () => {
        assert.equal(await store().oneTimeCodes.find('z1', 'passcode', text), undefined)
        assert.equal(await store().oneTimeCodes.redeem('z1', 'passcode', text), undefined)
      })
    }

    it('are redeemed by one of concurrent requests', async () => {
      const z = newZone()
      await store().oneTimeCodes.save(z, passcode({ zoneId: z }))
      const other = await open()
      const both = Array.from({ length: 20 }, (_, number) => (number % 2 === 0 ? store() : other))
      const [own, others] = await Promise.all([
        Promise.all(both.map(async one => (await one.oneTimeCodes.redeem(z, 'passcode', 'p1')) !== undefined)),
        elsewhere('redeem-passcode', z),
      ])
      await other.close()
      assert.equal(winners([...own, ...[others].flat()]), 1)
    })

    it('leave one when created concurrently for a user', async () => {
      const z = newZone()
      const digests = Array.from({ length: 10 }, (_, number) => `p${number}`)
      await Promise.all(digests.map(codeDigest => store().oneTimeCodes.save(z, passcode({ zoneId: z, codeDigest }))))
      const found = await Promise.all(digests.map(each => store().oneTimeCodes.redeem(z, 'passcode', each)))
      assert.equal(found.filter(each => each !== undefined).length, 1)
    })

    it('are purged once expired', async () => {
      const z = newZone()
      await store().oneTimeCodes.save(z, passcode({ zoneId: z, expiresAt: at(-50) }))
      await store().oneTimeCodes.save(z, passcode({ zoneId: z, userId: 'u2', codeDigest: 'p2', expiresAt: at(-49) }))
      await store().purge(at(-49))
      assert.equal(await store().oneTimeCodes.redeem(z, 'passcode', 'p1'), undefined)
      assert.notEqual(await store().oneTimeCodes.redeem(z, 'passcode', 'p2'), undefined)
    })
  })

  describe('Assertions', () => {
    it('are used once per zone', async () => {
      const [mine, theirs] = [newZone(), newZone()]
      assert.equal(await store().assertions.isUsed(mine, 'a'), false)
      assert.equal(await store().assertions.use(mine, 'a', at(100)), true)
      assert.deepEqual(
        [await store().assertions.isUsed(mine, 'a'), await store().assertions.isUsed(theirs, 'a')],
        [true, false],
      )
      assert.equal(await store().assertions.use(mine, 'a', at(500)), false)
      assert.equal(await store().assertions.use(mine, 'b', at(100)), true)
      assert.equal(await store().assertions.use(theirs, 'a', at(100)), true)
    })

    it('can be used again once released, within their zone', async () => {
      const [mine, theirs] = [newZone(), newZone()]
      const { assertions } = store()
      for (const z of [mine, theirs]) await assertions.use(z, 'a1', at(60))
      await assertions.release(mine, 'a1')
      await assertions.release(mine, 'unknown')
      assert.deepEqual(
        [await assertions.use(mine, 'a1', at(60)), await assertions.use(theirs, 'a1', at(60))],
        [true, false],
      )
    })

    it('keep the latest expiry', async () => {
      const [mine, theirs] = [newZone(), newZone()]
      assert.equal(await store().assertions.expiryOf(mine, 'a'), undefined)
      for (const [seconds, latest] of [
        [100, 100],
        [50, 100],
        [200, 200],
      ] as const) {
        await store().assertions.keep(mine, 'a', at(seconds))
        assert.deepEqual(await store().assertions.expiryOf(mine, 'a'), at(latest))
      }
      assert.equal(await store().assertions.expiryOf(theirs, 'a'), undefined)
      assert.equal(await store().assertions.use(mine, 'a', at(300)), false)
    })

    it('are used by one of concurrent requests', async () => {
      const z = newZone()
      const other = await open()
      const both = Array.from({ length: 20 }, (_, number) => (number % 2 === 0 ? store() : other))
      const [own, others] = await Promise.all([
        Promise.all(both.map(one => one.assertions.use(z, 'a', at(100)))),
        elsewhere('use-assertion', z),
      ])
      await other.close()
      assert.equal(winners([...own, ...[others].flat()]), 1)
    })

    it('are purged a day after they expire', async () => {
      const z = newZone()
      await store().assertions.use(z, 'a', at(-50))
      await store().purge(at(86_400 - 50))
      assert.equal(await store().assertions.use(z, 'a', at(-50)), false)
      await store().purge(at(86_400 - 49))
      assert.equal(await store().assertions.use(z, 'a', at(-50)), true)
    })
  })

  describe('Sender proofs', () => {
    it('are used by one of concurrent requests in a zone', async () => {
      const [z, y] = [newZone(), newZone()]
      const other = await open()
      const both = Array.from({ length: 20 }, (_, number) => (number % 2 === 0 ? store() : other))
      const own = await Promise.all(both.map(one => one.proofs.use(z, 'a', at(100))))
      await other.close()
      assert.equal(winners(own), 1)
      assert.equal(await store().proofs.use(y, 'a', at(100)), true)
      assert.equal(await store().assertions.use(z, 'a', at(100)), true)
    })

    it('with a code are used together, by one of concurrent requests', async () => {
      const z = newZone()
      const digests = Array.from({ length: 10 }, (_, number) => `code-${number}`)
      for (const codeDigest of digests) await store().codes.insert(z, code({ zoneId: z, codeDigest }))
      const other = await open()
      const proof = { idDigest: 'beside', expiresAt: at(100) }
      const outcomes = await Promise.all(
        digests.map(async (codeDigest, number) => {
          const { codes } = number % 2 === 0 ? store() : other
          return (await codes.redeem(z, codeDigest, at(1), proof)).outcome
        }),
      )
      await other.close()
      assert.deepEqual(outcomes.toSorted(), ['redeemed', ...Array<string>(9).fill('replayed')])
      assert.equal(await store().proofs.use(z, 'beside', at(100)), false)
      const untouched = digests.find((_, number) => outcomes[number] === 'replayed') ?? ''
      assert.equal((await store().codes.redeem(z, untouched, at(1))).outcome, 'redeemed', 'the code is as it was')
    })

    it('with an unknown or used code are used as well', async () => {
      const z = newZone()
      const proof = (idDigest: string) => ({ idDigest, expiresAt: at(100) })
      await store().codes.insert(z, code({ zoneId: z, codeDigest: 'once' }))
      assert.equal((await store().codes.redeem(z, 'once', at(1), proof('a'))).outcome, 'redeemed')
      assert.equal((await store().codes.redeem(z, 'once', at(1), proof('b'))).outcome, 'used')
      assert.equal((await store().codes.redeem(z, 'none', at(1), proof('c'))).outcome, 'unknown')
      for (const id of ['a', 'b', 'c']) assert.equal(await store().proofs.use(z, id, at(100)), false, id)
    })

    it('are purged minutes after they expire', async () => {
      const z = newZone()
      await store().proofs.use(z, 'a', at(-50))
      await store().purge(at(250))
      assert.equal(await store().proofs.use(z, 'a', at(-50)), false)
      await store().purge(at(251))
      assert.equal(await store().proofs.use(z, 'a', at(-50)), true)
    })
  })

  describe('Pushed authorization requests', () => {
    const pushed = (given: Partial<PushedRequest> = {}): PushedRequest => ({
      zoneId: 'z1',
      idDigest: 'r1',
      clientId: 'app',
      parameters: 'client_id=app&state=%C3%A9',
      isSigned: true,
      expiresAt: at(90),
      keptUntil: at(3690),
      ...given,
    })

    it('are read unchanged and used once, within their zone', async () => {
      const [mine, theirs] = [newZone(), newZone()]
      const [signed, plain] = [pushed({ zoneId: mine }), pushed({ zoneId: mine, idDigest: 'r2', isSigned: false })]
      await store().pushedRequests.insert(mine, signed)
      await store().pushedRequests.insert(mine, plain)
      assert.deepEqual(await store().pushedRequests.find(mine, 'r1'), signed)
      assert.deepEqual(await store().pushedRequests.find(mine, 'r2'), plain)
      assert.equal(await store().pushedRequests.find(theirs, 'r1'), undefined)
      assert.equal(await store().pushedRequests.take(theirs, 'r1'), false)
      const taken = await Promise.all(Array.from({ length: 8 }, () => store().pushedRequests.take(mine, 'r1')))
      assert.equal(winners(taken), 1)
      assert.equal(await store().pushedRequests.find(mine, 'r1'), undefined)
      assert.deepEqual(await store().pushedRequests.find(mine, 'r2'), plain)
    })

    it('are limited per client', async () => {
      const z = newZone()
      for (const idDigest of ['r1', 'r2', 'r3']) await store().pushedRequests.insert(z, pushed({ zoneId: z, idDigest }))
      await store().pushedRequests.insert(z, pushed({ zoneId: z, idDigest: 'other', clientId: 'other' }))
      assert.equal(await store().pushedRequests.count(z, 'app', 100), 3)
      assert.equal(await store().pushedRequests.count(z, 'app', 2), 2)
      assert.equal(await store().pushedRequests.count(z, 'nobody', 2), 0)
    })

    it('are purged when no browser can return with them', async () => {
      const z = newZone()
      await store().pushedRequests.insert(z, pushed({ zoneId: z, expiresAt: at(-3650), keptUntil: at(-50) }))
      await store().pushedRequests.insert(z, pushed({ zoneId: z, idDigest: 'r2', keptUntil: at(-49) }))
      await store().purge(at(-49))
      assert.equal(await store().pushedRequests.find(z, 'r1'), undefined)
      assert.notEqual(await store().pushedRequests.find(z, 'r2'), undefined)
    })
  })

  describe('A server key', () => {
    it('is the same for concurrent and later requests', async () => {
      const name = newZone()
      const other = await open()
      try {
        assert.equal(await store().serverKeys.find(name), undefined)
        const made = ['one', 'two', 'three', 'four'].map((sealedPrivateKey, index) =>
          (index % 2 === 0 ? store() : other).serverKeys.saveFirst({
            name,
            sealedPrivateKey,
            certificate: `certificate of ${sealedPrivateKey}`,
            createdAt: at(index),
          }),
        )
        const [first, ...others] = await Promise.all(made)
        for (const each of others) assert.deepEqual(each, first)
        assert.equal(first?.certificate, `certificate of ${first?.sealedPrivateKey}`)
        assert.deepEqual(await other.serverKeys.find(name), first)
        assert.deepEqual(await store().serverKeys.saveFirst({ ...first, sealedPrivateKey: 'late' }), first)
      } finally {
        await other.close()
      }
    })
  })
}
