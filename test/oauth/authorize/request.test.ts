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
  /** A page with this status and code, and words that stand on it. */
  | { readonly page: number; readonly error: string; readonly text?: string }
  /** A redirect to the client with this error. */
  | { readonly error: string; readonly description: string | RegExp; readonly state?: undefined | null }
  /** A redirect to the client with a code. */
  | 'code'

interface Case {
  readonly name: string
  /** Differences from a plain request of `auto`. */
  readonly query: Readonly<Record<string, string | undefined>> | string
  /** In both modes, or in each. */
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
/** What `standard` tells the client and UAA the user. */
const request400 = (description: string): Record<CompatibilityMode, Answer> => ({
  standard: invalidRequest(description),
  uaa: { page: 400, error: 'invalid_request', text: description },
})
const ODD_CHALLENGE = 'Code challenge length must between 43 and 128 and use only [A-Z],[a-z],[0-9],_,.,-,~ characters.'

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
    name: 'does not find a client by its id in another case',
    query: { client_id: 'AUTO' },
    want: { standard: { page: 400, error: 'invalid_client' }, uaa: { page: 401, error: 'invalid_client' } },
  },

  {
    name: 'refuses to choose between two redirect URIs',
    query: { redirect_uri: undefined },
    want: mismatch('URI (none was named)'),
  },
  {
    name: 'takes the only redirect URI for an empty one',
    query: { ...requestOf('partly'), scope: 'openid', redirect_uri: '' },
    want: 'code',
  },
  // Covers GET /oauth/authorize: error: several redirect URIs and none asked for
  {
    name: 'refuses to choose among several',
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
    name: 'refuses a script for a redirect URI on a page',
    query: { redirect_uri: 'javascript:alert(1)' },
    want: mismatch('javascript:alert(1)'),
  },
  {
    name: 'refuses a redirect URI of another client on a page',
    query: { redirect_uri: APP_REQUEST.redirect_uri },
    want: mismatch('https://app.example/cb'),
  },
  {
    name: 'keeps to the path to the letter, or to its beginning as UAA does',
    query: { redirect_uri: 'https://auto.example/cb/more' },
    want: { standard: mismatch('https://auto.example/cb/more').standard, uaa: 'code' },
  },
  {
    name: 'leaves the port of loopback free, which UAA does not',
    query: { redirect_uri: 'http://127.0.0.1:51004/cb' },
    want: { standard: 'code', uaa: mismatch('http://127.0.0.1:51004/cb').uaa },
  },
  {
    name: 'refuses a bad redirect URI before any other mistake',
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
    name: 'takes an empty response type for a missing one',
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
    name: 'refuses a response type in capitals',
    query: { response_type: 'CODE' },
    want: { error: 'unsupported_response_type', description: 'Unsupported response types' },
  },
  {
    name: 'refuses code beside an unknown word',
    query: { response_type: 'code magic' },
    want: { error: 'unsupported_response_type', description: 'Unsupported response types' },
  },

  // Covers GET /oauth/authorize: error: client without a redirecting grant
  {
    name: 'refuses a client that lacks the grant',
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
    name: 'refuses a client with another redirecting grant, which UAA finds out at the token endpoint',
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
    name: 'refuses a scope that the client lacks',
    query: { scope: 'openid cloud.admin' },
    want: invalidScope('cloud.admin is invalid. Please use a valid scope name in the request'),
  },
  // Covers compatibility: authorization request: A7 scope
  {
    name: 'drops a standard scope that the client lacks beside openid, which UAA refuses',
    query: { scope: 'openid email' },
    want: { standard: 'code', uaa: invalidScope('email is invalid. Please use a valid scope name in the request') },
  },
  {
    name: 'refuses that scope without openid',
    query: { scope: 'email' },
    want: invalidScope('email is invalid. Please use a valid scope name in the request'),
  },
  { name: 'takes an empty scope for a missing one', query: { scope: '' }, want: 'code' },
  { name: 'takes scopes separated by commas and blanks', query: { scope: 'openid, cloud.read' }, want: 'code' },
  // Covers GET /oauth/authorize: rule: scope wildcards of the client
  {
    name: 'takes scopes that fit a wildcard of the client',
    query: { ...requestOf('wild'), scope: 'cloud.read' },
    want: 'code',
  },
  {
    name: 'refuses a scope that fits none',
    query: { ...requestOf('wild'), scope: 'cloud.read.all' },
    want: invalidScope(/^cloud\.read\.all is invalid/),
  },
  // Covers GET /oauth/authorize: error: no scope of the user left
  {
    name: 'refuses a scope of which this user has none',
    query: { ...requestOf('writer'), scope: 'cloud.write' },
    want: invalidScope('[cloud.write] is invalid. This user is not allowed any of the requested scopes'),
  },
  {
    name: 'refuses a client of whose scopes this user has none',
    query: requestOf('writer'),
    want: invalidScope('[cloud.write] is invalid. This user is not allowed any of the requested scopes'),
  },
  // Covers GET /oauth/authorize: error: `required_user_groups` not met
  {
    name: 'refuses who lacks a required group',
    query: requestOf('staff'),
    want: invalidScope("User does not meet the client's required group criteria."),
  },

  // Covers GET /oauth/authorize: code_challenge_method=S256
  { name: 'accepts a challenge of method S256', query: PKCE, want: 'code' },
  // Covers GET /oauth/authorize: code_challenge_method=plain
  { name: 'accepts a challenge of method plain', query: { ...PKCE, code_challenge_method: 'plain' }, want: 'code' },
  {
    name: 'refuses a challenge without a method, which is plain for UAA',
    query: { code_challenge: CHALLENGE },
    want: { standard: invalidRequest('A code_challenge requires a code_challenge_method'), uaa: 'code' },
  },
  {
    name: 'takes an empty method for a missing one',
    query: { ...PKCE, code_challenge_method: '' },
    want: { standard: invalidRequest('A code_challenge requires a code_challenge_method'), uaa: 'code' },
  },
  {
    name: 'refuses a method without a challenge, which UAA ignores',
    query: { code_challenge_method: 'S256' },
    want: { standard: invalidRequest('A code_challenge_method requires a code_challenge'), uaa: 'code' },
  },
  {
    name: 'refuses an unknown method',
    query: { ...PKCE, code_challenge_method: 'S512' },
    want: request400('Unsupported code challenge method. Supported: [S256, plain]'),
  },
  {
    name: 'refuses a method in another case',
    query: { ...PKCE, code_challenge_method: 's256' },
    want: request400('Unsupported code challenge method. Supported: [S256, plain]'),
  },
  // Covers GET /oauth/authorize: code_challenge
  {
    name: 'refuses a challenge of 42 characters',
    query: { ...PKCE, code_challenge: CHALLENGE.slice(1) },
    want: request400(ODD_CHALLENGE),
  },
  {
    name: 'accepts a plain challenge of 128 characters',
    query: { code_challenge: 'a'.repeat(128), code_challenge_method: 'plain' },
    want: 'code',
  },
  ...[`${CHALLENGE}a`, `${CHALLENGE.slice(1)}.`].map(code_challenge => ({
    name: `refuses a challenge of method S256 that is no SHA-256: ${code_challenge}`,
    query: { ...PKCE, code_challenge },
    want: {
      standard: invalidRequest('A code_challenge of method S256 must have 43 characters [A-Z],[a-z],[0-9],_,-'),
      uaa: 'code' as const,
    },
  })),
  {
    name: 'refuses a challenge of 129 characters',
    query: { ...PKCE, code_challenge: 'a'.repeat(129) },
    want: request400(ODD_CHALLENGE),
  },
  // Covers GET /oauth/authorize: error: PKCE syntax
  {
    name: 'refuses a challenge with a foreign character',
    query: { ...PKCE, code_challenge: `${CHALLENGE}+` },
    want: request400(ODD_CHALLENGE),
  },
  {
    name: 'refuses a challenge with a line break',
    query: { ...PKCE, code_challenge: `${CHALLENGE}\n` },
    want: request400(ODD_CHALLENGE),
  },
  // Covers compatibility: authorization request: A16 PKCE
  {
    name: 'demands a challenge of a client without a credential, which UAA does not',
    query: requestOf('native'),
    want: { standard: invalidRequest('This client must send a code_challenge of method S256'), uaa: 'code' },
  },
  {
    name: 'demands method S256 of it',
    query: { ...requestOf('native'), ...PKCE, code_challenge_method: 'plain' },
    want: { standard: invalidRequest('This client must send a code_challenge of method S256'), uaa: 'code' },
  },
  { name: 'takes it with method S256', query: { ...requestOf('native'), ...PKCE }, want: 'code' },

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
    name: 'refuses a max_age beyond all measure',
    query: { max_age: '99999999999' },
    want: request400('The max_age must be a number of seconds'),
  },
  { name: 'takes an empty max_age for a missing one', query: { max_age: '' }, want: 'code' },
  { name: 'takes a max_age that is kept', query: { max_age: '3600' }, want: 'code' },

  {
    name: 'refuses none beside another prompt',
    query: { prompt: 'none login' },
    want: { standard: invalidRequest('prompt=none cannot be combined with another prompt'), uaa: 'code' },
  },
  { name: 'ignores an unknown prompt', query: { prompt: 'magic' }, want: 'code' },
  { name: 'takes an empty prompt for a missing one', query: { prompt: '' }, want: 'code' },

  {
    name: 'refuses an unknown token format',
    query: { token_format: 'xml' },
    want: request400('The token_format must be jwt or opaque'),
  },
  { name: 'accepts a token format', query: { token_format: 'opaque' }, want: 'code' },

  // Covers compatibility: authorization request: A14 request objects
  {
    name: 'refuses a request object without a signature, which UAA ignores',
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
    name: 'refuses a request object at an unregistered address, which UAA ignores',
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
    name: 'refuses registration in the request',
    query: { registration: '{}' },
    want: {
      standard: { error: 'registration_not_supported', description: 'Registration within a request is not supported' },
      uaa: 'code',
    },
  },
  { name: 'takes an empty request object for a missing one', query: { request: '' }, want: 'code' },

  // Covers GET /oauth/authorize: display; claims_locales; claims
  {
    name: 'ignores what it knows and does not use',
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
    name: 'refuses a hint that is not an ID token of ours',
    query: { id_token_hint: 'x' },
    want: { standard: invalidRequest('The id_token_hint was not issued by this server.'), uaa: 'code' },
  },
  {
    name: 'refuses an unknown response mode',
    query: { response_mode: 'web_message' },
    want: {
      standard: invalidRequest('The response_mode is unknown or not allowed for the response_type'),
      uaa: 'code',
    },
  },
  { name: 'ignores what it does not know', query: { magic: '1', constructor: '2', __proto__: '3' }, want: 'code' },

  // Covers GET /oauth/authorize: error: repeated parameter
  {
    name: 'refuses a repeated state',
    query: 'state=s1&state=s2',
    want: { standard: invalidRequest('The parameter state must not be repeated'), uaa: 'code' },
  },
  {
    name: 'refuses a repeated parameter that it does not know',
    query: 'magic=1&magic=1',
    want: { standard: invalidRequest('The parameter magic must not be repeated'), uaa: 'code' },
  },
  // Covers compatibility: authorization request: A3 odd parameters
  {
    name: 'refuses a repeated scope, whose first value counts for UAA',
    query: 'scope=openid&scope=nonsense',
    want: { standard: invalidRequest('The parameter scope must not be repeated'), uaa: 'code' },
  },
  {
    name: 'refuses a repeated client on a page',
    query: 'client_id=app',
    want: {
      standard: { page: 400, error: 'invalid_request', text: 'The parameter client_id must not be repeated' },
      uaa: 'code',
    },
  },
  {
    name: 'refuses a repeated redirect URI on a page',
    query: 'redirect_uri=https://evil.example/',
    want: {
      standard: { page: 400, error: 'invalid_request', text: 'The parameter redirect_uri must not be repeated' },
      uaa: 'code',
    },
  },
  // Covers GET /oauth/authorize: response: error_description
  {
    name: 'names a repeated parameter only as far as RFC 6749 allows',
    query: 'a"%5C%C3%BC=1&a"%5C%C3%BC=1',
    want: { standard: invalidRequest('The parameter a??? must not be repeated'), uaa: 'code' },
  },

  {
    name: 'refuses a NUL on a page',
    query: 'magic=%00',
    want: { page: 400, error: 'invalid_request', text: 'NUL characters are not allowed in parameters' },
  },
  {
    name: 'refuses bytes that are no UTF-8 on a page',
    query: 'magic=%ff',
    want: { page: 400, error: 'invalid_request', text: 'A parameter is not properly percent-encoded UTF-8' },
  },
  {
    name: 'refuses half a percent code on a page',
    query: 'magic=%',
    want: { page: 400, error: 'invalid_request', text: 'A parameter is not properly percent-encoded UTF-8' },
  },
]

