import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { APP, MODES, RESOURCE, SERVICE, passwordTokens, refused, tokensOf } from '../support/oauth.ts'
import type { Refusal } from '../support/oauth.ts'
import type { TestRequest, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const config = { jwt: { token: { queryString: { enabled: true } } } }
const GRANT = { grant_type: 'client_credentials' }

// Covers compatibility: token endpoint: C5 transport
describe('jwt.token.queryString.enabled', () => {
  let server: TestServer
  before(async () => (server = await startServer({ mode: 'uaa', config })))
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  const accepted: readonly { name: string; path?: string; request: TestRequest; scope?: string }[] = [
    // Covers POST /oauth/token: rule: GET (uaa)
    { name: 'GET with all parameters in the query', request: { query: GRANT, basic: SERVICE } },
    {
      name: 'GET with the client secret in the query',
      request: { query: { ...GRANT, client_id: 'service', client_secret: 'service-secret' } },
    },
    { name: 'POST with all parameters in the query', request: { method: 'POST', query: GRANT, basic: SERVICE } },
    {
      name: 'POST with parameters in query and body',
      request: { query: { scope: 'jobs.run' }, form: GRANT, basic: SERVICE },
      scope: 'jobs.run',
    },
    {
      name: 'a query parameter over the same one in the body',
      request: { query: { scope: 'jobs.run' }, form: { ...GRANT, scope: 'jobs.read' }, basic: SERVICE },
      scope: 'jobs.run',
    },
    {
      name: 'POST with an empty query',
      path: '/oauth/token?',
      request: { form: GRANT, basic: SERVICE },
    },
    // Covers GET /oauth/token/alias/{entity_id}: rule: parameters in the query by configuration (uaa)
    {
      name: 'GET at /oauth/token/alias/:entity_id',
      path: '/oauth/token/alias/latchkey',
      request: { query: GRANT, basic: SERVICE },
    },
    { name: 'POST with all parameters in the body', request: { form: GRANT, basic: SERVICE } },
  ]
  for (const { name, path = '/oauth/token', request, scope = 'jobs.run jobs.read' } of accepted) {
    // Covers POST /oauth/token: jwt.token.queryString.enabled
    // Covers GET /oauth/token: rule: parameters in the query by configuration (uaa)
    it(`makes the token endpoint accept ${name}`, async () => {
      const tokens = tokensOf(await server.send(path, request))
      assert.equal(tokens.scope, scope)
    })
  }

  it('uses the first of repeated parameters', async () => {
    const answer = await server.send('/oauth/token?grant_type=client_credentials&scope=jobs.run&scope=jobs.read', {
      basic: SERVICE,
    })
    assert.equal(tokensOf(answer).scope, 'jobs.run')
  })

  const bad: readonly (Refusal & { name: string; path?: string; request: TestRequest })[] = [
    {
      name: 'a wrong secret in the query',
      request: { query: { ...GRANT, client_id: 'service', client_secret: 'x' } },
      want: '401 invalid_client',
      description: 'Bad credentials',
    },
    { name: 'missing client credentials', request: { query: GRANT }, want: '401 invalid_client' },
    {
      name: 'a missing grant_type',
      request: { basic: SERVICE },
      want: '400 invalid_request',
      description: 'Missing grant type',
    },
    {
      name: 'bad percent-encoding in the query',
      path: '/oauth/token?grant_type=client_credentials&x=%zz',
      request: { basic: SERVICE },
      want: '400 invalid_request',
    },
    {
      name: 'a NUL character in the query',
      path: '/oauth/token?grant_type=client_credentials&scope=jobs.run%00',
      request: { basic: SERVICE },
      want: '400 invalid_request',
      description: 'NUL characters are not allowed in parameters',
    },
    {
      name: 'a wrong user password',
      request: { query: { grant_type: 'password', username: 'marissa', password: 'x' }, basic: APP },
      want: '401 invalid_client',
      description: 'Bad credentials',
    },
    ...['PUT', 'DELETE', 'PATCH'].map(method => ({
      name: method,
      request: { method, query: GRANT, basic: SERVICE },
      want: '405 method_not_allowed',
      description: `Request method '${method}' not supported`,
    })),
  ]
  for (const { name, path = '/oauth/token', request, ...refusal } of bad) {
    it(`does not make the token endpoint accept ${name}`, async () => {
      const answer = await refused(server, 'uaa', () => server.send(path, request), refusal)
      if (answer.status === 405) assert.equal(answer.headers['allow'], 'GET, POST')
    })
  }

  it('issues no token on HEAD', async () => {
    const events = server.events.length
    const answer = await server.send('/oauth/token', { method: 'HEAD', query: GRANT, basic: SERVICE })
    assert.equal(answer.status, 405)
    assert.equal(server.events.length, events)
  })

  describe('at /check_token', () => {
    let token: string
    before(async () => {
      token = (await passwordTokens(server, { scope: 'openid cloud.read' })).access_token
    })
    const check = (request: TestRequest) => server.send('/check_token', { basic: RESOURCE, ...request })

    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']) {
      const own = method === 'POST' ? 'scopes' : 'scope'
      const other = method === 'POST' ? 'scope' : 'scopes'

      // Covers GET /check_token: token in the query
      // Covers any /check_token: rule: any method and parameters in the query by configuration (uaa)
      it(`accepts token and ${own} in the query of ${method}`, async () => {
        const answer = await check({ method, query: { token, [own]: 'openid, CLOUD.read ,' } })
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual(answer.json()['scope'], ['cloud.read', 'openid'])
      })

      // Covers GET /check_token: scope in the query
      it(`lists missing scopes to ${method}, and ignores ${other}`, async () => {
        await refused(server, 'uaa', () => check({ method, query: { token, [own]: 'openid, x, y' } }), {
          want: '400 invalid_scope',
          description: 'Some requested scopes are missing: x,y',
        })
        assert.equal((await check({ method, query: { token, [other]: 'x' } })).status, 200)
      })

      it(`requires the authority svc.resource for ${method}`, async () => {
        const query = { token }
        assert.equal((await check({ method, query, basic: SERVICE })).status, 403)
        assert.equal((await check({ method, query, basic: ['resource', 'x'] })).status, 401)
        assert.equal((await server.send('/check_token', { method, query })).status, 401)
      })
    }

    it('accepts POST, PUT and PATCH with a body', async () => {
      for (const method of ['POST', 'PUT', 'PATCH']) {
        assert.equal((await check({ method, form: { token } })).status, 200, method)
      }
    })

    it('requires a token', async () => {
      await refused(server, 'uaa', () => check({}), {
        want: '400 invalid_token',
        description: 'Token parameter must be set',
      })
    })

    it('refuses HEAD', async () => {
      assert.equal((await check({ method: 'HEAD', query: { token } })).status, 405)
    })
  })

  describe('at endpoints with bearer tokens', () => {
    // Covers every endpoint: `access_token` as parameter
    it('accepts access_token in the query of any method', async () => {
      const { access_token: token } = await passwordTokens(server)
      for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']) {
        const answer = await server.send('/userinfo', { method, query: { access_token: token } })
        assert.equal(answer.json()['user_name'], 'marissa', method)
        assert.equal(answer.headers['cache-control'], 'no-store')
      }
    })

    it('refuses two access tokens', async () => {
      const { access_token: token } = await passwordTokens(server)
      const query = { access_token: token }
      for (const request of [{ bearer: token }, { form: { access_token: token } }]) {
        await refused(server, 'uaa', () => server.send('/userinfo', { query, ...request }), {
          want: '400 invalid_request',
          description: 'The access token must be sent in one place only',
        })
      }
    })

    it('refuses an invalid, empty or badly encoded token', async () => {
      const send = (path: string) => () => server.send(path)
      await refused(server, 'uaa', send('/userinfo?access_token=x'), { want: '401 invalid_token' })
      await refused(server, 'uaa', send('/userinfo?access_token='), { want: '401 unauthorized' })
      await refused(server, 'uaa', send('/userinfo?access_token=%zz'), { want: '400 invalid_request' })
    })
  })
})

