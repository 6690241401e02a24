// SAML single logout in a real browser, with its own handling of cookies and cross-site messages.
import assert from 'node:assert/strict'
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

for (const mode of modesInBrowser('uaa')) {
  describe(`SAML single logout in a browser in ${mode}`, () => {
    let server: TestServer
    let idp: SamlIdpServer
    let browser: Browser
    let base: string
    before(async () => {
      const port = await freePort()
      base = `http://localhost:${port}`
      const clock = createTestClock()
      idp = await startSamlIdp({ clock, to: { entityId: 'latchkey', recipient: `${base}/saml/SSO/alias/latchkey` } })
      const metadata = idp.metadataHere(mode === 'uaa' ? [SAML.post] : [SAML.redirect])
      const bootstrap = { ...authorizeBootstrap, identity_providers: [samlRecordOf(idp, 'corp', { metadata })] }
      server = await startServer({ mode, clock, config: { base_url: base, bootstrap } })
      await server.app.http.listen({ host: '127.0.0.1', port })
      browser = await launchBrowser()
    })
    after(async () => {
      await browser.close()
      await idp.stop()
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    async function signedInPage(): Promise<Page> {
      const page = await (await browser.newContext()).newPage()
      await page.goto(`${base}/login/external/corp`)
      await page.waitForURL(`${idp.url}/sso*`)
      await page.fill('input[name=username]', 'pat')
      await page.click('button')
      await page.waitForURL(url => ['/', '/home'].includes(url.pathname) && url.href.startsWith(base))
      return page
    }

    const isSignedIn = async (page: Page): Promise<boolean> =>
      new URL((await page.goto(`${base}/home`))?.url() ?? '').pathname === '/home'

    it('redirects through the provider to the sign-in page', async () => {
      const page = await signedInPage()
      if (mode === 'uaa') await page.goto(`${base}/logout.do`)
      else await page.click('form[action$="/logout.do"] button')
      await page.waitForURL(`${base}/login`)
      const request = idp.received.find(({ xml }) => xml.includes('LogoutRequest'))
      assert.equal(request?.binding, mode === 'uaa' ? 'post' : 'redirect')
      assert.equal(await isSignedIn(page), false)
    })

    it('ends the session on a request of the provider, and redirects back', async () => {
      const page = await signedInPage()
      await page.goto(idp.logoutUrl({ nameId: 'pat', sessionIndexes: ['session-1'] }))
      await page.waitForURL(`${idp.url}/slo*`)
      const answer = idp.received.at(-1)
      assert.equal(answer?.kind, 'SAMLResponse')
      assert.match(answer.xml, /status:Success"/)
      assert.equal(await isSignedIn(page), false)
    })
  })
}