/** The plain request with the differences; a text is put behind it as it stands. */
const queryOf = (query: Case['query']): string => {
  const plain = new URLSearchParams(
    defined({ ...AUTO_REQUEST, ...(typeof query === 'string' ? {} : query) }),
  ).toString()
  return typeof query === 'string' ? `${plain}&${query}` : plain
}

for (const mode of MODES) {
  describe(`/oauth/authorize, parameters in ${mode}`, () => {
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

    it('answers a program in JSON what is a page for users', async () => {
      const browser = await signedIn(server)
      const headers = { accept: 'application/json' }
      const answer = await authorize(browser, { ...AUTO_REQUEST, client_id: 'nemo' }, { headers })
      assert.equal(answer.status, mode === 'standard' ? 400 : 401)
      assert.deepEqual(answer.json(), {
        error: 'invalid_client',
        error_description: 'No client with requested id: nemo',
      })
    })

    it('repeats of an unknown client and a bad redirect URI no more than a page can hold', async () => {
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
    it('returns the state unchanged, whatever it contains', async () => {
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

describe('/oauth/authorize, order of checks', () => {
  const strangers: readonly {
    name: string
    query: Readonly<Record<string, string | undefined>>
    want: Record<CompatibilityMode, string>
  }[] = [
    { name: 'a sound request leads to the sign-in page', query: {}, want: { standard: '302 login', uaa: '302 login' } },
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
      name: 'a foreign scope',
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
      for (const { name, query, want } of strangers) {
        // Covers compatibility: authorization request: A1 order
        it(`checks before or after the sign-in: ${name}`, async () => {
          const answer = await authorize(server.browser(), { ...AUTO_REQUEST, ...query })
          const to = answer.headers['location'] === undefined ? undefined : answer.location()
          const place = to?.href === `${server.baseUrl}/login` ? 'login' : to?.searchParams.get('error')
          assert.equal([answer.status, place].filter(part => part !== undefined).join(' '), want[mode])
        })
      }
    })
  }
})
