// The management of users in UAA's form of SCIM 1.
import { MAX_INT32 } from '../../../base/json.ts'
import { approvalFields } from '../../../records/approval.ts'
import { shownSchemas } from '../../../records/json-schema.ts'
import { CORE_SCHEMA } from '../../resources/dialect.ts'
import { VERSION } from '../../resources/versions.ts'
import { IGNORED_MEMBERS } from '../../users/body.ts'
import type { Area, Operation, Schema } from '../description.ts'
import {
  NOT_BLANK,
  closed,
  described,
  filled,
  flag,
  json,
  listOf,
  may,
  mayBe,
  must,
  oneOf,
  open,
  ref,
  sent,
  text,
  whole,
} from '../description.ts'

const path = { id: must('Id of the user.') }
const missing = 'User not found.'
const INVALID = 'A member is unknown, has the wrong type, or breaks a rule.'
const SELF = 'Users may change only their own names, and self-service for internal accounts may be disabled.'
const KEPT_ELSEWHERE = 'Self-service for internal accounts is disabled.'
const STALE = 'The user has another version.'
const overload = 'Too many passwords are being hashed. Try again later.'

const ifMatch = may('The version to change, with or without quotes, or `*`.', {
  type: 'string',
  pattern: VERSION.source,
})
const version = { etag: 'The version of the user.' }
const user = json('The user.', ref('User'), { headers: version })

/** Texts that can be null, which counts as absent. */
const some = (maxLength: number): Schema => ({ type: ['string', 'null'], maxLength })
const someText: Schema = { type: ['string', 'null'] }
const someFlag: Schema = { enum: [true, false, 'true', 'false', null] }
const someList = (items: Schema): Schema => ({ type: ['array', 'null'], items, maxItems: 1000 })
const someObject = (properties: Readonly<Record<string, Schema>>): Schema => ({ type: ['object', 'null'], properties })

const members: Readonly<Record<string, Schema>> = {
  userName: some(255),
  password: described(someText, 'For new accounts of the internal provider; ignored in changes.'),
  name: someObject({ givenName: some(255), familyName: some(255) }),
  emails: someList(open({ value: some(255), primary: someFlag })),
  phoneNumbers: someList(open({ value: some(255) })),
  active: someFlag,
  verified: someFlag,
  origin: described(some(36), 'The key of the identity provider; cannot change.'),
  externalId: some(255),
  salt: described(some(36), 'Part of the revocation signature (`rev_sig`): a new value invalidates all tokens.'),
  displayName: someText,
  aliasId: described(someText, 'The copy in another zone; cannot change.'),
  aliasZid: described(someText, 'The zone of the copy; one of the two is the default zone.'),
  approvals: someList(
    open(
      {
        clientId: filled,
        scope: { type: 'string', minLength: 1, maxLength: 255 },
        status: oneOf(['APPROVED', 'DENIED']),
        expiresAt: { type: ['string', 'number', 'null'] },
      },
      ['clientId', 'scope', 'status'],
    ),
  ),
  schemas: someList({ const: CORE_SCHEMA }),
  meta: someObject({
    version: { type: ['integer', 'null'], minimum: 0, maximum: MAX_INT32 - 1 },
    attributes: described(
      someList(text),
      'Attributes that a PATCH clears, such as `phoneNumbers` or `name.givenName`.',
    ),
  }),
  ...Object.fromEntries(IGNORED_MEMBERS.map(name => [name, described({}, 'Ignored.')])),
}

/** The members that a new user must have, or one that replaces another. */
const needed = {
  userName: { type: 'string', maxLength: 255, pattern: NOT_BLANK },
  name: { ...members['name'], type: 'object' },
  emails: {
    type: 'array',
    items: open({ value: { type: 'string', maxLength: 255, pattern: NOT_BLANK }, primary: someFlag }, ['value']),
    minItems: 1,
    maxItems: 1,
  },
} satisfies Readonly<Record<string, Schema>>

const wholeUser = (...required: readonly (keyof typeof needed)[]): Schema => ({
  ...sentUser,
  properties: { ...members, ...Object.fromEntries(required.map(name => [name, needed[name]])) },
  required,
})

