import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { changeUser, MODES, userNamed } from '../../support/oauth.ts'
import { hiddenFields } from '../../support/forms.ts'
import {
  CLOSED_INTERNAL,
  confirmed,
  CORP,
  linkTo,
  mailTo,
  submitted,
  textOf,
  whileBusy,
} from '../../support/self-service.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { defaultBootstrap, startServer } from '../../support/server.ts'

const APP = 'https://app.example/cb'
const user = (value: string, more: object = {}) => ({
  userName: value,
  password: 'koala',
  emails: [{ value }],
  ...more,
})
const config = {
  bootstrap: {
    ...defaultBootstrap,
    clients: [
      ...defaultBootstrap.clients,
      {
        client_id: 'leading',
        client_secret: 'secret',
        authorized_grant_types: ['authorization_code'],
        scope: ['openid'],
        redirect_uri: [APP],
        change_email_redirect_url: 'https://app.example/changed',
      },
    ],
    users: [
      ...defaultBootstrap.users,
      ...['cem', 'mail', 'two', 'late', 'race', 'way', 'spam', 'exp', 'pw', 'typo'].map(name =>
        user(`${name}@shop.example`),
      ),
      user('taken@shop.example'),
      user('boss@shop.example', { groups: ['svc.admin'] }),
    ],
    identity_providers: [CORP],
    identity_zones: [
      { id: 'z1', subdomain: 'z1', name: 'Zone 1', bootstrap: { users: [user('cem@shop.example')] } },
      {
        id: 'closed',
        subdomain: 'closed',
        name: 'Closed',
        bootstrap: {
          users: [user('in@shop.example')],
          identity_providers: CLOSED_INTERNAL,
        },
      },
    ],
  },
}

