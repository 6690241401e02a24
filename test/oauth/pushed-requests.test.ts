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

describe('pushed authorization requests (RFC 9126)', () => {
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
  it('are answered with a reference', async () => {
    const answer = await push(server)
    assert.equal(answer.status, 201, answer.text)
    const { request_uri, expires_in } = answer.json<{ request_uri: string; expires_in: number }>()
    assert.match(request_uri, /^urn:ietf:params:oauth:request_uri:[\w-]{43}$/)
    assert.equal(expires_in, 90)
    assert.equal(answer.headers['cache-control'], 'no-cache, no-store')
    assert.match(String(answer.headers['content-type']), /^application\/json/)
  })

  // Covers later standards: PAR
  it('lead to a code, with all that was pushed', async () => {
    const { verifier, challenge } = pkce()
    const form = { ...BANK_REQUEST, code_challenge: challenge, code_challenge_method: 'S256' }
    const answer = await bring(await pushed(server, form))
    assert.equal(responseOf(answer).query['state'], 'signed-state')
    const parameters = { redirect_uri: CALLBACK, code_verifier: verifier }
    assert.ok(tokensOf(await exchange(server, codeOf(answer) ?? '', parameters, BANK)).id_token)
  })

  it('take nothing from beside the reference', async () => {
    const uri = await pushed(server)
    const answer = await authorize(browser, { ...BANK_REQUEST, request_uri: uri, state: 'outer', scope: 'cloud.write' })
    assert.equal(responseOf(answer).query['state'], 'signed-state')
  })

  it('keep no secret of the client', async () => {
    const form = { ...BANK_REQUEST, client_secret: 'bank-secret', password: 'koala' }
    const answer = await server.send('/oauth/par', { method: 'POST', form })
    const { request_uri: uri } = answer.json<{ request_uri: string }>()
    const kept = await server.store.pushedRequests.find('svc', digest(uri.replace(/^.*:/, '')))
    assert.match(kept?.parameters ?? '', /^client_id=bank&/)
    assert.doesNotMatch(kept?.parameters ?? '', /secret|koala/)
  })

  it('are answered once', async () => {
    const uri = await pushed(server)
    const answers = await Promise.all([bring(uri), bring(uri), bring(uri)])
    assert.equal(answers.filter(answer => codeOf(answer) !== undefined).length, 1)
    isGone(await bring(uri))
  })

  it('are used up by a refusal too', async () => {
    const uri = await pushed(server, { ...BANK_REQUEST, prompt: 'none' })
    assert.equal(responseOf(await bring(uri, server.browser())).query['error'], 'login_required')
    isGone(await bring(uri))
  })

  it('are answered by the next attempt, and by that alone, if the server could not answer', async t => {
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

  it('are answered by the next attempt if the response could not be signed', async t => {
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

  it('are not used up by a page that loads them before the answer', async () => {
    const uri = await pushed(server)
    assert.equal((await bring(uri, server.browser())).location().pathname, '/login')
    assert.ok(codeOf(await bring(uri)))
  })

  it('expire', async () => {
    const uri = await pushed(server)
    server.clock.advance(91)
    isGone(await bring(uri))
  })

  it('outlive the sign-in of a slow user', async () => {
    const visitor = server.browser()
    const first = await bring(await pushed(server, { ...BANK_REQUEST, prompt: 'login' }), visitor)
    assert.equal(first.location().pathname, '/login')
    server.clock.advance(1500)
    const back = (await visitor.signIn('marissa', 'koala')).location()
    assert.ok(codeOf(await visitor.send(back.pathname + back.search)))
    browser = await signedIn(server)
  })

  it('ask for a sign-in that they demand, though there is a session', async () => {
    const visitor = await signedIn(server)
    server.clock.advance(5)
    const uri = await pushed(server, { ...BANK_REQUEST, prompt: 'login' })
    assert.equal((await bring(uri, visitor)).location().pathname, '/login')
    assert.equal((await bring(uri, visitor)).location().pathname, '/login')
    const back = (await visitor.signIn('marissa', 'koala')).location()
    assert.ok(codeOf(await visitor.send(back.pathname + back.search)))
  })

  it('belong to the client that pushed them', async () => {
    const uri = await pushed(server)
    isGone(await bring(uri, browser, 'other'))
    assert.equal((await authorize(browser, { request_uri: uri })).status, 400)
    assert.ok(codeOf(await bring(uri)))
  })

  it('cannot be guessed from another one', async () => {
    const uri = await pushed(server)
    isGone(await bring(uri.replace(/.$/, last => (last === 'A' ? 'B' : 'A'))))
  })

  it('belong to their zone', async () => {
    const uri = await pushed(server)
    const host = 'z1.localhost:8080'
    const query = { client_id: 'bank', request_uri: uri }
    const elsewhere = await server.browser(host).send('/oauth/authorize', { query })
    assert.equal(elsewhere.status, 400)
    assert.match(elsewhere.text, /unknown, expired or already used/)
    assert.ok(codeOf(await bring(uri)))
  })

  it('may be signed, and the object counts alone', async () => {
    const request = await requestObject(server)
    const uri = await pushed(server, { request, state: 'outer', redirect_uri: 'https://evil.example' })
    assert.equal(responseOf(await bring(uri)).query['state'], 'signed-state')
  })

  it('take a signed request with a jti once, whether it was pushed or in a URL before', async () => {
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

  it('may be longer than a URL', async () => {
    const claims = { userinfo: { extra: 'x'.repeat(12_000) } }
    const uri = await pushed(server, { request: await requestObject(server, { claims: { claims } }) })
    assert.ok(codeOf(await bring(uri)))
  })

  it('must be signed by a client that must sign its requests', async () => {
    const plain = await push(server, { ...BANK_REQUEST, client_id: 'signs' }, ['signs', 'signs-secret'])
    assert.equal(plain.json()['error_description'], 'This client must sign its requests')
    const request = await requestObject(server, { claims: { iss: 'signs', client_id: 'signs' } })
    const uri = await pushed(server, { request }, ['signs', 'signs-secret'])
    assert.ok(codeOf(await bring(uri, browser, 'signs')))
  })

  it('are demanded of a client that must push its requests', async () => {
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

  it('are taken from a public client, with its challenge', async () => {
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
    { name: 'a reference', form: { request_uri: 'urn:x' }, want: '400 invalid_request' },
    { name: 'a broken object', form: { request: 'x.y.z' }, want: '400 invalid_request_object' },
    {
      name: 'an unregistered redirect URI',
      form: { redirect_uri: 'https://evil.example' },
      want: '400 invalid_request',
    },
    { name: 'no response type', form: { response_type: '' }, want: '400 invalid_request' },
    { name: 'an unknown response type', form: { response_type: 'x' }, want: '400 unsupported_response_type' },
    { name: 'a scope that the client lacks', form: { scope: 'cloud.write' }, want: '400 invalid_scope' },
    { name: 'an unknown prompt combination', form: { prompt: 'none login' }, want: '400 invalid_request' },
    { name: 'a hint that is no ID token of ours', form: { id_token_hint: 'x.y.z' }, want: '400 invalid_request' },
    { name: 'too much', form: { login_hint: 'x'.repeat(20_001) }, want: '413 invalid_request' },
    { name: 'an object that is too long', form: { request: 'x'.repeat(32_769) }, want: '413 invalid_request_object' },
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

  it('refuse a repeated parameter, parameters in the query, and other methods', async () => {
    const form = `${new URLSearchParams(BANK_REQUEST)}&state=2`
    const twice = await server.send('/oauth/par', { method: 'POST', form, basic: BANK })
    assert.equal(twice.json()['error'], 'invalid_request')
    const query = await server.send('/oauth/par?state=1', { method: 'POST', form: BANK_REQUEST, basic: BANK })
    assert.equal(query.status, 406)
    assert.equal((await server.send('/oauth/par')).status, 405)
  })

  it('are limited for clients without a credential', async () => {
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

describe('a client whose pushed requests are never used', () => {
  it('may leave 20,000 of them, and push again when they are gone', async () => {
    const server = await startServer({ config: { bootstrap } })
    try {
      const expiresAt = server.clock.now()
      const kept = { zoneId: 'svc', clientId: 'bank', parameters: '', isSigned: false, expiresAt, keptUntil: expiresAt }
      const insert = (index: number) => server.store.pushedRequests.insert('svc', { ...kept, idDigest: `r${index}` })
      // Fewer at once than writes may wait.
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

describe('a zone and pushed requests', () => {
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

  it('says that they are off where it does not speak them', async () => {
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

  it('can speak them in uaa', async () => {
    await inZone('uaa', { protocols: { pushedRequests: true } }, async server => {
      const uri = await pushed(server)
      const visitor = server.browser()
      await authorize(visitor, { client_id: 'bank', request_uri: uri })
      const back = (await visitor.signIn('marissa', 'koala')).location()
      assert.ok(responseOf(await visitor.send(back.pathname + back.search)).query['code'])
      assert.equal((await push(server, { ...BANK_REQUEST, scope: 'cloud.write' })).json()['error'], 'invalid_scope')
    })
  })

  it('can demand them of every client', async () => {
    await inZone('standard', { requirePushedRequests: true }, async server => {
      const { query } = responseOf(await authorize(await signedIn(server), BANK_REQUEST))
      assert.equal(query['error_description'], 'This client must push its requests')
      const metadata = (await server.send('/.well-known/openid-configuration')).json()
      assert.equal(metadata['require_pushed_authorization_requests'], true)
      assert.equal(metadata['pushed_authorization_request_endpoint'], `${ISSUER}/oauth/par`)
    })
  })
})
