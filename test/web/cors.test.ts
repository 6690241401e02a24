import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { APP, MODES, SERVICE, issuedBy, passwordTokens } from '../support/oauth.ts'
import type { TestAnswer, TestRequest, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'

const ORIGIN = 'https://spa.example'
const FROM_SPA = { origin: ORIGIN }
const XHR = { 'x-requested-with': 'XMLHttpRequest' }
const REQUESTED = {
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type',
}
const VARY = 'Origin, X-Requested-With'

const corsHeaders = ({ headers }: TestAnswer): Record<string, unknown> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')))

const preflight = (
  server: TestServer,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  request: TestRequest = {},
): Promise<TestAnswer> =>
  server.send(path, { method: 'OPTIONS', ...request, headers: { ...FROM_SPA, ...REQUESTED, ...headers } })

for (const mode of MODES) {
  describe(`CORS by default in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode })))
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const readable: readonly { name: string; path: string; request: TestRequest; status?: number }[] = [
      { name: 'a document', path: '/.well-known/openid-configuration', request: {} },
      {
        name: 'a token',
        path: '/oauth/token',
        request: { form: { grant_type: 'client_credentials' }, basic: SERVICE },
        status: 200,
      },
      {
        name: 'a failed client authentication',
        path: '/oauth/token',
        request: { form: { grant_type: 'client_credentials' }, basic: ['service', 'wrong'] },
        status: 401,
      },
      { name: 'a bearer challenge', path: '/userinfo', request: {}, status: 401 },
      { name: 'an unsupported method', path: '/introspect', request: {}, status: 405 },
      { name: 'a body that is too large', path: '/oauth/token', request: { form: 'x'.repeat(70_000) }, status: 413 },
      { name: 'an invalid body', path: '/oauth/token', request: { form: 'a=%zz' }, status: 400 },
      { name: 'an unknown path', path: '/nowhere', request: {}, status: mode === 'uaa' ? 302 : 404 },
      { name: 'a malformed path', path: '/%zz', request: {}, status: 400 },
      { name: 'an unknown zone', path: '/info', request: { host: 'nozone.localhost:8080' }, status: 404 },
      { name: 'a health check', path: '/healthz', request: {} },
      { name: 'the origin null', path: '/info', request: { headers: { origin: 'null' } } },
    ]
    for (const { name, path, request, status = 200 } of readable) {
      // Covers CORS: default policy
      it(`allows any origin to read, without credentials: ${name}`, async () => {
        const answer = await server.send(path, { ...request, headers: { ...FROM_SPA, ...request.headers } })
        assert.equal(answer.status, status, answer.text)
        assert.deepEqual(corsHeaders(answer), {
          'access-control-allow-origin': '*',
          'access-control-expose-headers': 'WWW-Authenticate, Retry-After, ETag, DPoP-Nonce',
        })
        assert.equal(answer.headers['vary'], VARY)
        if (status === 401) assert.match(String(answer.headers['www-authenticate']), /realm="SVC\//)
      })
    }

    // Covers compatibility: metadata: M16 /oauth/authorize and other origins
    it(`${mode === 'uaa' ? 'allows' : 'does not allow'} cross-origin reads of the authorization endpoint (RFC 9700 §2.6)`, async () => {
      const isShared = mode === 'uaa'
      for (const path of ['/oauth/authorize', '/oauth/%61uthorize', '/z/default/oauth/authorize']) {
        const query = { client_id: 'app', response_type: 'code', prompt: 'none' }
        const answer = await server.send(path, { query, headers: FROM_SPA })
        assert.equal(answer.location().searchParams.get('error'), 'login_required')
        assert.equal('access-control-allow-origin' in answer.headers, isShared, path)
        assert.equal((await preflight(server, path)).status, isShared ? 200 : 403)
      }
      // A cross-site form, from a browser that sends only Origin.
      const form = { client_id: 'app', response_type: 'code', prompt: 'none' }
      const posted = await server.send('/oauth/authorize', { form, headers: FROM_SPA })
      assert.match(String(posted.headers['location']), /\/oauth\/authorize\?|error=login_required/)
    })

    it('adds no headers without an origin', async () => {
      for (const origin of [undefined, '']) {
        const answer = await server.token(
          { grant_type: 'client_credentials' },
          { basic: SERVICE, ...(origin !== undefined && { headers: { origin } }) },
        )
        assert.equal(answer.status, 200)
        assert.deepEqual(corsHeaders(answer), {})
        assert.equal(answer.headers['vary'], undefined)
      }
    })

    it('sends Vary on cacheable responses, with and without an origin', async () => {
      for (const path of ['/zone.css', '/info', '/healthz', '/.well-known/openid-configuration']) {
        assert.equal((await server.send(path)).headers['vary'], VARY, path)
      }
    })

    it('ignores navigation and same-origin requests', async () => {
      const requests: readonly Readonly<Record<string, string>>[] = [
        { ...FROM_SPA, 'sec-fetch-mode': 'navigate' },
        { origin: 'http://localhost:8080' },
        { origin: 'http://localhost:8080', ...XHR },
        { origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' },
      ]
      for (const headers of requests) {
        const answer = await server.send('/login.do', { form: {}, headers })
        assert.ok(answer.status !== 405 && answer.status < 500, JSON.stringify(headers))
        assert.deepEqual(corsHeaders(answer), {}, JSON.stringify(headers))
      }
    })

    it('answers a preflight for every path, before any gate or handler', async () => {
      const issued = issuedBy(server)
      const events = server.events.length
      const urls = new Set((await server.app.routes()).map(({ url }) => url.replaceAll(/:\w+/g, 'x').replace('*', 'x')))
      assert.ok(urls.size > 20)
      urls.delete('/oauth/authorize')
      for (const url of [...urls, '/nowhere', '/oauth/token?x=1', '/userinfo/']) {
        const answer = await preflight(server, url)
        assert.equal(answer.status, 200, url)
        assert.equal(answer.text, '', url)
        assert.deepEqual(
          corsHeaders(answer),
          {
            'access-control-allow-origin': '*',
            'access-control-allow-methods': 'GET, POST, PUT, OPTIONS, DELETE, PATCH',
            'access-control-allow-headers':
              'Accept, Authorization, Content-Type, Accept-Language, Content-Language, DPoP',
            'access-control-max-age': '1728000',
          },
          url,
        )
        assert.deepEqual(answer.cookies, {}, url)
        assert.equal(answer.headers['vary'], VARY, url)
        assert.equal(answer.headers['x-content-type-options'], 'nosniff', url)
      }
      assert.equal((await preflight(server, '/info', {}, { host: 'nozone.localhost:8080' })).status, 200)
      assert.equal(issuedBy(server), issued)
      assert.equal(server.events.length, events)
    })

    it('does not handle OPTIONS without an origin', async () => {
      const answer = await server.send('/oauth/token', { method: 'OPTIONS', headers: REQUESTED })
      assert.equal(answer.status, 405)
      assert.deepEqual(corsHeaders(answer), {})
    })

    const preflights: readonly {
      name: string
      headers: Readonly<Record<string, string>>
      want: string
      origin?: string | undefined
    }[] = [
      { name: 'GET', headers: { 'access-control-request-method': 'GET' }, want: '200' },
      { name: 'HEAD, as GET', headers: { 'access-control-request-method': 'HEAD' }, want: '200' },
      {
        name: 'headers in any case',
        headers: { 'access-control-request-headers': 'ACCEPT, Content-Type ' },
        want: '200',
      },
      // Covers CORS: preflight without its headers 400
      { name: 'no method', headers: { 'access-control-request-method': '' }, want: '400 invalid_request' },
      { name: 'no headers', headers: { 'access-control-request-headers': '' }, want: '400 invalid_request' },
      { name: 'TRACE', headers: { 'access-control-request-method': 'TRACE' }, want: '405 method_not_allowed' },
      {
        name: 'a method in lower case',
        headers: { 'access-control-request-method': 'post' },
        want: '405 method_not_allowed',
      },
      {
        name: 'a method with markup in it',
        headers: { 'access-control-request-method': '<b>"' },
        want: '405 method_not_allowed',
      },
      // Covers CORS: preflight method or header refused
      {
        name: 'a header that is not allowed',
        headers: { 'access-control-request-headers': 'authorization, x-evil' },
        want: '403 access_denied',
      },
      {
        name: 'a long list of headers',
        headers: { 'access-control-request-headers': 'a,'.repeat(4000) },
        want: '403 access_denied',
      },
      {
        name: 'a long origin',
        headers: { origin: `https://${'a'.repeat(600)}` },
        want: '403 access_denied',
        origin: undefined,
      },
    ]
    for (const { name, headers, want, ...rest } of preflights) {
      it(`answers ${want} to a preflight for ${name}`, async () => {
        const answer = await preflight(server, '/oauth/token', headers)
        const error = answer.text === '' ? '' : ` ${String(answer.json()['error'])}`
        assert.equal(`${answer.status}${error}`, want)
        const origin = 'origin' in rest ? rest.origin : '*'
        assert.equal(answer.headers['access-control-allow-origin'], origin)
        const names = want === '200' || name === 'no headers'
        assert.equal(answer.headers['access-control-allow-methods'] !== undefined, names)
        if (answer.status === 405) assert.equal(answer.headers['allow'], 'GET, POST, PUT, OPTIONS, DELETE, PATCH')
        assert.doesNotMatch(answer.text, /</)
      })
    }

    // Covers CORS: policy of XMLHttpRequest
    it('allows XMLHttpRequest only GET and HEAD, and returns its origin', async () => {
      const answer = await server.send('/info', { headers: { ...FROM_SPA, ...XHR } })
      assert.equal(answer.status, 200)
      assert.deepEqual(corsHeaders(answer), {
        'access-control-allow-origin': ORIGIN,
        'access-control-expose-headers': 'WWW-Authenticate, Retry-After, ETag, DPoP-Nonce',
      })
      assert.equal((await server.send('/info', { method: 'HEAD', headers: { ...FROM_SPA, ...XHR } })).status, 200)
      const issued = issuedBy(server)
      const form = { grant_type: 'client_credentials' }
      const refused = await server.token(form, { basic: SERVICE, headers: { ...FROM_SPA, ...XHR } })
      assert.equal(`${refused.status} ${String(refused.json()['error'])}`, '405 method_not_allowed')
      assert.equal(refused.json()['error_description'], "Request method 'POST' not supported")
      assert.equal(refused.headers['allow'], 'GET, OPTIONS')
      assert.equal(refused.headers['access-control-allow-origin'], ORIGIN)
      assert.equal(issuedBy(server), issued)
    })

    it('ignores X-Requested-With without an origin', async () => {
      const answer = await server.token({ grant_type: 'client_credentials' }, { basic: SERVICE, headers: XHR })
      assert.equal(answer.status, 200)
    })

    it('recognizes XMLHttpRequest in a preflight by the announced header', async () => {
      const announced = { 'access-control-request-headers': 'authorization, X-Requested-With' }
      const answer = await preflight(server, '/userinfo', { ...announced, 'access-control-request-method': 'GET' })
      assert.equal(answer.status, 200)
      assert.deepEqual(corsHeaders(answer), {
        'access-control-allow-origin': ORIGIN,
        'access-control-allow-methods': 'GET, OPTIONS',
        'access-control-allow-headers':
          'Accept, Authorization, Content-Type, Accept-Language, Content-Language, DPoP, X-Requested-With',
        'access-control-max-age': '1728000',
      })
      assert.equal((await preflight(server, '/userinfo', announced)).status, 405)
    })

    for (const origin of [
      'x',
      'https://',
      'https://a.example/path',
      'https://a.example, https://b.example',
      'https://a b',
      '<script>',
    ]) {
      it(`refuses XMLHttpRequest from a malformed origin: ${origin}`, async () => {
        const answer = await server.send('/info', { headers: { origin, ...XHR } })
        assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '403 access_denied')
        assert.deepEqual(corsHeaders(answer), {})
        assert.equal(answer.headers['vary'], VARY)
      })
    }
  })

  describe(`Configured CORS policy in ${mode}`, () => {
    let server: TestServer
    const cors = {
      default: {
        allowed: {
          uris: ['/oauth/token', '/userinfo', '^/login.*'],
          origins: ['https://(?:[a-z]+\\.)?spa\\.example'],
          headers: ['Authorization'],
          methods: ['GET', 'post'],
          credentials: true,
        },
        max_age: 60,
      },
    }
    before(async () => (server = await startServer({ mode, config: { cors } })))
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    // Covers configuration file: `cors.xhr`, `cors.default`: `allowed.headers`
    // Covers configuration file: `cors.xhr`, `cors.default`: `allowed.credentials`
    // Covers configuration file: `cors.xhr`, `cors.default`: `max_age`
    it('allows its origins, with credentials', async () => {
      for (const origin of [ORIGIN, 'https://www.spa.example']) {
        const { access_token: bearer } = await passwordTokens(server)
        const answer = await server.send('/userinfo', { bearer, headers: { origin } })
        assert.equal(answer.status, 200)
        assert.equal(answer.headers['access-control-allow-origin'], origin)
        assert.equal(answer.headers['access-control-allow-credentials'], 'true')
      }
      const asked = await preflight(server, '/userinfo', { 'access-control-request-headers': 'authorization' })
      assert.deepEqual(corsHeaders(asked), {
        'access-control-allow-origin': ORIGIN,
        'access-control-allow-credentials': 'true',
        'access-control-allow-methods': 'GET, POST',
        'access-control-allow-headers': 'Authorization',
        'access-control-max-age': '60',
      })
    })

    const foreign = [
      'https://evil.example',
      'https://spa.example.evil.example',
      'http://spa.example',
      'https://spa.example:444',
      'null',
    ]
    for (const origin of foreign) {
      // Covers configuration file: `cors.xhr`, `cors.default`: `allowed.origins`
      // Covers CORS: origin refused 403
      it(`answers 403 to ${origin}, without CORS headers`, async () => {
        const issued = issuedBy(server)
        const form = { grant_type: 'client_credentials' }
        for (const answer of [
          await server.token(form, { basic: SERVICE, headers: { origin } }),
          await preflight(server, '/oauth/token', { origin, 'access-control-request-headers': 'authorization' }),
        ]) {
          assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '403 access_denied')
          assert.deepEqual(corsHeaders(answer), {})
          assert.equal(answer.headers['vary'], VARY)
          assert.equal(answer.headers['cache-control'], 'no-store')
        }
        assert.equal(issuedBy(server), issued)
      })
    }

    // Covers configuration file: `cors.xhr`, `cors.default`: `allowed.uris`
    it('answers 403 for a path that is not allowed', async () => {
      for (const path of ['/info', '/oauth/token/x', '/x/userinfo', '/oauth/%74oken']) {
        assert.equal((await server.send(path, { headers: FROM_SPA })).status, 403, path)
        assert.equal((await preflight(server, path)).status, 403, path)
      }
      const answer = await server.send('/userinfo?x=1', { headers: FROM_SPA })
      assert.equal(answer.status, 401, 'the query is no part of the path')
    })

    // Covers configuration file: `cors.xhr`, `cors.default`: `allowed.methods`
    // Covers CORS: method refused 405
    it('answers 405 to a method that is not allowed, with Allow', async () => {
      for (const method of ['PUT', 'DELETE', 'PATCH']) {
        const answer = await server.send('/oauth/token', { method, headers: FROM_SPA })
        assert.equal(answer.status, 405)
        assert.equal(answer.headers['allow'], 'GET, POST')
        assert.equal(answer.headers['access-control-allow-origin'], ORIGIN)
      }
    })

    it('allows its own sign-in form with the origin null', async () => {
      const browser = server.browser()
      const page = await browser.send('/login')
      const [, name = '', value = ''] = /name="(X-[A-Za-z]+-Csrf)" value="([^"]+)"/.exec(page.text) ?? []
      const form = { username: 'marissa', password: 'koala', [name]: value }
      const answer = await browser.send('/login.do', { form, headers: { origin: 'null' } })
      assert.equal(answer.status, 302)
      assert.deepEqual(corsHeaders(answer), {})
      assert.equal((await browser.send('/home')).status, 200)
    })

    it('does not apply to XMLHttpRequest', async () => {
      const answer = await server.send('/info', { headers: { origin: 'https://evil.example', ...XHR } })
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['access-control-allow-credentials'], undefined)
    })
  })
}