for (const mode of MODES) {
  describe(`Email change in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const signedIn = async (userName: string, host?: string): Promise<Browser> => {
      const browser = server.browser(host)
      assert.equal((await browser.signIn(userName, userName === 'joel' ? 'wombat' : 'koala')).status, 302)
      return browser
    }
    const ask = async (browser: Browser, newEmail: string, more: Readonly<Record<string, string>> = {}) =>
      submitted(browser, '/change_email', { action: '/change_email.do', newEmail, ...more })
    const isSent = (answer: TestAnswer): void => {
      assert.equal(answer.status, 302, textOf(answer.text))
      const { pathname, search } = answer.location()
      assert.equal(pathname + search, '/email_sent?code=email_change')
    }

    it('requires a session', async () => {
      assert.equal((await server.browser().send('/change_email')).location().pathname, '/login')
    })

    // Covers GET /change_email: client_id; redirect_uri
    it('shows the current address and a form', async () => {
      const page = await (await signedIn('cem@shop.example')).send('/change_email?client_id=leading&redirect_uri=x')
      assert.match(textOf(page.text), /Current email address: cem@shop\.example/i)
      const { client_id, redirect_uri } = hiddenFields(page.text)
      assert.deepEqual([client_id, redirect_uri], ['leading', 'x'])
      assert.match(page.text, /name="newEmail"/)
    })

    // Covers POST /change_email.do: newEmail
    // Covers GET /verify_email: code
    it('changes address and user name once confirmed, and notifies the old address twice', async () => {
      const browser = await signedIn('cem@shop.example')
      const before = await userNamed(server, 'cem@shop.example')
      isSent(await ask(browser, 'cem2@shop.example'))
      const sent = await browser.send('/email_sent?code=email_change')
      const words = {
        standard: /We sent a verification link to cem2@shop\.example ?\./,
        uaa: /Please check your email for/,
      }
      assert.match(textOf(sent.text), words[mode])
      assert.match(sent.text, /<p class="below"><a href="\/profile">/, 'the user is still signed in')
      assert.equal((await mailTo(server, 'cem@shop.example')).subject, 'A change of your email address was requested')
      const link = await linkTo(server, 'cem2@shop.example')
      assert.match(link, /^\/verify_email\?code=[\w-]{32}$/)
      for (let times = 0; times < 2; times += 1) {
        assert.match(textOf((await browser.send(link)).text), /cem@shop\.example .* cem2@shop\.example/)
      }
      assert.equal((await userNamed(server, 'cem@shop.example')).email, 'cem@shop.example', 'a GET changes nothing')
      const answer = await confirmed(browser, link)
      assert.equal(
        answer.headers['location'],
        'http://localhost:8080/profile?success_message_code=email_change.success',
      )
      const after = await userNamed(server, 'cem2@shop.example')
      assert.deepEqual([after.id, after.email, after.verified], [before.id, 'cem2@shop.example', true])
      const notice = await mailTo(server, 'cem@shop.example')
      assert.equal(notice.subject, 'Your email address was changed')
      assert.ok(!notice.text.includes('code='))
      assert.equal(server.events.filter(({ type }) => type === 'EmailChangedEvent').length, 1)
      assert.equal((await browser.send('/profile')).status, 200, 'the session continues')
      const again = await browser.send(link)
      assert.match(String(again.headers['location']), /\/profile\?error_message_code=email_change\.invalid_code$/)
    })

    it('does not use up the link where a busy server changes nothing', async () => {
      const browser = await signedIn('joel')
      isSent(await ask(browser, 'joel@busy.example'))
      const link = await linkTo(server, 'joel@busy.example')
      assert.equal((await whileBusy(server, () => confirmed(browser, link))).status, 503)
      assert.equal((await confirmed(browser, link)).status, 302)
      assert.equal((await userNamed(server, 'joel')).email, 'joel@busy.example')
    })

    it('keeps a user name that differs from the address', async () => {
      const browser = await signedIn('joel')
      isSent(await ask(browser, 'joel@new.example'))
      await confirmed(browser, await linkTo(server, 'joel@new.example'))
      assert.equal((await userNamed(server, 'joel')).email, 'joel@new.example')
    })

    it('lets administrators change their own address', async () => {
      const browser = await signedIn('boss@shop.example')
      isSent(await ask(browser, 'boss@new.example'))
      await confirmed(browser, await linkTo(server, 'boss@new.example'))
      assert.equal((await userNamed(server, 'boss@new.example')).email, 'boss@new.example')
    })

    it('refuses the current address', async () => {
      const answer = await ask(await signedIn('typo@shop.example'), 'typo@shop.example')
      assert.equal(answer.status, 422)
      assert.match(textOf(answer.text), /There is already a user with that email address\./)
      assert.deepEqual(
        (await server.mails()).filter(({ to }) => to === 'typo@shop.example'),
        [],
      )
    })

    // Covers GET /verify_email: error: invalid code
    it('confirms without a session, and names the account in another user’s session', async () => {
      isSent(await ask(await signedIn('mail@shop.example'), 'mail2@shop.example'))
      const other = await signedIn('marissa')
      const link = await linkTo(server, 'mail2@shop.example')
      assert.match(textOf((await other.send(link)).text), /mail@shop\.example.*signed in as marissa/)
      const answer = await confirmed(other, link)
      assert.equal(
        answer.headers['location'],
        'http://localhost:8080/profile?success_message_code=email_change.success',
      )
      assert.equal((await userNamed(server, 'marissa')).email, 'marissa@example.org')
      assert.equal((await userNamed(server, 'mail2@shop.example')).email, 'mail2@shop.example')
      const anonymous = server.browser()
      const gone = await anonymous.send(link)
      assert.equal(gone.status, 422)
      assert.match(textOf(gone.text), /Your verification link has expired\. Please request another\./)
      const page = await anonymous.send('/login?success=change_email_success')
      assert.match(textOf(page.text), /email address (?:is|successfully) verified/i)
    })

    // Covers POST /change_email.do: error: username_exists
    it('does not reveal that an address is taken, and notifies its owner', async () => {
      const browser = await signedIn('two@shop.example')
      isSent(await ask(browser, 'own@shop.example'))
      const own = await linkTo(server, 'own@shop.example')
      isSent(await ask(browser, 'TAKEN@shop.example'))
      const mail = await mailTo(server, 'TAKEN@shop.example')
      assert.equal(mail.subject, 'Your email address is already in use')
      assert.ok(!mail.text.includes('code='))
      const notice = await mailTo(server, 'two@shop.example')
      assert.match(notice.text, /TAKEN@shop\.example/)
      assert.match(
        String((await browser.send(own)).headers['location']),
        /invalid_code/,
        'as after a code that was sent',
      )
    })

    // Covers POST /verify_email: rule: concurrent changes to one address
    it('confirms only one of two concurrent changes to the same address', async () => {
      for (const name of ['race', 'late'])
        isSent(await ask(await signedIn(`${name}@shop.example`), 'wanted@shop.example'))
      const mails = (await server.mails()).filter(({ to }) => to === 'wanted@shop.example')
      const links = mails.map(({ text }) => /\/verify_email\?code=[\w-]+/.exec(text)?.[0] ?? '')
      const browsers = links.map(() => server.browser())
      const forms = await Promise.all(
        links.map(async (link, n) => hiddenFields((await browsers[n]?.send(link))?.text ?? '')),
      )
      const answers = await Promise.all(forms.map(async (form, n) => browsers[n]?.send('/verify_email', { form })))
      assert.equal(
        answers
          .map(answer => answer?.status ?? 0)
          .toSorted((a, b) => a - b)
          .join(),
        '302,422',
      )
      const loser = answers.find(answer => answer?.status === 422)
      assert.match(textOf(loser?.text ?? ''), /There is already a user with that email address\./)
    })

    // Covers POST /change_email.do: client_id; redirect_uri
    it('redirects only to registered URLs of the client', async () => {
      const cases = [
        [{ client_id: 'leading', redirect_uri: APP }, APP],
        [{ client_id: 'leading' }, 'https://app.example/changed'],
        [{ client_id: 'leading', redirect_uri: 'https://evil.example/' }, 'https://app.example/changed'],
        [{ client_id: 'app', redirect_uri: 'https://evil.example/' }, undefined],
        [{ redirect_uri: 'https://evil.example/' }, undefined],
      ] as const
      let email = 'way@shop.example'
      for (const [index, [requestedReturn, expected]] of cases.entries()) {
        const browser = await signedIn(email)
        email = `way${index}@shop.example`
        isSent(await ask(browser, email, { ...requestedReturn, form_redirect_uri: 'https://evil.example/' }))
        const { href } = (await confirmed(browser, await linkTo(server, email))).location()
        assert.equal(href, expected ?? 'http://localhost:8080/profile?success_message_code=email_change.success')
      }
      isSent(await ask(await signedIn(email), 'away@shop.example', { client_id: 'leading' }))
      const { searchParams } = (await confirmed(server.browser(), await linkTo(server, 'away@shop.example'))).location()
      assert.equal(searchParams.get('form_redirect_uri'), 'https://app.example/changed')
    })

    for (const [name, newEmail] of [
      ['a string without @', 'nonsense'],
      ['an empty string', ''],
      ['a header injection', 'a@b.example\r\nBcc: c@d.example'],
      ['two addresses', 'a@b.example,c@d.example'],
      ['markup', '"><script>@b.example'],
      ['300 characters', `${'a'.repeat(300)}@b.example`],
    ] as const) {
      // Covers POST /change_email.do: error: invalid_email
      it(`refuses ${name} as the new address`, async () => {
        const answer = await ask(await signedIn('typo@shop.example'), newEmail)
        assert.equal(answer.status, 422)
        assert.match(textOf(answer.text), /Please enter a valid email address\./)
        assert.ok(!answer.text.includes('"><script>'))
      })
    }

    // Covers POST /change_email.do: X-<Service>-Csrf
    it('refuses a form without the address or the anti-forgery token', async () => {
      const browser = await signedIn('typo@shop.example')
      const form = hiddenFields((await browser.send('/change_email')).text)
      assert.equal((await browser.send('/change_email.do', { form })).status, 400)
      for (const path of ['/change_email.do', '/verify_email']) {
        const forged = { newEmail: 'a@b.example', code: 'x' }
        assert.equal((await browser.send(path, { form: forged })).status, 403)
      }
    })

    // Covers one-time codes: e-mail change
    it('refuses an expired or replaced code, and one of another zone, purpose or password', async () => {
      const browser = await signedIn('exp@shop.example')
      isSent(await ask(browser, 'exp2@shop.example'))
      const replaced = await linkTo(server, 'exp2@shop.example')
      isSent(await ask(browser, 'exp3@shop.example'))
      const link = await linkTo(server, 'exp3@shop.example')
      assert.equal((await server.send(replaced)).status, 422)
      assert.equal((await server.browser('z1.localhost:8080').send(link)).status, 422)
      assert.equal((await server.send(link.replace('verify_email', 'verify_user'))).status, 422)
      assert.equal((await server.send(link)).status, 200)
      server.clock.advance(30 * 60)
      assert.equal((await server.send(link)).status, 422)

      isSent(await ask(await signedIn('pw@shop.example'), 'pw2@shop.example'))
      const ofPassword = await linkTo(server, 'pw2@shop.example')
      await changeUser(server, 'pw@shop.example', { passwordRevision: 'another' })
      assert.equal((await server.send(ofPassword)).status, 422)
      assert.equal((await server.send('/verify_email')).status, 400)
    })

    // Covers POST /change_email.do: error: external user
    it('refuses users of external providers', async () => {
      const browser = await signedIn('typo@shop.example')
      const form = hiddenFields((await browser.send('/change_email')).text)
      await changeUser(server, 'typo@shop.example', { origin: 'corp' })
      for (const answer of [
        await browser.send('/change_email'),
        await browser.send('/change_email.do', { form: { ...form, newEmail: 'a@b.example' } }),
      ]) {
        assert.match(String(answer.headers['location']), /\/profile\?error_message_code=email_change\.non-uaa-origin$/)
      }
    })

    it('sends at most ten mails an hour', async () => {
      const browser = await signedIn('spam@shop.example')
      let answer = await ask(browser, 'spam0@shop.example')
      for (let times = 1; times <= 10 && answer.status === 302; times += 1) {
        answer = await ask(browser, `spam${times}@shop.example`)
      }
      assert.equal(answer.status, 429)
    })

    it('answers 403 if internal user management is disabled', async () => {
      const host = 'closed.localhost:8080'
      for (const browser of [server.browser(host), await signedIn('in@shop.example', host)]) {
        for (const answer of [
          await browser.send('/change_email'),
          await browser.send('/change_email.do', { form: {} }),
          await browser.send('/email_sent?code=email_change'),
          await browser.send('/verify_email?code=x'),
          await browser.send('/verify_email', { form: {} }),
        ]) {
          assert.deepEqual([answer.status, answer.json()['error']], [403, 'internal_user_management_disabled'])
        }
      }
    })
  })
}
