// docs/agents.md: its API and its agent are taken from the page and run, with oauth4webapi, against a listening server.
import assert from 'node:assert/strict'
import type { Server } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import * as oauth from 'oauth4webapi'
import { authorizeBootstrap, signedIn } from './support/authorize.ts'
import { freePort } from './support/free-port.ts'
import type { DocumentServer } from './support/metadata-documents.ts'
import { LOOPBACK_CALLBACK, startDocumentServer } from './support/metadata-documents.ts'
import { loadRecipe, scriptsOf } from './support/recipes.ts'
import type { TestServer } from './support/server.ts'
import { startListening } from './support/server.ts'

const [API = '', AGENT = ''] = scriptsOf('docs/agents.md')

interface Pending {
  readonly server: oauth.AuthorizationServer
}
interface Recipe {
  createApi(options: object): Server
  begin(api: string, options: object): Promise<{ readonly redirectTo: URL; readonly pending: Pending }>
  finish(callback: URL, pending: Pending, options: object): Promise<oauth.TokenEndpointResponse>
}

describe('docs/agents.md', () => {
  let server: TestServer
  let documents: DocumentServer
  let recipe: Recipe
  let base: string
  let resource: string
  const apis: Server[] = []
  const options = { [oauth.allowInsecureRequests]: true }
  const scope = 'openid cloud.read'

  async function startApi(url: string, issuer: string): Promise<void> {
    const api = recipe.createApi({ resource: url, issuer, keysUrl: `${base}/token_keys`, scope: 'cloud.read' })
    await new Promise<void>(resolve => api.listen(Number(new URL(url).port), '127.0.0.1', resolve))
    apis.push(api)
  }

  before(async () => {
    recipe = { ...loadRecipe(API), ...loadRecipe(AGENT) } as Recipe
    resource = `http://127.0.0.1:${await freePort()}/mcp`
    const zone_config = {
      protocols: { clientMetadataDocuments: true },
      registration: { scopes: ['openid', 'cloud.read'], resources: [resource] },
    }
    ;({ server, base } = await startListening(() => ({ config: { bootstrap: authorizeBootstrap, zone_config } })))
    server.clock.advance((Date.now() - server.clock.now().getTime()) / 1000)
    documents = await startDocumentServer()
    const metadata = (await (await fetch(`${base}/.well-known/oauth-authorization-server`)).json()) as {
      issuer: string
    }
    await startApi(resource, metadata.issuer)
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    for (const api of apis) api.close()
    documents.stop()
    await server.stop()
  })

  /** The user signs in and allows what the agent asks for. */
  async function allow(redirectTo: URL, path: string): Promise<URL> {
    const browser = await signedIn(server)
    const page = await browser.send(redirectTo.pathname + redirectTo.search)
    assert.equal(page.status, 200, page.text)
    assert.ok(page.text.includes(new URL(documents.id(path)).host))
    const scopes = Object.fromEntries(
      [...page.text.matchAll(/name="(scope\.\d+)" value="([^"]+)"/g)].map(([, name = '', value = '']) => [name, value]),
    )
    const answer = await browser.send('/oauth/authorize', {
      form: { user_oauth_approval: 'true', ...scopes, 'X-Svc-Csrf': browser.csrf },
    })
    return answer.location()
  }

  it('takes an agent from the URL of an API to a response', async () => {
    const clientId = documents.publish('/agent.json')
    const agent = { clientId, redirectUri: LOOPBACK_CALLBACK, scope, options }
    const { redirectTo, pending } = await recipe.begin(resource, agent)
    const tokens = await recipe.finish(await allow(redirectTo, '/agent.json'), pending, agent)
    assert.deepEqual(decodeJwt(tokens.access_token).aud, [resource])
    const answer = await fetch(resource, { headers: { authorization: `Bearer ${tokens.access_token}` } })
    assert.equal(answer.status, 200)
    // RFC 8707 §2.2: the API that has the token cannot use it anywhere else.
    assert.equal((await server.send('/userinfo', { bearer: tokens.access_token })).status, 401)
  })

  it('rejects an API that the zone does not list', async () => {
    const clientId = documents.publish('/curious.json')
    const agent = { clientId, redirectUri: LOOPBACK_CALLBACK, scope, options }
    const { redirectTo } = await recipe.begin(resource, agent)
    redirectTo.searchParams.set('resource', 'https://other.example.org/mcp')
    const browser = await signedIn(server)
    const answer = await browser.send(redirectTo.pathname + redirectTo.search)
    assert.equal(answer.status, 302, answer.text)
    assert.match(answer.location().href, /error=invalid_target/)
  })

  it('has an API that rejects requests without a token or with one for another API', async () => {
    const reported = (await fetch(resource)).headers.get('www-authenticate') ?? ''
    const [, address = ''] = /resource_metadata="([^"]+)"/.exec(reported) ?? []
    const described = (await (await fetch(address)).json()) as { resource: string }
    assert.equal(described.resource, resource)
    const form = { grant_type: 'password', client_id: 'app', username: 'marissa', password: 'koala' }
    const other = (await server.send('/oauth/token', { form, basic: ['app', 'app-secret'] })).json()['access_token']
    const answer = await fetch(resource, { headers: { authorization: `Bearer ${String(other)}` } })
    assert.equal(answer.status, 401)
  })
})
