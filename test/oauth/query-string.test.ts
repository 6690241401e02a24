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

  const taken: readonly { name: string; path?: string; request: TestRequest; scope?: string }[] = [
    // Covers POST /oauth/token: rule: GET (uaa)
    { name: 'GET with everything in the query', request: { query: GRANT, basic: SERVICE } },
    {
      name: 'GET with the secret in the query',
      request: { query: { ...GRANT, client_id: 'service', client_secret: 'service-secret' } },
    },
    { name: 'POST with everything in the query', request: { method: 'POST', query: GRANT, basic: SERVICE } },
    {
      name: 'POST with the query and the body as one',
      request: { query: { scope: 'jobs.run' }, form: GRANT, basic: SERVICE },
      scope: 'jobs.run',
    },
    {
      name: 'the value of the query before that of the body',
      request: { query: { scope: 'jobs.run' }, form: { ...GRANT, scope: 'jobs.read' }, basic: SERVICE },
      scope: 'jobs.run',
    },
    {
      name: 'POST with a question mark and nothing behind it',
      path: '/oauth/token?',
      request: { form: GRANT, basic: SERVICE },
    },
    // Covers GET /oauth/token/alias/{entity_id}: rule: parameters in the query by configuration (uaa)
    {
      name: 'GET at the path of an entity id',
      path: '/oauth/token/alias/latchkey',
      request: { query: GRANT, basic: SERVICE },
    },
    { name: 'a body alone, as ever', request: { form: GRANT, basic: SERVICE } },
  ]
  for (const { name, path = '/oauth/token', request, scope = 'jobs.run jobs.read' } of taken) {
    // Covers POST /oauth/token: jwt.token.queryString.enabled
    // Covers GET /oauth/token: rule: parameters in the query by configuration (uaa)
    it(`lets the token endpoint take ${name}`, async () => {
      const tokens = tokensOf(await server.send(path, request))
      assert.equal(tokens.scope, scope)
    })
  }

  it('takes the first of several values in the query', async () => {
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
    { name: 'no credentials', request: { query: GRANT }, want: '401 invalid_client' },
    { name: 'no grant', request: { basic: SERVICE }, want: '400 invalid_request', description: 'Missing grant type' },
    {
      name: 'a query that is not encoded',
      path: '/oauth/token?grant_type=client_credentials&x=%zz',
      request: { basic: SERVICE },
      want: '400 invalid_request',
    },
    {
      name: 'a NUL in the query',
      path: '/oauth/token?grant_type=client_credentials&scope=jobs.run%00',
      request: { basic: SERVICE },
      want: '400 invalid_request',
      description: 'NUL characters are not allowed in parameters',
    },
    {
      name: 'a user’s password that is wrong',
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
    it(`keeps the token endpoint from taking ${name}`, async () => {
      const answer = await refused(server, 'uaa', () => server.send(path, request), refusal)
      if (answer.status === 405) assert.equal(answer.headers['allow'], 'GET, POST')
    })
  }

  it('issues no token for HEAD', async () => {
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
      it(`lets ${method} name the token in the query and the wanted ${own}`, async () => {
        const answer = await check({ method, query: { token, [own]: 'openid, CLOUD.read ,' } })
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual(answer.json()['scope'], ['cloud.read', 'openid'])
      })

      // Covers GET /check_token: scope in the query
      it(`names what is missing to ${method}, and does not read ${other}`, async () => {
        await refused(server, 'uaa', () => check({ method, query: { token, [own]: 'openid, x, y' } }), {
          want: '400 invalid_scope',
          description: 'Some requested scopes are missing: x,y',
        })
        assert.equal((await check({ method, query: { token, [other]: 'x' } })).status, 200)
      })

      it(`requires the resource authority of ${method}`, async () => {
        const query = { token }
        assert.equal((await check({ method, query, basic: SERVICE })).status, 403)
        assert.equal((await check({ method, query, basic: ['resource', 'x'] })).status, 401)
        assert.equal((await server.send('/check_token', { method, query })).status, 401)
      })
    }

    it('lets a body come by any method that has one', async () => {
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

    it('does not answer HEAD', async () => {
      assert.equal((await check({ method: 'HEAD', query: { token } })).status, 405)
    })
  })

  describe('at endpoints for bearers', () => {
    // Covers every endpoint: `access_token` as parameter
    it('accepts the token in the query, with any method', async () => {
      const { access_token: token } = await passwordTokens(server)
      for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']) {
        const answer = await server.send('/userinfo', { method, query: { access_token: token } })
        assert.equal(answer.json()['user_name'], 'marissa', method)
        assert.equal(answer.headers['cache-control'], 'no-store')
      }
    })

    it('accepts it in one place only', async () => {
      const { access_token: token } = await passwordTokens(server)
      const query = { access_token: token }
      for (const request of [{ bearer: token }, { form: { access_token: token } }]) {
        await refused(server, 'uaa', () => server.send('/userinfo', { query, ...request }), {
          want: '400 invalid_request',
          description: 'The access token must be sent in one place only',
        })
      }
    })

    it('refuses one that is invalid, empty or not encoded', async () => {
      const send = (path: string) => () => server.send(path)
      await refused(server, 'uaa', send('/userinfo?access_token=x'), { want: '401 invalid_token' })
      await refused(server, 'uaa', send('/userinfo?access_token='), { want: '401 unauthorized' })
      await refused(server, 'uaa', send('/userinfo?access_token=%zz'), { want: '400 invalid_request' })
    })
  })
})

for (const mode of MODES) {
  describe(`parameters in the query where nothing allows them, ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode })))
    after(() => server.stop())

    it('are refused at the token endpoint and at /check_token, and by GET altogether', async () => {
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

    it('are no place for a bearer’s token', async () => {
      const { access_token: token } = await passwordTokens(server)
      const answer = await server.send('/userinfo', { query: { access_token: token } })
      assert.equal(answer.status, 401)
    })

    it('leave spaces and empty entries in the list of /check_token allowed', async () => {
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
