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
  NEW_PASSWORD,
  signUpWith,
  textOf,
  whileBusy,
} from '../../support/self-service.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { defaultBootstrap, startServer } from '../../support/server.ts'

const APP = 'https://app.example/cb'
const zone = (id: string, config: object, bootstrap: object = {}) => ({
  id,
  subdomain: id,
  name: id,
  config,
  bootstrap,
})

const config = {
  bootstrap: {
    ...defaultBootstrap,
    clients: [
      ...defaultBootstrap.clients,
      {
        client_id: 'welcoming',
        client_secret: 'secret',
        authorized_grant_types: ['authorization_code'],
        scope: ['openid'],
        redirect_uri: [APP],
        signup_redirect_url: 'https://app.example/welcome',
      },
    ],
    users: [
      ...defaultBootstrap.users,
      { userName: 'ver@shop.example', password: 'koala', emails: [{ value: 'ver@shop.example' }] },
      { userName: 'named@shop.example', password: 'koala', emails: [{ value: 'other@shop.example' }] },
    ],
    identity_providers: [{ ...CORP, config: { ...CORP.config, emailDomain: ['corp.example'] } }],
    identity_zones: [
      zone('off', { links: { selfService: { selfServiceLinksEnabled: false } } }),
      zone('closed', {}, { identity_providers: CLOSED_INTERNAL }),
      zone('terms', { branding: { consent: { text: 'the <b>terms</b>', link: 'https://terms.example' } } }),
      zone('small', { userConfig: { maxUsers: 1 } }),
    ],
  },
}

