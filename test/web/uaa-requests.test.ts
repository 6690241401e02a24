// Request handling that clients of UAA rely on; rows M7 to M9 and C5 of docs/compatibility.md.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../support/oauth.ts'
import type { TestRequest, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'

const BOSS = ['boss', 'boss-secret'] as const
const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    {
      client_id: 'boss',
      client_secret: 'boss-secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['svc.admin', 'clients.write'],
    },
  ],
  identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'Zone one' }],
}
interface Info {
  readonly links: Readonly<Record<string, string>>
  readonly commit_id?: string
  readonly timestamp?: string
}

const JSON_TYPE = { 'content-type': 'application/json' }

for (const mode of MODES) {
  const isUaa = mode === 'uaa'
  for (const path of ['', '/base']) {
    describe(`Requests in ${mode} below "${path}"`, () => {
      let server: TestServer
      before(async () => {
        const config = { bootstrap, base_url: `http://localhost:8080${path}` }
        server = await startServer({ mode, config })
      })
      after(async () => {
        assert.deepEqual(server.faults, [])
        await server.stop()
      })
      it(isUaa ? 'ignore one trailing slash' : 'do not match paths with a trailing slash', async () => {
        const credentials: TestRequest = { form: { grant_type: 'client_credentials' }, basic: BOSS }
        const cases: readonly { url: string; request?: TestRequest; found?: number }[] = [
          { url: '/healthz/', found: 200 },
          { url: '/healthz/?x=/', found: 200 },
          { url: '/oauth/clients/meta/', found: 401 },
          { url: '/oauth/token/', request: credentials, found: 200 },
          { url: '/identity-providers/', request: { method: 'POST', body: '{}', headers: JSON_TYPE }, found: 401 },
          { url: '/z/z1/info/', found: 200 },
          { url: '/healthz//' },
          { url: '//healthz/' },
        ]
        for (const { url, request, found } of cases) {
          const answer = await server.send(path + url, { ...request, headers: { accept: '*/*', ...request?.headers } })
          // In `uaa` an unknown path redirects to the sign-in page.
          assert.equal(answer.status, isUaa ? (found ?? 302) : 404, url)
        }
      })

      it('keep the trailing slash of the base path and of a zone path', async () => {
        for (const url of ['/', '/z/z1/']) {
          const answer = await server.send(path + url, { headers: { accept: 'text/html' } })
          assert.equal(answer.status, 302)
          assert.match(String(answer.headers['location']), /\/login$/)
        }
      })
    })
  }

  describe(`Requests in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: { bootstrap } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })
    const bearer = async () =>
      String((await server.token({ grant_type: 'client_credentials' }, { basic: BOSS })).json()['access_token'])

    it(isUaa ? 'accept a bearer token without a space' : 'require a space before a bearer token', async () => {
      const send = async (authorization: string) =>
        (await server.send('/oauth/clients/meta', { headers: { authorization } })).status
      const token = await bearer()
      assert.equal(await send(`bearer ${token}`), 200)
      for (const scheme of ['Bearer', 'bearer']) assert.equal(await send(scheme + token), isUaa ? 200 : 401, scheme)
      assert.equal(await send('Bearer'), 401)
    })

    it('for an unknown path are redirected to sign-in in uaa, with an error by method', async () => {
      for (const [method, error] of [
        ['GET', null],
        ['HEAD', null],
        ['POST', 'invalid_login_request'],
        ['PATCH', 'invalid_login_request'],
      ] as const) {
        const answer = await server.send('/Group/x/members', { method, bearer: await bearer() })
        assert.equal(answer.status, isUaa ? 302 : 404, method)
        if (!isUaa) continue
        assert.equal(answer.location().pathname, '/login', method)
        assert.equal(answer.location().searchParams.get('error'), error, method)
      }
    })

    const bodies: readonly { name: string; request: TestRequest; status?: number }[] = [
      { name: 'JSON', request: { body: '{"name":"x"}', headers: JSON_TYPE } },
      { name: 'malformed JSON', request: { body: '{', headers: JSON_TYPE } },
      { name: 'a form', request: { form: 'a=%zz' } },
      { name: 'another type', request: { body: 'x', headers: { 'content-type': 'text/plain' } } },
      { name: 'no type', request: { body: 'x' } },
      {
        name: 'a body that is too large',
        request: { body: 'x'.repeat(64 * 1024 + 1), headers: JSON_TYPE },
        status: 413,
      },
      {
        name: 'a body of another type that is too large',
        request: { body: 'x'.repeat(64 * 1024 + 1), headers: { 'content-type': 'text/plain' } },
        status: 413,
      },
    ]
    for (const { name, request, status = 404 } of bodies) {
      it(`with DELETE ignore the body within the size limit: ${name}`, async () => {
        const answer = await server.send('/oauth/clients/none', {
          method: 'DELETE',
          bearer: await bearer(),
          ...request,
        })
        assert.equal(answer.status, status, answer.text)
      })
    }

    it('are refused with a form where JSON is required', async () => {
      const answer = await server.send('/oauth/clients', { bearer: await bearer(), form: { client_id: 'x' } })
      assert.equal(answer.status, 400)
    })

    it('for JSON without a session get 403 in standard and a redirect in uaa', async () => {
      for (const path of ['/', '/profile', '/passcode', ...(isUaa ? ['/nothing'] : [])]) {
        const answer = await server.send(path, { headers: { accept: 'application/json' } })
        assert.equal(answer.status, isUaa ? 302 : 403, path)
        if (isUaa) assert.equal(answer.headers['location'], 'http://localhost:8080/login')
      }
    })

    it('get JSON without a charset, except from some endpoints', async () => {
      const types: readonly [string, TestRequest, string][] = [
        ['/oauth/token', { form: { grant_type: 'x' }, basic: BOSS }, 'application/json'],
        ['/oauth/token', { form: { grant_type: 'client_credentials' }, basic: BOSS }, 'application/json;charset=UTF-8'],
        ['/info', {}, 'application/json;charset=UTF-8'],
        ['/oauth/clients', {}, 'application/json'],
        ['/oauth/clients', { bearer: await bearer() }, 'application/json'],
        ['/.well-known/openid-configuration', {}, 'application/json'],
      ]
      for (const [path, request, type] of types) {
        assert.equal((await server.send(path, request)).headers['content-type'], type, path)
      }
    })

    // Covers any /info: rule: any method (uaa)
    it('to /info may use other methods in uaa only', async () => {
      for (const method of ['POST', 'PUT', 'DELETE']) {
        assert.equal((await server.send('/info', { method })).status, isUaa ? 200 : 405)
      }
      const { links, commit_id, timestamp } = (await server.send('/info')).json<Info>()
      assert.deepEqual(
        { ...links, commit_id, timestamp },
        {
          login: 'http://localhost:8080',
          uaa: 'http://localhost:8080',
          passwd: '/forgot_password',
          register: '/create_account',
          commit_id: isUaa ? 'UNKNOWN' : undefined,
          timestamp: isUaa ? 'UNKNOWN' : undefined,
        },
      )
    })

    it('get Access-Control-Allow-Methods with a refused preflight', async () => {
      const headers = { origin: 'http://example.com', 'access-control-request-method': 'GET' }
      const answer = await server.send('/oauth/token', { method: 'OPTIONS', headers })
      assert.equal(answer.status, 400)
      assert.match(String(answer.headers['access-control-allow-methods']), /\bGET\b/)
    })

    it('get UAA’s stylesheet in every zone and in unknown ones', async () => {
      for (const host of ['localhost', 'z1.localhost', 'none.localhost']) {
        const answer = await server.send('/resources/oss/stylesheets/application.css', { host })
        assert.equal(answer.status, 200)
        assert.match(String(answer.headers['content-type']), /^text\/css/)
        assert.match(answer.text, /font-family/)
      }
    })
  })
}
