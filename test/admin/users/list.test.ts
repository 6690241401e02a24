import assert from 'node:assert/strict'
import { after, before, describe, it, mock } from 'node:test'
import { TooManyDetails } from '../../../src/store/store.ts'
import { MODES } from '../../support/oauth.ts'
import { IN_Z1, assertRefused, startUserServer } from '../../support/users.ts'
import type { UserAnswer, UserApi, UserRequest } from '../../support/users.ts'

interface List {
  readonly resources: readonly (UserAnswer & Readonly<Record<string, unknown>>)[]
  readonly startIndex: number
  readonly itemsPerPage: number
  readonly totalResults: number
  readonly schemas: readonly string[]
}

describe('GET /Users for a page longer than one batch', () => {
  it('returns every user once', async () => {
    const api = await startUserServer('standard')
    for (let place = 1; place <= 60; place += 1) await api.create(`many${place}`)
    for (const sortOrder of ['ascending', 'descending']) {
      const answer = await api.send('GET', '/Users', undefined, {
        by: 'reader',
        query: { filter: 'userName sw "many"', sortBy: 'userName', sortOrder },
      })
      const { resources, totalResults } = answer.json<List & Record<string, unknown>>()
      assert.equal(new Set(resources.map(({ id }) => id)).size, 60)
      assert.equal(totalResults, 60)
      for (const place of [0, 49, 50, 59]) {
        const resource = resources[place]
        assert.deepEqual(resource, await api.read(resource?.id ?? ''))
      }
    }
    await api.stop()
  })
})

describe('GET /Users for users with too many groups to read', () => {
  it('is refused with a message', async () => {
    const api = await startUserServer('standard')
    mock.method(api.server.store.users, 'listGroups', () => Promise.reject(new TooManyDetails('list')))
    const answer = await api.send('GET', '/Users', undefined, { by: 'reader' })
    mock.restoreAll()
    const message = 'These users together have too many groups to read'
    assertRefused(answer, { status: 400, error: 'scim', message })
    await api.stop()
  })
})

describe('sortBy with several attributes', () => {
  // Covers SCIM list: sortBy
  // Covers GET /Users: sortBy
  it('breaks ties by the next attribute, on every page', async () => {
    const api = await startUserServer('standard')
    for (const [name, familyName, givenName] of [
      ['order1', 'B', 'B'],
      ['order2', 'B', 'A'],
      ['order3', 'A', 'C'],
      ['order4', 'B', 'A'],
    ] as const) {
      await api.create(name, { name: { familyName, givenName } })
    }
    const namesBy = async (sortBy: string, more: Readonly<Record<string, string>> = {}) => {
      const query = { filter: 'userName sw "order"', attributes: 'userName', sortBy, ...more }
      const answer = await api.send('GET', '/Users', undefined, { by: 'reader', query })
      if (answer.status !== 200) return answer.status
      return answer.json<List & Record<string, unknown>>().resources.map(({ userName }) => userName)
    }
    const ascending = ['order3', 'order2', 'order4', 'order1']
    assert.deepEqual(await namesBy('familyName,givenName,userName'), ascending)
    const backwards = { sortOrder: 'descending' }
    assert.deepEqual(await namesBy('familyName, givenName, userName', backwards), ascending.toReversed())
    const last = { startIndex: '3', count: '2' }
    assert.deepEqual(await namesBy('familyName,givenName,userName', last), ascending.slice(2))
    assert.equal(await namesBy('familyName,nonsense'), 400)
    assert.equal(await namesBy('familyName,'), 400)
    assert.equal(await namesBy('id,id,id,id,id,id'), 400)
    await api.stop()
  })
})

describe('Page size', () => {
  // Covers SCIM list: userMaxCount; groupMaxCount
  it('is limited by clientMaxCount, userMaxCount and groupMaxCount', async () => {
    const config = { clientMaxCount: 1, userMaxCount: 2, groupMaxCount: 3 }
    const api = await startUserServer('standard', { config })
    const lengths = []
    for (const [path, by] of [
      ['/oauth/clients', 'root'],
      ['/Users', 'root'],
      ['/Groups', 'root'],
    ] as const) {
      const answer = await api.send('GET', path, undefined, { by, query: { count: '500' } })
      assert.equal(answer.status, 200, answer.text)
      lengths.push(answer.json<List & Record<string, unknown>>().resources.length)
    }
    assert.deepEqual(lengths, [1, 2, 3])
    await api.stop()
  })
})

