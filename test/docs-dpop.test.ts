// docs/dpop.md: its client and its API are taken from the page and run, against a listening server.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { dpopKey, proof } from './support/dpop.ts'
import { tokensOf } from './support/oauth.ts'
import { loadRecipe, scriptsOf } from './support/recipes.ts'
import type { TestServer } from './support/server.ts'
import { defaultBootstrap, startInRealTime } from './support/server.ts'

const [CLIENT = '', API = ''] = scriptsOf('docs/dpop.md')

interface Recipe {
  callJobs(config: client.Configuration, api: string): Promise<Response>
  answer(issuer: oauth.AuthorizationServer, audience: string, request: Request, options: object): Promise<Response>
}

describe('docs/dpop.md', () => {
  let server: TestServer
  let base: URL
  let recipe: Recipe
  before(async () => {
    recipe = { ...loadRecipe(CLIENT), ...loadRecipe(API) } as Recipe
    const jobs = {
      client_id: 'jobs',
      client_secret: 'jobs-secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['jobs.run', 'clients.read'],
      accessTokenType: 'at+jwt',
    }
    const bootstrap = { ...defaultBootstrap, clients: [...defaultBootstrap.clients, jobs] }
    ;({ server, base } = await startInRealTime(() => ({ config: { bootstrap } })))
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  it('has a client that calls an API', async () => {
    const config = await client.discovery(base, 'jobs', undefined, client.ClientSecretBasic('jobs-secret'), {
      execute: [client.allowInsecureRequests],
    })
    const answer = await recipe.callJobs(config, new URL('/oauth/clients?count=1', base).href)
    assert.equal(answer.status, 200)
    await answer.body?.cancel()
  })

  it('has an API that accepts only bound tokens with a proof', async () => {
    const insecure = { [oauth.allowInsecureRequests]: true } as const
    const issuer = await oauth
      .discoveryRequest(base, insecure)
      .then(response => oauth.processDiscoveryResponse(base, response))
    const key = await dpopKey()
    const [url, at] = ['https://api.example/jobs', server.clock.now()]
    const form = { grant_type: 'client_credentials' }
    const learned = await server.send('/userinfo', { headers: { dpop: 'x' } })
    const nonce = String(learned.headers['dpop-nonce'])
    const dpop = await proof(key, { url: new URL('/oauth/token', base).href, at, nonce })
    const basic = ['jobs', 'jobs-secret'] as const
    const { access_token: token } = tokensOf(await server.token(form, { basic, headers: { dpop } }))
    const ask = async (headers: Readonly<Record<string, string>>): Promise<number> =>
      (await recipe.answer(issuer, 'jobs', new Request(url, { headers }), insecure)).status
    const bound = { authorization: `DPoP ${token}`, dpop: await proof(key, { method: 'GET', url, at, token }) }
    assert.equal(await ask(bound), 200)
    assert.equal(await ask({ authorization: `Bearer ${token}` }), 401)
    assert.equal(await ask({ ...bound, dpop: await proof(await dpopKey(), { method: 'GET', url, at, token }) }), 401)
  })
})
