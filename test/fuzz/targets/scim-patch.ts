import assert from 'node:assert/strict'
import fc from 'fast-check'
import { namesOf } from '../../../src/admin/scim/schemas/attribute.ts'
import type { Attribute, Json, Names } from '../../../src/admin/scim/schemas/attribute.ts'
import { ScimError } from '../../../src/admin/scim/error.ts'
import { PATCH_SCHEMA, readOperations } from '../../../src/admin/scim/patch/patch-operations.ts'
import { applyPatch } from '../../../src/admin/scim/patch/patch.ts'
import { ENTERPRISE_USER, GROUP, OWN_USER, USER } from '../../../src/admin/scim/schemas/schemas.ts'
import { MalformedInput } from '../../../src/web/requests/form.ts'
import { parseJsonObject } from '../../../src/web/requests/json.ts'
import { changed, jumble, oddJson } from '../changes.ts'
import { target, verdictOf } from '../target.ts'

const users = namesOf(USER)
const groups = namesOf(GROUP)
const meta = {
  resourceType: 'User',
  created: '2026-01-01T00:00:00.000Z',
  location: 'https://id.example/u1',
  version: 'W/"1"',
}

const USER_BEFORE: Json = {
  schemas: [USER.schema.id],
  id: 'u1',
  meta,
  userName: 'bjensen',
  active: true,
  name: { givenName: 'Barbara', familyName: 'Jensen' },
  emails: [
    { value: 'work@example.org', type: 'work', primary: true },
    { value: 'home@example.org', type: 'home' },
  ],
  groups: [{ value: 'g1', display: 'admins', type: 'direct' }],
  [ENTERPRISE_USER]: { department: 'Sales', manager: { value: 'm1' } },
  [OWN_USER]: { origin: 'svc', verified: true },
}
const GROUP_BEFORE: Json = {
  schemas: [GROUP.schema.id],
  id: 'g1',
  meta,
  displayName: 'admins',
  members: [{ value: 'u1', type: 'User' }, { value: 'u2' }],
}

const KINDS = { user: { names: users, before: USER_BEFORE }, group: { names: groups, before: GROUP_BEFORE } } as const
type Kind = keyof typeof KINDS

