import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const HTML = { accept: 'text/html' }
const JSON_ONLY = { accept: 'application/json' }
const MALICIOUS = 'The request was rejected because it contained a potentially malicious character.'

for (const mode of MODES) {
  describe(`Error pages in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const pages: readonly { path: string; about?: number; code: string; status?: number }[] = [
      // Covers error pages: /error
      { path: '/error', code: 'error' },
      // Covers error pages: /error404
      { path: '/error404', about: 404, code: 'not_found' },
      // Partly covers error pages: /error500
      { path: '/error500', about: 500, code: 'server_error' },
      // Covers error pages: /error*
      { path: '/errorAny', code: 'error' },
      { path: '/error/deep?a=1', code: 'error' },
      { path: '/saml_error', code: 'saml_error' },
      // Partly covers error pages: /oauth_error
      { path: '/oauth_error', code: 'oauth_error' },
      // Covers error pages: /invalid_request
      { path: '/invalid_request', about: 403, code: 'invalid_request' },
      // Covers error pages: /rejected
      { path: '/rejected', about: 400, code: 'invalid_request', status: mode === 'standard' ? 400 : 200 },
      // Covers error pages: /error429
      { path: '/error429', about: 429, code: 'too_many_requests' },
    ]
    for (const { path, about, code, status = 200 } of pages) {
      it(`serve ${path} as HTML for any Accept, without cookies`, async () => {
        for (const headers of [HTML, {}, { accept: '*/*' }]) {
          const answer = await server.send(path, { headers })
          assert.equal(answer.status, status)
          assert.match(String(answer.headers['content-type']), /^text\/html/)
          assert.equal(answer.headers['x-frame-options'], 'DENY')
          assert.equal(answer.text.includes('<h2>'), mode === 'uaa')
          assert.equal(answer.text.includes('class="technical"'), about !== undefined)
          if (about !== undefined)
            assert.match(answer.text, new RegExp(`Error ${about} · <code><bdi>${code}</bdi></code>`))
          assert.deepEqual(answer.cookies, {})
        }
      })

      it(`serve ${path} as JSON`, async () => {
        const answer = await server.send(path, { headers: JSON_ONLY })
        assert.equal(answer.status, status)
        assert.match(String(answer.headers['content-type']), /^application\/json/)
        const body = answer.json()
        const names = path === '/error429' ? ['error'] : ['error', 'error_description']
        assert.deepEqual(Object.keys(body), names)
        if (path === '/error429') assert.match(String(body['error']), /Too many attempts/)
        else assert.equal(body['error'], code)
      })
    }

    it('show the reason on /rejected', async () => {
      assert.ok((await server.send('/rejected', { headers: HTML })).text.includes(MALICIOUS))
    })

    it('show nothing from the query', async () => {
      for (const { path } of pages) {
        const [bare = ''] = path.split('?')
        const answer = await server.send(bare, { query: { error: 'planted', error_message: '<script>planted' } })
        assert.doesNotMatch(answer.text, /planted/, path)
      }
    })

    it('accept GET only', async () => {
      for (const { path } of pages) {
        const answer = await server.send(path, { form: { a: 'b' }, headers: HTML })
        assert.equal(answer.status, 405, path)
        assert.equal(answer.headers['allow'], 'GET, HEAD', path)
      }
    })

    it('have UAA’s heading on every other error in uaa (P4)', async () => {
      const answer = await server.send('/oauth/authorize', {
        query: { client_id: 'nobody', prompt: 'x' },
        headers: HTML,
      })
      const unknownZone =
        mode === 'uaa' ? await server.send('/login', { host: 'nowhere.localhost:8080', headers: HTML }) : answer
      assert.ok(unknownZone.status >= 400)
      assert.equal(unknownZone.text.includes('<h2>Uh oh. Something went amiss.</h2>'), mode === 'uaa')
    })
  })

  describe(`Checks before routing in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    for (const path of ['/', '/login', '/oauth/token', '/error', '/nowhere', '/login;x']) {
      // Covers every endpoint: rule: TRACE is refused
      it(`answer TRACE ${path} with 405, Allow and JSON`, async () => {
        const answer = await server.send(path, { method: 'TRACE', headers: { ...HTML, cookie: 'a=secret' } })
        assert.equal(answer.status, 405)
        assert.match(String(answer.headers['allow']), /^GET, HEAD, POST/)
        assert.match(String(answer.headers['content-type']), /^application\/json/)
        assert.equal(answer.json()['error'], 'method_not_allowed')
        assert.doesNotMatch(answer.text, /<|secret/)
        assert.equal(answer.headers['x-content-type-options'], 'nosniff')
      })
    }

    for (const path of ['/login;endpoint=x', '/login%3Bx', '/login%3bx', '/;', '/oauth/token;a=b', '/resources/;x']) {
      // Covers every endpoint: rule: semicolon in a path
      it(`answer 400 in uaa and 404 in standard to the semicolon in ${path}`, async () => {
        const page = await server.send(path, { headers: HTML })
        const program = await server.send(path, { headers: JSON_ONLY })
        if (mode === 'standard') {
          assert.equal(page.status, 404)
          assert.equal(program.status, 404)
          return
        }
        assert.equal(page.status, 400)
        assert.ok(page.text.includes(MALICIOUS))
        assert.ok(page.text.includes(`<h2>${MALICIOUS}</h2>`))
        assert.equal(page.headers['x-frame-options'], 'DENY')
        assert.equal(program.status, 400)
        assert.deepEqual(program.json(), { error: 'invalid_request', error_description: MALICIOUS })
      })
    }

    it('allow a semicolon in the query', async () => {
      assert.equal((await server.send('/login?a=b;c=d')).status, 200)
      assert.equal((await server.send('/healthz?;%3b')).status, 200)
    })
  })
}
