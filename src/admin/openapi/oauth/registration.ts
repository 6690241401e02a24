// Dynamic registration of clients, and the initial access tokens for it.
import { shownSchemas } from '../../../records/json-schema.ts'
import { clientMetadataFields } from '../../../records/client-metadata.ts'
import type { Area, Schema } from '../description.ts'
import {
  closed,
  described,
  empty,
  filled,
  json,
  listOf,
  must,
  open,
  ref,
  sent,
  text,
  texts,
  whole,
} from '../description.ts'

const client = { client_id: must('Client id.') }
const INVALID =
  'The metadata are refused: `invalid_client_metadata`, `invalid_redirect_uri` or `unapproved_software_statement`.'
const NO_TOKEN = 'The registration access token is not that of the client.'
const OFF = 'The zone lets no clients register, which is the default.'
const example = {
  redirect_uris: ['https://photos.example.org/callback'],
  client_name: 'Photos',
  grant_types: ['authorization_code', 'refresh_token'],
  scope: 'openid profile',
}
const epoch = (about: string): Schema => described(whole, `${about}, in seconds since 1970.`)

/** A client of the list of metadata, whose shape is the same in both directions. */
const metadata = {
  redirect_uris: texts,
  client_name: text,
  grant_types: texts,
  response_types: texts,
  scope: described(text, 'Separated by spaces.'),
  jwks: { type: 'object' },
  jwks_uri: text,
  post_logout_redirect_uris: texts,
}

const toRegister: Schema = {
  type: 'object',
  required: ['redirect_uris'],
  properties: {
    redirect_uris: { type: 'array', items: filled, minItems: 1, maxItems: 20 },
    client_name: { type: 'string', maxLength: 100 },
  },
  description:
    'RFC 7591 §2, OpenID Connect Dynamic Client Registration §2 and related standards. Unknown members are ignored.',
}

const tokenMembers = {
  id: text,
  label: text,
  created_at: epoch('When it was made'),
  expires_at: epoch('When it ends'),
  max_uses: described(whole, 'How many clients it may register.'),
  uses: described(whole, 'How many it has registered.'),
}

/** `/connect/register` and `/oauth/registration-tokens`. */
export function registrationArea(): Area {
  const registered = json('The client. Secret and token are returned only once.', ref('RegisteredClient'))
  const itself = 'With the registration access token as bearer token (RFC 7592).'
  return {
    name: 'Registration',
    about: 'Clients that register themselves (RFC 7591, RFC 7592, OpenID Connect Dynamic Client Registration).',
    operations: {
      'POST /connect/register': {
        summary: 'Register a client',
        about: 'With an initial access token as bearer token, unless the zone is open.',
        json: { schema: ref('ClientToRegister'), example },
        answers: {
          201: registered,
          400: INVALID,
          401: 'The initial access token is missing, wrong, used up or expired.',
          403: 'The zone has reached its limit of registered clients.',
          404: OFF,
        },
      },
      'GET /connect/register/:client_id': {
        summary: 'Read the client',
        about: itself,
        path: client,
        answers: { 200: registered, 401: NO_TOKEN, 404: OFF },
      },
      'PUT /connect/register/:client_id': {
        summary: 'Replace the metadata of the client',
        about: `${itself} The response has a new one, which replaces it.`,
        path: client,
        json: { schema: ref('ClientToRegister'), example: { client_id: 'the-client', ...example } },
        answers: {
          200: registered,
          400: INVALID,
          401: NO_TOKEN,
          403: 'An administrator has granted the client more than it could register.',
          404: OFF,
          409: 'The client was changed concurrently.',
        },
      },
      'DELETE /connect/register/:client_id': {
        summary: 'Delete the client with its tokens and approvals',
        about: itself,
        path: client,
        answers: {
          204: empty('Deleted.'),
          401: NO_TOKEN,
          404: OFF,
          409: 'The client was changed concurrently.',
        },
      },
      'GET /oauth/registration-tokens': {
        summary: 'List the initial access tokens',
        answers: { 200: json('Without the tokens themselves.', listOf(ref('RegistrationToken'))) },
      },
      'POST /oauth/registration-tokens': {
        summary: 'Create an initial access token',
        json: { schema: ref('RegistrationTokenToMake'), example: { label: 'The mobile team', max_uses: 5 } },
        answers: {
          201: json('The token, which is returned only once.', ref('NewRegistrationToken')),
          400: 'A member is invalid.',
          409: 'The zone has reached its limit of tokens.',
        },
      },
      'DELETE /oauth/registration-tokens/:id': {
        summary: 'Delete an initial access token',
        path: { id: must('Id of the token.') },
        answers: { 204: empty('Deleted.'), 404: 'Token not found.' },
      },
    },
    schemas: {
      ClientToRegister: sent(toRegister),
      RegisteredClient: open(
        {
          client_id: text,
          client_id_issued_at: epoch('When it was registered'),
          client_secret: text,
          client_secret_expires_at: described(whole, '0: never.'),
          registration_access_token: text,
          registration_client_uri: text,
          ...metadata,
          ...shownSchemas(clientMetadataFields).properties,
        },
        ['client_id', 'registration_access_token', 'registration_client_uri'],
      ),
      RegistrationToken: closed(tokenMembers, ['label']),
      NewRegistrationToken: closed({ ...tokenMembers, token: text }, ['label']),
      RegistrationTokenToMake: sent({
        type: 'object',
        properties: {
          label: { type: ['string', 'null'], maxLength: 100 },
          expires_in: {
            type: ['integer', 'null'],
            minimum: 1,
            maximum: 31_536_000,
            description: 'Seconds; a day unless given.',
          },
          max_uses: { type: ['integer', 'null'], minimum: 1, maximum: 10_000, description: 'One unless given.' },
        },
      }),
    },
  }
}
