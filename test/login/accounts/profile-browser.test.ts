// The profile page in a real browser, with and without scripts.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { authorizeBootstrap } from '../../support/authorize.ts'
import { waitUntilTrue, launchBrowser } from '../../support/browser.ts'
import { approve, userNamed } from '../../support/oauth.ts'
import { assertAccessible, LOOKS } from '../../support/page-checks.ts'
import type { TestServer } from '../../support/server.ts'
import { startListening } from '../../support/server.ts'

/** The background colour of an element. */
const backgroundOf = (selector: string): string =>
  `getComputedStyle(document.querySelector('${selector}')).backgroundColor`
const SAVE = '.panel .when-changed[name=update]'

describe('GET /profile in a browser', () => {
  let server: TestServer
  let browser: Browser
  let base: string
  before(async () => {
    ;({ server, base } = await startListening(() => ({ config: { bootstrap: authorizeBootstrap } })))
    browser = await launchBrowser()
  })
  after(async () => {
    await browser.close()
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  async function signIn(options: BrowserContextOptions): Promise<Page> {
    const page = await (await browser.newContext(options)).newPage()
    await page.goto(`${base}/profile`)
    await page.fill('#username', 'marissa')
    await page.fill('#password', 'koala')
    await page.click('input[type=submit]')
    assert.equal(page.url(), `${base}/profile`)
    return page
  }

  for (const [name, options] of LOOKS) {
    it(`fits ${name} and is accessible, with approvals and other sessions`, async () => {
      await approve(server, ['cloud.read', 'openid'], 'APPROVED')
      const other = await signIn({})
      const page = await signIn(options)
      await assertAccessible(page)
      for (const each of [page, other]) await each.context().close()
    })
  }

  it('saves details, revokes an approval and ends other sessions without scripts', async () => {
    await approve(server, ['cloud.read', 'openid'], 'APPROVED')
    const other = await signIn({})
    const page = await signIn({ javaScriptEnabled: false, locale: 'en' })
    await page.fill('#givenName', 'Zoë')
    await page.selectOption('#language', 'de')
    await page.click('.details button')
    assert.equal(page.url(), `${base}/profile?success_message_code=details.saved`)
    assert.equal(await page.innerText('.alert-success'), 'Ihre Angaben sind gespeichert.')
    assert.equal(await page.inputValue('#givenName'), 'Zoë')
    await page.selectOption('#language', 'en')
    await page.click('.details button')

    const sure = page.locator('.revocation-modal')
    assert.equal(await sure.isVisible(), false)
    await page.click('text=Revoke access')
    assert.equal(await sure.isVisible(), true)
    await page.click('.revocation-cancel')
    assert.equal(await sure.isVisible(), false)
    await page.click('text=Revoke access')
    await page.click('.revocation-confirm')
    assert.equal(await page.locator('#app-form').count(), 0)
    const { id } = await userNamed(server, 'marissa')
    assert.deepEqual(await server.store.approvals.listOfUser('svc', id, server.clock.now()), [])

    await page.click('.sessions button >> nth=0')
    assert.equal(await page.innerText('.alert-success'), 'That browser is signed out.')
    await page.click('.devices + .button')
    assert.equal(await page.innerText('.alert-success'), 'You are signed out everywhere else.')
    await other.goto(`${base}/profile`)
    assert.equal(other.url(), `${base}/login`)
    assert.match(await page.innerText('.events'), /Signed out elsewhere[\s\S]*Access revoked[\s\S]*Account changed/)
    for (const each of [page, other]) await each.context().close()
  })

  it('highlights a save button only while there are changes', async () => {
    await approve(server, ['cloud.read', 'openid'], 'APPROVED')
    const page = await signIn({})
    const plain = await page.evaluate<string>(backgroundOf(SAVE))
    await page.click('#app-form label')
    await waitUntilTrue(page, `${backgroundOf(SAVE)} !== '${plain}'`) // it fades
    await page.click('#app-form label')
    await waitUntilTrue(page, `${backgroundOf(SAVE)} === '${plain}'`)
    await page.fill('#familyName', 'Changed')
    await page.press('#familyName', 'Tab')
    await waitUntilTrue(page, `${backgroundOf('.details .when-changed')} !== '${plain}'`)
    await page.context().close()
  })
})
