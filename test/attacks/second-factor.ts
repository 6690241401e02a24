import assert from 'node:assert/strict'
import { APP_REQUEST, authorize, AUTO_REQUEST, signedIn } from '../support/authorize.ts'
import { hiddenFields } from '../support/forms.ts'
import { FACTOR_PAGE, genuine, guarded, isIn, leadsTo } from '../support/guarded.ts'
import { userNamed } from '../support/oauth.ts'
import { prove, setPolicy } from '../support/second-factor.ts'
import { linkTo, NEW_PASSWORD, submitted } from '../support/self-service.ts'
import type { Attack } from './attack.ts'

const RESPONSE_TYPES = ['code', 'token', 'id_token', 'token id_token', 'code id_token', 'code token', 'none']

/** Attempts to bypass the second factor with the password or a browser of the user. */
export const secondFactorAttacks: readonly Attack[] = [
  {
    attack: 'opens every page and posts every form with the password alone',
    outcome: 'each redirects to the second factor',
    attempt: () =>
      guarded(async ({ server }) => {
        const browser = await signedIn(server)
        const own = (await server.app.routes()).filter(({ access }) => access.by === 'session' && !access.whileDemanded)
        assert.ok(own.length > 8)
        for (const { method, url } of own) {
          const path = url.replaceAll(/:\w+/g, 'x')
          const answer = await browser.send(path, { method, ...(method === 'POST' && { form: genuine(browser) }) })
          assert.equal(answer.headers['location'], FACTOR_PAGE, `${method} ${path}`)
        }
      }),
  },
  {
    attack: 'opens the page for a required password change before the second factor',
    outcome: 'the page is not shown, and the password is not changed',
    attempt: () =>
      guarded(async ({ server }) => {
        const marissa = await userNamed(server, 'marissa')
        await server.store.users.requirePasswordChange('svc', marissa.id)
        const browser = await signedIn(server)
        assert.equal((await browser.send('/force_password_change')).status, 302)
        const form = { ...genuine(browser), password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD }
        await browser.send('/force_password_change', { form })
        await browser.send('/force_password_change_completed')
        assert.equal((await userNamed(server, 'marissa')).passwordHash, marissa.passwordHash)
        assert.equal(await leadsTo(browser), FACTOR_PAGE)
      }),
  },
  {
    attack: 'requests /oauth/authorize with every response type, method, prompt and hint',
    outcome: 'no code and no token',
    attempt: () =>
      guarded(async ({ server, owner }) => {
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
    attack: 'opens the approval page before the policy exists, and posts it afterwards',
    outcome: 'the second factor is required before approval',
    attempt: () =>
      guarded(async ({ server }) => {
        await setPolicy(server, { requirement: 'off' })
        const browser = await signedIn(server, 'joel', 'wombat')
        const page = await authorize(browser, { ...APP_REQUEST, scope: 'openid' })
        assert.match(page.text, /user_oauth_approval/)
        await setPolicy(server, { requirement: 'required' })
        const form = { ...hiddenFields(page.text), user_oauth_approval: 'true', 'scope.0': 'scope.openid' }
        const { headers } = await browser.send('/oauth/authorize', { form })
        assert.equal(headers['location'], FACTOR_PAGE)
      }),
  },
  {
    attack: 'guesses one-time passwords, and signs in with the password between the guesses',
    outcome: 'the account is locked',
    attempt: () =>
      guarded(async ({ server, app }) => {
        const before = await signedIn(server)
        for (let guess = 0; guess < 5; guess += 1) await prove(await signedIn(server), { code: '000000' })
        const { headers } = await server.browser().signIn('marissa', 'koala')
        assert.match(String(headers['location']), /error=/)
        assert.equal((await prove(before, { code: app.code(server) })).status, 422, 'nor is the right one taken')
      }),
  },
  {
    attack: 'guesses one-time passwords, and resets the password by mail between the guesses',
    outcome: 'the account is locked',
    attempt: () =>
      guarded(async ({ server }) => {
        const { id } = await userNamed(server, 'marissa')
        let password = 'koala'
        for (let round = 0; round < 2; round += 1) {
          const browser = await signedIn(server, 'marissa', password)
          for (let guess = 0; guess < 3; guess += 1) await prove(browser, { code: '000000' })
          server.clock.advance(1) // the mail is newer than the one about the password before
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
    attack: 'keeps the id of a session from before the second factor',
    outcome: 'the id is renewed, and the old one is invalid',
    attempt: () =>
      guarded(async ({ server, app }) => {
        const victim = await signedIn(server)
        const planted = server.browser()
        for (const [name, value] of victim.cookies) planted.cookies.set(name, value)
        assert.equal((await prove(victim, { code: app.code(server) })).status, 302)
        assert.ok(await isIn(victim))
        assert.equal(await isIn(planted), false)
        assert.match(await leadsTo(planted), /\/login$/)
      }),
  },
  {
    attack: 'posts every form of the second factor and its settings without an anti-forgery value',
    outcome: 'refused, and no factor is changed',
    attempt: () =>
      guarded(async ({ server, app, codes, owner }) => {
        const half = await signedIn(server)
        const forms = (await server.app.routes()).filter(
          ({ method, url }) => method === 'POST' && /^\/(second_factor|profile|login\/passkey)/.test(url),
        )
        assert.ok(forms.length > 10)
        const form = { code: app.code(server), way: 'app', factor: 'app', others: 'true', credential: '{}' }
        for (const browser of [half, owner]) {
          for (const { url } of forms) {
            const { status, text } = await browser.send(url, { form })
            assert.ok(status >= 300, `${url} ${status}`)
            assert.doesNotMatch(text, /recovery-codes|id="secret"/, url)
          }
        }
        assert.equal(await isIn(half), false)
        assert.deepEqual((await userNamed(server, 'marissa')).factors?.methods, ['totp'])
        const { recovery } = await server.store.factors.codesLeft(
          'svc',
          (await userNamed(server, 'marissa')).id,
          server.clock.now(),
        )
        assert.equal(recovery, codes.length)
      }),
  },
  {
    attack: 'frames pages with secrets, or reads secrets from a cache, a log or the audit trail',
    outcome: 'pages are neither framed nor cached, and secrets are not logged',
    attempt: () =>
      guarded(async ({ server, app, codes }) => {
        const [recovery = ''] = codes
        const browser = await signedIn(server)
        const wrong = '123-456'
        const typed = [wrong, recovery]
        for (const code of typed) await prove(browser, { code, way: code === recovery ? 'recovery' : 'app' })
        assert.ok(await isIn(browser))
        const secret = /<samp id="secret"[^>]*>([^<]+)</
        for (const path of [
          '/second_factor',
          '/profile/security',
          '/profile/security/app',
          '/profile/security/codes',
        ]) {
          const { headers, text } = await (path === '/second_factor' ? await signedIn(server) : browser).send(path)
          assert.equal(headers['x-frame-options'], 'DENY', path)
          assert.match(String(headers['cache-control']), /no-store/, path)
          assert.match(String(headers['content-security-policy']), /script-src 'self'/, path)
          typed.push(...(secret.exec(text)?.slice(1) ?? []))
        }
        assert.equal(typed.length, 3, 'the page for an app shows its secret')
        typed.push(app.code(server), 'koala')
        const { events, lines, refusals, faults } = server
        const written = JSON.stringify([events, lines, refusals, faults, await server.mails()])
        for (const each of typed) {
          for (const spelling of [each, each.replaceAll(/[ -]/g, '')]) assert.ok(!written.includes(spelling), spelling)
        }
      }),
  },
  {
    attack: 'changes the password in an open session, to make the sign-in recent',
    outcome: 'the time of authentication is kept, and factors cannot be changed',
    attempt: () =>
      guarded(async ({ server, owner }) => {
        server.clock.advance(600)
        const before = await userNamed(server, 'marissa')
        const change = { current_password: 'koala', new_password: NEW_PASSWORD, confirm_password: NEW_PASSWORD }
        const form = { ...genuine(owner), ...change }
        const { headers } = await owner.send('/change_password.do', { form })
        assert.match(String(headers['location']), /\/profile(?:\?success_|$)/)
        assert.notEqual((await userNamed(server, 'marissa')).passwordHash, before.passwordHash)
        for (const path of ['app', 'passkey', 'codes', 'remove?factor=app']) {
          assert.equal((await owner.send(`/profile/security/${path}`)).status, 302, path)
        }
        const sent = { ...genuine(owner), factor: 'app' }
        for (const path of ['remove', 'codes']) await owner.send(`/profile/security/${path}`, { form: sent })
        assert.deepEqual((await userNamed(server, 'marissa')).factors, before.factors)
        const fresh = await authorize(owner, { ...AUTO_REQUEST, acr_values: '2', max_age: '300' })
        assert.match(String(fresh.headers['location']), /\/login$|\/oauth\/authorize\?(?!.*max_age)/)
        assert.equal(await isIn(owner), !String(fresh.headers['location']).includes('/oauth/'), 'UAA: ends the session')
      }),
  },
]
