// Test cases of every database for groups, their members and mappings.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Member, MemberType } from '../../src/model/users/group.ts'
import { InvalidFilter, parseFilter } from '../../src/model/filters/filter.ts'
import type { InvalidNesting, ListQuery, NoSuchMember } from '../../src/store/store.ts'
import { AlreadyExists, ChangedMeanwhile, TooManyDetails } from '../../src/store/store.ts'
import { at, group, user } from './records.ts'
import type { Lent } from './token-cases.ts'

const member = (memberId: string, memberType: MemberType = 'USER', origin = 'svc'): Member => ({
  memberId,
  memberType,
  origin,
})
const nobody = (memberId: string, memberType: MemberType) => (error: unknown) => {
  assert.deepEqual((error as NoSuchMember).member, { memberId, memberType })
  return true
}
const problem = (want: InvalidNesting['problem']) => (error: unknown) => {
  assert.equal((error as InvalidNesting).problem, want)
  return true
}

/** The cases of groups, inside the suite of a database. */
export function groupCases({ store, newZone }: Lent): void {
  /** Ten orders of the items: each begins elsewhere, and every other one goes backwards. */
  const ordersOf = <T>(items: readonly T[]): readonly (readonly T[])[] =>
    Array.from({ length: 10 }, (_, n) => {
      const start = Math.floor((items.length * n) / 10)
      const turned = [...items.slice(start), ...items.slice(0, start)]
      return n % 2 === 0 ? turned : turned.toReversed()
    })

  /** A zone with users `u0`… and groups `g0`… */
  async function zoneOf(count: { users?: number; groups?: number }): Promise<string> {
    const z = newZone()
    const { users, groups } = store()
    for (let n = 0; n < (count.users ?? 0); n += 1) {
      await users.insert(z, user({ zoneId: z, id: `u${n}`, userName: `u${n}` }))
    }
    for (let n = 0; n < (count.groups ?? 0); n += 1) {
      await groups.insert(z, group({ zoneId: z, id: `g${n}`, displayName: `g${n}` }))
    }
    return z
  }
  const nest = (z: string, inner: string, outer: string) =>
    store().groups.insertMember(z, { ...member(inner, 'GROUP'), groupId: outer })
  const join = (z: string, id: string, groupId: string) => store().groups.insertMember(z, { ...member(id), groupId })
  const namesOf = (z: string, id: string) => store().groups.namesOfUser(z, id)
  const ids = async (z: string, groupId: string) =>
    (await store().groups.listMembers(z, groupId, { count: 1000 })).map(({ memberId }) => memberId)

  it('adds several members in one transaction, and returns the number of new ones', async () => {
    const z = await zoneOf({ users: 3, groups: 2 })
    const { groups } = store()
    await join(z, 'u0', 'g0')
    const several = [member('u0'), member('u1', 'USER', 'corp'), member('g1', 'GROUP')]
    assert.equal(await groups.insertMembers(z, 'g0', several), 2)
    assert.deepEqual(await groups.findMember(z, 'g0', 'u1'), member('u1', 'USER', 'corp'))
    assert.deepEqual(await namesOf(z, 'u1'), ['g0'])
    assert.equal(await groups.insertMembers(z, 'g9', several), 'missing')
    const unknown = [member('u2'), member('u9')]
    await assert.rejects(groups.insertMembers(z, 'g0', unknown), nobody('u9', 'USER'))
    await assert.rejects(groups.insertMembers(z, 'g1', [member('u2'), member('g0', 'GROUP')]), problem('cycle'))
    assert.deepEqual([await ids(z, 'g0'), await ids(z, 'g1')], [['g1', 'u0', 'u1'], []])
  })

  it('returns all groups reached from accounts and mappings of an origin, including nested ones', async () => {
    const z = await zoneOf({ groups: 6 })
    const { groups, users } = store()
    await users.insert(z, user({ zoneId: z, id: 'ann', userName: 'ann', origin: 'corp' }))
    await users.insert(z, user({ zoneId: z, id: 'joe', userName: 'joe', origin: 'other' }))
    await join(z, 'ann', 'g0')
    await nest(z, 'g0', 'g1')
    await groups.addExternal(z, { groupId: 'g2', origin: 'corp', externalGroup: 'staff' })
    await nest(z, 'g2', 'g3')
    await join(z, 'joe', 'g4')
    await groups.addExternal(z, { groupId: 'g5', origin: 'other', externalGroup: 'staff' })
    const all = new Set(['g0', 'g1', 'g2', 'g3', 'g4', 'g5', 'none'])
    const of = async (origin: string, of = all) => [...(await groups.reachedFrom(z, of, origin))].toSorted()
    assert.deepEqual(await of('corp'), ['g0', 'g1', 'g2', 'g3'])
    assert.deepEqual(await of('other'), ['g4', 'g5'])
    assert.deepEqual(await of('corp', new Set(['g1', 'g4'])), ['g1'])
    assert.deepEqual([await of('corp', new Set()), await of('nobody')], [[], []])
  })

  describe('A group', () => {
    it('is created with users and groups as members', async () => {
      const z = await zoneOf({ users: 2, groups: 1 })
      const { groups } = store()
      const made = group({ zoneId: z, id: 'new', displayName: 'New', description: 'd' })
      const members = [member('g0', 'GROUP'), member('u0', 'USER', 'ldap'), member('u1')]
      await groups.insert(z, made, members)
      assert.deepEqual(await groups.find(z, 'new'), made)
      assert.deepEqual(await groups.listMembers(z, 'new', { count: 10 }), members)
      await join(z, 'u0', 'g0')
      assert.deepEqual(await namesOf(z, 'u0'), ['New', 'g0'])
    })

    const refusals = [
      { name: 'an unknown user', add: [member('u0'), member('none')], want: nobody('none', 'USER') },
      { name: 'an unknown group', add: [member('none', 'GROUP')], want: nobody('none', 'GROUP') },
      { name: 'a user given as a group', add: [member('u0', 'GROUP')], want: nobody('u0', 'GROUP') },
      { name: 'a group given as a user', add: [member('g0')], want: nobody('g0', 'USER') },
      { name: 'a user of another zone', add: [member('theirs')], want: nobody('theirs', 'USER') },
      { name: 'an invalid id', add: [member('u\0')], want: nobody('u\0', 'USER') },
    ]
    for (const { name, add, want } of refusals) {
      it(`is not created or changed with ${name}`, async () => {
        const z = await zoneOf({ users: 1, groups: 2 })
        const other = await zoneOf({})
        const { groups, users } = store()
        await users.insert(other, user({ zoneId: other, id: 'theirs' }))
        const made = group({ zoneId: z, id: 'new', displayName: 'new' })
        await assert.rejects(groups.insert(z, made, add), want)
        assert.equal(await groups.find(z, 'new'), undefined)
        await join(z, 'u0', 'g1')
        const changed = group({ zoneId: z, id: 'g1', displayName: 'renamed' })
        await assert.rejects(groups.change(z, changed, { remove: 'others', add }), want)
        assert.equal((await groups.find(z, 'g1'))?.displayName, 'g1')
        assert.deepEqual(await ids(z, 'g1'), ['u0'])
        const [last = member('')] = add.slice(-1)
        await assert.rejects(groups.insertMember(z, { ...last, groupId: 'g1' }), want)
      })
    }

    it('is updated with its members only if the version matches', async () => {
      const z = await zoneOf({ users: 3, groups: 1 })
      const { groups } = store()
      const before = group({ zoneId: z, id: 'g0', displayName: 'g0' })
      for (const id of ['u0', 'u1']) await join(z, id, 'g0')
      const renamed = { ...before, displayName: 'x', description: 'y', updatedAt: at(5) }
      await groups.change(z, renamed, { remove: 'others', add: [member('u1', 'USER', 'ldap'), member('u2')] })
      assert.deepEqual(await groups.find(z, 'g0'), { ...renamed, version: 1 })
      assert.deepEqual(await groups.listMembers(z, 'g0', { count: 10 }), [member('u1'), member('u2')])
      await assert.rejects(groups.change(z, renamed, { remove: 'others', add: [] }), ChangedMeanwhile)
      assert.deepEqual(await ids(z, 'g0'), ['u1', 'u2'])
      await groups.change(z, { ...before, version: 1 }, { remove: ['u1', 'none'], add: [member('u0')] })
      assert.deepEqual(await groups.find(z, 'g0'), { ...before, version: 2 })
      assert.deepEqual(await ids(z, 'g0'), ['u0', 'u2'])
      const missing = { ...before, id: 'none', displayName: 'none' }
      await assert.rejects(groups.change(z, missing, { remove: [], add: [] }), ChangedMeanwhile)
    })

    it('is updated by one of several concurrent requests with the same version', async () => {
      const z = await zoneOf({ groups: 1 })
      const known = group({ zoneId: z, id: 'g0', displayName: 'g0' })
      const done = await Promise.allSettled(
        ['a', 'b', 'c'].map(description =>
          store().groups.change(z, { ...known, description }, { remove: [], add: [] }),
        ),
      )
      assert.equal(done.filter(({ status }) => status === 'fulfilled').length, 1)
      for (const each of done) assert.ok(each.status === 'fulfilled' || each.reason instanceof ChangedMeanwhile)
      assert.equal((await store().groups.find(z, 'g0'))?.version, 1)
    })

    it('cannot have another group’s name, ignoring case', async () => {
      const z = await zoneOf({ groups: 2 })
      const { groups } = store()
      const taken = group({ zoneId: z, id: 'g0', displayName: 'G1' })
      await assert.rejects(groups.change(z, taken, { remove: [], add: [] }), AlreadyExists)
      await assert.rejects(groups.insert(z, { ...taken, id: 'new' }), AlreadyExists)
      await groups.insertMissing(z, [{ ...taken, id: 'new' }])
      assert.equal((await groups.findByName(z, 'G1'))?.id, 'g1')
    })

    it('is created with others by concurrent requests, in any order', async () => {
      const z = await zoneOf({})
      const made = Array.from({ length: 100 }, (_, n) => group({ zoneId: z, id: `new${n}`, displayName: `new.${n}` }))
      await Promise.all(ordersOf(made).map(each => store().groups.insertMissing(z, each)))
      assert.equal(
        (
          await store().groups.findByNames(
            z,
            made.map(each => each.displayName),
          )
        ).length,
        100,
      )
    })

    it('has exactly the replaced members, for any number and any ids', async () => {
      const z = await zoneOf({ groups: 1 })
      const { groups, users } = store()
      const all = Array.from({ length: 200 }, (_, n) => `${n % 2 ? 'é' : ''}${n % 3 ? '\u{1f600}' : '\uffee'}${n}`)
      for (const id of all) await users.insert(z, user({ zoneId: z, id, userName: id }))
      let version = 0
      const replace = async (wanted: readonly string[]): Promise<void> => {
        const record = group({ zoneId: z, id: 'g0', displayName: 'g0', version })
        await groups.change(z, record, { remove: 'others', add: wanted.map(id => member(id)) })
        version += 1
        assert.deepEqual(new Set(await ids(z, 'g0')), new Set(wanted))
        assert.equal((await ids(z, 'g0')).length, wanted.length)
      }
      await replace(all)
      await replace(all.filter((_, n) => n % 3 !== 0))
      await replace(all.slice(50, 120).toReversed())
      await replace(all.slice(0, 1))
      await replace(all.slice(100))
      await replace([])
    })

    it('is deleted with its memberships, in both directions, and its mappings', async () => {
      const z = await zoneOf({ users: 1, groups: 3 })
      const { groups } = store()
      await join(z, 'u0', 'g0')
      await nest(z, 'g0', 'g1')
      await nest(z, 'g1', 'g2')
      await groups.addExternal(z, { groupId: 'g1', origin: 'ldap', externalGroup: 'x' })
      await assert.rejects(groups.delete(z, 'g1', 3), ChangedMeanwhile)
      assert.deepEqual(await namesOf(z, 'u0'), ['g0', 'g1', 'g2'])
      await groups.delete(z, 'g1', 0)
      assert.deepEqual(await namesOf(z, 'u0'), ['g0'])
      assert.deepEqual(await ids(z, 'g2'), [])
      assert.equal((await groups.listExternal(z, { startIndex: 1, count: 10 })).totalResults, 0)
      await assert.rejects(groups.delete(z, 'g1', 0), ChangedMeanwhile)
      await groups.insert(z, group({ zoneId: z, id: 'g1', displayName: 'g1' }))
      assert.deepEqual(await namesOf(z, 'u0'), ['g0'])
    })
  })

  describe('Group members', () => {
    it('are added, found and removed', async () => {
      const z = await zoneOf({ users: 1, groups: 2 })
      const { groups } = store()
      assert.equal(await join(z, 'u0', 'g0'), 'added')
      assert.equal(await join(z, 'u0', 'g0'), 'same')
      assert.equal(await join(z, 'u0', 'none'), 'missing')
      assert.equal(await nest(z, 'g1', 'none'), 'missing')
      assert.deepEqual(await groups.findMember(z, 'g0', 'u0'), member('u0'))
      assert.equal(await groups.findMember(z, 'g1', 'u0'), undefined)
      assert.deepEqual(await groups.removeMember(z, 'g0', 'u0'), member('u0'))
      assert.equal(await groups.removeMember(z, 'g0', 'u0'), undefined)
      assert.equal((await groups.find(z, 'g0'))?.version, 0)
    })

    it('are listed in pages, optionally with their records', async () => {
      const z = await zoneOf({ users: 3, groups: 2 })
      const { groups, users } = store()
      for (const id of ['u2', 'u0', 'u1']) await join(z, id, 'g0')
      await nest(z, 'g1', 'g0')
      assert.deepEqual(await ids(z, 'g0'), ['g1', 'u0', 'u1', 'u2'])
      assert.deepEqual(await groups.listMembers(z, 'g0', { after: 'g1', count: 2 }), [member('u0'), member('u1')])
      assert.deepEqual(await groups.listMemberRecords(z, 'g0', { after: 'u1', count: 2 }), [
        { member: member('u2'), user: await users.find(z, 'u2') },
      ])
      assert.deepEqual(await groups.listMemberRecords(z, 'g0', { count: 1 }), [
        { member: member('g1', 'GROUP'), group: await groups.find(z, 'g1') },
      ])
      assert.deepEqual(await groups.listMemberRecords(z, 'none', { count: 1 }), [])
      await join(z, 'u0', 'g1')
      const rows = await groups.listMembersOfGroups(z, ['g1', 'g0', 'none'], 10)
      assert.deepEqual(
        rows.map(row => `${row.groupId} ${row.memberId}`),
        ['g0 g1', 'g0 u0', 'g0 u1', 'g0 u2', 'g1 u0'],
      )
      assert.equal((await groups.listMembersOfGroups(z, ['g0'], 2)).length, 2)
      assert.deepEqual(await groups.listMembersOfGroups(z, [], 2), [])
    })
  })

  describe('Nested groups', () => {
    it('are included until the last path to them is removed', async () => {
      const z = await zoneOf({ users: 1, groups: 5 })
      const { groups } = store()
      await join(z, 'u0', 'g0')
      // Two ways from g0 to g3: by g1 and by g2.
      for (const [inner, outer] of [
        ['g1', 'g3'],
        ['g0', 'g1'],
        ['g0', 'g2'],
        ['g2', 'g3'],
        ['g3', 'g4'],
      ] as const) {
        assert.equal(await nest(z, inner, outer), 'added')
        assert.equal(await nest(z, inner, outer), 'same')
      }
      assert.deepEqual(await namesOf(z, 'u0'), ['g0', 'g1', 'g2', 'g3', 'g4'])
      assert.deepEqual((await groups.listOuter(z, 'g0')).map(({ id }) => id).toSorted(), ['g1', 'g2', 'g3', 'g4'])
      await groups.removeMember(z, 'g3', 'g1')
      assert.deepEqual(await namesOf(z, 'u0'), ['g0', 'g1', 'g2', 'g3', 'g4'])
      await groups.removeMember(z, 'g3', 'g2')
      assert.deepEqual(await namesOf(z, 'u0'), ['g0', 'g1', 'g2'])
      const g2 = group({ zoneId: z, id: 'g2', displayName: 'g2' })
      await groups.change(z, g2, { remove: 'others', add: [] })
      assert.deepEqual(await namesOf(z, 'u0'), ['g0', 'g1'])
      await groups.change(z, { ...g2, version: 1 }, { remove: [], add: [member('g0', 'GROUP')] })
      await groups.change(z, { ...g2, version: 2 }, { remove: ['g0'], add: [] })
      assert.deepEqual(await namesOf(z, 'u0'), ['g0', 'g1'])
    })

    it('are distinguished from direct ones, for many users at once', async () => {
      const z = await zoneOf({ users: 3, groups: 3 })
      const { users } = store()
      await join(z, 'u0', 'g0')
      await join(z, 'u1', 'g1')
      await join(z, 'u0', 'g2')
      await nest(z, 'g0', 'g1')
      await nest(z, 'g1', 'g2')
      const found = await users.listGroups(z, ['u0', 'u1', 'u2', 'none'])
      const shown = [...found].flatMap(([userId, of]) => of.map(each => `${userId} ${each.id} ${String(each.direct)}`))
      assert.deepEqual(shown.toSorted(), ['u0 g0 true', 'u0 g1 false', 'u0 g2 true', 'u1 g1 true', 'u1 g2 false'])
    })

    it('are limited to 10,000 for a user', async () => {
      const z = await zoneOf({ users: 1 })
      const { groups, users } = store()
      const made = Array.from({ length: 10_001 }, (_, n) => group({ zoneId: z, id: `m${n}`, displayName: `m${n}` }))
      await groups.insertMissing(z, made)
      const mine = { userId: 'u0', origin: 'corp' }
      await groups.changeOwned(z, mine, { remove: [], add: made.map(({ id }) => id) })
      await nest(z, 'm1', 'm2') // which the user reaches twice
      await assert.rejects(groups.namesOfUser(z, 'u0'), TooManyDetails)
      await assert.rejects(users.findWithGroups(z, 'u0'), TooManyDetails)
      await assert.rejects(users.listGroups(z, ['u0']), TooManyDetails)
      await groups.changeOwned(z, mine, { remove: ['m0'], add: [] })
      assert.equal((await groups.namesOfUser(z, 'u0')).length, 10_000)
      assert.equal((await users.findWithGroups(z, 'u0'))?.groupNames?.length, 10_000)
      assert.equal((await users.listGroups(z, ['u0'])).get('u0')?.length, 10_000)
    })

    it('reject a group within itself and cycles of any length', async () => {
      const z = await zoneOf({ groups: 4 })
      const { groups } = store()
      await assert.rejects(nest(z, 'g0', 'g0'), problem('itself'))
      await nest(z, 'g0', 'g1')
      await assert.rejects(nest(z, 'g1', 'g0'), problem('cycle'))
      await nest(z, 'g1', 'g2')
      await assert.rejects(nest(z, 'g2', 'g0'), problem('cycle'))
      const g0 = group({ zoneId: z, id: 'g0', displayName: 'g0' })
      const add = [member('g3', 'GROUP'), member('g2', 'GROUP')]
      await assert.rejects(groups.change(z, g0, { remove: 'others', add }), problem('cycle'))
      assert.deepEqual(await ids(z, 'g0'), [])
      assert.equal((await groups.find(z, 'g0'))?.version, 0)
    })

    it('reject cycles created concurrently', async () => {
      const z = await zoneOf({ groups: 3 })
      const links = ['g0', 'g1', 'g2'].flatMap(inner => ['g0', 'g1', 'g2'].map(outer => nest(z, inner, outer)))
      const done = await Promise.allSettled(links)
      assert.equal(done.filter(({ status }) => status === 'fulfilled').length, 3, 'only links without a cycle')
      for (const id of ['g0', 'g1', 'g2']) {
        const outer = (await store().groups.listOuter(z, id)).map(each => each.id)
        assert.ok(!outer.includes(id), `${id} is in itself`)
      }
    })

    it('agree with a reference model after any sequence of changes', async () => {
      const id = fc.integer({ min: 0, max: 6 }).map(n => `g${n}`)
      const step = fc.oneof(
        { weight: 5, arbitrary: fc.record({ kind: fc.constant('nest' as const), inner: id, outer: id }) },
        { weight: 2, arbitrary: fc.record({ kind: fc.constant('leave' as const), inner: id, outer: id }) },
        { weight: 1, arbitrary: fc.record({ kind: fc.constant('replace' as const), inner: id, outer: id }) },
        { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), inner: id, outer: id }) },
      )
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async steps => {
          const z = await zoneOf({ groups: 7 })
          const { groups } = store()
          const edges = new Map<string, Set<string>>() // inner to outer
          const outerOf = (inner: string): Set<string> => edges.get(inner) ?? new Set()
          const reached = (from: string, found = new Set<string>()): Set<string> => {
            for (const outer of outerOf(from)) {
              if (found.has(outer)) continue
              found.add(outer)
              reached(outer, found)
            }
            return found
          }
          const empty = (outer: string) => edges.forEach(set => set.delete(outer))
          for (const { kind, inner, outer } of steps) {
            const known = await groups.find(z, outer)
            const other = await groups.find(z, inner)
            if (!known || !other) continue
            const isCycle = inner === outer || reached(outer).has(inner)
            if (kind === 'nest') {
              const nesting = nest(z, inner, outer)
              if (isCycle) await assert.rejects(nesting)
              else {
                await nesting
                edges.set(inner, outerOf(inner).add(outer))
              }
            } else if (kind === 'leave') {
              await groups.removeMember(z, outer, inner)
              outerOf(inner).delete(outer)
            } else if (kind === 'replace' && !isCycle) {
              await groups.change(z, known, { remove: 'others', add: [member(inner, 'GROUP')] })
              empty(outer)
              edges.set(inner, outerOf(inner).add(outer))
            } else if (kind === 'delete') {
              await groups.delete(z, outer, known.version)
              empty(outer)
              edges.delete(outer)
            }
            for (let n = 0; n < 7; n += 1) {
              const found = (await groups.listOuter(z, `g${n}`)).map(each => each.id)
              assert.deepEqual(new Set(found), reached(`g${n}`))
            }
          }
        }),
        { numRuns: 8 },
      )
    })

    it('are limited to a depth of twenty', async () => {
      const z = await zoneOf({ groups: 23 })
      for (let n = 0; n < 10; n += 1) await nest(z, `g${n}`, `g${n + 1}`)
      for (let n = 11; n < 20; n += 1) await nest(z, `g${n}`, `g${n + 1}`)
      await nest(z, 'g10', 'g11')
      await assert.rejects(nest(z, 'g20', 'g21'), problem('too deep'))
      await assert.rejects(nest(z, 'g21', 'g0'), problem('too deep'))
      await nest(z, 'g21', 'g1')
    })
  })

  describe('The list of groups', () => {
    it('is filtered, sorted and paged by UAA’s attribute names', async () => {
      const z = await zoneOf({})
      const { groups } = store()
      for (const [id, displayName, description] of [
        ['a', 'Zeta.read', undefined],
        ['b', 'alpha.read', 'The B'],
        ['c', 'beta%write', ''],
      ] as const) {
        const made = group({ zoneId: z, id, displayName, createdAt: at(id === 'a' ? 9 : 1) })
        await groups.insert(z, { ...made, ...(description !== undefined && { description }) })
      }
      const query: ListQuery = {
        filter: parseFilter('id pr'),
        sortBy: 'created',
        descending: false,
        startIndex: 1,
        count: 100,
      }
      const rows: readonly [filter: string, sortBy: string, want: readonly string[]][] = [
        ['id pr', 'created', ['b', 'c', 'a']],
        ['id pr', 'displayName', ['a', 'b', 'c']],
        ['displayname eq "ALPHA.read"', 'id', ['b']],
        ['displayName co "READ"', 'id', ['a', 'b']],
        ['displayName sw "beta%"', 'id', ['c']],
        ['displayName sw "b_ta"', 'id', []],
        ['description eq "the b"', 'id', ['b']],
        ['description pr', 'meta.version', ['b', 'c']],
        [`meta.created gt "${at(5).toISOString()}" or version gt 3`, 'lastModified', ['a']],
        ['identity_zone_id eq "elsewhere"', 'identity_zone_id', []],
      ]
      for (const [filter, sortBy, want] of rows) {
        const { records } = await groups.list(z, { ...query, filter: parseFilter(filter), sortBy })
        assert.deepEqual(
          records.map(({ id }) => id),
          want,
          `${filter} by ${sortBy}`,
        )
      }
      const page = await groups.list(z, { ...query, sortBy: 'id', descending: true, startIndex: 2, count: 1 })
      assert.deepEqual([page.totalResults, page.records[0]?.id], [3, 'b'])
      for (const filter of ['members.value eq "u0"', 'zoneId pr', 'nonsense pr', 'version eq "x"']) {
        await assert.rejects(groups.list(z, { ...query, filter: parseFilter(filter) }), InvalidFilter, filter)
      }
      await assert.rejects(groups.list(z, { ...query, sortBy: 'members' }), InvalidFilter)
    })
  })

  describe('Mappings of external groups', () => {
    it('are stored once, listed in order, and deleted', async () => {
      const z = await zoneOf({ groups: 2 })
      const { groups } = store()
      const one = { groupId: 'g0', origin: 'ldap', externalGroup: 'cn=one', createdAt: at(1) }
      const two = { groupId: 'g1', origin: 'saml', externalGroup: 'admins' }
      for (const mapping of [one, two, { ...one, createdAt: at(7) }]) await groups.addExternal(z, mapping)
      assert.deepEqual(await groups.findExternal(z, { ...one, createdAt: at(9) }), one)
      const listed = async (query: object) =>
        (await groups.listExternal(z, { startIndex: 1, count: 10, ...query })).records.map(each => each.displayName)
      assert.deepEqual(await listed({}), ['g1', 'g0'])
      assert.deepEqual(await listed({ startIndex: 2 }), ['g0'])
      assert.deepEqual(await listed({ count: 0 }), [])
      assert.deepEqual(await listed({ origin: 'ldap' }), ['g0'])
      assert.deepEqual(await listed({ origin: 'saml', externalGroup: 'admins' }), ['g1'])
      assert.deepEqual(await listed({ externalGroup: 'ADMINS' }), [])
      assert.deepEqual(await listed({ externalGroup: 'a\0' }), [])
      assert.equal(await groups.deleteExternal(newZone(), one), false)
      assert.equal(await groups.deleteExternal(z, one), true)
      assert.equal(await groups.deleteExternal(z, one), false)
      assert.deepEqual(await listed({}), ['g1'])
    })
  })

  describe('Memberships owned by a provider', () => {
    const owned = async (z: string, userId: string, origin: string) =>
      (await store().groups.listDirect(z, userId))
        .flatMap(each => (each.origin === origin ? [each.groupId] : []))
        .toSorted((a, b) => a.localeCompare(b))
    const change = (z: string, origin: string, remove: readonly string[], add: readonly string[]) =>
      store().groups.changeOwned(z, { userId: 'u0', origin }, { remove, add })

    it('are changed without affecting others', async () => {
      const z = await zoneOf({ users: 2, groups: 4 })
      await join(z, 'u0', 'g0')
      await join(z, 'u1', 'g1')
      await change(z, 'corp', [], ['g0', 'g1', 'g2', 'none'])
      await change(z, 'other', [], ['g2', 'g3'])
      assert.deepEqual([await owned(z, 'u0', 'corp'), await owned(z, 'u0', 'other')], [['g1', 'g2'], ['g3']])
      await change(z, 'corp', ['g0', 'g1', 'g3', 'none'], [])
      assert.deepEqual([await owned(z, 'u0', 'corp'), await namesOf(z, 'u0')], [['g2'], ['g0', 'g2', 'g3']])
      assert.deepEqual(await namesOf(z, 'u1'), ['g1'])
    })

    it('may be many, and are ignored for an unknown user', async () => {
      const z = await zoneOf({ users: 1, groups: 130 })
      const all = Array.from({ length: 130 }, (_, n) => `g${n}`)
      await change(z, 'corp', [], all)
      assert.equal((await owned(z, 'u0', 'corp')).length, 130)
      await change(z, 'corp', all.slice(1), [])
      assert.deepEqual(await owned(z, 'u0', 'corp'), ['g0'])
      await store().groups.changeOwned(z, { userId: 'gone', origin: 'corp' }, { remove: ['g1'], add: ['g0'] })
      assert.deepEqual(await owned(z, 'gone', 'corp'), [])
    })

    it('are changed by concurrent sign-ins, with groups in any order', async () => {
      const z = await zoneOf({ users: 1, groups: 130 })
      const all = Array.from({ length: 130 }, (_, n) => `g${n}`)
      await Promise.all(ordersOf(all).map(each => change(z, 'corp', [], each)))
      assert.equal((await owned(z, 'u0', 'corp')).length, 130)
      await Promise.all(ordersOf(all).map(each => change(z, 'corp', each, [])))
      assert.deepEqual(await owned(z, 'u0', 'corp'), [])
    })

    it('are found from the mappings of an origin in its zone, with the outer groups', async () => {
      const z = await zoneOf({ groups: 4 })
      const map = (groupId: string, externalGroup: string, origin = 'corp') =>
        store().groups.addExternal(z, { groupId, externalGroup, origin })
      await map('g0', 'staff')
      await map('g1', 'staff')
      await map('g1', 'cn=dev')
      await map('g2', 'staff', 'other')
      const found = await store().groups.findMapped(z, 'corp', ['staff', 'cn=dev', 'none', 'bad\u0000name'])
      assert.deepEqual(
        found.toSorted((a, b) => a.id.localeCompare(b.id)),
        [
          { id: 'g0', displayName: 'g0' },
          { id: 'g1', displayName: 'g1' },
        ],
      )
      assert.deepEqual(await store().groups.findMapped(newZone(), 'corp', ['staff']), [])
      const odd = ['cn=a\\,b', 'cn=a+uid=1', 'cn=#61', 'cn=a  b', 'cn=a ,dc=x', 'cn=a, dc=x', 'cn =a', 'cn= a']
      for (const dn of odd) await map('g2', dn)
      await map('g2', 'cn=c b,dc=x')
      await map('g2', 'cn=a, dc=y', 'other')
      const oddly = await store().groups.listOddlyMapped(z, 'corp')
      assert.deepEqual(oddly.map(({ externalGroup }) => externalGroup).toSorted(), odd.toSorted())
      assert.deepEqual(new Set(oddly.map(({ id, displayName }) => `${id} ${displayName}`)), new Set(['g2 g2']))
      await nest(z, 'g0', 'g1')
      await nest(z, 'g1', 'g3')
      const outer = await store().groups.listOuterNames(z, ['g0', 'g2'])
      assert.deepEqual(
        outer.map(({ inner, displayName }) => `${inner} in ${displayName}`).toSorted((a, b) => a.localeCompare(b)),
        ['g0 in g1', 'g0 in g3'],
      )
    })
  })

  describe('Groups with SCIM 2.0 attributes', () => {
    it('are found by members and externalId, and paged by cursor', async () => {
      const z = await zoneOf({ users: 2, groups: 4 })
      const { groups } = store()
      const found = await groups.find(z, 'g2')
      assert.ok(found)
      await groups.change(z, { ...found, externalId: 'E', description: 'Two' }, { remove: [], add: [member('u1')] })
      await groups.insertMember(z, { ...member('u1'), groupId: 'g0' })
      for (const [text, want] of [
        ['members.value eq "u1"', ['g0', 'g2']],
        ['members eq "u1" and id eq "g2"', ['g2']],
        ['members[value eq "u1"]', ['g0', 'g2']],
        ['members.value eq "u0"', []],
        ['externalId eq "E"', ['g2']],
        ['externalId eq "e"', []],
        ['displayName sw "G" and not (members pr)', ['g1', 'g3']],
        ['urn:ietf:params:scim:schemas:extension:latchkey:2.0:Group:description eq "two"', ['g2']],
        ['meta.created ge "2030-01-01T01:00:00+01:00"', ['g0', 'g1', 'g2', 'g3']],
      ] as const) {
        const query = {
          filter: parseFilter(text, 'scim'),
          sortBy: 'displayName',
          descending: false,
          dialect: 'scim',
        } as const
        const { records } = await groups.list(z, { ...query, startIndex: 1, count: 9 })
        assert.deepEqual(
          records.map(({ id }) => id),
          want,
          text,
        )
        const first = await groups.page(z, { ...query, count: 1 })
        const rest = first.next && (await groups.page(z, { ...query, count: 9, after: first.next }))
        assert.deepEqual(
          [...first.records, ...(rest?.records ?? [])].map(({ id }) => id),
          want,
          text,
        )
      }
      assert.equal((await groups.find(z, 'g2'))?.externalId, 'E')
      const query = { filter: parseFilter('origin pr', 'scim'), sortBy: 'id', descending: false, count: 1 }
      await assert.rejects(groups.page(z, { ...query, dialect: 'scim' }), InvalidFilter)
    })
  })
}
