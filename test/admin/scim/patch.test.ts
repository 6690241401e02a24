import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { namesOf } from '../../../src/admin/scim/schemas/attribute.ts'
import type { Json } from '../../../src/admin/scim/schemas/attribute.ts'
import { ScimError } from '../../../src/admin/scim/error.ts'
import { PATCH_SCHEMA, readOperations } from '../../../src/admin/scim/patch/patch-operations.ts'
import { applyPatch } from '../../../src/admin/scim/patch/patch.ts'
import { ENTERPRISE_USER, GROUP, OWN_USER, USER } from '../../../src/admin/scim/schemas/schemas.ts'
import { cpuStopwatch } from '../../support/cpu-time.ts'
import { runs } from '../../support/thinning.ts'

const users = namesOf(USER)
const groups = namesOf(GROUP)

const work = { value: 'work@example.org', type: 'work', primary: true }
const home = { value: 'home@example.org', type: 'home' }
const babs: Json = {
  schemas: [USER.schema.id],
  id: 'u1',
  userName: 'bjensen',
  active: true,
  name: { givenName: 'Barbara', familyName: 'Jensen' },
  emails: [work, home],
  [ENTERPRISE_USER]: { department: 'Sales', manager: { value: 'm1' } },
  [OWN_USER]: { origin: 'svc', verified: true },
}

const patch = (resource: Json, operations: readonly unknown[], names = users): Json =>
  applyPatch(names, resource, readOperations(names, { schemas: [PATCH_SCHEMA], Operations: operations }))

/** The members that differ from `babs`. */
function changes(operations: readonly unknown[]): Record<string, unknown> {
  const after = patch(babs, operations)
  const names = new Set([...Object.keys(babs), ...Object.keys(after)])
  return Object.fromEntries(
    [...names]
      .filter(name => JSON.stringify(babs[name]) !== JSON.stringify(after[name]))
      .map(name => [name, after[name]]),
  )
}

