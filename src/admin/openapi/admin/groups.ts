// Groups, their members, mappings of external groups, and groups that give rights in other zones.
import { MAX_INT32 } from '../../../base/json.ts'
import { CORE_SCHEMA } from '../../resources/dialect.ts'
import { VERSION } from '../../resources/versions.ts'
import { groupFields, MAX_GROUP_TEXT } from '../../../records/group.ts'
import { sentSchemas } from '../../../records/json-schema.ts'
import type { Answer, Area, Field, Operation, Schema } from '../description.ts'
import {
  NOT_BLANK,
  closed,
  json,
  listOf,
  mayBe,
  must,
  oneOf,
  open,
  ref,
  sent,
  text,
  texts,
  whole,
} from '../description.ts'

const SCHEMA = { const: CORE_SCHEMA }
const date: Schema = { type: 'string', format: 'date-time' }
const listOrNull = (items: Schema): Schema => ({ type: ['array', 'null'], items, maxItems: 10_000 })

const etag = { etag: 'The version of the group.' }
const aGroup = json('The group with its members.', ref('Group'), { headers: etag })
const aMember = json('The member.', ref('GroupMember'))
const aMapping = json('The mapping.', ref('ExternalGroup'))
const path = { id: must('The id of the group.') }
const memberPath = { ...path, memberId: must('The id of the user or the group.') }
const ifMatch: Field = must('The version that is replaced, with or without double quotes; `*` for any.', {
  type: 'string',
  pattern: VERSION.source,
})
const NO_GROUP = 'There is no such group: `scim_resource_not_found`.'
const NO_MEMBER = 'There is no such member: `member_not_found`.'
const INVALID = 'The group, a member or a header is invalid: `invalid_scim_resource` or `scim`.'
const NOT_GIVEN =
  'The caller adds to, creates or renames a group with administrative rights, and neither has its scope nor is an administrator: `insufficient_scope`.'
const LARGE = 'The request is too large; further members can be added by further requests.'

const example = { displayName: 'orders.read', description: 'Read orders' }
const exampleMember = { value: '6f0b1c1e-7a0f-4b58-9a55-0c8f3b1d2e90', type: 'USER' }
const exampleMapping = { displayName: 'orders.read', externalGroup: 'cn=orders,ou=groups,dc=example', origin: 'ldap' }

const page = (resources: Schema): Answer =>
  json(
    'One page of the list.',
    closed({
      resources: listOf(resources),
      startIndex: whole,
      itemsPerPage: whole,
      totalResults: whole,
      schemas: listOf(SCHEMA),
    }),
  )

const number = (about: string, limits: Schema): Field => mayBe(about, { type: 'integer', ...limits })

const unmapping = (summary: string, names: readonly (keyof typeof MAPPING_PATH)[]): Operation => ({
  summary,
  path: Object.fromEntries(names.map(name => [name, MAPPING_PATH[name]])),
  answers: { 200: aMapping, 404: 'There is no such group, or no such mapping.' },
})
const MAPPING_PATH = {
  groupId: must('The id of the group.'),
  displayName: must('The name of the group, whatever the case.'),
  externalGroup: must('The name of the external group, whatever the case.'),
  origin: must('The key of the identity provider; `ldap` in paths without it.'),
}

const listQuery = {
  startIndex: number('Index of the first result, from 1.', { minimum: -999_999_999, maximum: 999_999_999 }),
  count: number('Results per page, at most 10,000.', { minimum: -999_999_999, maximum: 999_999_999 }),
  filter: mayBe('Deprecated: `eq` of `origin` and `externalGroup`, joined by `and`.'),
}
const mappings = page(closed({ groupId: text, displayName: text, externalGroup: text, origin: text }))

const takeFromZone = (summary: string, names: readonly string[]): Operation => ({
  summary,
  path: Object.fromEntries(
    Object.entries({
      userId: must('The id of the user.'),
      zoneId: must('The id of the zone.'),
      scope: must('The part of the group’s name after the zone’s id.'),
    }).filter(([name]) => names.includes(name)),
  ),
  answers: { 200: aGroup, 400: 'The name is not that of such a group.', 404: 'No such group, or not a member of it.' },
})

const changed: Operation['answers'] = {
  200: aGroup,
  400: INVALID,
  403: NOT_GIVEN,
  404: NO_GROUP,
  409: 'The version does not match, or the group is a default group.',
  413: LARGE,
}

const memberId: Schema = { type: 'string', minLength: 1, maxLength: 255 }

/** A member in a list: the id of a user may stand alone. */
const listedMember: Schema = { anyOf: [ref('GroupMemberToStore'), memberId] }

type Operations = Area['operations']

