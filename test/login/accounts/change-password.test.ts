import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { hiddenFields } from '../../support/forms.ts'
import { MODES, userNamed } from '../../support/oauth.ts'
import { CLOSED_INTERNAL, mailTo, NEW_PASSWORD, submitted, textOf } from '../../support/self-service.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { defaultBootstrap, startServer } from '../../support/server.ts'

const OLD = 'nine-lamps-on-a-boat'
const user = (userName: string) => ({ userName, password: OLD, emails: [{ value: `${userName}@shop.example` }] })
const config = {
  bootstrap: {
    ...defaultBootstrap,
    users: [...defaultBootstrap.users, ...['nadia', 'omar', 'pia', 'rosa', 'sven'].map(user)],
    identity_zones: [
      { id: 'open', subdomain: 'open', name: 'open' },
      {
        id: 'closed',
        subdomain: 'closed',
        name: 'closed',
        bootstrap: {
          users: [user('nadia')],
          identity_providers: CLOSED_INTERNAL,
        },
      },
    ],
  },
}

for (const mode of MODES) {
  describe(`Password change in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const signedIn = async (userName: string, password = OLD): Promise<Browser> => {
      const browser = server.browser()
      assert.equal((await browser.signIn(userName, password)).location().searchParams.get('error'), null)
      return browser
    }
    const change = (browser: Browser, current: string, password: string, again = password): Promise<TestAnswer> =>
      submitted(browser, '/change_password', {
        action: '/change_password.do',
        current_password: current,
        new_password: password,
        confirm_password: again,
      })

    // Covers GET /.well-known/change-password: rule: redirects to the page; error: internal user management disabled
    it('redirects /.well-known/change-password to the page of the zone', async () => {
      const find = (host: string, path = '') => server.send(`${path}/.well-known/change-password`, { host })
      const here = await find('localhost:8080')
      assert.equal(here.status, 302)
      assert.equal(here.headers['location'], 'http://localhost:8080/change_password')
      const there = await find('localhost:8080', '/z/open')
      assert.equal(there.headers['location'], 'http://localhost:8080/z/open/change_password')
      assert.equal(
        (await find('open.localhost:8080')).headers['location'],
        'http://open.localhost:8080/change_password',
      )
      assert.equal((await find('closed.localhost:8080')).status, 404)
    })

    it('answers 404 at the well-known path that must not exist', async () => {
      const path = '/.well-known/resource-that-should-not-exist-whose-status-code-should-not-be-200'
      assert.equal((await server.send(path, { headers: { accept: 'text/html' } })).status, 404)
    })

    // Covers GET /change_password: page
    // Covers POST /change_password.do: current_password; new_password
    it('requires the current password, ends all other sessions and renews the id of this one', async () => {
      const [browser, other] = [await signedIn('nadia'), await signedIn('nadia')]
      const before = new Map(browser.cookies)
      const answer = await change(browser, OLD, NEW_PASSWORD)
      assert.equal(answer.status, 302, textOf(answer.text))
      assert.notDeepEqual(new Map(browser.cookies), before)
      const { pathname, search } = answer.location()
      assert.equal(pathname + search, mode === 'uaa' ? '/profile' : '/profile?success_message_code=password.changed')
      const profile = await browser.send(pathname + search)
      assert.equal(profile.status, 200)
      for (const words of [/Set <time[^>]*>just now</, /<p>Your password is changed\.<\/p>/]) {
        assert.equal(words.test(profile.text), mode === 'standard', 'the change is confirmed')
      }
      assert.equal((await other.send('/profile')).status, 302)
      await signedIn('nadia', NEW_PASSWORD)
      assert.match((await mailTo(server, 'nadia@shop.example')).text, /changed/)
    })

    it('lets the session end twelve hours after the sign-in, all the same', async () => {
      const browser = await signedIn('sven')
      const wait = async (): Promise<number> => {
        server.clock.advance(29 * 60) // less than the half hour after which an idle session ends
        return (await browser.send('/profile')).status
      }
      for (let count = 0; count < 24; count += 1) assert.equal(await wait(), 200)
      assert.equal((await change(browser, OLD, NEW_PASSWORD)).location().pathname, '/profile')
      assert.equal((await browser.send('/profile')).status, 200)
      assert.equal(await wait(), 302)
    })

    // Covers POST /change_password.do: confirm_password; error: form_error; unauthorized; policy
    // Covers passwordPolicy: same password refused
    it('refuses a wrong current password, and a new one that is mistyped, unchanged or too long', async () => {
      const browser = await signedIn('omar')
      const refused = async (answer: TestAnswer, what: RegExp): Promise<void> => {
        assert.equal(answer.status, 422)
        assert.match(textOf(answer.text), what)
        assert.match(answer.text, /class="error-message"/)
        assert.doesNotMatch(answer.text, new RegExp(`value="${OLD}"`))
        assert.equal((await browser.send('/profile')).status, 200)
      }
      const markedIn = (answer: TestAnswer): readonly string[] =>
        Array.from(answer.text.matchAll(/<input id="(\w+)"[^>]* aria-invalid="true"/g), ([, id = '']) => id)
      const wrong = await change(browser, 'wrong', NEW_PASSWORD)
      await refused(wrong, /valid current password|current password/i)
      assert.deepEqual(markedIn(wrong), ['current_password'])
      const { type, principal, data } = server.events.at(-1) ?? {}
      const { id } = await userNamed(server, 'omar')
      assert.deepEqual([type, principal, data], ['PasswordChangeFailure', id, 'Old password is incorrect'])
      const different = await change(browser, OLD, NEW_PASSWORD, 'another')
      await refused(different, /match/)
      assert.deepEqual(markedIn(different), ['new_password', 'confirm_password'])
      await refused(await change(browser, OLD, ''), /match/)
      await refused(await change(browser, OLD, OLD), /same/)
      await refused(await change(browser, OLD, 'n'.repeat(300)), /255/)
      await signedIn('omar')
    })

    it('locks the account after five wrong current passwords', async () => {
      const browser = await signedIn('pia')
      for (let attempt = 0; attempt < 5; attempt += 1) {
        assert.equal((await change(browser, `guess ${attempt}`, NEW_PASSWORD)).status, 422)
      }
      const answer = await change(browser, OLD, NEW_PASSWORD)
      assert.ok([422, 429].includes(answer.status), 'the correct password is refused while the account is locked')
      server.clock.advance(4 * 60)
      assert.equal((await change(browser, OLD, NEW_PASSWORD)).status, 422)
      server.clock.advance(60)
      assert.equal((await change(browser, OLD, NEW_PASSWORD)).status, 302, 'attempts meanwhile do not extend the lock')
    })

    // Covers POST /change_password.do: X-<Service>-Csrf
    it('requires a session, all fields and the anti-forgery token', async () => {
      assert.match(String((await server.send('/change_password')).headers['location']), /\/login$/)
      const browser = await signedIn('rosa')
      const page = await browser.send('/change_password')
      const hidden = hiddenFields(page.text)
      const missing = await browser.send('/change_password.do', { form: { ...hidden, current_password: OLD } })
      assert.equal(missing.status, 400)
      const forged = await browser.send('/change_password.do', {
        form: { current_password: OLD, new_password: NEW_PASSWORD, confirm_password: NEW_PASSWORD },
      })
      assert.equal(forged.status, 403)
      await signedIn('rosa')
    })

    it('answers 403 if internal user management is disabled', async () => {
      const closed = server.browser('closed.localhost:8080')
      const member = server.browser('closed.localhost:8080')
      await member.signIn('nadia', OLD)
      for (const answer of [
        await closed.send('/change_password'),
        await closed.send('/change_password.do', { form: {} }),
        await member.send('/change_password'),
        await member.send('/change_password.do', { form: {} }),
      ]) {
        assert.deepEqual([answer.status, answer.json()['error']], [403, 'internal_user_management_disabled'])
      }
    })
  })
}

describe('Password change with a path in the base URL', () => {
  it('serves the well-known address at the origin, too', async () => {
    const server = await startServer({ config: { base_url: 'http://localhost:8080/auth' } })
    try {
      for (const path of ['', '/auth']) {
        const answer = await server.send(`${path}/.well-known/change-password`)
        assert.equal(answer.headers['location'], 'http://localhost:8080/auth/change_password')
      }
      assert.equal((await server.send('/.well-known/nothing')).status, 404)
      assert.equal((await server.send('/auth/.well-known/nothing')).status, 404)
    } finally {
      await server.stop()
    }
  })
})
