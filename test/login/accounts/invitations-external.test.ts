// Invitations of external users: the provider must confirm the invited address.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { createTestClock } from '../../support/clock.ts'
import { unescaped } from '../../support/forms.ts'
import { APP_URL, inviteBootstrap, startInvitationServer } from '../../support/invitations.ts'
import type { InviteApi, InviteRequest } from '../../support/invitations.ts'
import { MODES, userNamed } from '../../support/oauth.ts'
import { RELYING_PARTY } from '../../support/oidc-provider.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { startUpstream } from '../../support/upstream.ts'
import type { Upstream } from '../../support/upstream.ts'

const BASE = 'http://localhost:8080'
const OTHER_EMAIL = /Your provider did not confirm that you have the email address that was invited/
const OTHER_ACCOUNT = /The account that was invited is not yours/
const LOST = /started in another browser, has expired or is already complete/

for (const mode of MODES) {
  describe(`Invitation of an external user in ${mode}`, () => {
    const clock = createTestClock()
    let upstream: Upstream
    let api: InviteApi
    let server: TestServer
    before(async () => {
      upstream = await startUpstream(clock)
      const config = {
        emailDomain: ['up.example'],
        authUrl: `${upstream.url}/authorize`,
        tokenUrl: `${upstream.url}/token`,
        tokenKeyUrl: `${upstream.url}/keys`,
        issuer: upstream.url,
        relyingPartyId: RELYING_PARTY,
        relyingPartySecret: 'secret',
        userPropagationParameter: 'login_hint',
        linkByEmail: false,
      }
      const up = { originKey: 'up', type: 'oidc1.0', name: 'Up', config }
      const twin = { ...up, originKey: 'twin', config: { ...config, emailDomain: ['twin.example'] } }
      const closed = {
        ...up,
        originKey: 'closed',
        config: { ...config, emailDomain: ['closed.example'], addShadowUserOnLogin: false },
      }
      const bootstrap = { ...inviteBootstrap, identity_providers: [up, twin, closed] }
      api = await startInvitationServer({ mode, clock, config: { bootstrap } })
      ;({ server } = api)
    })
    beforeEach(() => {
      upstream.answer = () => upstream.usual()
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      await upstream.stop()
    })

    let accounts = 0
    const fresh = async (domain = 'up.example', request?: InviteRequest) => {
      accounts += 1
      const email = `person${accounts}@${domain}`
      return { email, sub: `sub-${accounts}`, ...(await api.linkFor(email, request)) }
    }

    /** Opens the link, is redirected to the provider, and sets the claims that the provider will return. */
    async function leave(browser: Browser, path: string, claims: Readonly<Record<string, unknown>>): Promise<string> {
      const answer = await browser.send(path)
      assert.equal(answer.status, 302, answer.text)
      const url = answer.location()
      assert.equal(url.origin + url.pathname, `${upstream.url}/authorize`)
      upstream.nonce = url.searchParams.get('nonce') ?? ''
      upstream.answer = () => upstream.usual(claims)
      return url.searchParams.get('state') ?? ''
    }
    const back = (browser: Browser, state: string, origin = 'up'): Promise<TestAnswer> =>
      browser.send(`/login/callback/${origin}`, { query: { state, code: 'c' } })
    async function through(
      path: string,
      claims: Readonly<Record<string, unknown>>,
      { browser = server.browser(), origin = 'up' } = {},
    ): Promise<TestAnswer> {
      return back(browser, await leave(browser, path, claims), origin)
    }
    const verified = (email: string, sub: string) => ({ sub, email, email_verified: true })
    const named = (id: string) => server.store.users.find('svc', id)

    function assertRefused(answer: TestAnswer, words: RegExp): void {
      if (mode === 'uaa') {
        assert.deepEqual([answer.status, answer.headers['location']], [302, `${BASE}/oauth_error`])
        return
      }
      assert.ok(answer.status >= 400, answer.text)
      assert.match(unescaped(answer.text), words)
    }

    // Covers GET /invitations/accept: answer: redirect upstream
    // Covers invitation of an external user: OIDC start
    it('redirects to the provider, is accepted on return, and redirects to the application', async () => {
      const { email, sub, path, code } = await fresh()
      const before = await userNamed(server, email).catch(() => undefined)
      assert.equal(before, undefined) // not one of the internal provider
      const browser = server.browser()
      const state = await leave(browser, path, verified(email.toUpperCase(), sub))
      const answer = await back(browser, state)
      assert.deepEqual([answer.status, answer.headers['location']], [302, APP_URL])
      const user = await server.store.users.findByExternalId('svc', 'up', sub)
      assert.deepEqual([user?.verified, user?.email.toLowerCase()], [true, email])
      assert.equal((await browser.send('/home')).status, 200)
      assert.equal((await server.send('/invitations/accept', { query: { code } })).status, 422)
      assertRefused(await back(browser, state), LOST)
    })

    // Covers invitation of an external user: invited record is used
    it('links the invited account and creates no other', async () => {
      const { new_invites: invited } = await api.invite(['one@up.example'])
      const { userId, inviteLink } = invited[0] ?? assert.fail()
      const count = await server.store.users.count('svc')
      await through(inviteLink.slice(BASE.length), verified('one@up.example', 'one'))
      assert.equal((await named(userId))?.externalId, 'one')
      assert.equal(await server.store.users.count('svc'), count)
      const again = await api.linkFor('one@up.example')
      assert.equal((await through(again.path, verified('one@up.example', 'one'))).headers['location'], APP_URL)
    })

    it('redirects to the home page if the target is not registered', async () => {
      const { email, sub, path } = await fresh('up.example', { query: { redirect_uri: 'https://evil.example/' } })
      assert.equal((await through(path, verified(email, sub))).headers['location'], `${BASE}/home`)
    })

    it('works if the provider creates no accounts on sign-in', async () => {
      const { email, sub, path } = await fresh('closed.example')
      assert.equal((await through(path, verified(email, sub), { origin: 'closed' })).headers['location'], APP_URL)
    })

    it('starts no sign-in on HEAD, and is not used up by opening the link', async () => {
      const { email, sub, path } = await fresh()
      const head = await server.send(path, { method: 'HEAD' })
      assert.deepEqual([head.status, head.headers['set-cookie']], [200, undefined])
      await server.browser().send(path)
      assert.equal((await through(path, verified(email, sub))).headers['location'], APP_URL)
    })

    const claimsOf: readonly (readonly [string, (email: string, sub: string) => Readonly<Record<string, unknown>>])[] =
      [
        // Covers invitation of an external user: e-mail compared
        ['with another address', (_, sub) => verified('mallory@up.example', sub)],
        ['with an unverified address', (email, sub) => ({ sub, email, email_verified: false })],
        // Covers invitation of an external user: mismatch message
        ['with an address without email_verified', (email, sub) => ({ sub, email })],
        ['without an address', (_, sub) => ({ sub })],
        ['with a Unicode variant of the address', (email, sub) => verified(email.replace('up', 'u\u{1D429}'), sub)],
      ]
    for (const [who, claims] of claimsOf) {
      it(`refuses a user ${who}, creates no account, and stays valid`, async () => {
        const { email, sub, path } = await fresh()
        const count = await server.store.users.count('svc')
        const browser = server.browser()
        assertRefused(await through(path, claims(email, sub), { browser }), OTHER_EMAIL)
        assert.notEqual((await browser.send('/home')).status, 200)
        assert.equal(await server.store.users.count('svc'), count)
        assert.equal(await server.store.users.findByExternalId('svc', 'up', sub), undefined)
        assert.equal((await through(path, verified(email, sub))).headers['location'], APP_URL)
      })
    }

    it('refuses a user who already has another account', async () => {
      const mine = await fresh()
      await through(mine.path, verified(mine.email, mine.sub))
      const { email, path } = await fresh()
      assertRefused(await through(path, verified(email, mine.sub)), OTHER_ACCOUNT)
      const own = await server.store.users.findByExternalId('svc', 'up', mine.sub)
      assert.equal(own?.email, mine.email)
    })

    it('refuses another user if the account is already linked', async () => {
      const { email, sub, path } = await fresh()
      await through(path, verified(email, sub))
      const again = await api.linkFor(email)
      assertRefused(await through(again.path, verified(email, 'mallory')), OTHER_ACCOUNT)
      assert.equal(await server.store.users.findByExternalId('svc', 'up', 'mallory'), undefined)
    })

    it('is bound to browser, state and provider of the sign-in', async () => {
      const { email, sub, path } = await fresh()
      const browser = server.browser()
      const state = await leave(browser, path, verified(email, sub))
      assertRefused(await back(server.browser(), state), LOST)
      assertRefused(await back(browser, state, 'twin'), LOST)
      const other = server.browser()
      await leave(other, (await fresh()).path, verified(email, sub))
      assertRefused(await back(other, state), LOST)
    })

    it('does not link an ordinary sign-in to a pending invitation', async () => {
      const { email, sub } = await fresh()
      const browser = server.browser()
      const answer = await browser.send('/login/external/up')
      upstream.nonce = answer.location().searchParams.get('nonce') ?? ''
      upstream.answer = () => upstream.usual(verified(email, sub))
      await back(browser, answer.location().searchParams.get('state') ?? '')
      const made = await server.store.users.findByExternalId('svc', 'up', sub)
      const invited = (await server.store.users.findByEmail('svc', 'up', email)).find(({ id }) => id !== made?.id)
      assert.equal(invited?.externalId, undefined)
    })

    const meanwhile: readonly (readonly [string, object])[] = [
      ['deactivated', { active: false }],
      ['given another address', { email: 'else@up.example' }],
    ]
    for (const [what, change] of meanwhile) {
      it(`is revoked when the account is ${what} during the sign-in`, async () => {
        const { email, sub, path } = await fresh()
        const browser = server.browser()
        const state = await leave(browser, path, verified(email, sub))
        const [user] = await server.store.users.findByEmail('svc', 'up', email)
        assert.ok(user)
        await server.store.users.update('svc', { ...user, ...change })
        assertRefused(await back(browser, state), LOST)
        assert.equal(await server.store.users.findByExternalId('svc', 'up', sub), undefined)
      })
    }

    it('replaces the session of a signed-in user', async () => {
      const { email, sub, path } = await fresh()
      const browser = server.browser()
      await browser.signIn('marissa', 'koala')
      assert.equal((await through(path, verified(email, sub), { browser })).headers['location'], APP_URL)
      const { text } = await browser.send('/profile')
      assert.ok(text.includes(email))
      assert.doesNotMatch(text, /marissa/)
    })

    it('cannot be accepted with a password', async () => {
      const { path, code } = await fresh()
      const browser = server.browser()
      await browser.send('/login')
      const form = { 'X-Svc-Csrf': browser.csrf, code, password: 'a long one', password_confirmation: 'a long one' }
      const answer = await browser.send('/invitations/accept.do', { form })
      assert.equal(answer.status, 422, String(answer.headers['location']))
      assert.equal((await server.browser().send(path)).status, 302)
    })

    it('reports an inactive provider', async () => {
      const { path } = await fresh('twin.example')
      const provider = (await server.store.providers.findByOrigin('svc', 'twin')) ?? assert.fail()
      await server.store.providers.update('svc', { ...provider, active: false })
      const page = await server.browser().send(path)
      assert.equal(page.status, 422)
      assert.match(page.text, /You cannot sign in here with this invitation/)
      await server.store.providers.update('svc', provider)
    })
  })
}
