import assert from 'node:assert/strict'
import fc from 'fast-check'
import { isJsonRecord } from '../../../src/base/json.ts'
import { namesOf } from '../../../src/admin/scim/schemas/attribute.ts'
import type { ResourceType } from '../../../src/admin/scim/schemas/attribute.ts'
import { BULK_SCHEMA, runBulk } from '../../../src/admin/scim/bulk.ts'
import { ScimError } from '../../../src/admin/scim/error.ts'
import type { Change, Context, Resource, Resources } from '../../../src/admin/scim/resources/resources.ts'
import { GROUP, USER } from '../../../src/admin/scim/schemas/schemas.ts'
import { MalformedInput } from '../../../src/web/requests/form.ts'
import { parseJsonObject } from '../../../src/web/requests/json.ts'
import { changed, oddJson } from '../changes.ts'
import { target, verdictLater } from '../target.ts'

const context = { base: 'https://id.example/scim/v2' } as Context // nothing else is read here

/** Resources created without being read; requests for them are recorded. */
function resourcesOf(type: ResourceType, asked: unknown[]): Resources {
  let made = 0
  const changedOne = async ({ id, body }: Change): Promise<Resource> => {
    asked.push(body)
    if (id === 'gone') throw new ScimError(404, 'There is no such resource')
    return { id, version: 1, json: {}, isOfVersion: true }
  }
  const resources: Partial<Resources> = {
    names: namesOf(type),
    async create(_, body) {
      asked.push(body)
      made += 1
      return { id: `made-${made}`, version: 0, json: {}, isOfVersion: true }
    },
    replace: (_, change) => changedOne(change),
    patch: (_, change) => changedOne(change),
    async delete(_, id) {
      if (id === 'gone') throw new ScimError(404, 'There is no such resource')
    },
  }
  return resources as Resources // a Bulk request reads and lists nothing
}

const OPERATIONS: readonly object[] = [
  { method: 'POST', path: '/Users', bulkId: 'u', data: { userName: 'a' } },
  { method: 'POST', path: '/Users', bulkId: 'v', data: { userName: 'A', manager: { value: 'bulkId:u' } } },
  { method: 'post', path: '/Groups', bulkId: 'g', data: { displayName: 'g', members: [{ value: 'bulkId:v' }] } },
  { method: 'POST', path: '/Users', bulkId: 'w', data: { userName: 'w', x: 'bulkId:w' } },
  { method: 'PUT', path: '/Users/bulkId:u', data: { userName: 'b' }, version: 'W/"1"' },
  { method: 'PATCH', path: '/Users/%62ulkId:v', data: { Operations: [] } },
  { method: 'DELETE', path: '/Groups/gone' },
  { method: 'DELETE', path: '/Groups/bulkId:nothing' },
  { method: 'GET', path: '/Users' },
]
const bodies = oddJson(
  fc
    .tuple(fc.array(fc.constantFrom(...OPERATIONS), { maxLength: 6 }), fc.constantFrom<object>({}, { failOnErrors: 1 }))
    .map(([Operations, more]) => ({ schemas: [BULK_SCHEMA], Operations, ...more })),
  ['bulkId', 'path', 'method', 'OPERATIONS', 'failOnErrors', 'version'],
  2,
)

/** Bodies of `/Bulk`: one result for each operation that was tried, and no reference left in what is written. */
export const scimBulk = target({
  name: 'scim-bulk',
  inputs: fc.oneof({ weight: 3, arbitrary: bodies }, changed(bodies, ['bulkId:', '"bulkId":"u",', '%', '[', '{'])),
  check(text) {
    const asked: unknown[] = []
    const resources = { Users: resourcesOf(USER, asked), Groups: resourcesOf(GROUP, asked) }
    const fault = (cause: unknown): void => assert.fail(String(cause))
    return verdictLater(
      [ScimError, MalformedInput],
      async () => {
        const body = parseJsonObject(text)
        return { body, answer: await runBulk(body, context, { resources, fault }) }
      },
      ({ body, answer }) => {
        const lists = Object.entries(body).filter(([name]) => name.toLowerCase() === 'operations')
        const sent = lists.at(-1)?.[1]
        const results = answer['Operations']
        assert.ok(Array.isArray(sent) && Array.isArray(results) && results.length <= sent.length)
        const isStopped = Object.keys(body).some(name => name.toLowerCase() === 'failonerrors')
        if (!isStopped) assert.equal(results.length, sent.length)
        for (const result of results) {
          assert.ok(isJsonRecord(result))
          assert.match(String(result['status']), /^(?:20[014]|40[0-9]|412)$/)
          const { location } = result
          if (location !== undefined) {
            assert.ok(typeof location === 'string' && URL.canParse(location))
            assert.match(new URL(location).href, /^https:\/\/id\.example\/scim\/v2\/(?:Users|Groups)\/[^/]+$/)
          }
        }
        assert.ok(asked.every(isJsonRecord) && !('polluted' in {}))
        assert.doesNotMatch(JSON.stringify(asked), /:"bulkId:[^"]/, 'a reference was written')
      },
    )
  },
})
