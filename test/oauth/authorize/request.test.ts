import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { CompatibilityMode } from '../../../src/model/compatibility.ts'
import {
  APP_REQUEST,
  AUTO_REQUEST,
  authorize,
  authorizeBootstrap,
  defined,
  requestOf,
  responseOf,
  signedIn,
} from '../../support/authorize.ts'
import { unescaped } from '../../support/forms.ts'
import { MODES } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const CHALLENGE = 'E9Melhoa2OwvFrEMTJGuCHaoeK1t8URWbuGJSstw-cM'
const PKCE = { code_challenge: CHALLENGE, code_challenge_method: 'S256' }

type Answer =
  /** An error page with this status and code, and this text. */
  | { readonly page: number; readonly error: string; readonly text?: string }
  /** A redirect to the client with this error. */
  | { readonly error: string; readonly description: string | RegExp; readonly state?: undefined | null }
  /** A redirect to the client with a code. */
  | 'code'

interface Case {
  readonly name: string
  /** Differences from a plain request of `auto`; a string is appended. */
  readonly query: Readonly<Record<string, string | undefined>> | string
  /** For both modes, or for each. */
  readonly want: Answer | Readonly<Record<CompatibilityMode, Answer>>
}

const invalidScope = (description: string | RegExp): Answer => ({ error: 'invalid_scope', description })
const invalidRequest = (description: string | RegExp): Answer => ({ error: 'invalid_request', description })
const mismatch = (uri: string): Record<CompatibilityMode, Answer> => ({
  standard: {
    page: 400,
    error: 'invalid_request',
    text: `Invalid redirect ${uri} did not match one of the registered values`,
  },
  uaa: {
    page: 400,
    error: 'invalid_grant',
    text: `Invalid redirect ${uri} did not match one of the registered values`,
  },
})
/** In `standard` an error redirect to the client, in `uaa` an error page. */
const request400 = (description: string): Record<CompatibilityMode, Answer> => ({
  standard: invalidRequest(description),
  uaa: { page: 400, error: 'invalid_request', text: description },
})
const BAD_CHALLENGE = 'Code challenge length must between 43 and 128 and use only [A-Z],[a-z],[0-9],_,.,-,~ characters.'

