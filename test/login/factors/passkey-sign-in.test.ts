// Sign-in with a passkey as the only factor, with a software authenticator.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { User } from '../../../src/model/users/user.ts'
import { createAuthenticator } from '../../support/authenticator.ts'
import type { Credential } from '../../support/authenticator.ts'
import { APP_REQUEST, authorize, authorizeBootstrap } from '../../support/authorize.ts'
import { hiddenFields, unescaped } from '../../support/forms.ts'
import { MODES, changeUser, clientNamed, userNamed } from '../../support/oauth.ts'
import { givePasskey, passkeyForm, signInWithPasskey } from '../../support/passkeys.ts'
import { giveFactor, setPolicy } from '../../support/second-factor.ts'
import { defaultBootstrap, startServer } from '../../support/server.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { jarOf } from '../../support/zone-path.ts'

const BASE = 'http://localhost:8080'

for (const mode of MODES) {
  describe(`POST /login/passkey in ${mode}`, () => {
    let server: TestServer
    let marissa: User
    let credential: Credential
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
    })
    beforeEach(async () => {
      server.clock.advance(3600)
      await setPolicy(server, { requirement: 'optional' })
      marissa = await userNamed(server, 'marissa')
      await server.store.factors.reset('svc', marissa.id)
      credential = await givePasskey(server, marissa)
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const homeOf = async (browser: Browser): Promise<number> => (await browser.send('/home')).status
    /** The error code of the redirect to the sign-in page. */
    const errorOf = ({ status, headers }: TestAnswer): string | null => {
      assert.equal(status, 302)
      const url = new URL(String(headers['location']))
      assert.equal(url.pathname, '/login')
      return url.searchParams.get('error')
    }
    const eventsSince = (start: number) =>
      server.events.slice(start).map(({ type, principal, data }) => [type, principal, data])

    // Covers POST /login/passkey: rule: continues, at the level of two factors
    it('continues the request, at the level of two factors', async () => {
      const browser = server.browser()
      const asked = await authorize(browser, { ...APP_REQUEST, acr_values: 'phr' })
      assert.match(String(asked.headers['location']), /\/login$/)
      const start = server.events.length
      const before = browser.cookies.get('svc-session') ?? browser.cookies.get('JSESSIONID')
      const answer = await signInWithPasskey(server, browser, { credential })
      assert.match(String(answer.headers['location']), /\/oauth\/authorize\?.*acr_values=phr/)
      const cookie = browser.cookies.get('svc-session') ?? browser.cookies.get('JSESSIONID')
      assert.ok(cookie !== undefined && cookie !== before)
      assert.deepEqual(eventsSince(start), [
        ['IdentityProviderAuthenticationSuccess', marissa.id, 'passkey'],
        ['UserAuthenticationSuccess', marissa.id, 'passkey'],
      ])
      assert.equal(await homeOf(browser), 200)
      const [session] = await server.store.sessions.listOfUser('svc', marissa.id, server.clock.now())
      assert.deepEqual(session?.signIn?.acr, ['phr'])
      assert.deepEqual(session?.signIn?.amr, ['pop', 'user', 'mfa'])
      assert.equal((await userNamed(server, 'marissa')).lastLogonAt?.getTime(), server.clock.now().getTime())
    })

    it('records no failure for a page that was open for too long', async () => {
      const browser = server.browser()
      const form = await passkeyForm(server, browser, { credential })
      server.clock.advance(300)
      const start = server.events.length
      assert.equal(errorOf(await browser.send('/login/passkey', { form })), 'passkey_refused')
      assert.deepEqual(eventsSince(start), [])
      const again = await signInWithPasskey(server, browser, { credential })
      assert.doesNotMatch(String(again.headers['location']), /error/)
    })

    it('requires no second factor, but a pending password change', async () => {
      await setPolicy(server, { requirement: 'required' })
      const first = await signInWithPasskey(server, server.browser(), { credential })
      assert.equal(first.headers['location'], `${BASE}/`)
      await changeUser(server, 'marissa', { passwordChangeRequired: true })
      const second = await signInWithPasskey(server, server.browser(), { credential })
      assert.equal(second.headers['location'], `${BASE}/force_password_change`)
      await changeUser(server, 'marissa', { passwordChangeRequired: false })
    })

    // Covers POST /login/passkey/options: rule: reveals no account
    it('returns the same options with and without passkeys', async () => {
      const options = async () => {
        const browser = server.browser()
        const fields = hiddenFields((await browser.send('/login')).text)
        const form = { ...fields, username: 'marissa', login_hint: 'marissa' }
        return (await browser.send('/login/passkey/options', { form })).json()
      }
      const withPasskey = await options()
      await server.store.factors.reset('svc', marissa.id)
      const without = await options()
      assert.deepEqual({ ...withPasskey, challenge: '' }, { ...without, challenge: '' })
      assert.deepEqual(Object.keys(without).toSorted(), ['challenge', 'rpId', 'timeout', 'userVerification'])
    })

    it('is offered only if the zone allows passkeys for internal accounts', async () => {
      const isOffered = async (query = '') =>
        (await server.browser().send(`/login${query}`)).text.includes('data-passkey')
      assert.equal(await isOffered(), true)
      for (const policy of [
        { requirement: 'off' },
        { requirement: 'required', methods: ['totp'] },
        { requirement: 'required', origins: ['ldap'] },
      ] as const) {
        await setPolicy(server, policy)
        assert.equal(await isOffered(), false, JSON.stringify(policy))
      }
    })

    const accounts: readonly {
      readonly name: string
      readonly make: () => Promise<void>
      readonly undo: () => Promise<void>
      readonly error: string
      readonly event: string
    }[] = [
      {
        name: 'inactive',
        make: () => changeUser(server, 'marissa', { active: false }),
        undo: () => changeUser(server, 'marissa', { active: true }),
        error: 'passkey_refused',
        event: 'PrincipalAuthenticationFailure',
      },
      {
        name: 'not verified',
        make: () => changeUser(server, 'marissa', { verified: false }),
        undo: () => changeUser(server, 'marissa', { verified: true }),
        error: 'account_not_verified',
        event: 'UnverifiedUserAuthentication',
      },
      {
        name: 'locked',
        async make() {
          for (let attempt = 0; attempt < 5; attempt += 1) {
            await server.store.events.recordFailure('svc', marissa.id, server.clock.now())
          }
        },
        undo: () => Promise.resolve(server.clock.advance(3600)),
        error: mode === 'standard' ? 'passkey_refused' : 'account_locked', // C12
        event: 'PrincipalAuthenticationFailure',
      },
      {
        name: 'of another provider',
        make: () => changeUser(server, 'marissa', { origin: 'ldap' }),
        undo: () => server.store.users.update('svc', { ...marissa, origin: 'svc' }),
        error: 'passkey_refused',
        event: 'PrincipalAuthenticationFailure',
      },
    ]
    for (const { name, make, undo, error, event } of accounts) {
      it(`refuses an account that is ${name}, with an audit event`, async () => {
        await make()
        const browser = server.browser()
        const start = server.events.length
        assert.equal(errorOf(await signInWithPasskey(server, browser, { credential })), error)
        assert.deepEqual(
          server.events.slice(start).map(each => [each.type, each.principal]),
          [[event, marissa.id]],
        )
        assert.equal(await homeOf(browser), 302)
        await undo()
      })
    }

    it('refuses if the internal provider is inactive', async () => {
      const provider = await server.store.providers.findByOrigin('svc', 'svc')
      assert.ok(provider)
      const browser = server.browser()
      const fields = await passkeyForm(server, browser, { credential })
      await server.store.providers.update('svc', { ...provider, active: false })
      assert.equal(errorOf(await browser.send('/login/passkey', { form: fields })), 'passkey_refused')
      await server.store.providers.update('svc', { ...provider, active: true })
    })

    it('refuses if the client does not allow the internal provider', async () => {
      const client = await clientNamed(server, 'app')
      const browser = server.browser()
      await authorize(browser, APP_REQUEST)
      const form = await passkeyForm(server, browser, { credential })
      await server.store.clients.update('svc', { ...client, allowedProviders: ['ldap'] })
      assert.equal(errorOf(await browser.send('/login/passkey', { form })), 'passkey_refused')
      assert.equal(await homeOf(browser), 302)
      await server.store.clients.update('svc', client)
    })

    it('answers 404 if the policy has no passkeys', async () => {
      const browser = server.browser()
      const form = await passkeyForm(server, browser, { credential })
      for (const policy of [
        { requirement: 'off' },
        { requirement: 'required', methods: ['totp'] },
        { requirement: 'required', origins: ['ldap'] },
      ] as const) {
        await setPolicy(server, policy)
        for (const path of ['/login/passkey', '/login/passkey/options']) {
          const answer = await browser.send(path, { form })
          assert.equal(answer.status, 404, `${path} ${JSON.stringify(policy)}`)
          assert.match(answer.text, /This feature is turned off here\./)
        }
      }
    })

    // Covers POST /login/passkey: error: another browser or used
    it('refuses an assertion from another browser, and a replay', async () => {
      const [mine, theirs] = [server.browser(), server.browser()]
      const form = await passkeyForm(server, theirs, { credential })
      const own = hiddenFields((await mine.send('/login')).text)
      const stolen = { ...own, credential: form['credential'] ?? '' }
      assert.equal(errorOf(await mine.send('/login/passkey', { form: stolen })), 'passkey_refused')
      assert.equal((await theirs.send('/login/passkey', { form })).headers['location'], `${BASE}/`)
      await theirs.send('/logout.do', { form: { ...form, 'X-Svc-Csrf': theirs.csrf, 'X-Uaa-Csrf': theirs.csrf } })
      const again = hiddenFields((await theirs.send('/login')).text)
      const replayed = { ...again, credential: form['credential'] ?? '' }
      assert.equal(errorOf(await theirs.send('/login/passkey', { form: replayed })), 'passkey_refused')
    })

    describe('with an outdated form', () => {
      const own = { origin: BASE, 'sec-fetch-site': 'same-origin' }
      const target = `${BASE}/profile?x=1`

      it('continues if the same user has signed in in another tab, else asks for the account', async () => {
        const browser = server.browser()
        const older: Readonly<Record<string, string>> = {
          ...(await passkeyForm(server, browser, { credential })),
          form_redirect_uri: target,
        }
        const foreign = await givePasskey(server, await userNamed(server, 'joel'))
        await browser.signIn('marissa', 'koala')
        const send = (more: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = own) =>
          browser.send('/login/passkey', { form: { ...older, ...more }, headers })
        // The page posts no credential if it could not get options.
        for (const answer of [await send({}), await send({ credential: '' })]) {
          if (mode === 'standard') assert.equal(answer.headers['location'], target)
          else assert.equal(answer.status, 403)
        }
        const others = [
          await send({ credential: JSON.stringify({ ...JSON.parse(older['credential'] ?? ''), id: foreign.id }) }),
          await send({ credential: '{}' }),
          await send({}, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }),
          await send({ 'X-Svc-Csrf': 'a'.repeat(22), 'X-Uaa-Csrf': 'a'.repeat(22) }),
        ]
        for (const { status } of others) assert.equal(status, 403)
        const choice = /You are signed in as <strong><bdi>marissa<\/bdi>/
        const asks = others.map(({ text }) => choice.test(text))
        assert.deepEqual(asks, mode === 'standard' ? [true, true, false, false] : [false, false, false, false])
        await server.store.factors.reset('svc', (await userNamed(server, 'joel')).id)
      })

      it('asks again, and keeps the target', async () => {
        const browser = server.browser()
        const form = { ...(await passkeyForm(server, browser, { credential })), form_redirect_uri: target }
        browser.cookies.delete('svc-visitor')
        const answer = await browser.send('/login/passkey', { form, headers: own })
        assert.equal(errorOf(answer), 'invalid_login_request')
        const page = await browser.send('/login?error=invalid_login_request')
        const kept = hiddenFields(page.text)['form_redirect_uri']
        assert.equal(kept, mode === 'standard' ? target : undefined)
      })
    })

    it('refuses cross-site requests and a missing anti-forgery token', async () => {
      const browser = server.browser()
      const form = await passkeyForm(server, browser, { credential })
      for (const path of ['/login/passkey', '/login/passkey/options']) {
        const evil = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
        const { credential: answer = '' } = form
        for (const request of [{ form, headers: evil }, { form: { credential: answer } }]) {
          const { status, headers } = await browser.send(path, request)
          const isToSignInAgain = String(headers['location']).endsWith('/login?error=invalid_login_request')
          assert.ok(status === 400 || status === 403 || isToSignInAgain, `${path} ${status}`)
        }
      }
      assert.equal(await homeOf(browser), 302)
    })

    it('refuses an assertion of the second step, without user verification', async () => {
      const browser = server.browser()
      await browser.signIn('marissa', 'koala')
      const page = (await browser.send('/second_factor')).text
      const [, text = ''] = /data-options="([^"]*)"/.exec(page) ?? []
      const asked: unknown = JSON.parse(unescaped(text))
      const answer = createAuthenticator(BASE).get(asked, credential, { userVerified: false })
      const other = server.browser()
      const own = hiddenFields((await other.send('/login')).text)
      const form = { ...own, credential: JSON.stringify(answer) }
      assert.equal(errorOf(await other.send('/login/passkey', { form })), 'passkey_refused')
    })

    it('asks a remembered browser for the second step if the passkey has never verified its user', async () => {
      await setPolicy(server, { requirement: 'optional', rememberDays: 30 })
      const sam = await userNamed(server, 'sam')
      const found = await givePasskey(server, sam, 'svc', { hasVerifiedUser: false })
      const browser = server.browser()
      const leadsTo = async () => {
        endSession()
        return String((await browser.signIn('sam', 'dingo')).headers['location'])
      }
      const endSession = (): void => ['svc-session', 'JSESSIONID'].forEach(name => browser.cookies.delete(name))
      assert.match(await leadsTo(), /\/second_factor$/)
      const page = (await browser.send('/second_factor')).text
      const [, text = ''] = /data-options="([^"]*)"/.exec(page) ?? []
      const answer = createAuthenticator(BASE).get(JSON.parse(unescaped(text)), found, { userVerified: false })
      const form = { ...hiddenFields(page), credential: JSON.stringify(answer), remember: 'true' }
      assert.equal((await browser.send('/second_factor', { form })).status, 302)
      assert.doesNotMatch(await leadsTo(), /second_factor/)
      endSession()
      const refused = await signInWithPasskey(server, browser, { credential: found })
      assert.equal(errorOf(refused), 'passkey_needs_password')
      assert.match(await leadsTo(), /\/second_factor$/)
      await server.store.factors.reset('svc', sam.id)
    })

    it('requires the password until the passkey has verified its user in a second step', async () => {
      const made = { hasVerifiedUser: false }
      const found = await givePasskey(server, await userNamed(server, 'sam'), 'svc', made)
      const start = server.events.length
      const refused = await signInWithPasskey(server, server.browser(), { credential: found })
      assert.equal(errorOf(refused), 'passkey_needs_password')
      assert.deepEqual(eventsSince(start), [['PrincipalAuthenticationFailure', 'passkey', 'passkey: never-verified']])
      const browser = server.browser()
      await browser.signIn('sam', 'dingo')
      const page = (await browser.send('/second_factor')).text
      const [, text = ''] = /data-options="([^"]*)"/.exec(page) ?? []
      const asked: unknown = JSON.parse(unescaped(text))
      const answer = createAuthenticator(BASE).get(asked, found)
      const form = { ...hiddenFields(page), credential: JSON.stringify(answer) }
      assert.equal((await browser.send('/second_factor', { form })).status, 302)
      const alone = await signInWithPasskey(server, server.browser(), { credential: found })
      assert.equal(alone.headers['location'], `${BASE}/`)
      await server.store.factors.reset('svc', (await userNamed(server, 'sam')).id)
    })

    it('records no failure for an empty second step', async () => {
      const browser = server.browser()
      await browser.signIn('marissa', 'koala')
      const fields = hiddenFields((await browser.send('/second_factor')).text)
      const start = server.events.length
      for (const [answer, events] of [
        ['', 0],
        ['{}', 1],
      ] as const) {
        const refused = await browser.send('/second_factor', { form: { ...fields, credential: answer } })
        assert.equal(refused.status, 422)
        assert.equal(server.events.length - start, events)
      }
    })

    it('refuses assertions that are malformed, empty or too long', async () => {
      const browser = server.browser()
      const form = await passkeyForm(server, browser, { credential })
      const start = server.events.length
      for (const wrong of [
        '',
        'null',
        '{}',
        JSON.stringify({ id: 'A', response: { signature: 'A'.repeat(17_000) } }),
      ]) {
        assert.equal(
          errorOf(await browser.send('/login/passkey', { form: { ...form, credential: wrong } })),
          'passkey_refused',
        )
      }
      assert.deepEqual(eventsSince(start).at(-1), ['PrincipalAuthenticationFailure', 'passkey', 'passkey: malformed'])
      const huge = await browser.send('/login/passkey', { form: { ...form, credential: 'A'.repeat(200_000) } })
      assert.equal(huge.status, 413)
      assert.equal(await homeOf(browser), 302)
    })

    it('rate-limits by address', async () => {
      const browser = server.browser()
      const form = await passkeyForm(server, browser, { credential, overrides: { userHandle: 'AAAA' } })
      const statuses = new Set<number>()
      for (let attempt = 0; attempt < 101; attempt += 1) {
        statuses.add((await browser.send('/login/passkey', { form })).status)
      }
      assert.deepEqual([...statuses], [302, 429])
    })

    it('refuses users without a passkey', async () => {
      await server.store.factors.reset('svc', marissa.id)
      await giveFactor(server, marissa.id)
      const browser = server.browser()
      assert.equal(errorOf(await signInWithPasskey(server, browser, { credential })), 'passkey_refused')
    })
  })
}

