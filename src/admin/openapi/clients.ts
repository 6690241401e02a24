// The management of clients.
import { clientId, clientSchemas } from './client-schemas.ts'
import type { Area, Facts, Operation, Schema } from './description.ts'
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
} from './description.ts'

const example = {
  client_id: 'shop',
  client_secret: 'shop-secret',
  authorized_grant_types: ['client_credentials'],
  authorities: ['stock.read'],
}

const path = { client_id: must('The client.') }
const missing = statusAlone('There is no such client.')
const INVALID = 'The record is malformed or breaks a rule: `invalid_client`.'
const CHANGED = 'There is one with this id, or the client was changed meanwhile.'
const aClient = json('The client, without its secrets.', ref('Client'))
const clients = json('The clients, without their secrets.', listOf(ref('Client')))
const overload = 'Too many secrets are being hashed.'

const create: Operation = {
  summary: 'Make a client',
  json: { schema: ref('ClientWithTwoSecrets'), example },
  answers: { 201: aClient, 400: INVALID, 409: CHANGED, 503: overload },
}

const update: Operation = {
  summary: 'Change a client',
  about:
    'What is absent or empty keeps its value, and null takes an attribute away. Secrets stay; keys stay unless others are given, which only administrators may.',
  path,
  json: { schema: ref('ClientToChange'), example: { ...example, client_secret: undefined, name: 'The shop' } },
  answers: { 200: aClient, 400: INVALID, 404: missing, 409: CHANGED },
}

const batch = (more: Partial<Operation> & Pick<Operation, 'summary' | 'json'>): Operation => ({
  about: 'All or nothing; at most 1000 entries, each of a client of its own.',
  answers: { 200: clients, 400: INVALID, 404: missing, 409: CHANGED, 503: overload },
  ...more,
})

const info: Operation = {
  summary: 'What a client is told about itself',
  credentials: ['form'],
  answers: { 200: json('The client.', ref('ClientInfo')) },
}

/** A condition on the entries of a batch with one of these actions. */
const actionIs = (words: readonly string[], demand: Schema): Schema => ({
  anyOf: [{ not: { properties: { action: oneOf(words) } } }, demand],
})

const said = json('What was done.', closed({ status: { const: 'ok' }, message: text }))

const LARGEST = 2 ** 31 - 1

/** Which secret or keys to change; the word is needed where nothing else is named. */
const CHANGE_MODES = oneOfOrNull(['UPDATE', 'ADD', 'DELETE'])

