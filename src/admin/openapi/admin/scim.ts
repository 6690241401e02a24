// SCIM 2.0. Its resources are described by `/scim/v2/Schemas`. Names ignore case, which JSON Schema cannot express: the
// schemas have them as RFC 7643 and RFC 7644 spell them.
import { MAX_INT32 } from '../../../base/json.ts'
import { MAX_NAME_LENGTH } from '../../../model/users/user.ts'
import type { ResourceType } from '../../scim/schemas/attribute.ts'
import { LIMITS } from '../../scim/schemas/discovery.ts'
import { GROUP, USER } from '../../scim/schemas/schemas.ts'
import type { Answer, Area, Fields, Operation, Schema } from '../description.ts'
import {
  closed,
  described,
  empty,
  NOT_BLANK,
  listOf,
  may,
  mayBe,
  must,
  open,
  ref,
  text,
  textOrNull,
  texts,
  whole,
} from '../description.ts'

const SCIM_JSON = 'application/scim+json'
const message = (name: string): string => `urn:ietf:params:scim:api:messages:2.0:${name}`

/** The response to a refused request. */
const SCIM_ERROR: Schema = closed({ schemas: texts, status: text, scimType: text, detail: text }, ['scimType'])

const scim = (about: string, schema: Schema, headers?: Answer['headers']): Answer => ({
  about,
  content: { [SCIM_JSON]: schema },
  ...(headers && { headers }),
})

const VERSION = { etag: 'The version, as a weak tag.' }
const MADE = { ...VERSION, location: 'The URL of the resource.' }
const resource = {
  ...open({ schemas: texts, id: text, meta: open({ location: text, version: text }) }, ['schemas', 'id']),
}
const document = open({ schemas: texts }, ['schemas'])

const selection: Fields = {
  attributes: mayBe('Comma-separated names of the attributes to return.'),
  excludedAttributes: mayBe('Comma-separated names of attributes to leave out.'),
}
/** One of the words of letters. */
const inAnyCase = (...words: readonly string[]): Schema => ({
  type: 'string',
  pattern: `^(?:${words.map(word => word.replace(/./g, letter => `[${letter}${letter.toUpperCase()}]`)).join('|')})$`,
})

const INT32: Schema = { type: 'integer', minimum: -MAX_INT32, maximum: MAX_INT32 }
const list: Fields = {
  filter: mayBe('A filter (RFC 7644 §3.4.2.2).'),
  sortBy: mayBe('Attribute to sort by.'),
  sortOrder: mayBe('`ascending` or `descending`.', inAnyCase('ascending', 'descending')),
  startIndex: mayBe('Index of the first result, from 1. Not with `cursor`.', INT32),
  count: mayBe('Results per page, at most 500.', INT32),
  cursor: mayBe('Empty for the first page, or a cursor of the page before (RFC 9865).'),
  ...selection,
}
const match: Fields = { 'If-Match': may('Versions that may be changed.') }
const path = { id: must('The id of the resource.') }

const REFUSED = 'The request is invalid; `scimType` has the reason.'
const READ_BODY = { 400: REFUSED, 415: 'The body is not JSON.' }
const WRITTEN = {
  ...READ_BODY,
  409: 'The name is taken, or the resource was changed concurrently.',
  412: 'Another version.',
}
const MISSING = { 404: 'There is no such resource in the zone.' }

const aList = scim('A page of the list.', ref('ScimList'))

/** A body with this schema among its `schemas`. */
const bodyOf = (id: string, members: Readonly<Record<string, Schema>>, required: readonly string[]): Schema =>
  open({ schemas: { type: 'array', contains: { const: id } }, ...members }, ['schemas', ...required])

const uniqueName: Schema = { type: 'string', maxLength: MAX_NAME_LENGTH, pattern: NOT_BLANK }

/** A resource with what a request must have. */
function resourceBody({ schema, name }: ResourceType, example: unknown): NonNullable<Operation['json']> {
  const needed = schema.attributes.filter(({ required, defaulted }) => required && !defaulted)
  const members = Object.fromEntries(needed.map(({ name, description }) => [name, described(uniqueName, description)]))
  const body = bodyOf(schema.id, members, Object.keys(members))
  const about = `The attributes of ${name} in \`/scim/v2/Schemas\`, and no others. Names ignore case.`
  return { schema: described(body, about), example }
}

