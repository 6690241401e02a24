// Users read with related records in one statement, on both databases.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { at, code, fullUser, group as groupOf, session, signedIn, user } from './records.ts'
import type { Lent } from './token-cases.ts'

/** The cases of accounts that are read with their groups, inside the suite of a database. */
export function joinedUserCases({ store, newZone }: Lent): void {
  describe('A user with groups', () => {
    let mine = ''
    let theirs = ''
    // Names with the separator, or its escape.
    const odd = ['|', '\\', '\\p', 'a|b', 'a\\|p', '||', 'new\nline', 'ü', '日本']
    before(async () => {
      const { users, groups } = store()
      mine = newZone()
      theirs = newZone()
      await users.insert(mine, user({ ...fullUser, zoneId: mine }))
      await users.insert(mine, user({ zoneId: mine, id: 'u2', userName: 'lonely' }))
      await users.insert(theirs, user({ ...fullUser, zoneId: theirs }))
      const group = (zoneId: string, id: string, displayName: string) =>
        groups.insert(zoneId, groupOf({ zoneId, id, displayName }))
      const join = (groupId: string, memberId: string, memberType: 'USER' | 'GROUP') =>
        groups.addMember(mine, { groupId, memberId, memberType, origin: 'svc' })
      for (const [place, name] of odd.entries()) {
        await group(mine, `g${place}`, name)
        await join(`g${place}`, place === 0 ? 'u1' : `g${place - 1}`, place === 0 ? 'USER' : 'GROUP')
      }
      await join('g0', `g${odd.length - 1}`, 'GROUP') // round in a circle
      await group(mine, 'other', 'not a group of theirs')
      await group(theirs, 'g0', 'of the other zone')
      await groups.addMember(theirs, { groupId: 'g0', memberId: 'u1', memberType: 'USER', origin: 'svc' })
    })
    const names = [...odd].toSorted((a, b) => (a < b ? -1 : 1))

    it('is found by id with direct and nested groups, whatever their names', async () => {
      const { users } = store()
      assert.deepEqual(await users.findWithGroups(mine, 'u1'), {
        ...user({ ...fullUser, zoneId: mine }),
        groupNames: names,
      })
      assert.deepEqual((await users.findWithGroups(mine, 'u2'))?.groupNames, [])
      assert.deepEqual((await users.findWithGroups(theirs, 'u1'))?.groupNames, ['of the other zone'])
      assert.equal(await users.findWithGroups(theirs, 'u2'), undefined)
      assert.equal(await users.findWithGroups(mine, 'u\0'), undefined)
      assert.deepEqual([...(await store().groups.namesOfUser(mine, 'u1'))].toSorted(), [...odd].toSorted())
    })

    it('is found by name for sign-in, with recent failures', async () => {
      const { users, events } = store()
      for (const seconds of [3, 1, 2]) await events.recordFailure(mine, 'u1', at(seconds))
      await events.recordFailure(theirs, 'u1', at(4))
      const find = (zoneId: string, userName: string, since = 1) =>
        users.findForSignIn(zoneId, 'svc', { userName, failuresSince: at(since) })
      const userName = 'marissa'
      const found = await find(mine, userName.toUpperCase())
      assert.deepEqual(found?.failures, [at(2), at(3)])
      assert.deepEqual(found.user.groupNames, names)
      assert.equal(found.user.id, 'u1')
      assert.deepEqual((await find(mine, userName, 9))?.failures, [])
      assert.deepEqual((await find(theirs, userName, 0))?.failures, [at(4)])
      assert.equal(await find(mine, 'nobody'), undefined)
      assert.equal(await users.findForSignIn(mine, 'elsewhere', { userName, failuresSince: at(0) }), undefined)
    })

    it('is found with the session, or is absent from an anonymous or orphaned one', async () => {
      const { sessions } = store()
      const own = signedIn({ zoneId: mine, idDigest: 'own' })
      const lost = signedIn({ zoneId: mine, idDigest: 'lost' })
      const orphan = { ...lost, signIn: { ...lost.signIn, userId: 'gone' } }
      const anonymous = session({ zoneId: mine, idDigest: 'anonymous' })
      for (const each of [own, orphan, anonymous]) await sessions.insert(mine, each)
      const found = await sessions.findWithUser(mine, 'own')
      assert.deepEqual(found?.session, own)
      assert.deepEqual(found.user, { ...user({ ...fullUser, zoneId: mine }), groupNames: names })
      assert.deepEqual(await sessions.findWithUser(mine, 'lost'), { session: orphan, user: undefined })
      assert.deepEqual(await sessions.findWithUser(mine, 'anonymous'), { session: anonymous, user: undefined })
      assert.equal(await sessions.findWithUser(theirs, 'own'), undefined)
    })

    it('gets a logon time only from replaceAtLogon', async () => {
      const { sessions, users, events } = store()
      await events.recordFailure(mine, 'u2', at(1))
      const begun = (idDigest: string, seconds: number) => {
        const made = signedIn({ zoneId: mine, idDigest })
        const signIn = { ...made.signIn, userId: 'u2', authenticatedAt: at(0), acr: ['high', 'low'] }
        return { ...made, signIn, createdAt: at(seconds) }
      }
      await sessions.replace(mine, undefined, begun('first', 5))
      assert.equal((await users.find(mine, 'u2'))?.lastLogonAt, undefined)
      await sessions.replaceAtLogon(mine, 'first', begun('second', 6))
      assert.equal(await sessions.find(mine, 'first'), undefined)
      assert.deepEqual((await sessions.find(mine, 'second'))?.signIn?.acr, ['high', 'low'])
      assert.deepEqual((await users.find(mine, 'u2'))?.lastLogonAt, at(6))
      assert.deepEqual(await events.failures(mine, 'u2', at(0)), [])
      await assert.rejects(sessions.replaceAtLogon(mine, undefined, begun('second', 7)))
      assert.deepEqual((await users.find(mine, 'u2'))?.lastLogonAt, at(6), 'all or nothing')
    })

    it('is returned with a redeemed code, with all members intact', async () => {
      const { users, codes } = store()
      const given = {
        userName: 'a|b',
        givenName: '\\0',
        familyName: '\\p|\\\\|',
        email: '',
        phoneNumber: ' ',
        externalId: '日本\n|',
        salt: '0',
      }
      const whole = user({ ...fullUser, ...given, zoneId: mine, id: 'odd' })
      await users.insert(mine, whole)
      for (const [codeDigest, userId] of [
        ['of-odd', 'odd'],
        ['of-u1', 'u1'],
        ['of-u2', 'u2'],
        ['of-nobody', 'nobody'],
      ] as const) {
        await codes.insert(mine, code({ zoneId: mine, codeDigest, userId }))
      }
      const redeemed = async (codeDigest: string) => {
        const redemption = await codes.redeem(mine, codeDigest, at(1))
        assert.equal(redemption.outcome, 'redeemed')
        return 'user' in redemption ? redemption.user : 'no outcome'
      }
      assert.deepEqual(await redeemed('of-odd'), { ...whole, groupNames: [] })
      assert.deepEqual(await redeemed('of-u1'), { ...user({ ...fullUser, zoneId: mine }), groupNames: names })
      const lonely = await users.findWithGroups(mine, 'u2')
      assert.ok(lonely)
      assert.deepEqual(await redeemed('of-u2'), lonely)
      assert.equal(await redeemed('of-nobody'), undefined)
    })

    it('loses the unused codes of deleted sessions', async () => {
      const { codes } = store()
      const of = (codeDigest: string, more: object = {}) =>
        codes.insert(mine, code({ zoneId: mine, codeDigest, userId: 'leaver', sessionId: 'gone', ...more }))
      await of('l1')
      await of('l2', { sessionId: 'stays' })
      await of('l3', { sessionId: undefined })
      await of('l4', { userId: 'another' })
      await of('l5')
      await codes.redeem(mine, 'l5', at(1))
      await codes.deleteOfSessions(mine, 'leaver', new Set(['gone', 'never']))
      const outcomes = await Promise.all(
        ['l1', 'l2', 'l3', 'l4', 'l5'].map(async digest => (await codes.redeem(mine, digest, at(1))).outcome),
      )
      assert.deepEqual(outcomes, ['unknown', 'redeemed', 'redeemed', 'redeemed', 'used'])
    })

    it('gets the client of a new code into the session in one write', async () => {
      const { sessions, codes } = store()
      await sessions.insert(mine, signedIn({ zoneId: mine, idDigest: 'answering' }))
      await codes.insert(mine, code({ zoneId: mine, codeDigest: 'c1', clientId: 'new' }), {
        idDigest: 'answering',
        isNotified: false,
      })
      await codes.insert(mine, code({ zoneId: mine, codeDigest: 'c2', clientId: 'silent' }))
      await codes.insert(mine, code({ zoneId: mine, codeDigest: 'c3', clientId: 'late' }), {
        idDigest: 'gone',
        isNotified: false,
      })
      assert.ok((await sessions.find(mine, 'answering'))?.clients?.includes('new'))
      assert.ok(!(await sessions.find(mine, 'answering'))?.clients?.includes('silent'))
      for (const digest of ['c1', 'c2', 'c3']) {
        assert.equal((await codes.redeem(mine, digest, at(1))).outcome, 'redeemed')
      }
      await assert.rejects(
        codes.insert(mine, code({ zoneId: mine, codeDigest: 'c1', clientId: 'never' }), {
          idDigest: 'answering',
          isNotified: false,
        }),
      )
      assert.ok(!(await sessions.find(mine, 'answering'))?.clients?.includes('never'), 'all or nothing')
    })
  })
}
