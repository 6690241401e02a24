import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { DATABASE_KINDS, freshDatabase } from '../../support/databases.ts'
import { hiddenFields } from '../../support/forms.ts'
import { changeUser, MODES, userNamed } from '../../support/oauth.ts'
import {
  CLOSED_INTERNAL,
  CORP,
  linkTo,
  mailTo,
  NEW_PASSWORD,
  submitted,
  textOf,
  whileBusy,
} from '../../support/self-service.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { defaultBootstrap, startServer } from '../../support/server.ts'

const OLD = 'nine-lamps-on-a-boat'
const APP = 'https://app.example/cb'
const user = (userName: string, more: object = {}) => ({
  userName,
  password: OLD,
  emails: [{ value: `${userName.split('@')[0]}@shop.example` }],
  ...more,
})
const zone = (id: string, config: object, bootstrap: object = {}) => ({
  id,
  subdomain: id,
  name: id,
  config,
  bootstrap: { users: [user('nadia')], ...bootstrap },
})
const atDesk = { emails: [{ value: 'desk@shop.example' }] }
const config = {
  bootstrap: {
    ...defaultBootstrap,
    users: [
      ...defaultBootstrap.users,
      ...['nadia', 'omar', 'pia', 'quentin', 'rosa', 'sam', 'tina', 'ugo'].map(name => user(name)),
      user('gone', { active: false }),
      user('waiting', { verified: false }),
      user('twin1', { emails: [{ value: 'twin@shop.example' }] }),
      user('twin2', { emails: [{ value: 'twin@shop.example' }] }),
      { userName: 'ext', origin: 'corp', emails: [{ value: 'ext@corp.example' }] },
      user('sam@shop.example', { verified: false }),
      user('lea@shop.example', { verified: false }),
      { userName: 'lea@shop.example', origin: 'ldap', emails: [{ value: 'lea@corp.example' }] },
      ...['new1', 'new2'].map(name => user(name, { verified: false, ...atDesk })),
      user('desk1', atDesk),
      user('desk2', atDesk),
      { userName: 'ugo@shop.example', origin: 'corp', emails: [{ value: 'impostor@corp.example' }] },
    ],
    identity_providers: [CORP],
    identity_zones: [
      zone('off', { links: { selfService: { selfServiceLinksEnabled: false } } }),
      zone('closed', {}, { identity_providers: CLOSED_INTERNAL }),
      zone('z1', {}),
    ],
  },
}