for (const mode of MODES) {
  describe(`Sign-up in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const at = (zoneId: string): Browser => server.browser(`${zoneId}.localhost:8080`)
    const isSent = (answer: TestAnswer): void => {
      assert.equal(answer.status, 302, textOf(answer.text))
      assert.equal(answer.location().pathname, '/accounts/email_sent')
    }
    const statusOfSignIn = async (userName: string, password: string): Promise<string> => {
      const { pathname, searchParams } = (await server.browser().signIn(userName, password)).location()
      return searchParams.get('error') ?? pathname
    }

    // Covers GET /create_account: client_id; redirect_uri; page: form
    it('shows a form with client and redirect URI', async () => {
      const page = await server.browser().send('/create_account', { query: { client_id: 'app', redirect_uri: APP } })
      assert.equal(page.status, 200)
      assert.match(page.text, /<h1>Create your account<\/h1>/)
      const { client_id, redirect_uri } = hiddenFields(page.text)
      assert.deepEqual([client_id, redirect_uri], ['app', APP])
      for (const name of ['email', 'password', 'password_confirmation'])
        assert.match(page.text, new RegExp(`name="${name}"`))
      assert.match(page.text, /value="Send activation link"/)
      assert.match(textOf(page.text), /Already joined\? Sign in\./)
    })

    // Covers POST /create_account.do: email; password
    // Covers GET /accounts/email_sent: page
    it('creates an account that cannot sign in until its address is confirmed', async () => {
      const browser = server.browser()
      isSent(await signUpWith(browser, 'new1@shop.example'))
      const sent = await browser.send('/accounts/email_sent')
      const words = {
        standard: /We sent an activation link to new1@shop\.example ?\./,
        uaa: /Please check email for an/,
      }
      assert.match(textOf(sent.text), words[mode])
      const again = await browser.send('/accounts/email_sent')
      assert.match(textOf(again.text), mode === 'uaa' ? /Please check email for an/ : /Please check your email for an/)
      assert.match(sent.text, /href="\/create_account"/)
      const mail = await mailTo(server, 'new1@shop.example')
      const link = await linkTo(server, 'new1@shop.example')
      assert.match(link, /^\/verify_user\?code=[\w-]{32}$/)
      assert.equal(mail.subject, 'Activate your account')
      assert.match(mail.text, /new1@shop\.example/)
      const user = await userNamed(server, 'new1@shop.example')
      assert.deepEqual([user.email, user.verified, user.active, user.version], ['new1@shop.example', false, true, 0])
      const reported = mode === 'uaa' ? 'account_not_verified' : 'login_failure'
      assert.equal(await statusOfSignIn('new1@shop.example', NEW_PASSWORD), reported)
      assert.equal(await statusOfSignIn('new1@shop.example', 'another'), 'login_failure')

      const answer = await confirmed(browser, link)
      assert.equal(answer.status, 302, textOf(answer.text))
      assert.equal(answer.headers['location'], 'http://localhost:8080/login?success=verify_success')
      assert.ok((await userNamed(server, 'new1@shop.example')).verified)
      assert.equal(await statusOfSignIn('new1@shop.example', NEW_PASSWORD), '/')
      const types = new Set(server.events.map(({ type }) => type))
      assert.ok(types.has('UserCreatedEvent'))
      assert.ok(types.has('UserVerifiedEvent'))
    })

    // Covers GET /verify_user: rule: HEAD keeps the code
    it('does not use up the link on GET and HEAD', async () => {
      const browser = server.browser()
      await signUpWith(browser, 'scan@shop.example')
      const link = await linkTo(server, 'scan@shop.example')
      const head = await server.send(link, { method: 'HEAD' })
      assert.deepEqual([head.status, head.headers['location']], [302, 'http://localhost:8080/login'])
      for (let times = 0; times < 3; times += 1) assert.equal((await server.send(link)).status, 200)
      assert.equal((await userNamed(server, 'scan@shop.example')).verified, false)
      assert.equal((await confirmed(browser, link)).status, 302)
    })

    it('does not use up the link where a busy server verifies nothing', async () => {
      const browser = server.browser()
      await signUpWith(browser, 'busy@shop.example')
      await mailTo(server, 'busy@shop.example')
      await signUpWith(browser, 'busy@shop.example') // UAA: the account has the password of the first one already
      const link = await linkTo(server, 'busy@shop.example')
      assert.equal((await whileBusy(server, () => confirmed(browser, link))).status, 503)
      assert.equal((await confirmed(browser, link)).status, 302)
      assert.equal(await statusOfSignIn('busy@shop.example', NEW_PASSWORD), '/')
    })

    it('asks for the password of the sign-up in another browser', async () => {
      await signUpWith(server.browser(), 'phone@shop.example')
      const link = await linkTo(server, 'phone@shop.example')
      const phone = server.browser()
      assert.match((await phone.send(link)).text, /type="password"/)
      for (const password of ['', 'a wrong password']) {
        const refused = await confirmed(phone, link, { password })
        assert.equal(refused.status, 422)
        assert.equal((await userNamed(server, 'phone@shop.example')).verified, false)
      }
      assert.equal((await confirmed(phone, link, { password: NEW_PASSWORD })).status, 302)
      assert.equal(await statusOfSignIn('phone@shop.example', NEW_PASSWORD), '/')
    })

    it('sends another link after a second sign-up, and sets the password of the link used', async () => {
      const first = server.browser()
      await signUpWith(first, 'twice@shop.example')
      const firstLink = await linkTo(server, 'twice@shop.example')
      const second = server.browser()
      const other = 'another sea of green glass'
      await signUpWith(second, 'TWICE@shop.example', { password: other, password_confirmation: other })
      const secondLink = await linkTo(server, 'twice@shop.example')
      assert.notEqual(firstLink, secondLink)
      assert.equal((await confirmed(second, secondLink)).status, 302)
      assert.equal(await statusOfSignIn('twice@shop.example', other), '/')
      assert.equal(await statusOfSignIn('twice@shop.example', NEW_PASSWORD), 'login_failure')
      assert.equal((await first.send(firstLink)).status, 422, 'the first link is no longer valid')
    })

    // Covers GET /verify_user: code
    // Covers POST /verify_user: rule: concurrent use
    it('verifies once if the link is used twice concurrently', async () => {
      const browser = server.browser()
      await signUpWith(browser, 'once@shop.example')
      const link = await linkTo(server, 'once@shop.example')
      const fields = hiddenFields((await browser.send(link)).text)
      const answers = await Promise.all([1, 2].map(() => browser.send('/verify_user', { form: fields })))
      assert.equal(
        answers
          .map(({ status }) => status)
          .toSorted((a, b) => a - b)
          .join(),
        '302,422',
      )
      const again = await browser.send(link)
      assert.equal(again.status, 422)
      assert.match(textOf(again.text), /Your activation link has expired\. Please request a new one here ?\./)
    })

    const BAD_LINKS: readonly (readonly [string, string, number])[] = [
      ['no code', '/verify_user', 400],
      ['a malformed code', '/verify_user?code=nonsense', 422],
      // Covers GET /verify_user: error: invalid code
      ['an unknown code', `/verify_user?code=${'x'.repeat(32)}`, 422],
      ['markup', '/verify_user?code=%3Cscript%3E', 422],
    ]
    for (const [name, link, status] of BAD_LINKS) {
      it(`refuses a link with ${name}`, async () => {
        const browser = server.browser()
        assert.equal((await browser.send(link)).status, status)
        await browser.send('/create_account')
        const code = new URL(link, server.baseUrl).searchParams.get('code')
        const form = { ...hiddenFields((await browser.send('/create_account')).text), ...(code !== null && { code }) }
        assert.equal((await browser.send('/verify_user', { form })).status, status)
      })
    }

    // Covers one-time codes: registration
    it('refuses a link after an hour, in another zone or for another purpose', async () => {
      const browser = server.browser()
      await signUpWith(browser, 'late@shop.example')
      const link = await linkTo(server, 'late@shop.example')
      assert.equal((await at('small').send(link)).status, 422)
      assert.equal((await browser.send(link.replace('verify_user', 'verify_email'))).status, 422)
      server.clock.advance(60 * 60)
      assert.equal((await browser.send(link)).status, 422)
    })

    // Covers POST /create_account.do: client_id; redirect_uri
    it('redirects to a registered URL, else to signup_redirect_url', async () => {
      const cases = [
        [{ client_id: 'welcoming', redirect_uri: APP }, APP],
        [{ client_id: 'welcoming', redirect_uri: 'https://evil.example/' }, 'https://app.example/welcome'],
        [
          { client_id: 'welcoming', redirect_uri: 'https://app.example@evil.example/cb' },
          'https://app.example/welcome',
        ],
        [{ client_id: 'app', redirect_uri: 'https://evil.example/' }, null],
        [{ client_id: 'nobody', redirect_uri: APP }, null],
        [{ client_id: '', redirect_uri: APP }, null],
        [{ client_id: 'welcoming', redirect_uri: 'x'.repeat(5000) }, 'https://app.example/welcome'],
      ] as const
      for (const [index, [requestedReturn, expected]] of cases.entries()) {
        const browser = server.browser()
        const email = `way${index}@shop.example`
        isSent(await signUpWith(browser, email, { ...requestedReturn, form_redirect_uri: 'https://evil.example/' }))
        const target = (await confirmed(browser, await linkTo(server, email))).location()
        assert.equal(target.pathname, '/login')
        assert.equal(
          target.searchParams.get('form_redirect_uri'),
          expected,
          JSON.stringify(requestedReturn).slice(0, 100),
        )
      }
    })

    // User names are compared in one form, so the owner could neither sign up any more nor ask for a new password.
    it('does not let a Unicode variant of an address block it', async () => {
      for (const [spelling, address] of [
        ['\uff4deg@shop.example', 'meg@shop.example'],
        ['ri\u212a@shop.example', 'rik@shop.example'],
      ] as const) {
        await signUpWith(server.browser(), spelling)
        isSent(await signUpWith(server.browser(), address))
        assert.match(await linkTo(server, address), /^\/verify_user\?code=/)
      }
    })

    // Covers POST /create_account.do: error: username_exists
    it('does not reveal that an address has an account, and notifies its owner', async () => {
      for (const [email, name] of [
        ['ver@shop.example', 'ver@shop.example'],
        ['VER@shop.example', 'ver@shop.example'],
        ['joel@example.org', 'joel'],
        ['named@shop.example', 'named@shop.example'],
      ] as const) {
        const before = await userNamed(server, name)
        isSent(await signUpWith(server.browser(), email))
        const mail = await mailTo(server, email)
        assert.equal(mail.subject, 'You already have an account')
        assert.ok(!mail.text.includes('code='))
        assert.deepEqual(await userNamed(server, name), before)
      }
      assert.equal(await server.store.users.findByName('svc', 'svc', 'joel@example.org'), undefined)
    })

    it('sends no new link to a deactivated account', async () => {
      await signUpWith(server.browser(), 'gone@shop.example')
      await mailTo(server, 'gone@shop.example')
      await changeUser(server, 'gone@shop.example', { active: false })
      isSent(await signUpWith(server.browser(), 'gone@shop.example'))
      assert.equal((await mailTo(server, 'gone@shop.example')).subject, 'You already have an account')
    })

    const REFUSED: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
      ['an address without @', { email: 'nonsense' }, /Please enter a valid email address\./],
      ['an empty address', { email: '' }, /Please enter a valid email address\./],
      [
        'a header injection in the address',
        { email: 'a@b.example\r\nBcc: c@d.example' },
        /Please enter a valid email address\./,
      ],
      ['two addresses', { email: 'a@b.example,c@d.example' }, /Please enter a valid email address\./],
      ['markup in the address', { email: '<script>@b.example' }, /Please enter a valid email address\./],
      // Covers POST /create_account.do: error: invalid_email
      [
        'an address with a character not allowed in user names',
        { email: 'a#b@b.example' },
        /Please enter a valid email address\./,
      ],
      [
        'an address with a fullwidth letter',
        { email: '\uff4darissa@b.example' },
        /Please enter a valid email address\./,
      ],
      ['an address with a Kelvin sign', { email: 'mi\u212ae@b.example' }, /Please enter a valid email address\./],
      [
        'an address of 300 characters',
        { email: `${'a'.repeat(300)}@b.example` },
        /Please enter a valid email address\./,
      ],
      // Covers POST /create_account.do: password_confirmation; error: form_error
      ['passwords that differ', { password_confirmation: 'x' }, /Passwords must match and not be empty\./],
      ['an empty password', { password: '', password_confirmation: '' }, /Passwords must match and not be empty\./],
      [
        // Covers POST /create_account.do: error: policy
        'a password that is too long',
        { password: 'x'.repeat(300), password_confirmation: 'x'.repeat(300) },
        /Password must be no more than 255 characters in length\./,
      ],
      [
        'an address of another provider',
        { email: 'kai@corp.example' },
        mode === 'uaa'
          ? /Account sign-up is not required for this email domain\. Please login with the identity provider/
          : /Your organization manages accounts/,
      ],
    ]
    for (const [name, fields, message] of REFUSED) {
      it(`refuses ${name} and creates no account`, async () => {
        const count = await server.store.users.count('svc')
        const answer = await signUpWith(server.browser(), fields['email'] ?? 'refused@shop.example', fields)
        assert.equal(answer.status, 422)
        assert.match(textOf(answer.text), message)
        assert.ok(!answer.text.includes('<script>'))
        assert.ok(!answer.text.includes(NEW_PASSWORD))
        await server.mails()
        assert.equal(await server.store.users.count('svc'), count)
      })
    }

    // Covers POST /create_account.do: error: other_idp
    it('offers sign-in with the provider of the email domain', async () => {
      const answer = await signUpWith(server.browser(), 'kai@corp.example')
      assert.match(answer.text, /action="\/login\/idp_discovery"/)
      assert.match(answer.text, mode === 'uaa' ? /value="Login with provider"/ : /value="Continue to sign-in"/)
    })

    it('refuses a form without one of its fields', async () => {
      const browser = server.browser()
      for (const name of ['email', 'password', 'password_confirmation']) {
        const fields = hiddenFields((await browser.send('/create_account')).text)
        const all = { ...fields, email: 'a@b.example', password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD }
        const { [name]: _, ...form } = all as Record<string, string>
        assert.equal((await browser.send('/create_account.do', { form })).status, 400)
      }
    })

    // Covers POST /create_account.do: X-<Service>-Csrf
    it('refuses forged forms', async () => {
      for (const path of ['/create_account.do', '/verify_user']) {
        for (const more of [{}, { 'X-Svc-Csrf': 'nonsense', 'X-Uaa-Csrf': 'nonsense' }]) {
          const form = {
            email: 'a@b.example',
            password: NEW_PASSWORD,
            password_confirmation: NEW_PASSWORD,
            code: 'x',
            ...more,
          }
          const answer = await server.browser().send(path, { form })
          assert.equal(answer.location().search, '?error=invalid_login_request')
        }
      }
    })

    it('sends at most ten mails an hour to an address, with or without an account', async () => {
      for (const email of ['bomb@shop.example', 'ver@shop.example']) {
        const browser = server.browser()
        let answer = await signUpWith(browser, email)
        for (let times = 0; times < 10 && answer.status === 302; times += 1) answer = await signUpWith(browser, email)
        assert.equal(answer.status, 429)
        assert.ok(Number(answer.headers['retry-after']) > 0)
      }
      server.clock.advance(60 * 60)
      isSent(await signUpWith(server.browser(), 'bomb@shop.example'))
    })

    it('redirects signed-in users to the home page', async () => {
      const browser = server.browser()
      await browser.signIn('marissa', 'koala')
      assert.equal((await browser.send('/create_account')).location().pathname, '/home')
    })

    // Covers layout and branding: consent.text; consent.link
    // Covers POST /create_account.do: does_user_consent; error: missing_consent
    it('requires consent if the zone has a consent text, before any other check', async () => {
      const browser = at('terms')
      const page = await browser.send('/create_account')
      assert.match(page.text, /<a href="https:\/\/terms\.example"[^>]*>the &lt;b&gt;terms&lt;\/b&gt;<\/a>/)
      assert.match(page.text, /name="does_user_consent"/)
      const refused = await signUpWith(browser, 'nonsense')
      assert.equal(refused.status, 422)
      assert.match(textOf(refused.text), /Please agree before continuing\./)
      const again = await signUpWith(browser, 'o@shop.example', { does_user_consent: 'true', password: 'other' })
      assert.match(again.text, /name="does_user_consent" value="true" checked>/, 'the user need not agree twice')
      isSent(await signUpWith(browser, 'o@shop.example', { does_user_consent: 'true' }))
      assert.equal((await linkTo(server, 'o@shop.example')).startsWith('/verify_user?code='), true)
    })

    // Covers GET /create_account: error: self service disabled
    it('answers 404 if self-service is disabled', async () => {
      for (const request of [{}, { form: hiddenFields((await at('off').send('/login')).text) }]) {
        const browser = at('off')
        const fields = hiddenFields((await browser.send('/login')).text)
        const path = 'form' in request ? '/create_account.do' : '/create_account'
        const answer = await browser.send(path, 'form' in request ? { form: fields } : {})
        assert.equal(answer.status, 404)
        assert.match(textOf(answer.text), /Self service is disabled\./)
      }
    })

    // Covers internal user management disabled: 403 of self-service pages
    // Covers config of type uaa: disableInternalUserManagement
    it('answers 403 if internal user management is disabled', async () => {
      const closed = at('closed')
      for (const answer of [
        await closed.send('/create_account'),
        await closed.send('/create_account.do', { form: {} }),
        await closed.send('/accounts/email_sent'),
        await closed.send('/verify_user?code=x'),
        await closed.send('/verify_user', { form: {} }),
      ]) {
        assert.equal(answer.status, 403)
        assert.deepEqual(
          [answer.json()['error'], answer.json()['error_description']],
          [
            'internal_user_management_disabled',
            'Internal User Creation is currently disabled. External User Store is in use.',
          ],
        )
      }
    })

    it('reports to every visitor that the zone is full', async () => {
      isSent(await signUpWith(at('small'), 'first@shop.example'))
      await server.mails()
      for (const email of ['first@shop.example', 'second@shop.example']) {
        const answer = await signUpWith(at('small'), email)
        assert.equal(answer.status, 422)
        assert.match(textOf(answer.text), /No more accounts can be created here/)
      }
    })
  })
}
