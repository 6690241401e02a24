// The offer of a passkey after a password sign-in, once per user.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { APP_REQUEST, authorizeBootstrap } from '../support/authorize.ts'
import { createAuthenticator } from '../support/authenticator.ts'
import { hiddenFields, unescaped } from '../support/forms.ts'
import { MODES, userNamed } from '../support/oauth.ts'
import { setPolicy } from '../support/second-factor.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const BASE = 'http://localhost:8080'
const OFFER = `${BASE}/profile/security/offer`
const AUTHORIZE = `/oauth/authorize?${new URLSearchParams(APP_REQUEST).toString()}`
const device = createAuthenticator(BASE)

const locationOf = ({ headers }: TestAnswer): string => String(headers['location'])

for (const mode of MODES) {
  describe(`Passkey offer in ${mode}`, () => {
    let server: TestServer
    let browser: Browser
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
    })
    beforeEach(async () => {
      await setPolicy(server, { requirement: 'optional' })
      browser = server.browser()
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    /** Signs in with a browser that supports passkeys. */
    async function signIn(userName = 'marissa', password = 'koala', more: object = { can_passkey: 'true' }) {
      const { text } = await browser.send('/login')
      return browser.send('/login.do', { form: { ...hiddenFields(text), username: userName, password, ...more } })
    }

    // Covers any /profile/security/offer: rule: can be declined permanently
    it('is shown if the browser supports passkeys, and never again once declined', async () => {
      await browser.send(AUTHORIZE)
      assert.equal(locationOf(await signIn()), OFFER)
      const page = await browser.send('/profile/security/offer')
      assert.equal(page.status, 200)
      assert.match(page.text, /data-passkey="create"/)
      const declined = await browser.send('/profile/security/offer', { form: hiddenFields(page.text) })
      assert.equal(locationOf(declined), BASE + AUTHORIZE)
      browser = server.browser()
      assert.equal(locationOf(await signIn()), `${BASE}/`)
      assert.equal(locationOf(await browser.send('/profile/security/offer')), `${BASE}/`)
      assert.equal((await userNamed(server, 'joel')).factors, undefined, 'for this user only')
    })

    it('continues the request when accepted', async () => {
      await browser.send(AUTHORIZE)
      await signIn('sam', 'dingo')
      const page = await browser.send('/profile/security/offer')
      const options: unknown = JSON.parse(unescaped(/data-options="([^"]*)"/.exec(page.text)?.[1] ?? ''))
      const post = async (credential: string) =>
        browser.send('/profile/security/passkey', {
          form: { ...hiddenFields(page.text), offered: 'true', credential },
        })
      const failed = await post('')
      assert.equal(failed.status, 422)
      assert.match(failed.text, /Not now/, 'it can still be declined')
      const added = await post(JSON.stringify(device.create(options).answer))
      assert.equal(added.status, 200)
      assert.ok(unescaped(added.text).includes(`href="${BASE}${AUTHORIZE}"`))
      browser = server.browser()
      assert.equal(locationOf(await signIn('sam', 'dingo')), `${BASE}/second_factor`)
    })

    it('is not shown to browsers without passkeys, nor if the policy excludes them', async () => {
      assert.equal(locationOf(await signIn('joel', 'wombat', {})), `${BASE}/`)
      for (const policy of [
        { requirement: 'off' },
        { requirement: 'optional', methods: ['totp'] },
        { requirement: 'optional', origins: ['ldap'] },
      ] as const) {
        await setPolicy(server, policy)
        browser = server.browser()
        assert.equal(locationOf(await signIn('joel', 'wombat')), `${BASE}/`, JSON.stringify(policy))
      }
      await setPolicy(server, { requirement: 'required' })
      browser = server.browser()
      assert.equal(
        locationOf(await signIn('joel', 'wombat')),
        `${BASE}/second_factor`,
        'a second factor is required instead',
      )
      await setPolicy(server, { requirement: 'optional' })
      browser = server.browser()
      await browser.send('/profile/security/app')
      assert.equal(
        locationOf(await signIn('joel', 'wombat')),
        `${BASE}/profile/security/app`,
        'enrolment was requested',
      )
    })

    it('requires the anti-forgery token', async () => {
      await signIn('joel', 'wombat')
      const forged = await browser.send('/profile/security/offer', { form: {} })
      assert.equal(forged.status, 403)
      assert.equal((await userNamed(server, 'joel')).factors, undefined)
    })
  })
}
