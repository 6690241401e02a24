import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { hiddenFields, unescaped } from '../../support/forms.ts'
import { APP_URL, inviteBootstrap, startInvitationServer, Z1 } from '../../support/invitations.ts'
import type { InviteApi, InviteRequest } from '../../support/invitations.ts'
import { changeUser, MODES, userNamed } from '../../support/oauth.ts'
import { whileBusy } from '../../support/self-service.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'

const PASSWORD = 'a long and good one'
const twice = (password: string) => ({ password, password_confirmation: password })
const BASE = 'http://localhost:8080'

const headingOf = ({ text }: TestAnswer): string => unescaped(/<h1>([^<]*)<\/h1>/.exec(text)?.[1] ?? '')
const messageOf = ({ text }: TestAnswer): string => unescaped(/<p class="error-message">([^<]*)</.exec(text)?.[1] ?? '')

/** Opens the link and posts its form. */
async function accept(
  browser: Browser,
  path: string,
  form: Readonly<Record<string, string>> = twice(PASSWORD),
): Promise<TestAnswer> {
  const page = await browser.send(path)
  assert.equal(page.status, 200, page.text)
  return browser.send('/invitations/accept.do', { form: { ...hiddenFields(page.text), ...form } })
}

for (const mode of MODES) {
  describe(`Invitation in ${mode}`, () => {
    let api: InviteApi
    let server: TestServer
    before(async () => {
      api = await startInvitationServer({ mode })
      ;({ server } = api)
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const EXPIRED =
      mode === 'uaa'
        ? 'Your invitation code has expired. Please request another.'
        : 'Your invitation has expired or was accepted already. Ask for another one, or sign in.'
    function assertExpired(answer: TestAnswer): void {
      assert.equal(answer.status, 422, answer.text)
      assert.equal(messageOf(answer), EXPIRED)
      assert.doesNotMatch(answer.text, /name="password"/)
    }
    let accounts = 0
    const fresh = async (request?: InviteRequest) => {
      accounts += 1
      const email = `person${accounts}@acc.org`
      return { email, ...(await api.linkFor(email, request)) }
    }

    it('is not used up where a busy server does not set the password', async () => {
      const { path } = await fresh()
      const browser = server.browser()
      assert.equal((await whileBusy(server, () => accept(browser, path))).status, 503)
      assert.equal((await accept(browser, path)).status, 302)
    })

    it('gives the user the account where a busy server stops after the password', async () => {
      const { email, path } = await fresh()
      assert.equal((await whileBusy(server, () => accept(server.browser(), path), ['verify'])).status, 503)
      const signedIn = await server.browser().signIn(email, PASSWORD)
      assert.equal(signedIn.location().searchParams.get('error'), null)
    })

    // Covers GET /invitations/accept: code; answer: form
    it('shows the form on every GET without using up the link', async () => {
      const { email, path, code } = await fresh()
      for (const method of ['HEAD', 'GET', 'GET']) {
        assert.equal((await server.send(path, { method })).status, 200)
      }
      const page = await server.browser().send(path)
      assert.equal(headingOf(page), mode === 'uaa' ? 'Create your account' : 'Accept your invitation')
      assert.ok(page.text.includes(mode === 'uaa' ? `Email: ${email}<` : email))
      assert.match(page.text, /<form action="\/invitations\/accept\.do" method="post"/)
      assert.equal(hiddenFields(page.text)['code'], code)
      assert.equal((await userNamed(server, email)).verified, false)
    })

    // Covers POST /invitations/accept.do: password
    it('sets the password, verifies the address, and redirects to sign-in', async () => {
      const { email, path } = await fresh()
      const answer = await accept(server.browser(), path)
      assert.equal(answer.status, 302)
      assert.equal(answer.headers['location'], `${BASE}/login?success=invite_accepted&form_redirect_uri=${APP_URL}`)
      assert.equal((await userNamed(server, email)).verified, true)
      assert.ok((await server.browser().signIn(email, PASSWORD)).headers['location']?.toString().startsWith(BASE))
      assert.ok(server.events.some(({ type }) => type === 'UserVerifiedEvent'))
    })

    // Covers POST /invitations/accept.do: code
    it('can be accepted once', async () => {
      const { path } = await fresh()
      const browser = server.browser()
      const fields = hiddenFields((await browser.send(path)).text)
      assert.equal((await accept(browser, path)).status, 302)
      assertExpired(await browser.send('/invitations/accept.do', { form: { ...fields, ...twice(PASSWORD) } }))
      assertExpired(await browser.send(path))
    })

    // Covers POST /invitations/accept.do: error: code_expired
    it('accepts one of two concurrent forms', async () => {
      const { path } = await fresh()
      const answers = await Promise.all(
        ['first good password', 'second good password'].map(each => accept(server.browser(), path, twice(each))),
      )
      assert.deepEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [302, 422],
      )
    })

    // Covers GET /invitations/accept: error_message_code
    // Covers POST /invitations/accept.do: password_confirmation; error: form_error
    it('shows the form again for passwords that differ or are empty', async () => {
      const { path, code } = await fresh()
      const browser = server.browser()
      for (const form of [{ password: 'a', password_confirmation: 'b' }, twice(''), {}]) {
        const answer = await accept(browser, path, form)
        const target = `${BASE}/invitations/accept?error_message_code=form_error&code=${code}`
        assert.deepEqual([answer.status, answer.headers['location']], [302, target])
        const page = await browser.send(target.slice(BASE.length))
        assert.deepEqual([page.status, messageOf(page)], [200, 'Passwords must match and not be empty.'])
      }
      assert.equal((await accept(browser, path)).status, 302)
    })

    // Covers POST /invitations/accept.do: error: policy
    it('shows violations of the password policy, and stays valid', async () => {
      const { path } = await fresh()
      const answer = await accept(server.browser(), path, twice('x'.repeat(300)))
      assert.equal(answer.status, 422)
      assert.equal(messageOf(answer), 'Password must be no more than 255 characters in length.')
      assert.equal((await accept(server.browser(), path)).status, 302)
    })

    // Covers GET /invitations/accept: error_code
    it('shows no text from the URL, and ignores unknown message codes', async () => {
      const { path } = await fresh()
      for (const query of ['error_message=Call+me', 'error_message_code=Call+me', 'error_code=constructor']) {
        const page = await server.send(`${path}&${query}`)
        assert.equal(messageOf(page), '')
        assert.doesNotMatch(page.text, /Call|constructor/)
      }
    })

    // Covers GET /invitations/accept: error: code_expired
    it('refuses unknown and malformed codes', async () => {
      for (const code of ['nonsense', '', 'x'.repeat(32), 'x'.repeat(2000)]) {
        assertExpired(await server.send('/invitations/accept', { query: { code } }))
      }
      assert.equal((await server.send('/invitations/accept')).status, 400)
      const browser = server.browser()
      const { path } = await fresh()
      assertExpired(await accept(browser, path, { ...twice(PASSWORD), code: 'x'.repeat(32) }))
    })

    // Covers one-time codes: invitation
    it('expires after seven days', async () => {
      const { path } = await fresh()
      server.clock.advance(7 * 24 * 60 * 60 - 1)
      assert.equal((await server.send(path)).status, 200)
      server.clock.advance(1)
      assertExpired(await server.send(path))
    })

    it('is valid only in its own zone', async () => {
      const { path } = await fresh()
      assertExpired(await server.send(path, { host: Z1 }))
      const there = await fresh({ host: Z1 })
      assertExpired(await server.send(there.path))
      assert.equal((await server.send(there.path, { host: Z1 })).status, 200)
    })

    it('ignores a redirect URI that is not registered', async () => {
      for (const redirect_uri of [
        'https://evil.example/',
        'javascript:alert(1)',
        'https://app.example.evil.example/welcome',
      ]) {
        const { path } = await fresh({ query: { redirect_uri } })
        const answer = await accept(server.browser(), path)
        assert.equal(answer.headers['location'], `${BASE}/login?success=invite_accepted`)
      }
    })

    // Covers POST /invitations/accept.do: X-<Service>-Csrf
    it('requires the anti-forgery token', async () => {
      const { path, code, email } = await fresh()
      const browser = server.browser()
      await browser.send(path)
      const answer = await browser.send('/invitations/accept.do', { form: { code, ...twice(PASSWORD) } })
      assert.deepEqual([answer.status, answer.headers['location']], [302, `${BASE}/login?error=invalid_login_request`])
      assert.equal((await userNamed(server, email)).verified, false)
    })

    // Covers GET /invitations/accept: answer: accepted
    it('asks the owner of a verified account only for confirmation', async () => {
      const { path } = await api.linkFor('joel@example.org')
      const before = await userNamed(server, 'joel')
      const page = await server.send(path)
      assert.equal(page.status, 200)
      assert.doesNotMatch(page.text, /type="password"/)
      const answer = await accept(server.browser(), path, twice('another good password'))
      assert.deepEqual([answer.status, answer.headers['location']], [302, APP_URL])
      assert.equal((await userNamed(server, 'joel')).passwordHash, before.passwordHash)
      assertExpired(await server.send(path))
      const elsewhere = await api.linkFor('joel@example.org', { query: { redirect_uri: 'https://evil.example/' } })
      assert.equal((await accept(server.browser(), elsewhere.path)).headers['location'], `${BASE}/home`)
    })

    it('tells users who are signed in with another account, and keeps their session', async () => {
      const { path } = await fresh()
      const browser = server.browser()
      await browser.signIn('marissa', 'koala')
      const page = await browser.send(path)
      assert.match(page.text, /You are signed in as <strong><bdi>marissa<\/bdi><\/strong>/)
      assert.equal((await accept(browser, path)).status, 302)
      assert.match((await browser.send('/profile')).text, /marissa/)
      const own = await api.linkFor('marissa@example.org')
      assert.doesNotMatch((await browser.send(own.path)).text, /You are signed in as/)
    })

    const changes: readonly (readonly [what: string, change: Parameters<typeof changeUser>[2]])[] = [
      ['deactivated', { active: false }],
      ['given another address', { email: 'other@acc.org' }],
      ['given another password', { passwordRevision: 'another' }],
      ['moved to another provider', { origin: 'corp' }],
    ]
    for (const [what, change] of changes) {
      it(`is revoked when the account is ${what}`, async () => {
        const { email, path, code } = await fresh()
        const browser = server.browser()
        const fields = hiddenFields((await browser.send(path)).text)
        const user = await userNamed(server, email)
        await server.store.users.update('svc', { ...user, ...change })
        assertExpired(await browser.send(path))
        assertExpired(await browser.send('/invitations/accept.do', { form: { ...fields, code, ...twice(PASSWORD) } }))
      })
    }

    it('is revoked when the account is deleted', async () => {
      const { email, path } = await fresh()
      await server.store.users.delete('svc', (await userNamed(server, email)).id, undefined)
      assertExpired(await server.send(path))
    })

    it('does not set the password of an account that was verified when invited', async () => {
      await changeUser(server, 'joel', { verified: true })
      const { path } = await api.linkFor('joel@example.org')
      await changeUser(server, 'joel', { verified: false })
      assertExpired(await server.send(path))
      await changeUser(server, 'joel', { verified: true })
    })

    it('replaces the password set by an unverified sign-up', async () => {
      const { email } = await fresh()
      const user = await userNamed(server, email)
      const hashed = await userNamed(server, 'marissa')
      await server.store.users.update('svc', { ...user, passwordHash: hashed.passwordHash ?? '' })
      const { path } = await api.linkFor(email)
      assert.equal((await accept(server.browser(), path)).status, 302)
      assert.match(String((await server.browser().signIn(email, 'koala')).headers['location']), /error=login_failure/)
    })

    // Covers GET /invitations/accept: error: no_suitable_idp
    it('reports a provider without sign-in pages', async () => {
      const { path } = await api.linkFor('a@saml.example')
      const page = await server.send(path)
      assert.equal(page.status, 422)
      assert.match(messageOf(page), /^You cannot sign in here with this invitation/)
    })

    it('is refused if internal user management is disabled', async () => {
      const { path } = await fresh()
      const browser = server.browser()
      const fields = hiddenFields((await browser.send(path)).text)
      const internal = (await server.store.providers.findByOrigin('svc', 'svc')) ?? assert.fail()
      const config = { ...internal.config, disableInternalUserManagement: true }
      await server.store.providers.update('svc', { ...internal, config })
      for (const answer of [
        await browser.send(path),
        await browser.send('/invitations/accept.do', { form: { ...fields, ...twice(PASSWORD) } }),
      ]) {
        assert.equal(answer.status, 422)
        assert.match(messageOf(answer), /^You cannot sign in here/)
      }
      await server.store.providers.update('svc', internal)
      assert.equal((await accept(browser, path)).status, 302)
    })

    // Covers any /invitations/**: rule: other paths are denied
    it('has no other pages', async () => {
      for (const path of ['/invitations/sent', '/invitations/new']) {
        const { status, headers } = await server.send(path)
        if (mode === 'standard') assert.equal(status, 404)
        else assert.deepEqual([status, headers['location']], [302, `${BASE}/login`])
      }
    })
  })

  describe(`Invitation to a zone with a consent text in ${mode}`, () => {
    // Covers POST /invitations/accept.do: does_user_consent; error: missing_consent
    it('requires consent', async () => {
      const zone = inviteBootstrap.identity_zones[0]
      const branding = { consent: { text: 'Some <terms>', link: 'https://terms.example/' } }
      const identity_zones = [{ ...zone, config: { branding } }]
      const api = await startInvitationServer({ mode, config: { bootstrap: { ...inviteBootstrap, identity_zones } } })
      const { path, code } = await api.linkFor('new@acc.org', { host: Z1 })
      const browser = api.server.browser(Z1)
      const page = await browser.send(path)
      assert.match(page.text, /<input type="checkbox" id="does_user_consent" name="does_user_consent"/)
      assert.match(page.text, /<a href="https:\/\/terms\.example\/"[^>]*>Some &lt;terms&gt;<\/a>/)
      const refused = await accept(browser, path)
      const target = `http://${Z1}/invitations/accept?error_message_code=missing_consent&code=${code}`
      assert.deepEqual([refused.status, refused.headers['location']], [302, target])
      assert.equal(
        messageOf(await browser.send(target.slice(`http://${Z1}`.length))),
        'Please agree before continuing.',
      )
      for (const does_user_consent of ['false', 'no']) {
        const denied = await accept(browser, path, { ...twice(PASSWORD), does_user_consent })
        assert.equal(denied.headers['location'], target, does_user_consent)
      }
      const agreed = await accept(browser, path, { ...twice(PASSWORD), does_user_consent: 'true' })
      assert.match(String(agreed.headers['location']), /success=invite_accepted/)
      assert.deepEqual(api.server.faults, [])
      await api.server.stop()
    })
  })
}