/** `/Groups` and below. */
export function groupsArea(): Area {
  const { displayName = {}, description = {} } = sentSchemas(groupFields, { nullable: true })
  const group = {
    displayName: { ...displayName, pattern: NOT_BLANK },
    description,
    members: listOrNull(listedMember),
    schemas: { anyOf: [SCHEMA, { type: ['array', 'null'], items: SCHEMA }] },
  }
  const version = { type: ['integer', 'null'], minimum: 0, maximum: MAX_INT32 - 1 }
  const meta = (attributes: Schema): Schema => ({
    type: ['object', 'null'],
    properties: { version, attributes: { type: ['array', 'null'], items: attributes } },
  })
  return {
    name: 'Groups',
    about:
      'The name of a group is the scope that its members can have. A group can be a member of another one: its members are in both. The API is UAA’s SCIM 1; `/scim/v2/Groups` has the same groups in SCIM 2.0.',
    operations: {
      ...GROUP_OPERATIONS,
      ...MEMBER_OPERATIONS,
      ...MAPPING_OPERATIONS,
      ...ZONE_OPERATIONS,
    },
    schemas: {
      Group: closed(
        {
          id: text,
          meta: closed({ version: whole, created: date, lastModified: date }),
          displayName: text,
          zoneId: text,
          description: text,
          members: listOf(ref('GroupMember')),
          schemas: listOf(SCHEMA),
        },
        ['description'],
      ),
      GroupMember: closed({ origin: text, type: oneOf(['USER', 'GROUP']), entity: { type: 'object' }, value: text }, [
        'entity',
      ]),
      GroupToStore: sent(open({ ...group, meta: meta(text) }, ['displayName'])),
      GroupToChange: sent(
        open({
          ...group,
          displayName: { ...group.displayName, type: ['string', 'null'] },
          meta: meta({ enum: ['description', 'displayName', 'members'] }),
        }),
      ),
      GroupMemberToStore: sent(
        open(
          {
            value: memberId,
            type: { enum: ['USER', 'GROUP', null] },
            origin: { type: 'string', minLength: 1, maxLength: 36 },
          },
          ['value'],
        ),
      ),
      ZoneGroup: sent(
        open(
          {
            displayName: {
              type: 'string',
              pattern:
                '^zones\\.[^.]+\\.(admin|read|clients\\.(admin|read|write)|scim\\.(create|read|write)|idps\\.read)$',
              maxLength: MAX_GROUP_TEXT,
            },
            members: { type: 'array', items: listedMember, minItems: 1, maxItems: 10_000 },
          },
          ['displayName', 'members'],
        ),
      ),
      ExternalGroup: closed({
        meta: closed({ version: whole, created: date, lastModified: date }),
        groupId: text,
        externalGroup: text,
        displayName: text,
        origin: text,
        schemas: texts,
      }),
      ExternalGroupToStore: sent(
        open(
          {
            groupId: { type: ['string', 'null'] },
            displayName: { type: ['string', 'null'] },
            externalGroup: {
              type: 'string',
              maxLength: MAX_GROUP_TEXT,
              pattern: NOT_BLANK,
            },
            origin: { type: ['string', 'null'], maxLength: 36 },
          },
          ['externalGroup'],
        ),
      ),
    },
  }
}

/** Groups. */
const GROUP_OPERATIONS: Operations = {
  'GET /Groups': {
    summary: 'List groups',
    query: {
      filter: mayBe('A SCIM filter over id, displayName, description, meta.created, meta.lastModified, meta.version.'),
      sortBy: mayBe('Attribute to sort by; `created` unless given.'),
      sortOrder: mayBe('`ascending`; any other value means descending.'),
      startIndex: number('Index of the first result, from 1.', { minimum: 1, maximum: MAX_INT32 }),
      count: number('Results per page, at most 500.', { minimum: 0, maximum: MAX_INT32 }),
      attributes: mayBe('Comma-separated names of the members to return.'),
    },
    answers: { 200: page({ type: 'object' }), 400: 'Invalid filter, order or number.' },
  },
  'POST /Groups': {
    summary: 'Create a group',
    json: { schema: ref('GroupToStore'), example },
    answers: { 201: aGroup, 400: INVALID, 403: NOT_GIVEN, 409: 'The name is taken.', 413: LARGE },
  },
  'GET /Groups/:id': { summary: 'Read a group', path, answers: { 200: aGroup, 404: NO_GROUP } },
  'PUT /Groups/:id': {
    summary: 'Replace a group and all of its members',
    path,
    headers: { 'If-Match': ifMatch },
    json: { schema: ref('GroupToStore'), example },
    answers: changed,
  },
  'PATCH /Groups/:id': {
    summary: 'Change a group',
    about:
      'Changes the given attributes. Members are added, or removed with `"operation": "delete"`; attributes in `meta.attributes` are cleared first.',
    path,
    headers: { 'If-Match': ifMatch },
    json: { schema: ref('GroupToChange'), example },
    answers: changed,
  },
  'DELETE /Groups/:id': {
    summary: 'Delete a group with its memberships and mappings',
    path,
    headers: { 'If-Match': { ...ifMatch, required: false } },
    answers: { 200: aGroup, 400: INVALID, 404: NO_GROUP, 409: 'The version is another one.' },
  },
}

