import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clientFromJson } from '../../src/clients/client-json.ts'
import { serviceNamed } from '../../src/model/service.ts'

const rules = { service: serviceNamed('uaa'), exactRedirectUri: true, furtherProtocols: true }
const minimal = { client_id: 'a', authorized_grant_types: ['password'] }
const read = (members: object) => clientFromJson({ ...minimal, ...members }, rules)

describe('clientFromJson', () => {
  const refused = [
    {
      name: 'a grant list of another type',
      json: { authorized_grant_types: 5 },
      key: 'authorized_grant_types',
      message: /must be a list of strings/,
    },
    {
      name: 'a list with another type',
      json: { scope: ['a', 5] },
      key: 'scope',
      message: /must be a list of strings/,
    },
    {
      name: 'a secret that is a number',
      json: { client_secret: 5 },
      key: 'client_secret',
      message: /must be a string/,
    },
    {
      name: 'a fraction of a second',
      json: { access_token_validity: 0.5 },
      key: 'access_token_validity',
      message: /positive number of seconds/,
    },
    {
      name: 'a negative lifetime',
      json: { refresh_token_validity: -2 },
      key: 'refresh_token_validity',
      message: /positive number of seconds/,
    },
    {
      name: 'an invalid boolean',
      json: { allowpublic: 'maybe' },
      key: 'allowpublic',
      message: /must be a boolean/,
    },
    { name: 'a missing id', json: { client_id: null }, key: 'client_id', message: /must be provided/ },
    {
      name: 'an id that is not a path segment',
      json: { client_id: 'a/b' },
      key: 'client_id',
      message: /^Not allowed characters/,
    },
    { name: 'an id that is too long', json: { client_id: 'a'.repeat(256) }, key: 'client_id', message: /255/ },
    {
      name: 'the reserved id',
      json: { client_id: 'uaa' },
      key: 'client_id',
      message: /^Not allowed: uaa is a reserved client_id$/,
    },
    {
      name: 'jwt-bearer without scope',
      json: { authorized_grant_types: 'urn:ietf:params:oauth:grant-type:jwt-bearer', client_secret: 's' },
      key: 'scope',
      message: /^Scope cannot be empty for grant_type/,
    },
    {
      name: 'jwt-bearer without a credential',
      json: { authorized_grant_types: 'urn:ietf:params:oauth:grant-type:jwt-bearer', scope: 'a' },
      key: 'client_secret',
      message: /^Client secret is required for grant type/,
    },
    { name: 'invalid JSON as jwks', json: { jwks: '{' }, key: 'jwks', message: /cannot be parsed/ },
    { name: 'keys that are not objects', json: { jwks: { keys: [5] } }, key: 'jwks', message: /cannot be parsed/ },
    ...['javascript:alert(1)', 'data:text/html,x', '/bye', 'https://a.example/\\b'].map(uri => ({
      name: `the logout target '${uri}'`,
      json: { post_logout_redirect_uris: ['https://a.example/bye', 'com.example.app:/bye', uri] },
      key: 'post_logout_redirect_uris',
      message: /^One of the post_logout_redirect_uris is invalid: /,
    })),
    {
      name: 'logout targets of another type',
      json: { post_logout_redirect_uris: { a: 1 } },
      key: 'post_logout_redirect_uris',
      message: /must be a list of strings/,
    },
    {
      name: 'a private key',
      json: { jwks: '{"kty":"EC","d":"secret"}' },
      key: 'jwks',
      message: /^jwks must contain only public keys$/,
    },
    ...[
      { secret: 'readable' },
      { 'Client-Secret': 'readable' },
      { secondaryClientSecret2: 'readable' },
      { login: { password: 'readable' } },
      { signer: ['-----BEGIN RSA PRIVATE KEY-----'] },
    ].map(json => ({
      name: `the attribute ${JSON.stringify(json)}`,
      json,
      key: Object.keys(json)[0] ?? '',
      message: /looks like a secret/,
    })),
    {
      name: 'a key with a NUL character',
      json: { jwks: { kty: 'EC', kid: 'a\0' } },
      key: 'jwks',
      message: /^jwks contains characters that cannot be stored$/,
    },
    { name: 'an empty key set', json: { jwks: { keys: [] } }, key: 'jwks', message: /jwk set is empty/ },
    {
      name: 'eleven keys',
      json: { jwks: { keys: Array.from({ length: 11 }, (_, kid) => ({ kty: 'RSA', kid: String(kid) })) } },
      key: 'jwks',
      message: /maximum of keys/,
    },
    {
      name: 'several keys without kid',
      json: { jwks: { keys: [{ kty: 'RSA', kid: 'a' }, { kty: 'RSA' }] } },
      key: 'jwks',
      message: /kid is required/,
    },
    ...['not a uri', 'urn:example', 'http://a.example/request', 'https://me:pw@a.example/request'].map(uri => ({
      name: `the request URI '${uri}'`,
      json: { request_uris: ['https://a.example/request#hash', 'http://localhost:3000/request', uri] },
      key: 'request_uris',
      message: /^request_uris\[2\] must be an https URL without credentials$/,
    })),
    ...[
      { id_token_encrypted_response_alg: 'RSA-OAEP' },
      { userinfo_encrypted_response_enc: 'A128GCM' },
      { request_object_encryption_alg: 'dir' },
    ].map(json => ({
      name: `the encryption ${JSON.stringify(json)}`,
      json,
      key: Object.keys(json)[0] ?? '',
      message: /^\w+ is not supported$/,
    })),
    { name: 'a relative jwks_uri', json: { jwks_uri: '/jwks' }, key: 'jwks_uri', message: /absolute URL/ },
    {
      name: 'a jwks_uri with another scheme',
      json: { jwks_uri: 'file:///etc/passwd' },
      key: 'jwks_uri',
      message: /https or http/,
    },
  ]
  for (const { name, json, key, message } of refused) {
    it(`refuses ${name}`, () => {
      const [problem] = read(json).problems
      assert.equal(problem?.key, key)
      assert.match(problem.message, message)
    })
  }

  it('reports problems in the order of UAA', () => {
    const { problems } = read({ client_id: 'a/b', authorized_grant_types: ['implicit', 'magic'] })
    assert.deepEqual(
      problems.map(({ key }) => key),
      ['client_id', 'redirect_uri', 'authorized_grant_types'],
    )
  })

  const accepted = [
    { name: 'treats null as absent', json: { name: null, scope: null, note: null }, want: {} },
    { name: "accepts the string 'true' for autoapprove", json: { autoapprove: 'true' }, want: { autoapprove: true } },
    {
      name: "accepts ['true'] for autoapprove, as returned by the API",
      json: { autoapprove: ['true'] },
      want: { autoapprove: true },
    },
    { name: 'treats autoapprove: false as absent', json: { autoapprove: false }, want: {} },
    { name: 'splits items of scope at commas', json: { scope: ['a,b', 'c'] }, want: { scope: ['a', 'b', 'c'] } },
    {
      name: 'accepts lists as strings',
      json: { authorities: 'a b,c\n d' },
      want: { authorities: ['a', 'b', 'c', 'd'] },
    },
    {
      name: 'distinguishes allowpublic: false from absent',
      json: { allowpublic: false },
      want: { allowPublic: false },
    },
    {
      name: 'prefers jwks_uri to jwks',
      json: { jwks: { kty: 'RSA' }, jwks_uri: 'https://a.example/jwks' },
      want: { jwksUri: 'https://a.example/jwks' },
    },
    {
      name: 'accepts one key as a JSON string',
      json: { jwks: '{"kty":"EC"}' },
      want: { jwks: '{"keys":[{"kty":"EC"}]}' },
    },
    {
      name: 'does not store secrets as attributes',
      json: { client_secret: 's', secondary_client_secret: 't', client_jwt_config: 'x' },
      want: {},
    },
    {
      name: 'stores other members as attributes',
      json: { signup_redirect_url: 'https://a.example' },
      want: { additional: { signup_redirect_url: 'https://a.example' } },
    },
    {
      name: 'accepts none as an encryption algorithm',
      json: { id_token_encrypted_response_alg: 'none' },
      want: { additional: { id_token_encrypted_response_alg: 'none' } },
    },
    {
      name: 'accepts attributes whose names only mention secrets',
      json: { password_reset_url: 'https://a.example', client_secret_expires_at: 0, has_secret: true, secret: null },
      want: {
        additional: { password_reset_url: 'https://a.example', client_secret_expires_at: 0, has_secret: true },
      },
    },
  ]
  for (const { name, json, want } of accepted) {
    it(name, () => {
      const { definition, problems } = read(json)
      assert.deepEqual(problems, [])
      assert.deepEqual(definition, {
        clientId: 'a',
        authorizedGrantTypes: ['password', 'refresh_token'],
        redirectUris: [],
        scope: ['uaa.none'],
        authorities: ['uaa.none'],
        autoapprove: [],
        requiredUserGroups: [],
        additional: {},
        ...want,
      })
    })
  }

  it('accepts an empty secret, except for grants that require one', () => {
    assert.deepEqual(read({ client_secret: '' }).secrets, [''])
    assert.equal(read({ client_secret: '', authorized_grant_types: 'client_credentials' }).problems.length, 1)
  })

  it('returns the second secret last, because the newest one feeds rev_sig', () => {
    assert.deepEqual(read({ secondary_client_secret: 'two', client_secret: 'one' }).secrets, ['one', 'two'])
  })
})