for (const mode of MODES) {
  describe(`GET /Users (${mode})`, () => {
    let api: UserApi
    const get = (query: Readonly<Record<string, string>> = {}, request: UserRequest = {}) =>
      api.send('GET', '/Users', undefined, { by: 'reader', query, ...request })
    const list = async (query?: Readonly<Record<string, string>>, request?: UserRequest): Promise<List> => {
      const answer = await get(query, request)
      assert.equal(answer.status, 200, answer.text)
      return answer.json<List & Record<string, unknown>>()
    }
    const names = ({ resources }: List) => resources.map(({ userName }) => userName)

    before(async () => {
      api = await startUserServer(mode)
      api.server.clock.advance(1)
      for (let place = 1; place <= 4; place += 1) {
        await api.create(`list${place}`, {
          emails: [{ value: `l${place}@list.example` }],
          name: { givenName: 'L', familyName: `F${5 - place}` },
          verified: place > 2,
          active: place < 4,
          ...(place === 1 && { externalId: 'x1' }),
        })
        api.server.clock.advance(1)
      }
    })
    after(async () => {
      assert.deepEqual(api.server.faults, [])
      await api.stop()
    })

    // Covers SCIM list: response: resources; schemas
    it('returns complete users, oldest first', async () => {
      const { resources, ...envelope } = await list()
      assert.deepEqual(envelope, {
        startIndex: 1,
        itemsPerPage: 100,
        totalResults: 6,
        schemas: ['urn:scim:schemas:core:1.0'],
      })
      assert.deepEqual(
        resources.slice(2).map(({ userName }) => userName),
        ['list1', 'list2', 'list3', 'list4'],
      )
      for (const resource of resources) assert.deepEqual(resource, await api.read(resource.id))
    })

    const pages = [
      // Covers SCIM list: startIndex
      // Covers GET /Users: startIndex
      { query: { startIndex: '3', count: '2' }, names: ['list1', 'list2'], startIndex: 3, itemsPerPage: 2 },
      { query: { startIndex: '0', count: '1', sortBy: 'userName' }, names: ['joel'], startIndex: 1, itemsPerPage: 1 },
      { query: { startIndex: '1000' }, names: [], startIndex: 1000, itemsPerPage: 100 },
      // Covers SCIM list: count
      // Covers GET /Users: count
      { query: { count: '0' }, names: [], startIndex: 1, itemsPerPage: 0 },
    ]
    for (const { query, names: expected, ...envelope } of pages) {
      // Covers SCIM list: response: startIndex; itemsPerPage; totalResults
      it(`paginates by ${JSON.stringify(query)}`, async () => {
        const page = await list(query)
        const { startIndex, itemsPerPage, totalResults } = page
        assert.deepEqual(names(page), expected)
        assert.deepEqual({ startIndex, itemsPerPage, totalResults }, { ...envelope, totalResults: 6 })
      })
    }

    it('limits a page to 500 users', async () => {
      assert.equal((await list({ count: '100000' })).itemsPerPage, 500)
    })

    const ofLists = 'userName sw "list"'
    const orders = [
      { query: { sortBy: 'familyName' }, names: ['list4', 'list3', 'list2', 'list1'] },
      { query: { sortBy: 'userName', sortOrder: 'descending' }, names: ['list4', 'list3', 'list2', 'list1'] },
      // Covers SCIM list: sortOrder
      // Covers GET /Users: sortOrder
      { query: { sortBy: 'userName', sortOrder: 'nonsense' }, names: ['list4', 'list3', 'list2', 'list1'] },
      { query: { sortBy: 'userName', sortOrder: 'ASCENDING' }, names: ['list4', 'list3', 'list2', 'list1'] },
      { query: { sortBy: 'email' }, names: ['list1', 'list2', 'list3', 'list4'] },
      { query: { sortBy: 'meta.created' }, names: ['list1', 'list2', 'list3', 'list4'] },
    ]
    for (const { query, names: expected } of orders) {
      it(`sorts by ${JSON.stringify(query)}`, async () => {
        assert.deepEqual(names(await list({ filter: ofLists, ...query })), expected)
      })
    }

    const choices = [
      { attributes: 'userName,zoneId', want: { userName: 'list1', zoneId: 'svc' } },
      {
        attributes: 'emails.value,name.familyName,groups.display,familyName,givenName',
        want: {
          'emails.value': ['l1@list.example'],
          'name.familyName': null,
          'groups.display': null,
          familyName: 'F4',
          givenName: 'L',
        },
      },
      {
        attributes: 'active,phoneNumbers,externalId,phoneNumbers.value',
        want: { active: true, phoneNumbers: null, externalId: 'x1', 'phoneNumbers.value': null },
      },
      { attributes: 'nonsense', want: { nonsense: null } },
      { attributes: 'approvals', want: { approvals: [] } },
      {
        attributes: 'meta.version,password,passwordHash',
        want: { 'meta.version': 0, password: null, passwordHash: null },
      },
    ]
    for (const { attributes, want } of choices) {
      // Covers SCIM list: attributes
      // Covers GET /Users: attributes
      it(`returns only the attributes ${attributes}`, async () => {
        assert.deepEqual((await list({ filter: 'userName eq "list1"', attributes })).resources, [want])
      })
    }

    const filters = [
      // Covers SCIM filter: eq
      { filter: 'userName eq "LIST1"', names: ['list1'] },
      { filter: 'USERNAME EQ "list1"', names: ['list1'] },
      // Covers SCIM filter: single quotes
      { filter: "userName Eq 'list1'", names: ['list1'] },
      // Covers SCIM filter: co
      { filter: 'userName co "ist"', names: ['list1', 'list2', 'list3', 'list4'] },
      // Covers SCIM filter: sw; pr; and
      { filter: 'userName pr and userName sw "LIST"', names: ['list1', 'list2', 'list3', 'list4'] },
      { filter: 'email eq "l1@list.example"', names: ['list1'] },
      { filter: 'emails.value co "@list"', names: ['list1', 'list2', 'list3', 'list4'] },
      { filter: 'phoneNumber eq "1"', names: [] },
      { filter: 'phoneNumbers.value pr', names: [] },
      { filter: 'familyName eq "F1"', names: ['list4'] },
      { filter: 'givenName eq "L" and active eq true', names: ['list1', 'list2', 'list3'] },
      // Covers SCIM filter: booleans
      { filter: 'active eq false', names: ['list4'] },
      { filter: `verified eq true and ${ofLists}`, names: ['list3', 'list4'] },
      { filter: 'origin eq "ldap"', names: [] },
      // Covers SCIM filter: filterable attributes of users
      { filter: 'external_id eq "x1"', names: ['list1'] },
      // Covers SCIM filter: dates
      {
        filter: `meta.created gt "2020-01-01T00:00:00.000Z" and ${ofLists}`,
        names: ['list1', 'list2', 'list3', 'list4'],
      },
      // Covers SCIM filter: ge
      { filter: 'created ge "2099-01-01T00:00:00.000Z"', names: [] },
      // Covers SCIM filter: lt
      { filter: 'meta.lastModified lt "2099-01-01T00:00:00.000Z" and userName sw "list1"', names: ['list1'] },
      // Covers SCIM filter: le
      { filter: 'lastModified le "2020-01-01T00:00:00.000Z"', names: [] },
      // Covers SCIM filter: numbers
      { filter: `meta.version eq 0 and ${ofLists}`, names: ['list1', 'list2', 'list3', 'list4'] },
      // Covers SCIM filter: or
      { filter: 'userName eq "list1" or userName eq "list2"', names: ['list1', 'list2'] },
      { filter: '(userName eq "list1" or userName eq "list2") and verified eq false', names: ['list1', 'list2'] },
      // Covers SCIM filter: parentheses
      { filter: `${ofLists} and (active eq true and (verified eq true))`, names: ['list3'] },
      // Covers SCIM filter: gt
      { filter: `userName gt "list3" and ${ofLists}`, names: ['list4'] },
      // Covers SCIM filter: strings
      { filter: 'userName eq "a\\"b"', names: [] },
      { filter: 'userName co "%"', names: [] },
      { filter: 'userName sw "_"', names: [] },
      { filter: `userName co "'"`, names: [] },
      { filter: `identity_zone_id eq "svc" and ${ofLists}`, names: ['list1', 'list2', 'list3', 'list4'] },
      { filter: `groups.display eq "OpenID" and ${ofLists}`, names: ['list1', 'list2', 'list3', 'list4'] },
      { filter: `groups.display eq "no.such" and ${ofLists}`, names: [] },
    ]
    for (const { filter, names: expected } of filters) {
      // Covers SCIM list: filter
      // Covers GET /Users: filter
      it(`finds by ${filter}`, async () => {
        const { resources, totalResults } = await list({ filter, attributes: 'userName' })
        assert.deepEqual(
          resources.map(({ userName }) => userName),
          expected,
        )
        assert.equal(totalResults, expected.length)
      })
    }

    const escape = (text: string) =>
      text.replace(/[&<>"']/g, each => `&${{ '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' }[each] ?? ''};`)
    const unfit = [
      'userName eq list1',
      'externalId pr',
      'externalid eq "x1"',
      'emails eq "l1@list.example"',
      'emails[value co "@list"]',
      'name.familyName eq "F1"',
      'active eq "false"',
      'zoneid eq "uaa" and userName eq "list1"',
      'lastLogonTime gt 0',
      'lastlogonsuccesstime pr',
      'previousLogonTime pr',
      'not (userName sw "u") and userName sw "list1"',
      'userName eq "list1" and not userName eq "x"',
      'userName ne "list1"',
      'userName ew "1"',
      'groups eq "x"',
      'groups pr',
      'groups.value pr',
      'groups.display eq 5',
      'passwordLastModified pr',
      'salt pr',
      'alias_id pr',
      'aliasId eq null',
      'externalId eq null',
      'nonsense eq "x"',
      'userName eq',
      'userName',
      'eq "x"',
      'userName eq "x',
      'userName eq "x"; drop table users',
      'displayName pr',
      'name.givenName eq "L"',
      'phoneNumbers eq "1"',
      'legacy_verification_behavior eq true',
      'created eq "yesterday"',
      'password_hash pr',
      'userName eq "<script>"b',
    ]
    for (const filter of unfit) {
      // Covers SCIM list: error: invalid filter
      it(`refuses the filter ${filter}`, async () => {
        const message = `Invalid filter expression: [${escape(filter)}] [created]`
        assertRefused(await get({ filter }), { status: 400, error: 'scim', message })
      })
    }

    const refusals = [
      { query: { sortBy: 'nonsense' }, message: 'Invalid filter expression: [id pr] [nonsense]' },
      { query: { sortBy: 'userName;--' }, message: 'Invalid filter expression: [id pr] [userName;--]' },
      { query: { sortBy: 'salt' }, message: 'Invalid filter expression: [id pr] [salt]' },
      // Covers SCIM errors: error: unexpected 500
      { query: { count: '-1' }, message: 'The parameter count must not be negative' },
      { query: { count: 'abc' }, message: 'The parameter count must be a whole number' },
      { query: { startIndex: '1e3' }, message: 'The parameter startIndex must be a whole number' },
      // Covers SCIM list: error: invalid attributes
      { query: { attributes: 'a b[,c' }, message: 'Invalid attributes: [a b[,c]' },
    ]
    for (const { query, message } of refusals) {
      it(`refuses ${JSON.stringify(query)}`, async () => {
        assertRefused(await get(query), { status: 400, error: 'scim', message })
      })
    }

    it('rejects an improperly encoded query, and a filter that is too long or too deeply nested', async () => {
      const scim = (message: string | RegExp) => ({ status: 400, error: 'scim', message })
      for (const query of ['filter=%ff', 'filter=%zz', 'filter=a%00']) {
        assertRefused(await api.send('GET', `/Users?${query}`, undefined, { by: 'reader' }), scim(/parameter/))
      }
      assertRefused(await get({ filter: `userName eq "${'x'.repeat(5000)}"` }), scim(/^Invalid filter expression: /))
      assertRefused(
        await get({ filter: `${'('.repeat(500)}id pr${')'.repeat(500)}` }),
        scim(/^Invalid filter expression: /),
      )
    })

    it('returns only users of the zone', async () => {
      await api.create('zu', {}, IN_Z1)
      assert.deepEqual(names(await list({}, { by: 'admin', ...IN_Z1 })), ['zu'])
      const bySubdomain = { headers: { 'x-identity-zone-subdomain': 'one' } }
      assert.deepEqual(names(await list({}, { by: 'reader-of-z1', ...bySubdomain })), ['zu'])
      const elsewhere = { filter: 'identity_zone_id eq "z1" or userName eq "zu"' }
      assert.deepEqual(names(await list(elsewhere)), [])
    })
  })
}