const sentUser: Schema = { type: 'object', properties: members, additionalProperties: false }

const example = {
  userName: 'nadia',
  password: 'a long password',
  name: { givenName: 'Nadia', familyName: 'Okafor' },
  emails: [{ value: 'nadia@shop.example' }],
}

const change: Pick<Operation, 'path' | 'headers' | 'answers'> = {
  path,
  headers: { 'If-Match': { ...ifMatch, required: true } },
  answers: { 200: user, 400: INVALID, 403: SELF, 404: missing, 409: STALE },
}

const page = closed({
  resources: listOf({ type: 'object' }),
  startIndex: whole,
  itemsPerPage: whole,
  totalResults: whole,
  schemas: listOf(text),
})

const index = mayBe('Index of the first result, from 1.', { type: 'integer', minimum: -MAX_INT32, maximum: MAX_INT32 })
const count = mayBe('Results per page, at most 500.', { type: 'integer', minimum: 0, maximum: MAX_INT32 })

const lookup: Pick<Operation, 'summary' | 'about' | 'answers'> = {
  summary: 'Look up ids of users',
  about:
    'The filter compares `id`, `userName` and `origin` by `eq` only, and names each user by id or name. Users of inactive providers are left out by default.',
  answers: {
    200: json('One page of `id`, `userName` and `origin`.', page),
    400: 'The filter is missing or invalid, or the endpoint is off.',
  },
}

type Operations = Area['operations']

/** `/Users` and below, and `/ids/Users`. */
export function usersArea(): Area {
  return {
    name: 'Users',
    about: 'The users of a zone. Administrators of the default zone select another zone by a header.',
    operations: {
      'GET /Users': {
        summary: 'List users',
        query: {
          filter: mayBe('A filter, such as `userName eq "nadia"` or `emails.value co "@shop"`.'),
          sortBy: mayBe('Attribute to sort by; `created` unless given.'),
          sortOrder: mayBe('`ascending`; any other value means descending.'),
          startIndex: index,
          count,
          attributes: mayBe('Comma-separated names of the attributes to return, such as `id,userName,emails.value`.'),
        },
        answers: { 200: json('One page of the list.', page), 400: 'Invalid filter, order, number or attribute.' },
      },
      'GET /Users/:id': { summary: 'Read a user', path, answers: { 200: user, 404: missing } },
      'POST /Users': {
        summary: 'Create a user',
        about: 'Accounts of the internal provider need a password; the others get none. Exactly one e-mail address.',
        json: { schema: ref('UserToMake'), example },
        answers: {
          201: json('The user.', ref('User'), { headers: version }),
          400: INVALID,
          403: KEPT_ELSEWHERE,
          409: 'The user name, or the external id at another provider, is taken.',
          503: overload,
        },
      },
      'PUT /Users/:id': {
        summary: 'Replace a user',
        about: 'Omitted attributes get their defaults, except the salt, which stays.',
        json: { schema: ref('UserToReplace'), example: { ...example, userName: 'nadia.okafor', password: undefined } },
        ...change,
      },
      'PATCH /Users/:id': {
        summary: 'Change a user',
        about:
          'Changes the given attributes and clears those in `meta.attributes`. Another e-mail address needs `primary: true`.',
        json: { schema: ref('UserToChange'), example: { name: { givenName: 'Nadia' } } },
        ...change,
      },
      'DELETE /Users/:id': {
        summary: 'Delete a user and all associated data',
        path,
        headers: { 'If-Match': ifMatch },
        answers: {
          200: user,
          400: 'Invalid version.',
          403: KEPT_ELSEWHERE,
          404: missing,
          409: 'The user was changed concurrently.',
          422: STALE,
        },
      },
      ...ACCOUNT_OPERATIONS,
    },
    schemas: {
      UserToMake: sent(wholeUser('userName', 'emails')),
      UserToReplace: sent(wholeUser('userName', 'name', 'emails')),
      UserToChange: sent(sentUser),
      User: closed(
        {
          id: text,
          externalId: text,
          meta: closed({ version: whole, created: text, lastModified: text }),
          userName: text,
          name: closed({ familyName: text, givenName: text }, ['familyName', 'givenName']),
          emails: listOf(closed({ value: text, primary: flag })),
          groups: listOf(closed({ value: text, display: text, type: oneOf(['DIRECT', 'INDIRECT']) })),
          approvals: listOf(closed(shownSchemas(approvalFields).properties)),
          phoneNumbers: listOf(closed({ value: text })),
          active: flag,
          verified: flag,
          origin: text,
          zoneId: text,
          aliasId: described(text, 'The copy of the user in another zone.'),
          aliasZid: described(text, 'The zone of that copy.'),
          salt: text,
          passwordLastModified: text,
          previousLogonTime: described(whole, 'Milliseconds since 1970.'),
          lastLogonTime: described(whole, 'Milliseconds since 1970.'),
          schemas: listOf({ const: CORE_SCHEMA }),
        },
        [
          'externalId',
          'groups',
          'approvals',
          'phoneNumbers',
          'aliasId',
          'aliasZid',
          'salt',
          'previousLogonTime',
          'lastLogonTime',
        ],
      ),
    },
  }
}