const MESSAGE = 'Names ignore case.'
const PATCH: Schema = described(
  bodyOf(
    message('PatchOp'),
    {
      Operations: {
        type: 'array',
        items: {
          ...open({ op: inAnyCase('add', 'replace', 'remove') }, ['op']),
          anyOf: [
            open({ op: inAnyCase('add', 'replace'), path: textOrNull }, ['value']),
            open({ op: inAnyCase('remove'), path: text }, ['path']),
          ],
        },
        minItems: 1,
        maxItems: 1000,
      },
    },
    ['Operations'],
  ),
  MESSAGE,
)
const BULK: Schema = described(
  bodyOf(
    message('BulkRequest'),
    {
      failOnErrors: { type: ['integer', 'null'], minimum: 1, description: 'How many failures end the request.' },
      Operations: { type: 'array', items: { type: 'object' }, maxItems: LIMITS.maxOperations },
    },
    ['Operations'],
  ),
  MESSAGE,
)
/** Any strings: what is not a name selects nothing. */
const namesInBody: Schema = { type: ['array', 'string', 'null'], items: { ...text, pattern: '^' }, pattern: '^' }
/** An empty string and null count as absent. */
const inBody = (name: string, schema: Schema): Schema =>
  Object.hasOwn(selection, name)
    ? namesInBody
    : schema === INT32
      ? { ...INT32, type: ['integer', 'null'] }
      : {
          ...schema,
          type: ['string', 'null'],
          ...('pattern' in schema && { pattern: `^$|${String(schema['pattern'])}` }),
        }
const searchOf = (fields: Fields): Schema =>
  described(
    bodyOf(
      message('SearchRequest'),
      Object.fromEntries(
        Object.entries(fields).map(([name, { about, schema }]) => [name, described(inBody(name, schema), about)]),
      ),
      [],
    ),
    MESSAGE,
  )
const SEARCH: Schema = {
  ...searchOf(list),
  anyOf: [
    open({ cursor: { type: 'null' } }),
    open({ startIndex: { type: 'null' }, count: { type: ['integer', 'null'], minimum: 1 } }),
  ],
}
/** A search through all types of resources has no cursors. */
const SEARCH_ALL: Schema = { ...searchOf(list), anyOf: [open({ cursor: { type: 'null' } })] }
const patchExample = (value: string) => ({
  schemas: [message('PatchOp')],
  Operations: [{ op: 'replace', path: 'displayName', value }],
})

/** The operations of one type of resource. */
function ofType(
  type: ResourceType,
  {
    one,
    about,
    example,
    changed,
  }: { readonly one: string; readonly about?: string; readonly example: unknown; readonly changed: unknown },
): Readonly<Record<string, Operation>> {
  const base = `/scim/v2${type.endpoint}`
  const plural = `${one}s`
  return {
    [`GET ${base}`]: { summary: `List ${plural}`, query: list, answers: { 200: aList, 400: REFUSED } },
    [`POST ${base}`]: {
      summary: `Create a ${one}`,
      ...(about !== undefined && { about }),
      query: selection,
      json: resourceBody(type, example),
      answers: { 201: scim('Created.', resource, MADE), ...READ_BODY, 409: 'The name is taken.' },
    },
    [`POST ${base}/.search`]: {
      summary: `Search ${plural}`,
      json: { schema: SEARCH, example: { schemas: [message('SearchRequest')], count: 10 } },
      answers: { 200: aList, ...READ_BODY },
    },
    [`GET ${base}/:id`]: {
      summary: `Read a ${one}`,
      path,
      query: selection,
      headers: { 'If-None-Match': may('Known versions.') },
      answers: {
        200: scim('The resource.', resource, VERSION),
        304: empty('It has the version, and shows nothing that changes without it.'),
        400: REFUSED,
        ...MISSING,
      },
    },
    [`PUT ${base}/:id`]: {
      summary: `Replace a ${one}`,
      ...(about !== undefined && { about }),
      path,
      query: selection,
      headers: match,
      json: resourceBody(type, changed),
      answers: { 200: scim('Replaced.', resource, VERSION), ...WRITTEN, ...MISSING },
    },
    [`PATCH ${base}/:id`]: {
      summary: `Change a ${one}`,
      path,
      query: selection,
      headers: match,
      json: { schema: PATCH, example: patchExample(`${one}.changed`) },
      answers: {
        200: scim('Changed.', resource, VERSION),
        ...(type === GROUP && {
          204: { ...empty('Changed; answered unless `attributes` is sent.'), headers: VERSION },
        }),
        ...WRITTEN,
        ...MISSING,
      },
    },
    [`DELETE ${base}/:id`]: {
      summary: `Delete a ${one}`,
      path,
      headers: match,
      answers: { 204: empty('Deleted.'), ...MISSING, 409: 'It was changed concurrently.', 412: 'Another version.' },
    },
  }
}

