import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../support/oauth.ts'
import type { TestRequest, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const JSON_BODY = { body: '{"a":1}', headers: { 'content-type': 'application/json' } }

for (const mode of MODES) {
  describe(`a method that a path does not have, in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode })
    })
    after(() => server.stop())

    const cases: readonly { name: string; path: string; request: TestRequest; allow: string }[] = [
      { name: 'QUERY of an API', path: '/oauth/clients', request: { method: 'QUERY' }, allow: 'GET, HEAD, POST' },
      {
        name: 'QUERY with a body',
        path: '/oauth/clients/app',
        request: { method: 'QUERY', ...JSON_BODY },
        allow: 'GET, HEAD, PUT, DELETE',
      },
      { name: 'QUERY of a page', path: '/profile', request: { method: 'QUERY' }, allow: 'GET, HEAD, POST' },
      { name: 'PROPFIND', path: '/token_keys', request: { method: 'PROPFIND' }, allow: 'GET, HEAD' },
      { name: 'GET where only POST is', path: '/oauth/token', request: {}, allow: 'POST' },
      { name: 'HEAD where only POST is', path: '/oauth/token', request: { method: 'HEAD' }, allow: 'POST' },
      {
        name: 'a body that would be refused',
        path: '/oauth/token',
        request: { method: 'PUT', ...JSON_BODY },
        allow: 'POST',
      },
      { name: 'DELETE of a page', path: '/login', request: { method: 'DELETE' }, allow: 'GET, HEAD' },
      { name: 'an encoded path', path: '/%6cogin', request: { method: 'DELETE' }, allow: 'GET, HEAD' },
      { name: 'OPTIONS without an origin', path: '/oauth/token', request: { method: 'OPTIONS' }, allow: 'POST' },
      { name: 'a path with a name in it', path: '/login/callback/x', request: { method: 'PUT' }, allow: 'GET, POST' },
      {
        name: 'TRACE',
        path: '/login',
        request: { method: 'TRACE' },
        allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
      },
    ]
    for (const { name, path, request, allow } of cases) {
      it(`is 405 with the methods that there are: ${name}`, async () => {
        const answer = await server.send(path, request)
        assert.equal(answer.status, 405, answer.text)
        assert.equal(answer.headers['allow'], allow)
        assert.equal(answer.headers['x-content-type-options'], 'nosniff')
        if (request.method !== 'HEAD') assert.equal(answer.json()['error'], 'method_not_allowed')
      })
    }

    it('is a page for who reads one, but on endpoints for programs', async () => {
      const headers = { accept: 'text/html' }
      const page = await server.send('/login', { method: 'QUERY', headers })
      assert.equal(page.status, 405)
      assert.match(String(page.headers['content-type']), /^text\/html/)
      const api = await server.send('/oauth/token', { method: 'QUERY', headers })
      assert.equal(api.json()['error'], 'method_not_allowed')
    })

    it('is no fault, regardless of the method and the path', async () => {
      for (const method of METHODS.filter(each => each !== 'CONNECT')) {
        for (const path of ['/', '/oauth/token', '/login', '/nothing', '/healthz', '/Users']) {
          assert.ok((await server.send(path, { method })).status < 500, `${method} ${path}`)
        }
      }
      assert.deepEqual(server.faults, [])
    })

    it('leaves an unknown path unknown', async () => {
      for (const method of ['QUERY', 'GET', 'PUT']) {
        const answer = await server.send('/nothing', { method, headers: { accept: 'text/html' } })
        assert.equal(answer.status, mode === 'standard' ? 404 : 302, method)
        assert.equal(answer.headers['allow'], undefined)
      }
      // A file is no page: it needs no sign-in.
      const file = await server.send('/resources/none.css', { headers: { accept: 'text/css,*/*' } })
      assert.deepEqual([file.status, file.headers['set-cookie'] ?? ''], [404, ''])
      const unknownZone = await server.send('/oauth/token', { method: 'PUT', host: 'none.localhost' })
      assert.equal(unknownZone.status, 404)
    })
  })
}
