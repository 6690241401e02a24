// docs/step-up.md: its API and its application are taken from the page and run, with openid-client, against a listening server.
import assert from 'node:assert/strict'
import type { Server } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import * as client from 'openid-client'
import { authorizeBootstrap } from './support/authorize.ts'
import { freePort } from './support/free-port.ts'
import { loadRecipe, scriptsOf } from './support/recipes.ts'
import { enrolApp, prove } from './support/second-factor.ts'
import type { AuthenticatorApp } from './support/second-factor.ts'
import type { Browser, TestServer } from './support/server.ts'
import { startInRealTime } from './support/server.ts'

const CALLBACK = 'https://bank.example/cb'
const [API = '', APPLICATION = ''] = scriptsOf('docs/step-up.md')

/** The state that the page stores during the redirect. */
interface Pending {
  readonly acrValues?: string
  readonly maxAge?: string
  readonly verifier: string
  readonly state: string
}
interface Call {
  readonly url: string
  readonly accessToken: string
  readonly redirectUri: string
  readonly scope: string
}
type Called =
  | { readonly response: Response }
  | { readonly redirectTo: URL; readonly pending: Pending; readonly response?: never }
interface Recipe {
  createApi(options: object): Server
  callApi(config: client.Configuration, call: Call): Promise<Called>
  finishStepUp(
    config: client.Configuration,
    callback: URL,
    pending: Pending,
  ): ReturnType<typeof client.authorizationCodeGrant>
}

