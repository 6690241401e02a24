// Self-service flows end at the application that started them, after the user has signed in.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { CompatibilityMode } from '../../../src/model/compatibility.ts'
import { hiddenFields } from '../../support/forms.ts'
import { tokensOf } from '../../support/oauth.ts'
import { NEW_PASSWORD, confirmed, linkTo, signUpWith, submitted } from '../../support/self-service.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { defaultBootstrap, startServer } from '../../support/server.ts'

const APP = 'https://shop.example/cb?from=mail'
const WELCOME = 'https://shop.example/welcome'
const requestedReturn = { client_id: 'shop', redirect_uri: APP }
const passwords = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD }

for (const mode of ['standard', 'uaa'] as const satisfies readonly CompatibilityMode[]) {
  describe(`GET /continue in ${mode}`, () => {
    let server: TestServer

    before(async () => {
      const shop = {
        client_id: 'shop',
        client_secret: 'secret',
        authorized_grant_types: ['authorization_code', 'client_credentials'],
        scope: ['openid'],
        authorities: ['scim.invite'],
        redirect_uri: [APP],
        signup_redirect_url: WELCOME,
      }
      const clients = [...defaultBootstrap.clients, shop]
      server = await startServer({ mode, config: { bootstrap: { ...defaultBootstrap, clients } } })
    })
    after(() => server.stop())

    /** Signs in on the last page of a self-service flow, and follows our own redirects. */
    async function finish(browser: Browser, done: TestAnswer, username: string, password: string): Promise<string> {
      const { pathname, search } = done.location()
      assert.equal(pathname, '/login')
      const page = await browser.send(pathname + search)
      const form = { ...hiddenFields(page.text), username, password }
      let { href } = (await browser.send('/login.do', { form })).location()
      if (href.startsWith(`${server.baseUrl}/continue`)) {
        href = (await browser.send(href.slice(server.baseUrl.length))).location().href
      }
      return href
    }

    // Covers GET /continue: rule: redirects to the application
    it('redirects to the application after sign-up', async () => {
      const browser = server.browser()
      await signUpWith(browser, 'new@shop.example', requestedReturn)
      const done = await confirmed(browser, await linkTo(server, 'new@shop.example'))
      assert.equal(await finish(browser, done, 'new@shop.example', NEW_PASSWORD), APP)
    })

    it('redirects to signup_redirect_url if no redirect_uri was requested', async () => {
      const browser = server.browser()
      await signUpWith(browser, 'newer@shop.example', { client_id: 'shop' })
      const done = await confirmed(browser, await linkTo(server, 'newer@shop.example'))
      assert.equal(await finish(browser, done, 'newer@shop.example', NEW_PASSWORD), WELCOME)
    })

    it('redirects to the application after a failed and a successful sign-in', async () => {
      const browser = server.browser()
      await signUpWith(browser, 'typo@shop.example', requestedReturn)
      const done = await confirmed(browser, await linkTo(server, 'typo@shop.example'))
      await finish(browser, done, 'typo@shop.example', 'wrong')
      assert.equal(await finish(browser, done, 'typo@shop.example', NEW_PASSWORD), APP)
    })

    it('redirects to the application after a password reset', async () => {
      const browser = server.browser()
      await submitted(browser, '/forgot_password', {
        action: '/forgot_password.do',
        username: 'joel',
        ...requestedReturn,
      })
      const link = await linkTo(server, 'joel@example.org')
      const done = await submitted(browser, link, { action: '/reset_password.do', ...passwords })
      assert.equal(await finish(browser, done, 'joel', NEW_PASSWORD), APP)
    })

    it('redirects to the application after an invitation', async () => {
      const bearer = tokensOf(
        await server.token({ grant_type: 'client_credentials' }, { basic: ['shop', 'secret'] }),
      ).access_token
      const query = { redirect_uri: APP }
      const body = JSON.stringify({ emails: ['guest@shop.example'] })
      const headers = { 'content-type': 'application/json' }
      const invited = await server.send('/invite_users', { method: 'POST', bearer, query, body, headers })
      const { new_invites } = invited.json<{ new_invites: readonly { inviteLink: string }[] }>()
      const link = new_invites[0]?.inviteLink.slice(server.baseUrl.length) ?? assert.fail(invited.text)
      const browser = server.browser()
      const done = await submitted(browser, link, { action: '/invitations/accept.do', ...passwords })
      assert.equal(await finish(browser, done, 'guest@shop.example', NEW_PASSWORD), APP)
    })

    it('redirects to the application after an email change confirmed in another browser', async () => {
      const owner = server.browser()
      await owner.signIn('marissa', 'koala')
      const newEmail = 'marissa@shop.example'
      await submitted(owner, '/change_email', { action: '/change_email.do', newEmail, ...requestedReturn })
      const browser = server.browser()
      const done = await confirmed(browser, await linkTo(server, newEmail))
      assert.equal(await finish(browser, done, 'marissa', 'koala'), APP)
    })

    // Covers GET /continue: error: any other URL
    it('redirects to the home page for any other URL', async () => {
      for (const query of [
        {},
        { client_id: 'shop' },
        { redirect_uri: APP },
        { client_id: 'nobody', redirect_uri: APP },
        { client_id: 'app', redirect_uri: APP },
        { client_id: 'shop', redirect_uri: 'https://evil.example/' },
        { client_id: 'shop', redirect_uri: 'https://shop.example.evil.example/cb?from=mail' },
        { client_id: 'shop', redirect_uri: 'https://shop.example@evil.example/cb?from=mail' },
        { client_id: 'shop', redirect_uri: 'javascript:alert(1)' },
        { client_id: 'shop', redirect_uri: `https://shop.example/${'x'.repeat(5000)}` },
      ] as const) {
        const answer = await server.send('/continue', { query })
        assert.equal(answer.location().href, `${server.baseUrl}/home`, JSON.stringify(query).slice(0, 100))
      }
    })
  })
}
