import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { AUTO_REQUEST, authorize, authorizeBootstrap, signedIn } from '../support/authorize.ts'
import { MODES } from '../support/oauth.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const SCRIPT = "script-src 'self'"
const SECOND = "frame-ancestors 'none'; base-uri 'none'; object-src 'none'"
const HTML = { accept: 'text/html' }

const firstPolicy = (answer: TestAnswer): string | undefined => {
  const policy = answer.headers['content-security-policy']
  return Array.isArray(policy) ? policy[0] : policy
}

/** Headers of every response. */
function assertOpen(answer: TestAnswer, label: string): void {
  assert.equal(answer.headers['x-content-type-options'], 'nosniff', label)
  assert.equal(firstPolicy(answer), SCRIPT, label)
}

/** Headers of responses that must be neither framed nor cached. */
function assertGuarded(answer: TestAnswer, label: string): void {
  assertOpen(answer, label)
  assert.equal(answer.headers['x-frame-options'], 'DENY', label)
  assert.equal(answer.headers['x-xss-protection'], '1; mode=block', label)
  assert.match(String(answer.headers['cache-control']), /\bno-store\b/, label)
}

/** Headers of pages, with more in `standard`. */
function assertPage(answer: TestAnswer, isStandard: boolean, label: string): void {
  assertGuarded(answer, label)
  assert.match(String(answer.headers['content-type']), /^text\/html; charset=utf-8$/, label)
  assert.equal(answer.headers['content-language'], 'en', label)
  assert.deepEqual(answer.headers['content-security-policy'], isStandard ? [SCRIPT, SECOND] : SCRIPT, label)
  assert.equal(answer.headers['referrer-policy'], isStandard ? 'no-referrer' : undefined, label)
}

