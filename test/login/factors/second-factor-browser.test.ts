// The second step in a real browser: passkeys with a virtual authenticator, and an authenticator app without scripts.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { authorizeBootstrap } from '../../support/authorize.ts'
import { launchBrowser } from '../../support/browser.ts'
import { userNamed } from '../../support/oauth.ts'
import { assertAccessible, LOOKS, openPage } from '../../support/page-checks.ts'
import { appOf, setPolicy } from '../../support/second-factor.ts'
import type { TestServer } from '../../support/server.ts'
import { startListening } from '../../support/server.ts'
import { addVirtualAuthenticator } from '../../support/virtual-authenticator.ts'

describe('Second factor in a browser', () => {
  let server: TestServer
  let browser: Browser
  let base: string
  before(async () => {
    ;({ server, base } = await startListening(() => ({ config: { bootstrap: authorizeBootstrap } })))
    await setPolicy(server, { requirement: 'required', rememberDays: 7 })
    browser = await launchBrowser()
  })
  beforeEach(async () => {
    await server.store.factors.reset('svc', (await userNamed(server, 'marissa')).id)
    server.clock.advance(3600)
  })
  after(async () => {
    await browser.close()
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  const open = (options: BrowserContextOptions = {}): Promise<Page> => openPage(browser, options)

  async function signIn(page: Page): Promise<void> {
    await page.goto(`${base}/profile`)
    await page.fill('#username', 'marissa')
    await page.fill('#password', 'koala')
    await page.click('input[type=submit]')
    await page.waitForURL(`${base}/second_factor`)
  }

  it('enrolls a passkey at the first sign-in, and accepts it at the next', async () => {
    const page = await open()
    const authenticator = await addVirtualAuthenticator(page)
    await signIn(page)
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByRole('heading', { name: 'Save your recovery codes' }).waitFor()
    assert.equal(await page.locator('#codes span').count(), 10)
    await page.getByRole('link', { name: 'I have saved them' }).click()
    await page.waitForURL(`${base}/profile`)
    assert.equal((await authenticator.credentials()).length, 1)
    await page.context().clearCookies()

    await authenticator.answers(false) // or the sign-in page would use it
    await signIn(page)
    await authenticator.answers(true)
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.waitForURL(`${base}/profile`)
    const [passkey] = await server.store.factors.passkeysOf('svc', (await userNamed(server, 'marissa')).id)
    assert.ok(passkey?.lastUsedAt)
    assert.match(passkey.name, /^Chrom\w+ on /, 'the same name as for a passkey added later')
    await page.context().close()
  })

  it('lays out /profile/security with spacing on a phone and in columns on a desktop', async () => {
    const page = await open({ viewport: { width: 320, height: 640 }, locale: 'de' })
    await addVirtualAuthenticator(page)
    await signIn(page)
    await page.locator('form[data-passkey] input[type=submit]').click()
    await page.locator('#codes').waitFor()
    await page.goto(`${base}/profile/security`)
    const gap = `document.querySelector('.security').getBoundingClientRect().top -
      document.querySelector('h1 + .lead').getBoundingClientRect().bottom`
    assert.ok(Number(await page.evaluate(gap)) >= 20, 'space between the lead and the first section')
    // The vertical distance between the centres of the label and its button.
    const offset = `(() => { const link = document.querySelector('.actions .quiet'), label = document.createRange()
      label.selectNodeContents(link.firstChild)
      const middle = ({ top, bottom }) => (top + bottom) / 2
      return Math.abs(middle(label.getBoundingClientRect()) - middle(link.getBoundingClientRect())) })()`
    assert.ok(Number(await page.evaluate(offset)) <= 2, 'label centred in its button')
    await page.setViewportSize({ width: 1280, height: 800 })
    const rows = `(() => { const [words, buttons] = document.querySelector('.factors li').children
      return buttons.getBoundingClientRect().left - words.getBoundingClientRect().right })()`
    assert.ok(Number(await page.evaluate(rows)) >= 0, 'buttons beside their factor')
    await page.context().close()
  })

  it('is not required after sign-in with a passkey alone', async () => {
    const page = await open()
    const authenticator = await addVirtualAuthenticator(page)
    await signIn(page)
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByRole('link', { name: 'I have saved them' }).click()
    await page.waitForURL(`${base}/profile`)
    await page.context().clearCookies()

    // The browser offers the passkey in its autofill, and the virtual user accepts it.
    await page.goto(`${base}/profile`)
    await page.waitForURL(`${base}/profile`)
    await page.getByRole('heading', { name: 'Account settings' }).waitFor()

    await authenticator.verifies(false)
    await page.context().clearCookies()
    await page.goto(`${base}/profile`)
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByText('No passkey was used.').waitFor()
    await page.context().close()
  })

  it('asks once for a passkey, however often the button is pressed', async () => {
    const page = await open()
    const authenticator = await addVirtualAuthenticator(page)
    await signIn(page)
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.click('main > a.button')
    await page.context().clearCookies()
    await authenticator.answers(false)
    // As long as the browser asks, it refuses another request.
    await page.addInitScript(`{
      const credentials = navigator.credentials
      const get = credentials.get.bind(credentials)
      globalThis.asked = 0
      credentials.get = async options => {
        if (++asked > 1) throw new DOMException('', 'OperationError')
        await new Promise(resolve => (globalThis.answer = resolve))
        return get(options)
      }
    }`)
    await signIn(page)
    const button = page.getByRole('button', { name: 'Use a passkey' })
    await button.dblclick()
    assert.equal(await page.evaluate('asked'), 1)
    await authenticator.answers(true)
    await page.evaluate('answer()')
    await page.waitForURL(`${base}/profile`)
    await page.context().close()
  })

  it('accepts a recovery code after a refused passkey', async () => {
    const page = await open()
    await addVirtualAuthenticator(page)
    await signIn(page)
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    const code = (await page.locator('#codes span').first().textContent()) ?? ''
    const other = await open()
    await signIn(other)
    await addVirtualAuthenticator(other) // another device, without the passkey
    await other.getByRole('button', { name: 'Use a passkey' }).click()
    await other.getByText('No passkey was used.').waitFor()
    await other.getByRole('link', { name: 'Use a recovery code' }).click()
    await other.fill('#code', code.trim())
    await other.click('input[type=submit]')
    await other.waitForURL(`${base}/profile`)
    for (const each of [page, other]) await each.context().close()
  })

  for (const [name, options] of LOOKS) {
    it(`enrolls an app without scripts on ${name}, and is accessible`, async () => {
      const page = await open({ ...options, javaScriptEnabled: false })
      await signIn(page)
      const checks = await open({ ...options, reducedMotion: 'reduce' })
      const check = async (label: string): Promise<void> => {
        await checks.setContent((await page.content()).replace('<head>', `<head><base href="${base}/">`))
        await assertAccessible(checks, label)
        const folder = process.env['SCREENSHOTS']
        if (folder !== undefined) await page.screenshot({ path: `${folder}/${label}-${name}.png`, fullPage: true })
      }
      await check('choice')
      await page.getByRole('link', { name: 'Set up an authenticator app' }).click()
      const app = appOf(await page.content())
      await check('app')
      await page.fill('#code', '000000')
      await page.click('input[type=submit]')
      await page.getByText('That code is not right.').waitFor()
      await check('wrong')
      await page.fill('#code', app.code(server))
      await page.click('input[type=submit]')
      await check('codes')
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Download' }).click(),
      ])
      const file = readFileSync(await download.path(), 'utf8')
      assert.match(file, /^Recovery codes of marissa for .*\n\n(?:[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}\n){10}$/)
      await page.getByRole('link', { name: 'I have saved them' }).click()
      await page.waitForURL(`${base}/profile`)
      await page.context().clearCookies()
      server.clock.advance(30)
      await signIn(page)
      await check('prove')
      await page.fill('#code', app.code(server))
      await page.check('input[name=remember]')
      await page.click('input[type=submit]')
      await page.waitForURL(`${base}/profile`)
      for (const each of [page, checks]) await each.context().close()
    })
  }
})
