// Changes of users through the APIs, on both databases.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AlreadyExists } from '../../src/store/store.ts'
import { approval, at, code, fullUser, group, session, signedIn, token, user } from './records.ts'
import type { Lent } from './token-cases.ts'

/** The cases of users being made, changed and deleted, inside the suite of a database. */
export function userChangeCases({ store, newZone }: Lent): void {
  describe('A user of an API', () => {
    it('is created with approvals atomically', async () => {
      const z = newZone()
      const { users, approvals } = store()
      const theirs = approval({ zoneId: z, userId: 'u1' })
      assert.equal(await users.create(z, user({ zoneId: z }), { approvals: [theirs] }), true)
      assert.deepEqual(await approvals.listOfUser(z, 'u1', at(0)), [theirs])
      const namesake = user({ zoneId: z, id: 'u2', userName: 'MARISSA' })
      const hers = { ...theirs, userId: 'u2' }
      await assert.rejects(users.create(z, namesake, { approvals: [hers] }), AlreadyExists)
      assert.deepEqual(await approvals.listOfUser(z, 'u2', at(0)), [])
    })

    it('is created once under names that differ in case or Unicode form, also concurrently', async () => {
      const z = newZone()
      const names = ['Zoë', 'ZOË', 'zoe\u0308', 'ＺＯＥ\u0308']
      const results = await Promise.allSettled(
        names.map((userName, place) => store().users.create(z, user({ zoneId: z, id: `u${place}`, userName }))),
      )
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
      for (const result of results) {
        if (result.status === 'rejected') assert.ok(result.reason instanceof AlreadyExists, String(result.reason))
      }
      assert.equal(await store().users.count(z), 1)
    })

    it('is inserted with others atomically, also concurrently', async () => {
      const z = newZone()
      const { users } = store()
      const named = (...names: readonly string[]) => names.map(id => user({ zoneId: z, id, userName: id }))
      const portions = [named('a', 'b'), named('c', 'd', 'e'), named('f'), []]
      await Promise.all(portions.map(portion => users.insertAll(z, portion)))
      assert.equal(await users.count(z), 6)
      assert.deepEqual(await users.find(z, 'e'), user({ zoneId: z, id: 'e', userName: 'e' }))
      await assert.rejects(users.insertAll(z, named('g', 'A')), AlreadyExists)
      assert.equal(await users.find(z, 'g'), undefined)
      assert.equal(await users.count(z), 6)
    })

    it('is not created beyond the limit of the zone, also concurrently', async () => {
      const z = newZone()
      const made = await Promise.all(
        ['a', 'b', 'c', 'd'].map(id => store().users.create(z, user({ zoneId: z, id, userName: id }), { maxUsers: 2 })),
      )
      assert.equal(made.filter(Boolean).length, 2)
      assert.equal(await store().users.count(z), 2)
      assert.equal(await store().users.create(z, user({ zoneId: z, id: 'e', userName: 'e' })), true)
      assert.equal(await store().users.create(newZone(), user(), { maxUsers: 1 }), true)
    })

    it('is replaced if the version matches, which increments it', async () => {
      const z = newZone()
      const { users } = store()
      const before = user({ ...fullUser, zoneId: z })
      await users.insert(z, before)
      const { givenName: _, profile: _profile, ...rest } = before
      const after = {
        ...rest,
        userName: 'New',
        email: 'n@x.example',
        familyName: 'N',
        phoneNumber: '7',
        externalId: 'e',
        active: true,
        verified: false,
        salt: 's',
        updatedAt: at(9),
      }
      const written = await users.replace(z, before, after)
      assert.deepEqual(written, { ...after, version: 5 })
      assert.deepEqual(await users.find(z, 'u1'), written)
      assert.equal((await users.findByName(z, 'svc', 'NEW'))?.id, 'u1')
      assert.equal(await users.replace(z, before, after), undefined)
      assert.equal(await users.replace(newZone(), before, after), undefined)
    })

    it('gets a new password with the change, which ends all access and clears failures', async () => {
      const z = newZone()
      const { users, events, sessions } = store()
      const before = user({ zoneId: z, passwordHash: 'h', passwordRevision: 'r1' })
      await users.insert(z, before)
      await events.recordFailure(z, 'u1', at(1))
      await sessions.replace(z, undefined, signedIn({ zoneId: z, idDigest: 'd' }))
      const after = { ...before, passwordHash: 'new', passwordRevision: 'r2', passwordChangedAt: at(5) }
      const written = await users.replace(z, before, after)
      assert.deepEqual([written?.passwordHash, written?.passwordChangedAt], ['new', at(5)])
      assert.deepEqual(await events.failures(z, 'u1', at(0)), [])
      assert.equal(await sessions.find(z, 'd'), undefined)
      assert.equal(await users.replace(z, { ...before, version: 1 }, after), undefined)
    })

    it('keeps concurrent changes that do not increment the version', async () => {
      const z = newZone()
      const { users } = store()
      const before = user({ zoneId: z, passwordHash: 'h' })
      await users.insert(z, before)
      await users.setSalt(z, 'u1', 'revoked')
      await users.verify(z, 'u1')
      await users.requirePasswordChange(z, 'u1')
      await users.recordLogon(z, 'u1', at(5))
      const written = await users.replace(z, before, { ...before, givenName: 'G' })
      assert.deepEqual(written, {
        ...before,
        givenName: 'G',
        salt: 'revoked',
        verified: true,
        passwordChangeRequired: true,
        lastLogonAt: at(5),
        version: 1,
      })
      const change = { passwordHash: 'h2', passwordRevision: 'p2', passwordChangedAt: at(6), meetsDemand: true }
      await users.setPassword(z, 'u1', 'p1', change)
      assert.equal(await users.replace(z, written, { ...written, active: false }), undefined, 'a new password')
    })

    it('loses every credential when the password revision changes', async () => {
      const z = newZone()
      const { users, sessions, tokens, codes } = store()
      const before = user({ zoneId: z })
      await users.insert(z, before)
      const theirs = signedIn({ zoneId: z })
      await sessions.insert(z, { ...theirs, signIn: { ...theirs.signIn, userId: 'u1' } })
      await tokens.insert(z, token({ zoneId: z, userId: 'u1' }))
      await codes.insert(z, code({ zoneId: z, userId: 'u1' }))
      const renamed = await users.replace(z, before, { ...before, givenName: 'G' })
      assert.ok(renamed)
      assert.ok(await sessions.find(z, theirs.idDigest))
      await users.replace(z, renamed, { ...renamed, active: false, passwordRevision: 'p2' })
      assert.equal(await sessions.find(z, theirs.idDigest), undefined)
      assert.equal(await tokens.find(z, token().idDigest), undefined)
      assert.equal((await codes.redeem(z, code().codeDigest, at(1))).outcome, 'unknown')
      assert.equal((await users.find(z, 'u1'))?.passwordRevision, 'p2')
    })

    it('loses all access at once while the password stays', async () => {
      const z = newZone()
      const { users, sessions, tokens, codes, oneTimeCodes } = store()
      for (const id of ['u1', 'u2']) {
        const theirs = signedIn({ zoneId: z })
        await users.insert(z, user({ zoneId: z, id, userName: id, passwordHash: 'h', passwordRevision: 'p1' }))
        await sessions.insert(z, { ...theirs, idDigest: `s${id}`, signIn: { ...theirs.signIn, userId: id } })
        await tokens.insert(z, token({ zoneId: z, userId: id, idDigest: `t${id}` }))
        await codes.insert(z, code({ zoneId: z, userId: id, codeDigest: `c${id}` }))
        await oneTimeCodes.save(z, {
          zoneId: z,
          purpose: 'passcode',
          userId: id,
          codeDigest: `p${id}`,
          expiresAt: at(9),
        })
      }
      const left = async (id: string) =>
        [
          (await sessions.find(z, `s${id}`)) && 'session',
          (await tokens.find(z, `t${id}`)) && 'token',
          (await codes.redeem(z, `c${id}`, at(1))).outcome === 'redeemed' && 'code',
          (await oneTimeCodes.redeem(z, 'passcode', `p${id}`)) && 'passcode',
        ].filter(Boolean)
      assert.equal(await users.endAccess(z, 'u1', 'p2'), true)
      assert.equal(await users.endAccess(z, 'nobody', 'p2'), false)
      assert.equal(await users.endAccess(newZone(), 'u2', 'p2'), false)
      assert.deepEqual(await left('u1'), [])
      assert.deepEqual(await left('u2'), ['session', 'token', 'code', 'passcode'])
      const states = await Promise.all(['u1', 'u2'].map(id => users.find(z, id)))
      assert.deepEqual(
        states.map(each => [each?.passwordHash, each?.passwordRevision]),
        [
          ['h', 'p2'],
          ['h', 'p1'],
        ],
      )
    })

    it('cannot get the name or external id of another', async () => {
      const z = newZone()
      const { users } = store()
      const [a, b] = ['a', 'b'].map(id => user({ zoneId: z, id, userName: id, externalId: id }))
      assert.ok(a && b)
      for (const each of [a, b]) await users.insert(z, each)
      await assert.rejects(users.replace(z, a, { ...a, userName: 'B' }), AlreadyExists)
      await assert.rejects(users.replace(z, a, { ...a, externalId: 'b' }), AlreadyExists)
      assert.deepEqual(await users.find(z, 'a'), a)
    })

    it('keeps nothing that concurrent requests write after the deletion', async () => {
      const z = newZone()
      const { users, tokens, sessions, codes, approvals } = store()
      await users.create(z, user({ zoneId: z, id: 'late' }))
      const expiresAt = at(9000)
      await users.delete(z, 'late')
      await tokens.insert(z, token({ zoneId: z, userId: 'late', idDigest: 'late', expiresAt }))
      const late = signedIn({ zoneId: z, idDigest: 'late', expiresAt })
      await sessions.insert(z, { ...late, signIn: { ...late.signIn, userId: 'late' } })
      await codes.insert(z, code({ zoneId: z, userId: 'late', codeDigest: 'late', expiresAt }))
      await approvals.save(z, [approval({ zoneId: z, userId: 'late', expiresAt })])
      await store().purge(at(0))
      await store().purge(at(300))
      assert.notEqual(await tokens.find(z, 'late'), undefined, 'of a request that may still run')
      await store().purge(at(301))
      assert.equal(await tokens.find(z, 'late'), undefined)
      assert.equal(await sessions.find(z, 'late'), undefined)
      assert.equal((await codes.redeem(z, 'late', at(302))).outcome, 'unknown')
      assert.deepEqual(await approvals.listOfUser(z, 'late', at(302)), [])
    })

    it('is deleted with all related records if the version matches', async () => {
      const z = newZone()
      const { users, sessions, tokens, codes, approvals, groups, events } = store()
      await groups.insert(z, group({ zoneId: z }))
      for (const id of ['u1', 'u2']) {
        await users.insert(z, user({ zoneId: z, id, userName: id, version: 3 }))
        const theirs = signedIn({ zoneId: z, idDigest: `s-${id}` })
        await sessions.insert(z, { ...theirs, signIn: { ...theirs.signIn, userId: id } })
        await tokens.insert(z, token({ zoneId: z, userId: id, idDigest: `t-${id}` }))
        await codes.insert(z, code({ zoneId: z, userId: id, codeDigest: `c-${id}` }))
        await approvals.save(z, [approval({ zoneId: z, userId: id })])
        await groups.addMember(z, { groupId: 'g1', memberId: id, memberType: 'USER', origin: 'svc' })
        await events.recordFailure(z, id, at(1))
      }
      await sessions.insert(z, session({ zoneId: z, idDigest: 'nobody' }))
      assert.equal(await users.delete(z, 'u1', 2), false)
      assert.equal(await users.delete(newZone(), 'u1'), false)
      assert.equal(await users.delete(z, 'u1', 3), true)
      assert.equal(await users.delete(z, 'u1'), false)
      for (const [id, isThere] of [
        ['u1', false],
        ['u2', true],
      ] as const) {
        assert.equal((await users.find(z, id)) !== undefined, isThere)
        assert.equal((await sessions.find(z, `s-${id}`)) !== undefined, isThere)
        assert.equal((await tokens.find(z, `t-${id}`)) !== undefined, isThere)
        assert.equal((await codes.redeem(z, `c-${id}`, at(1))).outcome !== 'unknown', isThere)
        assert.equal((await approvals.listOfUser(z, id, at(0))).length > 0, isThere)
        assert.equal((await groups.namesOfUser(z, id)).length > 0, isThere)
        assert.equal((await events.failures(z, id, at(0))).length > 0, isThere)
      }
      assert.ok(await sessions.find(z, 'nobody'))
      assert.equal(await users.delete(z, 'u2'), true)
    })

    it('is verified if the version matches, without incrementing it', async () => {
      const z = newZone()
      const { users } = store()
      const before = user({ zoneId: z, version: 3 })
      await users.insert(z, before)
      assert.equal(await users.verify(z, 'u1', 2), undefined)
      assert.equal((await users.find(z, 'u1'))?.verified, false)
      assert.deepEqual(await users.verify(z, 'u1', 3), { ...before, verified: true })
      assert.deepEqual(await users.verify(z, 'u1'), { ...before, verified: true })
      assert.equal(await users.verify(z, 'nobody'), undefined)
      assert.equal(await users.requirePasswordChange(z, 'nobody'), false)
    })

    it('is listed with direct and nested groups and unexpired approvals', async () => {
      const [z, other] = [newZone(), newZone()]
      const { users, groups, approvals } = store()
      for (const zoneId of [z, other]) {
        for (const id of ['inner', 'outer', 'outermost']) {
          await groups.insert(zoneId, group({ zoneId, id, displayName: `the ${id}` }))
        }
      }
      const nest = (groupId: string, memberId: string, memberType: 'USER' | 'GROUP' = 'GROUP') =>
        groups.addMember(z, { groupId, memberId, memberType, origin: 'svc' })
      await nest('outer', 'inner')
      await nest('outermost', 'outer')
      const ids = Array.from({ length: 70 }, (_, place) => `u${place}`)
      for (const id of ids) await users.insert(z, user({ zoneId: z, id, userName: id }))
      for (const id of ['u0', 'u69']) await nest('inner', id, 'USER')
      await nest('outermost', 'u69', 'USER')
      const mine = approval({ zoneId: z, userId: 'u69' })
      await approvals.save(z, [mine])
      const of = (id: string, direct: boolean) => ({ id, displayName: `the ${id}`, direct })
      const found = await users.listGroups(z, [...ids, 'u0', 'nobody', 'a\0b'])
      assert.deepEqual([...found.keys()].toSorted(), ['u0', 'u69'])
      assert.deepEqual(found.get('u0'), [of('inner', true), of('outer', false), of('outermost', false)])
      assert.deepEqual(found.get('u69'), [of('inner', true), of('outer', false), of('outermost', true)])
      assert.deepEqual((await users.listGroups(other, ids)).size, 0)
      assert.deepEqual((await users.listGroups(z, [])).size, 0)
      assert.deepEqual(await users.listApprovals(z, ids, at(0)), new Map([['u69', [mine]]]))
      assert.deepEqual(await users.listApprovals(z, ids, mine.expiresAt), new Map())
    })
  })
}
