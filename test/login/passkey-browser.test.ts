// Passkeys on the sign-in page, in a real browser with a virtual authenticator.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { APP_REQUEST, authorizeBootstrap } from '../support/authorize.ts'
import { launchBrowser } from '../support/browser.ts'
import { userNamed } from '../support/oauth.ts'
import { assertAccessible, openPage } from '../support/page-checks.ts'
import { setPolicy } from '../support/second-factor.ts'
import type { TestServer } from '../support/server.ts'
import { startListening } from '../support/server.ts'
import { addVirtualAuthenticator } from '../support/virtual-authenticator.ts'
import type { VirtualAuthenticator } from '../support/virtual-authenticator.ts'

const BUTTON = { name: 'Use a passkey' }

const looks: readonly (readonly [string, BrowserContextOptions])[] = [320, 1280].flatMap(width =>
  (['light', 'dark'] as const).map(
    colorScheme => [`${width} px, ${colorScheme}`, { viewport: { width, height: 800 }, colorScheme }] as const,
  ),
)

describe('Passkey sign-in in a browser', () => {
  let server: TestServer
  let browser: Browser
  let base: string
  before(async () => {
    const zones = ['x', 'y'].map(id => ({
      id,
      subdomain: id,
      name: id,
      bootstrap: { users: authorizeBootstrap.users },
    }))
    const bootstrap = { ...authorizeBootstrap, identity_zones: zones }
    ;({ server, base } = await startListening(() => ({ config: { bootstrap } })))
    browser = await launchBrowser()
  })
  beforeEach(async () => {
    await setPolicy(server, { requirement: 'required' })
    await server.store.factors.reset('svc', (await userNamed(server, 'marissa')).id)
    server.clock.advance(3600)
  })
  after(async () => {
    await browser.close()
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  const open = (options: BrowserContextOptions = {}): Promise<Page> => openPage(browser, options)

  async function typePassword(page: Page, path = '/profile'): Promise<void> {
    await page.goto(base + path)
    await page.fill('#username', 'marissa')
    await page.fill('#password', 'koala')
    await page.click('input[type=submit]')
    await page.waitForURL(url => !url.pathname.endsWith('/login')) // and its script has run
  }

  /** Disables passkey autofill, which the virtual user would accept before the button is pressed. */
  const withoutAutofill = (page: Page): Promise<unknown> =>
    page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false')

  /** Creates a passkey at the first sign-in, ends the session and makes the authenticator unresponsive. */
  async function enrolled(page: Page, prefix = ''): Promise<VirtualAuthenticator> {
    const authenticator = await addVirtualAuthenticator(page)
    await typePassword(page, `${prefix}/profile`)
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.click('main > a.button')
    await page.waitForURL(`${base}${prefix}/profile`)
    await page.context().clearCookies()
    await authenticator.answers(false)
    return authenticator
  }

  it('signs in with the button and continues the request, with acr phr', async () => {
    const page = await open()
    await withoutAutofill(page)
    const authenticator = await enrolled(page)
    await authenticator.answers(true)
    const { id } = await userNamed(server, 'marissa')
    server.clock.advance(60)
    const request = { ...APP_REQUEST, acr_values: 'phr' }
    await page.goto(`${base}/oauth/authorize?${new URLSearchParams(request).toString()}`)
    await page.getByRole('button', BUTTON).click()
    await page.waitForURL(/\/oauth\/authorize/)
    const [session] = await server.store.sessions.listOfUser('svc', id, server.clock.now())
    assert.deepEqual(session?.signIn?.amr, ['pop', 'user', 'mfa'])
    assert.deepEqual(session?.signIn?.acr, ['phr'])
    await page.context().close()
  })

  it('steps up a password sign-in to the requested acr', async () => {
    const page = await open()
    await setPolicy(server, { requirement: 'required' })
    const authenticator = await enrolled(page)
    await setPolicy(server, { requirement: 'optional', rememberDays: 1 })
    await typePassword(page)
    const request = new URLSearchParams({ ...APP_REQUEST, acr_values: 'phr' }).toString()
    await page.goto(`${base}/oauth/authorize?${request}`)
    await page.waitForURL(`${base}/second_factor`)
    await authenticator.answers(true)
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.waitForURL(/\/oauth\/authorize/)
    const { id } = await userNamed(server, 'marissa')
    const [session] = await server.store.sessions.listOfUser('svc', id, server.clock.now())
    assert.deepEqual(session?.signIn?.amr, ['pwd', 'pop', 'mfa'])
    assert.deepEqual(session?.signIn?.acr, ['phr'])
    await page.context().close()
  })

  it('reports a failed attempt, keeps the typed name, and allows another', async () => {
    const page = await open()
    await withoutAutofill(page)
    const authenticator = await enrolled(page)
    await authenticator.verifies(false)
    await authenticator.answers(true)
    await page.goto(`${base}/login`)
    await page.fill('#username', 'marissa')
    const events = server.events.length
    await page.getByRole('button', BUTTON).click()
    await page.getByText('No passkey was used. Try again, or sign in another way.').waitFor()
    assert.equal(await page.inputValue('#username'), 'marissa')
    assert.equal(server.events.length, events, 'no request was sent')
    await authenticator.verifies(true)
    await page.getByRole('button', BUTTON).click()
    await page.waitForURL(url => url.pathname !== '/login')
    await page.context().close()
  })

  it('requests a new challenge before the old one expires', async () => {
    const page = await open()
    await enrolled(page)
    await page.clock.install()
    const asked: string[] = []
    page.on('request', request => {
      if (request.url().endsWith('/login/passkey/options')) asked.push(request.url())
    })
    await page.goto(`${base}/login`)
    const until = async (count: number): Promise<void> => {
      for (let attempt = 0; asked.length < count && attempt < 150; attempt += 1) await page.evaluate('1')
      assert.equal(asked.length, count)
    }
    await until(1)
    await page.clock.runFor(200_000)
    await until(1)
    await page.clock.runFor(80_000)
    await until(2)
    await page.context().close()
  })

  it('reports an outdated page, and continues after sign-in in another tab', async () => {
    const page = await open()
    await withoutAutofill(page)
    await enrolled(page)
    await setPolicy(server, { requirement: 'optional', methods: ['passkey'], origins: ['svc'] })
    await page.goto(`${base}/profile`)
    await page.context().clearCookies({ name: 'svc-visitor' })
    await page.getByRole('button', BUTTON).click()
    await page.getByText('The page was open for too long').waitFor()
    const other = await page.context().newPage()
    const authenticator = await addVirtualAuthenticator(other)
    assert.ok(authenticator)
    await server.store.factors.reset('svc', (await userNamed(server, 'marissa')).id)
    await typePassword(other)
    await page.getByRole('button', BUTTON).click()
    await page.waitForURL(`${base}/profile`)
    await page.context().close()
  })

  it('refuses a passkey of another zone', async () => {
    const page = await open()
    for (const zone of ['x', 'y']) {
      const found = await server.store.zones.find(zone)
      assert.ok(found)
      await server.store.zones.update({
        ...found,
        config: { ...found.config, secondFactor: { requirement: 'required' } },
      })
    }
    await withoutAutofill(page)
    const authenticator = await enrolled(page, '/z/x')
    await authenticator.answers(true)
    await page.goto(`${base}/z/y/login`)
    await page.getByRole('button', BUTTON).click()
    await page.getByText('That passkey was not accepted.').waitFor()
    await page.goto(`${base}/z/x/login`)
    await page.getByRole('button', BUTTON).click()
    await page.waitForURL(`${base}/z/x/`)
    await page.context().close()
  })

  it('refuses a removed passkey', async () => {
    const page = await open()
    await withoutAutofill(page)
    const authenticator = await enrolled(page)
    await authenticator.answers(true)
    await server.store.factors.reset('svc', (await userNamed(server, 'marissa')).id)
    await page.goto(`${base}/login`)
    await page.getByRole('button', BUTTON).click()
    await page.getByText('That passkey was not accepted.').waitFor()
    await page.context().close()
  })

  it('is hidden without scripts', async () => {
    const page = await open({ javaScriptEnabled: false })
    await page.goto(`${base}/login`)
    assert.equal(await page.locator('form[data-passkey]').isVisible(), false)
    await page.context().close()
  })

  for (const [name, options] of looks) {
    it(`is accessible (${name})`, async () => {
      const page = await open({ ...options, reducedMotion: 'reduce' })
      await addVirtualAuthenticator(page)
      await page.goto(`${base}/login`)
      await page.getByRole('button', BUTTON).waitFor()
      const check = async (label: string): Promise<void> => {
        await assertAccessible(page, label)
        const folder = process.env['SCREENSHOTS']
        if (folder !== undefined) await page.screenshot({ path: `${folder}/${label} ${name}.png`, fullPage: true })
      }
      await check('sign-in')
      await page.getByRole('button', BUTTON).click()
      await page.getByText('No passkey was used.').waitFor()
      await check('not used')
      await page.goto(`${base}/login?error=passkey_refused`)
      await check('refused')
      await page.context().close()
    })
  }
})