for (const mode of MODES) {
  describe(`Parameters in the query by default in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode })))
    after(() => server.stop())

    it('are refused with POST at the token endpoint and /check_token, like other methods', async () => {
      for (const path of ['/oauth/token', '/check_token']) {
        const query = { ...GRANT, token: 'x' }
        const post = () => server.send(path, { method: 'POST', query, basic: RESOURCE })
        await refused(server, mode, post, {
          want: '406 query_string_not_allowed',
          description: 'Parameters must be passed in the body of the request',
        })
        for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
          const send = () => server.send(path, { method, query, basic: RESOURCE })
          await refused(server, mode, send, {
            want: '405 method_not_allowed',
            description: `Request method '${method}' not supported`,
          })
        }
      }
    })

    it('are ignored as access_token', async () => {
      const { access_token: token } = await passwordTokens(server)
      const answer = await server.send('/userinfo', { query: { access_token: token } })
      assert.equal(answer.status, 401)
    })

    it('do not affect spaces and empty items in scopes at /check_token', async () => {
      const { access_token: token } = await passwordTokens(server, { scope: 'openid cloud.read' })
      const form = { token, scopes: ' openid , cloud.read ,, ' }
      assert.equal((await server.send('/check_token', { form, basic: RESOURCE })).status, 200)
      const missing = () => server.send('/check_token', { form: { token, scopes: 'openid, x , y' }, basic: RESOURCE })
      await refused(server, mode, missing, {
        want: '400 invalid_scope',
        description: 'Some requested scopes are missing: x,y',
      })
    })
  })
}
