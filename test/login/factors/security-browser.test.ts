// Management of second factors in a real browser with a virtual authenticator; all but passkeys without scripts.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { APP_REQUEST, authorizeBootstrap } from '../../support/authorize.ts'
import { launchBrowser } from '../../support/browser.ts'
import { userNamed } from '../../support/oauth.ts'
import { assertAccessible, LOOKS, openPage } from '../../support/page-checks.ts'
import { appOf, setPolicy } from '../../support/second-factor.ts'
import type { TestServer } from '../../support/server.ts'
import { startListening } from '../../support/server.ts'
import { addVirtualAuthenticator } from '../../support/virtual-authenticator.ts'

describe('/profile/security in a browser', () => {
  let server: TestServer
  let browser: Browser
  let base: string
  let pageUrl: string
  before(async () => {
    ;({ server, base } = await startListening(() => ({ config: { bootstrap: authorizeBootstrap } })))
    pageUrl = `${base}/profile/security`
    await setPolicy(server, { requirement: 'optional', rememberDays: 7 })
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

  async function signIn(page: Page, url = `${base}/profile`): Promise<void> {
    await page.goto(url)
    await type(page)
  }

  async function type(page: Page): Promise<void> {
    await page.fill('#username', 'marissa')
    await page.fill('#password', 'koala')
    await page.click('input[type=submit]')
  }

  const link = (page: Page, name: string | RegExp) => page.getByRole('link', { name })
  const button = (page: Page, name: string) => page.getByRole('button', { name })

  it('adds, renames and removes a passkey', async () => {
    const page = await open()
    await signIn(page)
    await page.waitForURL(`${base}/profile`)
    const authenticator = await addVirtualAuthenticator(page)
    await link(page, 'Manage').click()
    await link(page, 'Add a passkey').click()
    assert.equal(await page.inputValue('#name'), 'Chrome on Linux')
    await page.fill('#name', 'Laptop')
    await button(page, 'Add passkey').click()
    await page.getByRole('heading', { name: /recovery codes/ }).waitFor()
    assert.equal(await page.locator('#codes span').count(), 10)
    await page.locator('main a.button:not(.plain)').click()
    await page.waitForURL(`${pageUrl}?done=passkey_added`)
    assert.equal((await authenticator.credentials()).length, 1)
    await link(page, 'Rename Laptop').click()
    await page.fill('#name', 'Old laptop')
    await button(page, 'Save').click()
    await link(page, 'Remove Old laptop').click()
    await page.getByText('It is your last one').waitFor()
    await button(page, 'Remove').click()
    await page.waitForURL(`${pageUrl}?done=removed`)
    assert.deepEqual((await userNamed(server, 'marissa')).factors?.methods, [])
    await page.context().close()
  })

  it('says that the device has a passkey already', async () => {
    const page = await open()
    await signIn(page)
    await page.waitForURL(`${base}/profile`)
    await addVirtualAuthenticator(page)
    await page.goto(`${pageUrl}/passkey`)
    await button(page, 'Add passkey').click()
    await page.getByRole('heading', { name: /recovery codes/ }).waitFor()
    await page.goto(`${pageUrl}/passkey`)
    await button(page, 'Add passkey').click()
    await page.getByText('This device or security key has a passkey for your account already.').waitFor()
    await page.context().close()
  })

  it('reports a failed authenticator, and adds no passkey', async () => {
    const page = await open()
    await signIn(page)
    await page.waitForURL(`${base}/profile`)
    const authenticator = await addVirtualAuthenticator(page)
    await authenticator.verifies(false)
    await page.goto(`${pageUrl}/passkey`)
    await page.fill('#name', 'Laptop')
    await page.evaluate(
      `navigator.credentials.create = () => Promise.reject(new DOMException('no', 'NotAllowedError'))`,
    )
    await button(page, 'Add passkey').click()
    await page.getByRole('alert').waitFor()
    assert.equal(await page.inputValue('#name'), 'Laptop')
    assert.deepEqual((await userNamed(server, 'marissa')).factors?.methods, [])
    await page.context().close()
  })

  it('offers a passkey once during sign-in, which may be declined', async () => {
    const page = await open()
    await addVirtualAuthenticator(page)
    const request = `${base}/oauth/authorize?${new URLSearchParams(APP_REQUEST).toString()}`
    await page.goto(request)
    await page.waitForSelector('input[name=can_passkey]', { state: 'attached' })
    await type(page)
    await page.getByRole('heading', { name: 'Sign in more easily next time' }).waitFor()
    await button(page, 'Not now').click()
    await page.waitForURL(/\/oauth\/authorize\?/)
    await page.context().clearCookies()
    await page.goto(`${base}/profile`)
    await page.waitForSelector('input[name=can_passkey]', { state: 'attached' })
    await type(page)
    await page.waitForURL(`${base}/profile`)
    await page.context().close()
  })

  it('adds a passkey from the offer', async () => {
    const joel = (await userNamed(server, 'joel')).id
    const page = await open()
    const authenticator = await addVirtualAuthenticator(page)
    await page.goto(`${base}/profile`)
    await page.waitForSelector('input[name=can_passkey]', { state: 'attached' })
    await page.fill('#username', 'joel')
    await page.fill('#password', 'wombat')
    await page.click('input[type=submit]')
    await button(page, 'Add a passkey').click()
    await page.getByRole('heading', { name: /recovery codes/ }).waitFor()
    await page.locator('main a.button:not(.plain)').click()
    await page.waitForURL(`${base}/profile`)
    assert.equal((await authenticator.credentials()).length, 1)
    assert.equal((await server.store.factors.passkeysOf('svc', joel))[0]?.name, 'Chrome on Linux')
    await page.context().close()
  })

  for (const [name, options] of LOOKS) {
    it(`manages an app and codes without scripts on ${name}, and is accessible`, async () => {
      const plain = await open({ ...options, javaScriptEnabled: false })
      await signIn(plain)
      await plain.waitForURL(`${base}/profile`)
      await link(plain, 'Manage').click()
      await link(plain, 'Set up an authenticator app').click()
      const app = appOf(await plain.content())
      await plain.fill('#code', app.code(server))
      await plain.click('main input[type=submit]')
      await plain.locator('main a.button:not(.plain)').click()
      await plain.waitForURL(`${pageUrl}?done=app_added`)
      const seen = await open(options)
      await seen.context().addCookies(await plain.context().cookies())
      const look = async (path: string) => {
        await seen.goto(pageUrl + path)
        await assertAccessible(seen, path)
      }
      const { id } = await userNamed(server, 'marissa')
      const key = { userId: id, publicKey: '', counter: 0, transports: [], aaguid: '', isBackedUp: false }
      const createdAt = server.clock.now()
      for (const [passkey, called] of [
        ['p1', 'Phone'],
        ['p2', 'W'.repeat(64)],
      ] as const) {
        const made = { ...key, id: `${passkey}${id}`, credentialId: `${passkey}${id}`, name: called, createdAt }
        await server.store.factors.addPasskey('svc', { ...made, isAttested: false, hasVerifiedUser: true }, 20)
      }
      server.clock.advance(120)
      const of = `passkey=p1${id}`
      for (const path of ['', '?done=renamed', '/passkey', '/app', '/codes', `/rename?${of}`, `/remove?${of}`]) {
        await look(path)
      }
      await plain.goto(pageUrl)
      await link(plain, 'Make new codes').click()
      await button(plain, 'Make new codes').click()
      assert.equal(await plain.locator('#codes span').count(), 10)
      await plain.goto(pageUrl)
      await link(plain, /^Remove Authenticator app/).click()
      await button(plain, 'Remove').click()
      await plain.waitForURL(`${pageUrl}?done=removed`)
      await button(plain, 'Ask on all devices again').click()
      await plain.waitForURL(`${pageUrl}?done=forgotten`)
      await seen.context().close()
      await plain.context().close()
    })
  }
})
