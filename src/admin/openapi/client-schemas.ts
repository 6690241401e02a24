// The records of clients, as they are sent and as they are answered.
import { GRANT_TYPES } from '../../model/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { ACCESS_TOKEN_TYPES } from '../../model/token.ts'
import type { Schema } from './description.ts'
import { closed, described, flag, listOf, milliseconds, oneOf, text, textOrNull, texts, whole } from './description.ts'

/** An array of texts, or one text of words. */
const words: Schema = { type: ['array', 'string', 'null'], items: text }
const seconds: Schema = { type: ['integer', 'null'], minimum: 0, maximum: 2 ** 31 - 1 }

/** The members of a client as it is sent; any others are kept as they are. */
export const sentClient: Readonly<Record<string, Schema>> = {
  client_id: described(text, 'Unique in the zone, whatever the case.'),
  client_secret: described(textOrNull, 'Never answered.'),
  secondary_client_secret: described(textOrNull, 'A second one, for a change without an interruption.'),
  authorized_grant_types: described({ ...words, items: oneOf(GRANT_TYPES) }, 'What the client may use.'),
  redirect_uri: words,
  scope: described(words, 'What tokens of users may have.'),
  authorities: described(words, 'What tokens of the client itself may have.'),
  autoapprove: { type: ['array', 'string', 'boolean', 'null'], items: text },
  allowpublic: { type: ['boolean', 'null'] },
  access_token_validity: seconds,
  refresh_token_validity: seconds,
  name: textOrNull,
  allowedproviders: described(words, 'Origins of the providers whose users may sign in.'),
  required_user_groups: words,
  jwks: described(textOrNull, 'A JWK set as text, of which only public halves are kept.'),
  jwks_uri: textOrNull,
  token_salt: textOrNull,
  accessTokenType: described(
    { enum: [...ACCESS_TOKEN_TYPES, null] },
    'The `typ` of JWT access tokens, instead of the zone’s; RFC 9068 has at+jwt.',
  ),
}

const answered = {
  client_id: text,
  scope: texts,
  resource_ids: texts,
  authorized_grant_types: listOf(oneOf(GRANT_TYPES)),
  redirect_uri: texts,
  autoapprove: texts,
  authorities: texts,
  access_token_validity: whole,
  refresh_token_validity: whole,
  allowpublic: flag,
  name: text,
  allowedproviders: texts,
  token_salt: text,
  required_user_groups: texts,
  lastModified: milliseconds,
  approvals_deleted: flag,
  action: text,
}

const REQUIRED = ['client_id', 'scope', 'resource_ids', 'authorized_grant_types', 'autoapprove', 'authorities']

/** The schemas by name. */
export const clientSchemas = (behaviour: Behaviour): Readonly<Record<string, Schema>> => ({
  Client: {
    type: 'object',
    properties: answered,
    required: [...REQUIRED, 'lastModified'],
    description: 'Further members are the attributes that were sent.',
    not: { anyOf: ['client_secret', 'jwks', 'jwks_uri'].map(name => ({ required: [name] })) },
  },
  ClientToMake: {
    type: 'object',
    properties: sentClient,
    required: ['client_id', 'authorized_grant_types'],
    description: `Further members are kept as they are.${behaviour.exactRedirectUri ? ' Redirect URIs are absolute, and have no wildcards.' : ''}`,
  },
  ClientToChange: { type: 'object', properties: sentClient, required: ['client_id'] },
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