const cases: readonly Case[] = [
  // Covers every answer in standard: authorization errors: only registered members
  { name: 'accepts a plain request', query: {}, want: 'code' },

  // Covers GET /oauth/authorize: client_id; error: unknown client
  // Covers page access_confirmation_error: HTML
  {
    name: 'refuses an unknown client on a page',
    query: { client_id: 'nemo' },
    want: {
      standard: { page: 400, error: 'invalid_client', text: 'No client with requested id: nemo' },
      uaa: { page: 401, error: 'invalid_client', text: 'No client with requested id: nemo' },
    },
  },
  {
    name: 'refuses a missing client on a page',
    query: { client_id: undefined },
    want: {
      standard: { page: 400, error: 'invalid_client', text: 'Missing client_id' },
      uaa: { page: 401, error: 'invalid_client', text: 'Missing client_id' },
    },
  },
  {
    name: 'refuses an empty client on a page',
    query: { client_id: '' },
    want: {
      standard: { page: 400, error: 'invalid_client', text: 'Missing client_id' },
      uaa: { page: 401, error: 'invalid_client', text: 'Missing client_id' },
    },
  },
  {
    name: 'compares client_id case-sensitively',
    query: { client_id: 'AUTO' },
    want: { standard: { page: 400, error: 'invalid_client' }, uaa: { page: 401, error: 'invalid_client' } },
  },

  {
    name: 'refuses a missing redirect URI if two are registered',
    query: { redirect_uri: undefined },
    want: mismatch('URI (none was named)'),
  },
  {
    name: 'treats an empty redirect URI as missing, and uses the only one',
    query: { ...requestOf('partly'), scope: 'openid', redirect_uri: '' },
    want: 'code',
  },
  // Covers GET /oauth/authorize: error: several redirect URIs and none asked for
  {
    name: 'refuses a missing redirect URI if several are registered',
    query: { ...requestOf('many'), redirect_uri: undefined },
    want: mismatch('URI (none was named)'),
  },
  // Covers GET /oauth/authorize: redirect_uri; error: redirect URI does not match
  {
    name: 'refuses a redirect URI of another host on a page',
    query: { redirect_uri: 'https://evil.example/cb' },
    want: mismatch('https://evil.example/cb'),
  },
  {
    name: 'refuses a redirect URI with a fragment on a page',
    query: { redirect_uri: 'https://auto.example/cb#x' },
    want: mismatch('https://auto.example/cb#x'),
  },
  {
    name: 'refuses a javascript: redirect URI on a page',
    query: { redirect_uri: 'javascript:alert(1)' },
    want: mismatch('javascript:alert(1)'),
  },
  {
    name: 'refuses a redirect URI of another client on a page',
    query: { redirect_uri: APP_REQUEST.redirect_uri },
    want: mismatch('https://app.example/cb'),
  },
  {
    name: 'compares the whole path of the redirect URI, in uaa its beginning',
    query: { redirect_uri: 'https://auto.example/cb/more' },
    want: { standard: mismatch('https://auto.example/cb/more').standard, uaa: 'code' },
  },
  {
    name: 'ignores the port of a loopback redirect URI, except in uaa',
    query: { redirect_uri: 'http://127.0.0.1:51004/cb' },
    want: { standard: 'code', uaa: mismatch('http://127.0.0.1:51004/cb').uaa },
  },
  {
    name: 'refuses a bad redirect URI before other errors',
    query: { redirect_uri: 'https://evil.example/cb', response_type: 'x', scope: 'nonsense' },
    want: mismatch('https://evil.example/cb'),
  },

  // Covers GET /oauth/authorize: error: `response_type` missing
  // Covers compatibility: authorization request: A5 `response_type` missing
  // Covers compatibility: authorization response: R4 state
  {
    name: 'refuses a missing response type',
    query: { response_type: undefined },
    want: {
      standard: invalidRequest('Missing response_type in authorization request'),
      uaa: { error: 'invalid_request', description: 'Missing response_type in authorization request', state: null },
    },
  },
  {
    name: 'treats an empty response type as missing',
    query: { response_type: '' },
    want: {
      standard: invalidRequest('Missing response_type in authorization request'),
      uaa: { error: 'invalid_request', description: 'Missing response_type in authorization request', state: null },
    },
  },
  // Covers error body: error: unsupported_response_type
  // Covers GET /oauth/authorize: response: error; error: unsupported `response_type`
  {
    name: 'refuses an unknown response type',
    query: { response_type: 'magic' },
    want: { error: 'unsupported_response_type', description: 'Unsupported response types' },
  },
  {
    name: 'compares response types case-sensitively',
    query: { response_type: 'CODE' },
    want: { error: 'unsupported_response_type', description: 'Unsupported response types' },
  },
  {
    name: 'refuses code with an unknown response type',
    query: { response_type: 'code magic' },
    want: { error: 'unsupported_response_type', description: 'Unsupported response types' },
  },

  // Covers GET /oauth/authorize: error: client without a redirecting grant
  {
    name: 'refuses a client without the grant type',
    query: requestOf('password'),
    want: {
      standard: {
        error: 'unauthorized_client',
        description: 'The grants and response types of this client do not allow this response_type',
      },
      uaa: {
        page: 400,
        error: 'invalid_grant',
        text: 'A redirect_uri can only be used by implicit or authorization_code grant types.',
      },
    },
  },
  {
    name: 'refuses a client that has only the implicit grant, in uaa at the token endpoint',
    query: { ...requestOf('implicit'), ...PKCE },
    want: { standard: { error: 'unauthorized_client', description: /./ }, uaa: 'code' },
  },
  // Covers GET /oauth/authorize: error: no provider allowed
  // Covers page access_confirmation_error: status of the error code
  {
    name: 'refuses a client that allows no provider',
    query: requestOf('nobody'),
    want: {
      standard: { error: 'unauthorized_client', description: 'Client is not authorized for any identity providers.' },
      uaa: { page: 401, error: 'unauthorized_client', text: 'Client is not authorized for any identity providers.' },
    },
  },

  // Covers GET /oauth/authorize: scope; error: scope not of the client
  {
    name: 'refuses a scope outside the client',
    query: { scope: 'openid cloud.admin' },
    want: invalidScope('cloud.admin is invalid. Please use a valid scope name in the request'),
  },
  // Covers compatibility: authorization request: A7 scope
  {
    name: 'drops a standard scope outside the client if openid is requested, except in uaa',
    query: { scope: 'openid email' },
    want: { standard: 'code', uaa: invalidScope('email is invalid. Please use a valid scope name in the request') },
  },
  {
    name: 'refuses a standard scope outside the client without openid',
    query: { scope: 'email' },
    want: invalidScope('email is invalid. Please use a valid scope name in the request'),
  },
  { name: 'treats an empty scope as missing', query: { scope: '' }, want: 'code' },
  { name: 'accepts scopes separated by commas and spaces', query: { scope: 'openid, cloud.read' }, want: 'code' },
  // Covers GET /oauth/authorize: rule: scope wildcards of the client
  {
    name: 'accepts a scope that matches a wildcard of the client',
    query: { ...requestOf('wild'), scope: 'cloud.read' },
    want: 'code',
  },
  {
    name: 'refuses a scope that matches no wildcard',
    query: { ...requestOf('wild'), scope: 'cloud.read.all' },
    want: invalidScope(/^cloud\.read\.all is invalid/),
  },
  // Covers GET /oauth/authorize: error: no scope of the user left
  {
    name: 'refuses a scope if the user has none of those requested',
    query: { ...requestOf('writer'), scope: 'cloud.write' },
    want: invalidScope('[cloud.write] is invalid. This user is not allowed any of the requested scopes'),
  },
  {
    name: 'refuses a client if the user has none of its scopes',
    query: requestOf('writer'),
    want: invalidScope('[cloud.write] is invalid. This user is not allowed any of the requested scopes'),
  },
  // Covers GET /oauth/authorize: error: `required_user_groups` not met
  {
    name: 'refuses a user without a required group',
    query: requestOf('staff'),
    want: invalidScope("User does not meet the client's required group criteria."),
  },

  // Covers GET /oauth/authorize: code_challenge_method=S256
  { name: 'accepts a challenge of method S256', query: PKCE, want: 'code' },
  // Covers GET /oauth/authorize: code_challenge_method=plain
  { name: 'accepts a challenge of method plain', query: { ...PKCE, code_challenge_method: 'plain' }, want: 'code' },
  {
    name: 'refuses a challenge without a method, which is plain in uaa',
    query: { code_challenge: CHALLENGE },
    want: { standard: invalidRequest('A code_challenge requires a code_challenge_method'), uaa: 'code' },
  },
  {
    name: 'treats an empty method as missing',
    query: { ...PKCE, code_challenge_method: '' },
    want: { standard: invalidRequest('A code_challenge requires a code_challenge_method'), uaa: 'code' },
  },
  {
    name: 'refuses a method without a challenge, except in uaa',
    query: { code_challenge_method: 'S256' },
    want: { standard: invalidRequest('A code_challenge_method requires a code_challenge'), uaa: 'code' },
  },
  {
    name: 'refuses an unknown method',
    query: { ...PKCE, code_challenge_method: 'S512' },
    want: request400('Unsupported code challenge method. Supported: [S256, plain]'),
  },
  {
    name: 'compares methods case-sensitively',
    query: { ...PKCE, code_challenge_method: 's256' },
    want: request400('Unsupported code challenge method. Supported: [S256, plain]'),
  },
  // Covers GET /oauth/authorize: code_challenge
  {
    name: 'refuses a challenge of 42 characters',
    query: { ...PKCE, code_challenge: CHALLENGE.slice(1) },
    want: request400(BAD_CHALLENGE),
  },
  {
    name: 'accepts a plain challenge of 128 characters',
    query: { code_challenge: 'a'.repeat(128), code_challenge_method: 'plain' },
    want: 'code',
  },
  ...[`${CHALLENGE}a`, `${CHALLENGE.slice(1)}.`].map(code_challenge => ({
    name: `refuses a challenge of method S256 that is not a SHA-256: ${code_challenge}`,
    query: { ...PKCE, code_challenge },
    want: {
      standard: invalidRequest('A code_challenge of method S256 must have 43 characters [A-Z],[a-z],[0-9],_,-'),
      uaa: 'code' as const,
    },
  })),
  {
    name: 'refuses a challenge of 129 characters',
    query: { ...PKCE, code_challenge: 'a'.repeat(129) },
    want: request400(BAD_CHALLENGE),
  },
  // Covers GET /oauth/authorize: error: PKCE syntax
  {
    name: 'refuses a challenge with an invalid character',
    query: { ...PKCE, code_challenge: `${CHALLENGE}+` },
    want: request400(BAD_CHALLENGE),
  },
  {
    name: 'refuses a challenge with a line break',
    query: { ...PKCE, code_challenge: `${CHALLENGE}\n` },
    want: request400(BAD_CHALLENGE),
  },
  // Covers compatibility: authorization request: A16 PKCE
  {
    name: 'requires a challenge of a public client, except in uaa',
    query: requestOf('native'),
    want: { standard: invalidRequest('This client must send a code_challenge of method S256'), uaa: 'code' },
  },
  {
    name: 'requires method S256 of a public client, except in uaa',
    query: { ...requestOf('native'), ...PKCE, code_challenge_method: 'plain' },
    want: { standard: invalidRequest('This client must send a code_challenge of method S256'), uaa: 'code' },
  },
  { name: 'accepts method S256 of a public client', query: { ...requestOf('native'), ...PKCE }, want: 'code' },

  // Covers compatibility: authorization request: A11 `max_age`
  // Partly covers unsafe behaviour: client mistakes are never 500
  {
    name: 'refuses a max_age that is not a number',
    query: { max_age: 'x' },
    want: request400('The max_age must be a number of seconds'),
  },
  {
    name: 'refuses a negative max_age',
    query: { max_age: '-1' },
    want: request400('The max_age must be a number of seconds'),
  },
  {
    name: 'refuses a max_age with a fraction',
    query: { max_age: '1.5' },
    want: request400('The max_age must be a number of seconds'),
  },
  {
    name: 'refuses a max_age that is too large',
    query: { max_age: '99999999999' },
    want: request400('The max_age must be a number of seconds'),
  },
  { name: 'treats an empty max_age as missing', query: { max_age: '' }, want: 'code' },
  { name: 'accepts a max_age that is not exceeded', query: { max_age: '3600' }, want: 'code' },

  {
    name: 'refuses prompt=none with another prompt, except in uaa',
    query: { prompt: 'none login' },
    want: { standard: invalidRequest('prompt=none cannot be combined with another prompt'), uaa: 'code' },
  },
  { name: 'ignores an unknown prompt', query: { prompt: 'magic' }, want: 'code' },
  { name: 'treats an empty prompt as missing', query: { prompt: '' }, want: 'code' },

  {
    name: 'refuses an unknown token format',
    query: { token_format: 'xml' },
    want: request400('The token_format must be jwt or opaque'),
  },
  { name: 'accepts token_format=opaque', query: { token_format: 'opaque' }, want: 'code' },

  // Covers compatibility: authorization request: A14 request objects
  {
    name: 'refuses an unsigned request object, except in uaa',
    query: { request: 'e30.e30.' },
    want: {
      standard: {
        error: 'invalid_request_object',
        description: 'The request object must be signed with a key of the client',
      },
      uaa: 'code',
    },
  },
  {
    name: 'refuses an unregistered request_uri, except in uaa',
    query: { request_uri: 'https://app.example/request' },
    want: {
      standard: {
        error: 'invalid_request_uri',
        description: 'The request_uri is not registered for this client',
      },
      uaa: 'code',
    },
  },
  // Covers GET /oauth/authorize: registration
  {
    name: 'refuses the registration parameter, except in uaa',
    query: { registration: '{}' },
    want: {
      standard: { error: 'registration_not_supported', description: 'Registration within a request is not supported' },
      uaa: 'code',
    },
  },
  { name: 'treats an empty request object as missing', query: { request: '' }, want: 'code' },

  // Covers GET /oauth/authorize: display; claims_locales; claims
  {
    name: 'ignores known parameters without effect',
    query: {
      display: 'popup',
      ui_locales: 'de',
      claims_locales: 'de',
      acr_values: '1',
      claims: '{}',
      response_mode: 'query',
    },
    want: 'code',
  },
  {
    name: 'refuses an id_token_hint of another issuer, except in uaa',
    query: { id_token_hint: 'x' },
    want: { standard: invalidRequest('The id_token_hint was not issued by this server.'), uaa: 'code' },
  },
  {
    name: 'refuses an unknown response mode, except in uaa',
    query: { response_mode: 'web_message' },
    want: {
      standard: invalidRequest('The response_mode is unknown or not allowed for the response_type'),
      uaa: 'code',
    },
  },
  { name: 'ignores unknown parameters', query: { magic: '1', constructor: '2', __proto__: '3' }, want: 'code' },

  // Covers GET /oauth/authorize: error: repeated parameter
  {
    name: 'refuses a repeated state, except in uaa',
    query: 'state=s1&state=s2',
    want: { standard: invalidRequest('The parameter state must not be repeated'), uaa: 'code' },
  },
  {
    name: 'refuses a repeated unknown parameter, except in uaa',
    query: 'magic=1&magic=1',
    want: { standard: invalidRequest('The parameter magic must not be repeated'), uaa: 'code' },
  },
  // Covers compatibility: authorization request: A3 odd parameters
  {
    name: 'refuses a repeated scope, in uaa the first one counts',
    query: 'scope=openid&scope=nonsense',
    want: { standard: invalidRequest('The parameter scope must not be repeated'), uaa: 'code' },
  },
  {
    name: 'refuses a repeated client_id on a page, except in uaa',
    query: 'client_id=app',
    want: {
      standard: { page: 400, error: 'invalid_request', text: 'The parameter client_id must not be repeated' },
      uaa: 'code',
    },
  },
  {
    name: 'refuses a repeated redirect_uri on a page, except in uaa',
    query: 'redirect_uri=https://evil.example/',
    want: {
      standard: { page: 400, error: 'invalid_request', text: 'The parameter redirect_uri must not be repeated' },
      uaa: 'code',
    },
  },
  // Covers GET /oauth/authorize: response: error_description
  {
    name: 'replaces characters that RFC 6749 forbids in error_description',
    query: 'a"%5C%C3%BC=1&a"%5C%C3%BC=1',
    want: { standard: invalidRequest('The parameter a??? must not be repeated'), uaa: 'code' },
  },

  {
    name: 'refuses a NUL character on a page',
    query: 'magic=%00',
    want: { page: 400, error: 'invalid_request', text: 'NUL characters are not allowed in parameters' },
  },
  {
    name: 'refuses bytes that are not UTF-8 on a page',
    query: 'magic=%ff',
    want: { page: 400, error: 'invalid_request', text: 'A parameter is not properly percent-encoded UTF-8' },
  },
  {
    name: 'refuses incomplete percent-encoding on a page',
    query: 'magic=%',
    want: { page: 400, error: 'invalid_request', text: 'A parameter is not properly percent-encoded UTF-8' },
  },
]

