import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { namesOf } from '../../../src/admin/scim/schemas/attribute.ts'
import { runBulk } from '../../../src/admin/scim/bulk.ts'
import type { Context, Resources } from '../../../src/admin/scim/resources/resources.ts'
import { USER } from '../../../src/admin/scim/schemas/schemas.ts'
import { DATABASE_KINDS, freshDatabase } from '../../support/databases.ts'
import type { TestDatabase } from '../../support/databases.ts'
import type { ScimServer } from './support.ts'
import { ENTERPRISE, ERROR_SCHEMA, GROUP_SCHEMA, OWN, patchOf, startScimServer, USER_SCHEMA } from './support.ts'

const BULK = 'urn:ietf:params:scim:api:messages:2.0:BulkRequest'

interface Result {
  readonly method?: string
  readonly bulkId?: string
  readonly location?: string
  readonly version?: string
  readonly status: string
  readonly response?: { readonly schemas: readonly string[]; readonly scimType?: string }
}

const user = (userName: string, more: object = {}) => ({ schemas: [USER_SCHEMA], userName, ...more })
const post = (bulkId: string, data: object, path = '/Users') => ({ method: 'POST', path, bulkId, data })

describe('SCIM /Bulk', () => {
  it('creates at most 32 users concurrently', async () => {
    let running = 0
    let most = 0
    const creates: Pick<Resources, 'names' | 'create'> = {
      names: namesOf(USER),
      async create(_, { userName }) {
        running += 1
        most = Math.max(most, running)
        await nextTurn()
        running -= 1
        return { id: String(userName), version: 0, json: {}, isOfVersion: true }
      },
    }
    const resources = creates as Resources // nothing else is called
    const context = { base: 'http://localhost:8080/scim/v2' } as Context // creations here read nothing else
    const operations = Array.from({ length: 100 }, (_, n) => post(`n${n}`, user(`n${n}@j.example`)))
    const answer = await runBulk({ schemas: [BULK], Operations: operations }, context, {
      resources: { Users: resources, Groups: resources },
      fault: cause => assert.fail(String(cause)),
    })
    assert.equal(Array.isArray(answer['Operations']) && answer['Operations'].length, 100)
    assert.equal(most, 32)
  })
})

