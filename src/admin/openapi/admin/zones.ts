// The management of identity zones.
import { settingsSchema } from '../../../records/json-schema.ts'
import { zoneConfigSettings } from '../../../records/zone-config.ts'
import type { Area, Facts, Schema } from '../description.ts'
import {
  described,
  flag,
  json,
  listOf,
  milliseconds,
  must,
  open,
  ref,
  sent,
  statusAlone,
  text,
  textOrNull,
  whole,
} from '../description.ts'

/** Members whose value the API ignores. */
const IGNORED = new Set(['disableRedirectParameter', 'expireSecretInMonths'])
/** Members that may not be null: UAA fails for them. */
const NEVER_NULL = new Set(['issuer', 'corsPolicy'])

/** Sections that refuse unknown members. */
const CLOSED = new Set(['secondFactor', 'protocols', 'registration'])

/** Adapts the configuration file's schema to the API, which ignores unknown members and reads null as the default. */
function lenient(schema: unknown): Schema {
  const { additionalProperties, properties, items, required, ...rest } = Object(schema) as Schema // of JSON
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  const isNullable = (name: string): boolean => !needed.includes(name) && !NEVER_NULL.has(name)
  return {
    ...rest,
    ...(needed.length > 0 && { required }),
    ...(items !== undefined && { items: lenient(items) }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: lenient(additionalProperties) }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries<unknown>(Object(properties)).map(([name, each]) => [
          name,
          IGNORED.has(name)
            ? ref('Kept')
            : {
                ...(isNullable(name) ? orNull(lenient(each)) : lenient(each)),
                ...(CLOSED.has(name) && { additionalProperties: false }),
              },
        ]),
      ),
    }),
  }
}

const orNull = ({ type, enum: words, ...rest }: Schema): Schema => ({
  ...rest,
  ...(type !== undefined && { type: [...new Set([type, 'null'].flat())] }),
  ...(Array.isArray(words) && { enum: [...words, null] }),
})

const path = { id: must('Id of the zone.') }
const client = { ...path, client_id: must('Client id.') }
const zone = json('The zone, without private keys.', ref('Zone'))
const forbidden = statusAlone('The caller belongs to another zone, or the zone is the default zone.')
const missing = statusAlone('Zone not found.')
const INVALID = 'The record is invalid: `invalid_identity_zone`.'
const MALFORMED = 'A member has the wrong type.'
const TAKEN = 'Another zone has the id or the subdomain, or the zone was changed concurrently.'

const ID = '^\\s*(?:[\\x21\\x23-\\x29\\x2d\\x30-\\x5b\\x5d-\\x7e]{1,36})?\\s*$'
/** Labels of at most 63 characters, with no hyphen at either end of the whole. */
const SUBDOMAIN = '^\\w(?:[\\w-]{0,61}\\w)?$|^\\w[\\w-]{0,62}(?:\\.[\\w-]{1,63})*\\.[\\w-]{0,62}\\w$'

const TO_MAKE = {
  schema: ref('ZoneToMake'),
  example: {
    id: 'branch',
    subdomain: 'branch',
    name: 'A branch',
    config: { tokenPolicy: { accessTokenValidity: 600 } },
  },
}

/** `/identity-zones` and below. */
export function zonesArea({ service }: Facts): Area {
  return {
    name: 'Identity zones',
    about: 'Tenants, each with its own users, clients, keys and pages.',
    operations: {
      'GET /identity-zones': {
        summary: 'List zones',
        about: 'In a zone other than the default zone: only that zone.',
        answers: { 200: json('The zones.', listOf(ref('Zone'))) },
      },
      'GET /identity-zones/:id': {
        summary: 'Read a zone',
        about: 'A caller with read access to this zone only gets no token and SAML settings.',
        path,
        answers: { 200: zone, 404: missing },
      },
      'POST /identity-zones': {
        summary: 'Create a zone',
        json: TO_MAKE,
        answers: { 201: zone, 400: MALFORMED, 403: forbidden, 409: TAKEN, 422: INVALID },
      },
      'PUT /identity-zones/:id': {
        summary: 'Replace a zone',
        path,
        json: { ...TO_MAKE, example: { ...TO_MAKE.example, name: 'The branch' } },
        answers: {
          200: zone,
          400: statusAlone('A member has the wrong type, or name or subdomain is missing.'),
          403: forbidden,
          404: missing,
          409: TAKEN,
          422: INVALID,
        },
      },
      'DELETE /identity-zones/:id': {
        summary: 'Delete a zone with everything in it',
        about:
          'Users and clients of the default zone lose their rights `zones.<id>.…`: a later zone with this id is not theirs.',
        path,
        answers: {
          200: zone,
          403: forbidden,
          404: missing,
          422: statusAlone('A provider of the zone has an alias in another zone.'),
        },
      },
      'POST /identity-zones/:id/clients': {
        summary: 'Create a client that signs users in to the zone',
        path,
        json: {
          schema: ref('ClientOfZone'),
          example: {
            client_id: 'portal',
            client_secret: 'portal-secret',
            authorized_grant_types: ['authorization_code'],
            redirect_uri: ['https://portal.example/cb'],
            scope: ['openid'],
            authorities: [service.scope('resource')],
            allowedproviders: [service.name],
          },
        },
        answers: {
          201: json('The client, without its secret.', ref('Client')),
          400: 'The record is malformed, or requests more than such a client may have.',
          403: forbidden,
          404: missing,
          409: 'The id is taken.',
        },
      },
      'DELETE /identity-zones/:id/clients/:client_id': {
        summary: 'Delete a client that was created here',
        path: client,
        answers: {
          200: json('The client, without its secret.', ref('Client')),
          400: 'The client was not created here.',
          403: forbidden,
          404: statusAlone('Zone or client not found.'),
          409: 'The client was changed concurrently.',
        },
      },
    },
    schemas: {
      Zone: {
        type: 'object',
        properties: {
          id: text,
          subdomain: text,
          name: text,
          description: text,
          version: whole,
          active: flag,
          created: milliseconds,
          last_modified: milliseconds,
          config: ref('ZoneConfig'),
        },
        required: ['id', 'subdomain', 'name', 'version', 'active', 'created', 'last_modified', 'config'],
        additionalProperties: false,
      },
      ZoneToMake: sent(
        open(
          {
            id: described(
              { type: ['string', 'null'], pattern: ID },
              'At most 36 ASCII characters; generated if missing. Surrounding white space is removed.',
            ),
            subdomain: described({ type: 'string', pattern: SUBDOMAIN, maxLength: 255 }, 'A host name.'),
            name: { type: 'string', pattern: '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$', maxLength: 255 },
            description: textOrNull,
            version: { type: ['integer', 'null'], minimum: 0, maximum: 2 ** 31 - 2 },
            active: { type: ['boolean', 'null'] },
            config: ref('ZoneConfig'),
          },
          ['subdomain', 'name'],
        ),
        { kept: true },
      ),
      ZoneConfig: sent(lenient(settingsSchema(zoneConfigSettings(service.name))), { kept: true }),
    },
  }
}
