// Accepts an invitation in a real browser, narrow and wide, light and dark. See test/pages/accessibility.test.ts for axe.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../../support/browser.ts'
import { freePort } from '../../support/free-port.ts'
import { inviteBootstrap, startInvitationServer } from '../../support/invitations.ts'
import type { InviteApi } from '../../support/invitations.ts'
import { modesInBrowser } from '../../support/thinning.ts'

const SIZES = [320, 1280].flatMap(width => (['light', 'dark'] as const).map(colorScheme => ({ width, colorScheme })))

for (const mode of modesInBrowser('standard')) {
  describe(`Invitation in a browser in ${mode}`, () => {
    let api: InviteApi
    let browser: Browser
    let base: string
    before(async () => {
      const port = await freePort()
      base = `http://localhost:${port}`
      const clients = inviteBootstrap.clients.map(each =>
        each.client_id === 'inviter' ? { ...each, redirect_uri: [`${base}/healthz`] } : each,
      )
      api = await startInvitationServer({
        mode,
        config: { base_url: base, bootstrap: { ...inviteBootstrap, clients } },
      })
      const branding = { consent: { text: 'the terms of use' } }
      const stored = (await api.server.store.zones.find('svc')) ?? assert.fail()
      await api.server.store.zones.update({ ...stored, config: { ...stored.config, branding } })
      await api.server.app.http.listen({ host: '127.0.0.1', port })
      browser = await launchBrowser()
    })
    after(async () => {
      await browser.close()
      assert.deepEqual(api.server.faults, [])
      await api.server.stop()
    })

    async function inspect(page: Page, name: string): Promise<void> {
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      assert.equal(overflow, 0, name)
    }

    for (const [place, { width, colorScheme }] of SIZES.entries()) {
      it(`reaches sign-in after two refused forms, ${width} pixels wide, ${colorScheme}`, async () => {
        const email = `person${place}@acc.org`
        const { path } = await api.linkFor(email, { query: { redirect_uri: `${base}/healthz` } })
        const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 } })
        const page = await context.newPage()
        await page.goto(base + path)
        assert.match(await page.innerText('main'), new RegExp(email.replaceAll('.', String.raw`\.`)))
        await inspect(page, 'form')
        await page.fill('#password', 'a long and good one')
        await page.fill('#password_confirmation', 'a long and good one')
        await page.click('input[type=submit]')
        assert.match(await page.innerText('.alert-error'), /Please agree before continuing/)
        await page.check('#does_user_consent')
        await page.fill('#password', 'one')
        await page.fill('#password_confirmation', 'another')
        await page.click('input[type=submit]')
        assert.match(await page.innerText('.alert-error'), /Passwords must match/)
        await inspect(page, 'refused')
        await page.check('#does_user_consent')
        await page.fill('#password', 'a long and good one')
        await page.fill('#password_confirmation', 'a long and good one')
        await page.click('input[type=submit]')
        assert.equal(new URL(page.url()).pathname, '/login')
        await page.fill('#username', email)
        await page.fill('#password', 'a long and good one')
        await page.click('input[type=submit]')
        await page.goto(base + path)
        await inspect(page, 'expired')
        await context.close()
      })
    }
  })
}
