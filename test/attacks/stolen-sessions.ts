// Attacks with a stolen session cookie, or at an unattended device.
import assert from 'node:assert/strict'
import { signedIn } from '../support/authorize.ts'
import { hiddenFields } from '../support/forms.ts'
import { FACTOR_PAGE, genuine, guarded } from '../support/guarded.ts'
import { MODES, userNamed } from '../support/oauth.ts'
import { prove } from '../support/second-factor.ts'
import { confirmed, linkTo, NEW_PASSWORD, submitted } from '../support/self-service.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

const SIGN_IN = 'http://localhost:8080/login'
const MINE = 'mallory@shop.example'

async function inBothModes(attempt: (server: TestServer) => Promise<void>): Promise<void> {
  for (const mode of MODES) {
    const server = await startServer({ mode })
    try {
      await attempt(server)
      assert.deepEqual(server.faults, [])
    } finally {
      await server.stop()
    }
  }
}

const mailsTo = async (server: TestServer, address: string): Promise<number> =>
  (await server.mails()).filter(({ to }) => to === address).length

/** Account takeover with a session. */
export const stolenSessionAttacks: readonly Attack[] = [
  {
    attack: 'changes the email address to their own, to reset the password',
    outcome: 'a fresh sign-in is required, which returns to the form',
    attempt: () =>
      inBothModes(async server => {
        const session = await signedIn(server)
        const page = (await session.send('/change_email')).text
        server.clock.advance(301)
        const form = { ...hiddenFields(page), ...genuine(session), newEmail: MINE }
        assert.equal((await session.send('/change_email.do', { form })).headers['location'], SIGN_IN)
        assert.equal((await session.send('/change_email?client_id=app')).headers['location'], SIGN_IN)
        assert.equal(await mailsTo(server, MINE), 0)
        const again = await session.signIn('marissa', 'koala')
        assert.equal(again.headers['location'], 'http://localhost:8080/change_email?client_id=app')
        await submitted(session, '/change_email', { action: '/change_email.do', newEmail: 'new@example.org' })
        await confirmed(session, await linkTo(server, 'new@example.org'))
        assert.equal((await userNamed(server, 'marissa')).email, 'new@example.org')
      }),
  },
  {
    attack: 'knows the password, too, and does so in a browser that is remembered for the second factor',
    outcome: 'the second factor is required',
    attempt: () =>
      guarded(async ({ server, app }) => {
        const browser = await signedIn(server)
        await prove(browser, { code: app.code(server), remember: 'true' })
        await browser.send('/logout.do', { form: genuine(browser) })
        await browser.signIn('marissa', 'koala')
        assert.equal((await browser.send('/home')).status, 200, 'nothing is owed')
        const form = { ...genuine(browser), newEmail: MINE }
        assert.equal((await browser.send('/change_email.do', { form })).headers['location'], FACTOR_PAGE)
        assert.equal((await browser.send('/change_email')).headers['location'], FACTOR_PAGE)
        assert.equal(await mailsTo(server, MINE), 0)
        server.clock.advance(60)
        const proven = await prove(browser, { code: app.code(server) })
        assert.equal(proven.headers['location'], 'http://localhost:8080/change_email')
        assert.equal((await browser.send('/change_email')).status, 200)
      }),
  },
  {
    attack: 'sets a new password without the old one when a password change is required',
    outcome: 'a fresh sign-in is required, which continues to the password change',
    attempt: () =>
      inBothModes(async server => {
        const session = await signedIn(server)
        server.clock.advance(301)
        const { id, passwordHash } = await userNamed(server, 'marissa')
        await server.store.users.requirePasswordChange('svc', id)
        assert.match(String((await session.send('/profile')).headers['location']), /\/force_password_change$/)
        assert.equal((await session.send('/force_password_change')).headers['location'], SIGN_IN)
        const form = { ...genuine(session), password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD }
        assert.equal((await session.send('/force_password_change', { form })).headers['location'], SIGN_IN)
        assert.equal((await userNamed(server, 'marissa')).passwordHash, passwordHash)
        await session.signIn('marissa', 'koala')
        assert.match(String((await session.send('/profile')).headers['location']), /\/force_password_change$/)
        const page = (await session.send('/force_password_change')).text
        await session.send('/force_password_change', { form: { ...hiddenFields(page), ...form, ...genuine(session) } })
        const onward = await session.send('/force_password_change_completed')
        assert.equal(onward.headers['location'], 'http://localhost:8080/profile')
      }),
  },
]
