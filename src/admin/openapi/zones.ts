// The management of identity zones.
import type { Area, Facts, Schema } from './description.ts'
import {
  bare,
  described,
  flag,
  json,
  listOf,
  milliseconds,
  must,
  open,
  ref,
  text,
  textOrNull,
  whole,
} from './description.ts'

/** The schema as the API means it: unknown members are dropped, not refused, and null stands for what is usual. */
function lenient(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(lenient)
  if (typeof schema !== 'object' || schema === null) return schema
  const { additionalProperties, required: _, type, enum: words, ...rest } = schema as Schema // an object of JSON
  return {
    ...(type !== undefined && { type: [...new Set([type, 'null'].flat())] }),
    ...(Array.isArray(words) && { enum: [...(words as readonly unknown[]), null] }),
    ...Object.fromEntries(
      Object.entries(rest).map(([name, value]) => [name, isMap(name) ? each(value) : lenient(value)]),
    ),
    ...(typeof additionalProperties === 'object' && { additionalProperties: lenient(additionalProperties) }),
  }
}

const isMap = (keyword: string): boolean => keyword === 'properties'

/** The names in a table of members are no keywords. */
const each = (members: unknown): unknown =>
  Object.fromEntries(Object.entries(Object(members) as Schema).map(([name, schema]) => [name, lenient(schema)]))

const path = { id: must('Id of the zone.') }
const client = { ...path, client_id: must('The client.') }
const zone = json('The zone, without private keys.', ref('Zone'))
const forbidden = bare('The caller is in another zone, or the zone is the default one.')
const missing = bare('There is no such zone.')
const INVALID = 'The record breaks a rule: `invalid_identity_zone`.'
const MALFORMED = 'A member has a wrong type.'
const TAKEN = 'Another zone has the id or the subdomain, or the zone was changed meanwhile.'

/** `/identity-zones` and below. */
export function zonesArea({ service, zoneConfigSchema }: Facts): Area {
  const toMake = {
    schema: ref('ZoneToMake'),
    example: {
      id: 'branch',
      subdomain: 'branch',
      name: 'A branch',
      config: { tokenPolicy: { accessTokenValidity: 600 } },
    },
  }
  return {
    name: 'Identity zones',
    about: 'Tenants, each with users, clients, keys and pages of its own.',
    operations: {
      'GET /identity-zones': {
        summary: 'List zones',
        about: 'Inside another zone than the default one: that one.',
        answers: { 200: json('The zones.', listOf(ref('Zone'))) },
      },
      'GET /identity-zones/:id': {
        summary: 'Read a zone',
        about: 'Whoever may only read inside of the zone gets no settings of tokens and of SAML.',
        path,
        answers: { 200: zone, 404: missing },
      },
      'POST /identity-zones': {
        summary: 'Make a zone',
        json: toMake,
        answers: { 201: zone, 400: MALFORMED, 403: forbidden, 409: TAKEN, 422: INVALID },
      },
      'PUT /identity-zones/:id': {
        summary: 'Replace the record of a zone',
        path,
        json: { ...toMake, example: { ...toMake.example, name: 'The branch' } },
        answers: {
          200: zone,
          400: bare('A member has a wrong type, or name or subdomain is missing.'),
          403: forbidden,
          404: missing,
          409: TAKEN,
          422: INVALID,
        },
      },
      'DELETE /identity-zones/:id': {
        summary: 'Delete a zone with everything in it',
        path,
        answers: {
          200: zone,
          403: forbidden,
          404: missing,
          422: bare('A provider of the zone has an alias in another one.'),
        },
      },
      'POST /identity-zones/:id/clients': {
        summary: 'Make a client that signs people in there',
        path,
        json: {
          schema: ref('ClientToMake'),
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
          400: 'The record is malformed, or asks for more than such a client may have.',
          403: forbidden,
          404: missing,
          409: 'There is one with this id.',
        },
      },
      'DELETE /identity-zones/:id/clients/:client_id': {
        summary: 'Delete such a client',
        path: client,
        answers: {
          200: json('The client, without its secret.', ref('Client')),
          400: 'The client was not made here.',
          403: forbidden,
          404: bare('There is no such zone or client.'),
          409: 'The client was changed meanwhile.',
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
      ZoneToMake: open(
        {
          id: described(textOrNull, 'At most 36 characters; made when it is missing.'),
          subdomain: described({ type: 'string', minLength: 1, maxLength: 255 }, 'As a host name is.'),
          name: { type: 'string', minLength: 1, maxLength: 255 },
          description: textOrNull,
          version: { type: ['integer', 'null'], minimum: 0 },
          active: { type: ['boolean', 'null'] },
          config: ref('ZoneConfig'),
        },
        ['subdomain', 'name'],
      ),
      ZoneConfig: lenient(zoneConfigSchema) as Schema, // an object in, an object out
    },
  }
}
