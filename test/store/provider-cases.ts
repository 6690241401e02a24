// Test cases of every database for identity providers that are managed.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { IdentityProvider } from '../../src/model/zones/identity-provider.ts'
import type { StoredProvider } from '../../src/store/store.ts'
import { approval, at, code, group, provider, signedIn, token, user } from './records.ts'
import type { Lent } from './token-cases.ts'

/** The cases of providers, inside the suite of a database. */
export function providerCases({ store, open, newZone }: Lent): void {
  const oidc = (zoneId: string, originKey: string, more: Partial<IdentityProvider> = {}): IdentityProvider =>
    provider({ zoneId, id: `id-${originKey}`, originKey, type: 'oidc1.0', ...more })
  async function inserted(made: IdentityProvider): Promise<StoredProvider> {
    await store().providers.apply(made.zoneId, { kind: 'insert', provider: made })
    const found = await store().providers.findForChange(made.zoneId, made.id)
    assert.ok(found)
    return found
  }
  const origins = async (zoneId: string) =>
    (await store().providers.list(zoneId)).map(({ provider: each }) => each.originKey)

  describe('Managed identity providers', () => {
    it('delete their users’ sessions while disabled, and again when enabled', async () => {
      const z = newZone()
      const { providers, sessions } = store()
      const found = await inserted(oidc(z, 'off'))
      const add = async (idDigest: string, origin: string): Promise<void> => {
        const made = signedIn({ zoneId: z, idDigest })
        await sessions.insert(z, { ...made, signIn: { ...made.signIn, origin } })
      }
      await Promise.all([add('kept', 'on'), ...Array.from({ length: 450 }, (_, number) => add(`s${number}`, 'off'))])
      const set = (active: boolean, revision: number): Promise<void> =>
        providers.apply(z, { kind: 'update', provider: { ...found.provider, active }, revision })
      await set(false, 0)
      for (const number of [0, 199, 200, 400, 449]) assert.equal(await sessions.find(z, `s${number}`), undefined)
      await add('left', 'off')
      await set(true, 1)
      assert.equal(await sessions.find(z, 'left'), undefined)
      assert.notEqual(await sessions.find(z, 'kept'), undefined)
      await add('new', 'off')
      await set(true, 2)
      assert.notEqual(await sessions.find(z, 'new'), undefined, 'it was not disabled')
    })

    it('are read unchanged', async () => {
      const z = newZone()
      const bare = oidc(z, 'bare')
      const full = oidc(z, 'full', { externalKey: 'https://x', aliasId: 'there', aliasZoneId: 'elsewhere', version: 4 })
      for (const made of [bare, full]) assert.deepEqual(await inserted(made), { provider: made, revision: 0 })
      assert.deepEqual(await store().providers.findByOrigin(z, 'full'), full)
      const all = await store().providers.list(z)
      assert.deepEqual(
        all.map(each => each.provider),
        [bare, full],
      )
      assert.deepEqual(await store().providers.findStored(z, bare.originKey), bare)
      for (const origin of ['nothing', bare.id, 'x\0', bare.originKey.toUpperCase()]) {
        assert.equal(await store().providers.findStored(z, origin), undefined)
      }
      assert.equal(await store().providers.findStored(newZone(), bare.originKey), undefined)
      assert.equal(await store().providers.findForChange(z, 'nothing'), undefined)
      assert.equal(await store().providers.findForChange(newZone(), bare.id), undefined)
      assert.equal(await store().providers.findForChange(z, 'x\0'), undefined)
    })

    it('are read with any config', async () => {
      const z = newZone()
      const config = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4, noNullPrototype: true })
      let count = 0
      await fc.assert(
        fc.asyncProperty(config, async each => {
          const made = oidc(z, `o${(count += 1)}`, { config: JSON.parse(JSON.stringify(each)) })
          assert.deepEqual((await inserted(made)).provider, made)
        }),
        { numRuns: 20 },
      )
    })

    it('are limited in total size per zone, but can still be made smaller', async () => {
      const z = newZone()
      const config = { relyingPartyId: 'x'.repeat(1024 * 1024) }
      for (let index = 0; index < 15; index += 1) await inserted(oidc(z, `o${index}`, { config }))
      const last = await inserted(oidc(z, 'last'))
      await inserted(oidc(newZone(), 'other', { config }))
      const apply = (made: object) =>
        store().providers.apply(z, { kind: 'update', provider: { ...last.provider, ...made }, revision: 0 })
      const insert = store().providers.apply(z, { kind: 'insert', provider: oidc(z, 'more', { config }) })
      await assert.rejects(insert, { name: 'TooLarge' })
      await assert.rejects(apply({ config }), { name: 'TooLarge' })
      assert.ok(!(await origins(z)).includes('more'))
      await apply({ config: {} })
    })

    it('are limited in number, even without settings', async () => {
      const z = newZone()
      const insert = (originKey: string, config: object = {}) =>
        store().providers.apply(z, { kind: 'insert', provider: { ...oidc(z, originKey), config: { ...config } } })
      const half = 'x'.repeat(8 * 1024 * 1024 - 16 * 1024)
      for (const first of ['first', 'second']) await insert(first, { relyingPartyId: half })
      const more = Array.from({ length: 12 }, (_, index) => `more${index}`)
      const insertAll = async () => {
        for (const originKey of more) await insert(originKey)
      }
      await assert.rejects(insertAll, { name: 'TooLarge' })
      assert.equal((await origins(z)).length, 7) // each counts 4 KiB in addition
    })

    it('are limited by memory size, not number of characters', async () => {
      const z = newZone()
      const config = { attributeMappings: { given_name: Array.from({ length: 500_000 }, () => '1') } }
      const insert = (originKey: string) =>
        store().providers.apply(z, { kind: 'insert', provider: oidc(z, originKey, { config }) })
      await insert('first')
      await assert.rejects(insert('second'), { name: 'TooLarge' })
    })

    it('have a unique origin per zone and a unique external key per type', async () => {
      const z = newZone()
      await inserted(oidc(z, 'one', { externalKey: 'https://x' }))
      const exists = { name: 'AlreadyExists' }
      const insert = (made: IdentityProvider) =>
        store().providers.apply(made.zoneId, { kind: 'insert', provider: made })
      await assert.rejects(insert(oidc(z, 'one', { id: 'another' })), exists)
      await assert.rejects(insert(oidc(z, 'two', { externalKey: 'https://x' })), exists)
      await insert(oidc(z, 'two', { externalKey: 'https://x', type: 'saml' }))
      const other = await inserted(oidc(z, 'three', { externalKey: 'https://X' }))
      const change = { kind: 'update', ...other, provider: { ...other.provider, externalKey: 'https://x' } } as const
      await assert.rejects(store().providers.apply(z, change), exists)
      await insert(oidc(newZone(), 'one', { externalKey: 'https://x' }))
      assert.deepEqual(await origins(z), ['one', 'three', 'two'])
    })

    it('reject an outdated revision', async () => {
      const z = newZone()
      const first = await inserted(oidc(z, 'one'))
      const named = (name: string) => ({ kind: 'update', ...first, provider: { ...first.provider, name } }) as const
      await store().providers.apply(z, named('changed'))
      const meanwhile = { name: 'ChangedMeanwhile' }
      await assert.rejects(store().providers.apply(z, named('late')), meanwhile)
      await assert.rejects(store().providers.apply(z, { kind: 'delete', ...first }), meanwhile)
      const second = await store().providers.findForChange(z, 'id-one')
      assert.deepEqual([second?.provider.name, second?.revision], ['changed', 1])
      // Writes without a revision increment it too.
      await store().providers.update(z, first.provider)
      assert.equal((await store().providers.findForChange(z, 'id-one'))?.revision, 2)
      assert.ok(second)
      await assert.rejects(store().providers.apply(z, { kind: 'delete', ...second }), meanwhile)
    })

    it('are changed by one of concurrent requests', async () => {
      const z = newZone()
      const first = await inserted(oidc(z, 'one'))
      const other = await open()
      try {
        const outcomes = await Promise.allSettled(
          [store(), other, store(), other].map((each, place) => {
            const change = { ...first, provider: { ...first.provider, name: `n${place}` } }
            return each.providers.apply(z, place === 3 ? { kind: 'delete', ...first } : { kind: 'update', ...change })
          }),
        )
        assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
      } finally {
        await other.close()
      }
    })

    it('are written with their alias or not at all', async () => {
      const [z, y] = [newZone(), newZone()]
      await inserted(oidc(y, 'taken'))
      const made = { kind: 'insert', provider: oidc(z, 'taken') } as const
      await assert.rejects(
        store().providers.apply(z, made, { kind: 'insert', provider: oidc(y, 'taken', { id: 'copy' }) }),
        { name: 'AlreadyExists' },
      )
      assert.deepEqual(await origins(z), [])
      await store().providers.apply(
        z,
        { kind: 'insert', provider: oidc(z, 'pair') },
        { kind: 'insert', provider: oidc(y, 'pair') },
      )
      assert.deepEqual([await origins(z), await origins(y)], [['pair'], ['pair', 'taken']])
      assert.ok(await store().providers.findByOrigin(y, 'pair'))
    })

    it('are deleted with their accounts and everything of those', async () => {
      const z = newZone()
      const gone = await inserted(oidc(z, 'gone'))
      await inserted(oidc(z, 'left'))
      const s = store()
      await s.groups.insert(z, group({ zoneId: z }))
      for (const [place, origin] of ['gone', 'gone', 'left'].entries()) {
        const userId = `u${place}`
        const idDigest = `d${place}`
        await s.users.insert(z, user({ zoneId: z, id: userId, userName: userId, origin }))
        await s.groups.addMember(z, { groupId: 'g1', memberId: userId, memberType: 'USER', origin })
        await s.approvals.save(z, [approval({ zoneId: z, userId })])
        await s.tokens.insert(z, token({ zoneId: z, idDigest, userId }))
        await s.codes.insert(z, code({ zoneId: z, codeDigest: idDigest, userId }))
        const session = signedIn({ zoneId: z, idDigest })
        await s.sessions.replace(z, undefined, { ...session, signIn: { ...session.signIn, userId, origin } })
        await s.events.recordFailure(z, userId, at(1))
        const once = { zoneId: z, purpose: 'passcode', userId, codeDigest: idDigest, expiresAt: at(60) } as const
        await s.oneTimeCodes.save(z, once)
        await s.groups.addExternal(z, { groupId: 'g1', origin, externalGroup: 'x' })
      }
      // A group member with the id of a user is not that user.
      await s.groups.addMember(z, { groupId: 'g1', memberId: 'u0', memberType: 'GROUP', origin: 'svc' })
      await s.providers.apply(z, { kind: 'delete', ...gone })
      const there = async (place: number) => [
        (await s.users.find(z, `u${place}`)) !== undefined,
        (await s.groups.namesOfUser(z, `u${place}`)).length > 0,
        (await s.approvals.listOfUser(z, `u${place}`, at(0))).length > 0,
        (await s.tokens.find(z, `d${place}`)) !== undefined,
        (await s.codes.redeem(z, `d${place}`, at(0))).outcome === 'redeemed',
        (await s.sessions.find(z, `d${place}`)) !== undefined,
        (await s.events.failures(z, `u${place}`, at(0))).length > 0,
        (await s.oneTimeCodes.redeem(z, 'passcode', `d${place}`)) !== undefined,
      ]
      assert.deepEqual(await there(0), Array(8).fill(false))
      assert.deepEqual(await there(1), Array(8).fill(false))
      assert.deepEqual(await there(2), Array(8).fill(true))
      assert.deepEqual(await origins(z), ['left'])
      assert.equal(await s.providers.findByOrigin(z, 'gone'), undefined)
    })

    it('disappear from the cache when deleted', async () => {
      const z = newZone()
      const gone = await inserted(oidc(z, 'gone'))
      assert.ok(await store().providers.findByOrigin(z, 'gone'))
      await store().providers.apply(z, { kind: 'delete', ...gone })
      assert.equal(await store().providers.findByOrigin(z, 'gone'), undefined)
      await assert.rejects(store().providers.apply(z, { kind: 'delete', ...gone }), { name: 'ChangedMeanwhile' })
    })
  })
}
