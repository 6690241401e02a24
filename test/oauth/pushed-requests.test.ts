import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { digest } from '../../src/base/secrets.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { authorize, responseOf, signedIn } from '../support/authorize.ts'
import { exchange, tokensOf } from '../support/oauth.ts'
import {
  BANK,
  BANK_REQUEST,
  CALLBACK,
  ISSUER,
  bankClient,
  pkce,
  push,
  pushed,
  requestObject,
  withBanks,
} from '../support/request-objects.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const banks = withBanks(
  bankClient('other'),
  bankClient('strict', { require_pushed_authorization_requests: true }),
  bankClient('signs', { require_signed_request_object: true }),
  bankClient('public', { client_secret: undefined, allowpublic: true, jwks: undefined }),
)
/** The same client in another zone. */
const z1 = { id: 'z1', subdomain: 'z1', name: 'Zone one', bootstrap: { clients: [bankClient('bank')] } }
const bootstrap = { ...banks, identity_zones: [z1] }

describe('Pushed authorization requests (RFC 9126)', () => {
  let server: TestServer
  let browser: Browser
  before(async () => {
    server = await startServer({ config: { bootstrap } })
    browser = await signedIn(server)
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })
  const bring = (uri: string, visitor: Browser = browser, clientId = 'bank'): Promise<TestAnswer> =>
    authorize(visitor, { client_id: clientId, request_uri: uri })
  const codeOf = (answer: TestAnswer): string | undefined =>
    answer.status === 302 ? responseOf(answer).query['code'] : undefined
  const isGone = (answer: TestAnswer): void => {
    assert.equal(answer.status, 400)
    assert.match(answer.text, /unknown, expired or already used/)
  }

  // Covers POST /oauth/par: response: request_uri; expires_in
  it('return a request_uri', async () => {
    const answer = await push(server)
    assert.equal(answer.status, 201, answer.text)
    const { request_uri, expires_in } = answer.json<{ request_uri: string; expires_in: number }>()
    assert.match(request_uri, /^urn:ietf:params:oauth:request_uri:[\w-]{43}$/)
    assert.equal(expires_in, 90)
    assert.equal(answer.headers['cache-control'], 'no-cache, no-store')
    assert.match(String(answer.headers['content-type']), /^application\/json/)
  })

  // Covers later standards: PAR
  it('lead to a code for the pushed parameters', async () => {
    const { verifier, challenge } = pkce()
    const form = { ...BANK_REQUEST, code_challenge: challenge, code_challenge_method: 'S256' }
    const answer = await bring(await pushed(server, form))
    assert.equal(responseOf(answer).query['state'], 'signed-state')
    const parameters = { redirect_uri: CALLBACK, code_verifier: verifier }
    assert.ok(tokensOf(await exchange(server, codeOf(answer) ?? '', parameters, BANK)).id_token)
  })

  it('override parameters outside the request_uri', async () => {
    const uri = await pushed(server)
    const answer = await authorize(browser, { ...BANK_REQUEST, request_uri: uri, state: 'outer', scope: 'cloud.write' })
    assert.equal(responseOf(answer).query['state'], 'signed-state')
  })

  it('store no client secret or password', async () => {
    const form = { ...BANK_REQUEST, client_secret: 'bank-secret', password: 'koala' }
    const answer = await server.send('/oauth/par', { method: 'POST', form })
    const { request_uri: uri } = answer.json<{ request_uri: string }>()
    const kept = await server.store.pushedRequests.find('svc', digest(uri.replace(/^.*:/, '')))
    assert.match(kept?.parameters ?? '', /^client_id=bank&/)
    assert.doesNotMatch(kept?.parameters ?? '', /secret|koala/)
  })

  it('are accepted once', async () => {
    const uri = await pushed(server)
    const answers = await Promise.all([bring(uri), bring(uri), bring(uri)])
    assert.equal(answers.filter(answer => codeOf(answer) !== undefined).length, 1)
    isGone(await bring(uri))
  })

  it('are consumed by an error response', async () => {
    const uri = await pushed(server, { ...BANK_REQUEST, prompt: 'none' })
    assert.equal(responseOf(await bring(uri, server.browser())).query['error'], 'login_required')
    isGone(await bring(uri))
  })

  it('can be retried once if the code could not be stored', async t => {
    const failing = await startServer({ config: { bootstrap } })
    t.after(() => failing.stop())
    const visitor = await signedIn(failing)
    const request = await requestObject(failing)
    const uri = await pushed(failing)
    for (const attempt of [() => bring(uri, visitor), () => authorize(visitor, { client_id: 'bank', request })]) {
      const insert = t.mock.method(failing.store.codes, 'insert', () => Promise.reject(new StoreUnavailable('gone')))
      for (const _ of [1, 2]) assert.equal((await attempt()).status, 503)
      insert.mock.restore()
      assert.ok(codeOf(await attempt()))
      assert.equal((await attempt()).status, 400)
    }
  })

  it('can be retried once if the response could not be signed', async t => {
    const failing = await startServer({ config: { bootstrap } })
    t.after(() => failing.stop())
    const visitor = await signedIn(failing)
    const request = await requestObject(failing, { claims: { response_mode: 'jwt' } })
    const signed = { ...BANK_REQUEST, response_mode: 'jwt' }
    const [uri, refused] = [await pushed(failing, signed), await pushed(failing, { ...signed, prompt: 'none' })]
    for (const attempt of [
      () => bring(uri, visitor),
      () => bring(refused, failing.browser()),
      () => authorize(visitor, { client_id: 'bank', request }),
    ]) {
      const list = t.mock.method(failing.store.keys, 'list', () => Promise.reject(new StoreUnavailable('gone')))
      for (const _ of [1, 2]) assert.equal((await attempt()).status, 503)
      list.mock.restore()
      assert.deepEqual(Object.keys(responseOf(await attempt()).query), ['response'])
      assert.equal((await attempt()).status, 400)
    }
  })

  it('can be pushed again with the same request object if they could not be stored', async t => {
    const failing = await startServer({ config: { bootstrap } })
    t.after(() => failing.stop())
    const request = await requestObject(failing)
    const unavailable = () => Promise.reject(new StoreUnavailable('gone'))
    const insert = t.mock.method(failing.store.pushedRequests, 'insert', unavailable)
    for (const _ of [1, 2]) assert.equal((await push(failing, { request })).status, 503)
    insert.mock.restore()
    assert.equal((await push(failing, { request })).status, 201)
    assert.equal((await push(failing, { request })).status, 400)
  })

  it('are not consumed by a redirect to sign-in', async () => {
    const uri = await pushed(server)
    assert.equal((await bring(uri, server.browser())).location().pathname, '/login')
    assert.ok(codeOf(await bring(uri)))
  })

  it('expire', async () => {
    const uri = await pushed(server)
    server.clock.advance(91)
    isGone(await bring(uri))
  })

  it('remain valid during a slow sign-in', async () => {
    const visitor = server.browser()
    const first = await bring(await pushed(server, { ...BANK_REQUEST, prompt: 'login' }), visitor)
    assert.equal(first.location().pathname, '/login')
    server.clock.advance(1500)
    const back = (await visitor.signIn('marissa', 'koala')).location()
    assert.ok(codeOf(await visitor.send(back.pathname + back.search)))
    browser = await signedIn(server)
  })

  it('require a fresh sign-in with prompt=login', async () => {
    const visitor = await signedIn(server)
    server.clock.advance(5)
    const uri = await pushed(server, { ...BANK_REQUEST, prompt: 'login' })
    assert.equal((await bring(uri, visitor)).location().pathname, '/login')
    assert.equal((await bring(uri, visitor)).location().pathname, '/login')
    const back = (await visitor.signIn('marissa', 'koala')).location()
    assert.ok(codeOf(await visitor.send(back.pathname + back.search)))
  })

  it('are refused for another client', async () => {
    const uri = await pushed(server)
    isGone(await bring(uri, browser, 'other'))
    assert.equal((await authorize(browser, { request_uri: uri })).status, 400)
    assert.ok(codeOf(await bring(uri)))
  })

  it('are refused with a modified request_uri', async () => {
    const uri = await pushed(server)
    isGone(await bring(uri.replace(/.$/, last => (last === 'A' ? 'B' : 'A'))))
  })

  it('are refused in another zone', async () => {
    const uri = await pushed(server)
    const host = 'z1.localhost:8080'
    const query = { client_id: 'bank', request_uri: uri }
    const elsewhere = await server.browser(host).send('/oauth/authorize', { query })
    assert.equal(elsewhere.status, 400)
    assert.match(elsewhere.text, /unknown, expired or already used/)
    assert.ok(codeOf(await bring(uri)))
  })

  it('may contain a request object, which overrides other parameters', async () => {
    const request = await requestObject(server)
    const uri = await pushed(server, { request, state: 'outer', redirect_uri: 'https://evil.example' })
    assert.equal(responseOf(await bring(uri)).query['state'], 'signed-state')
  })

  it('refuse a request object with a jti that was used before', async () => {
    const refusePush = async (request: string): Promise<void> => {
      const { error, error_description: description } = (await push(server, { request })).json<Record<string, string>>()
      assert.deepEqual([error, description], ['invalid_request_object', 'The request object was used already'])
    }
    const request = await requestObject(server)
    await pushed(server, { request })
    await refusePush(request)
    assert.equal((await authorize(browser, { client_id: 'bank', request })).status, 400)
    const inUrl = await requestObject(server)
    assert.ok(codeOf(await authorize(browser, { client_id: 'bank', request: inUrl })))
    await refusePush(inUrl)
    const unnamed = await requestObject(server, { claims: { jti: undefined } })
    for (const _ of [1, 2]) assert.ok(codeOf(await bring(await pushed(server, { request: unnamed }))))
  })

  it('may be too long for a URL', async () => {
    const claims = { userinfo: { extra: 'x'.repeat(12_000) } }
    const uri = await pushed(server, { request: await requestObject(server, { claims: { claims } }) })
    assert.ok(codeOf(await bring(uri)))
  })

  it('must contain a request object of a client with require_signed_request_object', async () => {
    const plain = await push(server, { ...BANK_REQUEST, client_id: 'signs' }, ['signs', 'signs-secret'])
    assert.equal(plain.json()['error_description'], 'This client must sign its requests')
    const request = await requestObject(server, { claims: { iss: 'signs', client_id: 'signs' } })
    const uri = await pushed(server, { request }, ['signs', 'signs-secret'])
    assert.ok(codeOf(await bring(uri, browser, 'signs')))
  })

  it('are required of a client with require_pushed_authorization_requests', async () => {
    const request = { ...BANK_REQUEST, client_id: 'strict' }
    const { query } = responseOf(await authorize(browser, request))
    assert.deepEqual(
      [query['error'], query['error_description']],
      ['invalid_request', 'This client must push its requests'],
    )
    const object = await requestObject(server, { claims: { iss: 'strict', client_id: 'strict' } })
    const signed = responseOf(await authorize(browser, { client_id: 'strict', request: object })).query
    assert.equal(signed['error_description'], 'This client must push its requests')
    const uri = await pushed(server, request, ['strict', 'strict-secret'])
    assert.ok(codeOf(await bring(uri, browser, 'strict')))
  })

  it('accept a public client with PKCE', async () => {
    const request = { ...BANK_REQUEST, client_id: 'public' }
    const without = await server.send('/oauth/par', { method: 'POST', form: request })
    assert.equal(without.json()['error'], 'invalid_request')
    const form = { ...request, code_challenge: pkce().challenge, code_challenge_method: 'S256' }
    const answer = await server.send('/oauth/par', { method: 'POST', form })
    assert.equal(answer.status, 201, answer.text)
    assert.ok(codeOf(await bring(answer.json<{ request_uri: string }>().request_uri, browser, 'public')))
  })

  const refused: readonly {
    name: string
    form?: Readonly<Record<string, string>>
    basic?: readonly [string, string]
    want: string
  }[] = [
    { name: 'an unknown client', basic: ['nobody', 'x'], want: '401 invalid_client' },
    { name: 'a wrong secret', basic: ['bank', 'x'], want: '401 invalid_client' },
    { name: 'a client_id of another client', form: { client_id: 'other' }, want: '401 invalid_client' },
    { name: 'a request_uri', form: { request_uri: 'urn:x' }, want: '400 invalid_request' },
    { name: 'a malformed request object', form: { request: 'x.y.z' }, want: '400 invalid_request_object' },
    {
      name: 'an unregistered redirect URI',
      form: { redirect_uri: 'https://evil.example' },
      want: '400 invalid_request',
    },
    { name: 'a missing response type', form: { response_type: '' }, want: '400 invalid_request' },
    { name: 'an unknown response type', form: { response_type: 'x' }, want: '400 unsupported_response_type' },
    { name: 'a scope outside the client', form: { scope: 'cloud.write' }, want: '400 invalid_scope' },
    { name: 'an invalid combination of prompts', form: { prompt: 'none login' }, want: '400 invalid_request' },
    { name: 'an id_token_hint of another issuer', form: { id_token_hint: 'x.y.z' }, want: '400 invalid_request' },
    { name: 'parameters that are too long', form: { login_hint: 'x'.repeat(20_001) }, want: '413 invalid_request' },
    {
      name: 'a request object that is too long',
      form: { request: 'x'.repeat(32_769) },
      want: '413 invalid_request_object',
    },
    { name: 'a body that is too long', form: { login_hint: 'x'.repeat(70_000) }, want: '413 invalid_request' },
  ]
  for (const { name, form = {}, basic, want } of refused) {
    // Covers POST /oauth/par: error: bad request
    it(`refuse ${name}`, async () => {
      const answer = await push(server, { ...BANK_REQUEST, ...form }, basic)
      assert.equal(`${answer.status} ${answer.json<{ error: string }>().error}`, want, answer.text)
      assert.equal(answer.headers['location'], undefined)
      if (answer.status === 401) assert.match(String(answer.headers['www-authenticate']), /^Basic /)
    })
  }

  it('refuse repeated parameters, parameters in the query, and other methods', async () => {
    const form = `${new URLSearchParams(BANK_REQUEST)}&state=2`
    const twice = await server.send('/oauth/par', { method: 'POST', form, basic: BANK })
    assert.equal(twice.json()['error'], 'invalid_request')
    const query = await server.send('/oauth/par?state=1', { method: 'POST', form: BANK_REQUEST, basic: BANK })
    assert.equal(query.status, 406)
    assert.equal((await server.send('/oauth/par')).status, 405)
  })

  it('are rate-limited for public clients', async () => {
    const form = {
      ...BANK_REQUEST,
      client_id: 'public',
      code_challenge: pkce().challenge,
      code_challenge_method: 'S256',
    }
    let last: TestAnswer | undefined
    for (let count = 0; count < 301; count += 1) last = await server.send('/oauth/par', { method: 'POST', form })
    assert.equal(last?.status, 429)
    assert.ok(Number(last.headers['retry-after']) > 0)
    assert.equal((await push(server)).status, 201)
  })
})

