import assert from 'node:assert/strict'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import { hiddenFields } from '../support/forms.ts'
import type { Browser, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

const NAME = 'X-Svc-Csrf'
const MODES: readonly CompatibilityMode[] = ['standard', 'uaa']
/** Headers of browsers for a form of a page without a referrer. */
const HIDDEN = { origin: 'null' }

/** Runs the attempt in both modes. */
async function inBothModes(attempt: (server: TestServer) => Promise<void>): Promise<void> {
  for (const mode of MODES) {
    const server = await startServer({ mode })
    try {
      await attempt(server)
    } finally {
      await server.stop()
    }
  }
}

/** A valid value of the attacker's own browser, set in the victim's by a sibling domain or over http. */
async function plant(server: TestServer, victim: Browser): Promise<string> {
  const value = hiddenFields((await server.send('/login')).text)[NAME] ?? ''
  victim.cookies.set(NAME, value)
  return value
}

const consent = { response_type: 'code', client_id: 'app', redirect_uri: 'https://app.example/cb', scope: 'openid' }

/** Cross-site attacks on cookies, forms and logout. */
export const sessionAttacks: readonly Attack[] = [
  {
    attack: 'plants an anti-forgery cookie and signs a visitor in to the attacker’s account',
    outcome: 'refused: the value belongs to another browser',
    attempt: () =>
      inBothModes(async server => {
        const victim = server.browser()
        await victim.send('/login')
        const value = await plant(server, victim)
        const form = { username: 'joel', password: 'wombat', [NAME]: value }
        await victim.send('/login.do', { form, headers: HIDDEN })
        assert.equal((await victim.send('/home')).status, 302, 'no user is signed in')
      }),
  },
  {
    attack: 'does so in a browser without cookies of the server',
    outcome: 'refused: the value belongs to another browser',
    attempt: () =>
      inBothModes(async server => {
        const victim = server.browser()
        const value = await plant(server, victim)
        const form = { username: 'joel', password: 'wombat', [NAME]: value }
        await victim.send('/login.do', { form, headers: HIDDEN })
        assert.equal((await victim.send('/home')).status, 302, 'no user is signed in')
      }),
  },
  {
    attack: 'plants an anti-forgery cookie and approves a client for the signed-in user',
    outcome: '403, nothing is approved',
    attempt: () =>
      inBothModes(async server => {
        const victim = server.browser()
        await victim.signIn('marissa', 'koala')
        const page = await victim.send('/oauth/authorize', { query: consent })
        const value = await plant(server, victim)
        const form = { ...hiddenFields(page.text), [NAME]: value, user_oauth_approval: 'true' }
        assert.equal((await victim.send('/oauth/authorize', { form })).status, 403)
        assert.match((await victim.send('/oauth/authorize', { query: consent })).text, /user_oauth_approval/)
      }),
  },
  {
    attack: 'posts the profile of the signed-in user with the value of the attacker’s own session',
    outcome: '403, no session is ended',
    attempt: () =>
      inBothModes(async server => {
        const [attacker, victim, elsewhere] = [server.browser(), server.browser(), server.browser()]
        await attacker.signIn('joel', 'wombat')
        await victim.signIn('marissa', 'koala')
        await elsewhere.signIn('marissa', 'koala')
        victim.cookies.set(NAME, attacker.csrf)
        const form = { others: 'true', [NAME]: attacker.csrf }
        assert.equal((await victim.send('/profile/sessions', { form })).status, 403)
        assert.equal((await elsewhere.send('/home')).status, 200)
      }),
  },
  {
    attack: 'posts a form with a value that was planted before the sign-in',
    outcome: '403, since values belong to the session',
    attempt: () =>
      inBothModes(async server => {
        const victim = server.browser()
        const value = hiddenFields((await victim.send('/login')).text)[NAME] ?? ''
        await victim.signIn('marissa', 'koala')
        victim.cookies.set(NAME, value)
        assert.equal((await victim.send('/profile/sessions', { form: { others: 'true', [NAME]: value } })).status, 403)
      }),
  },
  {
    attack: 'plants markup as the user name that the sign-in page keeps after a failure',
    outcome: 'it is escaped, and shown once, only in `standard`',
    attempt: () =>
      inBothModes(async server => {
        const cookies = { 'Typed-Name': encodeURIComponent('"><script>alert(1)</script>') }
        const { text } = await server.send('/login?error=login_failure', { cookies })
        assert.doesNotMatch(text, /<script>/)
        assert.doesNotMatch((await server.send('/login', { cookies })).text, /alert\(1\)/)
      }),
  },
  {
    attack: 'redeems a passcode again in another spelling',
    outcome: 'refused: all spellings are one code',
    attempt: () =>
      inBothModes(async server => {
        const browser = server.browser()
        await browser.signIn('marissa', 'koala')
        const passcode = (await browser.send('/passcode', { headers: { accept: 'application/json' } })).json<string>()
        const redeem = (value: string) =>
          server.token({ grant_type: 'password', passcode: value }, { basic: ['app', 'app-secret'] })
        assert.equal((await redeem(passcode)).status, 200)
        const ways = [passcode, passcode.toLowerCase(), passcode.replaceAll('-', ''), passcode.replaceAll('0', 'O')]
        for (const way of ways) assert.ok((await redeem(way)).status >= 400, way)
      }),
  },
]
