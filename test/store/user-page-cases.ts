// Test cases of every database for filters of SCIM 2.0 and pages by cursor: the same results as `matches` on the resources,
// and every user once while others are created and deleted.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import fc from 'fast-check'
import type { JsonRecord } from '../../src/base/json.ts'
import { lowerAscii, matches } from '../../src/model/filters/filter-match.ts'
import type { Comparison, Filter, FilterValue } from '../../src/model/filters/filter.ts'
import { InvalidFilter, SCIM_COMPARISONS, filterText, parseFilter } from '../../src/model/filters/filter.ts'
import type { User } from '../../src/model/users/user.ts'
import { userNameKey } from '../../src/model/users/user.ts'
import type { CursorQuery, Position } from '../../src/store/store.ts'
import { at, group, user } from './records.ts'
import type { Lent } from './token-cases.ts'

const CORE = 'urn:ietf:params:scim:schemas:core:2.0:User'
const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
const OWN = 'urn:ietf:params:scim:schemas:extension:latchkey:2.0:User'

const TEXTS = [
  'a',
  'A',
  'ab',
  'aB',
  'b%',
  'b_',
  'é',
  'É',
  'ß',
  'İ',
  'K',
  '\u{1f511}',
  '\uffee',
  "'",
  '--',
  '"',
  '\\',
  'x y',
]
const TYPES = ['work', 'Work', 'home']
/** Members of `g1` are members of `outer` too. */
const GROUPS = ['g1', 'g2'] as const

const accounts = (zoneId: string): readonly User[] =>
  fc
    .sample(
      fc.record({
        userName: fc.constantFrom(...TEXTS),
        email: fc.constantFrom(...TEXTS),
        givenName: fc.option(fc.constantFrom(...TEXTS), { nil: undefined }),
        familyName: fc.option(fc.constantFrom(...TEXTS, ''), { nil: undefined }),
        externalId: fc.option(fc.constantFrom(...TEXTS), { nil: undefined }),
        phoneNumber: fc.option(fc.constantFrom('1', '12', '2'), { nil: undefined }),
        active: fc.boolean(),
        verified: fc.boolean(),
        lastLogonAt: fc.option(fc.constantFrom(at(0), at(1)), { nil: undefined }),
        createdAt: fc.constantFrom(at(0), at(1), at(2)),
        updatedAt: fc.constantFrom(at(0), at(1)),
        nickName: fc.option(fc.constantFrom(...TEXTS), { nil: undefined }),
        profileUrl: fc.option(fc.constantFrom(...TEXTS), { nil: undefined }),
        department: fc.option(fc.constantFrom(...TEXTS), { nil: undefined }),
        manager: fc.option(fc.constantFrom('u1', 'u2'), { nil: undefined }),
        middleName: fc.option(fc.constantFrom(...TEXTS), { nil: undefined }),
        others: fc.array(fc.record({ value: fc.constantFrom(...TEXTS), type: fc.constantFrom(...TYPES, undefined) }), {
          maxLength: 2,
        }),
        ownType: fc.constantFrom(...TYPES, undefined),
        bare: fc.boolean(),
      }),
      { numRuns: 50, seed: 11 },
    )
    .map((drawn, index) => {
      const { nickName, profileUrl, department, manager, middleName, others, ownType, bare, ...members } = drawn
      const listed = [{ value: drawn.email, type: ownType, primary: true }, ...others]
      const profile = defined({
        nickName,
        profileUrl,
        ...(middleName !== undefined && { name: { middleName } }),
        enterprise: defined({ department, ...(manager !== undefined && { manager: { value: manager } }) }),
        emails: listed.map(entry => defined(entry)),
      })
      return user({
        ...defined({ ...members, ...(!bare && { profile }) }),
        zoneId,
        id: `u${String(index).padStart(2, '0')}`,
        userName: `${drawn.userName}${index % 7 === 0 ? '' : index}`,
        origin: index % 7 === 0 ? `o${index}` : 'svc',
        passwordHash: 'x', // so that external ids need not be unique
      })
    })