/** The plain request with the differences; a string is appended as it is. */
const queryOf = (query: Case['query']): string => {
  const plain = new URLSearchParams(
    defined({ ...AUTO_REQUEST, ...(typeof query === 'string' ? {} : query) }),
  ).toString()
  return typeof query === 'string' ? `${plain}&${query}` : plain
}

for (const mode of MODES) {
  describe(`Parameters of /oauth/authorize in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
    })
    after(() => server.stop())

    for (const { name, query, want } of cases) {
      const expected =
        typeof want === 'object' && mode in want ? (want as Record<CompatibilityMode, Answer>)[mode] : (want as Answer) // told apart by their members
      it(name, async () => {
        const browser = await signedIn(server)
        const answer = await browser.send(`/oauth/authorize?${queryOf(query)}`)
        assert.deepEqual(server.faults, [])
        if (expected === 'code') {
          assert.equal(answer.status, 302, answer.text)
          assert.match(responseOf(answer).query['code'] ?? answer.location().href, /^[\w-]{32}$/)
          return
        }
        if ('page' in expected) {
          assert.equal(answer.status, expected.page, answer.text)
          assert.equal(answer.headers['location'], undefined)
          assert.match(String(answer.headers['content-type']), /^text\/html/)
          assert.match(answer.text, new RegExp(`<code><bdi>${expected.error}</bdi></code>`))
          if (expected.text !== undefined) assert.ok(unescaped(answer.text).includes(expected.text), answer.text)
          return
        }
        assert.equal(answer.status, 302, answer.text)
        const { query: reported, fragment } = responseOf(answer)
        const asked = new URLSearchParams(queryOf(query))
        assert.deepEqual(fragment, {})
        assert.ok(answer.location().href.startsWith(`${asked.get('redirect_uri')}?`))
        assert.equal(reported['error'], expected.error)
        if (typeof expected.description === 'string') assert.equal(reported['error_description'], expected.description)
        else assert.match(reported['error_description'] ?? '', expected.description)
        assert.equal(reported['state'], expected.state === null ? undefined : 's1')
        assert.equal(reported['code'], undefined)
        const names = ['error', 'error_description', ...(expected.state === null ? [] : ['state'])]
        assert.deepEqual(Object.keys(reported), mode === 'standard' ? [...names, 'session_state', 'iss'] : names)
        if (mode === 'standard') assert.equal(reported['iss'], server.baseUrl)
      })
    }

    it('returns JSON instead of an error page to a JSON client', async () => {
      const browser = await signedIn(server)
      const headers = { accept: 'application/json' }
      const answer = await authorize(browser, { ...AUTO_REQUEST, client_id: 'nemo' }, { headers })
      assert.equal(answer.status, mode === 'standard' ? 400 : 401)
      assert.deepEqual(answer.json(), {
        error: 'invalid_client',
        error_description: 'No client with requested id: nemo',
      })
    })

    it('truncates an unknown client_id and a bad redirect URI on the page', async () => {
      const browser = await signedIn(server)
      for (const [query, most] of [
        [{ ...AUTO_REQUEST, client_id: 'x'.repeat(5000) }, 255],
        [{ ...AUTO_REQUEST, redirect_uri: `https://${'x'.repeat(5000)}.example/` }, 500],
      ] as const) {
        const { text } = await authorize(browser, query)
        const longest = Math.max(...(text.match(/x+/g) ?? []).map(run => run.length))
        assert.ok(longest > 200 && longest <= most, String(longest))
      }
    })

    // Covers GET /oauth/authorize: state; response: state
    // Covers every answer in standard: authorization response: state unchanged, iss
    it('returns the state unchanged', async () => {
      const browser = await signedIn(server)
      for (const state of ['a b+c&d=e#f?g%20h', 'ü€😀', '"<script>', 'x'.repeat(1024), '\r\nX: y']) {
        const answer = await authorize(browser, { ...AUTO_REQUEST, state })
        assert.equal(answer.location().searchParams.get('state'), state)
        assert.equal(answer.headers['x'], undefined)
      }
    })

    it('omits a missing or empty state', async () => {
      const browser = await signedIn(server)
      for (const state of [undefined, '']) {
        const answer = await authorize(browser, { ...AUTO_REQUEST, state })
        assert.equal(answer.location().searchParams.has('state'), false)
      }
    })

    it('stores no redirect URI in the code if the request had none', async () => {
      const browser = await signedIn(server)
      const redeem = async (named: string | undefined, sent: string | undefined) => {
        const answer = await authorize(browser, { ...requestOf('partly'), scope: 'openid', redirect_uri: named })
        const code = answer.location().searchParams.get('code') ?? ''
        const form = defined({ grant_type: 'authorization_code', code, redirect_uri: sent })
        return server.token(form, { basic: ['partly', 'partly-secret'] })
      }
      assert.equal((await redeem(undefined, undefined)).status, 200)
      assert.equal((await redeem('https://partly.example/cb', 'https://partly.example/cb')).status, 200)
      assert.equal((await redeem('https://partly.example/cb', undefined)).json()['error'], 'invalid_grant')
    })
  })
}

