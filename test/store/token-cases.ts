// Test cases of every database for authorization codes, tokens and revocations.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Store } from '../../src/store/store.ts'
import type { StoredToken } from '../../src/model/tokens/token.ts'
import { at, client, code, fullClient, fullUser, token, user } from './records.ts'
import { inBatches } from './batches.ts'

/** Dependencies that the suite of a database passes to these cases. */
export interface Lent {
  readonly store: () => Store
  /** Another connection to the same database. */
  readonly open: () => Promise<Store>
  readonly newZone: () => string
  /** Does a task of `other-process.ts`. */
  readonly elsewhere: (task: string, argument: string) => Promise<unknown>
}

/** The number of successful concurrent attempts. */
export const winners = (outcomes: readonly unknown[]): number =>
  outcomes.filter(outcome => outcome === true || Array.isArray(outcome)).length

/** The cases of tokens, inside the suite of a database. */
export function tokenCases({ store, open, newZone, elsewhere }: Lent): void {
  const insert = (zoneId: string, ...tokens: readonly Partial<StoredToken>[]): Promise<unknown> =>
    inBatches(tokens, each => store().tokens.insert(zoneId, token({ zoneId, ...each })))
  /** The existing tokens of a zone. */
  const left = async (zoneId: string, ids: readonly string[]): Promise<readonly string[]> => {
    const found = await Promise.all(ids.map(id => store().tokens.find(zoneId, id)))
    return found.flatMap(each => each?.idDigest ?? [])
  }

  describe('Tokens', () => {
    it('are deleted with their grant, which stays revoked', async () => {
      const z = newZone()
      await store().tokens.insert(z, token({ zoneId: z, grantId: 'grant' }))
      await store().tokens.insert(z, token({ zoneId: z, idDigest: 't2', grantId: 'other' }))
      await store().tokens.insert(z, token({ zoneId: z, idDigest: 't3' }))
      await store().tokens.revokeGrant(z, 'grant', at(100))
      await store().tokens.revokeGrant(z, 'grant', at(50))
      assert.equal(await store().tokens.find(z, 't1'), undefined)
      assert.notEqual(await store().tokens.find(z, 't2'), undefined)
      assert.notEqual(await store().tokens.find(z, 't3'), undefined)
      assert.equal(await store().tokens.isRevoked(z, { grantId: 'grant', tokenId: 'none' }), true)
      assert.equal(await store().tokens.isRevoked(z, { grantId: 'other', tokenId: 'none' }), false)
    })

    it('of a client and user are deleted with their codes, and their grants stay revoked', async () => {
      const [z, other] = [newZone(), newZone()]
      const { tokens, codes } = store()
      const mine = { userId: 'u1', grantId: 'g1' }
      await insert(
        z,
        mine,
        { ...mine, idDigest: 'again', usedAt: at(1) },
        { ...mine, idDigest: 'none', grantId: 'g2' },
        { userId: 'u1', idDigest: 'grantless' },
        { ...mine, idDigest: 'client', clientId: 'b', grantId: 'g3' },
        { ...mine, idDigest: 'user', userId: 'u2', grantId: 'g4' },
      )
      await insert(other, { ...mine, idDigest: 'elsewhere' })
      for (const codeDigest of ['open', 'used']) await codes.insert(z, code({ zoneId: z, codeDigest }))
      await codes.insert(z, code({ zoneId: z, codeDigest: 'redeemed just now', grantId: 'g5' }))
      await codes.insert(z, code({ zoneId: z, codeDigest: 'theirs', userId: 'u2', grantId: 'g6' }))
      for (const codeDigest of ['used', 'redeemed just now']) await codes.redeem(z, codeDigest, at(1))
      await tokens.revokeGrant(z, 'g2', at(500))
      await tokens.revokeGrantsOf(z, { clientId: 'app', userId: 'u1' }, at(100))
      const ids = ['t1', 'again', 'none', 'grantless', 'client', 'user']
      assert.deepEqual(await left(z, ids), ['client', 'user'])
      assert.deepEqual(await left(other, ['elsewhere']), ['elsewhere'])
      const grants = ['g1', 'g2', 'g3', 'g4', 'g5', 'g6']
      const revoked = grants.map(grantId => tokens.isRevoked(z, { grantId, tokenId: 'none' }))
      assert.deepEqual(await Promise.all(revoked), [true, true, false, false, true, false])
      const outcomes = ['open', 'used', 'theirs'].map(async id => (await codes.redeem(z, id, at(2))).outcome)
      assert.deepEqual(await Promise.all(outcomes), ['unknown', 'used', 'redeemed'])
    })

    it('of all users of a client are revoked together', async () => {
      const [z, other] = [newZone(), newZone()]
      const { tokens, codes } = store()
      const ids = Array.from({ length: 600 }, (_, index) => `t-${index + 100}`)
      await insert(
        z,
        ...ids.map(id => ({ idDigest: id, userId: `of ${id}`, grantId: id === 't-699' ? 'last' : 'first' })),
      )
      await insert(z, { idDigest: 'userless' }, { idDigest: 'theirs', clientId: 'b', grantId: 'g2' })
      await insert(other, { idDigest: 'elsewhere', grantId: 'g3' })
      for (const userId of ['u1', 'u2']) {
        await codes.insert(z, code({ zoneId: z, codeDigest: userId, userId, grantId: `of ${userId}` }))
      }
      await codes.redeem(z, 'u2', at(1))
      await tokens.revokeGrantsOf(z, { clientId: 'app' }, at(100))
      assert.deepEqual(await left(z, [...ids, 'userless', 'theirs']), ['theirs'])
      assert.deepEqual(await left(other, ['elsewhere']), ['elsewhere'])
      const grants = ['first', 'last', 'of u1', 'of u2', 'g2', 'g3']
      const revoked = grants.map(grantId => tokens.isRevoked(z, { grantId, tokenId: 'none' }))
      assert.deepEqual(await Promise.all(revoked), [true, true, true, true, false, false])
      assert.equal((await codes.redeem(z, 'u1', at(2))).outcome, 'unknown')
    })

    it('for refreshing are deleted for one client and user', async () => {
      const z = newZone()
      const refresh = { zoneId: z, kind: 'refresh_token', userId: 'u1' } as const
      await store().tokens.insert(z, token({ ...refresh, idDigest: 'gone' }))
      await store().tokens.insert(z, token({ ...refresh, idDigest: 'user', userId: 'u2' }))
      await store().tokens.insert(z, token({ ...refresh, idDigest: 'client', clientId: 'other' }))
      await store().tokens.insert(z, token({ ...refresh, idDigest: 'access', kind: 'access_token' }))
      await store().tokens.insert(z, token({ ...refresh, idDigest: 'kept', issuedAt: at(5) }))
      await store().tokens.deleteRefreshTokens(z, { clientId: 'app', userId: 'u1', kept: 'kept', others: 0 })
      const left = await Promise.all(['gone', 'user', 'client', 'access'].map(id => store().tokens.find(z, id)))
      assert.deepEqual(
        left.map(found => found?.idDigest),
        [undefined, 'user', 'client', 'access'],
      )
      assert.equal(await store().tokens.delete(z, 'user'), true)
      assert.equal(await store().tokens.delete(z, 'user'), false)
    })

    it('for refreshing are kept if newest or used', async () => {
      const z = newZone()
      const refresh = { zoneId: z, kind: 'refresh_token', userId: 'u1' } as const
      for (const [second, idDigest] of ['oldest', 'older', 'newer', 'used', 'kept'].entries()) {
        await store().tokens.insert(z, token({ ...refresh, idDigest, issuedAt: at(second) }))
      }
      await store().tokens.use(z, 'used', at(6))
      const ids = ['oldest', 'older', 'newer', 'used', 'kept']
      const leftBeside = async (kept: string, others: number): Promise<readonly (string | undefined)[]> => {
        await store().tokens.deleteRefreshTokens(z, { clientId: 'app', userId: 'u1', kept, others })
        return (await Promise.all(ids.map(id => store().tokens.find(z, id)))).map(found => found?.idDigest)
      }
      assert.deepEqual(await leftBeside('oldest', 0), ids, 'an older one deletes no newer ones')
      assert.deepEqual(await leftBeside('kept', 2), [undefined, 'older', 'newer', 'used', 'kept'])
      assert.deepEqual(
        await leftBeside('oldest', 0),
        [undefined, 'older', 'newer', 'used', 'kept'],
        'a deleted one none',
      )
      assert.deepEqual(await leftBeside('newer', 0), [undefined, undefined, 'newer', 'used', 'kept'])
    })

    it('for refreshing are not all deleted by concurrent requests', async () => {
      const z = newZone()
      const ids = ['a', 'b', 'c', 'd']
      for (const idDigest of ids) {
        await store().tokens.insert(z, token({ zoneId: z, kind: 'refresh_token', userId: 'u1', idDigest }))
      }
      const pair = { clientId: 'app', userId: 'u1' }
      await Promise.all(ids.map(kept => store().tokens.deleteRefreshTokens(z, { ...pair, kept, others: 0 })))
      const left = await Promise.all(ids.map(id => store().tokens.find(z, id)))
      assert.equal(left.filter(found => found !== undefined).length, 1)
    })

    it('record when they were used', async () => {
      const z = newZone()
      await store().tokens.insert(z, token({ zoneId: z }))
      assert.equal(await store().tokens.use(z, 't1', at(7)), true)
      assert.equal(await store().tokens.use(z, 't1', at(8)), false)
      assert.equal(await store().tokens.use(z, 'gone', at(8)), false)
      assert.deepEqual(await store().tokens.find(z, 't1'), token({ zoneId: z, usedAt: at(7) }))
    })
  })

  describe('Codes and tokens under concurrency', () => {
    it('redeem a code once across processes and connections', async () => {
      await store().codes.insert('z1', code({ codeDigest: 'raced' }))
      const other = await open()
      const here = Array.from({ length: 20 }, (_, number) => (number % 2 === 0 ? store() : other))
      const [own, ...others] = await Promise.all([
        Promise.all(here.map(one => one.codes.redeem('z1', 'raced', at(0)))),
        elsewhere('redeem', 'raced'),
        elsewhere('redeem', 'raced'),
      ])
      await other.close()
      const outcomes = [...own.map(({ outcome }) => outcome), ...others.flat()]
      assert.equal(outcomes.filter(outcome => outcome === 'redeemed').length, 1)
      assert.equal(outcomes.filter(outcome => outcome === 'used').length, 59)
    })

    it('redeem an expired code, which the caller rejects', async () => {
      const z = newZone()
      await store().codes.insert(z, code({ zoneId: z, expiresAt: at(1) }))
      assert.equal((await store().codes.redeem(z, 'c1', at(500))).outcome, 'redeemed')
      const again = await store().codes.redeem(z, 'c1', at(501))
      assert.deepEqual(again, { outcome: 'used', code: code({ zoneId: z, expiresAt: at(1) }) })
    })

    it('undo a redemption once, unless the grant or session was revoked', async () => {
      const z = newZone()
      const { codes, tokens } = store()
      for (const codeDigest of ['open', 'revoked', 'ended']) {
        await codes.insert(z, code({ zoneId: z, codeDigest, grantId: `g ${codeDigest}`, sessionId: `s ${codeDigest}` }))
        assert.equal((await codes.redeem(z, codeDigest, at(1))).outcome, 'redeemed')
      }
      await tokens.revokeGrant(z, 'g revoked', at(100))
      await tokens.revokeUnstored(z, 's ended', at(100))
      await tokens.revokeGrant(newZone(), 'g open', at(100))
      const redeem = async (codeDigest: string, seconds: number): Promise<string> =>
        (await codes.redeem(z, codeDigest, at(seconds))).outcome
      await codes.undoRedemption(z, 'open', at(2))
      assert.equal(await redeem('open', 3), 'used')
      for (const codeDigest of ['open', 'revoked', 'ended']) await codes.undoRedemption(z, codeDigest, at(1))
      assert.deepEqual([await redeem('revoked', 4), await redeem('ended', 4)], ['used', 'used'])
      assert.equal(await redeem('open', 4), 'redeemed')
      await codes.undoRedemption(z, 'open', at(1))
      assert.equal(await redeem('open', 5), 'used')
    })

    it('use a refresh token once', async () => {
      await store().tokens.insert('z1', token({ idDigest: 'raced' }))
      const [own, others] = await Promise.all([
        Promise.all(Array.from({ length: 20 }, () => store().tokens.use('z1', 'raced', at(0)))),
        elsewhere('use', 'raced'),
      ])
      const outcomes = [...own, ...[others].flat()]
      assert.equal(outcomes.length, 40)
      assert.equal(outcomes.filter(used => used === true).length, 1)
    })
  })

  describe('Listed tokens', () => {
    const mine = newZone()
    const theirs = newZone()
    const expected = token({ zoneId: mine, idDigest: 'a', userId: 'u1', claims: { scope: ['openid'] } })

    it('are those of a user, client or zone, unexpired and unused', async () => {
      await insert(
        mine,
        expected,
        { idDigest: 'b', userId: 'u1', clientId: 'other' },
        { idDigest: 'c', userId: 'u2' },
        { idDigest: 'd' },
        { idDigest: 'e', userId: 'app' },
        { idDigest: 'f', clientId: 'u1' },
        { idDigest: 'used', userId: 'u1', kind: 'refresh_token', usedAt: at(1) },
        { idDigest: 'expired', userId: 'u1', expiresAt: at(10) },
      )
      await insert(theirs, { idDigest: 'x', userId: 'u1' })
      const ids = async (listing: Promise<readonly StoredToken[]>): Promise<readonly string[]> =>
        (await listing).map(({ idDigest }) => idDigest).toSorted()
      assert.deepEqual(await ids(store().tokens.listOfUser(mine, 'u1', at(10))), ['a', 'b'])
      assert.deepEqual(await ids(store().tokens.listOfUser(mine, 'u1', at(9))), ['a', 'b', 'expired'])
      assert.deepEqual(await ids(store().tokens.listOfUser(mine, 'u2', at(10))), ['c'])
      assert.deepEqual(await ids(store().tokens.listOfUser(theirs, 'u1', at(10))), ['x'])
      assert.deepEqual(await ids(store().tokens.listOfClient(mine, 'app', at(10))), ['a', 'c', 'd', 'e'])
      assert.deepEqual(await ids(store().tokens.listOfClient(mine, 'u1', at(10))), ['f'])
      assert.deepEqual(await ids(store().tokens.listOfClient(theirs, 'other', at(10))), [])
    })

    it('have every member', async () => {
      const listed = await store().tokens.listOfUser(mine, 'u1', at(10))
      assert.deepEqual(
        listed.find(({ idDigest }) => idDigest === 'a'),
        expected,
      )
    })

    for (const id of ['', 'nobody', '\0', '\ud800', '%', "' or 1=1 --"]) {
      it(`are none for ${JSON.stringify(id)}`, async () => {
        assert.deepEqual(await store().tokens.listOfUser(mine, id, at(0)), [])
        assert.deepEqual(await store().tokens.listOfClient(mine, id, at(0)), [])
      })
    }
  })

  describe('Bulk deletion of tokens', () => {
    const all = ['a', 'b', 'c', 'd', 'e', 'f', 'x']
    const cases: readonly {
      readonly name: string
      readonly deleteSome: (zoneId: string) => Promise<number>
      readonly gone: readonly string[]
    }[] = [
      { name: 'of a user', deleteSome: z => store().tokens.deleteSomeOfUser(z, 'u1'), gone: ['a', 'b', 'x'] },
      {
        name: 'of a user through a client',
        deleteSome: z => store().tokens.deleteSomeOfUser(z, 'u1', 'app'),
        gone: ['a', 'x'],
      },
      {
        name: 'of a client',
        deleteSome: z => store().tokens.deleteSomeOfClient(z, 'app'),
        gone: ['a', 'c', 'd', 'e', 'x'],
      },
      {
        name: 'of a user with the id of a client',
        deleteSome: z => store().tokens.deleteSomeOfUser(z, 'app'),
        gone: ['e'],
      },
      {
        name: 'of a client with the id of a user',
        deleteSome: z => store().tokens.deleteSomeOfClient(z, 'u1'),
        gone: ['f'],
      },
      { name: 'of an empty id', deleteSome: z => store().tokens.deleteSomeOfUser(z, '', ''), gone: [] },
      { name: 'of an invalid user id', deleteSome: z => store().tokens.deleteSomeOfUser(z, '\0'), gone: [] },
      {
        name: 'of an invalid client id',
        deleteSome: z => store().tokens.deleteSomeOfClient(z, '\ud800'),
        gone: [],
      },
    ]
    for (const { name, deleteSome, gone } of cases) {
      it(`deletes those ${name}, expired or used, and no others`, async () => {
        const [mine, theirs] = [newZone(), newZone()]
        for (const zoneId of [mine, theirs]) {
          await insert(
            zoneId,
            { idDigest: 'a', userId: 'u1', grantId: 'grant' },
            { idDigest: 'b', userId: 'u1', clientId: 'other', grantId: 'grant' },
            { idDigest: 'c', userId: 'u2' },
            { idDigest: 'd' },
            { idDigest: 'e', userId: 'app' },
            { idDigest: 'f', clientId: 'u1' },
            { idDigest: 'x', userId: 'u1', kind: 'refresh_token', usedAt: at(1), expiresAt: at(2) },
          )
        }
        assert.equal(await deleteSome(mine), gone.length)
        assert.equal(await deleteSome(mine), 0)
        assert.deepEqual(
          await left(mine, all),
          all.filter(id => !gone.includes(id)),
        )
        assert.deepEqual(await left(theirs, all), all)
      })
    }

    it('works in batches until none is left, also in concurrent processes', async () => {
      const z = newZone()
      await insert(z, ...Array.from({ length: 1300 }, (_, number) => ({ idDigest: `t${number}`, userId: 'u1' })))
      assert.equal(await store().tokens.deleteSomeOfUser(z, 'u1', 'app'), 500)
      const other = await open()
      const finish = async (by: Store): Promise<number> => {
        let count = 0
        for (;;) {
          const some = await by.tokens.deleteSomeOfUser(z, 'u1', 'app')
          if (some > 0) count += some
          else {
            assert.deepEqual(await by.tokens.listOfUser(z, 'u1', at(0)), [])
            return count
          }
        }
      }
      const counts = await Promise.all([store(), other, store(), other].map(finish))
      await other.close()
      assert.equal(
        counts.reduce((sum, count) => sum + count, 0),
        800,
      )
    })
  })

  describe('A reused refresh token', () => {
    const family = async (): Promise<string> => {
      const z = newZone()
      const shared = { kind: 'refresh_token', grantId: 'grant', userId: 'u1' } as const
      await insert(
        z,
        { ...shared, idDigest: 'first', usedAt: at(5) },
        { ...shared, idDigest: 'second', issuedAt: at(5) },
        { ...shared, idDigest: 'stranger', grantId: 'another' },
        { idDigest: 'access', grantId: 'grant' },
      )
      return z
    }
    const first = { idDigest: 'first', grantId: 'grant', usedAt: at(5) }
    const usedAt = async (z: string, id: string): Promise<Date | undefined> =>
      (await store().tokens.find(z, id))?.usedAt

    it('replaces its successor', async () => {
      const z = await family()
      assert.deepEqual(await store().tokens.useAgain(z, first, at(8)), ['second'])
      assert.deepEqual([await usedAt(z, 'first'), await usedAt(z, 'second')], [at(8), at(5)])
      assert.deepEqual([await usedAt(z, 'stranger'), await usedAt(z, 'access')], [undefined, undefined])
      assert.equal(await store().tokens.use(z, 'second', at(9)), false)
    })

    const refused = [
      { name: 'if its successor was used', before: (z: string) => store().tokens.use(z, 'second', at(7)) },
      { name: 'if it was reused already', before: (z: string) => store().tokens.useAgain(z, first, at(7)) },
      { name: 'if it was deleted', before: (z: string) => store().tokens.delete(z, 'first') },
      { name: 'if its grant was revoked', before: (z: string) => store().tokens.revokeGrant(z, 'grant', at(100)) },
    ]
    for (const { name, before } of refused) {
      it(`is rejected ${name}`, async () => {
        const z = await family()
        await before(z)
        const had = [await usedAt(z, 'first'), await usedAt(z, 'second')]
        assert.equal(await store().tokens.useAgain(z, first, at(8)), undefined)
        assert.deepEqual([await usedAt(z, 'first'), await usedAt(z, 'second')], had)
      })
    }

    it('is unused again once its use is undone, if it is still the newest', async () => {
      const [z, other] = [await family(), await family()]
      await store().tokens.undoUse(z, { idDigest: 'first', usedAt: at(4) })
      assert.deepEqual(await usedAt(z, 'first'), at(5))
      await store().tokens.undoUse(z, { idDigest: 'first', usedAt: at(5) })
      assert.deepEqual([await usedAt(z, 'first'), await usedAt(other, 'first')], [undefined, at(5)])
      assert.equal(await store().tokens.use(z, 'first', at(6)), true)
    })

    it('is restored with its successor once the second use is undone', async () => {
      const z = await family()
      const before = { usedAt: at(5), replaced: ['second'] }
      assert.deepEqual(await store().tokens.useAgain(z, first, at(8)), before.replaced)
      await store().tokens.undoUse(z, { idDigest: 'first', usedAt: at(7), before })
      assert.deepEqual([await usedAt(z, 'first'), await usedAt(z, 'second')], [at(8), at(5)])
      await store().tokens.undoUse(z, { idDigest: 'first', usedAt: at(8), before })
      assert.deepEqual([await usedAt(z, 'first'), await usedAt(z, 'second')], [at(5), undefined])
      assert.deepEqual(await store().tokens.useAgain(z, first, at(9)), ['second'])
    })

    it('must have been used, and be of the zone', async () => {
      const [z, other] = [await family(), await family()]
      const second = { idDigest: 'second', grantId: 'grant', usedAt: at(5) }
      assert.equal(await store().tokens.useAgain(z, second, at(8)), undefined)
      assert.deepEqual(await store().tokens.useAgain(z, first, at(8)), ['second'])
      assert.deepEqual([await usedAt(other, 'first'), await usedAt(other, 'second')], [at(5), undefined])
    })

    it('is accepted from one of concurrent requests', async () => {
      const z = await family()
      const other = await open()
      const both = Array.from({ length: 20 }, (_, number) => (number % 2 === 0 ? store() : other))
      const [own, others] = await Promise.all([
        Promise.all(both.map(one => one.tokens.useAgain(z, first, at(8)))),
        elsewhere('use-again', z),
      ])
      await other.close()
      assert.equal(winners([...own, ...[others].flat()]), 1)
    })

    it('and its successor are never both used, in repeated races', async () => {
      for (let round = 0; round < 20; round += 1) {
        const z = await family()
        const outcomes = await Promise.all([
          store().tokens.useAgain(z, first, at(8)),
          store().tokens.use(z, 'second', at(8)),
          store().tokens.useAgain(z, first, at(8)),
          store().tokens.use(z, 'second', at(8)),
        ])
        assert.equal(winners(outcomes), 1)
      }
    })
  })

  describe('A token without a row', () => {
    it('is revoked by id in its zone', async () => {
      const [mine, theirs] = [newZone(), newZone()]
      await insert(mine, { idDigest: 'jti', grantId: 'jti' })
      await store().tokens.revokeUnstored(mine, 'jti', at(100))
      const isRevoked = (z: string, ids: { grantId: string | undefined; tokenId: string }): Promise<boolean> =>
        store().tokens.isRevoked(z, ids)
      assert.equal(await isRevoked(mine, { grantId: undefined, tokenId: 'jti' }), true)
      assert.equal(await isRevoked(mine, { grantId: 'other', tokenId: 'jti' }), true)
      assert.equal(await isRevoked(mine, { grantId: 'other', tokenId: 'another' }), false)
      assert.equal(await isRevoked(mine, { grantId: undefined, tokenId: '' }), false)
      assert.equal(await isRevoked(theirs, { grantId: undefined, tokenId: 'jti' }), false)
      assert.deepEqual(await left(mine, ['jti']), ['jti'], 'nothing is deleted')
    })

    it('can be revoked concurrently, until a day after the latest expiry given', async () => {
      const database = await open()
      const z = newZone()
      await Promise.all([50, 200, 100].map(seconds => database.tokens.revokeUnstored(z, 'jti', at(seconds))))
      await database.tokens.revokeUnstored(z, 'jti', at(10))
      await database.purge(at(86_400 + 200))
      assert.equal(await database.tokens.isRevoked(z, { grantId: undefined, tokenId: 'jti' }), true)
      await database.purge(at(86_400 + 201))
      assert.equal(await database.tokens.isRevoked(z, { grantId: undefined, tokenId: 'jti' }), false)
      await database.close()
    })
  })

  describe('Deleting a token', () => {
    it('succeeds for one of concurrent requests', async () => {
      const z = newZone()
      await insert(z, {})
      const other = await open()
      const both = Array.from({ length: 20 }, (_, number) => (number % 2 === 0 ? store() : other))
      const [own, others] = await Promise.all([
        Promise.all(both.map(one => one.tokens.delete(z, 't1'))),
        elsewhere('delete', z),
      ])
      await other.close()
      assert.equal(winners([...own, ...[others].flat()]), 1)
    })
  })

  describe('Token salts', () => {
    it('of a user change separately, in their zone only', async () => {
      const [mine, theirs] = [newZone(), newZone()]
      for (const zoneId of [mine, theirs]) {
        await store().users.insert(zoneId, user({ ...fullUser, zoneId }))
        await store().users.insert(zoneId, user({ zoneId, id: 'u2', userName: 'other' }))
      }
      await store().users.setSalt(mine, 'u1', 'new')
      await store().users.setSalt(mine, 'gone', 'new')
      assert.deepEqual(await store().users.find(mine, 'u1'), user({ ...fullUser, zoneId: mine, salt: 'new' }))
      assert.deepEqual(await store().users.find(mine, 'u2'), user({ zoneId: mine, id: 'u2', userName: 'other' }))
      assert.deepEqual(await store().users.find(theirs, 'u1'), user({ ...fullUser, zoneId: theirs }))
      assert.equal(await store().users.find(mine, 'gone'), undefined)
    })

    it('of a client change separately, in their zone only, and in the cache', async () => {
      const [mine, theirs] = [newZone(), newZone()]
      for (const zoneId of [mine, theirs]) {
        await store().clients.insert(zoneId, client({ ...fullClient, zoneId }))
        await store().clients.insert(zoneId, client({ zoneId, clientId: 'other' }))
        await store().clients.find(zoneId, 'app')
      }
      await store().clients.setTokenSalt(mine, 'app', 'new')
      await store().clients.setTokenSalt(mine, 'gone', 'new')
      assert.deepEqual(
        await store().clients.find(mine, 'app'),
        client({ ...fullClient, zoneId: mine, tokenSalt: 'new' }),
      )
      assert.deepEqual(await store().clients.find(mine, 'other'), client({ zoneId: mine, clientId: 'other' }))
      assert.deepEqual(await store().clients.find(theirs, 'app'), client({ ...fullClient, zoneId: theirs }))
      assert.equal(await store().clients.find(mine, 'gone'), undefined)
    })
  })
}