/** `/oauth/clients` and below, and `/clientinfo`. */
export function clientsArea({ behaviour }: Facts): Area {
  return {
    name: 'Clients',
    about: 'The clients of a zone. Administrators of the default zone reach other zones by a header.',
    operations: {
      'GET /oauth/clients': {
        summary: 'List clients',
        query: {
          filter: mayBe('A SCIM filter.'),
          sortBy: mayBe('The attribute to sort by.'),
          sortOrder: mayBe('`ascending`; anything else is descending.'),
          startIndex: mayBe('The first to show, from 1.', { type: 'integer', minimum: 1, maximum: LARGEST }),
          count: mayBe('How many, at most 500; a negative number counts as 0.', {
            type: 'integer',
            minimum: -LARGEST,
            maximum: LARGEST,
          }),
          attributes: mayBe('Names of the members that are wanted, separated by commas.'),
        },
        answers: {
          200: json(
            'A part of the list.',
            closed({
              resources: listOf({ type: 'object' }),
              startIndex: whole,
              itemsPerPage: whole,
              totalResults: whole,
              schemas: texts,
            }),
          ),
          400: 'The filter or a number is malformed.',
        },
      },
      'GET /oauth/clients/:client_id': { summary: 'Read a client', path, answers: { 200: aClient, 404: missing } },
      'POST /oauth/clients': create,
      'PUT /oauth/clients/:client_id': update,
      'DELETE /oauth/clients/:client_id': {
        summary: 'Delete a client, and all that it was granted',
        path,
        answers: { 200: aClient, 404: missing, 409: CHANGED },
      },
      'GET /oauth/clients/restricted': {
        summary: 'The scopes that the restricted endpoints refuse',
        answers: { 200: json('`*` stands for any text.', texts) },
      },
      'POST /oauth/clients/restricted': {
        ...create,
        summary: 'Make a client without restricted scopes',
        json: { schema: ref('ClientToMake'), example: { ...example, client_id: 'kiosk' } },
      },
      'PUT /oauth/clients/restricted/:client_id': { ...update, summary: 'Change a client, without restricted scopes' },
      'POST /oauth/clients/tx': batch({
        summary: 'Make clients',
        json: { schema: filledList(ref('ClientToMake')), example: [{ ...example, client_id: 'shop-1' }] },
        answers: { 201: clients, 400: INVALID, 404: statusAlone('The list is empty.'), 409: CHANGED, 503: overload },
      }),
      'PUT /oauth/clients/tx': batch({
        summary: 'Change clients',
        json: { schema: filledList(ref('ClientToChange')), example: [{ ...example, client_secret: undefined }] },
      }),
      'POST /oauth/clients/tx/delete': batch({
        summary: 'Delete clients',
        json: { schema: listOrNull(open({ client_id: filled }, ['client_id'])), example: [{ client_id: 'shop-1' }] },
      }),
      'POST /oauth/clients/tx/secret': batch({
        summary: 'Change the secrets of clients',
        json: {
          schema: listOrNull(
            open({ clientId: filled, secret: textOrNull, oldSecret: textOrNull }, ['clientId', 'secret']),
          ),
          example: [{ clientId: 'shop', secret: 'another-secret' }],
        },
      }),
      'POST /oauth/clients/tx/modify': batch({
        summary: 'Make, change and delete clients',
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
          200: json('What was done.', listOf({ type: 'object' })),
          400: INVALID,
          404: missing,
          409: CHANGED,
          503: overload,
        },
      }),
      'PUT /oauth/clients/:client_id/secret': {
        summary: 'Change the secret of a client',
        about: 'A client that changes its own names the old one; an administrator need not.',
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
          200: said,
          400: 'The old secret is wrong, the new one is not allowed, or there are too many or too few.',
          404: missing,
          409: CHANGED,
          429: 'Too many wrong old secrets.',
          503: overload,
        },
      },
      'PUT /oauth/clients/:client_id/clientjwt': {
        summary: 'Change the keys that a client may sign with',
        path,
        json: {
          schema: open({
            jwks: textOrNull,
            jwks_uri: textOrNull,
            kid: textOrNull,
            changeMode: oneOfOrNull(['ADD', 'UPDATE', 'DELETE']),
          }),
          example: { jwks_uri: 'https://shop.example/keys', changeMode: 'UPDATE' },
        },
        answers: {
          200: said,
          400: 'The keys cannot be used, or the client may not change them.',
          404: missing,
          409: CHANGED,
        },
      },
      'GET /oauth/clients/meta': {
        summary: 'How clients are shown to people',
        answers: { 200: json('Those that have something to show.', listOf(ref('ClientMetadata'))) },
      },
      'GET /oauth/clients/:client_id/meta': {
        summary: 'How a client is shown to people',
        path,
        answers: { 200: json('It.', ref('ClientMetadata')), 404: 'There is nothing to show.' },
      },
      'PUT /oauth/clients/:client_id/meta': {
        summary: 'Change how a client is shown to people',
        path,
        json: {
          schema: open({
            clientId: textOrNull,
            clientName: textOrNull,
            showOnHomePage: { type: ['boolean', 'null'] },
            appLaunchUrl: { type: ['string', 'null'], pattern: '^(?:[Hh][Tt][Tt][Pp][Ss]?://|$)' },
            appIcon: { type: ['string', 'null'], pattern: BASE64, description: 'A picture in base64.' },
          }),
          example: { clientName: 'The shop', showOnHomePage: true, appLaunchUrl: 'https://shop.example/' },
        },
        answers: {
          200: json('What is shown now.', ref('ClientMetadata')),
          400: 'A member is malformed.',
          404: 'There is no such client.',
          409: CHANGED,
        },
      },
      ...Object.fromEntries(['GET', 'POST', 'PUT', 'DELETE', 'PATCH'].map(method => [`${method} /clientinfo`, info])),
    },
    schemas: clientSchemas(behaviour),
  }
}
