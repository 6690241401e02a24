// docs/requests.md: its functions are taken from the page and run, against a listening server.
import assert from 'node:assert/strict'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import * as client from 'openid-client'
import { signedIn } from './support/authorize.ts'
import { temporaryFolder } from './support/config.ts'
import { freePort } from './support/free-port.ts'
import { CALLBACK, SIGNERS, withBanks } from './support/request-objects.ts'
import type { TestServer } from './support/server.ts'
import { startServer } from './support/server.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGE = readFileSync(join(ROOT, 'docs/requests.md'), 'utf8')
const SCRIPT = Array.from(PAGE.matchAll(/^```js\n([^]*?)^```$/gm))
  .map(match => match[1] ?? '')
  .join('\n')

interface Recipe {
  pushedUrl(config: client.Configuration, redirectUri: string, challenge: string): Promise<URL>
  signedUrl(config: client.Configuration, parameters: object, key: object): Promise<URL>
}

describe('docs/requests.md', () => {
  let server: TestServer
  let config: client.Configuration
  let recipe: Recipe
  before(async () => {
    const folder = temporaryFolder()
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'recipe.mjs'), SCRIPT)
    recipe = createRequire(join(folder, 'recipe.mjs'))(join(folder, 'recipe.mjs')) as Recipe
    const port = await freePort()
    const base = new URL(`http://localhost:${port}`)
    server = await startServer({ config: { base_url: base.href, bootstrap: withBanks() } })
    await server.app.http.listen({ host: '127.0.0.1', port })
    // The library tells the time by the machine's clock; the server's is brought there.
    server.clock.advance((Date.now() - server.clock.now().getTime()) / 1000)
    const auth = client.ClientSecretBasic('bank-secret')
    config = await client.discovery(base, 'bank', undefined, auth, { execute: [client.allowInsecureRequests] })
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  async function signIn(url: URL, verifier?: string): Promise<string> {
    const browser = await signedIn(server)
    const location = (await browser.send(url.pathname + url.search)).location()
    const checks = verifier === undefined ? {} : { pkceCodeVerifier: verifier }
    return (await client.authorizationCodeGrant(config, location, checks)).claims()?.sub ?? ''
  }

  it('pushes a request', async () => {
    const verifier = client.randomPKCECodeVerifier()
    const url = await recipe.pushedUrl(config, CALLBACK, await client.calculatePKCECodeChallenge(verifier))
    assert.deepEqual([...url.searchParams.keys()].toSorted(), ['client_id', 'request_uri'])
    assert.ok(await signIn(url, verifier))
  })

  it('signs a request, and has the answer signed', async () => {
    const parameters = { redirect_uri: CALLBACK, scope: 'openid' }
    const key = { key: SIGNERS.ec.key, kid: 'ec' }
    assert.ok(await signIn(await recipe.signedUrl(config, parameters, key)))
    client.useJwtResponseMode(config)
    assert.ok(await signIn(await recipe.signedUrl(config, parameters, key)))
  })
})
