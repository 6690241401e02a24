// The management of clients.
import { MAX_INT32 } from '../../../base/json.ts'
import { PROFILES } from '../../../records/profiles.ts'
import { clientId, clientSchemas } from './client-schemas.ts'
import type { Area, Facts, Operation, Schema } from '../description.ts'
import {
  BASE64,
  closed,
  filled,
  filledList,
  json,
  listOf,
  listOrNull,
  mayBe,
  must,
  oneOf,
  oneOfOrNull,
  open,
  ref,
  statusAlone,
  text,
  textOrNull,
  texts,
  whole,
} from '../description.ts'

const example = {
  client_id: 'shop',
  client_secret: 'shop-secret',
  authorized_grant_types: ['client_credentials'],
  authorities: ['stock.read'],
}

const path = { client_id: must('Client id.') }
const missing = statusAlone('Client not found.')
const INVALID = 'The record is invalid: `invalid_client`.'
const CHANGED = 'The id is taken, or the client was changed concurrently.'
const aClient = json('The client, without its secrets.', ref('Client'))
const clients = json('The clients, without their secrets.', listOf(ref('Client')))
const overload = 'Too many secrets are being hashed. Try again later.'

const create: Operation = {
  summary: 'Create a client',
  json: { schema: ref('ClientWithTwoSecrets'), example },
  answers: { 201: aClient, 400: INVALID, 409: CHANGED, 503: overload },
}

const update: Operation = {
  summary: 'Update a client',
  about:
    'Absent or empty members keep their value; null removes an attribute, and `autoapprove: false` revokes automatic approval. Secrets are not changed. Keys change only if new ones are sent, which needs administrative rights.',
  path,
  json: { schema: ref('ClientToChange'), example: { ...example, client_secret: undefined, name: 'The shop' } },
  answers: { 200: aClient, 400: INVALID, 404: missing, 409: CHANGED },
}

const batch = (more: Partial<Operation> & Pick<Operation, 'summary' | 'json'>): Operation => ({
  about: 'All or nothing. At most 1000 entries, each for a different client.',
  answers: { 200: clients, 400: INVALID, 404: missing, 409: CHANGED, 503: overload },
  ...more,
})

const info: Operation = {
  summary: 'Read the calling client',
  credentials: ['form'],
  answers: { 200: json('The client.', ref('ClientInfo')) },
}

/** A condition on the entries of a batch with one of these actions. */
const actionIs = (words: readonly string[], demand: Schema): Schema => ({
  anyOf: [{ not: { properties: { action: oneOf(words) } } }, demand],
})

const result = json('The result.', closed({ status: { const: 'ok' }, message: text }))

/** Which secret or keys to change. */
const CHANGE_MODES = oneOfOrNull(['UPDATE', 'ADD', 'DELETE'])

type Operations = Area['operations']

/** `/oauth/clients` and below, and `/clientinfo`. */
export function clientsArea({ behaviour }: Facts): Area {
  return {
    name: 'Clients',
    about: 'The clients of a zone. Administrators of the default zone select another zone by a header.',
    operations: {
      'GET /oauth/clients': {
        summary: 'List clients',
        query: {
          filter: mayBe('A SCIM filter.'),
          sortBy: mayBe('Attribute to sort by.'),
          sortOrder: mayBe('`ascending`; any other value means descending.'),
          startIndex: mayBe('Index of the first result, from 1.', { type: 'integer', minimum: 1, maximum: MAX_INT32 }),
          count: mayBe('Results per page, at most 500; a negative number counts as 0.', {
            type: 'integer',
            minimum: -MAX_INT32,
            maximum: MAX_INT32,
          }),
          attributes: mayBe('Comma-separated names of the members to return.'),
        },
        answers: {
          200: json(
            'One page of the list.',
            closed({
              resources: listOf({ type: 'object' }),
              startIndex: whole,
              itemsPerPage: whole,
              totalResults: whole,
              schemas: texts,
            }),
          ),
          400: 'Invalid filter or number.',
        },
      },
      'GET /oauth/clients/:client_id': { summary: 'Read a client', path, answers: { 200: aClient, 404: missing } },
      'POST /oauth/clients': create,
      'PUT /oauth/clients/:client_id': update,
      'DELETE /oauth/clients/:client_id': {
        summary: 'Delete a client with its tokens and approvals',
        path,
        answers: { 200: aClient, 404: missing, 409: CHANGED },
      },
      'GET /oauth/clients/restricted': {
        summary: 'List the scopes that the restricted endpoints refuse',
        answers: { 200: json('The scopes; `*` matches any characters.', texts) },
      },
      'POST /oauth/clients/restricted': {
        ...create,
        summary: 'Create a client without restricted scopes',
        json: { schema: ref('ClientToMake'), example: { ...example, client_id: 'kiosk' } },
      },
      'PUT /oauth/clients/restricted/:client_id': { ...update, summary: 'Update a client without restricted scopes' },
      ...BATCH_OPERATIONS,
      ...CREDENTIAL_OPERATIONS,
      ...METADATA_OPERATIONS,
      ...Object.fromEntries(['GET', 'POST', 'PUT', 'DELETE', 'PATCH'].map(method => [`${method} /clientinfo`, info])),
    },
    schemas: clientSchemas(behaviour),
  }
}

