// The button that approves, in a real browser: what presses it, and what was meant for another window.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../../support/browser.ts'
import type { TestServer } from '../../support/server.ts'
import { defaultBootstrap, startListening } from '../../support/server.ts'
import type { Site } from '../../support/site.ts'
import { startSite } from '../../support/site.ts'

const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'

/** As a person's browser, which no program drives. */
const UNDRIVEN = "Object.defineProperty(Navigator.prototype, 'webdriver', { get: () => false })"

/** Milliseconds; the clock of the page stands still otherwise. */
const SETTLED = 501

describe('the button that approves, in a browser', () => {
  let server: TestServer
  let browser: Browser
  let base: string
  let app: Site
  let site: string
  before(async () => {
    app = await startSite()
    site = app.url
    const clients = [
      {
        client_id: 'asking',
        allowpublic: true,
        authorized_grant_types: ['authorization_code', DEVICE],
        redirect_uri: [`${site}/cb`],
        scope: ['openid', 'cloud.read'],
      },
    ]
    ;({ server, base } = await startListening(() => ({ config: { bootstrap: { ...defaultBootstrap, clients } } })))
    browser = await launchBrowser()
  })
  after(async () => {
    await browser.close()
    app.stop()
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  async function newPage(script: string = UNDRIVEN): Promise<Page> {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.addInitScript(script)
    await page.clock.install({ time: 0 })
    await page.clock.pauseAt(1000)
    return page
  }

  async function signInAt(page: Page, url: string): Promise<void> {
    await page.goto(url)
    await page.fill('[name=username]', 'marissa')
    await page.fill('[name=password]', 'koala')
    await page.click('[type=submit]')
  }

  async function approvalPage(page: Page): Promise<void> {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: 'asking',
      redirect_uri: `${site}/cb`,
      scope: 'openid cloud.read',
      prompt: 'consent',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    })
    await signInAt(page, `${base}/oauth/authorize?${query.toString()}`)
    await page.waitForSelector('#authorize')
  }

  async function devicePage(page: Page): Promise<void> {
    const answer = await server.send('/oauth/device_authorization', { form: { client_id: 'asking' } })
    await signInAt(page, answer.json<{ verification_uri_complete: string }>().verification_uri_complete)
    await page.click('#device [type=submit]')
    await page.waitForSelector('#authorize')
  }

  /** What a window above the page does on its own, or a person with it. */
  const DISTURBANCES = {
    'comes to the front': "dispatchEvent(new Event('focus'))",
    'becomes visible': "document.dispatchEvent(new Event('visibilitychange'))",
    'is shown again by the button Back': "dispatchEvent(new Event('pageshow'))",
    'gets a key that is held':
      "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: ' ', repeat: true, bubbles: true }))",
  }

  for (const [name, open] of [
    ['approval page', approvalPage],
    ['device page', devicePage],
  ] as const) {
    it(`waits until the ${name} has been in front for a moment`, async () => {
      const page = await newPage()
      await open(page)
      const { pathname } = new URL(page.url())
      for (const press of [() => page.click('#authorize'), () => page.press('#authorize', 'Enter')]) {
        await press()
        await page.clock.runFor(400) // not long enough after the last one
        assert.equal(new URL(page.url()).pathname, pathname)
      }
      await page.clock.runFor(SETTLED)
      await page.click('#authorize')
      await page.waitForURL(url => url.pathname !== pathname)
      await page.context().close()
    })

    it(`is pressed at once on the ${name} where a program drives the browser`, async () => {
      const driven = await newPage('')
      await open(driven)
      const { pathname } = new URL(driven.url())
      await driven.click('#authorize')
      await driven.waitForURL(url => url.pathname !== pathname)
      await driven.context().close()
    })
  }

  for (const [name, disturb] of Object.entries(DISTURBANCES)) {
    it(`waits again when the page ${name}`, async () => {
      const page = await newPage()
      await approvalPage(page)
      await page.clock.runFor(SETTLED)
      await page.evaluate(disturb)
      await page.click('#authorize')
      assert.equal(new URL(page.url()).pathname, '/oauth/authorize')
      await page.clock.runFor(SETTLED)
      await page.click('#authorize')
      await page.waitForURL(`${site}/cb?*`)
      await page.context().close()
    })
  }
})