/** Members of a group. */
const MEMBER_OPERATIONS: Operations = {
  'GET /Groups/:id/members': {
    summary: 'List the members of a group',
    path,
    query: {
      returnEntities: mayBe('`true` to get each with its record.'),
      filter: mayBe('Ignored.'),
    },
    answers: { 200: json('All members.', listOf(ref('GroupMember'))), 404: NO_GROUP },
  },
  'POST /Groups/:id/members': {
    summary: 'Add a member to a group',
    path,
    json: { schema: ref('GroupMemberToStore'), example: exampleMember },
    answers: {
      201: aMember,
      400: INVALID,
      403: NOT_GIVEN,
      404: 'There is no such group, or no such user or group to be a member.',
      409: 'It is a member already: `member_already_exists`.',
    },
  },
  'GET /Groups/:id/members/:memberId': {
    summary: 'Read a member of a group',
    path: memberPath,
    answers: { 200: aMember, 404: NO_MEMBER },
  },
  'PUT /Groups/:id/members/:memberId': {
    summary: 'Read a member of a group, with the right to change it',
    path: memberPath,
    json: { schema: { type: 'object' }, example: {} },
    answers: { 200: aMember, 404: NO_MEMBER },
  },
  'DELETE /Groups/:id/members/:memberId': {
    summary: 'Remove a member from a group',
    path: memberPath,
    answers: { 200: aMember, 404: NO_MEMBER },
  },
}

/** Mappings of groups of other providers. */
const MAPPING_OPERATIONS: Operations = {
  'GET /Groups/External': {
    summary: 'List mappings of external groups',
    query: {
      ...listQuery,
      origin: mayBe('Those of this identity provider only.'),
      externalGroup: mayBe('Those of this external group only; case counts.'),
    },
    answers: { 200: mappings, 400: 'Invalid filter or number.' },
  },
  'GET /Groups/External/list': {
    summary: 'List mappings of external groups (deprecated)',
    query: listQuery,
    answers: { 200: mappings, 400: 'Invalid filter or number.' },
  },
  'POST /Groups/External': {
    summary: 'Map an external group to a group',
    json: { schema: ref('ExternalGroupToStore'), example: exampleMapping },
    answers: {
      201: aMapping,
      400: 'A member is invalid: `scim`.',
      403: NOT_GIVEN,
      404: 'There is no such group.',
      412: 'The external group is missing.',
    },
  },
  'DELETE /Groups/External/groupId/:groupId/externalGroup/:externalGroup/origin/:origin': unmapping(
    'Delete a mapping',
    ['groupId', 'externalGroup', 'origin'],
  ),
  'DELETE /Groups/External/displayName/:displayName/externalGroup/:externalGroup/origin/:origin': unmapping(
    'Delete a mapping by the name of the group',
    ['displayName', 'externalGroup', 'origin'],
  ),
  'DELETE /Groups/External/groupId/:groupId/externalGroup/:externalGroup': unmapping(
    'Delete a mapping of `ldap` (deprecated)',
    ['groupId', 'externalGroup'],
  ),
  'DELETE /Groups/External/displayName/:displayName/externalGroup/:externalGroup': unmapping(
    'Delete a mapping of `ldap` by the name of the group (deprecated)',
    ['displayName', 'externalGroup'],
  ),
  'DELETE /Groups/External/id/:groupId/:externalGroup': unmapping('Delete a mapping of `ldap` (older form)', [
    'groupId',
    'externalGroup',
  ]),
  'DELETE /Groups/External/:displayName/:externalGroup': unmapping(
    'Delete a mapping of `ldap` by the name of the group (older form)',
    ['displayName', 'externalGroup'],
  ),
}

/** Rights in zones. */
const ZONE_OPERATIONS: Operations = {
  'POST /Groups/zones': {
    summary: 'Grant users rights in another zone',
    about: 'Creates the group `zones.<id>.<right>` if it does not exist, and adds the members.',
    json: {
      schema: ref('ZoneGroup'),
      example: { displayName: 'zones.shop.admin', members: [exampleMember] },
    },
    answers: { 201: aGroup, 400: INVALID, 413: LARGE },
  },
  'DELETE /Groups/zones/:userId/:zoneId': takeFromZone('Revoke the administration of a zone from a user', [
    'userId',
    'zoneId',
  ]),
  'DELETE /Groups/zones/:userId/:zoneId/:scope': takeFromZone('Revoke a right in a zone from a user', [
    'userId',
    'zoneId',
    'scope',
  ]),
}