describe('SCIM PATCH', () => {
  const cases: readonly { name: string; operations: readonly unknown[]; want: Json }[] = [
    {
      name: 'reads the members of an operation, ignoring the case of their names',
      operations: [{ Op: 'replace', PATH: 'title', Value: 'VP' }],
      want: { title: 'VP' },
    },
    {
      name: 'sets a simple attribute, ignoring the case of its name',
      operations: [{ op: 'replace', path: 'DISPLAYNAME', value: 'Babs' }],
      want: { displayName: 'Babs' },
    },
    {
      name: 'adds an absent attribute on replace',
      operations: [{ op: 'replace', path: 'title', value: 'VP' }],
      want: { title: 'VP' },
    },
    {
      name: 'sets a sub-attribute and keeps the others',
      operations: [{ op: 'replace', path: 'name.givenName', value: 'Babs' }],
      want: { name: { givenName: 'Babs', familyName: 'Jensen' } },
    },
    {
      name: 'merges into a complex attribute (§3.5.2.3)',
      operations: [{ op: 'replace', path: 'name', value: { middleName: 'Jane' } }],
      want: { name: { givenName: 'Barbara', familyName: 'Jensen', middleName: 'Jane' } },
    },
    {
      name: 'removes a sub-attribute on null',
      operations: [{ op: 'replace', path: 'name', value: { givenName: null, middleName: 'Jane' } }],
      want: { name: { familyName: 'Jensen', middleName: 'Jane' } },
    },
    {
      name: 'sets the attributes of a value without a path',
      operations: [{ op: 'add', value: { nickName: 'Babs', name: { middleName: 'Jane' } } }],
      want: { nickName: 'Babs', name: { givenName: 'Barbara', familyName: 'Jensen', middleName: 'Jane' } },
    },
    {
      name: 'accepts an extension in a value without a path',
      operations: [{ op: 'replace', value: { [ENTERPRISE_USER]: { department: 'Tours' } } }],
      want: { [ENTERPRISE_USER]: { department: 'Tours', manager: { value: 'm1' } } },
    },
    {
      name: 'resolves extension attributes by URN',
      operations: [{ op: 'replace', path: `${ENTERPRISE_USER}:manager.value`, value: 'm2' }],
      want: { [ENTERPRISE_USER]: { department: 'Sales', manager: { value: 'm2' } } },
    },
    {
      name: 'resolves core attributes by URN',
      operations: [{ op: 'replace', path: `${USER.schema.id}:name.familyName`, value: 'Smith' }],
      want: { name: { givenName: 'Barbara', familyName: 'Smith' } },
    },
    {
      name: 'removes an extension',
      operations: [{ op: 'remove', path: ENTERPRISE_USER }],
      want: { [ENTERPRISE_USER]: undefined },
    },
    {
      name: 'adds values to a list without duplicates (§3.5.2.1)',
      operations: [{ op: 'add', path: 'emails', value: [home, { value: 'new@example.org' }, home] }],
      want: { emails: [work, home, { value: 'new@example.org' }] },
    },
    {
      name: 'adds a single value to a list',
      operations: [{ op: 'add', path: 'phoneNumbers', value: { value: '1', type: 'work' } }],
      want: { phoneNumbers: [{ value: '1', type: 'work' }] },
    },
    {
      name: 'removes an extension that is replaced by null (RFC 7643 §2.5)',
      operations: [{ op: 'replace', path: ENTERPRISE_USER, value: null }],
      want: { [ENTERPRISE_USER]: undefined },
    },
    {
      name: 'removes an extension that is null without a path',
      operations: [{ op: 'replace', value: { [ENTERPRISE_USER]: null } }],
      want: { [ENTERPRISE_USER]: undefined },
    },
    {
      name: 'ignores an add of null to an extension',
      operations: [{ op: 'add', path: ENTERPRISE_USER, value: null }],
      want: {},
    },
    {
      name: 'merges into the entry with the same type and value (RFC 7643 §2.4)',
      operations: [{ op: 'add', path: 'emails', value: [{ ...home, primary: true, display: 'Home' }] }],
      want: {
        emails: [
          { ...work, primary: false },
          { ...home, primary: true, display: 'Home' },
        ],
      },
    },
    {
      name: 'ignores an entry that exists with the same type and value (§3.5.2.1)',
      operations: [{ op: 'add', path: 'emails', value: [{ value: work.value, type: 'work' }] }],
      want: {},
    },
    {
      name: 'merges entries that become equal (RFC 7643 §2.4)',
      operations: [
        { op: 'add', path: 'emails', value: [{ value: work.value, type: 'other', display: 'Other' }] },
        { op: 'replace', path: 'emails[type eq "other"].type', value: 'work' },
      ],
      want: { emails: [{ ...work, display: 'Other' }, home] },
    },
    {
      name: 'removes duplicates when replacing a list',
      operations: [{ op: 'replace', path: 'emails', value: [home, work, home] }],
      want: { emails: [home, work] },
    },
    {
      name: 'keeps the same value of another type',
      operations: [{ op: 'add', path: 'emails', value: [{ value: work.value, type: 'other' }] }],
      want: { emails: [work, home, { value: work.value, type: 'other' }] },
    },
    {
      name: 'clears the primary flag of the old value when adding a primary one (§3.5.2)',
      operations: [{ op: 'add', path: 'emails', value: [{ value: 'new@example.org', primary: true }] }],
      want: { emails: [{ ...work, primary: false }, home, { value: 'new@example.org', primary: true }] },
    },
    {
      name: 'clears the primary flag of the old value when setting the flag of another',
      operations: [{ op: 'replace', path: 'emails[type eq "home"].primary', value: true }],
      want: {
        emails: [
          { ...work, primary: false },
          { ...home, primary: true },
        ],
      },
    },
    {
      name: 'replaces a list',
      operations: [{ op: 'replace', path: 'emails', value: [home] }],
      want: { emails: [home] },
    },
    {
      name: 'replaces the entry that a filter selects',
      operations: [{ op: 'replace', path: 'emails[type eq "work"]', value: { value: 'x@example.org' } }],
      want: { emails: [{ value: 'x@example.org' }, home] },
    },
    {
      name: 'adds to the entry that a filter selects',
      operations: [{ op: 'add', path: 'emails[type eq "home"]', value: { display: 'At home' } }],
      want: { emails: [work, { ...home, display: 'At home' }] },
    },
    {
      name: 'sets a member of every entry that a filter selects',
      operations: [{ op: 'replace', path: 'emails[value ew "example.org"].display', value: 'Mail' }],
      want: {
        emails: [
          { ...work, display: 'Mail' },
          { ...home, display: 'Mail' },
        ],
      },
    },
    {
      name: 'removes the entries that a filter selects',
      operations: [{ op: 'remove', path: 'emails[type eq "work" and value co "example"]' }],
      want: { emails: [home] },
    },
    {
      name: 'removes a member of the entries that a filter selects',
      operations: [{ op: 'remove', path: 'emails[type eq "home"].type' }],
      want: { emails: [work, { value: 'home@example.org' }] },
    },
    {
      name: 'removes a list with its last entry',
      operations: [{ op: 'remove', path: 'emails[type pr]' }],
      want: { emails: undefined },
    },
    {
      name: 'removes a list',
      operations: [
        { op: 'add', path: 'roles', value: [{ value: 'guide' }] },
        { op: 'remove', path: 'roles' },
      ],
      want: {},
    },
    {
      name: 'removes by a replace with null or an empty list (RFC 7643 §2.5)',
      operations: [
        { op: 'replace', path: 'roles', value: [] },
        { op: 'replace', path: 'name', value: null },
      ],
      want: { name: undefined },
    },
    {
      name: 'applies operations in order',
      operations: [
        { op: 'add', path: 'emails', value: [{ value: 'other@example.org', type: 'other' }] },
        { op: 'remove', path: 'emails[type eq "home"]' },
        { op: 'replace', path: 'emails[type eq "other"].type', value: 'home' },
      ],
      want: { emails: [work, { value: 'other@example.org', type: 'home' }] },
    },
    {
      name: 'accepts the current value of an immutable attribute',
      operations: [{ op: 'add', path: `${OWN_USER}:origin`, value: 'svc' }],
      want: {},
    },
    {
      name: 'sets write-only attributes',
      operations: [{ op: 'replace', path: 'password', value: 'secret' }],
      want: { password: 'secret' },
    },
  ]
  for (const { name, operations, want } of cases) {
    it(name, () => assert.deepEqual(changes(operations), want))
  }

  it('does not modify its input', () => {
    const before = structuredClone(babs)
    patch(babs, [
      { op: 'remove', path: 'emails[type eq "work"]' },
      { op: 'replace', path: 'name.givenName', value: 'X' },
    ])
    assert.deepEqual(babs, before)
  })
})

