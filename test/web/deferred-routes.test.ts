import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fastify from 'fastify'
import { deferredRoutes } from '../../src/web/deferred-routes.ts'
import type { DeferredRoute, On } from '../../src/web/deferred-routes.ts'

type Name = 'GET /a' | 'GET /b/:id'

const access: DeferredRoute['access'] = { by: 'anyone', because: 'this is a test' }
const ROUTES: Readonly<Record<Name, DeferredRoute>> = { 'GET /a': { access }, 'GET /b/:id': { access } }

const register = (on: On<Name>): void => {
  on('GET /a', (_, reply) => reply.send('a'))
  on<{ Params: { id: string } }>('GET /b/:id', async (request, reply) => reply.send(request.params.id))
}

describe('`deferredRoutes`', () => {
  it('loads the code once for concurrent requests', async () => {
    let loads = 0
    const app = fastify()
    deferredRoutes(app, ROUTES, {
      deps: undefined,
      load: () => {
        loads += 1
        return Promise.resolve([register])
      },
    })
    await app.ready()
    assert.equal(loads, 0)
    const answers = await Promise.all(['/a', '/b/1', '/b/2'].map(url => app.inject(url)))
    assert.deepEqual([answers.map(({ payload }) => payload), loads], [['a', '1', '2'], 1])
    assert.equal((await app.inject({ method: 'HEAD', url: '/a' })).statusCode, 200)
    assert.equal((await app.inject({ method: 'POST', url: '/a' })).statusCode, 404)
  })

  it('registers access and audience before loading', async () => {
    const app = fastify()
    const seen: unknown[] = []
    app.addHook('onRoute', ({ url, config, method }) => {
      seen.push([method, url, config?.audience])
    })
    deferredRoutes(
      app,
      { 'GET /a': { access, audience: 'page', exposeHeadRoute: false } },
      { deps: undefined, load: () => assert.fail('nothing is called') },
    )
    await app.ready()
    assert.deepEqual(seen, [['GET', '/a', 'page']])
  })

  it('retries after a failed load', async () => {
    let fails = true
    const app = fastify()
    deferredRoutes<Name, undefined>(app, ROUTES, {
      deps: undefined,
      load: () => (fails ? Promise.reject(new Error('no file')) : Promise.resolve([register])),
    })
    assert.equal((await app.inject('/a')).statusCode, 500)
    fails = false
    assert.equal((await app.inject('/a')).payload, 'a')
  })

  it('answers 500 if the code lacks a route', async () => {
    const app = fastify()
    deferredRoutes(app, ROUTES, { deps: undefined, load: () => Promise.resolve([]) })
    assert.equal((await app.inject('/a')).statusCode, 500)
  })

  it('passes errors to the error handler', async () => {
    const app = fastify()
    deferredRoutes<Name, undefined>(app, ROUTES, {
      errorHandler: thrown => {
        throw Object.assign(new Error('translated', { cause: thrown }), { statusCode: 418 })
      },
      deps: undefined,
      load: () => Promise.reject(new Error('no file')),
    })
    assert.equal((await app.inject('/a')).statusCode, 418)
  })
})
