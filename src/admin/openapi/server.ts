// Server information, keys and health.
import { GRANT_TYPES } from '../../model/clients/grant-types.ts'
import type { Area, Facts, Operation } from './description.ts'
import {
  closed,
  described,
  empty,
  json,
  listOf,
  may,
  open,
  page,
  redirect,
  ref,
  text,
  textOrNull,
} from './description.ts'

const prompts = {
  type: 'object',
  additionalProperties: { type: 'array', items: text, minItems: 2, maxItems: 2 },
  description: 'The fields of the sign-in form: type and label by name.',
}

const metadata: Operation = {
  summary: 'Read the metadata of the authorization server',
  about: 'OpenID Connect Discovery 1.0 §4 and RFC 8414, for the zone of the request.',
  answers: { 200: json('The metadata.', ref('Metadata')) },
}

const resourceMetadata: Operation = {
  summary: 'Read the protected resource metadata of the server',
  about: 'RFC 9728.',
  answers: {
    200: json(
      'The description.',
      open({
        resource: text,
        authorization_servers: listOf(text),
        scopes_supported: listOf(text),
        bearer_methods_supported: listOf(text),
        resource_documentation: text,
        dpop_signing_alg_values_supported: listOf(text),
        tls_client_certificate_bound_access_tokens: { type: 'boolean' },
      }),
    ),
    404: 'The zone does not have it.',
  },
}

const RATE_LIMITER = closed(
  {
    current: closed(
      {
        status: { enum: ['ACTIVE', 'DISABLED'] },
        asOf: text,
        credentialIdExtractor: text,
        loggingLevel: text,
        limiterMappings: { type: 'integer' },
      },
      ['credentialIdExtractor', 'loggingLevel', 'limiterMappings'],
    ),
    fromSource: text,
  },
  ['fromSource'],
)

const keySet = (facts: Facts, summary: string, schema: ReturnType<typeof ref>): Operation => ({
  summary,
  headers: { 'if-none-match': may('The `ETag` of an earlier response.') },
  answers: {
    200: json('The keys.', schema, { headers: { etag: 'Changes with the keys.' } }),
    304: empty('Not modified.'),
    401: facts.behaviour.allPublicKeys
      ? 'The signing key is a shared secret, or the credentials are wrong.'
      : 'The key is protected, or the credentials are wrong.',
    403: 'The key is not shown to this client.',
  },
})

const asset: Operation = {
  summary: 'Read a file used by the pages',
  headers: { 'if-none-match': may('The `ETag` of an earlier response.') },
  answers: {
    200: {
      about: 'The file.',
      content: { 'text/css': text, 'text/javascript': text, 'image/svg+xml': text, 'image/png': text },
      headers: { etag: 'Changes with the file.' },
    },
    304: empty('Not modified.'),
  },
}

const logo = (what: string, about: string, otherwise: Operation['answers']): Operation => ({
  summary: `Read the ${what} of the zone`,
  headers: { 'if-none-match': may('The `ETag` of an earlier response.') },
  answers: {
    200: { about, content: { 'image/png': text }, headers: { etag: 'Changes with the logo.' } },
    304: empty('Not modified.'),
    ...otherwise,
  },
})

const info: Operation = {
  summary: 'Read server information and sign-in fields',
  query: {
    origin: may('Origin of the provider whose fields to return.'),
    login_hint: may('A provider or a user name, as on the sign-in page.'),
  },
  answers: { 200: json('Information about the server and the zone.', ref('ServerInfo')) },
}

const readiness = {
  200: { about: 'Healthy.', content: { 'text/plain': text } },
  503: {
    about: 'The database is unavailable or takes no writes, or the server is stopping.',
    content: { 'text/plain': text },
  },
}

