// Tests each row of the table of tolerances with a request of a real service.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { namesOf } from '../../../../src/admin/scim/schemas/attribute.ts'
import type { Json } from '../../../../src/admin/scim/schemas/attribute.ts'
import { PATCH_SCHEMA, readOperations } from '../../../../src/admin/scim/patch/patch-operations.ts'
import { applyPatch } from '../../../../src/admin/scim/patch/patch.ts'
import { readResource } from '../../../../src/admin/scim/requests/reader.ts'
import { ENTERPRISE_USER, GROUP, OWN_USER, USER } from '../../../../src/admin/scim/schemas/schemas.ts'
import { TOLERANCES } from '../../../../src/admin/scim/requests/tolerances.ts'

const users = namesOf(USER)
const groups = namesOf(GROUP)
const user: Json = {
  schemas: [USER.schema.id],
  id: '2819c223-7f76-453a-919d-413861904646',
  userName: 'adele@example.org',
  active: true,
  emails: [{ value: 'adele@home.example', type: 'home', primary: true }],
}
const group: Json = { id: 'g1', displayName: 'tour', members: [{ value: 'a' }, { value: 'b' }] }

interface Replay {
  readonly row: string
  readonly on?: 'group'
  readonly operations: readonly unknown[]
  /** The members that the resource has afterwards. */
  readonly want: Json
}

const replays: readonly Replay[] = [
  {
    row: 'capitalised-operations',
    operations: [
      { op: 'Add', path: 'nickName', value: 'Babs' },
      { op: 'Replace', path: 'displayName', value: 'Adele V' },
      { op: 'Remove', path: 'title' },
    ],
    want: { nickName: 'Babs', displayName: 'Adele V', title: undefined },
  },
  {
    row: 'string-booleans',
    operations: [
      { op: 'Replace', path: 'active', value: 'False' },
      { op: 'Replace', path: 'emails[primary eq "True"].value', value: 'adele@new.example' },
      { op: 'Add', path: 'roles', value: [{ primary: 'True', value: 'User' }] },
    ],
    want: {
      active: false,
      emails: [{ value: 'adele@new.example', type: 'home', primary: true }],
      roles: [{ value: 'User', primary: true }],
    },
  },
  {
    row: 'missing-entries',
    operations: [
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'adele@work.example' },
      { op: 'Add', path: 'addresses[type eq "work"].formatted', value: '1 Way' },
      { op: 'Add', path: 'addresses[type eq "work"].country', value: 'US' },
      { op: 'Add', path: 'roles[primary eq "True"].value', value: 'Admin' },
    ],
    want: {
      emails: [
        { value: 'adele@home.example', type: 'home', primary: true },
        { type: 'work', value: 'adele@work.example' },
      ],
      addresses: [{ type: 'work', formatted: '1 Way', country: 'US' }],
      roles: [{ primary: true, value: 'Admin' }],
    },
  },
  {
    row: 'wrapped-resources',
    operations: [{ op: 'replace', value: [{ schemas: [USER.schema.id], nickName: 'Babs', active: false }] }],
    want: { nickName: 'Babs', active: false },
  },
  {
    row: 'paths-as-names',
    operations: [
      {
        op: 'Replace',
        value: {
          displayName: 'Adele Vance',
          'name.givenName': 'Adele',
          'name.familyName': 'Vance',
          'emails[type eq "work"].value': 'adele@work.example',
          [`${ENTERPRISE_USER}:department`]: 'Sales',
        },
      },
    ],
    want: {
      displayName: 'Adele Vance',
      name: { givenName: 'Adele', familyName: 'Vance' },
      emails: [
        { value: 'adele@home.example', type: 'home', primary: true },
        { type: 'work', value: 'adele@work.example' },
      ],
      [ENTERPRISE_USER]: { department: 'Sales' },
    },
  },
  {
    row: 'manager-as-string',
    operations: [{ op: 'Add', path: `${ENTERPRISE_USER}:manager`, value: 'm1' }],
    want: { [ENTERPRISE_USER]: { manager: { value: 'm1' } } },
  },
  {
    row: 'wrapped-values',
    operations: [{ op: 'Replace', path: 'displayName', value: [{ $ref: null, value: 'Adele V' }] }],
    want: { displayName: 'Adele V' },
  },
  {
    row: 'wrapped-values',
    operations: [
      { op: 'Add', path: `${ENTERPRISE_USER}:manager`, value: [{ $ref: 'http://localhost/Users/m1', value: 'm1' }] },
    ],
    want: { [ENTERPRISE_USER]: { manager: { $ref: 'http://localhost/Users/m1', value: 'm1' } } },
  },
  {
    row: 'read-only-beside',
    on: 'group',
    operations: [{ op: 'replace', value: { id: 'abf4dd94-a4c0-4f67-89c9-76b03340cb9b', displayName: 'tour guides' } }],
    want: { id: 'g1', displayName: 'tour guides' },
  },
  {
    row: 'schemas-of-extension',
    operations: [{ op: 'add', path: ENTERPRISE_USER, value: { schemas: [ENTERPRISE_USER], department: 'Sales' } }],
    want: { [ENTERPRISE_USER]: { department: 'Sales' } },
  },
  {
    row: 'removal-with-values',
    on: 'group',
    operations: [{ op: 'Remove', path: 'members', value: [{ $ref: null, value: 'a' }] }],
    want: { members: [{ value: 'b' }] },
  },
  {
    row: 'removal-with-values',
    on: 'group',
    operations: [{ op: 'Remove', path: 'members', value: { value: 'a' } }],
    want: { members: [{ value: 'b' }] },
  },
  {
    row: 'removal-with-values',
    operations: [
      {
        op: 'add',
        path: `${OWN_USER}:customAttributes`,
        value: [
          { name: 'site', value: 'Graz' },
          { name: 'team', value: 'Graz' },
        ],
      },
      { op: 'remove', path: `${OWN_USER}:customAttributes`, value: [{ name: 'site', value: 'Graz' }] },
    ],
    want: { [OWN_USER]: { customAttributes: [{ name: 'team', value: 'Graz' }] } },
  },
  {
    row: 'removal-of-value',
    operations: [
      {
        op: 'Add',
        path: 'phoneNumbers',
        value: [
          { type: 'work', value: '1' },
          { type: 'fax', value: '2' },
        ],
      },
      { op: 'Remove', path: 'phoneNumbers[type eq "work"].value', value: '1' },
      { op: 'Replace', path: 'EMAILS[type eq "home"].VALUE', value: null },
    ],
    want: { phoneNumbers: [{ type: 'fax', value: '2' }], emails: undefined },
  },
  {
    row: 'absent-members',
    on: 'group',
    operations: [{ op: 'remove', path: 'members[value eq "gone"]' }],
    want: { members: [{ value: 'a' }, { value: 'b' }] },
  },
]

