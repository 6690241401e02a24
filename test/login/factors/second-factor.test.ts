import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { APP_REQUEST, authorize, authorizeBootstrap } from '../../support/authorize.ts'
import { hiddenFields, unescaped } from '../../support/forms.ts'
import { APP, MODES, passwordTokens, userNamed } from '../../support/oauth.ts'
import { appOf, enrolApp, prove, setPolicy } from '../../support/second-factor.ts'
import type { AuthenticatorApp } from '../../support/second-factor.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const PAGE = 'http://localhost:8080/second_factor'

for (const mode of MODES) {
  describe(`Required second factor in ${mode}`, () => {
    let server: TestServer
    let app: AuthenticatorApp
    let codes: readonly string[]
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
      await setPolicy(server, { requirement: 'required', rememberDays: 30 })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    // Covers Zone config in effect: `secondFactor` (ours)
    // Covers any /second_factor/app: rule: set up at the first sign-in
    it('is enrolled at the first sign-in, before any other page', async () => {
      const browser = server.browser()
      assert.equal((await browser.signIn('marissa', 'koala')).headers['location'], PAGE)
      for (const path of ['/', '/home', '/profile', '/passcode', '/change_password', '/force_password_change']) {
        const { headers } = await browser.send(path)
        assert.match(String(headers['location']), /\/second_factor$|\/$/, path)
      }
      const page = await browser.send('/second_factor')
      assert.equal(page.status, 200)
      assert.match(page.text, /data-passkey="create"/)
      const enrolled = await enrolApp(server, browser)
      ;({ app, codes } = enrolled)
      assert.equal(codes.length, 10)
      const mails = await server.mails()
      assert.deepEqual(
        mails.map(({ to, subject }) => [to, subject]),
        [['marissa@example.org', 'An authenticator app was set up for your account']],
        'one mail for the app and its recovery codes',
      )
      assert.match(mails[0]?.text ?? '', /the account marissa\b/)
      assert.doesNotMatch(JSON.stringify(mails), new RegExp(codes.join('|')))
      const [, event] =
        /<li class="factor-added"><div><strong>([^<]+)/.exec((await browser.send('/profile')).text) ?? []
      assert.equal(event, 'Second factor added')
      assert.equal((await browser.send('/home')).status, 200)
      assert.equal((await browser.send('/second_factor')).status, 302)
    })

    // Covers any /second_factor: rule: a code works once
    // Covers audit trail: MfaAuthenticationSuccess; MfaAuthenticationFailure
    it('is required at the next sign-in, with an unused code', async () => {
      const browser = server.browser()
      const event = () => server.events.findLast(({ type }) => type.startsWith('MfaAuthentication'))
      assert.equal((await browser.signIn('marissa', 'koala')).headers['location'], PAGE)
      assert.equal(
        (await browser.send('/second_factor/app')).headers['location'],
        PAGE,
        'no second app without the first',
      )
      const again = await prove(browser, { code: app.code(server) })
      assert.equal(again.status, 422)
      assert.equal(event()?.type, 'MfaAuthenticationFailure')
      server.clock.advance(30)
      const shown = app.code(server)
      assert.equal((await prove(browser, { code: `${shown.slice(0, 3)} ${shown.slice(3)}` })).status, 302)
      assert.deepEqual([event()?.type, event()?.data], ['MfaAuthenticationSuccess', 'totp'])
      assert.equal((await browser.send('/home')).status, 200)
      const other = server.browser()
      await other.signIn('marissa', 'koala')
      assert.equal((await prove(other, { code: shown })).status, 422, 'a code works in one session only')
      server.clock.advance(3600)
    })

    // Covers POST /second_factor: recovery code
    it('accepts a recovery code once, in any spelling', async () => {
      const browser = server.browser()
      const [first = '', second = ''] = codes
      for (const code of [first.toLowerCase().replaceAll('-', ' ')]) {
        await browser.signIn('marissa', 'koala')
        assert.equal((await prove(browser, { way: 'recovery', code })).status, 302, code)
      }
      const other = server.browser()
      await other.signIn('marissa', 'koala')
      assert.equal((await prove(other, { way: 'recovery', code: first })).status, 422)
      const before = (await server.mails()).length
      assert.equal((await prove(other, { way: 'recovery', code: second })).status, 302)
      const [mail] = await server.mails()
      assert.equal((await server.mails()).length, before + 1)
      assert.equal(mail?.subject, 'A code was used to sign in to your account')
      server.clock.advance(3600)
    })

    // Covers POST /second_factor: error: account locked
    it('locks the account after wrong codes, even with correct passwords in between', async () => {
      for (let attempt = 0; attempt < 5; attempt += 1) {
        const browser = server.browser()
        assert.equal((await browser.signIn('marissa', 'koala')).headers['location'], PAGE)
        assert.equal((await prove(browser, { code: '000000' })).status, 422)
      }
      const refused = await server.browser().signIn('marissa', 'koala')
      assert.match(String(refused.headers['location']), /error=/)
      server.clock.advance(3600)
    })

    it('is required at /oauth/authorize, which then continues', async () => {
      const browser = server.browser()
      await browser.signIn('marissa', 'koala')
      const asked = await authorize(browser, APP_REQUEST)
      assert.equal(asked.headers['location'], PAGE)
      const silent = await authorize(browser, { ...APP_REQUEST, prompt: 'none' })
      assert.match(String(silent.headers['location']), /interaction_required/)
      server.clock.advance(30)
      const proven = await prove(browser, { code: app.code(server) })
      assert.match(String(proven.headers['location']), /\/oauth\/authorize\?/)
    })

    it('is requested again by /login, and then continues the request', async () => {
      const browser = server.browser()
      const asked = await authorize(browser, APP_REQUEST)
      assert.equal(asked.headers['location'], 'http://localhost:8080/login')
      assert.equal((await browser.signIn('marissa', 'koala')).headers['location'], PAGE)
      assert.equal((await browser.send('/login')).headers['location'], PAGE)
      server.clock.advance(30)
      const proven = await prove(browser, { code: app.code(server) })
      assert.match(String(proven.headers['location']), /\/oauth\/authorize\?.*client_id=app/)
    })

    it('continues each tab to its own target, with any factor', async () => {
      const first = server.browser()
      await first.signIn('sam', 'dingo')
      const enrolled = await enrolApp(server, first)
      server.clock.advance(60)
      const browser = server.browser()
      await browser.signIn('sam', 'dingo')
      const opened = async (client: string): Promise<string> => {
        await authorize(browser, { ...APP_REQUEST, client_id: client, redirect_uri: `https://${client}.example/cb` })
        return (await browser.send('/second_factor')).text
      }
      const [mine, other] = [await opened('app'), await opened('partly')]
      const target = hiddenFields(mine)['form_redirect_uri'] ?? ''
      assert.match(target, /client_id=app&/)
      const [, link = ''] = /href="([^"]*way=recovery[^"]*)"/.exec(mine) ?? []
      const recovery = (await browser.send(unescaped(link))).text
      assert.equal(hiddenFields(recovery)['form_redirect_uri'], target)
      const wrong = await browser.send('/second_factor', { form: { ...hiddenFields(recovery), code: 'x' } })
      assert.equal(hiddenFields(wrong.text)['form_redirect_uri'], target)
      const form = { ...hiddenFields(mine), code: enrolled.app.code(server) }
      assert.equal((await browser.send('/second_factor', { form })).headers['location'], target)
      const late = await browser.send('/second_factor', { form: hiddenFields(other) })
      assert.match(String(late.headers['location']), /client_id=partly&/)
      const foreign = await browser.send('/second_factor', { form: { form_redirect_uri: 'https://evil.example/' } })
      assert.ok(String(foreign.headers['location']).startsWith('http://localhost:8080/'))
    })

    it('continues each tab to its own target after enrolment', async () => {
      await server.store.factors.reset('svc', (await userNamed(server, 'sam')).id)
      const browser = server.browser()
      await browser.signIn('sam', 'dingo')
      const opened = async (client: string): Promise<string> => {
        await authorize(browser, { ...APP_REQUEST, client_id: client, redirect_uri: `https://${client}.example/cb` })
        const choice = (await browser.send('/second_factor')).text
        const target = hiddenFields(choice)['form_redirect_uri'] ?? ''
        assert.match(target, new RegExp(`client_id=${client}&`))
        const [, link = ''] = /href="([^"]*second_factor\/app[^"]*)"/.exec(choice) ?? []
        const page = (await browser.send(unescaped(link))).text
        assert.equal(hiddenFields(page)['form_redirect_uri'], target)
        return page
      }
      const [mine, other] = [await opened('app'), await opened('partly')]
      const wrong = await browser.send('/second_factor/app', { form: { ...hiddenFields(mine), code: '0' } })
      const form = { ...hiddenFields(wrong.text), code: appOf(wrong.text).code(server) }
      const done = await browser.send('/second_factor/app', { form })
      assert.match(unescaped(done.text), /class="button" href="[^"]*client_id=app&/)
      const late = await browser.send('/second_factor/app', { form: hiddenFields(other) })
      const proven = await browser.send(new URL(String(late.headers['location'])).href)
      assert.match(String(proven.headers['location']), /client_id=partly&/)
    })

    it('is skipped in a remembered browser of this user', async () => {
      server.clock.advance(60)
      const browser = server.browser()
      await browser.signIn('marissa', 'koala')
      assert.equal((await prove(browser, { code: app.code(server), remember: 'true' })).status, 302)
      const [name = '', value = ''] = [...browser.cookies].find(([each]) => each.includes('-device-')) ?? []
      const signInThere = async () => {
        const later = server.browser()
        later.cookies.set(name, value)
        return (await later.signIn('marissa', 'koala')).headers['location']
      }
      assert.notEqual(await signInThere(), PAGE)
      const other = server.browser()
      other.cookies.set(name, value)
      assert.equal((await other.signIn('joel', 'wombat')).headers['location'], PAGE, 'another user')
      await server.store.factors.forgetDevices('svc', (await userId()) ?? '')
      assert.equal(await signInThere(), PAGE)
      server.clock.advance(3600)
    })

    it('is remembered for the last twenty users of a browser', async () => {
      server.clock.advance(60)
      const browser = server.browser()
      await browser.signIn('marissa', 'koala')
      const others = Array.from({ length: 25 }, (_, index) => `svc-device-${String(index).padStart(12, '0')}`)
      const ofZone = 'svc-device-000000000000.z1'
      for (const name of [...others, ofZone]) browser.cookies.set(name, 'sealed')
      assert.equal((await prove(browser, { code: app.code(server), remember: 'true' })).status, 302)
      const kept = [...browser.cookies.keys()].filter(name => name.includes('-device-'))
      assert.deepEqual(kept.slice(0, -1), [...others.slice(6), ofZone])
    })

    it('expires at most twenty remembered browsers per response', async () => {
      server.clock.advance(60)
      const browser = server.browser()
      await browser.signIn('marissa', 'koala')
      for (let index = 0; index < 200; index += 1)
        browser.cookies.set(`svc-device-${String(index).padStart(12, '0')}`, 'x')
      const answer = await prove(browser, { code: app.code(server), remember: 'true' })
      const expired = [answer.headers['set-cookie']].flat().filter(each => String(each).includes('-device-0'))
      assert.equal(expired.length, 20)
    })

    it('is remembered beside many cookies whose names are not those of remembered browsers', async () => {
      server.clock.advance(60)
      const browser = server.browser()
      await browser.signIn('marissa', 'koala')
      for (let index = 10; index < 40; index += 1) browser.cookies.set(`svc-device-é23456789-${index}`, 'planted')
      assert.equal((await prove(browser, { code: app.code(server), remember: 'true' })).status, 302)
    })

    it('is required in a remembered browser after rememberDays or a new password', async () => {
      const remembered = async (): Promise<readonly [string, string]> => {
        server.clock.advance(60)
        const browser = server.browser()
        await browser.signIn('marissa', 'koala')
        assert.equal((await prove(browser, { code: app.code(server), remember: 'true' })).status, 302)
        return [...browser.cookies].find(([name]) => name.includes('-device-')) ?? assert.fail()
      }
      const isRequiredIn = async (device: readonly [string, string]): Promise<boolean> => {
        const browser = server.browser()
        browser.cookies.set(...device)
        return (await browser.signIn('marissa', 'koala')).headers['location'] === PAGE
      }
      const first = await remembered()
      server.clock.advance(30 * 86_400 - 60)
      assert.equal(await isRequiredIn(first), false)
      server.clock.advance(60)
      assert.equal(await isRequiredIn(first), true)
      const second = await remembered()
      assert.equal(await isRequiredIn(second), false)
      const { id, passwordHash = '', passwordRevision } = await userNamed(server, 'marissa')
      const change = {
        passwordHash,
        passwordRevision: 'next',
        passwordChangedAt: server.clock.now(),
        meetsDemand: true,
      }
      assert.equal(await server.store.users.setPassword('svc', id, passwordRevision, change), true)
      assert.equal(await isRequiredIn(second), true)
    })

    it('answers mfa_required to the password grant', async () => {
      const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
      const answer = await server.token(form, { basic: APP })
      assert.equal(answer.status, 400)
      assert.equal(answer.json()['error'], 'mfa_required')
      const wrong = await server.token({ ...form, password: 'wrong' }, { basic: APP })
      assert.notEqual(wrong.json()['error'], 'mfa_required', 'not revealed with a wrong password')
    })

    it('refuses a secret of another session, and a missing anti-forgery token', async () => {
      await server.store.factors.reset('svc', (await userId()) ?? '')
      const [mine, theirs] = [server.browser(), server.browser()]
      await mine.signIn('marissa', 'koala')
      await theirs.signIn('marissa', 'koala')
      const page = (await theirs.send('/second_factor/app')).text
      const fields = hiddenFields((await mine.send('/second_factor/app')).text)
      const { secret = '' } = hiddenFields(page)
      const code = appOf(page).code(server)
      assert.equal((await mine.send('/second_factor/app', { form: { ...fields, secret, code } })).status, 422)
      assert.equal((await mine.send('/second_factor/app', { form: { secret, code } })).status, 403)
      assert.equal((await server.store.users.find('svc', (await userId()) ?? ''))?.factors?.methods.length, 0)
    })

    const userId = async () => (await server.store.users.findByName('svc', 'svc', 'marissa'))?.id
  })
}

describe('Second factor in a zone without one', () => {
  it('has no effect', async () => {
    const server = await startServer({ mode: 'uaa', config: { bootstrap: authorizeBootstrap } })
    const browser = server.browser()
    await browser.signIn('marissa', 'koala')
    assert.equal((await browser.send('/second_factor')).headers['location'], 'http://localhost:8080/')
    const { access_token: accessToken } = await passwordTokens(server)
    assert.equal(decodeJwt(accessToken)['acr'], undefined)
    await server.stop()
  })
})