/** Several clients at once. */
const BATCH_OPERATIONS: Operations = {
  'POST /oauth/clients/tx': batch({
    summary: 'Create clients',
    json: { schema: filledList(ref('ClientToMake')), example: [{ ...example, client_id: 'shop-1' }] },
    answers: { 201: clients, 400: INVALID, 404: statusAlone('The list is empty.'), 409: CHANGED, 503: overload },
  }),
  'PUT /oauth/clients/tx': batch({
    summary: 'Update clients',
    json: { schema: filledList(ref('ClientToChange')), example: [{ ...example, client_secret: undefined }] },
  }),
  'POST /oauth/clients/tx/delete': batch({
    summary: 'Delete clients',
    json: { schema: listOrNull(open({ client_id: filled }, ['client_id'])), example: [{ client_id: 'shop-1' }] },
  }),
  'POST /oauth/clients/tx/secret': batch({
    summary: 'Change the secrets of clients',
    json: {
      schema: listOrNull(open({ clientId: filled, secret: textOrNull, oldSecret: textOrNull }, ['clientId', 'secret'])),
      example: [{ clientId: 'shop', secret: 'another-secret' }],
    },
  }),
  'POST /oauth/clients/tx/modify': batch({
    summary: 'Create, update and delete clients',
    json: {
      schema: listOrNull({
        type: 'object',
        properties: {
          client_id: clientId,
          action: oneOf(['add', 'update', 'update,secret', 'secret', 'delete']),
        },
        required: ['client_id', 'action'],
        allOf: [
          actionIs(['add', 'update', 'update,secret'], ref('ClientToMake')),
          actionIs(['update,secret', 'secret'], { required: ['client_secret'] }),
        ],
      }),
      example: [{ ...example, client_id: 'shop-2', action: 'add' }],
    },
    answers: {
      200: json('The changed clients.', listOf({ type: 'object' })),
      400: INVALID,
      404: missing,
      409: CHANGED,
      503: overload,
    },
  }),
}

/** Secrets and keys of a client. */
const CREDENTIAL_OPERATIONS: Operations = {
  'PUT /oauth/clients/:client_id/secret': {
    summary: 'Change the secret of a client',
    about: 'A client that changes its own secret must send the old one; an administrator does not.',
    path,
    json: {
      schema: {
        ...open({ secret: textOrNull, oldSecret: textOrNull, changeMode: CHANGE_MODES }),
        anyOf: [
          { required: ['secret'] },
          { properties: { changeMode: { const: 'DELETE' } }, required: ['changeMode'] },
        ],
      },
      example: { secret: 'another-secret' },
    },
    answers: {
      200: result,
      400: 'The old secret is wrong, the new one violates the policy, or the client has too many or too few secrets.',
      404: missing,
      409: CHANGED,
      429: 'Too many wrong old secrets.',
      503: overload,
    },
  },
  'PUT /oauth/clients/:client_id/clientjwt': {
    summary: 'Change the public keys of a client, or whose JWTs it trusts',
    path,
    json: {
      schema: open({
        jwks: textOrNull,
        jwks_uri: textOrNull,
        kid: textOrNull,
        iss: { ...textOrNull, description: 'Of an entry of `jwt_creds`, with `sub`; not together with keys.' },
        sub: textOrNull,
        aud: textOrNull,
        changeMode: oneOfOrNull(['ADD', 'UPDATE', 'DELETE']),
      }),
      example: { jwks_uri: 'https://shop.example/keys', changeMode: 'UPDATE' },
    },
    answers: {
      200: result,
      400: 'The keys or the entry are invalid, or the caller may not change them.',
      404: missing,
      409: CHANGED,
    },
  },
}

/** What pages show of a client, and what its profile demands. */
const METADATA_OPERATIONS: Operations = {
  'GET /oauth/clients/meta': {
    summary: 'List client metadata for the home page',
    answers: { 200: json('The display settings of the clients.', listOf(ref('ClientMetadata'))) },
  },
  'GET /oauth/clients/:client_id/meta': {
    summary: 'Read client metadata for the home page',
    path,
    answers: { 200: json('The display settings.', ref('ClientMetadata')), 404: 'No metadata found.' },
  },
  'PUT /oauth/clients/:client_id/meta': {
    summary: 'Update client metadata for the home page',
    path,
    json: {
      schema: open({
        clientId: textOrNull,
        clientName: textOrNull,
        showOnHomePage: { type: ['boolean', 'null'] },
        appLaunchUrl: { type: ['string', 'null'], pattern: '^(?:[Hh][Tt][Tt][Pp][Ss]?://|$)' },
        appIcon: { type: ['string', 'null'], pattern: BASE64, description: 'An image in base64.' },
      }),
      example: { clientName: 'The shop', showOnHomePage: true, appLaunchUrl: 'https://shop.example/' },
    },
    answers: {
      200: json('The new display settings.', ref('ClientMetadata')),
      400: 'Invalid member.',
      404: 'Client not found.',
      409: CHANGED,
    },
  },
  'GET /oauth/clients/:client_id/profile': {
    summary: 'Report what a client lacks for its FAPI profile',
    path,
    answers: {
      200: json(
        'The profile of the client or its zone, null for none, and what is missing.',
        open({
          client_id: text,
          profile: oneOfOrNull(PROFILES),
          missing: listOf(open({ of: oneOf(['client', 'zone', 'server']), key: text, message: text })),
        }),
      ),
      404: missing,
    },
  },
}
