import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { DATABASE_KINDS, freshDatabase } from '../../support/databases.ts'
import type { TestDatabase } from '../../support/databases.ts'
import type { Resource, ScimServer } from './support.ts'
import { ENTERPRISE, ERROR_SCHEMA, GROUP_SCHEMA, OWN, startScimServer, TO_Z1, USER_SCHEMA } from './support.ts'

const SEARCH = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest'
const LIST = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'

interface Page {
  readonly schemas: readonly string[]
  readonly totalResults?: number
  readonly startIndex?: number
  readonly itemsPerPage: number
  readonly nextCursor?: string
  readonly previousCursor?: string
  readonly Resources: readonly (Resource & { readonly userName: string })[]
}

for (const kind of DATABASE_KINDS) {
  describe(`SCIM lists on ${kind}`, () => {
    let scim: ScimServer
    let database: TestDatabase
    before(async () => {
      database = await freshDatabase(kind)
      scim = await startScimServer('standard', { database: database.url })
      const users = [
        { userName: 'anna@x.example', title: 'VP', name: { familyName: 'Adams' }, roles: [{ value: 'guide' }] },
        {
          userName: 'bert@x.example',
          active: false,
          emails: [
            { value: 'bert@work.example', type: 'work' },
            { value: 'B@home.example', type: 'home' },
          ],
        },
        {
          userName: 'carl@x.example',
          externalId: 'C-1',
          [ENTERPRISE]: { department: 'Tours', manager: { value: 'm-1' } },
        },
        { userName: 'dora@x.example', externalId: '', title: '', [OWN]: { gender: 'female' }, displayName: 'Dora' },
      ]
      for (const user of users) await scim.createUser(user)
    })
    after(async () => {
      assert.deepEqual(scim.server.faults, [])
      await scim.stop()
      await database.drop()
    })

    const list = async (query: Readonly<Record<string, string>>, path = '/Users'): Promise<Page> => {
      const answer = await scim.send('GET', path, { query })
      assert.equal(answer.status, 200, answer.text)
      return answer.json<Page>()
    }
    const namesIn = ({ Resources }: Page): readonly string[] =>
      Resources.map(({ userName }) => userName.split('@', 1)[0] ?? '')

    const filters: readonly (readonly [filter: string, want: readonly string[]])[] = [
      ['userName eq "ANNA@x.example"', ['anna']],
      ['username sw "c" or UserName sw "d"', ['carl', 'dora']],
      ['userName ew "x.example" and userName ne "anna@x.example"', ['bert', 'carl', 'dora']],
      ['not (userName ew "x.example")', ['joel', 'marissa']],
      ['active eq false', ['bert']],
      ['title pr', ['anna']],
      ['name pr and userName ew "x.example"', ['anna']],
      ['not (name pr) and userName ew "x.example"', ['bert', 'carl', 'dora']],
      [`urn:ietf:params:scim:schemas:core:2.0:User:NAME pr and title pr`, ['anna']],
      [`${ENTERPRISE}:manager pr`, ['carl']],
      [`${ENTERPRISE}:manager.value eq "M-1"`, []],
      ['name.familyName co "dam"', ['anna']],
      ['emails.value eq "bert@WORK.example"', ['bert']],
      // Covers /scim/v2/Users: rule: RFC 7644 §3.4.2.2, filters
      ['emails[type eq "home" and value sw "b@"]', ['bert']],
      ['emails[type eq "work" and value sw "b@"]', []],
      ['emails co "home"', ['bert']],
      ['externalId eq "C-1"', ['carl']],
      ['externalId eq "c-1"', []],
      ['externalId pr', ['carl']],
      ['externalId eq ""', ['dora']],
      [`${ENTERPRISE}:department eq "tours"`, ['carl']],
      [`${ENTERPRISE}:manager.value eq "m-1"`, ['carl']],
      [`${ENTERPRISE}:manager eq "m-1"`, ['carl']],
      [`${ENTERPRISE}:manager eq "m-2"`, []],
      [`${OWN}:gender eq "female"`, ['dora']],
      ['urn:ietf:params:scim:schemas:core:2.0:User:displayName eq "dora"', ['dora']],
      ['meta.lastModified ge "2020-01-01T00:00:00Z" and title pr', ['anna']],
      ['meta.resourceType eq "User" and title pr', ['anna']],
      ['meta.resourceType eq "Group"', []],
      ['userName eq "100%"', []],
    ]
    for (const [filter, want] of filters) {
      // Covers /scim/v2/Users/.search: filter; sortBy
      it(`find ${want.length} users by ${filter}`, async () => {
        const page = await list({ filter, sortBy: 'userName' })
        assert.deepEqual(namesIn(page), want)
        assert.deepEqual([page.schemas, page.totalResults, page.startIndex], [[LIST], want.length, 1])
        const found = await scim.send('POST', '/Users/.search', {
          body: { schemas: [SEARCH], filter, sortBy: 'userName' },
        })
        assert.deepEqual(namesIn(found.json<Page>()), want)
        assert.deepEqual(namesIn(await list({ filter, sortBy: 'userName', cursor: '' })), want)
      })
    }

    const refusals: readonly (readonly [name: string, query: Readonly<Record<string, string>>, scimType: string])[] = [
      ['an unknown attribute', { filter: 'age eq 7' }, 'invalidFilter'],
      ['an unknown extension', { filter: 'urn:x:y:User:z eq "1"' }, 'invalidFilter'],
      ['a password', { filter: 'password sw "a"' }, 'invalidFilter'],
      ['a hash', { filter: `${OWN}:passwordHash pr` }, 'invalidFilter'],
      ['an attribute without a column', { filter: 'roles.value eq "guide"' }, 'invalidFilter'],
      ['an incomplete filter', { filter: 'userName eq' }, 'invalidFilter'],
      ['single quotes', { filter: "userName eq 'x'" }, 'invalidFilter'],
      ['a value of another type', { filter: 'active eq "maybe"' }, 'invalidFilter'],
      ['SQL', { filter: 'userName eq "x"; drop table users' }, 'invalidFilter'],
      ['a NUL', { filter: 'userName eq "\\u0000"' }, 'invalidFilter'],
      ['an unknown order', { sortBy: 'age' }, 'invalidFilter'],
      ['an invalid sortOrder', { sortOrder: 'sideways' }, 'invalidValue'],
      ['a start that is not a number', { startIndex: 'x' }, 'invalidValue'],
      ['a count that is not a number', { count: 'many' }, 'invalidCount'],
      ['a count of 0 with a cursor', { cursor: '', count: '0' }, 'invalidCount'],
      ['a forged cursor', { cursor: 'v1.AAAA' }, 'invalidCursor'],
      ['a long cursor', { cursor: 'x'.repeat(5000) }, 'invalidCursor'],
      ['a cursor and a start', { cursor: '', startIndex: '1' }, 'invalidValue'],
      ['attributes with excludedAttributes', { attributes: 'userName', excludedAttributes: 'emails' }, 'invalidValue'],
    ]
    for (const [name, query, scimType] of refusals) {
      it(`reject ${name}`, async () => {
        const answer = await scim.send('GET', '/Users', { query })
        assert.equal(answer.status, 400, answer.text)
        assert.deepEqual([answer.json()['schemas'], answer.json()['scimType']], [[ERROR_SCHEMA], scimType])
      })
    }

    it('reject a repeated parameter, a deeply nested filter and a filter of 100 kB', async () => {
      const body = (filter: string) => ({ body: { schemas: [SEARCH], filter } })
      assert.equal((await scim.send('GET', '/Users?count=1&count=2')).json()['scimType'], 'invalidValue')
      for (const filter of [
        `${'('.repeat(10_000)}userName pr${')'.repeat(10_000)}`,
        `userName eq "${'x'.repeat(100_000)}"`,
      ]) {
        assert.equal((await scim.send('POST', '/Users/.search', body(filter))).json()['scimType'], 'invalidFilter')
      }
    })

    it('reject a search with both cursor and startIndex unless one is null', async () => {
      const search = async (more: object) =>
        scim.send('POST', '/Users/.search', { body: { schemas: [SEARCH], sortBy: 'userName', count: 1, ...more } })
      assert.equal((await search({ cursor: '', startIndex: 2 })).json()['scimType'], 'invalidValue')
      assert.equal((await search({ cursor: null, startIndex: 2 })).json<Page>().startIndex, 2)
      assert.deepEqual(namesIn((await search({ cursor: '', startIndex: null })).json<Page>()), ['anna'])
    })

    // Covers /scim/v2/Users: rule: RFC 7644 §3.4.2.4, pages by index
    it('paginate by index', async () => {
      const first = await list({ sortBy: 'userName', count: '4' })
      assert.deepEqual(
        [first.totalResults, first.itemsPerPage, namesIn(first)],
        [6, 4, ['anna', 'bert', 'carl', 'dora']],
      )
      assert.deepEqual(namesIn(await list({ sortBy: 'userName', startIndex: '5' })), ['joel', 'marissa'])
      assert.deepEqual(namesIn(await list({ sortBy: 'userName', sortOrder: 'descending', count: '1' })), ['marissa'])
      const none = await list({ count: '0', startIndex: '-3' })
      assert.deepEqual([none.totalResults, none.itemsPerPage, none.startIndex], [6, 0, 1])
      assert.equal((await list({ count: '99999', startIndex: '99' })).Resources.length, 0)
    })

    it('paginate by cursor, forwards and backwards', async () => {
      const query = { sortBy: 'userName', count: '2', filter: 'userName pr' }
      const first = await list({ ...query, cursor: '' })
      assert.deepEqual(
        [namesIn(first), first.totalResults, first.previousCursor],
        [['anna', 'bert'], undefined, undefined],
      )
      const second = await list({ ...query, cursor: first.nextCursor ?? '' })
      const third = await list({ ...query, cursor: second.nextCursor ?? '' })
      assert.deepEqual(
        [namesIn(second), namesIn(third), third.nextCursor],
        [['carl', 'dora'], ['joel', 'marissa'], undefined],
      )
      const back = await list({ ...query, cursor: third.previousCursor ?? '' })
      assert.deepEqual(namesIn(back), ['carl', 'dora'])
      assert.deepEqual(namesIn(await list({ ...query, cursor: back.nextCursor ?? '' })), ['joel', 'marissa'])
      const start = await list({ ...query, cursor: back.previousCursor ?? '' })
      assert.deepEqual([namesIn(start), start.previousCursor], [['anna', 'bert'], undefined])
      for (const cursor of [first.nextCursor, third.previousCursor]) assert.match(String(cursor), /^[\w.~-]+$/) // RFC 9865 §2
    })

    it('accept only an unmodified cursor of the same query and zone', async () => {
      const query = { sortBy: 'userName', count: '2' }
      const { nextCursor: cursor = '' } = await list({ ...query, cursor: '' })
      const changed = `${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'B' : 'A'}`
      const refused = async (path: string, request: Parameters<ScimServer['send']>[2]) => {
        const answer = await scim.send('GET', path, request)
        assert.equal(answer.json()['scimType'], 'invalidCursor', answer.text)
      }
      await refused('/Users', { query: { ...query, cursor: changed } })
      await refused('/Users', { query: { ...query, cursor, sortBy: 'id' } })
      await refused('/Users', { query: { ...query, cursor, sortOrder: 'descending' } })
      await refused('/Users', { query: { ...query, cursor, filter: 'title pr' } })
      await refused('/Groups', { query: { count: '2', cursor } })
      await refused('/Users', { query: { ...query, cursor }, by: 'z1-admin', headers: TO_Z1 })
      assert.deepEqual(namesIn(await list({ ...query, cursor, count: '1' })), ['carl'])
    })

    // Covers /scim/v2/Users: rule: RFC 9865, pages by cursor
    it('return every user exactly once while others are created', async () => {
      const seen: string[] = []
      let cursor: string | undefined = ''
      for (let round = 0; cursor !== undefined; round += 1) {
        const page: Page = await list({ cursor, count: '1', sortBy: 'userName', filter: 'userName co "@x.example"' })
        seen.push(...namesIn(page))
        cursor = page.nextCursor
        if (round === 0) await scim.createUser({ userName: 'aaaa@x.example' })
        if (round === 1) await scim.createUser({ userName: 'zzzz@x.example' })
      }
      assert.deepEqual(seen, ['anna', 'bert', 'carl', 'dora', 'zzzz'])
      for (const userName of ['aaaa@x.example', 'zzzz@x.example']) {
        const { Resources } = await list({ filter: `userName eq "${userName}"` })
        await scim.send('DELETE', `/Users/${Resources[0]?.id}`)
      }
    })

    // Covers /scim/v2/Users: rule: RFC 7644 §3.9, attributes of an answer
    it('return the requested attributes', async () => {
      const one = async (query: Readonly<Record<string, string>>) =>
        (await list({ ...query, filter: 'userName eq "anna@x.example"' })).Resources[0] ?? {}
      const keys = async (query: Readonly<Record<string, string>>) => Object.keys(await one(query)).toSorted()
      assert.deepEqual(await keys({ attributes: 'userName' }), ['id', 'schemas', 'userName'])
      assert.deepEqual(await keys({ attributes: 'NAME.familyname, unknown' }), ['id', 'name', 'schemas'])
      assert.deepEqual(await keys({ attributes: 'password' }), ['id', 'schemas'])
      // RFC 7643 §2.5: what has no value is left out.
      assert.deepEqual(await keys({ attributes: 'name.middleName,emails.display' }), ['id', 'schemas'])
      assert.deepEqual(await keys({ attributes: `${OWN}:origin` }), ['id', 'schemas', OWN])
      assert.ok(!(await keys({ excludedAttributes: 'name,id,groups' })).includes('name'))
      assert.ok((await keys({ excludedAttributes: 'id' })).includes('id'))
      const own = (await one({ attributes: OWN })) as Readonly<Record<string, object>>
      assert.deepEqual(Object.keys(own[OWN] ?? {}).toSorted(), ['origin', 'passwordLastModified', 'verified'])
      const core = await keys({ attributes: USER_SCHEMA.toUpperCase() })
      assert.ok(
        ['userName', 'name', 'emails', 'active', 'groups'].every(name => core.includes(name)),
        core.join(),
      )
      assert.ok(
        ['meta', OWN].every(name => !core.includes(name)),
        core.join(),
      )
      assert.deepEqual(await keys({ excludedAttributes: USER_SCHEMA }), ['id', 'meta', 'schemas', OWN])
      const emails = await one({ excludedAttributes: 'emails.primary' })
      assert.deepEqual(emails['emails' as keyof typeof emails], [{ value: 'anna@x.example' }])
    })

    it('find group members by a value filter', async () => {
      const anna = (await list({ filter: 'userName eq "anna@x.example"' })).Resources[0]?.id
      const made = await scim.send('POST', '/Groups', {
        body: { schemas: [GROUP_SCHEMA], displayName: 'Guides', members: [{ value: anna }] },
      })
      const { id } = made.json<Resource>()
      for (const [filter, want] of [
        ['groups[display eq "GUIDES"]', ['anna']],
        [`groups[value eq "${id}" and display sw "Gu"]`, ['anna']],
        [`groups[value eq "${id}" and display eq "openid"]`, []],
        [`userName sw "a" and groups[value eq "${id}"]`, ['anna']],
        [`userName sw "b" and not (groups[value eq "${id}"])`, ['bert']],
      ] as const) {
        assert.deepEqual(namesIn(await list({ filter })), want, filter)
      }
      await scim.send('DELETE', `/Groups/${id}`)
    })

    it('find users by default groups', async () => {
      const anna = (await list({ filter: 'userName eq "anna@x.example"' })).Resources[0]
      const shown = anna?.['groups'] as readonly { readonly value: string; readonly display: string }[]
      const openid = shown.find(({ display }) => display === 'openid')?.value
      const ours = 'userName ew "x.example"'
      const everyone = ['anna', 'bert', 'carl', 'dora']
      for (const [filter, want] of [
        ['groups.display eq "OpenID"', everyone],
        ['groups.display sw "open" and title pr', ['anna']],
        [`groups eq "${openid}"`, everyone],
        [`${USER_SCHEMA}:groups.value eq "${openid}"`, everyone],
        [`groups.value eq "${openid?.toUpperCase()}"`, []],
        [`groups[value eq "${openid}" and display eq "openid"]`, everyone],
        [`groups[value eq "${openid}" and display eq "email"]`, []],
        ['groups[display ne "openid"]', everyone],
        ['groups.display ne "openid"', []],
        ['groups.display ne "no.such"', everyone],
        ['not (groups.display eq "openid")', []],
        ['groups pr', everyone],
        ['groups eq null', []],
        ['groups.value ne null', everyone],
      ] as const) {
        assert.deepEqual(namesIn(await list({ filter: `${ours} and (${filter})`, sortBy: 'userName' })), want, filter)
      }
      const paged = { filter: `${ours} and groups.display eq "openid"`, sortBy: 'userName' }
      const first = await list({ ...paged, cursor: '', count: '3' })
      assert.deepEqual(namesIn(first), ['anna', 'bert', 'carl'])
      assert.deepEqual(namesIn(await list({ ...paged, cursor: first.nextCursor ?? '' })), ['dora'])
      for (const filter of ['groups[type ne "DIRECT"]', 'groups.display ne 5', 'groups.display gt null']) {
        const answer = await scim.send('GET', '/Users', { query: { filter } })
        assert.equal(answer.json()['scimType'], 'invalidFilter', filter)
      }
    })

    // Covers /scim/v2/.search: rule: RFC 7644 §3.4.3
    it('search users and groups together', async () => {
      await scim.send('POST', '/Groups', {
        body: { schemas: [GROUP_SCHEMA], displayName: 'search.me', externalId: 'C-1' },
      })
      const search = async (more: Readonly<Record<string, unknown>>) => {
        const answer = await scim.send('POST', '/.search', { body: { schemas: [SEARCH], ...more } })
        return { status: answer.status, page: answer.json<Page>(), scimType: answer.json()['scimType'] }
      }
      const typesOf = ({ page }: Awaited<ReturnType<typeof search>>) =>
        page.Resources.map(({ meta }) => meta.location.split('/').at(-2))
      assert.deepEqual(typesOf(await search({ filter: 'externalId eq "C-1"' })), ['Users', 'Groups'])
      assert.deepEqual(typesOf(await search({ filter: 'externalId eq "C-1"', startIndex: 2 })), ['Groups'])
      assert.deepEqual(typesOf(await search({ filter: 'externalId eq "C-1"', count: 1 })), ['Users'])
      assert.deepEqual(typesOf(await search({ filter: 'userName sw "anna"' })), ['Users'])
      assert.deepEqual(typesOf(await search({ filter: 'meta.resourceType eq "Group" and displayName sw "search"' })), [
        'Groups',
      ])
      // RFC 7644 §3.4.2.1: a resource has no value for an attribute of another type.
      const mixed: readonly (readonly [filter: string, want: readonly string[]])[] = [
        ['userName sw "anna" or displayName sw "search"', ['Users', 'Groups']],
        ['emails[value sw "anna"] or members eq "none" or displayName sw "search"', ['Users', 'Groups']],
        ['not (userName pr) and displayName sw "search"', ['Groups']],
        ['userName ne "anna" and displayName sw "search"', ['Groups']],
        ['userName ne null and displayName sw "search"', []],
        ['userName eq null and displayName sw "search"', ['Groups']],
      ]
      for (const [filter, want] of mixed) assert.deepEqual(typesOf(await search({ filter })), want, filter)
      const sorted = await search({ filter: 'externalId eq "C-1"', sortBy: 'userName' })
      assert.deepEqual(typesOf(sorted), ['Users', 'Groups'])
      for (const filter of ['age eq 7', 'roles pr', 'members[type eq "User"] or userName pr', 'userName gt null']) {
        assert.equal((await search({ filter })).scimType, 'invalidFilter', filter)
      }
      const unsorted = await scim.send('POST', '/.search', { body: { schemas: [SEARCH], sortBy: 'age' } })
      assert.deepEqual(
        [unsorted.json()['scimType'], unsorted.json()['detail']],
        ['invalidFilter', 'The order is not valid: there is no attribute age to sort by'],
      )
      assert.equal((await search({ cursor: '' })).scimType, 'invalidCursor')
      assert.equal(
        (await scim.send('POST', '/.search', { body: { filter: 'id pr' } })).json()['scimType'],
        'invalidSyntax',
      )
      for (const body of [{ filter: 7 }, { count: '7' }, { count: 1.5 }, { attributes: [7] }]) {
        assert.equal((await search(body)).scimType, 'invalidValue', JSON.stringify(body))
      }
    })
  })
}
