import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { TestAnswer, TestRequest, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import { APP, MODES, SERVICE, refused, tokensOf } from '../support/oauth.ts'
import type { Refusal } from '../support/oauth.ts'

const CREDENTIALS = 'grant_type=client_credentials'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')

interface Case extends Refusal {
  readonly name: string
  readonly path?: string
  readonly request: TestRequest
}

const malformed: readonly Case[] = [
  // Covers POST /oauth/token: rule: POST form only
  {
    name: 'a JSON body',
    request: { body: '{"grant_type":"client_credentials"}', headers: { 'content-type': 'application/json' } },
    want: '400 invalid_request',
    description: /^(?:The content type must be application\/x-www-form-urlencoded|Missing grant type)$/,
  },
  {
    name: 'a multipart body',
    request: { body: CREDENTIALS, headers: { 'content-type': 'multipart/form-data; boundary=x' } },
    want: '400 invalid_request',
  },
  {
    name: 'a content type with the correct one as prefix',
    request: { body: CREDENTIALS, headers: { 'content-type': 'application/x-www-form-urlencodedx' } },
    want: '400 invalid_request',
  },
  { name: 'a body without a content type', request: { body: CREDENTIALS }, want: '400 invalid_request' },
  {
    name: 'another charset',
    request: {
      body: CREDENTIALS,
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=windows-1252' },
    },
    want: '400 invalid_request',
    description: 'The charset must be UTF-8',
  },
  // Covers every endpoint: rule: form bodies are read as UTF-8
  {
    name: 'bytes that are not UTF-8',
    request: { body: latin1(`${CREDENTIALS}&x=\xff`), headers: FORM },
    want: '400 invalid_request',
    description: 'The request body is not UTF-8',
  },
  {
    name: 'percent-encoding that is not UTF-8',
    request: { form: `${CREDENTIALS}&x=%ff` },
    want: '400 invalid_request',
    description: 'A parameter is not properly percent-encoded UTF-8',
  },
  { name: 'incomplete percent-encoding', request: { form: `${CREDENTIALS}&x=%4` }, want: '400 invalid_request' },
  { name: 'a percent sign', request: { form: `${CREDENTIALS}&x=100%` }, want: '400 invalid_request' },
  { name: 'overlong percent-encoding', request: { form: `${CREDENTIALS}&x=%c0%80` }, want: '400 invalid_request' },
  {
    name: 'a NUL character in a value',
    request: { form: `${CREDENTIALS}&scope=jobs.run\0` },
    want: '400 invalid_request',
    description: 'NUL characters are not allowed in parameters',
  },
  // Covers every endpoint: rule: NUL in a parameter is refused
  {
    name: 'a percent-encoded NUL character in a value',
    request: { form: `${CREDENTIALS}&x=%00` },
    want: '400 invalid_request',
  },
  {
    name: 'a percent-encoded NUL character in a name',
    request: { form: `${CREDENTIALS}&x%00y=1` },
    want: '400 invalid_request',
  },
  {
    name: 'a body of more than 64 KiB',
    request: { form: `${CREDENTIALS}&x=${'a'.repeat(64 * 1024)}` },
    want: '413 invalid_request',
    description: 'The request body is too large',
  },
  {
    name: 'more than 1,000 parameters',
    request: { form: `${CREDENTIALS}${Array.from({ length: 1000 }, (_, index) => `&p${index}=`).join('')}` },
    want: '400 invalid_request',
    description: 'Too many parameters',
  },
  // Covers error body: error: `query_string_not_allowed` 406
  // Covers POST /oauth/token: rule: query string is 406
  {
    name: 'parameters in the query',
    path: '/oauth/token?assertion=x',
    request: { form: CREDENTIALS },
    want: '406 query_string_not_allowed',
    description: 'Parameters must be passed in the body of the request',
  },
  // Covers unsafe behaviour: credentials and tokens in the query are off
  {
    name: 'all parameters in the query',
    path: `/oauth/token?${CREDENTIALS}&client_id=service&client_secret=service-secret`,
    request: { method: 'POST', form: '' },
    want: '406 query_string_not_allowed',
  },
  {
    name: 'a doubly encoded grant type',
    request: { form: 'grant_type=client%255Fcredentials' },
    want: '400 unsupported_grant_type',
    description: 'Unsupported grant type',
  },
  { name: 'an empty body', request: { form: '' }, want: '400 invalid_request', description: 'Missing grant type' },
  { name: 'no body', request: { method: 'POST' }, want: '400 invalid_request', description: 'Missing grant type' },
  // Covers error body: error: `invalid_request` 400
  // Covers POST /oauth/token: error: `grant_type` missing
  {
    name: 'an empty grant type',
    request: { form: 'grant_type=' },
    want: '400 invalid_request',
    description: 'Missing grant type',
  },
  {
    name: 'a grant type without a value',
    request: { form: 'grant_type' },
    want: '400 invalid_request',
    description: 'Missing grant type',
  },
]

const common: readonly Case[] = [
  // Covers error body: error; error: `unsupported_grant_type` 400
  // Covers POST /oauth/token: grant_type; error: unknown `grant_type`
  {
    name: 'an unknown grant type',
    request: { form: 'grant_type=magic' },
    want: '400 unsupported_grant_type',
    description: 'Unsupported grant type',
  },
  {
    name: 'an upper-case grant type',
    request: { form: 'grant_type=CLIENT_CREDENTIALS' },
    want: '400 unsupported_grant_type',
  },
  {
    name: 'an object property as grant type',
    request: { form: 'grant_type=constructor' },
    want: '400 unsupported_grant_type',
  },
  // Covers POST /oauth/token: error: grant_type=implicit
  // Covers compatibility: C11 error codes: grant_type=implicit
  {
    name: 'the implicit grant (C11)',
    request: { form: 'grant_type=implicit' },
    want: { standard: '400 unsupported_grant_type', uaa: '400 invalid_grant' },
    description: 'Implicit grant type not supported from token endpoint',
  },
  // Covers POST /oauth/token: error: client lacks the grant
  {
    name: 'a grant type that the client does not have (C11)',
    request: { form: 'grant_type=authorization_code&code=x' },
    want: { standard: '400 unauthorized_client', uaa: '401 invalid_client' },
    description: 'Unauthorized grant type',
  },
  {
    name: 'an unknown token_format',
    request: { form: `${CREDENTIALS}&token_format=saml` },
    want: '400 invalid_request',
    description: 'The token_format must be jwt or opaque',
  },
]

const METHODS = ['GET', 'PUT', 'DELETE', 'PATCH'] as const

for (const mode of MODES) {
  // Covers error body: header: Cache-Control no-store; Pragma no-cache; Content-Type
  describe(`POST /oauth/token in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode })))
    after(() => server.stop())
    const send = (path: string, request: TestRequest): Promise<TestAnswer> =>
      server.send(path, { method: 'POST', basic: SERVICE, ...request })

    // Covers POST /oauth/token: response: access_token; token_type; expires_in; scope; jti; header: Content-Type
    // Covers POST /oauth/token: header: Cache-Control; Pragma
    // Covers every answer in standard: token response: no-store, positive `expires_in`
    it('returns the members, content type and cache headers of RFC 6749 §5.1', async () => {
      const answer = await send('/oauth/token', { form: CREDENTIALS })
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['content-type'], 'application/json;charset=UTF-8')
      assert.equal(answer.headers['cache-control'], 'no-store')
      assert.equal(answer.headers['pragma'], 'no-cache')
      const { access_token: token, jti, ...rest } = answer.json()
      assert.equal(String(token).split('.').length, 3)
      assert.match(String(jti), /^[0-9a-f]{32}$/)
      const seconds = mode === 'standard' ? 3600 : 43_199 // remaining whole seconds (T9)
      assert.deepEqual(rest, { token_type: 'bearer', expires_in: seconds, scope: 'jobs.run jobs.read' })
    })

    for (const { name, path = '/oauth/token', request, ...refusal } of [...malformed, ...common]) {
      it(`refuses ${name}`, async () => {
        await refused(server, mode, () => send(path, request), refusal)
      })
    }

    for (const method of METHODS) {
      // Covers error body: error: `method_not_allowed` 405
      // Covers POST /oauth/token: rule: PUT, DELETE, PATCH are 405
      it(`answers 405 to ${method}`, async () => {
        const answer = await refused(server, mode, () => send('/oauth/token', { method }), {
          want: '405 method_not_allowed',
          description: `Request method '${method}' not supported`,
          challenge: null,
        })
        assert.equal(answer.headers['allow'], 'POST')
      })
    }

    it('answers 405 without a body to HEAD', async () => {
      const answer = await send('/oauth/token', { method: 'HEAD' })
      assert.deepEqual([answer.status, answer.text], [405, ''])
    })

    it('ignores client-request-id of MSAL in the query, but no other parameter', async () => {
      const path = '/oauth/token?client-request-id=0b9f-1'
      assert.equal(tokensOf(await send(path, { form: CREDENTIALS })).scope, 'jobs.run jobs.read')
      const more = () => send(`${path}&code=x`, { form: CREDENTIALS })
      await refused(server, mode, more, { want: '406 query_string_not_allowed' })
    })

    it('answers 405 to GET even with a complete request in the query', async () => {
      const path = `/oauth/token?${CREDENTIALS}&client_id=service&client_secret=service-secret`
      await refused(server, mode, () => server.send(path), { want: '405 method_not_allowed' })
    })

    const accepted = [
      { name: 'a content type in another case', headers: { 'content-type': 'Application/X-WWW-Form-URLEncoded' } },
      { name: 'charset UTF-8', headers: { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' } },
      { name: 'a quoted charset', headers: { 'content-type': 'application/x-www-form-urlencoded;charset="utf-8"' } },
      { name: 'the encoding identity', headers: { ...FORM, 'content-encoding': 'identity' } },
      { name: 'any Accept header', headers: { ...FORM, accept: 'text/html' } },
    ]
    // Covers every endpoint: rule: compressed bodies are refused
    it('refuses a compressed body (RFC 9110 §15.5.16)', async () => {
      const headers = { ...FORM, 'content-encoding': 'gzip' }
      const answer = await refused(server, mode, () => send('/oauth/token', { body: gzipSync(CREDENTIALS), headers }), {
        want: '415 invalid_request',
        description: 'The request body must not have a content encoding',
      })
      assert.deepEqual([answer.headers['accept-encoding'], answer.headers['accept']], ['identity', undefined])
    })

    for (const { name, headers } of accepted) {
      it(`accepts ${name}`, async () => {
        tokensOf(await send('/oauth/token', { body: CREDENTIALS, headers }))
      })
    }

    it('ignores unknown and empty parameters', async () => {
      const { scope } = tokensOf(
        await send('/oauth/token', { form: `${CREDENTIALS}&scope=&nonce=n&x=y&token_format=` }),
      )
      assert.equal(scope, 'jobs.run jobs.read')
    })

    // Covers POST /oauth/token: error: repeated parameter
    it('refuses a repeated parameter, in uaa the first one counts (A3)', async () => {
      const sending = () => send('/oauth/token', { form: `${CREDENTIALS}&scope=jobs.run&scope=jobs.read` })
      if (mode === 'uaa') return assert.equal(tokensOf(await sending()).scope, 'jobs.run')
      await refused(server, mode, sending, {
        want: '400 invalid_request',
        description: 'The parameter scope must not be repeated',
      })
    })

    it('refuses 10,000 scopes quickly', async () => {
      const scope = Array.from({ length: 10_000 }, (_, index) => `s${index}`).join('+')
      await refused(server, mode, () => send('/oauth/token', { form: `${CREDENTIALS}&scope=${scope}` }), {
        want: '400 invalid_scope',
        description: 'A request must not have more than 1000 scopes',
      })
    })

    it('refuses 10,000 wildcards of a user quickly', async () => {
      const scope = Array.from({ length: 10_000 }, () => '*').join('.')
      const form = { grant_type: 'password', username: 'marissa', password: 'koala', scope }
      await refused(server, mode, () => server.token(form, { basic: APP }), { want: '400 invalid_scope' })
    })

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })
}

describe('error_description', () => {
  const cases = [
    // Covers error body: error_description
    // Covers compatibility: authorization response: R8 `error_description`
    {
      mode: 'standard',
      name: 'replaces characters outside RFC 6749 A.8 (R8)',
      want: 'Invalid scope: ?q??u?',
    },
    { mode: 'uaa', name: 'returns characters unchanged, escaped for JSON', want: 'Invalid scope: \u00e9q"\\u\u007f' },
  ] as const
  for (const { mode, name, want } of cases) {
    it(`${name}, in ${mode}`, async () => {
      const server = await startServer({ mode })
      try {
        const form = { grant_type: 'client_credentials', scope: '\u00e9q"\\u\u007f' }
        assert.equal((await server.token(form, { basic: SERVICE })).json()['error_description'], want)
      } finally {
        await server.stop()
      }
    })
  }
})