/** Without the members that are undefined. */
const defined = <T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never // absent, not undefined

/** The resource that filters are about. */
function resourceOf(of: User, groups: readonly string[]): JsonRecord {
  const { profile = {} } = of
  const emails = profile.emails ?? [{ value: of.email, primary: true }]
  return {
    id: of.id,
    externalId: of.externalId,
    userName: of.userName,
    name: { givenName: of.givenName, familyName: of.familyName, ...profile.name },
    nickName: profile.nickName,
    profileUrl: profile.profileUrl,
    active: of.active,
    emails: emails.map(entry => ({ ...entry, primary: entry.primary === true })),
    phoneNumbers: of.phoneNumber === undefined ? [] : [{ value: of.phoneNumber, primary: true }],
    groups: groups.map(id => ({ value: id, display: `Group ${id}` })),
    meta: { created: of.createdAt.toISOString(), lastModified: of.updatedAt.toISOString() },
    [ENTERPRISE]: profile.enterprise,
    [OWN]: { origin: of.origin, verified: of.verified, lastLogonTime: of.lastLogonAt?.toISOString() },
  }
}

const EXACT = new Set(
  ['id', 'externalId', 'profileUrl', 'groups', 'groups.value', `${OWN}:origin`, `${ENTERPRISE}:manager.value`].map(
    name => name.toLowerCase(),
  ),
)
const folding = (path: string): ((text: string) => string) => {
  const name = path.startsWith(CORE.toLowerCase()) ? path.slice(CORE.length + 1) : path
  if (name === 'username') return userNameKey
  return EXACT.has(name) ? text => text : lowerAscii
}

const filters = ((): fc.Arbitrary<Filter> => {
  const compare = (
    names: readonly string[],
    comparisons: readonly Comparison[],
    values: fc.Arbitrary<FilterValue>,
  ): fc.Arbitrary<Filter> =>
    fc
      .tuple(fc.constantFrom(...names), fc.constantFrom(...comparisons), values)
      .map(([attribute, comparison, value]) => ({ kind: 'compare', attribute, comparison, value }))
  const bothWays = ['eq', 'ne'] as const
  const ordered = SCIM_COMPARISONS.filter(word => !['co', 'sw', 'ew'].includes(word))
  const texts = fc.constantFrom(...TEXTS, '', 'a1', 'Ab', '2', 'e\u0301')
  const names = ['id', 'userName', 'externalId', 'name.familyName', 'name.middleName', 'nickName', 'profileUrl']
  const departments = [`${ENTERPRISE}:department`, `${OWN}:origin`, `${CORE}:name.givenName`, `${CORE}:emails.value`]
  const members = fc.oneof(
    compare(['value'], SCIM_COMPARISONS, texts),
    compare(['type'], SCIM_COMPARISONS, fc.constantFrom('work', 'home', 'o')),
    compare(['primary'], bothWays, fc.boolean()),
    fc.constant<Filter>({ kind: 'present', attribute: 'type' }),
  )
  const inBrackets = fc
    .tuple(fc.constantFrom('emails', 'phoneNumbers'), fc.array(members, { minLength: 2, maxLength: 2 }))
    .map(([attribute, parts]): Filter => ({ kind: 'values', attribute, filter: { kind: 'and', parts } }))
  const memberships = fc.oneof(
    compare(['value'], bothWays, fc.constantFrom(...GROUPS, 'outer', 'g3')),
    compare(['display'], SCIM_COMPARISONS, fc.constantFrom('group G1', 'Group', '2', 'OUTER')),
  )
  const groupInBrackets = fc
    .array(memberships, { minLength: 1, maxLength: 2 })
    .map((parts): Filter => ({ kind: 'values', attribute: 'groups', filter: { kind: 'and', parts } }))
  const all = [...names, ...departments, 'emails', 'phoneNumbers.value', 'meta.created', 'active', 'groups']
  const leaves = fc.oneof(
    compare(names, SCIM_COMPARISONS, texts),
    compare(departments, SCIM_COMPARISONS, texts),
    compare(['emails', 'emails.value', 'phoneNumbers'], SCIM_COMPARISONS, texts),
    compare(['emails.type'], SCIM_COMPARISONS, fc.constantFrom('WORK', 'h')),
    compare(['groups', 'groups.value'], bothWays, fc.constantFrom(...GROUPS, 'outer', 'g3')),
    compare(['groups.display'], SCIM_COMPARISONS, fc.constantFrom('group G1', 'Group', '2', 'OUTER')),
    compare(['active', `${OWN}:verified`, 'emails.primary'], bothWays, fc.boolean()),
    compare(
      ['meta.created', 'meta.lastModified', `${OWN}:lastLogonTime`],
      ordered,
      fc.constantFrom(at(1).toISOString(), '2030-01-01T01:00:00+01:00'),
    ),
    compare([`${ENTERPRISE}:manager.value`], SCIM_COMPARISONS, fc.constantFrom('u1', 'U2')),
    compare(all, bothWays, fc.constant(null)),
    fc.constantFrom(...all).map((attribute): Filter => ({ kind: 'present', attribute })),
    inBrackets,
    groupInBrackets,
  )
  return fc.letrec<{ tree: Filter }>(tie => ({
    tree: fc.oneof(
      { maxDepth: 2 },
      leaves,
      fc.record({
        kind: fc.constantFrom('and' as const, 'or' as const),
        parts: fc.array(tie('tree'), { minLength: 2, maxLength: 3 }),
      }),
      fc.record({ kind: fc.constant('not' as const), part: tie('tree') }),
    ),
  })).tree
})()