/** `/scim/v2` and below. */
export function scimArea(): Area {
  return {
    name: 'SCIM 2.0',
    about:
      'Users and groups by RFC 7643 and RFC 7644, for provisioning services. The bodies are described by `/scim/v2/Schemas`.',
    operations: {
      'GET /scim/v2/ServiceProviderConfig': {
        summary: 'Read the supported features',
        answers: { 200: scim('The configuration.', document) },
      },
      'GET /scim/v2/ResourceTypes': {
        summary: 'List the types of resources',
        answers: { 200: scim('The types.', ref('ScimList')) },
      },
      'GET /scim/v2/ResourceTypes/:id': {
        summary: 'Read a type of resource',
        path: { id: must('`User` or `Group`.') },
        answers: { 200: scim('The type.', document), 404: 'There is no such type.' },
      },
      'GET /scim/v2/Schemas': { summary: 'List the schemas', answers: { 200: scim('The schemas.', ref('ScimList')) } },
      'GET /scim/v2/Schemas/:id': {
        summary: 'Read a schema',
        path: { id: must('The URN of the schema.') },
        answers: { 200: scim('The schema.', document), 404: 'There is no such schema.' },
      },
      ...ofType(USER, {
        one: 'user',
        about: 'An account has an address: one of `emails`, or else `userName` is one.',
        example: {
          schemas: [USER.schema.id],
          userName: 'adele@example.org',
          name: { givenName: 'Adele', familyName: 'Vance' },
        },
        changed: { schemas: [USER.schema.id], userName: 'adele@example.org', title: 'Guide' },
      }),
      ...ofType(GROUP, {
        one: 'group',
        example: { schemas: [GROUP.schema.id], displayName: 'tours.read', members: [] },
        changed: { schemas: [GROUP.schema.id], displayName: 'tours.write' },
      }),
      'POST /scim/v2/.search': {
        summary: 'Search users and groups',
        json: {
          schema: SEARCH_ALL,
          example: { schemas: [message('SearchRequest')], filter: 'meta.lastModified pr', count: 10 },
        },
        answers: { 200: aList, ...READ_BODY },
      },
      'POST /scim/v2/Bulk': {
        summary: 'Run many operations',
        about: 'At most 1000 operations in 1 MiB. Each is applied completely or not at all.',
        json: {
          schema: BULK,
          example: {
            schemas: [message('BulkRequest')],
            Operations: [
              {
                method: 'POST',
                path: '/Users',
                bulkId: 'one',
                data: { schemas: [USER.schema.id], userName: 'alex@example.org' },
              },
            ],
          },
        },
        answers: { 200: scim('The result of each operation.', document), ...READ_BODY, 413: 'Too many operations.' },
      },
      'GET /scim/v2/Me': {
        summary: 'Read your own account',
        query: selection,
        answers: {
          200: scim('The user.', resource, MADE),
          304: empty('It has the version, and shows nothing that changes without it.'),
          403: 'The token is not that of a user, or the client may not use the account by its token alone.',
        },
      },
      'PUT /scim/v2/Me': {
        summary: 'Replace your own account',
        about: 'Only names and language can differ.',
        query: selection,
        headers: match,
        json: resourceBody(USER, { schemas: [USER.schema.id], userName: 'adele@example.org', displayName: 'Adele' }),
        answers: { 200: scim('Replaced.', resource, MADE), ...WRITTEN, 403: 'Something else differs.', ...MISSING },
      },
      'PATCH /scim/v2/Me': {
        summary: 'Change your own account',
        about: 'Only names and language can be changed.',
        query: selection,
        headers: match,
        json: { schema: PATCH, example: patchExample('Adele') },
        answers: {
          200: scim('Changed.', resource, MADE),
          ...WRITTEN,
          403: 'Something else would change.',
          ...MISSING,
        },
      },
    },
    schemas: {
      ScimError: SCIM_ERROR,
      ScimList: open(
        {
          schemas: texts,
          totalResults: whole,
          itemsPerPage: whole,
          startIndex: whole,
          nextCursor: described(text, 'Leads to the next page.'),
          previousCursor: described(text, 'Leads to the page before.'),
          Resources: listOf({ type: 'object' }),
        },
        ['schemas', 'Resources'],
      ),
    },
  }
}
