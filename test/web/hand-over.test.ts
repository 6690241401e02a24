import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { behaviourOf } from '../../src/model/compatibility.ts'
import { createUrls } from '../../src/model/urls.ts'
import { createHandOver } from '../../src/web/hand-over.ts'
import { createRouteSearch } from '../../src/web/no-route.ts'
import { MODES } from '../support/oauth.ts'
import { startServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const urls = createUrls('https://id.example', behaviourOf('standard'))

/** A server with one route, and a second router with another. */
function pair(router: (inner: FastifyInstance) => Promise<FastifyInstance>) {
  const inner = fastify()
  const hooks: string[] = []
  inner.addHook('onRequest', async request => void hooks.push(request.url))
  inner.post('/inner', async ({ body, originalUrl, url }) => ({ body, originalUrl, url }))
  const outer = fastify({ rewriteUrl: ({ url = '' }) => url.replace(/^\/prefix/, '') })
  outer.addHook('onRequest', createHandOver({ router: () => router(inner), urls }))
  outer.get('/outer', async () => 'outer')
  return { outer, hooks }
}

describe('`createHandOver`', () => {
  it('hands over a request without a route once, with its body and both URLs', async () => {
    const { outer, hooks } = pair(async inner => inner.ready().then(() => inner))
    const answer = await outer.inject({ method: 'POST', url: '/prefix/prefix/inner', payload: { a: 1 } })
    assert.equal(answer.statusCode, 404)
    const found = await outer.inject({ method: 'POST', url: '/prefix/inner', payload: { a: 1 } })
    assert.deepEqual(found.json(), { body: { a: 1 }, originalUrl: '/prefix/inner', url: '/inner' })
    assert.equal((await outer.inject('/outer')).body, 'outer')
    assert.deepEqual(hooks, ['/prefix/inner', '/inner'])
  })

  it('answers 500 with security headers while the second router fails to load', async () => {
    let fails = true
    const { outer } = pair(async inner => {
      if (fails) throw new Error('secret detail')
      await inner.ready()
      return inner
    })
    const refused = await outer.inject({ method: 'POST', url: '/inner', payload: {} })
    assert.equal(refused.statusCode, 500)
    assert.equal(refused.headers['x-content-type-options'], 'nosniff')
    assert.doesNotMatch(refused.body, /secret/)
    fails = false
    assert.equal((await outer.inject({ method: 'POST', url: '/inner', payload: {} })).statusCode, 200)
  })
})

for (const mode of MODES) {
  describe(`Routers in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    // Must be the first: these are the first requests.
    it('answer concurrent requests before the second one is loaded', async () => {
      const answers = await Promise.all([
        server.send('/login'),
        server.send('/Users'),
        server.send('/oauth/token', { method: 'PUT' }),
        server.send('/healthz', { method: 'DELETE' }),
        server.send('/Groups/x', { method: 'POST', headers: { authorization: 'Bearer x' } }),
        server.send('/login/%zz'),
        server.send('/healthz'),
      ])
      assert.deepEqual(
        answers.map(({ status, headers }) => [status, headers['allow']]),
        [
          [200, undefined],
          [401, undefined],
          [405, 'POST'],
          [405, 'GET, HEAD'],
          [405, 'GET, HEAD, PUT, PATCH, DELETE'],
          [400, undefined],
          [200, undefined],
        ],
      )
    })

    it('have no path in common', async () => {
      const routes = await server.app.routes()
      const { http } = server.app
      const isOuter = ({ method, url }: { method: string; url: string }): boolean => http.hasRoute({ method, url }) // of the table
      const [outer, inner] = [routes.filter(isOuter), routes.filter(route => !isOuter(route))]
      assert.ok(outer.some(({ url }) => url === '/oauth/token'))
      assert.ok(inner.some(({ url }) => url === '/login'))
      for (const [own, others] of [
        [outer, inner],
        [inner, outer],
      ] as const) {
        const search = createRouteSearch(others)
        for (const { url } of own) {
          const path = url.replaceAll(/:\w+/g, 'x').replace('*', 'x')
          assert.deepEqual(
            search(path).map(other => other.url),
            [],
            url,
          )
        }
      }
    })
  })
}

describe('Rate limits', () => {
  it('count requests to both routers', async () => {
    const ratelimit = {
      loggingOption: 'OnlyLimited',
      limiterMappings: [{ name: 'all', pathSelectors: ['all'], global: '3r/60s' }],
    }
    const server = await startServer({ config: { ratelimit } })
    try {
      const statuses: number[] = []
      for (const path of ['/login', '/healthz', '/login', '/healthz', '/login']) {
        statuses.push((await server.send(path)).status)
      }
      assert.deepEqual(statuses, [200, 200, 200, 429, 429])
    } finally {
      await server.stop()
    }
  })
})