const SORTS = ['id', 'userName', 'meta.created', 'meta.lastModified', 'name.familyName', 'nickName', 'emails', 'active']
const EVERYONE = parseFilter('id pr', 'scim')

/** The cases of users by SCIM 2.0, inside the suite of a database. */
export function userPageCases({ store, newZone }: Lent): void {
  /** Every page from the first to the last, a page at a time. */
  async function walk(
    zoneId: string,
    query: Omit<CursorQuery, 'after'>,
    between: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<readonly string[]> {
    const ids: string[] = []
    let after: Position | undefined
    for (let pages = 0; pages < 100; pages += 1) {
      const { records, next } = await store().users.page(zoneId, { ...query, after, dialect: 'scim' })
      assert.ok(records.length === query.count || next === undefined)
      ids.push(...records.map(({ id }) => id))
      if (next === undefined) return ids
      after = next
      await between()
    }
    throw new Error('the pages do not end')
  }

  describe('Users with SCIM 2.0 attribute names', () => {
    let mine = ''
    let everyone: readonly User[] = []
    const resources = new Map<string, JsonRecord>()
    before(async () => {
      mine = newZone()
      const theirs = newZone()
      everyone = accounts(mine)
      for (const id of GROUPS) await store().groups.insert(mine, group({ id, displayName: `Group ${id}` }))
      await store().groups.insert(mine, group({ id: 'outer', displayName: 'Group outer' }))
      await store().groups.insertMember(mine, { groupId: 'outer', memberId: 'g1', memberType: 'GROUP', origin: 'svc' })
      for (const [index, each] of everyone.entries()) {
        const groups = GROUPS.filter((_, place) => (index + place) % 3 === 0)
        await store().users.insert(mine, each)
        await store().users.insert(theirs, each)
        for (const groupId of groups) {
          await store().groups.addMember(mine, { groupId, memberId: each.id, memberType: 'USER', origin: 'svc' })
        }
        const reached = groups.some(id => id === 'g1') ? [...groups, 'outer'] : groups
        resources.set(each.id, resourceOf(each, reached))
      }
    })

    it('are filtered like resources in memory, in lists and pages', async () => {
      await fc.assert(
        fc.asyncProperty(filters, async filter => {
          const want = [...resources].flatMap(([id, resource]) => (matches(filter, resource, folding) ? [id] : []))
          const page = { filter, sortBy: 'id', descending: false }
          const { records, totalResults } = await store().users.list(mine, {
            ...page,
            startIndex: 1,
            count: 100,
            dialect: 'scim',
          })
          assert.deepEqual(
            records.map(({ id }) => id),
            want,
            filterText(filter),
          )
          assert.equal(totalResults, want.length)
          assert.deepEqual(await walk(mine, { ...page, count: 20 }), want)
        }),
        { numRuns: 150 },
      )
    })

    it('are paged in the order of the list, absent values last, or first if descending', async () => {
      const sorts = fc.record({
        sortBy: fc.constantFrom(...SORTS),
        descending: fc.boolean(),
        count: fc.integer({ min: 1, max: 20 }),
        filter: fc.oneof(
          fc.constant(EVERYONE),
          fc.constantFrom(...['active eq true', 'userName sw "a"'].map(text => parseFilter(text, 'scim'))),
        ),
      })
      await fc.assert(
        fc.asyncProperty(sorts, async query => {
          const whole = { ...query, startIndex: 1, count: 100, dialect: 'scim' } as const
          const ids = (await store().users.list(mine, whole)).records.map(({ id }) => id)
          assert.deepEqual(await walk(mine, query), ids)
          const withName = (id: string): boolean => everyone.find(each => each.id === id)?.familyName !== undefined
          if (query.sortBy === 'name.familyName') {
            const have = ids.map(withName)
            assert.deepEqual(
              have,
              have.toSorted((a, b) => (query.descending ? 1 : -1) * (Number(a) - Number(b))),
            )
          }
        }),
        { numRuns: 60 },
      )
    })

    const refused = [
      'nothing pr',
      'meta.version pr',
      'created pr',
      'external_id pr',
      'email eq "a"',
      'password pr',
      'salt pr',
      'profile pr',
      'userName.value pr',
      'userName[value eq "a"]',
      'emails.display pr',
      'emails[display eq "a"]',
      'addresses.country eq "DE"',
      'department eq "a"',
      `${ENTERPRISE}:nothing pr`,
      `${CORE}:department pr`,
      'urn:other:userName pr',
      'active eq "true"',
      'active gt true',
      'meta.created co "2030"',
      'meta.created eq "2030-02-30T00:00:00Z"',
      'nickName eq "\\u0000"',
      'nickName eq "\\ud800"',
      'emails[value sw "\\udc00"]',
    ]
    for (const text of refused) {
      it(`reject the filter ${text}`, async () => {
        const query = { filter: parseFilter(text, 'scim'), sortBy: 'id', descending: false, dialect: 'scim' } as const
        await assert.rejects(() => store().users.list(mine, { ...query, startIndex: 1, count: 1 }), InvalidFilter)
        await assert.rejects(() => store().users.page(mine, { ...query, count: 1 }), InvalidFilter)
      })
    }

    it('are found by values with quotes and escapes', async () => {
      const z = newZone()
      const values = [
        `'`,
        `"`,
        `\\`,
        `\\'`,
        '%',
        '_',
        `' or 1=1 --`,
        `"; drop table users; --`,
        ':zone_id',
        '$1',
        '\u{10ffff}',
      ]
      for (const [place, value] of values.entries()) {
        const profile = { nickName: value, emails: [{ value, type: value }] }
        await store().users.insert(z, user({ zoneId: z, id: `u${place}`, userName: value, email: value, profile }))
      }
      const names = [
        'userName',
        'nickName',
        'emails',
        'emails.type',
        'name.givenName',
        'id',
        'externalId',
        `${OWN}:gender`,
      ]
      for (const name of names) {
        for (const comparison of ['eq', 'ne', 'co', 'sw', 'ew'] as const) {
          for (const [place, value] of values.entries()) {
            const filter: Filter = { kind: 'compare', attribute: name, comparison, value }
            const ids = await walk(z, { filter, sortBy: 'id', descending: false, count: 100 })
            const found = ids.includes(`u${place}`)
            const has = names.indexOf(name) < 4
            assert.equal(found, comparison === 'ne' ? !has : has, filterText(filter))
          }
        }
      }
      assert.equal(await store().users.count(z), values.length)
    })

    for (const sortBy of ['nothing', 'created', 'password', 'addresses', 'id desc', '__proto__', 'profile']) {
      it(`reject sorting by ${sortBy}`, async () => {
        const query = { filter: EVERYONE, sortBy, descending: false, count: 1, dialect: 'scim' } as const
        await assert.rejects(() => store().users.page(mine, query), InvalidFilter)
      })
    }
  })

  describe('A page after a cursor', () => {
    for (const sortBy of ['id', 'userName', 'meta.created', 'name.familyName', 'nickName']) {
      for (const descending of [false, true]) {
        it(`neither skips nor repeats users by ${sortBy}${descending ? ', descending' : ''} during concurrent changes`, async () => {
          const z = newZone()
          const { users } = store()
          const named = (id: string, index: number): User => {
            const name = index % 4 === 0 ? undefined : `n${(index * 7) % 10}`
            return user({
              zoneId: z,
              id,
              userName: id,
              createdAt: at(index % 5),
              ...(name !== undefined && { familyName: name, profile: { nickName: name } }),
            })
          }
          const idOf = (index: number): string => `${'0123456789abcdef'.charAt((index * 7) % 16)}-${index}`
          const staying = Array.from({ length: 40 }, (_, index) => idOf(index))
          for (const [index, id] of staying.entries()) await users.insert(z, named(id, index))
          let index = 1000
          const seen = await walk(z, { filter: EVERYONE, sortBy, descending, count: 7 }, async () => {
            for (let times = 0; times < 5; times += 1) {
              index += 1
              await users.insert(z, named(idOf(index), index))
            }
          })
          assert.deepEqual(seen.filter(id => staying.includes(id)).toSorted(), staying.toSorted())
          assert.equal(new Set(seen).size, seen.length)
        })
      }
    }

    it('may follow a user that was deleted or changed', async () => {
      const z = newZone()
      const { users } = store()
      for (const id of ['a', 'b', 'c', 'd']) await users.insert(z, user({ zoneId: z, id, userName: id }))
      const query = { filter: EVERYONE, sortBy: 'userName', descending: false, count: 2, dialect: 'scim' } as const
      const { next } = await users.page(z, query)
      assert.deepEqual(next, { value: 'b', key: 'b' })
      await users.update(z, user({ zoneId: z, id: 'b', userName: 'z' }))
      const { records } = await users.page(z, { ...query, count: 5, after: next })
      assert.deepEqual(
        records.map(({ id }) => id),
        ['c', 'd', 'b'],
      )
    })

    it('can be read backwards from the start of a page', async () => {
      const z = newZone()
      const { users } = store()
      const ids = ['a', 'b', 'c', 'd', 'e']
      for (const id of ids) {
        const familyName = id < 'c' ? {} : { familyName: id }
        await users.insert(z, user({ zoneId: z, id, userName: id, ...familyName }))
      }
      for (const sortBy of ['userName', 'name.familyName']) {
        const query = { filter: EVERYONE, sortBy, descending: false, count: 2, dialect: 'scim' } as const
        const { next } = await users.page(z, query)
        const second = await users.page(z, { ...query, after: next })
        const third = await users.page(z, { ...query, after: second.next })
        const back = await users.page(z, { ...query, descending: true, after: third.first })
        assert.deepEqual(back.records, second.records.toReversed())
        const further = await users.page(z, { ...query, descending: true, after: back.next })
        assert.equal(further.next, undefined)
        const walked = [...further.records.toReversed(), ...second.records, ...third.records].map(({ id }) => id)
        assert.deepEqual(walked.toSorted(), ids)
      }
      assert.equal(
        (await users.page(newZone(), { filter: EVERYONE, sortBy: 'id', descending: false, count: 1 })).first,
        undefined,
      )
    })
  })
}
