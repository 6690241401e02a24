// The management of identity providers.
import { providerTypes } from '../../../providers/provider-types.ts'
import type { ProviderType } from '../../../providers/provider-types.ts'
import { sentSchemas, settingsSchema, shownSchemas, shownSettingsSchema } from '../../../records/json-schema.ts'
import { providerFields } from '../../../records/provider.ts'
import type { Answer, Area, Facts, Schema } from '../description.ts'
import { filled, json, listOf, mayBe, must, open, queryFlag, ref, sent, text, textOrNull } from '../description.ts'

const path = { id: must('Id of the provider.') }
const rawConfig = { rawConfig: mayBe('Whether `config` is an object; otherwise a JSON string.', queryFlag) }
const provider = json('The provider, without its secrets.', ref('IdentityProvider'))

/** An error message, or the record as sent without its secrets, with `error` and `error_description` in `standard`. */
const refusal = (about: string): Answer => ({
  about,
  content: { 'application/json': { type: 'object' }, 'text/plain': text },
})
const MISSING = refusal('Provider not found.')
const TAKEN = refusal('Another provider has the origin, issuer or entity id, or the provider was changed concurrently.')
const INVALID = refusal(
  'The record is invalid; it is returned without its secrets, in `standard` with `error_description`.',
)
const UNUSABLE = refusal('The record or its metadata is malformed.')

/** The settings of each type; its `config` may also be JSON text of them. */
const byType = (
  types: readonly Pick<ProviderType, 'type' | 'needsConfig'>[],
  nameOf: (type: string) => string,
): Schema => ({
  allOf: types.map(({ type, needsConfig = false }) => ({
    if: { properties: { type: { const: type } }, required: ['type'] },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: {
      properties: {
        config: {
          anyOf: [needsConfig ? filled : { type: ['string', 'null'] }, ref(nameOf(type))],
        },
      },
      ...(needsConfig && { required: ['config'] }),
    },
  })),
})
const shownConfigOf = (type: string): string => `ProviderConfig.${type}`
const sentConfigOf = (type: string): string => `ProviderConfigToMake.${type}`

const { properties, required } = shownSchemas(providerFields)
/** A missing alias is shown as null. */
const shownProvider: Schema = {
  type: 'object',
  properties: { ...properties, aliasId: textOrNull, aliasZid: textOrNull },
  required: [...required, 'aliasId', 'aliasZid'],
  additionalProperties: false,
}

const EXAMPLE = {
  type: 'oidc1.0',
  originKey: 'partner',
  name: 'The partner',
  active: true,
  config: {
    authUrl: 'https://partner.example/authorize',
    tokenUrl: 'https://partner.example/token',
    tokenKeyUrl: 'https://partner.example/keys',
    issuer: 'https://partner.example',
    relyingPartyId: 'latchkey',
    relyingPartySecret: 'partner-secret',
    linkText: 'The partner',
  },
}

const CREDENTIALS = { username: 'somebody', password: 'the password' }

const DIRECTORY = {
  type: 'ldap',
  originKey: 'ldap',
  name: 'The directory',
  config: {
    // An address reserved for documentation (RFC 5737).
    baseUrl: 'ldaps://192.0.2.1',
    ldapProfileFile: 'ldap/ldap-search-and-bind.xml',
    bindUserDn: 'cn=reader,dc=example,dc=org',
    bindPassword: 'reader-secret',
    userSearchBase: 'ou=people,dc=example,dc=org',
    userSearchFilter: 'uid={0}',
  },
}