describe('SCIM PATCH is rejected', () => {
  const cases: readonly { name: string; operation: unknown; scimType: string }[] = [
    { name: 'with an unknown operation', operation: { op: 'move', path: 'title' }, scimType: 'invalidSyntax' },
    { name: 'with an operation that is not an object', operation: 'add', scimType: 'invalidSyntax' },
    { name: 'without a value', operation: { op: 'add', path: 'title' }, scimType: 'invalidValue' },
    { name: 'with a removal without a path', operation: { op: 'remove' }, scimType: 'noTarget' },
    { name: 'with a path that is not a string', operation: { op: 'add', path: 1, value: 1 }, scimType: 'invalidPath' },
    { name: 'with a malformed path', operation: { op: 'add', path: 'title[', value: '' }, scimType: 'invalidPath' },
    { name: 'with an empty path', operation: { op: 'add', path: '', value: '' }, scimType: 'invalidPath' },
    { name: 'for an unknown attribute', operation: { op: 'add', path: 'age', value: 1 }, scimType: 'invalidPath' },
    {
      name: 'for an unknown sub-attribute',
      operation: { op: 'add', path: 'name.age', value: 1 },
      scimType: 'invalidPath',
    },
    {
      name: 'for an unknown extension',
      operation: { op: 'add', path: 'urn:x:User:y', value: 1 },
      scimType: 'invalidPath',
    },
    ...[
      '__proto__',
      '__proto__.x',
      'constructor',
      'constructor.prototype',
      'name.__proto__',
      'toString',
      'hasOwnProperty',
    ].map(path => ({ name: `for ${path}`, operation: { op: 'add', path, value: { x: 1 } }, scimType: 'invalidPath' })),
    {
      name: 'for constructor without a path',
      operation: { op: 'add', value: { constructor: { prototype: { x: 1 } } } },
      scimType: 'invalidPath',
    },
    {
      name: 'for __proto__ inside a value',
      operation: { op: 'add', path: 'name', value: JSON.parse('{"__proto__":{"x":1}}') },
      scimType: 'invalidSyntax',
    },
    {
      name: 'for a read-only attribute',
      operation: { op: 'replace', path: 'id', value: 'x' },
      scimType: 'mutability',
    },
    { name: 'for meta', operation: { op: 'replace', path: 'meta.version', value: 'x' }, scimType: 'mutability' },
    { name: 'for groups', operation: { op: 'add', path: 'groups', value: [{ value: 'g' }] }, scimType: 'mutability' },
    {
      name: 'for groups without a path',
      operation: { op: 'add', value: { groups: [{ value: 'g' }] } },
      scimType: 'mutability',
    },
    {
      name: "for the manager's name",
      operation: { op: 'replace', path: `${ENTERPRISE_USER}:manager.displayName`, value: 'x' },
      scimType: 'mutability',
    },
    {
      name: 'for another origin',
      operation: { op: 'replace', path: `${OWN_USER}:origin`, value: 'ldap' },
      scimType: 'mutability',
    },
    { name: 'for the removal of userName', operation: { op: 'remove', path: 'userName' }, scimType: 'mutability' },
    {
      name: 'for a userName of null',
      operation: { op: 'replace', path: 'userName', value: null },
      scimType: 'mutability',
    },
    { name: 'for the removal of all emails', operation: { op: 'remove', path: 'emails' }, scimType: 'mutability' },
    { name: 'for the removal of active', operation: { op: 'remove', path: 'active' }, scimType: 'mutability' },
    { name: 'for the removal of a password', operation: { op: 'remove', path: 'password' }, scimType: 'mutability' },
    {
      name: 'with a value of another type',
      operation: { op: 'add', path: 'title', value: 1 },
      scimType: 'invalidValue',
    },
    {
      name: 'with a list for a simple attribute',
      operation: { op: 'add', path: 'title', value: ['a', 'b'] },
      scimType: 'invalidValue',
    },
    {
      name: 'with a string for a list',
      operation: { op: 'add', path: 'emails', value: 'a@b' },
      scimType: 'invalidValue',
    },
    {
      name: 'with a value without a path that is not an object',
      operation: { op: 'add', value: 'x' },
      scimType: 'invalidValue',
    },
    {
      name: 'with an unknown member of a value',
      operation: { op: 'add', path: 'emails', value: [{ value: 'a', kind: 'b' }] },
      scimType: 'invalidSyntax',
    },
    {
      name: 'with two primary values',
      operation: {
        op: 'replace',
        path: 'emails',
        value: [
          { value: 'a', primary: true },
          { value: 'b', primary: true },
        ],
      },
      scimType: 'invalidValue',
    },
    {
      name: 'with a NUL character',
      operation: { op: 'add', path: 'title', value: 'a\0b' },
      scimType: 'invalidValue',
    },
    {
      name: 'if the filter of a replace matches nothing',
      operation: { op: 'replace', path: 'emails[value sw "x"].type', value: 'work' },
      scimType: 'noTarget',
    },
    {
      name: 'if the filter of a removal matches nothing',
      operation: { op: 'remove', path: 'emails[type eq "other"]' },
      scimType: 'noTarget',
    },
    {
      name: 'with a filter of an unknown attribute',
      operation: { op: 'remove', path: 'emails[kind eq "other"]' },
      scimType: 'invalidFilter',
    },
    {
      name: 'with a filter of an attribute that is not a list',
      operation: { op: 'remove', path: 'name[givenName pr]' },
      scimType: 'invalidPath',
    },
    {
      name: 'with a filter that is nested too deeply',
      operation: { op: 'remove', path: `emails[${'('.repeat(1000)}type pr${')'.repeat(1000)}]` },
      scimType: 'invalidPath',
    },
    {
      name: 'with a path of 100 kB',
      operation: { op: 'remove', path: `emails[type eq "${'x'.repeat(100_000)}"]` },
      scimType: 'invalidPath',
    },
    {
      name: 'with a custom attribute without a value',
      operation: { op: 'add', path: `${OWN_USER}:customAttributes`, value: [{ name: 'x' }] },
      scimType: 'invalidValue',
    },
  ]
  for (const { name, operation, scimType } of cases) {
    it(name, () => {
      assert.throws(
        () => patch(babs, [operation]),
        (error: unknown) => {
          assert.ok(error instanceof ScimError, String(error))
          assert.equal(error.scimType, scimType, error.message)
          assert.equal(error.status, 400)
          return true
        },
      )
    })
  }

  for (const [name, body] of [
    ['without schemas', { Operations: [{ op: 'remove', path: 'title' }] }],
    [
      'with the schema of another message',
      { schemas: [USER.schema.id], Operations: [{ op: 'remove', path: 'title' }] },
    ],
    ['without operations', { schemas: [PATCH_SCHEMA] }],
    ['with an empty list of operations', { schemas: [PATCH_SCHEMA], Operations: [] }],
    ['with operations that are not a list', { schemas: [PATCH_SCHEMA], Operations: { op: 'remove' } }],
  ] as const) {
    it(name, () => assert.throws(() => readOperations(users, body), { scimType: 'invalidSyntax' }))
  }

  it('with too many operations', () => {
    const many = Array.from({ length: 1001 }, () => ({ op: 'remove', path: 'title' }))
    assert.throws(() => patch(babs, many), { scimType: 'invalidValue' })
  })

  it('with too many values in a list, by one operation or several', () => {
    const many = (start: number) => Array.from({ length: 60 }, (_, n) => ({ value: `${start + n}@example.org` }))
    const add = (start: number) => ({ op: 'add', path: 'emails', value: many(start) })
    assert.throws(() => patch(babs, [{ op: 'add', path: 'emails', value: [...many(0), ...many(60)] }]), {
      scimType: 'invalidValue',
    })
    assert.throws(() => patch(babs, [add(0), add(60)]), { scimType: 'invalidValue' })
  })

  it('with filters that are too expensive', () => {
    const list = Array.from({ length: 95 }, (_, n) => ({ value: `${n}@example.org` }))
    const wide = Array.from({ length: 45 }, (_, n) => `display co "${n}"`).join(' or ')
    const costly = { op: 'replace', path: `emails[${wide} or value pr].type`, value: 'work' }
    const elapsed = cpuStopwatch()
    assert.throws(
      () =>
        patch(
          { ...babs, emails: list },
          Array.from({ length: 1000 }, () => costly),
        ),
      {
        scimType: 'invalidValue',
      },
    )
    assert.ok(elapsed() < 5000, `${elapsed()} ms`)
  })

  it('for prototype pollution', () => {
    for (const path of ['__proto__.polluted', 'constructor.prototype.polluted', 'emails[type eq "work"].__proto__']) {
      assert.throws(() => patch(babs, [{ op: 'add', path, value: true }]), ScimError)
    }
    assert.equal(Reflect.get({}, 'polluted'), undefined)
  })
})

