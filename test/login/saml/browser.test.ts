// Sign-in at a SAML provider on another site in a real browser, with its own handling of cookies and cross-site forms.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { authorizeBootstrap } from '../../support/authorize.ts'
import { launchBrowser } from '../../support/browser.ts'
import { createTestClock } from '../../support/clock.ts'
import { freePort } from '../../support/free-port.ts'
import { SAML } from '../../support/saml/saml-xml.ts'
import { samlRecordOf, startSamlIdp } from '../../support/saml/saml-idp-server.ts'
import type { SamlIdpServer } from '../../support/saml/saml-idp-server.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'
import { modesInBrowser } from '../../support/thinning.ts'

for (const mode of modesInBrowser('standard')) {
  describe(`SAML sign-in in a browser in ${mode}`, () => {
    const clock = createTestClock()
    const providers: SamlIdpServer[] = []
    let server: TestServer
    let client: Server
    let browser: Browser
    let base: string
    let site: string

    before(async () => {
      base = `http://localhost:${await freePort()}`
      const to = { entityId: 'latchkey', recipient: `${base}/saml/SSO/alias/latchkey` }
      client = createServer((_, response) => {
        response.setHeader('content-type', 'text/html').end('<title>Client</title>')
      })
      await new Promise<void>(resolve => client.listen(0, '127.0.0.1', resolve))
      site = `http://127.0.0.1:${(client.address() as AddressInfo).port}`
      // 127.0.0.1 is another site than localhost.
      for (let count = 0; count < 3; count += 1) providers.push(await startSamlIdp({ clock, to }))
      const [redirected = assert.fail(), posted = assert.fail(), closed = assert.fail()] = providers
      const identity_providers = [
        samlRecordOf(redirected, 'corp', { metadata: redirected.metadataHere(), config: { linkText: 'Corp' } }),
        samlRecordOf(posted, 'posts', { metadata: posted.metadataHere([SAML.post]), config: { linkText: 'Posts' } }),
        samlRecordOf(closed, 'closed', {
          metadata: closed.metadataHere(),
          config: { linkText: 'Closed', addShadowUserOnLogin: false },
        }),
      ]
      const clients = authorizeBootstrap.clients.map(each =>
        each.client_id === 'auto' ? { ...each, redirect_uri: [`${site}/cb`] } : each,
      )
      server = await startServer({
        mode,
        clock,
        config: { base_url: base, bootstrap: { ...authorizeBootstrap, clients, identity_providers } },
      })
      await server.app.http.listen({ host: '127.0.0.1', port: Number(new URL(base).port) })
      browser = await launchBrowser()
    })
    after(async () => {
      await browser.close()
      client.closeAllConnections()
      client.close()
      await Promise.all(providers.map(provider => provider.stop()))
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const request = (): string =>
      `${base}/oauth/authorize?${new URLSearchParams({
        response_type: 'code',
        client_id: 'auto',
        redirect_uri: `${site}/cb`,
        scope: 'openid',
        state: 's1',
      }).toString()}`

    /** Opens the authorization request, follows the link, and enters a user name at the provider. */
    async function signIn(page: Page, link: string, userName: string): Promise<void> {
      await page.goto(request())
      await page.click(`text=${link}`)
      await page.waitForURL(/^http:\/\/127\.0\.0\.1:\d+\/sso/)
      await page.fill('input[name=username]', userName)
      await page.click('button')
    }

    for (const link of ['Corp', 'Posts']) {
      it(`returns a code to the client after sign-in at ${link}`, async () => {
        const page = await (await browser.newContext()).newPage()
        await signIn(page, link, `ann-${link}`)
        await page.waitForURL(`${site}/cb**`)
        const { searchParams } = new URL(page.url())
        assert.deepEqual([searchParams.has('code'), searchParams.get('state')], [true, 's1'])
        await page.goto(`${base}/home`)
        assert.match(await page.innerText('body'), new RegExp(`ann-${link}`))
        await page.context().close()
      })
    }

    it('requires a click without JavaScript', async () => {
      const context = await browser.newContext({ javaScriptEnabled: false })
      const page = await context.newPage()
      await page.goto(request())
      await page.click('text=Posts')
      assert.match(await page.innerText('main'), /127\.0\.0\.1/)
      await page.click('main button')
      await page.waitForURL(/\/sso$/)
      await page.fill('input[name=username]', 'without-script')
      await page.click('button')
      await page.waitForURL(/\/sign-in$/)
      await page.evaluate('document.forms[0].submit()') // the page of the provider requires JavaScript
      await page.waitForURL(`${base}/saml/SSO/**`)
      await page.click('main button')
      await page.waitForURL(`${site}/cb**`)
      assert.ok(new URL(page.url()).searchParams.has('code'))
      await context.close()
    })

    it('sends the client access_denied for a user without an account', async () => {
      const page = await (await browser.newContext()).newPage()
      await signIn(page, 'Closed', 'nobody')
      await page.waitForURL(`${site}/cb**`)
      assert.equal(new URL(page.url()).searchParams.get('error'), 'access_denied')
      await page.context().close()
    })

    it('shows an error page with the reason', async () => {
      const page = await (await browser.newContext()).newPage()
      const [provider = assert.fail()] = providers
      provider.parts = { audiences: ['https://elsewhere.example'] }
      await signIn(page, 'Corp', 'wrong')
      await page.waitForURL(mode === 'uaa' ? `${base}/saml_error` : `${base}/saml/SSO/**`)
      await page.waitForSelector('text=could not be verified')
      provider.parts = { issuer: 'https://stranger.example' }
      await signIn(page, 'Corp', 'wrong')
      // Directly after the cross-site form.
      await page.waitForSelector(
        mode === 'uaa'
          ? 'text=No SAML identity provider found in zone'
          : 'text=That sign-in method is not available here',
      )
      provider.parts = {}
      await page.goto(`${base}/saml_error`)
      assert.match(await page.innerText('body'), /Sign-in with your SAML identity provider failed/)
      await page.context().close()
    })
  })
}