/** Information, keys, health and this document. */
export const serverArea = (facts: Facts): Area => ({
  name: 'Server',
  about: 'Information, keys and health.',
  operations: {
    'GET /info': info,
    ...(!facts.behaviour.getInfoOnly && { 'POST /info': info, 'PUT /info': info, 'DELETE /info': info }),
    'GET /healthz': { summary: 'Check the health of the server', answers: readiness },
    'GET /readyz': {
      summary: 'Check whether the server can take requests (alias)',
      answers: readiness,
    },
    'GET /livez': {
      summary: 'Check whether the process responds, regardless of its database',
      answers: { 200: { about: 'It does.', content: { 'text/plain': text } } },
    },
    'GET /openapi.json': {
      summary: 'Read this document',
      headers: { 'if-none-match': may('The `ETag` of an earlier response.') },
      answers: {
        200: json('OpenAPI 3.1.', open({ openapi: text }, ['openapi', 'info', 'paths']), {
          headers: { etag: 'Changes with the document.' },
        }),
        304: empty('Not modified.'),
      },
    },
    'GET /docs': { summary: 'Read this document as a page', answers: { 200: page('The endpoints by area.') } },
    'GET /RateLimitingStatus': {
      summary: 'Read the settings of the rate limiter',
      credentials: ['bearer'],
      answers: {
        200: json('The state of the limiter.', RATE_LIMITER),
        403: `The caller lacks ${facts.service.scope('admin')} of the default zone.`,
      },
    },
    'GET /token_keys': keySet(facts, 'Read the public keys', ref('KeySet')),
    'GET /token_key': keySet(facts, 'Read the active signing key', ref('Key')),
    'GET /.well-known/openid-configuration': metadata,
    'GET /oauth/token/.well-known/openid-configuration': metadata,
    'GET /.well-known/oauth-protected-resource': resourceMetadata,
    'GET /.well-known/oauth-authorization-server': metadata,
    'GET /.well-known/oauth-authorization-server/oauth/token': metadata,
    'GET /square-logo.png': logo('square logo', 'The logo of the zone, or of the default zone.', {
      302: redirect('To the icon of the server, if there is no logo.'),
    }),
    'GET /product-logo.png': logo('product logo', 'The logo of the zone.', { 404: 'There is no logo.' }),
    'GET /banner-logo.png': logo('logo in the banner', 'The logo of the zone, or of the default zone.', {
      404: 'There is no logo.',
    }),
    'GET /resources/*': asset,
    'GET /resources/oss/stylesheets/*': asset,
  },
  schemas: {
    ServerInfo: closed(
      {
        app: { type: 'object', additionalProperties: text, required: ['version'] },
        commit_id: text,
        timestamp: text,
        zone_name: text,
        entityID: text,
        links: { type: 'object', additionalProperties: text },
        prompts,
        idpDefinitions: { type: 'object', additionalProperties: text },
        showLoginLinks: { const: true },
        defaultIdpName: textOrNull,
        login_hint: text,
        error: { const: 'invalid_login_hint' },
      },
      ['commit_id', 'timestamp', 'showLoginLinks', 'defaultIdpName', 'login_hint', 'error'],
    ),
    Metadata: open(
      {
        issuer: text,
        authorization_endpoint: text,
        token_endpoint: text,
        jwks_uri: text,
        response_types_supported: { type: 'array', items: { enum: facts.lists.responseTypes } },
        code_challenge_methods_supported: { type: 'array', items: { enum: facts.lists.codeChallengeMethods } },
        grant_types_supported: { type: 'array', items: { enum: GRANT_TYPES } },
        response_modes_supported: { type: 'array', items: { enum: facts.lists.responseModes } },
      },
      ['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri', 'response_types_supported'],
    ),
    Key: open(
      {
        kty: text,
        kid: text,
        use: { const: 'sig' },
        alg: text,
        value: described(text, 'The key in PEM, or the shared secret.'),
        ...Object.fromEntries(['n', 'e', 'crv', 'x', 'y', 'x5t', 'x5t#S256'].map(name => [name, text])),
        x5c: listOf(text),
      },
      ['kty', 'kid', 'use', 'alg'],
    ),
    KeySet: closed({ keys: listOf(ref('Key')) }),
  },
})