describe('An entry that matches no filter by value', () => {
  for (const path of ['emails[value eq "gone@example.org"]', 'emails[value eq "gone@example.org"].type']) {
    it(`is not created: ${path}`, () => {
      const value = path.endsWith('type') ? 'other' : { value: 'new@example.org' }
      for (const op of ['add', 'replace']) {
        assert.throws(() => patch(babs, [{ op, path, value }]), { scimType: 'noTarget' })
      }
    })
  }
})

describe('Group members', () => {
  const tour: Json = { id: 'g1', displayName: 'tour', members: [{ value: 'a' }, { value: 'b' }] }
  const cases: readonly { name: string; operation: unknown; want: readonly string[] | string }[] = [
    {
      name: 'are added by id without duplicates',
      operation: { op: 'add', path: 'members', value: [{ value: 'b' }, { value: 'c' }, { value: 'c' }] },
      want: ['a', 'b', 'c'],
    },
    { name: 'are removed by id', operation: { op: 'remove', path: 'members[value eq "a"]' }, want: ['b'] },
    { name: 'have case-sensitive ids', operation: { op: 'remove', path: 'members[value eq "A"]' }, want: ['a', 'b'] },
    { name: 'are replaced', operation: { op: 'replace', path: 'members', value: [{ value: 'z' }] }, want: ['z'] },
    { name: 'are all removed', operation: { op: 'remove', path: 'members' }, want: [] },
    {
      name: 'have immutable ids',
      operation: { op: 'replace', path: 'members[value eq "a"].value', value: 'z' },
      want: 'mutability',
    },
  ]
  for (const { name, operation, want } of cases) {
    it(name, () => {
      const run = () => patch(tour, [operation], groups)
      if (typeof want === 'string') return assert.throws(run, { scimType: want })
      const { members } = run() as { members?: readonly { value: string }[] } // as the description has it
      assert.deepEqual(
        (members ?? []).map(({ value }) => value),
        want,
      )
    })
  }
})

