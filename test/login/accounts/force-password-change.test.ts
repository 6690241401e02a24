import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { addSeconds } from '../../../src/base/clock.ts'
import type { User } from '../../../src/model/users/user.ts'
import {
  APP_REQUEST,
  AUTO_REQUEST,
  authorize,
  authorizeBootstrap,
  responseOf,
  signedIn,
} from '../../support/authorize.ts'
import { hiddenFields } from '../../support/forms.ts'
import { APP, changeUser, isAlive, MODES, passwordTokens, userNamed } from '../../support/oauth.ts'
import { mailTo } from '../../support/self-service.ts'
import type { Browser, TestAnswer, TestRequest, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const PAGE = 'http://localhost:8080/force_password_change'
const COMPLETED = `${PAGE}_completed`
const NEW = 'a much better one'

/** Opens the page and posts its form. */
async function choose(
  browser: Browser,
  form: Readonly<Record<string, string>>,
  request: TestRequest = {},
): Promise<TestAnswer> {
  const fields = hiddenFields((await browser.send('/force_password_change')).text)
  return browser.send('/force_password_change', { form: { ...fields, ...form }, ...request })
}

const twice = (password: string) => ({ password, password_confirmation: password })

for (const mode of MODES) {
  describe(`Forced password change in ${mode}`, () => {
    let server: TestServer
    let original: User
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
      original = await userNamed(server, 'marissa')
    })
    beforeEach(async () => {
      server.clock.advance(1)
      await server.store.users.update('svc', { ...original, passwordChangeRequired: true })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    /** A browser with the session of a user who must choose a new password. */
    async function demanded(): Promise<Browser> {
      const browser = server.browser()
      const { headers } = await browser.signIn('marissa', 'koala')
      assert.equal(headers['location'], mode === 'uaa' ? 'http://localhost:8080/' : PAGE)
      return browser
    }
    const locationOf = async (answer: Promise<TestAnswer>) => (await answer).headers['location']
    const kept = async () => (await userNamed(server, 'marissa')).passwordHash === original.passwordHash

    for (const path of ['/', '/home', '/passcode', '/home?a=1', '/force_password_change_completed']) {
      it(`redirects ${path} to the page, for HTML and JSON`, async () => {
        const browser = await demanded()
        for (const accept of ['text/html', 'application/json']) {
          const answer = await browser.send(path, { headers: { accept } })
          assert.equal(answer.status, 302, accept)
          assert.equal(answer.headers['location'], PAGE, accept)
        }
      })
    }

    // Covers GET /oauth/authorize: rule: forced password change
    it('redirects authorization requests to the page', async () => {
      const browser = await demanded()
      assert.equal(await locationOf(authorize(browser, AUTO_REQUEST)), PAGE)
      assert.equal(await locationOf(authorize(browser, APP_REQUEST)), PAGE)
    })

    it('redirects a posted approval to the page without saving it', async () => {
      await changeUser(server, 'marissa', { passwordChangeRequired: false })
      const browser = await signedIn(server)
      const asked = await authorize(browser, APP_REQUEST)
      await changeUser(server, 'marissa', { passwordChangeRequired: true })
      const form = { ...hiddenFields(asked.text), user_oauth_approval: 'true', 'scope.0': 'scope.openid' }
      assert.equal(await locationOf(browser.send('/oauth/authorize', { form })), PAGE)
      assert.deepEqual(await server.store.approvals.list('svc', original.id, 'app', server.clock.now()), [])
    })

    // Covers GET /force_password_change: page
    it('shows the address, two fields and a sign-out form', async () => {
      const page = await (await demanded()).send('/force_password_change')
      assert.equal(page.status, 200)
      assert.match(page.text, /<form action="\/force_password_change" method="post"/)
      assert.match(page.text, /marissa@example\.org/)
      for (const name of ['password', 'password_confirmation']) {
        assert.match(
          page.text,
          new RegExp(`<input id="${name}" type="password" name="${name}" autocomplete="new-password"`),
        )
      }
      assert.match(page.text, /<input class="button" type="submit" value="Create new password">/)
      assert.match(page.text, / class="person[^]*"\/logout\.do"/)
      assert.equal(page.text.includes('at least 8 characters'), mode === 'standard')
    })

    it('lets the user sign out', async () => {
      const browser = await demanded()
      const fields = hiddenFields((await browser.send('/force_password_change')).text)
      const answer = await browser.send('/logout.do', { form: fields })
      assert.equal(answer.headers['location'], 'http://localhost:8080/login')
      assert.equal(await locationOf(browser.send('/force_password_change')), 'http://localhost:8080/login')
    })

    // Covers POST /force_password_change: password
    it('sets the new password, renews the session id and returns to the authorization request', async () => {
      const browser = server.browser()
      await authorize(browser, AUTO_REQUEST)
      const onward = (await browser.signIn('marissa', 'koala')).location()
      if (mode === 'uaa') assert.equal(await locationOf(browser.send(onward.pathname + onward.search)), PAGE)
      else assert.equal(onward.href, PAGE)
      const cookie = [...browser.cookies.keys()].find(name => /session/i.test(name)) ?? ''
      const old = browser.cookies.get(cookie)
      const form = browser.csrf
      const answer = await choose(browser, twice(NEW))
      assert.equal(answer.status, 302)
      assert.equal(answer.headers['location'], COMPLETED)
      assert.ok(old !== undefined && browser.cookies.get(cookie) !== old)
      assert.notEqual(browser.csrf, form)
      const led = await browser.send('/force_password_change_completed')
      assert.equal(led.location().pathname, '/oauth/authorize')
      const granted = await browser.send(led.location().pathname + led.location().search)
      assert.match(responseOf(granted).query['code'] ?? '', /^[\w-]{32}$/)
      assert.equal(
        await locationOf(server.send('/home', { cookies: { [cookie]: old } })),
        'http://localhost:8080/login',
      )
      const changed = await userNamed(server, 'marissa')
      assert.equal(changed.passwordChangeRequired, false)
      assert.equal(changed.passwordChangedAt.getTime(), server.clock.now().getTime())
      assert.match(changed.passwordHash ?? '', /^\$argon2id\$/)
      const signed = await server.browser().signIn('marissa', NEW)
      assert.equal(signed.headers['location'], 'http://localhost:8080/')
      assert.match(String(await locationOf(server.browser().signIn('marissa', 'koala'))), /error=login_failure/)
    })

    it('mails the owner that the password was changed, unless it was refused', async () => {
      const browser = await demanded()
      const before = (await server.mails()).length
      assert.equal((await choose(browser, twice('koala'))).status, 422)
      assert.equal((await server.mails()).length, before)
      assert.equal((await choose(browser, twice(NEW))).status, 302)
      assert.equal((await server.mails()).length, before + 1)
      assert.match((await mailTo(server, 'marissa@example.org')).subject, /password/i)
    })

    it('redirects to the start page without a saved request', async () => {
      const browser = await demanded()
      await choose(browser, twice(NEW))
      assert.equal(await locationOf(browser.send('/force_password_change_completed')), 'http://localhost:8080/')
      assert.equal((await browser.send('/')).status, 200)
    })

    for (const path of [COMPLETED, `${COMPLETED}?a=1`, PAGE]) {
      it(`redirects to the start page after a request for ${path}`, async () => {
        const browser = server.browser()
        await browser.send(path.slice('http://localhost:8080'.length))
        await browser.signIn('marissa', 'koala')
        await browser.send('/force_password_change')
        await choose(browser, twice(NEW))
        const led = await browser.send('/force_password_change_completed')
        assert.equal(led.headers['location'], 'http://localhost:8080/')
      })
    }

    // Covers GET /force_password_change_completed: redirect to the saved request
    it('redirects to the page last requested meanwhile', async () => {
      const browser = await demanded()
      await browser.send('/home?b=2')
      await choose(browser, twice(NEW))
      const led = await locationOf(browser.send('/force_password_change_completed'))
      assert.equal(led, 'http://localhost:8080/home?b=2')
    })

    it('ends all other sessions and revokes all tokens of the user', async () => {
      await changeUser(server, 'marissa', { passwordChangeRequired: false })
      const other = await signedIn(server)
      const { access_token } = await passwordTokens(server)
      await changeUser(server, 'marissa', { passwordChangeRequired: true })
      const browser = await demanded()
      server.clock.advance(1)
      await choose(browser, twice(NEW))
      assert.equal(await locationOf(other.send('/home')), 'http://localhost:8080/login')
      assert.equal(await isAlive(server, access_token), false)
      assert.equal((await browser.send('/home')).status, 200)
    })

    // Partly covers audit trail: PasswordChangeFailure
    it('records success and failure in the audit trail, without the passwords', async () => {
      const browser = await demanded()
      const count = server.events.length
      await choose(browser, twice('koala'))
      await choose(browser, twice(NEW))
      const events = server.events.slice(count)
      assert.deepEqual(
        events.map(({ type, principal }) => [type, principal]),
        [
          ['PasswordChangeFailure', original.id],
          ['PasswordChangeSuccess', original.id],
        ],
      )
      assert.doesNotMatch(JSON.stringify(events), /koala|better/)
    })

    it('resets the count of failed sign-ins', async () => {
      const browser = await demanded()
      await server.store.events.recordFailure('svc', original.id, server.clock.now())
      await choose(browser, twice(NEW))
      assert.deepEqual(await server.store.events.failures('svc', original.id, addSeconds(server.clock.now(), -60)), [])
    })

    const MISMATCH = 'Passwords must match and not be empty.'
    const refusals: readonly { name: string; form: Readonly<Record<string, string>>; text: string }[] = [
      // Covers POST /force_password_change: error: mismatch or empty
      { name: 'an empty password', form: twice(''), text: MISMATCH },
      { name: 'no fields at all', form: {}, text: MISMATCH },
      { name: 'no confirmation', form: { password: NEW }, text: MISMATCH },
      // Covers POST /force_password_change: password_confirmation
      { name: 'a different confirmation', form: { password: NEW, password_confirmation: `${NEW} ` }, text: MISMATCH },
      // Covers POST /force_password_change: error: same as old
      {
        name: 'the old password',
        form: twice('koala'),
        text: 'Your new password cannot be the same as the old password.',
      },
      // Covers POST /force_password_change: error: policy
      {
        name: 'a password that is too long',
        form: twice('x'.repeat(256)),
        text: 'Password must be no more than 255 characters in length.',
      },
      ...(mode === 'standard'
        ? [
            {
              name: 'a password that is too short (P5)',
              form: twice('sv3nxq7'),
              text: 'Password must be at least 8 characters in length.',
            },
          ]
        : []),
    ]
    for (const { name, form, text } of refusals) {
      it(`answers 422 with the reason to ${name}, repeatedly`, async () => {
        const browser = await demanded()
        for (const attempt of [1, 2]) {
          const answer = await choose(browser, form)
          assert.equal(answer.status, 422, `attempt ${attempt}`)
          assert.ok(answer.text.includes(`<p class="error-message">${text}</p>`), answer.text)
          assert.doesNotMatch(answer.text, /value="koala"|better one/)
        }
        assert.ok(await kept())
        assert.equal(await locationOf(browser.send('/home')), PAGE)
      })
    }

    if (mode === 'uaa') {
      it('accepts a short password if the policy sets no minimum (P5)', async () => {
        const browser = await demanded()
        assert.equal(await locationOf(choose(browser, twice('x'))), COMPLETED)
      })
    }

    // Covers POST /force_password_change: X-<Service>-Csrf
    it('refuses a form without the anti-forgery token, and cross-site requests', async () => {
      const browser = await demanded()
      assert.equal((await browser.send('/force_password_change', { form: twice(NEW) })).status, 403)
      const foreign = { headers: { 'sec-fetch-site': 'cross-site' } }
      assert.equal((await choose(browser, twice(NEW), foreign)).status, 403)
      assert.ok(await kept())
    })

    it('refuses fields that are not UTF-8', async () => {
      const browser = await demanded()
      const field = `${hiddenFieldName(browser)}=${browser.csrf}`
      const answer = await browser.send('/force_password_change', {
        form: `${field}&password=%ff&password_confirmation=%ff`,
      })
      assert.equal(answer.status, 400)
      assert.ok(await kept())
    })

    // Covers GET /force_password_change: rule: without the flag goes to /
    it('changes nothing without a pending change or without a session', async () => {
      await changeUser(server, 'marissa', { passwordChangeRequired: false })
      const browser = await signedIn(server)
      const form = { 'X-Svc-Csrf': browser.csrf, ...twice(NEW) }
      assert.equal(await locationOf(browser.send('/force_password_change', { form })), 'http://localhost:8080/')
      assert.equal(await locationOf(browser.send('/force_password_change')), 'http://localhost:8080/')
      assert.equal(
        await locationOf(server.browser().send('/force_password_change', { form })),
        'http://localhost:8080/login',
      )
      assert.ok(await kept())
    })

    it('ignores a user name in the form', async () => {
      const browser = await signedIn(server, 'joel', 'wombat')
      const form = { 'X-Svc-Csrf': browser.csrf, ...twice(NEW), username: 'marissa' }
      assert.equal(await locationOf(browser.send('/force_password_change', { form })), 'http://localhost:8080/')
      assert.ok(await kept())
      assert.equal((await signedIn(server, 'joel', 'wombat')).cookies.size > 0, true)
    })

    it('accepts one of two concurrent forms', async () => {
      const browser = await demanded()
      const fields = hiddenFields((await browser.send('/force_password_change')).text)
      const cookies = Object.fromEntries(browser.cookies)
      const answers = await Promise.all(
        ['the first of the two', 'the second of the two'].map(password =>
          server.send('/force_password_change', { cookies, form: { ...fields, ...twice(password) } }),
        ),
      )
      const places = answers.map(({ headers }) => headers['location'])
      assert.deepEqual(new Set(places), new Set(['http://localhost:8080/', COMPLETED]))
      const won = places[0] === COMPLETED ? 'the first of the two' : 'the second of the two'
      assert.equal(await locationOf(server.browser().signIn('marissa', won)), 'http://localhost:8080/')
    })

    // Covers GET /oauth/authorize prompt=none: password change pending
    it('answers prompt=none with interaction_required (R7)', async () => {
      const browser = await demanded()
      const answer = await authorize(browser, { ...AUTO_REQUEST, prompt: 'none' })
      const { query, fragment } = responseOf(answer)
      assert.equal(query['error'], 'interaction_required')
      assert.equal(query['state'], mode === 'standard' ? 's1' : undefined)
      assert.match(query['session_state'] ?? '', /^[0-9a-f]{64}\.[0-9a-f]+$/)
      assert.deepEqual(fragment, {})
      assert.equal(answer.location().searchParams.has('code'), false)
      const hybrid = { ...AUTO_REQUEST, client_id: 'hybrid', redirect_uri: 'https://hybrid.example/cb' }
      const implicit = await authorize(browser, { ...hybrid, response_type: 'token', prompt: 'none' })
      assert.equal(responseOf(implicit).fragment['error'], 'interaction_required')
    })

    it('refuses the password grant, also with an earlier passcode', async () => {
      await changeUser(server, 'marissa', { passwordChangeRequired: false })
      const browser = await signedIn(server)
      const passcode = (await browser.send('/passcode', { headers: { accept: 'application/json' } })).json<
        string & {}
      >()
      await changeUser(server, 'marissa', { passwordChangeRequired: true })
      const accept = { headers: { accept: 'application/json' } }
      for (const form of [{ username: 'marissa', password: 'koala' }, { passcode: String(passcode) }]) {
        const answer = await server.token({ grant_type: 'password', ...form }, { basic: APP, ...accept })
        const { error, error_description } = answer.json()
        const want = mode === 'standard' ? [400, 'invalid_grant'] : [401, 'unauthorized']
        assert.deepEqual([answer.status, error, error_description], [...want, 'password change required'])
      }
    })
  })

  describe(`Password expiry in ${mode}`, () => {
    const withPolicy = (passwordPolicy: object) => ({
      ...authorizeBootstrap,
      identity_providers: [{ originKey: 'svc', type: 'svc', name: 'svc', config: { passwordPolicy } }],
    })
    const rules = {
      minLength: 0,
      maxLength: 20,
      requireUpperCaseCharacter: 1,
      requireLowerCaseCharacter: 0,
      requireDigit: 1,
      requireSpecialCharacter: 0,
      expirePasswordInMonths: 1,
    }

    // Covers configuration file: bootstrap.identity_providers[]: config.passwordPolicy
    // Covers passwordPolicy: expirePasswordInMonths
    // Covers account state: password expiry at login
    // Covers config of type uaa: passwordPolicy.expirePasswordInMonths
    it('forces a change a month after each password change', async () => {
      const server = await startServer({ mode, config: { bootstrap: withPolicy(rules) } })
      try {
        const day = 86_400
        assert.equal((await server.browser().signIn('marissa', 'koala')).headers['location'], 'http://localhost:8080/')
        server.clock.advance(32 * day)
        const browser = server.browser()
        await browser.signIn('marissa', 'koala')
        assert.equal((await browser.send('/')).headers['location'], PAGE)
        const refused = await choose(browser, twice('reedwarbler'))
        assert.equal(refused.status, 422)
        assert.ok(
          refused.text.includes(
            '<p class="error-message">Password must contain at least 1 digit characters. Password must contain at least 1 uppercase characters.</p>',
          ),
        )
        assert.equal((await choose(browser, twice('Reedwarbler1'))).headers['location'], COMPLETED)
        const token = await server.token(
          { grant_type: 'password', username: 'marissa', password: 'Reedwarbler1' },
          { basic: APP },
        )
        assert.equal(token.status, 200)
        server.clock.advance(27 * day)
        assert.equal(
          (await server.browser().signIn('marissa', 'Reedwarbler1')).headers['location'],
          'http://localhost:8080/',
        )
        server.clock.advance(5 * day)
        const late = await server.token(
          { grant_type: 'password', username: 'marissa', password: 'Reedwarbler1' },
          { basic: APP },
        )
        assert.equal(late.json()['error_description'], 'password change required')
        const again = server.browser()
        await again.signIn('marissa', 'Reedwarbler1')
        assert.equal((await again.send('/')).headers['location'], PAGE)
        assert.deepEqual(server.faults, [])
      } finally {
        await server.stop()
      }
    })

    // Covers passwordPolicy: passwordNewerThan
    it('forces a change of passwords older than passwordNewerThan, also within a session', async () => {
      const server = await startServer({
        mode,
        config: { bootstrap: withPolicy({ ...rules, expirePasswordInMonths: 0 }) },
      })
      try {
        const browser = await signedIn(server)
        const provider = await server.store.providers.findByOrigin('svc', 'svc')
        assert.ok(provider)
        server.clock.advance(60)
        const passwordNewerThan = server.clock.now().getTime()
        await server.store.providers.update('svc', {
          ...provider,
          config: { passwordPolicy: { ...rules, expirePasswordInMonths: 0, passwordNewerThan } },
        })
        assert.equal((await browser.send('/home')).headers['location'], PAGE)
        server.clock.advance(1)
        assert.equal((await choose(browser, twice('Reedwarbler1'))).headers['location'], COMPLETED)
        assert.equal((await browser.send('/home')).status, 200)
        assert.deepEqual(server.faults, [])
      } finally {
        await server.stop()
      }
    })
  })
}

const hiddenFieldName = (browser: Browser): string =>
  [...browser.cookies.keys()].find(name => name.endsWith('-Csrf')) ?? ''
