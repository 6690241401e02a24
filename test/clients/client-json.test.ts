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
      name: 'a list that holds something else',
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
      name: 'a flag that is neither',
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
    { name: 'keys that are no JSON', json: { jwks: '{' }, key: 'jwks', message: /cannot be parsed/ },
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
      name: 'a key with NUL',
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
      name: 'several keys without names',
      json: { jwks: { keys: [{ kty: 'RSA', kid: 'a' }, { kty: 'RSA' }] } },
      key: 'jwks',
      message: /kid is required/,
    },
    ...['not a uri', 'urn:example', 'http://a.example/request', 'https://me:pw@a.example/request'].map(uri => ({
      name: `the address of request objects '${uri}'`,
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
    { name: 'a relative key address', json: { jwks_uri: '/jwks' }, key: 'jwks_uri', message: /absolute URL/ },
    {
      name: 'a key address of another scheme',
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

  it('reports the problems in the order of the interface', () => {
    const { problems } = read({ client_id: 'a/b', authorized_grant_types: ['implicit', 'magic'] })
    assert.deepEqual(
      problems.map(({ key }) => key),
      ['client_id', 'redirect_uri', 'authorized_grant_types'],
    )
  })

  const accepted = [
    { name: 'null counts as absent', json: { name: null, scope: null, note: null }, want: {} },
    { name: 'autoapprove may be the word true', json: { autoapprove: 'true' }, want: { autoapprove: true } },
    {
      name: 'autoapprove may hold the word true, as the API answers it',
      json: { autoapprove: ['true'] },
      want: { autoapprove: true },
    },
    { name: 'autoapprove false is nothing', json: { autoapprove: false }, want: {} },
    { name: 'items of scope are split at commas', json: { scope: ['a,b', 'c'] }, want: { scope: ['a', 'b', 'c'] } },
    { name: 'a list may be words', json: { authorities: 'a b,c\n d' }, want: { authorities: ['a', 'b', 'c', 'd'] } },
    { name: 'allowpublic false is kept apart from absent', json: { allowpublic: false }, want: { allowPublic: false } },
    {
      name: 'jwks_uri wins over jwks',
      json: { jwks: { kty: 'RSA' }, jwks_uri: 'https://a.example/jwks' },
      want: { jwksUri: 'https://a.example/jwks' },
    },
    {
      name: 'keys may be JSON text of one key',
      json: { jwks: '{"kty":"EC"}' },
      want: { jwks: '{"keys":[{"kty":"EC"}]}' },
    },
    {
      name: 'a secret is never an attribute',
      json: { client_secret: 's', secondary_client_secret: 't', client_jwt_config: 'x' },
      want: {},
    },
    {
      name: 'other properties are attributes',
      json: { signup_redirect_url: 'https://a.example' },
      want: { additional: { signup_redirect_url: 'https://a.example' } },
    },
    {
      name: 'no encryption is what every client has',
      json: { id_token_encrypted_response_alg: 'none' },
      want: { additional: { id_token_encrypted_response_alg: 'none' } },
    },
    {
      name: 'names about secrets are no secrets',
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

  it('keeps an empty secret, which is one, though it satisfies no rule that asks for one', () => {
    assert.deepEqual(read({ client_secret: '' }).secrets, [''])
    assert.equal(read({ client_secret: '', authorized_grant_types: 'client_credentials' }).problems.length, 1)
  })

  it('puts the second secret last, because the newest one feeds rev_sig', () => {
    assert.deepEqual(read({ secondary_client_secret: 'two', client_secret: 'one' }).secrets, ['one', 'two'])
  })
})
