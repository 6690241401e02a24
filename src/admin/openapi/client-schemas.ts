// The records of clients, as they are sent and as they are answered.
import type { Behaviour } from '../../model/compatibility.ts'
import { clientFields, clientSecretFields, GRANT_TYPES } from '../../records/client.ts'
import { sentSchemas, shownSchemas } from '../../records/json-schema.ts'
import type { Schema } from './description.ts'
import { closed, flag, oneOf, text, texts, whole } from './description.ts'

/** The members of a client as it is sent; null says nothing, and any others are kept as they are. */
export const sentClient: Readonly<Record<string, Schema>> = {
  ...sentSchemas(clientFields, { nullable: true }),
  authorized_grant_types: { ...sentSchemas(clientFields)['authorized_grant_types'], items: oneOf(GRANT_TYPES) },
  ...sentSchemas(clientSecretFields, { nullable: true }),
}

const answered = shownSchemas(clientFields)

/** The schemas by name. */
export const clientSchemas = (behaviour: Behaviour): Readonly<Record<string, Schema>> => ({
  Client: {
    type: 'object',
    properties: { ...answered.properties, approvals_deleted: flag, action: text },
    required: answered.required,
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