describe('Client with unused pushed requests', () => {
  it('is refused above 20,000 of them until they expire', async () => {
    const server = await startServer({ config: { bootstrap } })
    try {
      const expiresAt = server.clock.now()
      const kept = { zoneId: 'svc', clientId: 'bank', parameters: '', isSigned: false, expiresAt, keptUntil: expiresAt }
      const insert = (index: number) => server.store.pushedRequests.insert('svc', { ...kept, idDigest: `r${index}` })
      // Fewer concurrent writes than the queue admits.
      for (let from = 0; from < 19_999; from += 500) {
        const length = Math.min(500, 19_999 - from)
        await Promise.all(Array.from({ length }, (_, index) => insert(from + index)))
      }
      assert.equal((await push(server)).status, 201)
      const refused = await push(server)
      assert.equal(refused.status, 429)
      assert.equal(refused.headers['retry-after'], '5')
      assert.equal((await push(server, { ...BANK_REQUEST, client_id: 'other' }, ['other', 'other-secret'])).status, 201)
      server.clock.advance(6)
      while ((await server.store.purge(server.clock.now())) > 0);
      assert.equal((await push(server)).status, 201)
    } finally {
      await server.stop()
    }
  })
})

describe('Zone with pushed requests', () => {
  const OFF = { error: 'not_found', error_description: 'This feature is turned off here.' }
  const inZone = async (
    mode: 'standard' | 'uaa',
    config: Readonly<Record<string, unknown>>,
    test: (server: TestServer) => Promise<void>,
  ): Promise<void> => {
    const server = await startServer({ mode, config: { bootstrap, zone_config: config } })
    try {
      await test(server)
    } finally {
      await server.stop()
    }
  }

  it('answers 404 if they are disabled', async () => {
    await inZone('standard', { protocols: { pushedRequests: false } }, async server => {
      assert.deepEqual([(await push(server)).status, (await push(server)).json()], [404, OFF])
      const request = { ...BANK_REQUEST, request_uri: 'urn:ietf:params:oauth:request_uri:x' }
      const { query } = responseOf(await authorize(server.browser(), request))
      assert.equal(query['error'], 'request_uri_not_supported')
    })
    await inZone('uaa', {}, async server => {
      const answer = await push(server)
      assert.deepEqual([answer.status, answer.json()], [404, OFF])
    })
  })

  it('accepts them in uaa if they are enabled', async () => {
    await inZone('uaa', { protocols: { pushedRequests: true } }, async server => {
      const uri = await pushed(server)
      const visitor = server.browser()
      await authorize(visitor, { client_id: 'bank', request_uri: uri })
      const back = (await visitor.signIn('marissa', 'koala')).location()
      assert.ok(responseOf(await visitor.send(back.pathname + back.search)).query['code'])
      assert.equal((await push(server, { ...BANK_REQUEST, scope: 'cloud.write' })).json()['error'], 'invalid_scope')
    })
  })

  it('may require them of all clients', async () => {
    await inZone('standard', { requirePushedRequests: true }, async server => {
      const { query } = responseOf(await authorize(await signedIn(server), BANK_REQUEST))
      assert.equal(query['error_description'], 'This client must push its requests')
      const metadata = (await server.send('/.well-known/openid-configuration')).json()
      assert.equal(metadata['require_pushed_authorization_requests'], true)
      assert.equal(metadata['pushed_authorization_request_endpoint'], `${ISSUER}/oauth/par`)
    })
  })
})
