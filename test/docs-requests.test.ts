// docs/requests.md and docs/fapi.md: their functions are taken from the pages and run, against a listening server.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import * as client from 'openid-client'
import { signedIn } from './support/authorize.ts'
import { KEYS } from './support/keys.ts'
import { bankClient, CALLBACK, SIGNERS, withBanks } from './support/request-objects.ts'
import { loadRecipe, scriptsOf } from './support/recipes.ts'
import type { TestServer } from './support/server.ts'
import { startInRealTime } from './support/server.ts'

interface Recipe {
  pushedUrl(config: client.Configuration, redirectUri: string, challenge: string): Promise<URL>
  signedUrl(config: client.Configuration, parameters: object, key: object): Promise<URL>
}
interface StrictRecipe {
  discover(issuer: string, clientId: string, key: object, options: object): Promise<client.Configuration>
  begin(
    config: client.Configuration,
    redirectUri: string,
    scope: string,
  ): Promise<{ redirectTo: URL; pending: Pending }>
  finish(
    config: client.Configuration,
    callback: URL,
    pending: Pending,
  ): ReturnType<typeof client.authorizationCodeGrant>
}
interface Pending {
  readonly DPoP: client.DPoPHandle
}

describe('docs/requests.md and docs/fapi.md', () => {
  let server: TestServer
  let config: client.Configuration
  let recipe: Recipe
  let strict: StrictRecipe
  let base: URL
  const execute = [client.allowInsecureRequests]
  before(async () => {
    recipe = loadRecipe(scriptsOf('docs/requests.md').join('\n')) as Recipe
    strict = loadRecipe(scriptsOf('docs/fapi.md').join('\n')) as StrictRecipe
    const grants = { client_secret: undefined, authorized_grant_types: ['authorization_code', 'refresh_token'] }
    const bootstrap = withBanks(bankClient('strict', { ...grants, profile: 'fapi2-security' }))
    const signing_keys = { active: 'rsa', keys: { rsa: KEYS.RS256, ec: KEYS.ES256 } }
    ;({ server, base } = await startInRealTime(() => ({ config: { bootstrap, signing_keys } })))
    const auth = client.ClientSecretBasic('bank-secret')
    config = await client.discovery(base, 'bank', undefined, auth, { execute })
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

  it('signs a request, and receives a signed response', async () => {
    const parameters = { redirect_uri: CALLBACK, scope: 'openid' }
    const key = { key: SIGNERS.ec.key, kid: 'ec' }
    assert.ok(await signIn(await recipe.signedUrl(config, parameters, key)))
    client.useJwtResponseMode(config)
    assert.ok(await signIn(await recipe.signedUrl(config, parameters, key)))
  })

  it('signs a user in with a FAPI 2.0 client', async () => {
    const key = { key: SIGNERS.ec.key, kid: 'ec' }
    const strictConfig = await strict.discover(base.href, 'strict', key, { execute })
    const { redirectTo, pending } = await strict.begin(strictConfig, CALLBACK, 'openid')
    const browser = await signedIn(server)
    const callback = (await browser.send(redirectTo.pathname + redirectTo.search)).location()
    const tokens = await strict.finish(strictConfig, callback, pending)
    const { DPoP } = pending
    const user = await client.fetchUserInfo(strictConfig, tokens.access_token, tokens.claims()?.sub ?? '', { DPoP })
    assert.equal(user.sub, tokens.claims()?.sub)
  })
})