// A naive model of PATCH for one simple attribute and one list.
interface Entry {
  value: string
  type: string
}
interface Model {
  title?: string
  roles: Entry[]
}
type Step =
  | { readonly do: 'title'; readonly value: string | null }
  | { readonly do: 'add'; readonly entry: Entry }
  | { readonly do: 'replace all'; readonly entries: readonly Entry[] }
  | { readonly do: 'set value'; readonly type: string; readonly value: string }
  | { readonly do: 'remove'; readonly type: string }
  | { readonly do: 'remove all' }

const type = fc.constantFrom('work', 'home', 'other')
const value = fc.constantFrom('a', 'b', 'c', 'd')
const entry = fc.record({ value, type })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('title' as const), value: fc.option(value, { nil: null }) }),
  fc.record({ do: fc.constant('add' as const), entry }),
  fc.record({ do: fc.constant('replace all' as const), entries: fc.array(entry, { maxLength: 3 }) }),
  fc.record({ do: fc.constant('set value' as const), type, value }),
  fc.record({ do: fc.constant('remove' as const), type }),
  fc.record({ do: fc.constant('remove all' as const) }),
)

function operationOf(each: Step): unknown {
  switch (each.do) {
    case 'title':
      return each.value === null ? { op: 'remove', path: 'title' } : { op: 'replace', path: 'title', value: each.value }
    case 'add':
      return { op: 'add', path: 'roles', value: [each.entry] }
    case 'replace all':
      return { op: 'replace', path: 'roles', value: each.entries }
    case 'set value':
      return { op: 'replace', path: `roles[type eq "${each.type}"].value`, value: each.value }
    case 'remove':
      return { op: 'remove', path: `roles[type eq "${each.type}"]` }
    case 'remove all':
      return { op: 'remove', path: 'roles' }
  }
}