describe('Passkey sign-in with two processes', () => {
  it('accepts a challenge of either process, once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'latchkey-test-'))
    const database = `sqlite:${join(folder, 'latchkey.db')}`
    const [one, other] = [await startServer({ database }), await startServer({ database })]
    const credential = await givePasskey(one, await userNamed(one, 'marissa'))
    const browser = one.browser()
    const form = await passkeyForm(one, browser, { credential })
    const cookies = Object.fromEntries(browser.cookies)
    const places = (await Promise.all([one, other].map(each => each.send('/login/passkey', { form, cookies })))).map(
      ({ headers }) => String(headers['location']),
    )
    assert.deepEqual(new Set(places), new Set([`${BASE}/`, `${BASE}/login?error=passkey_refused`]))
    const replayed = await other.send('/login/passkey', { form, cookies })
    assert.equal(replayed.headers['location'], `${BASE}/login?error=passkey_refused`)
    assert.deepEqual([...one.faults, ...other.faults], [])
    for (const each of [one, other]) await each.stop()
    await rm(folder, { recursive: true })
  })
})

describe('Passkeys of zones by path', () => {
  it('are not accepted in another zone, nor are their challenges', async () => {
    const zones = ['x', 'y'].map(id => ({ id, subdomain: id, name: id, bootstrap: { users: defaultBootstrap.users } }))
    const bootstrap = { ...defaultBootstrap, identity_zones: zones }
    const server = await startServer({ config: { base_url: 'https://id.example', bootstrap } })
    const inX = await userNamed(server, 'marissa', 'x')
    const credential = await givePasskey(server, inX, 'x')
    const jar = jarOf(server)
    const form = await passkeyForm(server, jar, { credential, prefix: '/z/x' })
    const there = hiddenFields((await jar.send('/z/y/login')).text)
    const crossed = await jar.send('/z/y/login/passkey', { form: { ...there, credential: form['credential'] ?? '' } })
    assert.equal(crossed.headers['location'], 'https://id.example/z/y/login?error=passkey_refused')
    const own = await signInWithPasskey(server, jar, { credential, prefix: '/z/y' })
    assert.equal(own.headers['location'], 'https://id.example/z/y/login?error=passkey_refused')
    const good = await signInWithPasskey(server, jar, { credential, prefix: '/z/x' })
    assert.equal(good.headers['location'], 'https://id.example/z/x/')
    assert.deepEqual(server.faults, [])
    await server.stop()
  })
})