/** Attributes that only the server writes, by the descriptions. */
function serverOwned(names: Names, resource: Json): Json {
  const of = (attributes: readonly Attribute[], members: Json): Json =>
    Object.fromEntries(
      attributes
        .flatMap(({ name, mutability, subAttributes = [] }) => {
          const value = members[name]
          if (mutability === 'readOnly') return [[name, value] as const]
          const isOne = typeof value === 'object' && value !== null && !Array.isArray(value)
          return isOne ? [[name, of(subAttributes, value as Json)] as const] : []
        })
        .filter(([, value]) => value !== undefined && !isEmpty(value)),
    )
  return {
    ...of(names.own, resource),
    ...Object.fromEntries(
      names.type.extensions
        .map(({ id, attributes }) => [id, of(attributes, Object(resource[id]) as Json)] as const)
        .filter(([, value]) => !isEmpty(value)),
    ),
  }
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

/** Throws for a member that no description has. */
function checkNames(names: Names, resource: Json): void {
  for (const name of Object.keys(resource)) {
    assert.ok(names.extension(name) ?? names.own.some(each => each.name === name), `a member ${JSON.stringify(name)}`)
  }
  assert.equal(Object.getPrototypeOf(resource), Object.prototype)
  assert.ok(!('polluted' in {}))
}

const PATHS = [
  'userName',
  'active',
  'name',
  'name.givenName',
  'emails',
  'emails.value',
  'emails[type eq "work"]',
  'emails[type eq "work"].value',
  'emails[primary eq true].display',
  'emails[type eq "new"].value',
  'phoneNumbers',
  'addresses[type eq "work"].country',
  'id',
  'meta',
  'meta.created',
  'schemas',
  'groups',
  'groups[value eq "g1"]',
  'password',
  'displayName',
  'members',
  'members[value eq "u1"]',
  'members.value',
  'externalId',
  'photos',
  '__proto__',
  'constructor',
  'name.__proto__',
  'emails[type eq "__proto__"].__proto__',
  USER.schema.id,
  `${USER.schema.id}:userName`,
  ENTERPRISE_USER,
  `${ENTERPRISE_USER}:manager`,
  `${ENTERPRISE_USER}:manager.displayName`,
  OWN_USER,
  `${OWN_USER}:origin`,
  `${OWN_USER}:verified`,
]
const path = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...PATHS) },
  { weight: 1, arbitrary: changed(fc.constantFrom(...PATHS), ['[', ']', '.', 'eq', '"', ' and ', ':', 'value']) },
  { weight: 1, arbitrary: jumble(PATHS, 3) },
)
const values = fc.oneof(
  fc.constantFrom<unknown>('x', '', true, 'True', null, [], {}, 7),
  fc.constantFrom<unknown>({ value: 'x@example.org', primary: true }, { givenName: 'B' }, [{ value: 'u3' }], {
    value: 'a',
  }),
  fc.constantFrom<unknown>([{ value: 'a' }, { value: 'a' }], { id: 'u2', meta: {}, groups: [] }, 'm2', {
    manager: 'm2',
  }),
  fc.constantFrom<unknown>({ [ENTERPRISE_USER]: { department: 'x' } }, { emails: null, name: { givenName: null } }),
)
/** A path with a value that fits it, mostly. */
const FITTING: readonly (readonly [path: string | undefined, value: unknown])[] = [
  ['userName', 'ann'],
  ['active', false],
  ['name.givenName', 'Ann'],
  ['name', { middleName: 'x', givenName: null }],
  ['emails', [{ value: 'new@example.org', primary: true }]],
  ['emails[type eq "work"].value', 'new@example.org'],
  ['emails[type eq "new"].value', 'new@example.org'],
  ['emails[value co "@"]', { display: 'x', primary: true }],
  ['phoneNumbers', [{ value: '1', type: 'work' }]],
  ['displayName', 'x'],
  ['members', [{ value: 'u3' }, { value: 'u1' }]],
  ['externalId', 'e1'],
  [ENTERPRISE_USER, { department: 'x', manager: 'm2' }],
  [`${ENTERPRISE_USER}:manager`, { value: 'm3' }],
  [`${USER.schema.id}:title`, 'x'],
  [
    undefined,
    { nickName: 'x', name: { givenName: 'y' }, emails: [{ value: 'a' }], [ENTERPRISE_USER]: { division: 'x' } },
  ],
  [undefined, { displayName: 'x', members: [{ value: 'u9' }] }],
]
const ops = fc.constantFrom('add', 'replace', 'replace', 'remove', 'Replace', 'move')
const operation = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(fc.constantFrom('add', 'replace', 'remove'), fc.constantFrom(...FITTING)) },
  { weight: 1, arbitrary: fc.tuple(ops, fc.tuple(fc.option(path, { nil: undefined, freq: 6 }), values)) },
)
const bodies = oddJson(
  fc
    .array(operation, { minLength: 1, maxLength: 3 })
    .map(list => ({ schemas: [PATCH_SCHEMA], Operations: list.map(([op, [path, value]]) => ({ op, path, value })) })),
  ['path', 'value', 'op', 'Operations', 'operations', 'id', 'meta', 'groups'],
  1,
)

/** Without the members that have no value. */
const asSent = (resource: Json): unknown => JSON.parse(JSON.stringify(resource))

const isSimple = (op: { readonly op: string; readonly path?: string }): boolean =>
  op.op === 'replace' && op.path !== undefined && !op.path.includes('[')

/** PATCH of SCIM: the next resource, in which no attribute of the server's has changed, or a refusal that leaves the old one. */
export const scimPatch = target({
  name: 'scim-patch',
  inputs: fc.tuple(bodies, fc.constantFrom<Kind>('user', 'group')),
  check([body, kind]) {
    const { names, before } = KINDS[kind]
    const kept = JSON.stringify(before)
    const patch = (resource: Json): Json => applyPatch(names, resource, readOperations(names, parseJsonObject(body)))
    const verdict = verdictOf(
      [ScimError, MalformedInput],
      () => patch(before),
      after => {
        checkNames(names, after)
        assert.deepEqual(
          serverOwned(names, after),
          serverOwned(names, before),
          'an attribute of the server has changed',
        )
        const operations = readOperations(names, parseJsonObject(body))
        if (operations.length === 1 && operations.every(isSimple))
          assert.deepEqual(asSent(patch(after)), asSent(after), 'differs when read again')
      },
    )
    assert.equal(JSON.stringify(before), kept, 'the resource itself has changed')
    return verdict
  },
})