const eachOnce = (roles: readonly Entry[]): Entry[] =>
  roles
    .filter(({ value, type }, at) => roles.findIndex(role => role.value === value && role.type === type) === at)
    .map(role => ({ ...role }))

/** False when the step has no target. */
function applyStep(model: Model, each: Step): boolean {
  const chosen = 'type' in each ? model.roles.filter(role => role.type === each.type) : []
  switch (each.do) {
    case 'title':
      if (each.value === null) delete model.title
      else model.title = each.value
      return true
    case 'add': {
      const { value: address, type: kind } = each.entry
      if (!model.roles.some(role => role.value === address && role.type === kind)) model.roles.push({ ...each.entry })
      return true
    }
    case 'replace all':
      model.roles = eachOnce(each.entries)
      return true
    case 'set value':
      for (const role of chosen) role.value = each.value
      if (chosen.length === 0) model.roles.push({ type: each.type, value: each.value })
      model.roles = eachOnce(model.roles)
      return true
    case 'remove':
      if (chosen.length === 0) return false
      model.roles = model.roles.filter(role => !chosen.includes(role))
      return true
    case 'remove all':
      model.roles = []
      return true
  }
}

describe('SCIM PATCH with random operations', () => {
  // Covers /scim/v2/Users/{id}: rule: RFC 7644 §3.5.2, PATCH
  it('matches a naive model', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), steps => {
        const model: Model = { roles: [{ value: 'a', type: 'work' }] }
        const isDone = steps.every(each => applyStep(model, each))
        const run = () => patch({ userName: 'x', roles: [{ value: 'a', type: 'work' }] }, steps.map(operationOf))
        if (!isDone) return assert.throws(run, { scimType: 'noTarget' })
        const { title, roles } = run()
        assert.equal(title, model.title)
        assert.deepEqual(
          ((roles ?? []) as Entry[]).map(role => ({ value: role.value, type: role.type })), // as the model has it
          model.roles.map(role => ({ value: role.value, type: role.type })),
        )
      }),
      { numRuns: runs(500) },
    )
  })

  it('throws only ScimError', () => {
    const anything = fc.anything({ maxDepth: 3 })
    fc.assert(
      fc.property(
        fc.record({
          op: fc.constantFrom('add', 'replace', 'remove', 'Add'),
          path: fc.oneof(fc.string(), anything),
          value: anything,
        }),
        operation => {
          try {
            patch(babs, [operation])
          } catch (error) {
            assert.ok(error instanceof ScimError, String(error))
          }
        },
      ),
      { numRuns: runs(500) },
    )
  })
})