describe('CORS policy of a zone', () => {
  const zone = (id: string, corsPolicy?: object) => ({
    id,
    subdomain: id,
    name: id,
    config: corsPolicy ? { corsPolicy } : {},
    bootstrap: { clients: defaultBootstrap.clients.filter(client => client.client_id === 'service') },
  })
  const identityZones = [
    zone('z1', { defaultConfiguration: { allowedOrigins: ['https://one\\.example'], maxAge: 5 } }),
    zone('z2', {
      defaultConfiguration: {
        allowedOriginPatterns: ['^https://two\\.example$'],
        allowedUriPatterns: ['/oauth/.*'],
        allowedMethods: ['GET', 'POST'],
        allowedHeaders: ['X-Two'],
        allowedCredentials: true,
      },
      xhrConfiguration: { allowedUris: ['/userinfo'] },
    }),
    zone('z3'),
  ]
  const bootstrap = { ...defaultBootstrap, identity_zones: identityZones }
  const host = (id: string): string => `${id}.localhost:8080`
  const token = (server: TestServer, id: string, origin: string): Promise<TestAnswer> =>
    server.token({ grant_type: 'client_credentials' }, { host: host(id), basic: SERVICE, headers: { origin } })

  describe('by default', () => {
    let server: TestServer
    before(async () => (server = await startServer({ config: { bootstrap } })))
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    // Covers CORS: policy per zone
    // Covers Zone config in effect: corsPolicy.defaultConfiguration.allowedOrigins
    // Covers Zone config in effect: corsPolicy.defaultConfiguration.allowedMethods
    // Covers Zone config in effect: corsPolicy.defaultConfiguration.maxAge
    it('replaces the policy of the server, and allows GET if it lists no methods', async () => {
      const answer = await server.send('/info', { host: host('z1'), headers: { origin: 'https://one.example' } })
      assert.equal(answer.headers['access-control-allow-origin'], '*')
      assert.equal((await token(server, 'z1', 'https://one.example')).status, 405)
      assert.equal((await token(server, 'z1', 'https://two.example')).status, 403)
      assert.equal((await token(server, 'z2', 'https://one.example')).status, 403)
      const asked = await preflight(
        server,
        '/info',
        { origin: 'https://one.example', 'access-control-request-method': 'GET' },
        { host: host('z1') },
      )
      assert.equal(asked.headers['access-control-allow-headers'], 'Accept, Authorization, Content-Type')
      assert.equal(asked.headers['access-control-max-age'], '5')
    })

    // Covers Zone config in effect: corsPolicy.defaultConfiguration.allowedOriginPatterns
    // Covers Zone config in effect: corsPolicy.defaultConfiguration.allowedUris
    // Covers Zone config in effect: corsPolicy.defaultConfiguration.allowedUriPatterns
    // Covers Zone config in effect: corsPolicy.defaultConfiguration.allowedHeaders
    // Covers Zone config in effect: corsPolicy.defaultConfiguration.allowedCredentials
    it('accepts patterns only', async () => {
      const answer = await token(server, 'z2', 'https://two.example')
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['access-control-allow-origin'], 'https://two.example')
      assert.equal(answer.headers['access-control-allow-credentials'], 'true')
      const elsewhere = await server.send('/info', { host: host('z2'), headers: { origin: 'https://two.example' } })
      assert.equal(elsewhere.status, 403)
      const headers = { origin: 'https://two.example', 'access-control-request-headers': 'x-two' }
      assert.equal((await preflight(server, '/oauth/token', headers, { host: host('z2') })).status, 200)
    })

    // Covers Zone config in effect: corsPolicy.xhrConfiguration.allowedOrigins
    // Covers Zone config in effect: corsPolicy.xhrConfiguration.allowedOriginPatterns
    // Covers Zone config in effect: corsPolicy.xhrConfiguration.allowedUris
    // Covers Zone config in effect: corsPolicy.xhrConfiguration.allowedUriPatterns
    // Covers Zone config in effect: corsPolicy.xhrConfiguration.allowedHeaders
    // Covers Zone config in effect: corsPolicy.xhrConfiguration.allowedMethods
    // Covers Zone config in effect: corsPolicy.xhrConfiguration.allowedCredentials; corsPolicy.xhrConfiguration.maxAge
    it('has a separate policy for XMLHttpRequest', async () => {
      const ask = (path: string) => server.send(path, { host: host('z2'), headers: { ...FROM_SPA, ...XHR } })
      assert.equal((await ask('/userinfo')).status, 401)
      assert.equal((await ask('/info')).status, 403)
    })

    it('falls back to the policy of the server', async () => {
      const answer = await token(server, 'z3', ORIGIN)
      assert.equal(`${answer.status} ${String(answer.headers['access-control-allow-origin'])}`, '200 *')
    })

    it('applies changes immediately', async () => {
      const before = await server.store.zones.findBySubdomain('z3')
      assert.ok(before)
      const corsPolicy = { defaultConfiguration: { allowedOrigins: ['https://three\\.example'] } }
      await server.store.zones.update({ ...before, config: { ...before.config, corsPolicy } })
      assert.equal((await token(server, 'z3', ORIGIN)).status, 403)
      // Invalid stored patterns allow nothing, and cause no fault.
      const broken = {
        defaultConfiguration: { allowedOrigins: ['(?=https)https://.*', '(('], allowedMethods: ['GE\nT', 'GET'] },
      }
      await server.store.zones.update({ ...before, config: { ...before.config, corsPolicy: broken } })
      assert.equal((await token(server, 'z3', 'https://three.example')).status, 403)
      await server.store.zones.update(before)
      assert.equal((await token(server, 'z3', ORIGIN)).status, 200)
    })
  })

  // Covers configuration file: cors.enforceSystemZonePolicyInAllZones
  // Covers CORS: enforced system policy
  it('is ignored with enforceSystemZonePolicyInAllZones', async () => {
    const cors = {
      enforceSystemZonePolicyInAllZones: true,
      default: { allowed: { origins: ['https://all\\.example'] } },
    }
    const server = await startServer({ config: { bootstrap, cors } })
    try {
      for (const id of ['z1', 'z2', 'z3']) {
        assert.equal((await token(server, id, 'https://all.example')).status, 200, id)
        assert.equal((await token(server, id, 'https://two.example')).status, 403, id)
      }
    } finally {
      await server.stop()
    }
  })

  it('matches paths including the path of the base URL', async () => {
    const cors = { default: { allowed: { uris: ['/uaa/info'] } } }
    const server = await startServer({ config: { base_url: 'http://localhost:8080/uaa', cors } })
    try {
      assert.equal((await server.send('/uaa/info', { headers: FROM_SPA })).status, 200)
      assert.equal((await server.send('/uaa/healthz', { headers: FROM_SPA })).status, 403)
      assert.equal((await preflight(server, '/elsewhere')).status, 403)
    } finally {
      await server.stop()
    }
  })
})

describe('Cross-origin request', () => {
  it('requires credentials like any other request', async () => {
    const server = await startServer()
    try {
      const answer = await server.token({ grant_type: 'client_credentials' }, { basic: APP, headers: FROM_SPA })
      assert.equal(answer.status, 400)
      const home = await server.send('/home', { headers: { ...FROM_SPA, accept: 'application/json' } })
      assert.equal(home.status, 403)
    } finally {
      await server.stop()
    }
  })
})