describe('Order of checks of /oauth/authorize', () => {
  const anonymousRequests: readonly {
    name: string
    query: Readonly<Record<string, string | undefined>>
    want: Record<CompatibilityMode, string>
  }[] = [
    { name: 'a valid request', query: {}, want: { standard: '302 login', uaa: '302 login' } },
    { name: 'an unknown client', query: { client_id: 'nemo' }, want: { standard: '400', uaa: '302 login' } },
    {
      name: 'a bad redirect URI',
      query: { redirect_uri: 'https://evil.example/' },
      want: { standard: '400', uaa: '302 login' },
    },
    {
      name: 'a missing response type',
      query: { response_type: undefined },
      want: { standard: '302 invalid_request', uaa: '302 login' },
    },
    {
      name: 'an unknown scope',
      query: { scope: 'nonsense' },
      want: { standard: '302 invalid_scope', uaa: '302 login' },
    },
    {
      name: 'a scope that depends on the user',
      query: { ...requestOf('writer') },
      want: { standard: '302 login', uaa: '302 login' },
    },
    {
      name: 'a client that allows no provider',
      query: { ...requestOf('nobody') },
      want: { standard: '302 unauthorized_client', uaa: '302 login' },
    },
  ]
  for (const mode of MODES) {
    describe(mode, () => {
      let server: TestServer
      before(async () => {
        server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
      })
      after(() => server.stop())
      for (const { name, query, want } of anonymousRequests) {
        // Covers compatibility: authorization request: A1 order
        it(`answers ${want[mode]} to an anonymous user: ${name}`, async () => {
          const answer = await authorize(server.browser(), { ...AUTO_REQUEST, ...query })
          const to = answer.headers['location'] === undefined ? undefined : answer.location()
          const place = to?.href === `${server.baseUrl}/login` ? 'login' : to?.searchParams.get('error')
          assert.equal([answer.status, place].filter(part => part !== undefined).join(' '), want[mode])
        })
      }
    })
  }
})
