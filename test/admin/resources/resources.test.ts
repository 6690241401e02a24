import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fastify from 'fastify'
import type { FastifyRequest } from 'fastify'
import { escapedFilter, findPage, listOf, readListParameters, wants } from '../../../src/admin/resources/list.ts'
import type { ListRules } from '../../../src/admin/resources/list.ts'
import { refuseMalformed } from '../../../src/admin/resources/refusal.ts'
import { noSuchResource, refuseResource } from '../../../src/users/refusal.ts'
import { expectedVersion, requiredVersion } from '../../../src/admin/resources/versions.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { InvalidFilter } from '../../../src/model/filters/filter.ts'
import { OAuthError } from '../../../src/model/oauth-error.ts'
import { BadEncoding, MalformedInput, parseForm } from '../../../src/web/requests/form.ts'
import { WrongContentType } from '../../../src/web/requests/bodies.ts'

const RULES: ListRules = {
  defaults: { filter: 'id pr', sortBy: 'created' },
  isDescending: order => order !== 'ascending',
  lenient: { startIndex: true, count: false },
  allowsNot: false,
  attributePaths: true,
  attributes: new Map([['given', () => 'Ada']]),
  schemas: ['urn:test'],
  refuse: message => refuseResource('scim', message),
  refuseFilter: ({ filter, sortBy }, cause) =>
    refuseResource('scim', `[${escapedFilter(filter)}] [${escapedFilter(sortBy)}]`, { cause }),
}
const CLOSED: ListRules = { ...RULES, lenient: { startIndex: false, count: true }, attributePaths: false }

const read = (query: string, rules = RULES, mode: 'standard' | 'uaa' = 'standard') =>
  readListParameters(parseForm(query), rules, { behaviour: behaviourOf(mode), maxCount: 500 })

describe('SCIM resource errors', () => {
  it('repeat the description in `message`, with the status of the code', () => {
    const refusal = refuseResource('scim_resource_already_exists', 'Taken', { extra: { origin: 'uaa' } })
    assert.deepEqual([refusal.status, refusal.message], [409, 'Taken'])
    assert.deepEqual(refusal.extra, { message: 'Taken', origin: 'uaa' })
    assert.equal(refuseResource('scim', 'Stale', { status: 422 }).status, 422)
    assert.equal(noSuchResource('Group', 'g').message, 'Group g does not exist')
  })

  const cases = [
    { name: 'malformed input', thrown: new MalformedInput('Not JSON'), want: { error: 'scim', message: 'Not JSON' } },
    {
      name: 'an invalid encoding',
      thrown: new BadEncoding('Not UTF-8'),
      want: { error: 'scim', message: 'Not UTF-8' },
    },
    {
      name: 'another content type',
      thrown: new WrongContentType('no'),
      want: { error: 'scim', message: "Content type 'text/plain' not supported" },
    },
    {
      name: 'other errors unchanged',
      thrown: new OAuthError('invalid_token', 'Expired'),
      want: { error: 'invalid_token', message: 'Expired' },
    },
  ]
  for (const { name, thrown, want } of cases) {
    it(`pass ${name} on to the server's error handler`, async () => {
      const app = fastify()
      app.addContentTypeParser('text/plain', (_request, _body, done) => done(null))
      app.setErrorHandler((error: OAuthError, _request, reply) =>
        reply.status(error.status).send({ error: error.error, message: error.message }),
      )
      app.post('/', { errorHandler: refuseMalformed }, () => {
        throw thrown
      })
      const { json } = await app.inject({ method: 'POST', url: '/', headers: { 'content-type': 'text/plain' } })
      assert.deepEqual(json(), want)
    })
  }
})

// Covers SCIM requests: If-Match
describe('If-Match', () => {
  const requestWith = (header?: string) =>
    ({ headers: header === undefined ? {} : { 'if-match': header } }) as unknown as FastifyRequest // all that is read
  const cases = [
    { header: '0', want: 0 },
    { header: '"7"', want: 7 },
    { header: ' "7" ', want: 7 },
    { header: '*', want: 'any' },
    { header: '"*"', want: 'any' },
    { header: '2147483647', want: 2_147_483_647 },
    { header: undefined, want: undefined },
  ]
  for (const { header, want } of cases) {
    it(`reads ${header ?? 'nothing'}`, () => assert.equal(expectedVersion(requestWith(header)), want))
  }
  for (const header of ['', 'abc', 'W/"2"', '-1', '1.5', '1, 2', '2147483648', '99999999999', '1e1', '٣']) {
    it(`refuses ${JSON.stringify(header)}`, () => {
      assert.throws(() => expectedVersion(requestWith(header)), {
        error: 'scim',
        message: `Invalid version match header (should be a version number): ${header}`,
      })
    })
  }
  it('is required by requiredVersion', () => {
    assert.throws(() => requiredVersion(requestWith()), { error: 'scim', message: 'Missing If-Match for PUT' })
    assert.equal(requiredVersion(requestWith('3')), 3)
  })
})