for (const kind of DATABASE_KINDS) {
  describe(`SCIM /Bulk on ${kind}`, () => {
    let scim: ScimServer
    let database: TestDatabase
    before(async () => {
      database = await freshDatabase(kind)
      scim = await startScimServer('standard', { database: database.url })
    })
    after(async () => {
      assert.deepEqual(scim.server.faults, [])
      await scim.stop()
      await database.drop()
    })

    async function bulk(operations: readonly unknown[], more: object = {}): Promise<readonly Result[]> {
      const answer = await scim.send('POST', '/Bulk', {
        by: 'root',
        body: { schemas: [BULK], Operations: operations, ...more },
      })
      assert.equal(answer.status, 200, answer.text)
      return answer.json<{ Operations: readonly Result[] }>().Operations
    }
    const statuses = (results: readonly Result[]): readonly string[] => results.map(({ status }) => status)
    const count = () => scim.server.store.users.count('svc')

    it('executes operations of every method in order', async () => {
      const { id, meta } = await scim.createUser()
      const results = await bulk([
        post('one', user('one@b.example')),
        { method: 'patch', path: `/Users/${id}`, data: patchOf({ op: 'add', path: 'title', value: 'VP' }) },
        { method: 'PUT', path: `/Users/${id}`, version: 'W/"1"', data: user('put@b.example') },
        { method: 'DELETE', path: `/Users/${id}`, version: meta.version },
        { method: 'DELETE', path: `/Users/${id}` },
      ])
      assert.deepEqual(statuses(results), ['201', '200', '200', '412', '204'])
      const [made, patched, , stale] = results
      assert.deepEqual([made?.method, made?.bulkId, made?.version], ['POST', 'one', 'W/"0"'])
      assert.match(String(made?.location), /^http:\/\/localhost:8080\/scim\/v2\/Users\/[0-9a-f-]{36}$/)
      assert.deepEqual([patched?.location, patched?.version], [meta.location, 'W/"1"'])
      assert.deepEqual([stale?.location, stale?.response?.schemas], [meta.location, [ERROR_SCHEMA]])
    })

    // Covers /scim/v2/Bulk: rule: RFC 7644 §3.7
    it('resolves bulkId references to created resources', async () => {
      const results = await bulk([
        post(
          'g',
          {
            schemas: [GROUP_SCHEMA],
            displayName: 'bulk.group',
            members: [{ value: 'bulkId:u' }, { value: 'bulkId:inner' }],
          },
          '/Groups',
        ),
        post('u', user('member@b.example', { [ENTERPRISE]: { manager: { value: 'bulkId:boss' } } })),
        post('boss', user('boss@b.example')),
        post('inner', { schemas: [GROUP_SCHEMA], displayName: 'bulk.inner' }, '/Groups'),
        { method: 'PATCH', path: '/Users/bulkId:u', data: patchOf({ op: 'add', path: 'title', value: 'VP' }) },
      ])
      assert.deepEqual(statuses(results), ['201', '201', '201', '201', '200'])
      const idOf = (place: number): string => results[place]?.location?.split('/').at(-1) ?? ''
      const group = (await scim.send('GET', `/Groups/${idOf(0)}`)).json<{ members: readonly { value: string }[] }>()
      assert.deepEqual(group.members.map(({ value }) => value).toSorted(), [idOf(1), idOf(3)].toSorted())
      const member = (await scim.send('GET', `/Users/${idOf(1)}`)).json<
        Record<string, { manager: { value: string } }>
      >()
      assert.equal(member[ENTERPRISE]?.manager.value, idOf(2))
      assert.equal(member['title'], 'VP')
    })

    it('keeps the order of changes that refer to another operation', async () => {
      const group = await scim.send('POST', '/Groups', {
        body: { schemas: [GROUP_SCHEMA], displayName: 'bulk.order' },
      })
      const path = `/Groups/${group.json<{ id: string }>().id}`
      const change = (version: number, operation: object) => ({
        method: 'PATCH',
        path,
        version: `W/"${version}"`,
        data: patchOf(operation),
      })
      const add = (bulkId: string) => ({ op: 'add', path: 'members', value: [{ value: `bulkId:${bulkId}` }] })
      const results = await bulk([
        post('earlier', user('earlier@b.example')),
        change(0, add('earlier')),
        change(1, add('later')),
        post('later', user('later@b.example')),
        change(2, { op: 'remove', path: 'members' }),
      ])
      assert.deepEqual(statuses(results), ['201', '200', '200', '201', '200'])
      const after = (await scim.send('GET', path)).json<{ members?: readonly unknown[] }>()
      assert.equal(after.members, undefined)
    })

    // Partly covers /scim/v2/Bulk: rule: circular references are resolved (RFC 7644 §3.7.1)
    it('rejects references that are unknown, failed or circular', async () => {
      const manager = (bulkId: string) => ({ [ENTERPRISE]: { manager: { value: `bulkId:${bulkId}` } } })
      const results = await bulk([
        post('a', user('a@c.example', manager('b'))),
        post('b', user('b@c.example', manager('a'))),
        post('self', user('s@c.example', manager('self'))),
        post('lost', user('l@c.example', manager('nothing'))),
        post('bad', { userName: 'x' }),
        post('after', user('after@c.example', manager('bad'))),
        post('fine', user('fine@c.example')),
      ])
      assert.deepEqual(statuses(results), ['409', '409', '409', '409', '400', '409', '201'])
    })

    it('executes each operation atomically, and continues after failures', async () => {
      const before = await count()
      const results = await bulk([
        post('1', user('1@d.example')),
        post('2', user('1@D.example')),
        post('3', user('3@d.example', { title: 7 })),
        post(
          '4',
          { schemas: [GROUP_SCHEMA], displayName: 'half', members: [{ value: 'bulkId:1' }, { value: 'nobody' }] },
          '/Groups',
        ),
        post('5', user('5@d.example')),
      ])
      assert.deepEqual(statuses(results), ['201', '409', '400', '400', '201'])
      assert.equal(await count(), before + 2)
      assert.equal(await scim.server.store.groups.findByName('svc', 'half'), undefined)
    })

    it('stops after failOnErrors failures', async () => {
      const before = await count()
      const operations = ['e', 'e', 'f', 'e', 'g'].map((name, place) => post(String(place), user(`${name}@e.example`)))
      const results = await bulk(operations, { failOnErrors: 2 })
      assert.deepEqual(statuses(results), ['201', '409', '201', '409'])
      assert.equal(await count(), before + 2)
      assert.deepEqual(statuses(await bulk([post('0', user('g@e.example'))], { failOnErrors: 1 })), ['201'])
    })

    it('imports 1000 users with password hashes', async () => {
      const { id } = await scim.createUser({ password: 'correct horse 1' })
      const passwordHash = (await scim.server.store.users.find('svc', id))?.passwordHash
      const operations = Array.from({ length: 1000 }, (_, n) =>
        post(`i${n}`, user(`import${n}@f.example`, { [OWN]: { passwordHash } })),
      )
      const before = await count()
      const results = await bulk(operations)
      assert.deepEqual(new Set(statuses(results)), new Set(['201']))
      assert.deepEqual(
        results.map(({ bulkId }) => bulkId),
        operations.map(({ bulkId }) => bulkId),
      )
      assert.equal(await count(), before + 1000)
      assert.notEqual(await scim.userToken('import999@f.example', 'correct horse 1'), 'undefined')
      const body = { schemas: [BULK], Operations: [post('w', user('w@f.example', { [OWN]: { passwordHash } }))] }
      const byWriter = await scim.send('POST', '/Bulk', { body })
      assert.deepEqual(statuses(byWriter.json<{ Operations: readonly Result[] }>().Operations), ['403'])
    })

    const refused: readonly (readonly [name: string, operation: unknown])[] = [
      ['an unknown method', { method: 'GET', path: '/Users' }],
      ['a method that is not a string', { method: {}, path: '/Users' }],
      ['an unknown path', { method: 'POST', path: '/Me', bulkId: 'x', data: {} }],
      ['an absolute URL', { method: 'POST', path: 'http://localhost:8080/scim/v2/Users', bulkId: 'x', data: {} }],
      ['a path with ..', { method: 'DELETE', path: '/Users/../Groups/x' }],
      ['an invalid percent-encoding in the path', { method: 'DELETE', path: '/Users/%zz' }],
      ['a POST with an id', { method: 'POST', path: '/Users/x', bulkId: 'x', data: {} }],
      ['a PUT without an id', { method: 'PUT', path: '/Users', data: {} }],
      ['a POST without a bulkId', { method: 'POST', path: '/Users', data: user('nobulk@g.example') }],
      ['data that is not an object', { method: 'POST', path: '/Users', bulkId: 'x', data: 'x' }],
      ['a version that is not a string', { method: 'DELETE', path: '/Users/x', version: 7 }],
    ]
    for (const [name, operation] of refused) {
      it(`rejects an operation with ${name}, but executes the next`, async () => {
        const [result, next] = await bulk([operation, { method: 'DELETE', path: '/Users/gone' }])
        assert.deepEqual([result?.status, result?.response?.scimType, next?.status], ['400', 'invalidSyntax', '404'])
      })
    }

    it('accepts null for data of a DELETE', async () => {
      const { id } = await scim.createUser({ userName: 'null@g.example' })
      const results = await bulk([{ method: 'DELETE', path: `/Users/${id}`, data: null }])
      assert.deepEqual(statuses(results), ['204'])
    })

    it('reads the members of an operation, ignoring the case of their names', async () => {
      const results = await bulk([{ Method: 'POST', PATH: '/Users', BulkID: 'x', Data: user('case@g.example') }])
      assert.deepEqual([statuses(results), results[0]?.bulkId], [['201'], 'x'])
    })

    it('rejects a malformed or too large body', async () => {
      for (const [body, status] of [
        [{ Operations: [] }, 400],
        [{ schemas: [BULK] }, 400],
        [{ schemas: [BULK], Operations: ['x'] }, 400],
        [{ schemas: [BULK], Operations: [], failOnErrors: 0 }, 400],
        [{ schemas: [BULK], Operations: [], failOnErrors: 'x' }, 400],
        [{ schemas: [BULK], Operations: [post('x', user('h@h.example')), post('x', user('i@h.example'))] }, 400],
        [
          { schemas: [BULK], Operations: Array.from({ length: 1001 }, () => ({ method: 'DELETE', path: '/Users/x' })) },
          413,
        ],
        [{ schemas: [BULK], Operations: [], padding: 'x'.repeat(1024 * 1024) }, 413],
      ] as const) {
        const answer = await scim.send('POST', '/Bulk', { body })
        assert.equal(answer.status, status, answer.text)
        assert.deepEqual(answer.json()['schemas'], [ERROR_SCHEMA])
      }
      assert.equal(
        (await scim.send('POST', '/Bulk', { by: 'creator', body: { schemas: [BULK], Operations: [] } })).status,
        403,
      )
    })
  })
}