for (const mode of MODES) {
  const isStandard = mode === 'standard'

  describe(`Security headers in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
    })
    after(() => server.stop())

    // Covers security headers: X-Content-Type-Options; X-XSS-Protection; X-Frame-Options
    // Partly covers security headers: Content-Security-Policy
    it('are on every response', async () => {
      for (const { method, url, audience } of await server.app.routes()) {
        for (const accept of ['text/html', 'application/json', '*/*']) {
          const answer = await server.send(url, { method, headers: { accept } })
          const label = `${method} ${url} for ${accept}: ${answer.status}`
          assert.ok(answer.status < 500, label)
          const isPage = String(answer.headers['content-type']).startsWith('text/html')
          const isFrame = answer.status === 200 && url === '/check_session' // embedded in pages of clients
          if (audience === 'open' && (!isPage || isFrame)) assertOpen(answer, label)
          else assertGuarded(answer, label)
          if (isPage && !isFrame && answer.text !== '') assertPage(answer, isStandard, label)
        }
      }
    })

    // Covers security headers: Cache-Control; Pragma; Expires
    it('forbid caching of pages', async () => {
      const browser = await signedIn(server)
      for (const path of ['/', '/home', '/logout.do']) {
        const answer = await browser.send(path)
        assert.equal(answer.headers['cache-control'], 'no-cache, no-store, max-age=0, must-revalidate', path)
        assert.equal(answer.headers['pragma'], 'no-cache', path)
        assert.equal(answer.headers['expires'], '0', path)
      }
      assert.equal(
        (await server.send('/login')).headers['cache-control'],
        'no-cache, no-store, max-age=0, must-revalidate',
      )
    })

    it('have no HSTS over http, except at the authorization endpoint in standard', async () => {
      for (const path of ['/login', '/home', '/info', '/healthz', '/token_keys', '/nowhere']) {
        assert.equal((await server.send(path)).headers['strict-transport-security'], undefined, path)
      }
      const authorization = await authorize(server.browser(), AUTO_REQUEST)
      assert.equal(authorization.headers['strict-transport-security'], isStandard ? 'max-age=31536000' : undefined)
    })

    const failures: readonly { name: string; status: number; send: () => Promise<TestAnswer>; json?: boolean }[] = [
      { name: 'a malformed query', status: 400, send: () => server.send('/login?a=%zz', { headers: HTML }) },
      {
        name: 'a malformed query of a protocol endpoint',
        status: 400,
        json: true,
        send: () => server.send('/oauth/token', { form: 'a=%zz' }),
      },
      { name: 'a malformed path', status: 400, send: () => server.send('/%zz', { headers: HTML }) },
      {
        name: 'a malformed path as JSON',
        status: 400,
        json: true,
        send: () => server.send('/%zz', { headers: { accept: 'application/json' } }),
      },
      {
        name: 'a body that is too large',
        status: 413,
        send: () => server.send('/login.do', { form: `a=${'x'.repeat(70_000)}`, headers: HTML }),
      },
      {
        name: 'a body that is too large at a protocol endpoint',
        status: 413,
        json: true,
        send: () => server.send('/oauth/token', { form: `a=${'x'.repeat(70_000)}` }),
      },
      {
        name: 'too many parameters',
        status: 400,
        send: () => server.send('/login.do', { form: 'a=&'.repeat(1001), headers: HTML }),
      },
      {
        name: 'an unknown zone',
        status: 404,
        send: () => server.send('/login', { host: 'z9.localhost', headers: HTML }),
      },
      {
        name: 'an unknown path of an unknown zone',
        status: 404,
        send: () => server.send('/nowhere', { host: 'z9.localhost', headers: HTML }),
      },
      {
        name: 'an unknown path of an unknown zone as JSON',
        status: 404,
        json: true,
        send: () => server.send('/nowhere', { host: 'z9.localhost', headers: { accept: 'application/json' } }),
      },
      ...(isStandard
        ? [
            { name: 'an unknown path', status: 404, send: () => server.send('/nowhere', { headers: HTML }) },
            { name: 'an unknown path as JSON', status: 404, json: true, send: () => server.send('/nowhere') },
            {
              name: 'an unknown path by POST',
              status: 404,
              send: () => server.send('/nowhere', { form: {}, headers: HTML }),
            },
            {
              name: 'a body of another type',
              status: 400,
              send: () =>
                server.send('/login.do', { body: '{}', headers: { ...HTML, 'content-type': 'application/json' } }),
            },
            { name: 'TRACE', status: 405, json: true, send: () => server.send('/login', { method: 'TRACE' }) },
            {
              name: 'an unknown method',
              status: 405,
              send: () => server.send('/home', { method: 'DELETE', headers: HTML }),
            },
          ]
        : []),
    ]
    for (const { name, status, send, json = false } of failures) {
      it(`are on the answer to ${name}`, async () => {
        const answer = await send()
        assert.equal(answer.status, status, answer.text)
        if (!json) return assertPage(answer, isStandard, name)
        assertGuarded(answer, name)
        assert.match(String(answer.headers['content-type']), /^application\/json\b/)
        assert.deepEqual(Object.keys(answer.json()), ['error', 'error_description'])
        assert.equal(answer.headers['pragma'], 'no-cache')
      })
    }

    // Partly covers unsafe behaviour: no stack traces and no echoed secrets
    it('are on the answer to a fault, without details of it', async () => {
      const own = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
      try {
        const browser = await signedIn(own)
        const zone = await own.store.zones.find('svc')
        assert.ok(zone)
        // An invalid record causes a fault.
        await own.store.zones.update({
          ...zone,
          config: { links: { homeRedirect: 42 as never }, userConfig: { defaultGroups: 5 as never } },
        })
        const page = await browser.send('/home', { headers: HTML })
        assert.equal(page.status, 500)
        assertPage(page, isStandard, 'page')
        assert.match(page.text, /Internal Server Error/)
        assert.doesNotMatch(page.text, /TypeError|replaceAll|\.ts\b/)
        const program = await browser.send('/home', { headers: { accept: 'application/json' } })
        assert.equal(program.status, 500)
        assertGuarded(program, 'program')
        assert.deepEqual(program.json(), { error: 'server_error', error_description: 'Internal Server Error' })
        const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
        const token = await own.token(form, { basic: ['app', 'app-secret'] })
        assert.equal(token.status, 500)
        assertGuarded(token, 'token')
        assert.equal(own.faults.length, 3, 'all are logged')
      } finally {
        await own.stop()
      }
    })

    // Covers every endpoint: rule: 503 while the database does not answer
    it('are on the answer while the database is unavailable', async () => {
      const own = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
      const browser = await signedIn(own)
      await own.store.close()
      try {
        const page = await browser.send('/home', { headers: HTML })
        assert.equal(page.status, 503)
        assert.equal(page.headers['retry-after'], '2')
        assertOpen(page, 'page')
        assert.match(page.text, /Database unavailable\. Retry later\./)
        assert.equal((await own.send('/healthz')).status, 503)
      } finally {
        await own.stop().catch(() => undefined) // the store is closed already
      }
    })
  })
}

describe('Security headers over https', () => {
  // Covers security headers: Strict-Transport-Security
  it('have HSTS except on open endpoints', async () => {
    const server = await startServer({ config: { base_url: 'https://id.example' } })
    try {
      for (const { method, url, audience } of await server.app.routes()) {
        const answer = await server.send(url, { method })
        const want = audience === 'open' ? undefined : 'max-age=31536000'
        assert.equal(answer.headers['strict-transport-security'], want, `${method} ${url}`)
      }
      assert.equal((await server.send('/nowhere')).headers['strict-transport-security'], 'max-age=31536000')
    } finally {
      await server.stop()
    }
  })
})

describe('Malformed HTTP', () => {
  it('is answered with 400 or 431, and closed', async () => {
    const server = await startServer()
    try {
      await server.app.http.listen({ host: '127.0.0.1', port: 0 })
      const address = server.app.http.server.address()
      assert.ok(typeof address === 'object' && address)
      const talk = (text: string): Promise<string> =>
        new Promise((resolve, reject) => {
          const socket = connect(address.port, '127.0.0.1', () => socket.write(text))
          let answer = ''
          socket.setEncoding('utf8').on('data', (part: string) => (answer += part))
          socket.on('end', () => resolve(answer)).on('error', reject)
        })
      const nonsense = await talk('nonsense\r\n\r\n')
      assert.match(nonsense, /^HTTP\/1\.1 400 Bad Request\r\n/)
      assert.match(nonsense, /X-Content-Type-Options: nosniff/)
      assert.match(nonsense, /"error":"invalid_request"/)
      const long = await talk(`GET /login HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)
      assert.match(long, /^HTTP\/1\.1 431 /)
    } finally {
      await server.stop()
    }
  })
})
