// Invitations of users of an LDAP directory (slapd), who accept with their directory credentials.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { hiddenFields } from '../../support/forms.ts'
import { APP_URL, inviteBootstrap, startInvitationServer } from '../../support/invitations.ts'
import type { InviteApi } from '../../support/invitations.ts'
import { SEARCH } from '../../support/ldap-server.ts'
import { MODES } from '../../support/oauth.ts'
import { setPolicy } from '../../support/second-factor.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import type { Slapd } from '../../support/slapd.ts'
import { PASSWORD, startSlapd } from '../../support/slapd.ts'

const ACCEPT = '/invitations/accept_enterprise.do'

let slapd: Slapd
before(async () => {
  slapd = await startSlapd()
})
after(() => slapd.stop())

for (const mode of MODES) {
  describe(`Invitation of a directory user in ${mode}`, () => {
    let api: InviteApi
    let server: TestServer
    before(async () => {
      const config = {
        ...SEARCH,
        baseUrl: slapd.url,
        emailDomain: ['example.org'],
      }
      const ldap = { originKey: 'ldap', type: 'ldap', name: 'Directory', config }
      api = await startInvitationServer({
        mode,
        config: { bootstrap: { ...inviteBootstrap, identity_providers: [ldap] } },
      })
      ;({ server } = api)
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const provider = async () => (await server.store.providers.findByOrigin('svc', 'ldap')) ?? assert.fail()
    const invited = async (email: string) => (await server.store.users.findByEmail('svc', 'ldap', email))[0]
    const messageOf = ({ text }: TestAnswer): string | undefined => /<p class="error-message">([^<]*)</.exec(text)?.[1]

    /** Opens the link and posts its form. */
    async function accept(
      path: string,
      form: Readonly<Record<string, string>>,
      browser: Browser = server.browser(),
    ): Promise<TestAnswer> {
      const page = await browser.send(path)
      assert.equal(page.status, 200, page.text)
      assert.ok(page.text.includes(`action="${ACCEPT}"`), page.text)
      return browser.send(ACCEPT, { form: { ...hiddenFields(page.text), enterprise_password: PASSWORD, ...form } })
    }

    // Covers GET /invitations/accept: answer: LDAP form
    // Covers POST /invitations/accept_enterprise.do: enterprise_username; enterprise_password; code
    it('is accepted with directory credentials, and redirects to the application', async () => {
      const { path, code } = await api.linkFor('marissa@example.org')
      const before = (await invited('marissa@example.org')) ?? assert.fail()
      assert.deepEqual([before.userName, before.verified], ['marissa@example.org', false])
      const browser = server.browser()
      const page = await browser.send(path)
      assert.match(page.text, mode === 'uaa' ? /<h1[^>]*>Link your account/ : /<h1[^>]*>Accept your invitation/)
      assert.deepEqual(
        [hiddenFields(page.text)['code'], hiddenFields(page.text)['enterprise_email']],
        [code, 'marissa@example.org'],
      )
      const answer = await accept(path, { enterprise_username: 'marissa' }, browser)
      const target = '/login?success=invite_accepted&form_redirect_uri=https://app.example/welcome'
      assert.deepEqual([answer.status, answer.headers['location']], [302, `http://localhost:8080${target}`])
      assert.ok(decodeURIComponent(target).endsWith(APP_URL))
      assert.equal((await browser.send('/home')).status, 302, 'no user is signed in yet')
      const user = (await server.store.users.find('svc', before.id)) ?? assert.fail()
      assert.deepEqual(
        [user.userName, user.email, user.verified, user.origin, user.givenName],
        ['marissa', 'marissa@example.org', true, 'ldap', 'Marissa'],
      )
      assert.ok(user.externalId)
      // Later sign-ins use the same account.
      const login = await browser.send('/login')
      const form = { ...hiddenFields(login.text), username: 'marissa', password: PASSWORD }
      assert.equal((await browser.send('/login.do', { form })).status, 302)
      assert.equal((await server.store.users.findByName('svc', 'ldap', 'marissa'))?.id, before.id)
      // A second invitation changes nothing.
      const again = await api.linkFor('marissa@example.org')
      assert.equal((await accept(again.path, { enterprise_username: 'MARISSA' })).status, 302)
      assert.equal((await invited('marissa@example.org'))?.id, before.id)
    })

    it('is accepted before a required second factor, which the next sign-in asks for', async () => {
      await setPolicy(server, { requirement: 'required' })
      const { path } = await api.linkFor('loner@example.org')
      const before = (await invited('loner@example.org')) ?? assert.fail()
      const browser = server.browser()
      const answer = await accept(path, { enterprise_username: 'loner' }, browser)
      assert.match(String(answer.headers['location']), /success=invite_accepted/, answer.text)
      const user = (await server.store.users.find('svc', before.id)) ?? assert.fail()
      assert.deepEqual([user.userName, user.verified, user.lastLogonAt], ['loner', true, undefined])
      const form = { ...hiddenFields((await browser.send('/login')).text), username: 'loner', password: PASSWORD }
      const signedIn = await browser.send('/login.do', { form })
      assert.equal(signedIn.headers['location'], 'http://localhost:8080/second_factor')
      await setPolicy(server, { requirement: 'off' })
      await server.store.users.delete('svc', user.id)
    })

    // Covers POST /invitations/accept_enterprise.do: error: bad_credentials
    it('stays valid after wrong credentials', async () => {
      const { path } = await api.linkFor('loner@example.org')
      const words = mode === 'uaa' ? 'Provided credentials are invalid' : 'That user name and password were not'
      for (const form of [
        { enterprise_username: 'loner', enterprise_password: 'wrong' },
        { enterprise_username: 'loner', enterprise_password: '' },
        { enterprise_username: '', enterprise_password: PASSWORD },
        { enterprise_username: 'nobody' },
        { enterprise_username: 'lon*' },
        { enterprise_username: 'joel', enterprise_password: 'wombat' }, // of the internal provider
      ]) {
        const answer = await accept(path, form)
        assert.equal(answer.status, 422)
        assert.ok(messageOf(answer)?.startsWith(words), messageOf(answer))
        assert.ok(!answer.text.includes(PASSWORD))
      }
      assert.equal((await invited('loner@example.org'))?.externalId, undefined)
      assert.equal((await accept(path, { enterprise_username: 'loner' })).status, 302)
    })

    // Covers POST /invitations/accept_enterprise.do: error: invite.email_mismatch
    it('refuses a user with another address', async () => {
      const { path } = await api.linkFor('twin@example.org')
      for (const name of ['loner', 'marissa', 'stored-plain']) {
        const answer = await accept(path, { enterprise_username: name })
        assert.equal(answer.status, 422)
        const words =
          mode === 'uaa'
            ? 'The authenticated email does not match the invited email. Please log in using a different account.'
            : 'The account that you signed in with has another email address. Sign in with the one that was invited.'
        assert.equal(messageOf(answer), words)
      }
      assert.equal((await invited('twin@example.org'))?.externalId, undefined)
    })

    // Covers POST /invitations/accept_enterprise.do: enterprise_email
    it('accepts the address of the invitation, regardless of the form', async () => {
      const { path } = await api.linkFor('none@example.org')
      const form = { enterprise_username: 'loner', enterprise_email: 'loner@example.org' }
      assert.equal((await accept(path, form)).status, 422)
      assert.equal((await invited('none@example.org'))?.externalId, undefined)
    })

    it('is accepted by one of two users with the same address, and later refused to the other', async () => {
      const { path } = await api.linkFor('twin@example.org')
      assert.equal((await accept(path, { enterprise_username: 'twin-a' })).status, 302)
      const again = await api.linkFor('twin@example.org')
      assert.equal((await accept(again.path, { enterprise_username: 'twin-b' })).status, 422)
      assert.equal((await invited('twin@example.org'))?.userName, 'twin-a')
    })

    // Covers POST /invitations/accept_enterprise.do: error: code_expired
    it('can be accepted once', async () => {
      const { path } = await api.linkFor('twin@example.org')
      const browser = server.browser()
      const form = { ...hiddenFields((await browser.send(path)).text), enterprise_username: 'twin-a' }
      const send = () => browser.send(ACCEPT, { form: { ...form, enterprise_password: PASSWORD } })
      assert.equal((await send()).status, 302)
      for (const answer of [await send(), await browser.send(path)]) {
        assert.equal(answer.status, 422)
        assert.match(String(messageOf(answer)), /expired/)
      }
    })

    // Covers POST /invitations/accept_enterprise.do: X-<Service>-Csrf
    it('requires the anti-forgery token', async () => {
      const { path, code } = await api.linkFor('twin@example.org')
      await server.browser().send(path)
      const form = { code, enterprise_username: 'twin-a', enterprise_password: PASSWORD }
      const answer = await server.browser().send(ACCEPT, { form })
      assert.equal(answer.headers['location'], 'http://localhost:8080/login?error=invalid_login_request')
      assert.equal((await accept(path, { enterprise_username: 'twin-a' })).status, 302)
    })

    it('is refused by the password form, and an internal invitation by the directory form', async () => {
      const { path } = await api.linkFor('twin@example.org')
      const browser = server.browser()
      const { code: _, ...fields } = hiddenFields((await browser.send(path)).text)
      const { code } = await api.linkFor('twin@example.org')
      const twice = { password: PASSWORD, password_confirmation: PASSWORD }
      assert.equal((await browser.send('/invitations/accept.do', { form: { ...fields, code, ...twice } })).status, 422)
      assert.equal((await invited('twin@example.org'))?.passwordHash, undefined)
      const internal = await server.store.providers.findByOrigin('svc', 'svc')
      assert.ok(internal)
      const other = await api.linkFor('someone@internal.test')
      const form = { ...fields, code: other.code, enterprise_username: 'loner', enterprise_password: PASSWORD }
      assert.equal((await browser.send(ACCEPT, { form })).status, 422)
    })

    // Covers POST /invitations/accept_enterprise.do: error: no_suitable_idp
    it('cannot be accepted while the directory is disabled', async () => {
      const { path, code } = await api.linkFor('twin@example.org')
      const browser = server.browser()
      const { code: _, ...fields } = hiddenFields((await browser.send(path)).text)
      const ldap = await provider()
      await server.store.providers.update('svc', { ...ldap, active: false })
      const form = { ...fields, code, enterprise_username: 'twin-a', enterprise_password: PASSWORD }
      for (const answer of [await browser.send(path), await browser.send(ACCEPT, { form })]) {
        assert.equal(answer.status, 422)
        assert.match(String(messageOf(answer)), /^You cannot sign in here/)
      }
      await server.store.providers.update('svc', ldap)
    })
  })
}