describe('List parameters', () => {
  it('have defaults if absent or empty', () => {
    const defaults = {
      filter: 'id pr',
      sortBy: 'created',
      descending: false,
      startIndex: 1,
      count: 100,
      attributes: [],
    }
    assert.deepEqual(read(''), defaults)
    assert.deepEqual(read('filter=&sortBy=&sortOrder=&startIndex=&count=&attributes='), defaults)
  })
  it('are parsed, with count limited to 500', () => {
    assert.deepEqual(read('filter=a+pr&sortBy=b&sortOrder=x&startIndex=3&count=100000&attributes=id,+a.b,'), {
      filter: 'a pr',
      sortBy: 'b',
      descending: true,
      startIndex: 3,
      count: 500,
      attributes: ['id', 'a.b'],
    })
  })
  it('are clamped to the minimum for lenient lists', () => {
    assert.equal(read('startIndex=-5').startIndex, 1)
    assert.equal(read('count=-5', CLOSED).count, 0)
  })
  it('accept any attribute name without attribute paths', () => {
    assert.deepEqual(read('attributes=a%20b[,c', CLOSED).attributes, ['a b[', 'c'])
  })

  const refusals = [
    { query: 'startIndex=0', rules: CLOSED, message: 'The parameter startIndex must be at least 1' },
    { query: 'count=-1', message: 'The parameter count must not be negative' },
    { query: 'count=abc', message: 'The parameter count must be a whole number' },
    { query: 'count=1.5', message: 'The parameter count must be a whole number' },
    { query: 'startIndex=2147483648', message: 'The parameter startIndex must be a whole number' },
    { query: 'startIndex=%D9%A3', message: 'The parameter startIndex must be a whole number' },
    { query: 'count=1&count=2', message: 'The parameter count must not be repeated' },
    { query: 'attributes=a%20b[,c', message: 'Invalid attributes: [a b[,c]' },
    {
      query: `attributes=${Array.from({ length: 101 }, (_, place) => `a${place}`).join()}`,
      message: 'The parameter attributes must name at most 100',
    },
  ]
  for (const { query, rules, message } of refusals) {
    it(`are rejected: ${query.slice(0, 40)}`, () => assert.throws(() => read(query, rules), { error: 'scim', message }))
  }
  it('may be repeated in uaa, where the first value wins', () => {
    assert.equal(read('count=1&count=2', RULES, 'uaa').count, 1)
  })
})

describe('findPage', () => {
  const parameters = read('filter=a+eq+"<b>"&sortBy=c')
  it('queries with the parsed filter', async () => {
    const page = await findPage(parameters, RULES, query => {
      assert.equal(query.filter.kind, 'compare')
      assert.equal(query.sortBy, 'c')
      return Promise.resolve({ records: [1], totalResults: 1 })
    })
    assert.deepEqual(page, { records: [1], totalResults: 1 })
  })
  it('rejects invalid filters and filters that the store does not support', async () => {
    const fail = () => Promise.reject(new InvalidFilter('no such attribute'))
    const want = { error: 'scim', message: '[a eq &quot;&lt;b&gt;&quot;] [c]' }
    await assert.rejects(findPage(parameters, RULES, fail), want)
    await assert.rejects(findPage(read('filter=a+pr+and+not+(b+pr)'), RULES, fail), { error: 'scim' })
    await assert.rejects(findPage(read('filter=a+eq'), RULES, fail), { message: '[a eq] [created]' })
  })
  it('propagates errors of the store', async () => {
    await assert.rejects(
      findPage(parameters, RULES, () => Promise.reject(new Error('gone'))),
      { message: 'gone' },
    )
  })
})

describe('listOf', () => {
  const resource = { id: '1', name: { given: 'A' }, list: [{ value: 'x' }] }
  const answer = (attributes: string, rules = RULES) =>
    listOf([resource], read(`attributes=${attributes}&count=2`, rules), { rules, totalResults: 9 })

  it('returns complete resources without attributes', () => {
    assert.deepEqual(answer(''), {
      resources: [resource],
      startIndex: 1,
      itemsPerPage: 2,
      totalResults: 9,
      schemas: ['urn:test'],
    })
  })
  it('returns exactly the named attributes, with null for absent ones', () => {
    const names = 'id,name.given,given,name.none,id.length,list.value,list,__proto__,constructor,nothing'
    const [found] = answer(names)['resources'] as Record<string, unknown>[]
    assert.deepEqual(Object.entries(found ?? {}), [
      ['id', '1'],
      ['name.given', 'A'],
      ['given', 'Ada'],
      ['name.none', null],
      ['id.length', null],
      ['list.value', null],
      ['list', [{ value: 'x' }]],
      ['__proto__', null],
      ['constructor', null],
      ['nothing', null],
    ])
  })
  it('treats names literally without attribute paths', () => {
    assert.deepEqual(answer('name.given', CLOSED)['resources'], [{ 'name.given': null }])
  })
  it('returns an attribute if named, or if none is named', () => {
    assert.deepEqual(
      [
        wants({ attributes: [] }, 'groups'),
        wants({ attributes: ['id'] }, 'groups'),
        wants({ attributes: ['id'] }, 'id'),
      ],
      [true, false, true],
    )
  })
})
