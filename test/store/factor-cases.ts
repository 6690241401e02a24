// Test cases of every database for second factors: each change brings the account's row up to date, nothing is used twice,
// and of changes at the same instant none is lost.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Passkey } from '../../src/model/users/passkey.ts'
import { at, user } from './records.ts'
import type { Lent } from './token-cases.ts'

/** The cases of second factors, inside the suite of a database. */
export function factorCases({ store, newZone }: Lent): void {
  const passkey = (given: Partial<Passkey> = {}): Passkey => ({
    id: 'k1',
    userId: 'u1',
    credentialId: 'credential-1',
    publicKey: 'cose',
    counter: 0,
    transports: ['internal', 'hybrid'],
    aaguid: '00000000-0000-0000-0000-000000000000',
    isBackedUp: false,
    isAttested: false,
    hasVerifiedUser: true,
    name: 'Phone “ünï”',
    createdAt: at(1),
    ...given,
  })
  const totp = { sealedSecret: 'sealed', lastStep: 10, createdAt: at(1) }
  async function zoneWithUser(): Promise<string> {
    const z = newZone()
    await store().users.insert(z, user({ zoneId: z, id: 'u1', userName: 'one' }))
    return z
  }
  const factorsOf = async (z: string, id = 'u1') => (await store().users.find(z, id))?.factors

  describe('Passkeys', () => {
    it('are stored unchanged, oldest first, and listed on the account', async () => {
      const z = await zoneWithUser()
      const { factors } = store()
      assert.equal(await factorsOf(z), undefined)
      const second = passkey({
        id: 'k2',
        credentialId: 'c2',
        counter: 7,
        isBackupEligible: true,
        isBackedUp: true,
        isAttested: true,
        hasVerifiedUser: true,
        createdAt: at(2),
      })
      assert.equal(await factors.addPasskey(z, second, 20), true)
      assert.equal(await factors.addPasskey(z, passkey(), 20), true)
      assert.deepEqual(await factors.passkeysOf(z, 'u1'), [passkey(), second])
      assert.deepEqual(await factors.findPasskey(z, 'c2'), second)
      assert.deepEqual(await factorsOf(z), { methods: ['passkey'], revision: 0 })
    })

    it('are rejected when repeated in a zone, beyond the limit, or for an unknown user', async () => {
      const [z, other] = [await zoneWithUser(), await zoneWithUser()]
      const { factors } = store()
      await store().users.insert(z, user({ zoneId: z, id: 'u2', userName: 'two' }))
      assert.equal(await factors.addPasskey(z, passkey(), 2), true)
      assert.equal(await factors.addPasskey(z, passkey({ id: 'k9', userId: 'u2' }), 2), false)
      assert.equal(await factorsOf(z, 'u2'), undefined)
      assert.equal(await factors.addPasskey(other, passkey(), 2), true, 'zones are independent')
      const more = [2, 3, 4].map(n => passkey({ id: `k${n}`, credentialId: `c${n}` }))
      const added = await Promise.all(more.map(each => factors.addPasskey(z, each, 2)))
      assert.deepEqual(added.filter(Boolean), [true])
      assert.equal(await factors.addPasskey(z, passkey({ userId: 'nobody', credentialId: 'x' }), 2), false)
      assert.equal(await factors.findPasskey(z, 'x'), undefined)
    })

    it('are used once per increasing counter', async () => {
      const z = await zoneWithUser()
      const { factors } = store()
      await factors.addPasskey(z, passkey({ counter: 5 }), 20)
      const seen = { isBackupEligible: true, isUserVerified: false, at: at(9) }
      const use = (counter: number) => factors.usePasskey(z, 'credential-1', { ...seen, counter, isBackedUp: true })
      assert.equal(await use(5), false)
      assert.equal(await use(4), false)
      assert.equal(await use(0), false)
      assert.deepEqual((await Promise.all([use(6), use(6)])).filter(Boolean), [true])
      assert.deepEqual(
        await factors.findPasskey(z, 'credential-1'),
        passkey({ counter: 6, isBackupEligible: true, isBackedUp: true, lastUsedAt: at(9) }),
      )
      await factors.addPasskey(z, passkey({ id: 'k2', credentialId: 'c2' }), 20)
      assert.equal(await factors.usePasskey(z, 'c2', { ...seen, counter: 0, isBackedUp: false }), true)
      assert.equal(await factors.usePasskey(newZone(), 'c2', { ...seen, counter: 1, isBackedUp: false }), false)
    })

    it('remember that they have verified the user', async () => {
      const z = await zoneWithUser()
      const { factors } = store()
      await factors.addPasskey(z, passkey({ hasVerifiedUser: false }), 20)
      const use = async (isUserVerified: boolean) => {
        const use = { counter: 0, isBackupEligible: false, isBackedUp: false, isUserVerified, at: at(9) }
        await factors.usePasskey(z, 'credential-1', use)
        return (await factors.findPasskey(z, 'credential-1'))?.hasVerifiedUser
      }
      assert.deepEqual([await use(false), await use(true), await use(false)], [false, true, true])
    })

    it('store the backup eligibility once, derived from other properties if unknown', async () => {
      const z = await zoneWithUser()
      const { factors } = store()
      const eligibility = async (credentialId: string) => (await factors.findPasskey(z, credentialId))?.isBackupEligible
      const add = (credentialId: string, given: Partial<Passkey>) =>
        factors.addPasskey(z, passkey({ ...given, id: credentialId, credentialId }), 20)
      await add('unknown', {})
      await add('backed-up', { isBackedUp: true })
      await add('attested', { isAttested: true })
      await add('known', { isBackupEligible: false })
      const all = ['unknown', 'backed-up', 'attested', 'known']
      assert.deepEqual(await Promise.all(all.map(eligibility)), [undefined, true, false, false])
      const use = { counter: 0, isBackedUp: false, isUserVerified: false, at: at(9) }
      await factors.usePasskey(z, 'unknown', { ...use, isBackupEligible: true })
      await factors.usePasskey(z, 'unknown', { ...use, isBackupEligible: false })
      assert.equal(await eligibility('unknown'), true)
    })

    it('are renamed and removed only by their user; removal ends remembered devices', async () => {
      const z = await zoneWithUser()
      const { factors } = store()
      await factors.addPasskey(z, passkey(), 20)
      assert.equal(await factors.renamePasskey(z, { userId: 'u2', id: 'k1' }, 'x'), false)
      assert.equal(await factors.removePasskey(z, { userId: 'u2', id: 'k1' }), false)
      assert.equal(await factors.removePasskey(newZone(), { userId: 'u1', id: 'k1' }), false)
      assert.equal(await factors.renamePasskey(z, { userId: 'u1', id: 'k1' }, 'Key'), true)
      assert.equal((await factors.passkeysOf(z, 'u1'))[0]?.name, 'Key')
      assert.equal(await factors.removePasskey(z, { userId: 'u1', id: 'k1' }), true)
      assert.equal(await factors.removePasskey(z, { userId: 'u1', id: 'k1' }), false)
      assert.deepEqual(await factorsOf(z), { methods: [], revision: 1 })
    })
  })

  describe('One-time passwords', () => {
    it('are used once per time step, in order, also concurrently', async () => {
      const z = await zoneWithUser()
      const { factors } = store()
      assert.equal(await factors.totpOf(z, 'u1'), undefined)
      assert.equal(await factors.setTotp(z, 'u1', totp), true)
      assert.equal(await factors.setTotp(z, 'nobody', totp), false)
      const use = (step: number) => factors.useTotp(z, 'u1', { step, at: at(2) })
      assert.equal(await use(10), false)
      assert.deepEqual((await Promise.all([use(12), use(12), use(12)])).filter(Boolean), [true])
      assert.equal(await use(11), false, 'earlier steps are used, too')
      assert.deepEqual(await factors.totpOf(z, 'u1'), { ...totp, lastStep: 12, lastUsedAt: at(2) })
      assert.deepEqual(await factorsOf(z), { methods: ['totp'], revision: 1 })
      assert.equal(await factors.removeTotp(z, 'u1'), true)
      assert.equal(await factors.removeTotp(z, 'u1'), false)
      assert.equal(await factors.useTotp(z, 'u1', { step: 99, at: at(3) }), false)
    })

    it('are added, like passkeys, only if the current factors are as expected', async () => {
      const z = await zoneWithUser()
      const { factors } = store()
      const added = await Promise.all([
        factors.addPasskey(z, passkey(), 20, []),
        factors.setTotp(z, 'u1', totp, []),
        factors.setTotp(z, 'u1', totp, []),
      ])
      assert.equal(added.filter(Boolean).length, 1)
      assert.equal((await factorsOf(z))?.methods.length, 1)
      const methods = (await factorsOf(z))?.methods ?? []
      assert.equal(await factors.setTotp(z, 'u1', totp, methods), true)
      assert.equal(await factors.addPasskey(z, passkey({ id: 'k2', credentialId: 'c2' }), 20, []), false)
    })

    it('are listed beside a passkey added concurrently', async () => {
      const z = await zoneWithUser()
      const { factors } = store()
      await Promise.all([factors.addPasskey(z, passkey(), 20), factors.setTotp(z, 'u1', totp)])
      assert.deepEqual((await factorsOf(z))?.methods, ['passkey', 'totp'])
      await factors.removePasskey(z, { userId: 'u1', id: 'k1' })
      assert.deepEqual(await factorsOf(z), { methods: ['totp'], revision: 2 })
    })
  })

  describe('Recovery and bypass codes', () => {
    const codes = (kind: 'recovery' | 'bypass', digests: readonly string[], expiresAt?: Date) => ({
      kind,
      digests,
      createdAt: at(1),
      ...(expiresAt && { expiresAt }),
    })

    it('are used once, by their user, until they expire or are replaced', async () => {
      const [z, other] = [await zoneWithUser(), await zoneWithUser()]
      const { factors } = store()
      await factors.addPasskey(z, passkey(), 20)
      assert.equal(await factors.setCodes(z, 'nobody', codes('recovery', ['a'])), false)
      assert.equal(await factors.setCodes(z, 'u1', codes('recovery', ['a', 'b', 'c'])), true)
      assert.equal(await factors.setCodes(z, 'u1', codes('bypass', ['x'], at(100))), true)
      assert.deepEqual(await factors.codesLeft(z, 'u1', at(5)), {
        recovery: 3,
        recoveryCreatedAt: at(1),
        bypassUntil: at(100),
      })
      assert.equal(await factors.useCode(z, 'u2', 'a', at(5)), undefined)
      assert.equal(await factors.useCode(other, 'u1', 'a', at(5)), undefined)
      const used = await Promise.all([1, 2, 3].map(() => factors.useCode(z, 'u1', 'a', at(5))))
      const [once, ...more] = used.filter(each => each !== undefined)
      assert.deepEqual([once, more], [{ kind: 'recovery', digest: 'a', createdAt: at(1) }, []])
      assert.ok(once)
      await factors.restoreCode(z, 'nobody', once)
      await factors.restoreCode(z, 'u1', once)
      assert.deepEqual(await factors.useCode(z, 'u1', 'a', at(5)), once)
      await factors.setCodes(z, 'u1', { ...codes('recovery', ['b', 'c']), createdAt: at(2) })
      await factors.restoreCode(z, 'u1', once)
      assert.equal(await factors.useCode(z, 'u1', 'a', at(5)), undefined, 'replaced')
      const last = await factors.useCode(z, 'u1', 'c', at(5))
      assert.ok(last)
      assert.equal(await factors.useCode(z, 'u1', 'x', at(100)), undefined, 'expired')
      await factors.setCodes(z, 'u1', codes('recovery', ['d']))
      assert.equal(await factors.useCode(z, 'u1', 'b', at(5)), undefined)
      assert.deepEqual(await factors.codesLeft(z, 'u1', at(5)), { recovery: 1, recoveryCreatedAt: at(1) })
      await factors.reset(z, 'u1')
      await factors.restoreCode(z, 'u1', last)
      assert.equal(await factors.useCode(z, 'u1', 'c', at(5)), undefined, 'reset')
    })

    it('for recovery are deleted with the last factor, those for bypass are not', async () => {
      const z = await zoneWithUser()
      const { factors } = store()
      await factors.setTotp(z, 'u1', totp)
      await factors.setCodes(z, 'u1', codes('recovery', ['a']))
      await factors.setCodes(z, 'u1', codes('bypass', ['x'], at(100)))
      await factors.removeTotp(z, 'u1')
      assert.deepEqual(await factors.codesLeft(z, 'u1', at(5)), { recovery: 0, bypassUntil: at(100) })
      assert.equal(await factors.removeCodes(z, 'u1', 'bypass'), true)
      assert.equal(await factors.removeCodes(z, 'u1', 'bypass'), false)
    })
  })

  describe('Second factors', () => {
    it('are reset together, and their revision only increases', async () => {
      const z = await zoneWithUser()
      const { factors } = store()
      await factors.addPasskey(z, passkey(), 20)
      await factors.setTotp(z, 'u1', totp)
      assert.equal(await factors.forgetDevices(z, 'u1'), true)
      assert.equal(await factors.reset(z, 'u1'), true)
      assert.deepEqual(await factorsOf(z), { methods: [], revision: 3 })
      assert.deepEqual(await factors.passkeysOf(z, 'u1'), [])
      assert.equal(await factors.totpOf(z, 'u1'), undefined)
      assert.equal(await factors.reset(z, 'nobody'), false)
    })

    it('are not removed if one is required, even concurrently', async () => {
      const z = await zoneWithUser()
      const { factors } = store()
      await factors.addPasskey(z, passkey(), 20)
      await factors.setTotp(z, 'u1', totp)
      const [first] = await factors.passkeysOf(z, 'u1')
      const of = { userId: 'u1', id: first?.id ?? '' }
      assert.equal(await factors.removeTotp(z, 'u1', ['totp']), false, 'the passkey does not count')
      const both = ['passkey', 'totp'] as const
      const removed = await Promise.all([factors.removeTotp(z, 'u1', both), factors.removePasskey(z, of, both)])
      assert.equal(removed.filter(Boolean).length, 1)
      assert.equal((await factorsOf(z))?.methods.length, 1)
      assert.equal(await factors.removePasskey(z, { userId: 'u1', id: 'unknown' }, both), false)
    })

    it('are not offered again after the user has declined', async () => {
      const z = await zoneWithUser()
      const { factors } = store()
      assert.equal(await factors.declineOffer(z, 'u1'), true)
      assert.deepEqual(await factorsOf(z), { methods: [], revision: 0, hasDeclined: true })
      await factors.setTotp(z, 'u1', totp)
      await factors.removeTotp(z, 'u1')
      assert.deepEqual(await factorsOf(z), { methods: [], revision: 2, hasDeclined: true })
      assert.equal(await factors.declineOffer(z, 'nobody'), false)
    })

    it('are deleted with the account, but kept when it is updated', async () => {
      const z = await zoneWithUser()
      const { factors, users } = store()
      const before = await users.find(z, 'u1')
      assert.ok(before)
      await factors.setTotp(z, 'u1', totp)
      await users.update(z, { ...before, email: 'new@example.org' })
      assert.deepEqual((await factorsOf(z))?.methods, ['totp'])
      await users.replace(z, (await users.find(z, 'u1')) ?? before, { ...before, email: 'newer@example.org' })
      assert.deepEqual((await factorsOf(z))?.methods, ['totp'])
      await users.delete(z, 'u1')
      assert.equal(await factors.totpOf(z, 'u1'), undefined)
    })
  })
}