/** The state, address and password of a user, and the search by names. */
const ACCOUNT_OPERATIONS: Operations = {
  'PATCH /Users/:id/status': {
    summary: 'Unlock a user, or require a new password',
    about: 'Accounts of the internal provider only.',
    path,
    json: {
      schema: open({
        locked: { enum: [false, 'false', null] },
        passwordChangeRequired: { enum: [true, 'true', null] },
      }),
      example: { locked: false, passwordChangeRequired: true },
    },
    answers: {
      200: json(
        'What was done.',
        closed({ locked: flag, passwordChangeRequired: flag }, ['locked', 'passwordChangeRequired']),
      ),
      400: 'Only `locked: false` and `passwordChangeRequired: true` are possible, and for internal accounts.',
      404: missing,
    },
  },
  'GET /Users/:id/verify': {
    summary: 'Verify the e-mail address of a user without a mail',
    path,
    headers: { 'If-Match': ifMatch },
    answers: {
      200: json('The user, without groups and approvals.', ref('User'), { headers: version }),
      400: 'Invalid version.',
      403: KEPT_ELSEWHERE,
      404: missing,
      422: STALE,
    },
  },
  'GET /Users/:id/verify-link': {
    summary: 'Create a link that verifies a user',
    about: 'For a mail that the caller sends. Valid for one hour and one use; opens a page with a button.',
    path,
    query: {
      redirect_uri: must('Where the user goes afterwards, if the client has registered it.'),
      client_id: may('The client; that of the token unless given.'),
    },
    answers: {
      200: json('The link.', closed({ verify_link: text })),
      400: 'The parameter `redirect_uri` is missing.',
      403: KEPT_ELSEWHERE,
      404: missing,
      405: 'The user is verified already.',
    },
  },
  'PUT /Users/:id/password': {
    summary: 'Change the password of a user',
    about:
      'Users must send their old password, clients and administrators for other users need not. Ends all tokens and sessions.',
    path,
    json: {
      schema: sent(open({ password: someText, oldPassword: someText })),
      example: { password: 'another long password', oldPassword: null },
    },
    answers: {
      200: json('Changed.', closed({ status: { const: 'ok' }, message: text })),
      400: 'The password violates the policy, the old one is missing, or it is the password of another user.',
      401: 'The old password is wrong, or there is no such user.',
      403: KEPT_ELSEWHERE,
      409: 'The password was changed concurrently.',
      422: 'The password is the same as before.',
      429: 'Too many wrong old passwords.',
      503: overload,
    },
  },
  'GET /ids/Users': {
    ...lookup,
    query: {
      filter: must('Such as `userName eq "nadia"`.'),
      sortOrder: mayBe('`ascending` in any case; any other value means descending. By user name.'),
      startIndex: index,
      count,
      includeInactive: mayBe('`true` includes users of inactive providers.'),
    },
  },
  'POST /ids/Users': {
    ...lookup,
    form: {
      filter: must('Such as `userName eq "nadia"`.'),
      sortOrder: may('`ascending` in any case; any other value means descending.'),
      startIndex: may('Index of the first result.'),
      count: may('Results per page, at most 500.'),
      includeInactive: may('`true` includes users of inactive providers.'),
    },
  },
}
