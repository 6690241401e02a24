// Test cases of every database for what a user can see and change of their own: sessions and approvals.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Approval } from '../../src/model/users/approval.ts'
import type { Session } from '../../src/model/sessions/session.ts'
import { approval, at, session, signIn, signedIn } from './records.ts'
import type { Lent } from './token-cases.ts'
import { inBatches } from './batches.ts'

/** The cases of a user's own records, inside the suite of a database. */
export function ownSessionCases({ store, newZone }: Lent): void {
  const insert = (zoneId: string, ...sessions: readonly Partial<Session>[]): Promise<unknown> =>
    inBatches(sessions, each => store().sessions.insert(zoneId, { ...signedIn({ zoneId }), ...each }))
  const of = (userId: string) => ({ signIn: { ...signIn, userId } })
  const digests = async (zoneId: string, userId: string, now = at(10)) =>
    (await store().sessions.listOfUser(zoneId, userId, now)).map(each => each.idDigest)

  describe('The time of a sign-in', () => {
    it('may be unknown', async () => {
      const z = newZone()
      const { authenticatedAt: _, ...unknown } = signIn
      const want = { ...signedIn({ zoneId: z, idDigest: 'second' }), signIn: unknown }
      await store().sessions.replaceAtLogon(z, undefined, want)
      assert.deepEqual(await store().sessions.find(z, 'second'), want)
      assert.deepEqual((await store().sessions.listOfUser(z, unknown.userId, at(1)))[0], want)
    })

    it('is stored with wasDemanded', async () => {
      const z = newZone()
      const want = { ...signedIn({ zoneId: z }), signIn: { ...signIn, wasDemanded: true as const } }
      await store().sessions.insert(z, want)
      assert.deepEqual(await store().sessions.find(z, 's1'), want)
    })
  })

  describe('The clients of a session', () => {
    it('are stored in order, with any ids, beside the user agent', async () => {
      const z = newZone()
      const clients = ['app', 'a\nb', '"', '[x]', 'ünï', '\\n', '\u2028']
      const want = {
        ...signedIn({ zoneId: z, clients }),
        signIn: { ...signIn, userAgent: 'Browser/1 (Test)', remoteAddress: '::1' },
      }
      await store().sessions.insert(z, want)
      assert.deepEqual(await store().sessions.find(z, 's1'), want)
      for (const clientId of ['b\r\nc', 'app'])
        await store().sessions.addClient(z, 's1', { clientId: clientId, isNotified: false })
      assert.deepEqual((await store().sessions.find(z, 's1'))?.clients, [...clients, 'b\r\nc'])
    })

    it('are all stored when added concurrently', async () => {
      const z = newZone()
      await insert(z, {})
      const ids = Array.from({ length: 20 }, (_, number) => `c${number}`)
      await Promise.all(
        [...ids, ...ids].map(id => store().sessions.addClient(z, 's1', { clientId: id, isNotified: false })),
      )
      assert.deepEqual([...((await store().sessions.find(z, 's1'))?.clients ?? [])].toSorted(), ids.toSorted())
    })

    it('are not added to sessions of another zone, anonymous or unknown ones', async () => {
      const [z, other] = [newZone(), newZone()]
      await insert(z, {})
      await store().sessions.insert(z, session({ zoneId: z, idDigest: 'anonymous' }))
      await store().sessions.addClient(other, 's1', { clientId: 'app', isNotified: false })
      await store().sessions.addClient(z, 'anonymous', { clientId: 'app', isNotified: false })
      await store().sessions.addClient(z, 'gone', { clientId: 'app', isNotified: false })
      assert.equal((await store().sessions.find(z, 's1'))?.clients, undefined)
      assert.deepEqual(await store().sessions.find(z, 'anonymous'), session({ zoneId: z, idDigest: 'anonymous' }))
      assert.equal(await store().sessions.find(z, 'gone'), undefined)
    })
  })

  describe('The sessions of a provider', () => {
    const from = (idDigest: string, providerSession = 'p1'): Partial<Session> => ({
      idDigest,
      signIn: { ...signIn, providerSession },
    })

    it('are found by upstream session, without expired ones and other zones', async () => {
      const [z, other] = [newZone(), newZone()]
      await insert(z, from('one'), from('two'), from('another', 'p2'), {}, { ...from('expired'), expiresAt: at(10) })
      await insert(other, { ...from('elsewhere'), zoneId: other })
      const found = async (zoneId: string, providerSession: string, userId?: string) =>
        (await store().sessions.listOfProvider(zoneId, { providerSession, userId }, at(10)))
          .map(each => each.idDigest)
          .toSorted()
      assert.deepEqual(await found(z, 'p1'), ['one', 'two'])
      assert.deepEqual(await found(z, 'p2'), ['another'])
      assert.deepEqual(await found(other, 'p1'), ['elsewhere'])
      assert.deepEqual(await found(z, 'p3'), [])
      assert.deepEqual(await found(z, 'p1', signIn.userId), ['one', 'two'])
      assert.deepEqual(await found(z, 'p1', 'another user'), [])
    })

    it('have their ID token stored separately', async () => {
      const [z, other] = [newZone(), newZone()]
      const want = { ...signedIn({ zoneId: z }), ...from('new') } as Session & { signIn: typeof signIn } // it signs in
      await store().sessions.replaceAtLogon(z, undefined, { ...want, sealedLogoutHint: 'sealed' })
      await insert(z, {})
      assert.deepEqual(await store().sessions.find(z, 'new'), want)
      assert.equal(await store().sessions.sealedLogoutHint(z, 'new'), 'sealed')
      assert.equal(await store().sessions.sealedLogoutHint(z, 's1'), undefined)
      assert.equal(await store().sessions.sealedLogoutHint(z, 'gone'), undefined)
      assert.equal(await store().sessions.sealedLogoutHint(other, 'new'), undefined)
    })
  })

  describe('The sessions of a user', () => {
    it('are listed by last use, without expired ones and other users', async () => {
      const [z, other] = [newZone(), newZone()]
      await insert(
        z,
        { idDigest: 'early', lastSeenAt: at(1) },
        { idDigest: 'late', lastSeenAt: at(3) },
        { idDigest: 'middle', lastSeenAt: at(2) },
        { idDigest: 'expired', expiresAt: at(10) },
        { idDigest: 'theirs', ...of('u2') },
      )
      await store().sessions.insert(z, session({ zoneId: z, idDigest: 'anonymous' }))
      await insert(other, { zoneId: other, idDigest: 'elsewhere' })
      assert.deepEqual(await digests(z, 'u1'), ['late', 'middle', 'early'])
      assert.deepEqual(await digests(z, 'u2'), ['theirs'])
      assert.deepEqual(await digests(z, 'nobody'), [])
      assert.deepEqual(await digests(z, '\0'), [])
      assert.deepEqual(await digests(other, 'u1'), ['elsewhere'])
    })

    it('are limited to a hundred in a list', async () => {
      const z = newZone()
      await insert(z, ...Array.from({ length: 120 }, (_, each) => ({ idDigest: `s${each}`, lastSeenAt: at(each) })))
      const listed = await digests(z, 'u1')
      assert.equal(listed.length, 100)
      assert.equal(listed[0], 's119')
    })

    it('are deleted in batches, except one, without affecting other users', async () => {
      const [z, other] = [newZone(), newZone()]
      await insert(z, ...Array.from({ length: 620 }, (_, each) => ({ idDigest: `s${each}` })))
      await insert(z, { idDigest: 'theirs', ...of('u2') })
      await insert(other, { zoneId: other, idDigest: 'elsewhere' })
      const others = { userId: 'u1', kept: 's7' }
      for (const portion of [200, 200, 200, 19, 0]) {
        assert.equal(await store().sessions.deleteSomeOthers(z, others), portion)
      }
      assert.deepEqual(await digests(z, 'u1'), ['s7'])
      assert.deepEqual(await digests(z, 'u2'), ['theirs'])
      assert.deepEqual(await digests(other, 'u1'), ['elsewhere'])
    })
  })

  describe('The approvals of a user', () => {
    const save = (zoneId: string, ...approvals: readonly Partial<Approval>[]): Promise<void> =>
      store().approvals.save(
        zoneId,
        approvals.map(each => approval({ zoneId, ...each })),
      )
    const listed = async (zoneId: string, userId = 'u1') =>
      (await store().approvals.listOfUser(zoneId, userId, at(10))).map(each => `${each.clientId} ${each.scope}`)

    it('are listed by client and scope, without expired ones and other users', async () => {
      const [z, other] = [newZone(), newZone()]
      await save(z, { clientId: 'b' }, { clientId: 'a', scope: 'x' }, { clientId: 'a', status: 'DENIED' })
      await save(z, { clientId: 'expired', expiresAt: at(10) }, { userId: 'u2' })
      await save(other, { clientId: 'elsewhere' })
      assert.deepEqual(await listed(z), ['a openid', 'a x', 'b openid'])
      assert.deepEqual(await listed(z, 'u2'), ['app openid'])
      assert.deepEqual(await listed(other), ['elsewhere openid'])
    })

    it('are updated in status and time only, and not restored once deleted', async () => {
      const z = newZone()
      await save(z, {})
      await store().approvals.decideAgain(z, [
        approval({ zoneId: z, status: 'DENIED', expiresAt: at(999), updatedAt: at(5) }),
        approval({ zoneId: z, scope: 'gone' }),
        approval({ zoneId: z, userId: 'u2' }),
      ])
      assert.deepEqual(await store().approvals.listOfUser(z, 'u1', at(10)), [
        approval({ zoneId: z, status: 'DENIED', updatedAt: at(5) }),
      ])
      assert.deepEqual(await listed(z, 'u2'), [])
    })

    it('are deleted once for a client, including expired ones, without affecting other users', async () => {
      const [z, other] = [newZone(), newZone()]
      await save(z, {}, { scope: 'old', expiresAt: at(1) }, { clientId: 'b' }, { userId: 'u2' })
      await save(other, {})
      const replace = () => store().approvals.replace(z, { userId: 'u1', clientId: 'app' }, [])
      assert.deepEqual((await replace()).map(({ scope }) => scope).toSorted(), ['old', 'openid'])
      assert.deepEqual(await replace(), [])
      assert.deepEqual(await listed(z), ['b openid'])
      assert.deepEqual(await store().approvals.list(z, 'u1', 'app', at(0)), [])
      assert.deepEqual(await listed(z, 'u2'), ['app openid'])
      assert.deepEqual(await listed(other), ['app openid'])
    })

    it('are replaced for all clients or one, atomically', async () => {
      const z = newZone()
      const all = async () =>
        (await store().approvals.listAllOfUser(z, 'u1')).map(each => `${each.clientId} ${each.scope}`)
      const given = (...approvals: Parameters<typeof approval>[0][]) =>
        approvals.map(each => approval({ zoneId: z, ...each }))
      await save(z, {}, { scope: 'old', expiresAt: at(1) }, { clientId: 'b' }, { userId: 'u2' })
      assert.deepEqual(await all(), ['app old', 'app openid', 'b openid'])
      await assert.rejects(store().approvals.replace(z, { userId: 'u1' }, given({ scope: 'new' }, { scope: '\0' })))
      assert.deepEqual(await all(), ['app old', 'app openid', 'b openid'])
      await store().approvals.replace(z, { userId: 'u1', clientId: 'app' }, given({ scope: 'new' }))
      assert.deepEqual(await all(), ['app new', 'b openid'])
      await store().approvals.replace(z, { userId: 'u1' }, given({ clientId: 'c' }))
      assert.deepEqual(await all(), ['c openid'])
      assert.deepEqual(await listed(z, 'u2'), ['app openid'])
    })
  })
}
