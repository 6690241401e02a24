// A zone by path as others use it: a client library that takes nothing but the issuer, and a real browser, which keeps and
// sends cookies of several zones on one host as it likes.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import * as client from 'openid-client'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { MODES } from '../support/oauth.ts'
import { freePort } from '../support/free-port.ts'
import { thinned } from '../support/thinning.ts'
import type { TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import type { Site } from '../support/site.ts'
import { startSite } from '../support/site.ts'

const zone = (id: string) => ({
  id,
  subdomain: id,
  name: `Zone ${id}`,
  config: { accountChooserEnabled: false },
  bootstrap: { ...defaultBootstrap, users: [{ ...defaultBootstrap.users[0], password: `koala-${id}` }] },
})

// The path of the base URL and the mode have nothing to do with each other: an ordinary run takes each of both once.
const combinations = thinned(
  MODES.flatMap(mode => ['', '/uaa'].map(path => ({ mode, path }))),
  3,
)
for (const { mode, path } of combinations) {
  describe(`A zone by path below "${path}/" in ${mode}`, () => {
    let server: TestServer
    let browser: Browser
    let application: Site
    let origin: string
    let base: string
    let callback: string

    before(async () => {
      const port = await freePort()
      origin = `http://localhost:${port}`
      base = origin + path
      application = await startSite()
      callback = `${application.url}/cb`
      const clients = defaultBootstrap.clients.map(each =>
        each.redirect_uri ? { ...each, redirect_uri: [callback] } : each,
      )
      const records = (id: string) => ({ ...zone(id), bootstrap: { ...zone(id).bootstrap, clients } })
      const bootstrap = { ...defaultBootstrap, clients, identity_zones: [records('x'), records('y')] }
      server = await startServer({ mode, config: { base_url: base, bootstrap } })
      await server.app.http.listen({ host: '127.0.0.1', port })
      // Library and browser tell the time by the machine's clock; the server's is brought there.
      server.clock.advance((Date.now() - server.clock.now().getTime()) / 1000)
      browser = await launchBrowser()
    })
    after(async () => {
      await browser.close()
      application.stop()
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    /** A page of a new browser. */
    const newPage = async (): Promise<Page> => (await browser.newContext()).newPage()

    async function signOut(page: Page): Promise<void> {
      if (mode !== 'uaa') return page.click('form.person button')
      await page.click('.dropdown-trigger')
      await page.getByRole('link', { name: 'Sign Out' }).click()
    }

    async function signIn(page: Page, password: string): Promise<void> {
      await page.fill('#username', 'marissa')
      await page.fill('#password', password)
      await page.click('input[type=submit]')
    }

    it('signs a user in by code, asks for approval, and issues tokens that a library accepts', async () => {
      // The library asks `{issuer}/.well-known/openid-configuration` and compares the issuer to the letter.
      const issuer = new URL(`${base}/z/x${mode === 'uaa' ? '/oauth/token' : ''}`)
      const config = await client.discovery(issuer, 'app', undefined, client.ClientSecretBasic('app-secret'), {
        execute: [client.allowInsecureRequests],
      })
      assert.equal(config.serverMetadata().issuer, issuer.href)
      const verifier = client.randomPKCECodeVerifier()
      const [state, nonce] = [client.randomState(), client.randomNonce()]
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: callback,
        scope: 'openid profile cloud.read',
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
      })
      const page = await newPage()
      await page.goto(url.href)
      assert.equal(page.url(), `${base}/z/x/login`)
      await signIn(page, 'koala')
      assert.match(
        await page.innerText('.alert-error'),
        mode === 'uaa' ? /credentials are invalid/ : /Incorrect user name or password/,
        'the password of the default zone',
      )
      assert.equal(page.url(), `${base}/z/x/login?error=login_failure`)
      await signIn(page, 'koala-x')
      assert.equal(
        await page.innerText('h1'),
        mode === 'uaa' ? 'Application Authorization' : 'The application asks for access',
      )
      await page.click('#authorize')
      await page.waitForURL(url => url.href.startsWith(callback))
      const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true }
      const tokens = await client.authorizationCodeGrant(config, new URL(page.url()), checks)
      assert.equal(tokens.claims()?.iss, issuer.href)
      const subject = tokens.claims()?.sub ?? ''
      assert.equal((await client.fetchUserInfo(config, tokens.access_token, subject))['user_name'], 'marissa')
      const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '')
      assert.equal(refreshed.claims()?.iss, issuer.href)

      await page.goto(`${base}/z/x`)
      assert.equal(page.url(), `${base}/z/x/`, 'still signed in')
      await signOut(page)
      assert.equal(page.url(), `${base}/z/x/login`)
      await page.goto(`${base}/z/x/home`)
      assert.equal(page.url(), `${base}/z/x/login`, 'signed out')
    })

    it('serves its metadata at the path of RFC 8414 §3.1', async () => {
      const issuer = new URL(`${base}/z/x${mode === 'uaa' ? '/oauth/token' : ''}`)
      const config = await client.discovery(issuer, 'app', undefined, client.ClientSecretBasic('app-secret'), {
        execute: [client.allowInsecureRequests],
        algorithm: 'oauth2',
      })
      assert.equal(config.serverMetadata().token_endpoint, `${base}/z/x/oauth/token`)
    })

    it('has sessions of its own in a browser', async () => {
      const page = await newPage()
      const zones = [
        { at: '', password: 'koala' },
        { at: '/z/x', password: 'koala-x' },
        { at: '/z/y', password: 'koala-y' },
      ] as const
      const isSignedIn = async (at: string): Promise<boolean> => {
        await page.goto(`${base}${at}/home`)
        return page.url() === `${base}${at}/home`
      }
      for (const { at, password } of zones) {
        assert.equal(await isSignedIn(at), false, 'sessions of other zones do not count')
        await signIn(page, password)
        assert.equal(page.url(), `${base}${at}/home`)
      }
      for (const { at } of zones) assert.ok(await isSignedIn(at), at)
      for (const [index, { at }] of zones.entries()) {
        await page.goto(`${base}${at}/`)
        await signOut(page)
        for (const [other, each] of zones.entries()) assert.equal(await isSignedIn(each.at), other > index, each.at)
      }
    })
  })
}
