// Self-service in a real browser with a real mail server: sign-up, verification, change of address and password, and password
// reset. Checks each page narrow and wide.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchBrowser } from '../../support/browser.ts'
import { smtpAt, startMailServer } from '../../support/mail-server.ts'
import type { MailServer } from '../../support/mail-server.ts'
import { assertAccessible, assertFits } from '../../support/page-checks.ts'
import { serve } from '../../support/process.ts'
import type { ServerProcess } from '../../support/process.ts'
import { modesInBrowser } from '../../support/thinning.ts'

const FIRST = 'a sea of green glass'
const SECOND = 'a hill of grey stone'
const THIRD = 'a lake of brown tea'

for (const mode of modesInBrowser('standard')) {
  describe(`Self-service in a browser in ${mode}`, () => {
    let mails: MailServer
    let server: ServerProcess
    let browser: Browser
    let context: BrowserContext
    let page: Page
    before(async () => {
      mails = await startMailServer()
      server = await serve({
        config: { compatibility: mode, master_key: 'ab'.repeat(32), smtp: { ...smtpAt(mails.port), rate: 1000 } },
      })
      browser = await launchBrowser()
      context = await browser.newContext({ locale: 'en', colorScheme: mode === 'uaa' ? 'dark' : 'light' })
      page = await context.newPage()
    })
    after(async () => {
      await browser.close()
      assert.equal((await server.stop()).status, 0)
      await mails.stop()
    })

    const path = (): string => page.url().slice(server.baseUrl.length)
    const heading = (): Promise<string> => page.innerText('h1')

    /** Fills in the fields by their ids, and sends the form. */
    async function submit(fields: Readonly<Record<string, string>> = {}): Promise<void> {
      for (const [id, text] of Object.entries(fields)) await page.fill(`#${id}`, text)
      await page.click('main form input[type=submit]')
    }
    const signIn = (name: string, password: string): Promise<void> => submit({ username: name, password })

    /** Checks the page narrow and wide. */
    async function inspect(): Promise<void> {
      const where = `${path()} ${await heading()}`
      for (const width of [320, 1280]) {
        await page.setViewportSize({ width, height: 800 })
        // The markup is the same in both modes; only the texts differ.
        await (mode === 'uaa' ? assertFits : assertAccessible)(page, `${where} at ${width}`)
      }
    }

    /** The link to this page in the first mail to the address that has one. */
    async function linkMailedTo(address: string, to: string): Promise<string> {
      for (let place = 0; ; place += 1) {
        await mails.has(place + 1)
        const mail = mails.received[place]
        const text = mail?.source.replaceAll('=\r\n', '').replaceAll('=3D', '=') ?? ''
        const [link] = /http:\/\/localhost:\d+\/\S+code=[\w-]+/.exec(text) ?? []
        if (mail?.to[0] === address && link?.startsWith(`${server.baseUrl}${to}?`)) return link.replaceAll('&amp;', '&')
      }
    }

    it('signs up and verifies the account with the mailed link', async () => {
      await page.goto(`${server.baseUrl}/login`)
      await page.click('a[href*="/create_account"]')
      await inspect()
      await submit({ email: 'ann@example.org', password: FIRST, password_confirmation: 'something else' })
      await inspect()
      await submit({ email: 'ann@example.org', password: FIRST, password_confirmation: FIRST })
      assert.equal(path(), '/accounts/email_sent')
      await inspect()
      await page.goto(await linkMailedTo('ann@example.org', '/verify_user'))
      assert.match(path(), /^\/verify_user\?/)
      await inspect()
      await submit()
      assert.match(path(), /^\/login\?success=verify_success/)
      await inspect()
      await signIn('ann@example.org', FIRST)
      await page.goto(`${server.baseUrl}/profile`)
      assert.match(await page.innerText('main'), /ann@example\.org/)
      await inspect()
    })

    it('changes the address with a link mailed to the new one', async () => {
      await page.click('a[href*="change_email"]')
      await inspect()
      await submit({ newEmail: 'ann@new.example' })
      await page.goto(await linkMailedTo('ann@new.example', '/verify_email'))
      assert.match(path(), /^\/verify_email\?/)
      await inspect()
      await submit()
      await page.goto(`${server.baseUrl}/profile`)
      if (path().startsWith('/login')) await signIn('ann@new.example', FIRST)
      assert.match(await page.innerText('main'), /ann@new\.example/)
    })

    it('changes the password and ends other sessions', async () => {
      const elsewhere = await (await browser.newContext()).newPage()
      await elsewhere.goto(`${server.baseUrl}/login`)
      await elsewhere.fill('#username', 'ann@new.example')
      await elsewhere.fill('#password', FIRST)
      await elsewhere.click('main form input[type=submit]')
      await elsewhere.goto(`${server.baseUrl}/profile`)
      assert.match(elsewhere.url(), /\/profile$/)
      await page.goto(`${server.baseUrl}/change_password`)
      await inspect()
      await submit({ current_password: 'wrong', new_password: SECOND, confirm_password: SECOND })
      await inspect()
      await submit({ current_password: FIRST, new_password: SECOND, confirm_password: SECOND })
      await page.goto(`${server.baseUrl}/profile`)
      assert.match(path(), /^\/profile/)
      await elsewhere.reload()
      assert.match(elsewhere.url(), /\/login/)
      await elsewhere.context().close()
    })

    it('resets a forgotten password by mail', async () => {
      await context.clearCookies()
      await page.goto(`${server.baseUrl}/login`)
      await signIn('ann@new.example', FIRST)
      assert.match(path(), /^\/login\?error=/)
      await page.click('a[href*="/forgot_password"]')
      await inspect()
      if (mode === 'standard') {
        await submit()
        assert.equal(path(), '/forgot_password', 'an empty form does not claim that a mail was sent')
        assert.ok(await page.$eval('#username', field => field.matches(':focus:invalid')))
      }
      await submit({ username: 'ann@new.example' })
      assert.match(path(), /^\/email_sent/)
      await inspect()
      const link = await linkMailedTo('ann@new.example', '/reset_password')
      await page.goto(link)
      await inspect()
      await submit({ password: THIRD, password_confirmation: SECOND })
      await inspect()
      await submit({ password: THIRD, password_confirmation: THIRD })
      await context.clearCookies()
      await page.goto(`${server.baseUrl}/login`)
      await signIn('ann@new.example', SECOND)
      assert.match(path(), /^\/login\?error=/)
      await signIn('ann@new.example', THIRD)
      await page.goto(`${server.baseUrl}/profile`)
      assert.match(path(), /^\/profile/)
      await page.goto(link)
      assert.match(await page.innerText('main'), /no longer valid/)
      await inspect()
    })
  })
}