for (const mode of MODES) {
  describe(`Password reset in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const ask = async (username: string, more: Readonly<Record<string, string>> = {}): Promise<void> => {
      const browser = server.browser()
      const answer = await submitted(browser, '/forgot_password', { action: '/forgot_password.do', username, ...more })
      assert.equal(answer.status, 302)
      const { pathname, search } = answer.location()
      assert.equal(pathname + search, '/email_sent?code=reset_password')
    }
    const linkFor = async (userName: string, more?: Readonly<Record<string, string>>): Promise<string> => {
      server.clock.advance(1) // otherwise two mails could have the same time
      await ask(userName, more)
      return linkTo(server, `${userName}@shop.example`)
    }
    const reset = (
      link: string,
      password = NEW_PASSWORD,
      { browser = server.browser(), again = password }: { browser?: Browser; again?: string } = {},
    ): Promise<TestAnswer> =>
      submitted(browser, link, { action: '/reset_password.do', password, password_confirmation: again })
    const signsIn = async (userName: string, password: string): Promise<boolean> =>
      (await server.browser().signIn(userName, password)).location().searchParams.get('error') === null
    const count = async (): Promise<number> => (await server.mails()).length
    const isExpired = (answer: TestAnswer): void => {
      assert.equal(answer.status, 422)
      assert.match(answer.text, /action="\/forgot_password\.do"/)
      assert.match(textOf(answer.text), /no longer valid/)
    }

    // Covers GET /forgot_password: client_id; redirect_uri; page: form
    // Covers GET /email_sent: code
    it('shows the request form, and a page that says a mail was sent', async () => {
      const page = await server.browser().send('/forgot_password', { query: { client_id: 'app', redirect_uri: APP } })
      assert.equal(page.status, 200)
      const { client_id, redirect_uri } = hiddenFields(page.text)
      assert.deepEqual([client_id, redirect_uri], ['app', APP])
      assert.match(page.text, /name="username"/)
      const sent = await server.send('/email_sent', { query: { code: 'reset_password' } })
      assert.match(textOf(sent.text), /password|a link is on its way/)
    })

    if (mode === 'standard') {
      it('names what was typed, unless another site sent the form', async () => {
        const browser = server.browser()
        await submitted(browser, '/forgot_password', { action: '/forgot_password.do', username: 'nobody' })
        const sentPage = async () => textOf((await browser.send('/email_sent?code=reset_password')).text)
        assert.match(await sentPage(), /If there is an account nobody ?, a link is on its way/)
        await browser.send('/forgot_password.do', { form: { username: 'nobody: call 555' } })
        assert.match(await sentPage(), /If there is an account with this name/)
      })
    }

    // Covers POST /forgot_password.do: username; client_id; redirect_uri
    // Covers GET /reset_password: code; page: form
    // Covers POST /reset_password.do: code; password
    it('sets a new password with a link that works once', async () => {
      const link = await linkFor('nadia', { client_id: 'app', redirect_uri: APP })
      assert.match(link, /^\/reset_password\?code=[\w-]{32}$/)
      const page = await server.browser().send(link)
      assert.match(textOf(page.text), /nadia/)
      const answer = await reset(link)
      assert.equal(answer.status, 302, textOf(answer.text))
      const { pathname, searchParams } = answer.location()
      assert.deepEqual([pathname, ...searchParams.values()], ['/login', 'password_reset', APP])
      assert.ok(await signsIn('nadia', NEW_PASSWORD))
      assert.ok(!(await signsIn('nadia', OLD)))
      assert.match((await mailTo(server, 'nadia@shop.example')).text, /changed/)
      isExpired(await server.browser().send(link))
    })

    // Covers POST /forgot_password.do: rule: same answer for unknown users
    it('gives the same answer without a mail for unknown, inactive or ambiguous users', async () => {
      const before = await count()
      for (const name of [
        'nobody',
        'nobody@shop.example',
        '',
        'gone',
        'x'.repeat(300),
        'twin@shop.example',
        'desk@shop.example',
      ]) {
        await ask(name)
      }
      assert.equal(await count(), before)
    })

    it('accepts the address of an account', async () => {
      await ask('omar@shop.example')
      assert.match(await linkTo(server, 'omar@shop.example'), /^\/reset_password\?code=/)
    })

    it('accepts that address even if it is the user name of an external user', async () => {
      await ask('ugo@shop.example')
      assert.match(await linkTo(server, 'ugo@shop.example'), /^\/reset_password\?code=/)
      assert.ok(!(await server.mails()).some(({ to }) => to === 'impostor@corp.example'))
    })

    // Anyone can sign up with an address before its owner gets an account of another name.
    it('accepts that address even if it is the user name of an unconfirmed sign-up', async () => {
      await ask('sam@shop.example')
      const page = await server.browser().send(await linkTo(server, 'sam@shop.example'))
      assert.match(textOf(page.text), /sam(?!@)/)
    })

    // Anyone can sign up with that name: the link would give its owner a second account that hides the directory's.
    it('sends no link to a directory user, even if an unconfirmed sign-up has the same user name', async () => {
      await ask('lea@shop.example')
      assert.doesNotMatch((await mailTo(server, 'lea@corp.example')).text, /reset_password/)
      assert.ok(!(await server.mails()).some(({ to }) => to === 'lea@shop.example'))
    })

    // Covers POST /forgot_password.do: rule: mail for other origins
    it('mails external users that their provider manages the password', async () => {
      await ask('ext')
      const { text } = await mailTo(server, 'ext@corp.example')
      assert.doesNotMatch(text, /reset_password/)
    })

    // Covers GET /reset_password: rule: HEAD keeps the code
    it('does not use up the link on GET and HEAD', async () => {
      const link = await linkFor('pia')
      for (const method of ['HEAD', 'GET', 'HEAD', 'GET']) {
        assert.equal((await server.send(link, { method })).status, 200)
      }
      assert.equal((await reset(link)).status, 302)
    })

    // Covers POST /reset_password.do: email; password_confirmation; error: form_error; policy
    it('refuses passwords that differ, are empty, too long or unchanged, and issues a new code', async () => {
      const link = await linkFor('quentin')
      const differing = await reset(link, NEW_PASSWORD, { again: 'another' })
      assert.equal(differing.status, 422)
      assert.match(differing.text, /class="error-message"/)
      const empty = await reset(link, '')
      assert.equal(empty.status, 422)
      const long = await reset(link, 'n'.repeat(300))
      assert.equal(long.status, 422)
      assert.match(textOf(long.text), /255/)
      isExpired(await server.browser().send(link))
      const browser = server.browser()
      await browser.send('/login')
      const { code = '', email = '' } = hiddenFields(long.text)
      assert.equal(email, 'quentin@shop.example')
      const same = await reset(`/reset_password?code=${code}`, OLD)
      assert.equal(same.status, 422)
      const { code: last = '' } = hiddenFields(same.text)
      assert.equal((await reset(`/reset_password?code=${last}`)).status, 302)
      assert.ok(await signsIn('quentin', NEW_PASSWORD))
    })

    // Covers GET /reset_password: error: bad_code
    // Covers POST /reset_password.do: error: bad_code
    // Covers one-time codes: password reset
    it('accepts only the newest link, for half an hour, until the password changes', async () => {
      const [first, second] = [await linkFor('rosa'), await linkFor('rosa')]
      isExpired(await server.browser().send(first))
      server.clock.advance(30 * 60)
      isExpired(await server.browser().send(second))
      const third = await linkFor('rosa')
      assert.equal((await reset(third)).status, 302)
      isExpired(await server.browser().send(third))
    })

    it('does not use up the link where a busy server does not set the password', async () => {
      const link = await linkFor('rosa')
      const busy = await whileBusy(server, () => reset(link, 'another sea of glass'))
      assert.equal(busy.status, 503)
      assert.equal((await reset(link, 'another sea of glass')).status, 302)
    })

    it('verifies the account with the password, also where a busy server stops after it', async () => {
      await changeUser(server, 'rosa', { verified: false })
      const link = await linkFor('rosa')
      const password = 'one more sea of glass'
      assert.equal((await whileBusy(server, () => reset(link, password), ['verify'])).status, 503)
      assert.ok(await signsIn('rosa', password))
    })

    it('gives a refused password no more time', async () => {
      const link = await linkFor('tina')
      server.clock.advance(29 * 60)
      const { code = '' } = hiddenFields((await reset(link, 'n'.repeat(300))).text)
      server.clock.advance(30)
      assert.equal((await server.browser().send(`/reset_password?code=${code}`)).status, 200)
      server.clock.advance(30)
      isExpired(await server.browser().send(`/reset_password?code=${code}`))
    })

    it('verifies the account, unlocks it and ends its sessions, but starts no session', async () => {
      const verifying = await reset(await linkFor('waiting'))
      assert.equal(verifying.status, 302)
      assert.ok((await userNamed(server, 'waiting')).verified)
      const other = server.browser()
      await other.signIn('sam', OLD)
      const link = await linkFor('sam')
      for (let attempt = 0; attempt < 6; attempt += 1) assert.ok(!(await signsIn('sam', 'wrong')))
      const browser = server.browser()
      assert.equal((await reset(link, NEW_PASSWORD, { browser })).status, 302)
      assert.doesNotMatch(server.events.map(({ type }) => type).join(), /Unlocked/, 'which the new password implies')
      const page = (await browser.send('/login?success=password_reset')).text
      assert.equal(page.includes('value="sam"'), mode === 'standard', 'the user need not type the name again')
      assert.match(String((await browser.send('/profile')).headers['location']), /\/login$/)
      assert.match(String((await other.send('/profile')).headers['location']), /\/login$/)
      assert.ok(await signsIn('sam', NEW_PASSWORD))
    })

    it('ignores a redirect URI that is not registered for the client', async () => {
      for (const [index, more] of [
        { client_id: 'app', redirect_uri: 'https://evil.example/' },
        { client_id: 'none', redirect_uri: APP },
        { redirect_uri: APP },
      ].entries()) {
        const answer = await reset(await linkFor('tina', more), `${NEW_PASSWORD} ${index}`)
        assert.equal(answer.status, 302, textOf(answer.text))
        assert.equal(answer.location().search, '?success=password_reset')
      }
    })

    // Covers POST /reset_password.do: X-<Service>-Csrf
    it('requires all fields, and the anti-forgery token for a reset', async () => {
      const browser = server.browser()
      await browser.send('/forgot_password')
      assert.equal((await browser.send('/forgot_password.do', { form: { email: 'nadia' } })).status, 400)
      assert.equal((await browser.send('/reset_password')).status, 400)
      const link = await linkFor('ugo')
      const code = new URL(link, 'http://localhost').searchParams.get('code') ?? ''
      const fields = { code, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD }
      const forged = await server.send('/reset_password.do', { form: fields })
      assert.ok(forged.status === 302 || forged.status === 403)
      assert.ok(await signsIn('ugo', OLD))
      const page = await browser.send(link)
      const { password: _, ...missing } = fields
      assert.equal(
        (await browser.send('/reset_password.do', { form: { ...hiddenFields(page.text), ...missing } })).status,
        400,
      )
      assert.equal((await reset(link)).status, 302)
    })

    it('refuses a link of another zone', async () => {
      const link = await linkFor('ugo')
      isExpired(await server.browser('z1.localhost:8080').send(link))
    })

    // Covers GET /forgot_password: error: self service disabled
    it('answers 404 without self-service, and 403 without internal user management', async () => {
      const off = server.browser('off.localhost:8080')
      assert.equal((await off.send('/forgot_password')).status, 404)
      assert.equal((await off.send('/forgot_password.do', { form: { username: 'nadia' } })).status, 404)
      const closed = server.browser('closed.localhost:8080')
      for (const answer of [
        await closed.send('/forgot_password'),
        await closed.send('/forgot_password.do', { form: {} }),
        await closed.send('/reset_password?code=x'),
        await closed.send('/reset_password.do', { form: {} }),
        await closed.send('/email_sent'),
      ]) {
        assert.deepEqual([answer.status, answer.json()['error']], [403, 'internal_user_management_disabled'])
      }
    })

    it('rate-limits requests for each name, with or without an account', async () => {
      for (const username of ['omar', 'absent']) {
        const statuses = new Set<number>()
        for (let attempt = 0; attempt < 30; attempt += 1) {
          statuses.add((await server.send('/forgot_password.do', { form: { username } })).status)
        }
        assert.deepEqual([...statuses], [302, 429])
      }
    })
  })
}

for (const kind of DATABASE_KINDS) {
  describe(`Concurrent use of one reset link on ${kind}`, () => {
    it('sets one password', async () => {
      const database = await freshDatabase(kind)
      const server = await startServer({ config, database: database.url })
      await server.send('/forgot_password.do', { form: { username: 'nadia' } })
      const link = await linkTo(server, 'nadia@shop.example')
      const browsers = [server.browser(), server.browser()]
      const pages = await Promise.all(browsers.map(browser => browser.send(link)))
      const answers = await Promise.all(
        browsers.map((browser, index) => {
          const password = `${NEW_PASSWORD} ${index}`
          const fields = { ...hiddenFields(pages[index]?.text ?? ''), password, password_confirmation: password }
          return browser.send('/reset_password.do', { form: fields })
        }),
      )
      assert.deepEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [302, 422],
      )
      await server.stop()
      await database.drop()
    })
  })
}
