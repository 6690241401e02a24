// A zone with second factors off behaves as if the feature did not exist, also for users with enrolled factors.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { AUTO_REQUEST, authorize, authorizeBootstrap, signedIn } from '../../support/authorize.ts'
import { APP, exchange, MODES, tokensOf, userNamed } from '../../support/oauth.ts'
import { giveFactor } from '../../support/second-factor.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'
import { caller, tokenOf } from '../../support/zones.ts'

const TRACE = /passkey|second.?factor|authenticator|webauthn|recovery code|\bmfa\b|two.step/i

for (const mode of MODES) {
  describe(`Zone with second factors off in ${mode}`, () => {
    let server: TestServer
    let id: string
    /** The reads and writes of factors. */
    const calls: string[] = []
    before(async () => {
      const clients = [...authorizeBootstrap.clients, caller('root', 'svc.admin', 'scim.read')]
      const bootstrap = { ...authorizeBootstrap, clients, identity_zones: [{ id: 'z1', subdomain: 'one', name: 'Z' }] }
      const zone_config = mode === 'uaa' ? {} : { secondFactor: { requirement: 'off' } }
      server = await startServer({ mode, config: { bootstrap, zone_config } })
      id = (await userNamed(server, 'marissa')).id
      for (const method of ['totp', 'passkey'] as const) await giveFactor(server, id, method)
      const { factors } = server.store
      const watched = Object.entries(factors).map(([name, call]: [string, (...given: unknown[]) => unknown]) => [
        name,
        (...given: unknown[]) => (calls.push(name), call(...given)),
      ])
      Object.assign(factors, Object.fromEntries(watched))
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    it('mentions none on its pages, and requires none', async () => {
      const browser = server.browser()
      assert.doesNotMatch((await browser.send('/login')).text, TRACE)
      assert.match(
        String((await browser.signIn('marissa', 'koala')).headers['location']),
        /^http:\/\/localhost:8080\/$/,
      )
      for (const path of ['/home', '/profile', '/passcode', '/change_password']) {
        const page = await browser.send(path)
        assert.equal(page.status, 200, path)
        assert.doesNotMatch(page.text, TRACE, path)
      }
      assert.deepEqual(
        [...browser.cookies.keys()].filter(name => /device|factor|passkey/.test(name)),
        [],
      )
    })

    it('does not serve the pages of second factors', async () => {
      const browser = server.browser()
      await browser.signIn('marissa', 'koala')
      for (const path of ['/second_factor', '/second_factor/app']) {
        assert.equal((await browser.send(path)).status, 302, path)
        const form_redirect_uri = 'http://localhost:8080/change_email'
        assert.equal((await browser.send(path, { query: { form_redirect_uri } })).status, 302, path)
      }
      for (const path of ['/login/passkey', '/login/passkey/options']) {
        const answer = await browser.send(path, { form: { 'X-Svc-Csrf': browser.csrf } })
        assert.equal(answer.status, 404, path)
      }
    })

    it('returns no acr, and ignores acr_values', async () => {
      const metadata = (await server.send('/.well-known/openid-configuration')).json()
      assert.ok(!('acr_values_supported' in metadata))
      const browser = server.browser()
      await browser.signIn('marissa', 'koala')
      const answer = await authorize(browser, { ...AUTO_REQUEST, acr_values: 'phr 2', prompt: 'none' })
      const code = answer.location().searchParams.get('code') ?? ''
      const redirect_uri = AUTO_REQUEST.redirect_uri
      const { access_token: token, id_token: idToken } = tokensOf(await exchange(server, code, { redirect_uri }))
      assert.deepEqual([decodeJwt(token)['acr'], decodeJwt(token)['amr']], [undefined, undefined])
      assert.deepEqual([decodeJwt(idToken)['acr'], decodeJwt(idToken)['amr']], [undefined, ['pwd']])
    })

    const PASSWORD = { grant_type: 'password', username: 'marissa', password: 'koala' }

    it('accepts the password grant and /authenticate', async () => {
      assert.equal((await server.token(PASSWORD, { basic: APP })).status, 200)
      assert.equal((await server.send('/authenticate', { basic: APP, form: PASSWORD })).status, 200)
    })

    it('omits factors from API records', async () => {
      const bearer = await tokenOf(server, 'root')
      const paths = [`/Users/${id}`, '/Users', `/scim/v2/Users/${id}`, '/oauth/clients/app', '/identity-zones/z1']
      for (const path of paths) {
        const answer = await server.send(path, { bearer })
        assert.equal(answer.status, 200, path)
        assert.doesNotMatch(answer.text, /passkey|secondFactor|totp|factors/, path)
      }
    })

    it('never reads or writes factors', () => {
      assert.deepEqual(calls, [])
    })
  })
  describe(`User whom the second-factor policy is not about in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      const secondFactor = { requirement: 'required', origins: ['ldap'] }
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap, zone_config: { secondFactor } } })
      await giveFactor(server, (await userNamed(server, 'marissa')).id)
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    it('proves no factor before a change of the email address', async () => {
      const browser = await signedIn(server)
      assert.equal((await browser.send('/change_email')).status, 200)
      const query = { form_redirect_uri: 'http://localhost:8080/change_email' }
      assert.equal((await browser.send('/second_factor', { query })).status, 302)
    })

    it('begins to count failures anew with each sign-in', async () => {
      for (let times = 0; times < 3; times += 1) {
        for (let failures = 0; failures < 4; failures += 1) {
          assert.match(String((await server.browser().signIn('marissa', 'wrong')).headers['location']), /error=/)
        }
        const { headers } = await server.browser().signIn('marissa', 'koala')
        assert.equal(headers['location'], 'http://localhost:8080/', String(times))
      }
    })
  })
}
