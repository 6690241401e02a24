import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { CompactSign, UnsecuredJWT, decodeJwt } from 'jose'
import { authorize, responseOf, signedIn } from '../../support/authorize.ts'
import { hiddenFields } from '../../support/forms.ts'
import { KEYS } from '../../support/keys.ts'
import { exchange, tokensOf } from '../../support/oauth.ts'
import type { ObjectOptions } from '../../support/request-objects.ts'
import {
  BANK,
  BANK_REQUEST,
  CALLBACK,
  ISSUER,
  SIGNERS,
  bankClient,
  requestObject,
  withBanks,
} from '../../support/request-objects.ts'
import type { Browser, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

let respond: RequestListener
let fetched = 0
const files = createServer((request, response) => {
  fetched += 1
  respond(request, response)
})
await new Promise<void>(resolve => files.listen(0, '127.0.0.1', resolve))
const port = (files.address() as AddressInfo).port
const FILES = `http://127.0.0.1:${port}`
after(() => files.close())

const bootstrap = withBanks(
  bankClient('one-algorithm', { request_object_signing_alg: 'RS256' }),
  bankClient('edwards', { request_object_signing_alg: 'Ed25519' }),
  bankClient('signs', { require_signed_request_object: true }),
  bankClient('asks', { autoapprove: false }),
  bankClient('fapi', { profile: 'fapi2-message-signing', client_secret: undefined }),
  bankClient('without-keys', { jwks: undefined }),
  bankClient('by-reference', {
    request_uris: [`${FILES}/request`, 'https://10.0.0.1/request'],
  }),
)

describe('Request objects (RFC 9101)', () => {
  let server: TestServer
  let browser: Browser
  before(async () => {
    const signing_keys = { active: 'rsa', keys: { rsa: KEYS.RS256, ec: KEYS.ES256 } }
    server = await startServer({ config: { bootstrap, signing_keys } })
    browser = await signedIn(server)
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  const object = (options?: ObjectOptions): Promise<string> => requestObject(server, options)
  const as = (clientId: string, claims: Readonly<Record<string, unknown>> = {}): ObjectOptions => ({
    claims: { iss: clientId, client_id: clientId, ...claims },
  })
  const ask = async (options?: ObjectOptions, query: Readonly<Record<string, string>> = {}) =>
    authorize(browser, { client_id: 'bank', request: await object(options), ...query })
  /** Returns the error of the request; the redirect URI outside the object allows an error redirect, which is signed if required. */
  const refusalOf = async (request: string, query: Readonly<Record<string, string>> = {}) => {
    const answer = await authorize(browser, {
      client_id: 'bank',
      redirect_uri: CALLBACK,
      state: 'outer',
      request,
      ...query,
    })
    assert.equal(answer.status, 302, answer.text)
    const { query: plain } = responseOf(answer)
    const sent = plain['response'] === undefined ? plain : decodeJwt(plain['response'])
    assert.equal(sent['state'], 'outer')
    return `${String(sent['error'])}: ${String(sent['error_description'])}`
  }

  // Covers GET /oauth/authorize: request
  // Covers later standards: JAR
  it('provide all parameters', async () => {
    const answer = await ask()
    assert.equal(answer.location().origin + answer.location().pathname, CALLBACK)
    const { code = '', state } = responseOf(answer).query
    assert.equal(state, 'signed-state')
    const tokens = tokensOf(await exchange(server, code, { redirect_uri: CALLBACK }, BANK))
    const [, payload = ''] = tokens.id_token.split('.')
    assert.equal(JSON.parse(Buffer.from(payload, 'base64url').toString())['nonce'], 'n1')
  })

  it('override parameters outside the object', async () => {
    const beside = {
      state: 'outer',
      scope: 'profile',
      response_mode: 'fragment',
      redirect_uri: CALLBACK,
      nonce: 'outer',
    }
    const { query, fragment } = responseOf(await ask({}, beside))
    assert.equal(query['state'], 'signed-state')
    assert.deepEqual(fragment, {})
    const bare = await ask({ claims: { state: undefined } }, { state: 'outer' })
    assert.equal(responseOf(bare).query['state'], undefined)
  })

  it('accept numbers, objects and null as values', async () => {
    const claims = { max_age: 3600, claims: { id_token: { acr: null } }, extra: null, ui_locales: 'de' }
    assert.ok(responseOf(await ask({ claims })).query['code'])
  })

  it('are accepted once if they have a jti, otherwise repeatedly', async () => {
    for (const claims of [{}, { exp: 1e300 }, { exp: undefined }, { scope: 'cloud.write' }]) {
      const request = await object({ claims })
      const first = responseOf(await authorize(browser, { client_id: 'bank', request })).query
      assert.ok(first['code'] ?? first['error'] === 'invalid_scope')
      assert.ok(first['code'] || 'scope' in claims)
      if ('scope' in claims) continue
      const second = await authorize(browser, { client_id: 'bank', request })
      assert.deepEqual([second.status, second.headers['location']], [400, undefined], second.text)
    }
    const unnamed = await object({ claims: { jti: undefined } })
    for (const _ of [1, 2]) {
      assert.ok(responseOf(await authorize(browser, { client_id: 'bank', request: unnamed })).query['code'])
    }
  })

  it('may be signed with any asymmetric algorithm', async () => {
    assert.ok(responseOf(await ask({ by: 'rsa' })).query['code'])
  })

  it('accept typ JWT or none, and a list of audiences', async () => {
    assert.ok(responseOf(await ask({ header: { typ: 'JWT' } })).query['code'])
    assert.ok(responseOf(await ask({ header: { typ: undefined } })).query['code'])
    assert.ok(responseOf(await ask({ header: { typ: 'application/oauth-authz-req+jwt' } })).query['code'])
    assert.ok(responseOf(await ask({ claims: { aud: ['https://other.example', ISSUER] } })).query['code'])
  })

  const signed = (content: string | Buffer): Promise<string> =>
    new CompactSign(Buffer.from(content)).setProtectedHeader({ alg: 'ES256', kid: 'ec' }).sign(SIGNERS.ec.key)
  const now = () => Math.floor(server.clock.now().getTime() / 1000)
  const bad: readonly { name: string; make: () => Promise<string> | string; about: RegExp }[] = [
    {
      name: 'is unsigned (alg none)',
      make: () => new UnsecuredJWT({ ...BANK_REQUEST }).encode(),
      about: /must be signed with a key of the client/,
    },
    {
      name: 'is signed by another party',
      make: () => object({ by: 'stranger', header: { kid: 'ec' } }),
      about: /signature .* is invalid/,
    },
    { name: 'names a key that the client does not have', make: () => object({ by: 'stranger' }), about: /No key/ },
    {
      name: 'is signed with an algorithm other than its header says',
      make: async () => {
        const [, ...rest] = (await object()).split('.')
        return [Buffer.from('{"alg":"RS256","kid":"rsa"}').toString('base64url'), ...rest].join('.')
      },
      about: /signature .* is invalid/,
    },
    {
      name: 'is signed with a shared secret (HS256)',
      make: async () => {
        const [, ...rest] = (await object()).split('.')
        return [Buffer.from('{"alg":"HS256"}').toString('base64url'), ...rest].join('.')
      },
      about: /must be signed with a key of the client/,
    },
    {
      name: 'was modified',
      make: async () => {
        const [header, , signature] = (await object()).split('.')
        const payload = Buffer.from(JSON.stringify({ ...BANK_REQUEST, scope: 'cloud.read' })).toString('base64url')
        return [header, payload, signature].join('.')
      },
      about: /signature .* is invalid/,
    },
    {
      name: 'has a padded signature',
      make: async () => `${await object()}==`,
      about: /signature .* is invalid/,
    },
    { name: 'is encrypted', make: () => 'a.b.c.d.e', about: /not a signed JWT/ },
    { name: 'is not a JWT', make: () => 'x', about: /not a signed JWT/ },
    { name: 'has a malformed header', make: () => 'x.y.z', about: /not a JWT/ },
    { name: 'is a client assertion', make: () => object({ claims: { sub: 'bank' } }), about: /as its subject/ },
    { name: 'is a DPoP proof', make: () => object({ header: { typ: 'dpop+jwt' } }), about: /another type/ },
    {
      name: 'has a critical extension',
      make: () => object({ header: { crit: ['b64'], b64: true } }),
      about: /another type/,
    },
    {
      name: 'has the client_id of another client',
      make: () => object({ claims: { client_id: 'signs' } }),
      about: /client_id/,
    },
    { name: 'has no client_id', make: () => object({ claims: { client_id: undefined } }), about: /client_id/ },
    {
      name: 'was issued by another client',
      make: () => object({ claims: { iss: 'signs' } }),
      about: /issuer .* is not the client/,
    },
    {
      name: 'has the audience of another server',
      make: () => object({ claims: { aud: 'https://other.example' } }),
      about: /audience/,
    },
    { name: 'has expired', make: () => object({ claims: { exp: now() - 61 } }), about: /has expired/ },
    { name: 'is not valid yet', make: () => object({ claims: { nbf: now() + 61 } }), about: /not valid yet/ },
    { name: 'has a string as exp', make: () => object({ claims: { exp: '2999999999' } }), about: /not a number/ },
    { name: 'contains a request', make: () => object({ claims: { request: 'x.y.z' } }), about: /must not contain/ },
    {
      name: 'contains a request_uri',
      make: () => object({ claims: { request_uri: 'https://a.example' } }),
      about: /must not contain/,
    },
    { name: 'is too long', make: () => object({ claims: { extra: 'x'.repeat(3500) } }), about: /at most 3500/ },
    { name: 'has a payload that is a JSON array', make: () => signed('[]'), about: /not a JSON object/ },
    {
      name: 'has a payload that is not UTF-8',
      make: () => signed(Buffer.from('{"a":"\xff"}', 'latin1')),
      about: /not a JSON object/,
    },
    { name: 'contains a NUL character', make: () => object({ claims: { login_hint: 'a\0b' } }), about: /not text/ },
    {
      name: 'contains a lone surrogate',
      make: () => object({ claims: { login_hint: '\ud800' } }),
      about: /not valid Unicode/,
    },
  ]
  for (const { name, make, about } of bad) {
    it(`are refused if one ${name}`, async () => {
      const reported = await refusalOf(await make())
      assert.match(reported, /^invalid_request_object: /)
      assert.match(reported, about)
    })
  }

  it('are refused on a page if the redirect URI is not in the query or not registered', async () => {
    const request = new UnsecuredJWT({ ...BANK_REQUEST, redirect_uri: 'https://evil.example/' }).encode()
    for (const beside of [{}, { redirect_uri: 'https://evil.example/' }]) {
      const answer = await authorize(browser, { client_id: 'bank', request, ...beside })
      assert.equal(answer.status, 400)
      assert.equal(answer.headers['location'], undefined)
      assert.match(answer.text, /must be signed/)
    }
  })

  it('are refused if combined with request_uri or repeated', async () => {
    const reported = await refusalOf(await object(), { request_uri: 'https://bank.example/request' })
    assert.match(reported, /^invalid_request: .*both/)
    const twice = `client_id=bank&request=${await object()}&request=${await object()}`
    const answer = await browser.send(`/oauth/authorize?${twice}`)
    assert.equal(answer.status, 400)
    assert.match(answer.text, /must not be repeated/)
  })

  it('have their parameters validated', async () => {
    const scope = responseOf(await ask({ claims: { scope: 'cloud.write' } })).query
    assert.deepEqual([scope['error'], scope['state']], ['invalid_scope', 'signed-state'])
    const foreign = await ask({ claims: { redirect_uri: 'https://evil.example/' } })
    assert.equal(foreign.status, 400)
    const silent = await authorize(server.browser(), {
      client_id: 'bank',
      request: await object({ claims: { prompt: 'none' } }),
    })
    assert.equal(responseOf(silent).query['error'], 'login_required')
  })

  it('must use the algorithm that the client registered', async () => {
    const other = { client_id: 'one-algorithm' }
    assert.match(await refusalOf(await object(as('one-algorithm')), other), /must be signed by RS256/)
    assert.ok(responseOf(await ask({ ...as('one-algorithm'), by: 'rsa' }, other)).query['code'])
    const edwards = { client_id: 'edwards' }
    assert.match(await refusalOf(await object(as('edwards')), edwards), /must be signed by Ed25519/)
    for (const alg of ['Ed25519', 'EdDSA']) {
      assert.ok(responseOf(await ask({ ...as('edwards'), by: 'ed', header: { alg } }, edwards)).query['code'], alg)
    }
  })

  it('require keys of the client', async () => {
    const reported = await refusalOf(await object(as('without-keys')), { client_id: 'without-keys' })
    assert.match(reported, /no usable keys/)
    assert.ok(server.refusals.includes('invalid_request_object: there are no keys'), 'the reason is logged')
  })

  it('are required with require_signed_request_object', async () => {
    const plain = responseOf(await authorize(browser, { ...BANK_REQUEST, client_id: 'signs' })).query
    assert.deepEqual(
      [plain['error'], plain['error_description']],
      ['invalid_request', 'This client must sign its requests'],
    )
    assert.ok(responseOf(await ask(as('signs'), { client_id: 'signs' })).query['code'])
  })

  it('must conform to FAPI 2.0 Message Signing for clients with that profile', async () => {
    const fapi = { client_id: 'fapi' }
    const cases = [
      [{ aud: undefined }, /must name this server/],
      [{ nbf: undefined }, /must have nbf and exp/],
      [{ exp: undefined }, /must have nbf and exp/],
      [{ nbf: now() - 3700, exp: now() - 3700 + 3600 + 200 }, /longer than an hour/],
      [{ exp: now() + 3601 }, /longer than an hour/],
    ] as const
    for (const [claims, about] of cases) {
      assert.match(await refusalOf(await object(as('fapi', claims)), fapi), about)
    }
    assert.match(await refusalOf(await object({ ...as('fapi'), by: 'rsa' }), fapi), /PS256 or ES256 or EdDSA/)
  })

  describe('during sign-in', () => {
    it('remain valid if they expire before the user signs in', async () => {
      const visitor = server.browser()
      const request = await object({ claims: { exp: now() + 60, login_hint: 'marissa', ui_locales: 'de' } })
      const first = await authorize(visitor, { client_id: 'bank', request })
      assert.equal(first.location().pathname, '/login')
      assert.match((await visitor.send('/login')).text, /lang="de"/)
      server.clock.advance(1200)
      const after = await visitor.signIn('marissa', 'koala')
      const back = await visitor.send(after.location().pathname + after.location().search)
      assert.ok(responseOf(back).query['code'], back.text)
      // The object by itself has expired by now.
      assert.match(await refusalOf(request), /has expired/)
    })

    it('may have the maximum length', async () => {
      const visitor = server.browser()
      const request = await object({ claims: { extra: 'x'.repeat(2100) } })
      assert.ok(request.length > 3300 && request.length <= 3500, `${request.length}`)
      await authorize(visitor, { client_id: 'bank', request })
      const back = (await visitor.signIn('marissa', 'koala')).location()
      assert.ok(responseOf(await visitor.send(back.pathname + back.search)).query['code'])
    })

    it('expire after an hour', async () => {
      const visitor = server.browser()
      await authorize(visitor, { client_id: 'bank', request: await object({ claims: { exp: now() + 60 } }) })
      const back = (await visitor.signIn('marissa', 'koala')).location()
      server.clock.advance(3601)
      assert.equal((await visitor.send(back.pathname + back.search)).status, 400)
    })

    it('require a fresh sign-in once for prompt=login and max_age=0', async () => {
      for (const claims of [{ prompt: 'login' }, { max_age: 0 }, { prompt: 'select_account' }]) {
        const visitor = await signedIn(server)
        server.clock.advance(5)
        const request = await object({ claims })
        const first = await authorize(visitor, { client_id: 'bank', request })
        assert.ok(first.status === 200 || first.location().pathname === '/login')
        server.clock.advance(5)
        const back = (await visitor.signIn('marissa', 'koala')).location()
        assert.ok(responseOf(await visitor.send(back.pathname + back.search)).query['code'], JSON.stringify(claims))
        server.clock.advance(5)
        const again = await authorize(visitor, { client_id: 'bank', request })
        assert.ok(again.status === 200 || again.location().pathname === '/login')
      }
    })

    it('cannot be bypassed by parameters that this server adds to the URL', async () => {
      const visitor = await signedIn(server)
      server.clock.advance(5)
      const request = await object({ claims: { prompt: 'login' } })
      const state = { hint_was_asked: 'true', account_was_chosen: 'true', begun: 'v1.AAAA', prompt: '' }
      const answer = await authorize(visitor, { client_id: 'bank', request, ...state })
      assert.equal(answer.location().pathname, '/login')
      // A seal is valid for one request only.
      await authorize(visitor, { client_id: 'bank', request: await object() })
      const other = await object({ claims: { state: 'other' } })
      await authorize(visitor, { client_id: 'bank', request: other, begun: await begunOf(visitor, request) })
      const stolen = await authorize(visitor, {
        client_id: 'asks',
        request: other,
        begun: await begunOf(visitor, request),
      })
      assert.equal(stolen.status, 400)
    })

    /** The seal in the URL to which the browser returns after sign-in. */
    async function begunOf(visitor: Browser, request: string): Promise<string> {
      await authorize(visitor, { client_id: 'bank', request })
      const back = (await visitor.signIn('marissa', 'koala')).location()
      return back.searchParams.get('begun') ?? ''
    }

    it('are used after approval', async () => {
      const visitor = await signedIn(server)
      const page = await authorize(visitor, { client_id: 'asks', request: await object(as('asks')) })
      assert.equal(page.status, 200, page.text)
      server.clock.advance(600)
      const form = { ...hiddenFields(page.text), user_oauth_approval: 'true', 'scope.0': 'scope.openid' }
      const answer = await visitor.send('/oauth/authorize', { method: 'POST', form })
      assert.ok(responseOf(answer).query['code'], answer.text)
      assert.equal(responseOf(answer).query['state'], 'signed-state')
    })

    it('are used after account selection', async () => {
      const visitor = await signedIn(server)
      const page = await authorize(visitor, {
        client_id: 'bank',
        request: await object({ claims: { prompt: 'select_account' } }),
      })
      assert.equal(page.status, 200)
      const href = /href="([^"]*account_was_chosen[^"]*)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? ''
      const { pathname, search } = new URL(href)
      assert.ok(responseOf(await visitor.send(pathname + search)).query['code'])
    })
  })

  describe('by request_uri', () => {
    before(async () => {
      browser = await signedIn(server)
    })
    const reference = (uri: string, query: Readonly<Record<string, string>> = {}) =>
      authorize(browser, { client_id: 'by-reference', request_uri: uri, redirect_uri: CALLBACK, ...query })
    const answers = (body: string, status = 200, headers: Readonly<Record<string, string>> = {}): void => {
      respond = (_, response) => response.writeHead(status, headers).end(body)
    }
    const refused = async (uri: string): Promise<string> => {
      const { error = '', error_description = '' } = responseOf(await reference(uri)).query
      return `${error}: ${error_description}`
    }

    // Covers GET /oauth/authorize: request_uri
    it('are fetched from a registered URL', async () => {
      answers(`${await object(as('by-reference'))}\n`)
      assert.ok(responseOf(await reference(`${FILES}/request`)).query['code'])
      assert.ok(responseOf(await reference(`${FILES}/request#hash-of-this-content`)).query['code'])
    })

    it('are fetched once for a user who signs in', async () => {
      answers(await object(as('by-reference')))
      const visitor = server.browser()
      const before = fetched
      await authorize(visitor, { client_id: 'by-reference', request_uri: `${FILES}/request` })
      const back = (await visitor.signIn('marissa', 'koala')).location()
      assert.ok(responseOf(await visitor.send(back.pathname + back.search)).query['code'])
      assert.equal(fetched - before, 1)
    })

    it('may be used by several users who each sign in', async () => {
      answers(await object(as('by-reference')))
      for (const _ of [1, 2]) {
        const visitor = server.browser()
        await authorize(visitor, { client_id: 'by-reference', request_uri: `${FILES}/request` })
        const back = (await visitor.signIn('marissa', 'koala')).location()
        assert.ok(responseOf(await visitor.send(back.pathname + back.search)).query['code'])
      }
    })

    it('are cached if the URL contains the hash of their content', async () => {
      const content = await object(as('by-reference'))
      answers(content)
      const hash = createHash('sha256').update(content).digest('base64url')
      const before = fetched
      for (const _ of [1, 2, 3]) assert.ok(responseOf(await reference(`${FILES}/request#${hash}`)).query['code'])
      assert.equal(fetched - before, 1)
      for (const _ of [1, 2]) assert.ok(responseOf(await reference(`${FILES}/request#other`)).query['code'])
      assert.equal(fetched - before, 3)
    })

    it('are not fetched from an unregistered URL', async () => {
      const before = fetched
      for (const uri of [
        `${FILES}/other`,
        `${FILES}/request?x`,
        'https://evil.example/',
        'urn:x',
        `${FILES}/private`,
      ]) {
        assert.match(await refused(uri), /^invalid_request_uri: .*not registered/, uri)
      }
      assert.equal(fetched, before)
    })

    it('are refused if the URL answers an error, a redirect, a long body or no signed object, or is private', async () => {
      answers('gone', 404)
      assert.match(await refused(`${FILES}/request`), /^invalid_request_uri: .*cannot be fetched/)
      answers('', 302, { location: `${FILES}/private` })
      assert.match(await refused(`${FILES}/request`), /^invalid_request_uri: .*cannot be fetched/)
      answers('x'.repeat(7000))
      assert.match(await refused(`${FILES}/request`), /^invalid_request_uri: .*cannot be fetched/)
      answers('<html>')
      assert.match(await refused(`${FILES}/request`), /^invalid_request_object: /)
      assert.match(await refused('https://10.0.0.1/request'), /^invalid_request_uri: .*cannot be fetched/)
      const reason = 'https://10.0.0.1: resolves to an address that is not allowed'
      assert.ok(server.refusals.includes(`invalid_request_uri: ${reason}`), 'the reason is logged')
    })
  })
})

describe('Zone with a FAPI 2.0 profile', () => {
  it('refuses a client algorithm that the profile forbids', async () => {
    const server = await startServer({ config: { bootstrap, zone_config: { profile: 'fapi2-security' } } })
    try {
      const claims = { iss: 'one-algorithm', client_id: 'one-algorithm' }
      const request = await requestObject(server, { by: 'rsa', claims })
      const query = { client_id: 'one-algorithm', redirect_uri: CALLBACK, request }
      const { query: reported } = responseOf(await authorize(server.browser(), query))
      assert.match(reported['error_description'] ?? '', /must be signed by PS256 or ES256 or EdDSA/)
    } finally {
      await server.stop()
    }
  })
})

describe('Zone without request objects', () => {
  for (const mode of ['standard', 'uaa'] as const) {
    it(`${mode === 'uaa' ? 'ignores' : 'refuses'} them in ${mode} (A14)`, async () => {
      const server = await startServer({
        mode,
        config: { bootstrap, ...(mode === 'standard' && { zone_config: { protocols: { requestObjects: false } } }) },
      })
      try {
        const browser = await signedIn(server)
        const request = await requestObject(server)
        const { query } = responseOf(await authorize(browser, { ...BANK_REQUEST, request }))
        if (mode === 'uaa') assert.ok(query['code'])
        else assert.equal(query['error'], 'request_not_supported')
        const other = responseOf(await authorize(browser, { ...BANK_REQUEST, request_uri: `${FILES}/request` })).query
        if (mode === 'uaa') assert.ok(other['code'])
        else assert.equal(other['error'], 'request_uri_not_supported')
      } finally {
        await server.stop()
      }
    })
  }

  it('accepts them in uaa if they are enabled', async () => {
    const config = { bootstrap, zone_config: { protocols: { requestObjects: true } } }
    const server = await startServer({ mode: 'uaa', config })
    try {
      const request = await requestObject(server, { claims: { aud: `${ISSUER}/oauth/token` } })
      const visitor = server.browser()
      const first = await authorize(visitor, { client_id: 'bank', request })
      assert.equal(first.location().pathname, '/login')
      const back = (await visitor.signIn('marissa', 'koala')).location()
      const { query } = responseOf(await visitor.send(back.pathname + back.search))
      assert.equal(query['state'], 'signed-state')
      assert.ok(query['code'])
    } finally {
      await server.stop()
    }
  })
})