describe('SCIM tolerances', () => {
  for (const { row, on, operations, want } of replays) {
    it(`accept ${row}`, () => {
      const [names, resource] = on === 'group' ? [groups, group] : [users, user]
      const after = applyPatch(
        names,
        resource,
        readOperations(names, { schemas: [PATCH_SCHEMA], Operations: operations }),
      )
      for (const [name, value] of Object.entries(want)) assert.deepEqual(after[name], value, name)
    })
  }

  it('accept foreign-schemas', () => {
    const sent = {
      schemas: [GROUP.schema.id, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
      displayName: 'tour',
      meta: { resourceType: 'Group' },
    }
    assert.deepEqual(readResource(groups, sent), { displayName: 'tour' })
    assert.throws(() => readResource(groups, { ...sent, schemas: [GROUP.schema.id, 'urn:x'] }), {
      scimType: 'invalidSyntax',
    })
  })

  it('apply to POST, too', () => {
    const sent = {
      schemas: [USER.schema.id, ENTERPRISE_USER],
      userName: 'adele@example.org',
      active: 'True',
      [ENTERPRISE_USER]: { Manager: '123456' },
    }
    assert.deepEqual(readResource(users, sent), {
      userName: 'adele@example.org',
      active: true,
      [ENTERPRISE_USER]: { manager: { value: '123456' } },
    })
  })

  it('are all tested', () => {
    const tested = new Set([...replays.map(({ row }) => row), 'foreign-schemas'])
    assert.deepEqual([...tested].toSorted(), TOLERANCES.map(({ name }) => name).toSorted())
  })

  it('accept a list of exactly one object with at most 5000 attributes', () => {
    const patch = (value: unknown) =>
      applyPatch(
        users,
        user,
        readOperations(users, { schemas: [PATCH_SCHEMA], Operations: [{ op: 'replace', value }] }),
      )
    assert.throws(() => patch([{ nickName: 'a' }, { title: 'b' }]), { scimType: 'invalidValue' })
    assert.throws(() => patch([]), { scimType: 'invalidValue' })
    const many = Object.fromEntries(Array.from({ length: 5001 }, (_, index) => [`x${index}`, 1]))
    assert.throws(() => patch([many]), { message: /at most 5000 attributes/ })
  })

  it('do not remove all members for a value without ids', () => {
    const remove = (value: unknown) =>
      applyPatch(
        groups,
        group,
        readOperations(groups, { schemas: [PATCH_SCHEMA], Operations: [{ op: 'remove', path: 'members', value }] }),
      )
    assert.throws(() => remove([{ id: 'a' }]), { scimType: 'invalidPath' })
    assert.throws(() => remove([1]), { scimType: 'invalidPath' })
    assert.throws(() => remove({ id: 'a' }), { scimType: 'invalidPath' })
    assert.throws(() => remove(false), { scimType: 'invalidPath' })
    assert.deepEqual(remove([])['members'], group['members'])
    const removePhone = (value: unknown) =>
      applyPatch(
        users,
        { ...user, phoneNumbers: [{ type: 'work', value: '1' }] },
        readOperations(users, {
          schemas: [PATCH_SCHEMA],
          Operations: [{ op: 'remove', path: 'phoneNumbers', value: [value] }],
        }),
      )
    assert.throws(() => removePhone({ value: '2', 'value pr or type': 'x' }), { scimType: 'invalidPath' })
    assert.throws(() => removePhone({ value: '1', type: 'fax' }), { scimType: 'noTarget' })
    assert.equal(removePhone({ value: '1', type: 'work', display: null })['phoneNumbers'], undefined)
    for (const nothing of [undefined, null]) assert.equal(remove(nothing)['members'], undefined)
  })
})
