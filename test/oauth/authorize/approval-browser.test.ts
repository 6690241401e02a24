// The approve button in a real browser: its delay against clickjacking and stray key presses.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../../support/browser.ts'
import type { TestServer } from '../../support/server.ts'
import { defaultBootstrap, startListening } from '../../support/server.ts'
import type { Site } from '../../support/site.ts'
import { startSite } from '../../support/site.ts'

const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'

/** Hides that the browser is automated. */
const NOT_AUTOMATED = "Object.defineProperty(Navigator.prototype, 'webdriver', { get: () => false })"

/** Milliseconds of the mocked clock of the page. */
const AFTER_DELAY = 501

describe('Approve button in a browser', () => {
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

  async function newPage(script: string = NOT_AUTOMATED): Promise<Page> {
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

  /** Events that restart the delay. */
  const DISTURBANCES = {
    'is focused': "dispatchEvent(new Event('focus'))",
    'becomes visible': "document.dispatchEvent(new Event('visibilitychange'))",
    'is restored by the Back button': "dispatchEvent(new Event('pageshow'))",
    'receives a repeated key press':
      "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: ' ', repeat: true, bubbles: true }))",
  }

  for (const [name, open] of [
    ['approval page', approvalPage],
    ['device page', devicePage],
  ] as const) {
    it(`ignores presses within 500 ms of opening the ${name}`, async () => {
      const page = await newPage()
      await open(page)
      const { pathname } = new URL(page.url())
      for (const press of [() => page.click('#authorize'), () => page.press('#authorize', 'Enter')]) {
        await press()
        await page.clock.runFor(400) // shorter than the delay
        assert.equal(new URL(page.url()).pathname, pathname)
      }
      await page.clock.runFor(AFTER_DELAY)
      await page.click('#authorize')
      await page.waitForURL(url => url.pathname !== pathname)
      await page.context().close()
    })

    it(`works immediately on the ${name} in an automated browser`, async () => {
      const automated = await newPage('')
      await open(automated)
      const { pathname } = new URL(automated.url())
      await automated.click('#authorize')
      await automated.waitForURL(url => url.pathname !== pathname)
      await automated.context().close()
    })
  }

  for (const [name, disturb] of Object.entries(DISTURBANCES)) {
    it(`restarts the delay when the page ${name}`, async () => {
      const page = await newPage()
      await approvalPage(page)
      await page.clock.runFor(AFTER_DELAY)
      await page.evaluate(disturb)
      await page.click('#authorize')
      assert.equal(new URL(page.url()).pathname, '/oauth/authorize')
      await page.clock.runFor(AFTER_DELAY)
      await page.click('#authorize')
      await page.waitForURL(`${site}/cb?*`)
      await page.context().close()
    })
  }
})
