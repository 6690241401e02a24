// The management of identity providers.
import { providerRecordTypes } from '../../model/provider-types.ts'
import type { Answer, Area, Facts } from './description.ts'
import {
  closed,
  flag,
  json,
  listOf,
  mayBe,
  milliseconds,
  must,
  open,
  queryFlag,
  ref,
  sent,
  text,
  textOrNull,
  whole,
} from './description.ts'

const path = { id: must('Id of the provider.') }
const rawConfig = { rawConfig: mayBe('Whether `config` is an object; otherwise it is JSON text.', queryFlag) }
const provider = json('The provider, without its secrets.', ref('IdentityProvider'))

/** A sentence, or the record that was sent without its secrets. */
const refusal = (about: string): Answer => ({
  about,
  content: { 'application/json': { type: 'object' }, 'text/plain': text },
})
const MISSING = refusal('There is no such provider.')
const TAKEN = refusal(
  'Another provider has the origin, the issuer or the entity id, or the provider was changed meanwhile.',
)
const INVALID = refusal('The record breaks a rule; it is repeated without its secrets.')
const UNUSABLE = refusal('The record is malformed, or its metadata cannot be read.')

/** `/identity-providers` and below. */
export function providersArea({ service }: Facts): Area {
  const types = providerRecordTypes(service.name).map(({ type }) => type)
  const example = {
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
  const credentials = { username: 'somebody', password: 'the password' }
  const directory = {
    type: 'ldap',
    originKey: 'ldap',
    name: 'The directory',
    config: {
      // Nobody is there: an example must not lead to somebody's directory.
      baseUrl: 'ldaps://192.0.2.1',
      ldapProfileFile: 'ldap/ldap-search-and-bind.xml',
      bindUserDn: 'cn=reader,dc=example,dc=org',
      bindPassword: 'reader-secret',
      userSearchBase: 'ou=people,dc=example,dc=org',
      userSearchFilter: 'uid={0}',
    },
  }
  return {
    name: 'Identity providers',
    about: 'Where the users of a zone come from.',
    operations: {
      'GET /identity-providers': {
        summary: 'List providers',
        query: {
          ...rawConfig,
          active_only: mayBe('Whether to leave out those that are not active.', queryFlag),
          originKey: mayBe('Only the active one of this origin.'),
        },
        answers: {
          200: json('The providers, without their secrets.', listOf(ref('IdentityProvider'))),
          400: 'A flag is neither true nor false.',
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
        summary: 'Make a provider',
        query: rawConfig,
        json: { schema: ref('IdentityProviderToMake'), example },
        answers: { 201: provider, 400: UNUSABLE, 409: TAKEN, 422: INVALID },
      },
      'POST /identity-providers/test': {
        summary: 'Ask a directory whether a name and a password are right',
        about:
          'The directory is asked by the record in the body, which is checked like one that is to be made; nothing is kept. It needs a `bindPassword` of its own, also where a stored provider has one.',
        query: rawConfig,
        json: { schema: ref('ProviderTest'), example: { provider: directory, credentials } },
        answers: {
          200: json('The directory knows the person by the password.', { const: 'ok' }),
          400: refusal('The body is malformed, the record is of another type, or the directory cannot be asked by it.'),
          417: json('It does not.', { const: 'bad credentials' }),
          422: INVALID,
          500: json('What went wrong is in the log.', { const: 'check server logs' }),
          503: refusal('Too many connections are open.'),
        },
      },
      'PUT /identity-providers/:id': {
        summary: 'Replace the record of a provider',
        about: 'Secrets that it does not name are kept.',
        path,
        query: rawConfig,
        json: { schema: ref('IdentityProviderToMake'), example: { ...example, name: 'Our partner' } },
        answers: { 200: provider, 400: UNUSABLE, 404: MISSING, 409: TAKEN, 422: INVALID },
      },
      'DELETE /identity-providers/:id': {
        summary: 'Delete a provider with the users that came from it',
        path,
        query: rawConfig,
        answers: {
          200: provider,
          404: MISSING,
          409: TAKEN,
          422: { about: 'It has an alias, which may not be changed here.', mayBeEmpty: true },
        },
      },
      'PATCH /identity-providers/:id/status': {
        summary: 'Let the passwords of the internal users expire',
        path,
        json: {
          schema: ref('ProviderStatus'),
          example: { requirePasswordChange: true },
        },
        answers: {
          200: json('The body, repeated.', ref('ProviderStatus')),
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
      ProviderStatus: open({ requirePasswordChange: { type: ['boolean', 'null'] } }),
      IdentityProvider: closed({
        type: text,
        config: { type: ['string', 'object', 'null'] },
        id: text,
        originKey: text,
        name: text,
        version: whole,
        created: milliseconds,
        last_modified: milliseconds,
        active: flag,
        identityZoneId: text,
        aliasId: textOrNull,
        aliasZid: textOrNull,
      }),
      IdentityProviderToMake: sent(
        open(
          {
            type: { type: ['string', 'null'], examples: types },
            originKey: { type: 'string', minLength: 1, maxLength: 36 },
            name: { type: 'string', minLength: 1, maxLength: 255 },
            active: { type: ['boolean', 'null'] },
            version: { type: ['integer', 'null'], minimum: 0, maximum: 2 ** 31 - 2 },
            config: {
              type: ['object', 'string', 'null'],
              description:
                'The settings of the type, or JSON text of them. With `linkByEmail: true` an address that the provider calls verified leads to an account of its origin that nobody signed in to yet.',
            },
            aliasId: textOrNull,
            aliasZid: textOrNull,
          },
          ['originKey', 'name'],
        ),
      ),
    },
  }
}
