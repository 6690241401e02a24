import assert from 'node:assert/strict'
import fc from 'fast-check'
import { namesOf } from '../../../src/admin/scim/schemas/attribute.ts'
import { ScimError } from '../../../src/admin/scim/error.ts'
import { readResource } from '../../../src/admin/scim/requests/reader.ts'
import { ENTERPRISE_USER, GROUP, OWN_USER, USER } from '../../../src/admin/scim/schemas/schemas.ts'
import { MalformedInput } from '../../../src/web/requests/form.ts'
import { parseJsonObject } from '../../../src/web/requests/json.ts'
import { changed, oddJson } from '../changes.ts'
import { target, verdictOf } from '../target.ts'

const KINDS = { user: namesOf(USER), group: namesOf(GROUP) } as const
type Kind = keyof typeof KINDS

const USER_SENT = {
  schemas: [USER.schema.id, ENTERPRISE_USER],
  id: 'sent',
  userName: 'bjensen',
  active: 'True',
  name: { givenName: 'Barbara', familyName: 'Jensen' },
  emails: [{ value: 'work@example.org', type: 'work', primary: true }],
  phoneNumbers: [{ value: '+49 30 1' }],
  groups: [{ value: 'g1' }],
  meta: { version: 'W/"1"' },
  [ENTERPRISE_USER]: { department: 'Sales', manager: { value: 'm1' } },
  [OWN_USER]: { origin: 'svc' },
}
const GROUP_SENT = { schemas: [GROUP.schema.id], displayName: 'admins', members: [{ value: 'u1', type: 'User' }] }
const MEMBERS = ['USERNAME', 'id', 'meta', 'groups', 'password', 'primary', 'manager', ENTERPRISE_USER.toLowerCase()]
const bodies = oddJson(fc.constantFrom<object>(USER_SENT, GROUP_SENT), MEMBERS, 2)

/** Resources of SCIM as they are sent: what the description names, without what is the server's; read again it is the same. */
export const scimResource = target({
  name: 'scim-resource',
  inputs: fc.tuple(
    fc.oneof({ weight: 3, arbitrary: bodies }, changed(bodies, ['"id":"x",', '"USERNAME":"x",', '\\u0000', '[', '{'])),
    fc.constantFrom<Kind>('user', 'group'),
  ),
  check([body, kind]) {
    const names = KINDS[kind]
    return verdictOf(
      [ScimError, MalformedInput],
      () => readResource(names, parseJsonObject(body)),
      read => {
        for (const name of Object.keys(read)) {
          const attribute = names.own.find(each => each.name === name)
          assert.ok(names.extension(name) ?? attribute, `a member ${JSON.stringify(name)}`)
          assert.notEqual(attribute?.mutability, 'readOnly', name)
        }
        assert.ok(!('polluted' in {}) && Object.getPrototypeOf(read) === Object.prototype)
        assert.deepEqual(
          readResource(names, { ...read, schemas: [names.type.schema.id] }),
          read,
          'differs when read again',
        )
        assert.deepEqual(JSON.parse(JSON.stringify(read)), read)
      },
    )
  },
})
