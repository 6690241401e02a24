// Texts and selectors of UAA's pages that scripts and tests of its users rely on, in a browser without scripts.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { authorizeBootstrap } from '../support/authorize.ts'
import { launchBrowser } from '../support/browser.ts'
import { setCookies } from '../support/forms.ts'
import { changeUser } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

describe('Pages in uaa in a browser', () => {
  let server: TestServer
  let browser: Browser
  let base: string
  let port: number

  before(async () => {
    const free = createServer().listen(0, '127.0.0.1')
    await new Promise(resolve => free.once('listening', resolve))
    port = (free.address() as AddressInfo).port // no pipe
    await new Promise(resolve => free.close(resolve))
    base = `http://localhost:${port}/uaa`
    server = await startServer({
      mode: 'uaa',
      config: {
        base_url: base,
        bootstrap: {
          ...authorizeBootstrap,
          users: [
            ...authorizeBootstrap.users,
            { userName: 'late', password: 'late-password', emails: [{ value: 'late@example.org' }] },
          ],
          identity_zones: [
            {
              id: 'choice',
              subdomain: 'choice',
              name: 'Choice',
              config: { idpDiscoveryEnabled: true, accountChooserEnabled: true },
              bootstrap: {
                users: [{ userName: 'mia@example.org', password: 'koala', emails: [{ value: 'mia@example.org' }] }],
              },
            },
          ],
        },
        zone_config: { branding: { banner: { text: 'Maintenance' } } },
      },
    })
    await changeUser(server, 'late', { passwordChangeRequired: true })
    await server.app.http.listen({ host: '127.0.0.1', port })
    browser = await launchBrowser()
  })
  after(async () => {
    await browser.close()
    await server.stop()
  })

  const open = async (): Promise<Page> => (await browser.newContext({ javaScriptEnabled: false })).newPage()
  const signIn = async (page: Page, name = 'marissa', password = 'koala'): Promise<void> => {
    await page.goto(`${base}/login`)
    await page.fill('input[name=username]', name)
    await page.fill('input[name=password]', password)
    await page.click('input[type=submit]')
  }
  const first = async (page: Page, selector: string): Promise<string> => page.locator(selector).first().innerText()

  // Covers compatibility: pages, headers, cookies: P4 texts
  it('have UAA’s sign-in page', async () => {
    const page = await open()
    await page.goto(`${base}/login`)
    assert.equal(await page.title(), 'Cloud Foundry')
    assert.equal(await first(page, 'h1'), 'Welcome!')
    assert.equal(await page.getAttribute('input[name=password]', 'autocomplete'), 'off')
    assert.match(await first(page, '.footer .copyright'), /^Copyright © Cloud Foundry \d{4}\. All Rights Reserved\.$/)
    assert.match((await page.getAttribute('.footer .copyright', 'title')) ?? '', / UAA: http:\/\/localhost:\d+\/uaa$/)
    assert.equal(await first(page, '.banner-header span'), 'Maintenance')
    await signIn(page, 'marissa', 'wrong')
    assert.equal(await first(page, '.alert-error p'), 'Provided credentials are invalid. Please try again.')
  })

  it('have UAA’s home page with a menu for sign-out', async () => {
    const page = await open()
    await signIn(page)
    assert.equal(await first(page, 'h1'), 'Where to?')
    assert.equal(await page.getByRole('link', { name: 'Sign Out' }).isVisible(), false)
    assert.equal(await first(page, '.island h1'), 'Where to?')
    assert.match(await first(page, '.header .nav'), /marissa/)
    await page.click('.dropdown-trigger')
    await page.getByRole('link', { name: 'Account Settings', exact: true }).first().click()
    assert.equal(await first(page, 'h1'), 'Account Settings')
    await page.click('#nav-dropdown-button')
    assert.ok(await page.isVisible('#nav-dropdown-content-profile'))
    await page.click('#nav-dropdown-content-logout')
    assert.equal(await first(page, 'h1'), 'Welcome!')
    await page.goto(`${base}/home`)
    assert.equal(page.url(), `${base}/login`)
  })

  it('have UAA’s discovery and account chooser', async () => {
    const page = await open()
    const zone = base.replace('localhost', 'choice.localhost')
    const discover = async (): Promise<void> => {
      await page.fill('#email', 'mia@example.org')
      await page.click('.form-group input[value=Next]')
      await page.fill('#password', 'koala')
      await page.click('input[value="Sign in"]')
      assert.equal(await first(page, '.island h1'), 'Where to?')
      await page.goto(`${zone}/logout.do`)
      await page.goto(`${zone}/login`)
    }
    await page.goto(`${zone}/login`)
    await discover()
    assert.equal(await first(page, 'div.action a'), 'Sign in to another account')
    await page.click('div.action a')
    await discover()
    assert.match(await first(page, 'span.email-address'), /^mia@example\.org\s+\(origin: svc\)$/)
    await page.click("xpath=//span[contains(text(), 'mia@')]")
    assert.equal(await page.inputValue('#username'), 'mia@example.org')
    assert.match(page.url(), /login_hint/)
  })

  it('have UAA’s approval page', async () => {
    const page = await open()
    await signIn(page)
    const query = 'response_type=code&client_id=app&scope=openid+cloud.read&redirect_uri=https%3A%2F%2Fapp.example%2Fcb'
    await page.goto(`${base}/oauth/authorize?${query}`)
    assert.equal(await first(page, 'h1'), 'Application Authorization')
    assert.equal(await first(page, 'h2'), 'The application')
    assert.match(await first(page, '#application_authorization'), /You can change your approval of permissions/)
    assert.ok(await page.isVisible('#authorize'))
    const text = 'Know who you are'
    assert.ok(await page.isChecked(`xpath=//label[text()='${text}']/preceding-sibling::input`))
  })

  it('have UAA’s email address on the profile and change_email pages', async () => {
    const page = await open()
    await signIn(page)
    await page.goto(`${base}/profile`)
    assert.equal(await first(page, '.profile .email'), 'marissa@example.org')
    await page.goto(`${base}/change_email`)
    assert.equal(await first(page, '.email-display'), 'Current Email Address: marissa@example.org')
  })

  it('have UAA’s email_sent pages', async () => {
    const page = await open()
    await page.goto(`${base}/email_sent?code=reset_password`)
    assert.equal(await first(page, '.instructions-sent'), 'Please check your email for a reset password link.')
    await page.goto(`${base}/accounts/email_sent`)
    assert.equal(await first(page, '.instructions-sent'), 'Please check email for an activation link.')
    assert.equal(await page.locator('input[disabled]').inputValue(), 'Email successfully sent')
    assert.equal(await first(page, 'h1'), 'Create your account')
  })

  it('have UAA’s forced password change', async () => {
    const page = await open()
    await signIn(page, 'late', 'late-password')
    assert.equal(page.url(), `${base}/force_password_change`)
    assert.equal(await first(page, 'h1'), 'Force Change Password')
    await page.click('input[type=submit]')
    assert.equal(await first(page, '.error-message'), 'Passwords must match and not be empty.')
  })

  const errors: readonly { path: string; status: number; h2: string; p?: string; host?: string }[] = [
    { path: '/authenticate', status: 405, h2: 'Uh oh. Something went amiss.' },
    { path: '/error', status: 200, h2: 'Uh oh. Something went amiss.' },
    {
      path: '/login;endpoint=x',
      status: 400,
      h2: 'The request was rejected because it contained a potentially malicious character.',
    },
    {
      path: '/login',
      host: 'none.localhost',
      status: 404,
      h2: 'Uh oh. Something went amiss.',
      p: 'The subdomain does not map to a valid identity zone.',
    },
    {
      path: '/oauth_error',
      status: 200,
      h2: 'There was an error when authenticating against the external identity provider',
    },
  ]
  for (const { path, status, h2, p, host = 'localhost' } of errors) {
    it(`have UAA’s error text at ${host} ${path}`, async () => {
      const page = await open()
      const answer = await page.goto(`http://${host}:${port}/uaa${path}`)
      assert.equal(answer?.status(), status)
      assert.equal(await first(page, 'h2'), h2)
      if (p !== undefined) assert.equal(await first(page, 'p'), p)
    })
  }

  it('have UAA’s error page for a wrong anti-forgery token', async () => {
    const visitor = server.browser()
    const page = await visitor.send('/uaa/login')
    const fields = { 'X-Svc-Csrf': /name="X-Svc-Csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? '' }
    await visitor.send('/uaa/login.do', { form: { ...fields, username: 'marissa', password: 'koala' } })
    const refused = await visitor.send('/uaa/profile', { form: { update: 'update' } })
    assert.equal(refused.status, 403)
    assert.match(refused.text, /Warning: Invalid Request Error/)
    assert.match(
      refused.text,
      /<h2>You have attempted to make a request that does not meet our security requirements\./,
    )
  })

  it('set a session cookie before sign-in, for the base path', async () => {
    for (const path of ['/uaa/', '/uaa/profile', '/uaa/oauth/authorize?client_id=app&response_type=code']) {
      const answer = await server.send(path)
      assert.equal(answer.headers['location'], `${base}/login`)
      assert.match(setCookies(answer)['JSESSIONID'] ?? '', /^JSESSIONID=[\w-]{43}; Path=\/uaa; HttpOnly;/)
    }
    const chosen = await server.send('/uaa/profile', { cookies: { JSESSIONID: 'A'.repeat(43) } })
    assert.notEqual(chosen.cookies['JSESSIONID'], 'A'.repeat(43))
  })

  it('redirect the base path to a trailing slash', async () => {
    for (const [path, to] of [
      ['/uaa', '/'],
      ['/uaa?x', '/?x'],
    ] as const) {
      const answer = await server.send(path)
      assert.deepEqual([answer.status, answer.headers['location']], [302, base + to])
    }
  })
})