describe('docs/step-up.md', () => {
  let server: TestServer
  let api: Server
  let apiUrl: string
  let recipe: Recipe
  let config: client.Configuration
  let base: URL
  before(async () => {
    recipe = { ...loadRecipe(API), ...loadRecipe(APPLICATION) } as Recipe
    const bank = {
      client_id: 'bank',
      client_secret: 'bank-secret',
      authorized_grant_types: ['authorization_code', 'refresh_token'],
      scope: ['openid', 'cloud.read', 'cloud.write'],
      redirect_uri: [CALLBACK],
      autoapprove: true,
    }
    const bootstrap = { ...authorizeBootstrap, clients: [...authorizeBootstrap.clients, bank] }
    ;({ server, base } = await startInRealTime(() => ({ config: { bootstrap } })))
    config = await client.discovery(base, 'bank', undefined, client.ClientSecretBasic('bank-secret'), {
      execute: [client.allowInsecureRequests],
    })
    const issuer = config.serverMetadata().issuer
    const needs = {
      '/read': {},
      '/pay': { level: '2' },
      '/vault': { level: 'phr' },
      '/fresh': { level: '2', maxAge: 60 },
    }
    api = recipe.createApi({ issuer, audience: 'cloud', needs })
    const apiPort = await freePort()
    await new Promise<void>(resolve => api.listen(apiPort, '127.0.0.1', resolve))
    apiUrl = `http://127.0.0.1:${apiPort}`
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    api.close()
    await server.stop()
  })

  const scope = 'openid cloud.read'
  const call = (path: string, accessToken: string): Promise<Called> =>
    recipe.callApi(config, { url: apiUrl + path, accessToken, redirectUri: CALLBACK, scope })

  /** Opens the URL in a signed-in browser, and returns where it ended. */
  async function visit(browser: Browser, url: URL): Promise<URL> {
    const answer = await browser.send(url.pathname + url.search)
    assert.equal(answer.status, 302, answer.text)
    return answer.location()
  }

  async function signIn(browser: Browser, parameters: Readonly<Record<string, string>> = {}): Promise<string> {
    const verifier = client.randomPKCECodeVerifier()
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: CALLBACK,
      scope,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...parameters,
    })
    const checks = { pkceCodeVerifier: verifier }
    return (await client.authorizationCodeGrant(config, await visit(browser, url), checks)).access_token
  }

  async function stepUp(called: Called): Promise<{ readonly redirectTo: URL; readonly pending: Pending }> {
    if (called.response) assert.fail(`it was answered: ${called.response.status}`)
    return Promise.resolve(called)
  }

  it('relies on the levels in discovery', () => {
    assert.deepEqual(config.serverMetadata().acr_values_supported, ['1', '2', 'phr'])
  })

  it('has an API that rejects requests without a valid token', async () => {
    const challenge = async (headers: Readonly<Record<string, string>>) =>
      (await fetch(`${apiUrl}/pay`, { headers })).headers.get('www-authenticate')
    assert.equal(await challenge({}), 'Bearer')
    assert.equal(await challenge({ authorization: 'Bearer x' }), 'Bearer error="invalid_token"')
    assert.equal((await fetch(`${apiUrl}/constructor`)).status, 404)
  })

  describe('steps up through a second factor', () => {
    let browser: Browser
    let app: AuthenticatorApp
    let weak: string
    let strong: string

    it('from a token sufficient only for reading', async () => {
      browser = server.browser(base.host)
      await browser.signIn('marissa', 'koala')
      weak = await signIn(browser)
      assert.equal((await call('/read', weak)).response?.status, 200)
      const { redirectTo, pending } = await stepUp(await call('/pay', weak))
      assert.deepEqual(
        [redirectTo.searchParams.get('acr_values'), pending.acrValues, pending.maxAge],
        ['2', '2', undefined],
      )

      assert.equal((await visit(browser, redirectTo)).pathname, '/second_factor')
      const enrolled = await enrolApp(server, browser)
      ;({ app } = enrolled)
      const tokens = await recipe.finishStepUp(config, await visit(browser, redirectTo), pending)
      strong = tokens.access_token
      assert.deepEqual([tokens.claims()?.['acr'], tokens.claims()?.['amr']], ['2', ['pwd', 'otp', 'mfa']])
      assert.equal((await call('/pay', strong)).response?.status, 200)
    })

    it('to the next level, unless the user removes it from the request', async () => {
      const { redirectTo, pending } = await stepUp(await call('/vault', strong))
      assert.equal(pending.acrValues, 'phr')
      assert.equal((await visit(browser, redirectTo)).pathname, '/second_factor')
      // The user removes it from the address.
      redirectTo.searchParams.delete('acr_values')
      await assert.rejects(recipe.finishStepUp(config, await visit(browser, redirectTo), pending), /too weak/)
      assert.ok((await stepUp(await call('/vault', strong))).redirectTo)
    })

    it('and keeps the level in a refresh', async () => {
      const { redirectTo, pending } = await stepUp(await call('/pay', weak))
      const tokens = await recipe.finishStepUp(config, await visit(browser, redirectTo), pending)
      const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '')
      assert.equal((await call('/pay', refreshed.access_token)).response?.status, 200)
      assert.equal(decodeJwt(refreshed.access_token)['auth_time'], tokens.claims()?.auth_time)
    })

    it('after a sign-in that is too old, with a new one and the factor', async () => {
      server.clock.advance(90)
      const old = await signIn(browser)
      const shift = Date.now
      Date.now = () => server.clock.now().getTime() // the API and the library tell the time by it
      try {
        const { redirectTo, pending } = await stepUp(await call('/fresh', old))
        assert.deepEqual([pending.acrValues, pending.maxAge], ['2', '60'])
        assert.equal((await visit(browser, redirectTo)).pathname, '/login')
        const next = (await browser.signIn('marissa', 'koala')).location()
        assert.equal(next.pathname, '/second_factor')
        const proven = await prove(browser, { code: app.code(server) })
        const tokens = await recipe.finishStepUp(config, await visit(browser, proven.location()), pending)
        assert.equal((await call('/fresh', tokens.access_token)).response?.status, 200)
      } finally {
        Date.now = shift
      }
    })
  })

  it('receives an error at once for an unreachable level', async () => {
    const zone = (await server.store.zones.find('svc')) ?? assert.fail()
    await server.store.zones.update({ ...zone, config: { ...zone.config, secondFactor: { methods: ['totp'] } } })
    const browser = server.browser(base.host)
    await browser.signIn('sam', 'dingo')
    const { redirectTo, pending } = await stepUp(await call('/vault', await signIn(browser)))
    await assert.rejects(recipe.finishStepUp(config, await visit(browser, redirectTo), pending), (error: unknown) => {
      assert.ok(error instanceof client.AuthorizationResponseError)
      assert.equal(error.error, 'unmet_authentication_requirements')
      return true
    })
    await server.store.zones.update(zone)
  })
})