/** `/identity-providers` and below. */
export function providersArea({ service, behaviour }: Facts): Area {
  const described = providerTypes(service.name)
  const types = described.map(({ type }) => type)
  const settingsSchemas = Object.fromEntries(
    described.flatMap(({ type, settings }) => [
      [shownConfigOf(type), shownSettingsSchema(settings)],
      [sentConfigOf(type), sent(settingsSchema(settings, { nullable: true }))],
    ]),
  )
  return {
    name: 'Identity providers',
    about: 'The identity providers of a zone.',
    operations: {
      'GET /identity-providers': {
        summary: 'List providers',
        query: {
          ...rawConfig,
          active_only: mayBe('Whether to return only active providers.', queryFlag),
          originKey: mayBe('Return only the active provider with this origin.'),
        },
        answers: {
          200: json('The providers, without their secrets.', listOf(ref('IdentityProvider'))),
          400: 'Invalid boolean.',
          404: MISSING,
        },
      },
      'GET /identity-providers/:id': {
        summary: 'Read a provider',
        path,
        query: rawConfig,
        answers: { 200: provider, 404: MISSING },
      },
      'POST /identity-providers': {
        summary: 'Create a provider',
        query: rawConfig,
        json: { schema: ref('IdentityProviderToMake'), example: EXAMPLE },
        answers: { 201: provider, 400: UNUSABLE, 409: TAKEN, 422: INVALID },
      },
      'POST /identity-providers/test': {
        summary: 'Test an LDAP provider',
        about:
          'Verifies a user name and a password with the record in the body. The record is checked as on creation and not stored. It needs its own `bindPassword`, even if a stored provider has one.',
        query: rawConfig,
        json: { schema: ref('ProviderTest'), example: { provider: DIRECTORY, credentials: CREDENTIALS } },
        answers: {
          200: json('The credentials are valid.', { const: 'ok' }),
          400: refusal(
            'The body is malformed, the record has another type, or the directory cannot be used with it. The text names the setting that is wrong; why a directory cannot be reached is in the log.',
          ),
          417: json('The credentials are wrong.', { const: 'bad credentials' }),
          422: INVALID,
          500: json('Internal error. The reason is in the log.', { const: 'check server logs' }),
          503: refusal('Too many connections.'),
        },
      },
      'PUT /identity-providers/:id': {
        summary: 'Replace a provider',
        about: 'Omitted secrets, and omitted settings that UAA does not have, are kept; null removes such a setting.',
        path,
        query: rawConfig,
        json: { schema: ref('IdentityProviderToMake'), example: { ...EXAMPLE, name: 'Our partner' } },
        answers: { 200: provider, 400: UNUSABLE, 404: MISSING, 409: TAKEN, 422: INVALID },
      },
      'DELETE /identity-providers/:id': {
        summary: 'Delete a provider and its users',
        path,
        query: rawConfig,
        answers: {
          200: provider,
          404: MISSING,
          409: TAKEN,
          422: { about: 'The provider has an alias, and aliases are disabled.', mayBeEmpty: true },
        },
      },
      'PATCH /identity-providers/:id/status': {
        summary: 'Require a password change of the internal users',
        path,
        json: {
          schema: ref('ProviderStatus'),
          example: { requirePasswordChange: true },
        },
        answers: {
          200: json('The body that was sent.', ref('ProviderStatus')),
          400: UNUSABLE,
          404: MISSING,
          409: TAKEN,
          422: INVALID,
        },
      },
    },
    schemas: {
      ProviderTest: open(
        {
          provider: ref('IdentityProviderToMake'),
          credentials: open({ username: text, password: text }, ['username', 'password']),
        },
        ['provider', 'credentials'],
      ),
      ProviderStatus: open({ requirePasswordChange: { const: true } }, ['requirePasswordChange']),
      ...settingsSchemas,
      IdentityProvider: {
        ...byType(
          types.map(type => ({ type })),
          shownConfigOf,
        ),
        ...shownProvider,
      },
      IdentityProviderToMake: sent({
        ...byType(described, sentConfigOf),
        ...open(
          {
            ...sentSchemas(providerFields, { nullable: true }),
            type: {
              type: behaviour.knownProviderTypes ? 'string' : ['string', 'null'],
              maxLength: 255,
              examples: types,
            },
            config: {
              type: ['object', 'string', 'null'],
              description: 'The settings of the type, as an object or a JSON string.',
            },
          },
          ['originKey', 'name', ...(behaviour.knownProviderTypes ? ['type'] : [])],
        ),
      }),
    },
  }
}
