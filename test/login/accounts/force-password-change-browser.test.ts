// The forced password change in a real browser, from the application and back to it.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { authorizeBootstrap } from '../../support/authorize.ts'
import { waitUntilTrue, launchBrowser } from '../../support/browser.ts'
import { changeUser } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { startListening } from '../../support/server.ts'
import { modesInBrowser } from '../../support/thinning.ts'

for (const mode of modesInBrowser('uaa')) {
  describe(`Forced password change in a browser in ${mode}`, () => {
    let server: TestServer
    let browser: Browser
    let base: string
    before(async () => {
      ;({ server, base } = await startListening(url => {
        const clients = authorizeBootstrap.clients.map(each =>
          each.client_id === 'auto' ? { ...each, redirect_uri: [`${url}/healthz`] } : each,
        )
        return { mode, config: { bootstrap: { ...authorizeBootstrap, clients } } }
      }))
      browser = await launchBrowser()
    })
    after(async () => {
      await browser.close()
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    it('returns to the application after two rejected passwords and an accepted one', async () => {
      await changeUser(server, 'marissa', { passwordChangeRequired: true })
      const page = await (await browser.newContext()).newPage()
      const complaints: string[] = []
      page.on('console', message => complaints.push(message.text()))
      const request = { response_type: 'code', client_id: 'auto', redirect_uri: `${base}/healthz`, state: 's1' }
      await page.goto(`${base}/oauth/authorize?${new URLSearchParams(request).toString()}`)
      await page.fill('#username', 'marissa')
      await page.fill('#password', 'koala')
      await page.click('input[type=submit]')
      assert.equal(page.url(), `${base}/force_password_change`)
      await waitUntilTrue(page, `document.activeElement.id === 'password'`) // the browser focuses after rendering
      assert.match(await page.innerText('main'), /marissa@example\.org/)

      const choose = async (password: string, again = password) => {
        await page.fill('#password', password)
        await page.fill('#password_confirmation', again)
        await page.click('input[type=submit]')
      }
      await choose('a new one', 'another one')
      assert.equal(await page.innerText('.alert-error'), 'Passwords must match and not be empty.')
      assert.equal(await page.inputValue('#password'), '')
      await choose('koala')
      assert.match(await page.innerText('.alert-error'), /cannot be the same as the old password/)
      assert.match((await page.getAttribute('#password', 'aria-describedby')) ?? '', /^message\b/)
      await page.goto(`${base}/home`)
      assert.equal(page.url(), `${base}/force_password_change`, 'other pages redirect to it')
      // The authorization request replaces /home as the target.
      await page.goto(`${base}/oauth/authorize?${new URLSearchParams(request).toString()}`)
      await choose('a new one, and long')
      const arrived = new URL(page.url())
      assert.equal(arrived.pathname, '/healthz')
      assert.match(arrived.searchParams.get('code') ?? '', /^[\w-]{32}$/)
      await page.goto(`${base}/home`)
      assert.equal(page.url(), `${base}/home`)
      assert.deepEqual(
        complaints.filter(text => !text.startsWith('Failed to load resource')), // the 422s, and an icon of the application
        [],
      )
      await page.context().close()
    })
  })
}
