import assert from 'node:assert/strict'
import { APP_REQUEST, authorize, authorizeBootstrap, AUTO_REQUEST, signedIn } from '../support/authorize.ts'
import { hiddenFields } from '../support/forms.ts'
import { MODES, userNamed } from '../support/oauth.ts'
import type { AuthenticatorApp } from '../support/second-factor.ts'
import { enrolApp, prove, setPolicy } from '../support/second-factor.ts'
import { linkTo, NEW_PASSWORD, submitted } from '../support/self-service.ts'
import type { Browser, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

/** A server whose zone requires a second factor, and marissa’s, of which the attacker has the password alone. */
interface Guarded {
  readonly server: TestServer
  readonly app: AuthenticatorApp
  readonly codes: readonly string[]
  /** The browser in which marissa has proven her factor. */
  readonly owner: Browser
}

const PAGE = 'http://localhost:8080/second_factor'

/** Runs the attempt in both modes. */
async function inBothModes(attempt: (guarded: Guarded) => Promise<void>): Promise<void> {
  for (const mode of MODES) {
    const server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
    try {
      await setPolicy(server, { requirement: 'required', rememberDays: 30 })
      const owner = await signedIn(server)
      const { app, codes } = await enrolApp(server, owner)
      server.clock.advance(60)
      await attempt({ server, app, codes, owner })
      assert.deepEqual(server.faults, [])
    } finally {
      await server.stop()
    }
  }
}

/** Whether the browser is past the second factor. */
const isIn = async (browser: Browser): Promise<boolean> => (await browser.send('/home')).status === 200

/** The anti-forgery field, as a form of a page has it. */
const genuine = ({ csrf }: Browser): Record<string, string> => ({ 'X-Svc-Csrf': csrf, 'X-Uaa-Csrf': csrf })

/** Which page the browser is led to, wherever it goes. */
const leadsTo = async (browser: Browser): Promise<string> => String((await browser.send('/')).headers['location'])

const RESPONSE_TYPES = ['code', 'token', 'id_token', 'token id_token', 'code id_token', 'code token', 'none']

/** Ways around the page of the second factor, with the password or with a browser of the person. */
export const secondFactorAttacks: readonly Attack[] = [
  {
    attack: 'opens every page, and posts every form, of signed-in people with the password alone',
    outcome: 'each leads to the second factor',
    attempt: () =>
      inBothModes(async ({ server }) => {
        const browser = await signedIn(server)
        const own = server.app.routes.filter(({ access }) => access.by === 'session' && !access.whileDemanded)
        assert.ok(own.length > 8)
        for (const { method, url } of own) {
          const path = url.replaceAll(/:\w+/g, 'x')
          const answer = await browser.send(path, { method, ...(method === 'POST' && { form: genuine(browser) }) })
          assert.equal(answer.headers['location'], PAGE, `${method} ${path}`)
        }
      }),
  },
  {
    attack: 'goes to the page of the forced new password, which comes after the second factor',
    outcome: 'nothing is asked and nothing set',
    attempt: () =>
      inBothModes(async ({ server }) => {
        const marissa = await userNamed(server, 'marissa')
        await server.store.users.requirePasswordChange('svc', marissa.id)
        const browser = await signedIn(server)
        assert.equal((await browser.send('/force_password_change')).status, 302)
        const form = { ...genuine(browser), password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD }
        await browser.send('/force_password_change', { form })
        await browser.send('/force_password_change_completed')
        assert.equal((await userNamed(server, 'marissa')).passwordHash, marissa.passwordHash)
        assert.equal(await leadsTo(browser), PAGE)
      }),
  },
  {
    attack: 'goes straight to /oauth/authorize, by every response type, method, prompt and hint',
    outcome: 'no code and no token',
    attempt: () =>
      inBothModes(async ({ server, owner }) => {
        const { id } = await userNamed(server, 'marissa')
        const browser = await signedIn(server)
        for (const responseType of RESPONSE_TYPES) {
          for (const more of [{}, { prompt: 'none' }, { prompt: 'consent' }, { login_hint: 'marissa' }, { sub: id }]) {
            const query = { ...AUTO_REQUEST, client_id: 'hybrid', response_type: responseType, nonce: 'n', ...more }
            for (const request of [{ query }, { form: { ...query, ...genuine(browser) } }]) {
              const { headers } = await browser.send('/oauth/authorize', request)
              assert.doesNotMatch(String(headers['location']), /[?&#](code|access_token|id_token)=/)
            }
          }
        }
        assert.equal(server.events.filter(({ type }) => type === 'TokenIssuedEvent').length, 0)
        const code = (await authorize(owner, AUTO_REQUEST)).location().searchParams.get('code')
        assert.ok(code !== null, 'the owner gets one')
      }),
  },
  {
    attack: 'opens the question for approval before the policy is there, and answers it afterwards',
    outcome: 'nothing is approved before the second factor',
    attempt: () =>
      inBothModes(async ({ server }) => {
        await setPolicy(server, { requirement: 'off' })
        const browser = await signedIn(server, 'joel', 'wombat')
        const page = await authorize(browser, { ...APP_REQUEST, scope: 'openid' })
        assert.match(page.text, /user_oauth_approval/)
        await setPolicy(server, { requirement: 'required' })
        const form = { ...hiddenFields(page.text), user_oauth_approval: 'true', 'scope.0': 'scope.openid' }
        const { headers } = await browser.send('/oauth/authorize', { form })
        assert.equal(headers['location'], PAGE)
      }),
  },
  {
    attack: 'guesses one-time passwords, and signs in with the password between the guesses',
    outcome: 'the account is locked all the same',
    attempt: () =>
      inBothModes(async ({ server, app }) => {
        const before = await signedIn(server)
        for (let guess = 0; guess < 5; guess += 1) await prove(await signedIn(server), { code: '000000' })
        const { headers } = await server.browser().signIn('marissa', 'koala')
        assert.match(String(headers['location']), /error=/)
        assert.equal((await prove(before, { code: app.code(server) })).status, 422, 'nor is the right one taken')
      }),
  },
  {
    attack: 'guesses one-time passwords, and sets a new password by mail between the guesses',
    outcome: 'the account is locked all the same',
    attempt: () =>
      inBothModes(async ({ server }) => {
        const { id } = await userNamed(server, 'marissa')
        let password = 'koala'
        for (let round = 0; round < 2; round += 1) {
          const browser = await signedIn(server, 'marissa', password)
          for (let guess = 0; guess < 3; guess += 1) await prove(browser, { code: '000000' })
          await submitted(server.browser(), '/forgot_password', { action: '/forgot_password.do', username: 'marissa' })
          const link = await linkTo(server, 'marissa@example.org')
          password = `${NEW_PASSWORD} ${round}`
          const fields = { password, password_confirmation: password }
          const reset = await submitted(server.browser(), link, { action: '/reset_password.do', ...fields })
          assert.match(String(reset.headers['location']), /password_reset/)
        }
        const failures = await server.store.events.failures('svc', id, new Date(0))
        assert.equal(failures.length, 5, 'the sixth guess was not looked at')
        const { headers } = await server.browser().signIn('marissa', password)
        assert.match(String(headers['location']), /error=/)
      }),
  },
  {
    attack: 'keeps the session that knew the password alone while its owner proves the factor in it',
    outcome: 'the id is a new one, and the old one is nobody’s',
    attempt: () =>
      inBothModes(async ({ server, app }) => {
        const victim = await signedIn(server)
        const planted = server.browser()
        for (const [name, value] of victim.cookies) planted.cookies.set(name, value)
        assert.equal((await prove(victim, { code: app.code(server) })).status, 302)
        assert.ok(await isIn(victim))
        assert.equal(await isIn(planted), false)
        assert.match(await leadsTo(planted), /\/login$/)
      }),
  },
]
