// The schemas of clients in requests and responses.
import type { Behaviour } from '../../../model/compatibility.ts'
import { GRANT_TYPES } from '../../../model/clients/grant-types.ts'
import { clientFields, clientSecretFields } from '../../../records/client.ts'
import { sentSchemas, shownSchemas } from '../../../records/json-schema.ts'
import type { Schema } from '../description.ts'
import { closed, flag, sent, text, texts, whole } from '../description.ts'

/** The id of a new client. */
export const clientId: Schema = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  pattern: '^[^/\\\\\\u0000-\\u001f\\u007f-\\u009f]*$',
  description: 'Unique in the zone, ignoring case.',
}

const GRANT = `(?:${GRANT_TYPES.join('|')})`
const grantWords = `^[\\s,]*${GRANT}(?:[\\s,]+${GRANT})*[\\s,]*$`
/** Blank strings are ignored. */
const grantWordsOrNone = `${grantWords}|^[\\s,]*$`
const GRANTS_ABOUT = `The grants it may use: ${GRANT_TYPES.join(', ')}.`
const grants: Schema = {
  type: ['array', 'string', 'null'],
  items: { type: 'string', pattern: grantWordsOrNone },
  pattern: grantWordsOrNone,
  description: GRANTS_ABOUT,
}
const someGrants: Schema = {
  ...grants,
  type: ['array', 'string'],
  contains: { pattern: grantWords },
  pattern: grantWords,
}

const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']
const publicKey: Schema = {
  type: 'object',
  properties: { kty: { type: 'string', not: { const: 'oct' } }, kid: text },
  required: ['kty', 'kid'],
  not: { anyOf: PRIVATE_MEMBERS.map(name => ({ required: [name] })) },
}
const publicKeys: Schema = {
  anyOf: [
    { type: ['string', 'null'] },
    publicKey,
    {
      type: 'object',
      properties: { keys: { type: 'array', items: publicKey, minItems: 1, maxItems: 10 } },
      required: ['keys'],
    },
  ],
  description:
    'Public keys for `private_key_jwt`, used instead of a secret: a JWK set or a JWK, as an object or as a JSON string. Never returned.',
}

/** The members of a client in a request; null counts as absent, unknown members are stored as sent. */
const sentClient: Readonly<Record<string, Schema>> = {
  ...sentSchemas(clientFields, { nullable: true }),
  client_id: clientId,
  authorized_grant_types: grants,
  jwks: publicKeys,
  jwks_uri: {
    type: ['string', 'null'],
    pattern: '^[Hh][Tt][Tt][Pp][Ss]?://',
    description: 'URL of the public keys; takes precedence over `jwks`. Never returned.',
  },
  ...sentSchemas(clientSecretFields, { nullable: true }),
  secondary_client_secret: { type: 'null', description: 'Only when creating a single client.' },
}

const newClient: Readonly<Record<string, Schema>> = { ...sentClient, authorized_grant_types: someGrants }

const toMake = (properties: Readonly<Record<string, Schema>>, { exactRedirectUri }: Behaviour): Schema =>
  sent(
    {
      type: 'object',
      properties,
      required: ['client_id', 'authorized_grant_types'],
      description: `Other members are stored as sent.${exactRedirectUri ? ' Redirect URIs are absolute, without wildcards.' : ''}`,
    },
    { kept: true },
  )

const answered = shownSchemas(clientFields)

/** The schemas by name. */
export const clientSchemas = (behaviour: Behaviour): Readonly<Record<string, Schema>> => ({
  Client: {
    type: 'object',
    properties: { ...answered.properties, approvals_deleted: flag, action: text },
    required: answered.required,
    description: 'Other members are the attributes that were sent.',
    not: { anyOf: ['client_secret', 'jwks', 'jwks_uri'].map(name => ({ required: [name] })) },
  },
  ClientToMake: toMake(newClient, behaviour),
  ClientWithTwoSecrets: toMake(
    {
      ...newClient,
      secondary_client_secret: {
        type: ['string', 'null'],
        pattern: '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$',
        description: 'A second valid secret, for rotation without downtime.',
      },
    },
    behaviour,
  ),
  ClientOfZone: toMake({ ...newClient, autoapprove: { description: 'Ignored.' } }, behaviour),
  ClientToChange: sent({ type: 'object', properties: sentClient, required: ['client_id'] }, { kept: true }),
  ClientInfo: closed(
    {
      client_id: text,
      scope: texts,
      resource_ids: texts,
      authorized_grant_types: texts,
      redirect_uri: texts,
      authorities: texts,
      access_token_validity: whole,
      refresh_token_validity: whole,
    },
    ['scope', 'resource_ids', 'redirect_uri', 'authorities', 'access_token_validity', 'refresh_token_validity'],
  ),
  ClientMetadata: closed(
    {
      clientId: text,
      clientName: text,
      showOnHomePage: flag,
      appLaunchUrl: text,
      appIcon: text,
      createdBy: text,
    },
    ['clientName', 'appLaunchUrl', 'appIcon', 'createdBy'],
  ),
})
