// What the second step of a sign-in refuses: too many guesses, foreign or used codes, secrets of other sessions, and
// enrolment in a session without a recent password.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, it, mock } from 'node:test'
import { addSeconds } from '../../../src/base/clock.ts'
import { TooManyHashes } from '../../../src/base/passwords.ts'
import { digest } from '../../../src/base/secrets.ts'
import { APP_REQUEST, authorize, authorizeBootstrap } from '../../support/authorize.ts'
import { createAuthenticator } from '../../support/authenticator.ts'
import { createTestClock } from '../../support/clock.ts'
import { hiddenFields, unescaped } from '../../support/forms.ts'
import { MODES, userNamed } from '../../support/oauth.ts'
import { givePasskey } from '../../support/passkeys.ts'
import { appOf, codesOf, enrolApp, giveFactor, prove, setPolicy } from '../../support/second-factor.ts'
import type { AuthenticatorApp } from '../../support/second-factor.ts'
import type { Browser, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'
import { linkTo, NEW_PASSWORD, submitted } from '../../support/self-service.ts'

const BASE = 'http://localhost:8080'
const PAGE = `${BASE}/second_factor`

async function signedIn(server: TestServer, name = 'marissa', password = 'koala'): Promise<Browser> {
  const browser = server.browser()
  assert.equal((await browser.signIn(name, password)).headers['location'], PAGE)
  return browser
}

/** Saves an authorization request with `acr_values` in the session. */
async function requestLevel({ store }: TestServer, { cookies }: Browser, level: string): Promise<void> {
  const id = digest(cookies.get('svc-session') ?? cookies.get('JSESSIONID') ?? '')
  const query = new URLSearchParams({ ...APP_REQUEST, acr_values: level }).toString()
  await store.sessions.update('svc', id, { savedRequest: `/oauth/authorize?${query}` })
}

const optionsIn = (page: string): unknown => JSON.parse(unescaped(/data-options="([^"]*)"/.exec(page)?.[1] ?? 'null'))

const statusesOf = (answers: readonly { readonly status: number }[]): readonly number[] =>
  answers.map(({ status }) => status).toSorted((a, b) => a - b)

for (const mode of MODES) {
  describe(`Second step of a sign-in in ${mode}`, () => {
    let server: TestServer
    let app: AuthenticatorApp
    let codes: readonly string[]
    let passwordBefore: string | undefined
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
      ;({ passwordHash: passwordBefore } = await userNamed(server, 'marissa'))
    })
    beforeEach(async () => {
      await setPolicy(server, { requirement: 'required', rememberDays: 30 })
      await server.store.factors.reset('svc', (await userNamed(server, 'marissa')).id)
      server.clock.advance(3600)
      ;({ app, codes } = await enrolApp(server, await signedIn(server)))
      server.clock.advance(60)
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    async function restorePassword(): Promise<void> {
      const { id, passwordRevision } = await userNamed(server, 'marissa')
      const passwordHash = passwordBefore ?? ''
      const change = { passwordHash, passwordRevision: 'r', passwordChangedAt: server.clock.now(), meetsDemand: true }
      await server.store.users.setPassword('svc', id, passwordRevision, change)
    }

    it('leads to its target also if the session has ended before the code was sent', async () => {
      const browser = server.browser()
      await authorize(browser, APP_REQUEST)
      await browser.signIn('marissa', 'koala')
      const { text } = await browser.send('/second_factor')
      server.clock.advance(1801)
      const code = app.code(server)
      const ended = await browser.send('/second_factor', { form: { ...hiddenFields(text), code } })
      assert.equal(ended.headers['location'], 'http://localhost:8080/login')
      await browser.signIn('marissa', 'koala')
      const proven = await prove(browser, { code })
      assert.equal(proven.location().pathname, '/oauth/authorize')
    })

    describe('counts wrong codes', () => {
      it('in the lockout of the account, also concurrently', async () => {
        const browsers = await Promise.all(Array.from({ length: 12 }, () => signedIn(server)))
        const wrong = await Promise.all(browsers.map(browser => prove(browser, { code: '000000' })))
        assert.deepEqual([...new Set(wrong.map(({ status }) => status))], [422])
        const { id } = await userNamed(server, 'marissa')
        const failures = await server.store.events.failures('svc', id, new Date(0))
        assert.equal(failures.length, 5, 'the others were not checked')
        const [first] = browsers
        assert.ok(first)
        assert.equal((await prove(first, { code: app.code(server) })).status, 422, 'not even the correct code')
        const [recovery = ''] = codes
        assert.equal((await prove(first, { way: 'recovery', code: recovery })).status, 422)
        server.clock.advance(301)
        assert.equal((await prove(first, { way: 'recovery', code: recovery })).status, 302, 'the code was not used up')
      })

      it('but none that a busy server did not check', async () => {
        const { factors } = server.store
        const usual = { ...factors }
        const refuse = () => Promise.reject(new TooManyHashes())
        Object.assign(factors, { useTotp: refuse, useCode: refuse })
        const browser = await signedIn(server)
        const [recovery = ''] = codes
        for (let times = 0; times < 3; times += 1) {
          assert.equal((await prove(browser, { code: app.code(server) })).status, 503)
          assert.equal((await prove(browser, { way: 'recovery', code: recovery })).status, 503)
        }
        Object.assign(factors, usual)
        const { id } = await userNamed(server, 'marissa')
        assert.deepEqual(await server.store.events.failures('svc', id, new Date(0)), [])
        assert.equal((await prove(browser, { code: app.code(server) })).status, 302)
      })

      it('and no code that was right, or not looked at, where the database fails', async () => {
        const { events, sessions } = server.store
        const [usualEvents, usualSessions] = [{ ...events }, { ...sessions }]
        const refuse = () => Promise.reject(new TooManyHashes())
        const browser = await signedIn(server)
        Object.assign(sessions, { replaceAndClear: refuse })
        assert.equal((await prove(browser, { code: app.code(server) })).status, 503)
        Object.assign(sessions, usualSessions)
        let reads = 0
        Object.assign(events, {
          failures: (...given: Parameters<typeof events.failures>) => {
            reads += 1
            return reads === 2 ? refuse() : usualEvents.failures(...given)
          },
        })
        assert.equal((await prove(browser, { code: '000000' })).status, 503)
        Object.assign(events, usualEvents)
        const { id } = await userNamed(server, 'marissa')
        assert.deepEqual(await events.failures('svc', id, new Date(0)), [])
      })

      it('and not the code itself, with failures from before the clock was set back', async () => {
        const { id } = await userNamed(server, 'marissa')
        await server.store.events.recordFailure('svc', id, addSeconds(server.clock.now(), 86_400))
        const browser = await signedIn(server)
        for (let guess = 0; guess < 4; guess += 1) await prove(browser, { code: '000000' })
        assert.equal((await prove(browser, { code: app.code(server) })).status, 302)
      })

      it('and reports the lockout on the page', async () => {
        const browser = await signedIn(server)
        for (let guess = 0; guess < 5; guess += 1) await prove(browser, { code: '000000' })
        assert.match((await prove(browser, { code: app.code(server) })).text, /Too many|too many/)
        assert.doesNotMatch((await server.browser().signIn('marissa', 'koala')).text, /second_factor/)
      })

      it('in a remembered browser', async () => {
        const mine = await signedIn(server)
        assert.equal((await prove(mine, { code: app.code(server), remember: 'true' })).status, 302)
        const device = [...mine.cookies].find(([name]) => name.includes('-device-'))
        assert.ok(device)
        server.clock.advance(3600)
        for (let guess = 0; guess < 5; guess += 1) {
          const browser = server.browser()
          browser.cookies.set(...device)
          await browser.signIn('marissa', 'koala')
          await requestLevel(server, browser, '2')
          assert.equal((await prove(browser, { code: '000000' })).status, 422, String(guess))
        }
        assert.match(String((await server.browser().signIn('marissa', 'koala')).headers['location']), /error=/)
      })

      it('beyond a password change', async () => {
        const { id } = await userNamed(server, 'marissa')
        const browser = await signedIn(server)
        for (let guess = 0; guess < 4; guess += 1) await prove(browser, { code: '000000' })
        const user = await server.store.users.find('svc', id)
        assert.ok(user)
        const { passwordHash = '', passwordRevision } = user
        const change = { passwordHash, passwordRevision, passwordChangedAt: server.clock.now(), meetsDemand: true }
        assert.equal(await server.store.users.setPassword('svc', id, passwordRevision, change), true)
        assert.equal((await server.store.events.failures('svc', id, new Date(0))).length, 4)
      })

      it('beyond a password reset, which does not unlock the account', async () => {
        const { id } = await userNamed(server, 'marissa')
        const browser = await signedIn(server)
        for (let guess = 0; guess < 5; guess += 1) await prove(browser, { code: '000000' })
        await submitted(server.browser(), '/forgot_password', { action: '/forgot_password.do', username: 'marissa' })
        const password = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD }
        const link = await linkTo(server, 'marissa@example.org')
        const answer = await submitted(server.browser(), link, { action: '/reset_password.do', ...password })
        assert.equal(answer.status, 302)
        assert.equal((await server.store.events.failures('svc', id, new Date(0))).length, 5)
        await restorePassword()
      })

      it('by address and user name, regardless of the lockout policy', async () => {
        const provider = await server.store.providers.findByOrigin('svc', 'svc')
        assert.ok(provider)
        const lockoutPolicy = { lockoutAfterFailures: 1000, countFailuresWithin: 3600, lockoutPeriodSeconds: 300 }
        await server.store.providers.update('svc', { ...provider, config: { ...provider.config, lockoutPolicy } })
        const browser = await signedIn(server)
        const statuses = new Set<number>()
        for (let guess = 0; guess < 101; guess += 1) statuses.add((await prove(browser, { code: '000000' })).status)
        assert.deepEqual([...statuses], [422, 429])
        await server.store.providers.update('svc', provider)
        server.clock.advance(60)
      })

      it('but not cancelled requests for a passkey, which are none', async () => {
        const browser = await signedIn(server)
        const statuses = new Set<number>()
        for (let time = 0; time < 101; time += 1) statuses.add((await prove(browser, { credential: '' })).status)
        assert.deepEqual([...statuses], [422])
      })

      it('but no passkey that comes too late', async () => {
        const credential = await givePasskey(server, await userNamed(server, 'marissa'))
        const browser = await signedIn(server)
        const { text } = await browser.send('/second_factor')
        const answer = createAuthenticator(new URL(BASE).origin).get(optionsIn(text), credential)
        server.clock.advance(300)
        const before = server.events.length
        const form = { ...hiddenFields(text), credential: JSON.stringify(answer) }
        assert.equal((await browser.send('/second_factor', { form })).status, 422)
        assert.deepEqual(server.events.slice(before), [])
      })
    })

    describe('accepts codes', () => {
      const spellings: readonly (readonly [string, (code: string) => string])[] = [
        ['a space in the middle', code => `${code.slice(0, 3)} ${code.slice(3)}`],
        ['a hyphen in the middle', code => `${code.slice(0, 3)}-${code.slice(3)}`],
        ['full-width digits', code => code.replace(/\d/g, digit => String.fromCodePoint(0xff10 + Number(digit)))],
        ['a no-break space and a line break around them', code => `\u00a0${code}\r\n`],
      ]
      for (const [name, spell] of spellings) {
        it(`of an app with ${name}`, async () => {
          assert.equal((await prove(await signedIn(server), { code: spell(app.code(server)) })).status, 302)
        })
      }

      it('of an app with a clock skew of at most 30 seconds', async () => {
        for (const [skew, status] of [
          [-90, 422],
          [-60, 422],
          [60, 422],
          [-30, 302],
        ] as const) {
          server.clock.advance(120)
          assert.equal(
            (await prove(await signedIn(server), { code: app.code(server, skew) })).status,
            status,
            String(skew),
          )
        }
        server.clock.advance(120)
        assert.equal((await prove(await signedIn(server), { code: app.code(server, 30) })).status, 302)
        assert.equal(
          (await prove(await signedIn(server), { code: app.code(server) })).status,
          422,
          'a code earlier than the one used',
        )
      })

      it('for recovery once, in any spelling', async () => {
        const [code = '', second = '', third = ''] = codes
        assert.equal((await prove(await signedIn(server), { way: 'recovery', code })).status, 302)
        for (const again of [
          code,
          code.toLowerCase(),
          code.replaceAll('-', ''),
          `${code} `,
          code.replaceAll('-', '–'),
        ]) {
          assert.equal((await prove(await signedIn(server), { way: 'recovery', code: again })).status, 422, again)
          server.clock.advance(3600)
        }
        const wide = second.replace(/[0-9A-Z]/g, each => String.fromCodePoint(each.charCodeAt(0) + 0xfee0))
        assert.equal((await prove(await signedIn(server), { way: 'recovery', code: wide })).status, 302)
        const dashed = third.toLowerCase().replaceAll('-', '–').replaceAll('0', 'o').replaceAll('1', 'l')
        assert.equal((await prove(await signedIn(server), { way: 'recovery', code: dashed })).status, 302)
      })

      it('for recovery once, also concurrently', async () => {
        const browsers = await Promise.all([1, 2, 3].map(() => signedIn(server)))
        const [code = ''] = codes
        const answers = await Promise.all(browsers.map(browser => prove(browser, { way: 'recovery', code })))
        assert.deepEqual(statusesOf(answers), [302, 422, 422])
      })

      it('of an app only if the policy allows apps', async () => {
        const { id } = await userNamed(server, 'marissa')
        await giveFactor(server, id, 'passkey')
        for (const [methods, status] of [
          [['passkey'], 422],
          [['passkey', 'totp'], 302],
        ] as const) {
          await setPolicy(server, { requirement: 'required', methods })
          const browser = await signedIn(server)
          // The form for a passkey, without an assertion.
          const { credential: _, ...fields } = hiddenFields((await browser.send('/second_factor')).text)
          const form = { ...fields, code: app.code(server) }
          assert.equal((await browser.send('/second_factor', { form })).status, status, methods.join())
        }
      })

      it('neither of a replaced set nor of another user', async () => {
        const theirs = await enrolApp(server, await signedIn(server, 'joel', 'wombat'))
        server.clock.advance(60)
        const browser = await signedIn(server)
        assert.equal((await prove(browser, { code: theirs.app.code(server) })).status, 422)
        assert.equal((await prove(browser, { way: 'recovery', code: theirs.codes[0] ?? '' })).status, 422)
        const { id } = await userNamed(server, 'marissa')
        await server.store.factors.setCodes('svc', id, {
          kind: 'recovery',
          digests: ['x'],
          createdAt: server.clock.now(),
        })
        assert.equal((await prove(browser, { way: 'recovery', code: codes[0] ?? '' })).status, 422)
        await server.store.factors.reset('svc', (await userNamed(server, 'joel')).id)
      })

      const malformed: readonly (readonly [string, string | Readonly<Record<string, string>>])[] = [
        ['a form without a code', {}],
        ['an empty code', { code: '' }],
        ['a code that is too long', { code: '1'.repeat(60_000) }],
        ['five digits', { code: '12345' }],
        ['digits of another script', { code: '१२३४५६' }],
        ['a credential that is not JSON', { credential: '{' }],
        ['a credential without members', { credential: '{}' }],
        ['a credential that is too long', { credential: `"${'a'.repeat(60_000)}"` }],
        ['an unknown way', { way: '<b>', code: '000000' }],
      ]
      for (const [name, form] of malformed) {
        it(`but refuses ${name}`, async () => {
          const browser = await signedIn(server)
          const answer = await prove(browser, form as Readonly<Record<string, string>>)
          assert.equal(answer.status, 422)
          assert.match(answer.text, /role="alert"/)
          assert.equal((await browser.send('/home')).headers['location'], PAGE)
        })
      }

      it('one per form', async () => {
        const browser = await signedIn(server)
        const { ...fields } = hiddenFields((await browser.send('/second_factor')).text)
        const form = `${new URLSearchParams(fields).toString()}&code=000000&code=${app.code(server)}`
        assert.equal((await browser.send('/second_factor', { form })).status, 422)
        const failures = await server.store.events.failures('svc', (await userNamed(server, 'marissa')).id, new Date(0))
        assert.equal(failures.length, 1)
      })

      it('only with the anti-forgery token', async () => {
        const browser = await signedIn(server)
        const before = server.events.length
        const forged = await browser.send('/second_factor', { form: { code: app.code(server) } })
        assert.equal(forged.status, 403)
        assert.equal(
          server.events.slice(before).some(({ type }) => type.startsWith('Mfa')),
          false,
        )
        assert.equal((await prove(browser, { code: app.code(server) })).status, 302, 'the code was not used up')
      })
    })

    describe('enrolment of a first factor', () => {
      beforeEach(async () => {
        await server.store.factors.reset('svc', (await userNamed(server, 'marissa')).id)
      })

      it('requires a recent password', async () => {
        await setPolicy(server, { requirement: 'optional' })
        const browser = server.browser()
        await browser.signIn('marissa', 'koala')
        server.clock.advance(301)
        assert.equal((await browser.send('/home')).status, 200)
        await requestLevel(server, browser, '2')
        for (const path of ['', '/app']) {
          const { headers } = await browser.send(`/second_factor${path}`)
          assert.equal(headers['location'], `${BASE}/login`, path)
        }
        assert.equal((await browser.send('/login')).status, 200, 'asks for the password again')
        const { headers } = await browser.signIn('marissa', 'koala')
        assert.match(String(headers['location']), /\/oauth\/authorize\?/)
        await requestLevel(server, browser, '2')
        assert.equal((await browser.send('/second_factor/app')).status, 200)
      })

      it('requires the existing factor for a second one, even after a password change', async () => {
        const browser = await signedIn(server)
        await enrolApp(server, browser)
        server.clock.advance(301)
        const page = (await browser.send('/change_password')).text
        const [current_password, new_password] = ['koala', 'three lamps and a boat']
        const typed = { current_password, new_password, confirm_password: new_password }
        const changed = await browser.send('/change_password.do', { form: { ...hiddenFields(page), ...typed } })
        assert.equal(changed.status, 302)
        await requestLevel(server, browser, 'phr')
        assert.equal((await browser.send('/second_factor')).headers['location'], `${BASE}/login`)
        await restorePassword()
      })

      it('adds a further one only after a recent password, also to a page from before', async () => {
        const browser = await signedIn(server)
        await enrolApp(server, browser)
        await requestLevel(server, browser, 'phr')
        server.clock.advance(240)
        const { text } = await browser.send('/second_factor')
        const { answer } = createAuthenticator(new URL(BASE).origin).create(optionsIn(text))
        server.clock.advance(61)
        const form = { ...hiddenFields(text), credential: JSON.stringify(answer) }
        const late = await browser.send('/second_factor/passkey', { form })
        assert.equal(late.headers['location'], `${BASE}/login`)
        assert.deepEqual((await userNamed(server, 'marissa')).factors?.methods, ['totp'])
      })

      it('requires the anti-forgery token', async () => {
        const browser = await signedIn(server)
        const page = (await browser.send('/second_factor/app')).text
        const { secret = '' } = hiddenFields(page)
        for (const path of ['app', 'passkey']) {
          const form = { code: appOf(page).code(server), secret }
          assert.equal((await browser.send(`/second_factor/${path}`, { form })).status, 403, path)
        }
        assert.deepEqual((await userNamed(server, 'marissa')).factors?.methods, [])
      })

      it('requires a new sign-in after ten minutes', async () => {
        const browser = await signedIn(server)
        const page = (await browser.send('/second_factor/app')).text
        const app = appOf(page)
        const send = async () =>
          browser.send('/second_factor/app', { form: { ...hiddenFields(page), code: app.code(server) } })
        server.clock.advance(600)
        assert.equal((await send()).headers['location'], `${BASE}/login`)
      })

      it('happens once: later and concurrent requests must verify it', async () => {
        const browsers = await Promise.all([1, 2, 3].map(() => signedIn(server)))
        const forms = await Promise.all(
          browsers.map(async browser => {
            const page = (await browser.send('/second_factor/app')).text
            return { browser, form: { ...hiddenFields(page), code: appOf(page).code(server) } }
          }),
        )
        const answers = await Promise.all(
          forms.map(({ browser, form }) => browser.send('/second_factor/app', { form })),
        )
        assert.deepEqual(statusesOf(answers), [200, 302, 302])
        assert.equal(answers.filter(({ text }) => codesOf(text).length === 10).length, 1)
        const later = answers.filter(({ status }) => status === 302)
        assert.deepEqual([...new Set(later.map(({ headers }) => headers['location']))], [PAGE])
      })

      it('refuses secrets that are foreign, altered or too long', async () => {
        const browser = await signedIn(server)
        const other = await signedIn(server, 'joel', 'wombat')
        const page = (await other.send('/second_factor/app')).text
        const mine = hiddenFields((await browser.send('/second_factor/app')).text)
        const code = appOf(page).code(server)
        const secrets = [hiddenFields(page)['secret'] ?? '', `${mine['secret'] ?? ''}A`, 'v1.', 'a'.repeat(60_000), '']
        for (const secret of secrets) {
          const answer = await browser.send('/second_factor/app', { form: { ...mine, secret, code } })
          assert.equal(answer.status, 422, secret.slice(0, 50))
        }
        assert.deepEqual((await userNamed(server, 'marissa')).factors?.methods, [])
      })

      it('continues to the start page if its own page was requested', async () => {
        const browser = server.browser()
        for (const path of ['/second_factor?way=recovery', '/second_factor/app']) await browser.send(path)
        await browser.signIn('marissa', 'koala')
        const { continueUrl } = await enrolApp(server, browser)
        assert.equal(continueUrl, `${BASE}/`)
        assert.equal((await browser.send('/second_factor')).headers['location'], `${BASE}/`)
      })

      it('shortens names that are too long for the QR code', async () => {
        const zone = await server.store.zones.find('svc')
        assert.ok(zone)
        const companyName = `${'x'.repeat(63)}${'😀'.repeat(200)}`
        await server.store.zones.update({ ...zone, config: { ...zone.config, branding: { companyName } } })
        const browser = await signedIn(server)
        const { text, status } = await browser.send('/second_factor/app')
        assert.equal(status, 200)
        const [, modules] = /viewBox="0 0 (\d+)/.exec(text) ?? []
        assert.ok(Number(modules) < 90, modules)
        await server.store.zones.update({
          ...zone,
          config: { ...zone.config, secondFactor: { requirement: 'required' } },
        })
      })

      it('sends pages with secrets with no-store, and codes only once', async () => {
        const browser = await signedIn(server)
        const page = await browser.send('/second_factor/app')
        const form = { ...hiddenFields(page.text), code: appOf(page.text).code(server) }
        const answer = await browser.send('/second_factor/app', { form })
        for (const { headers } of [page, answer]) assert.match(String(headers['cache-control']), /no-store/)
        const reload = await browser.send('/second_factor/app', { form })
        assert.equal(codesOf(reload.text).length, 0)
        assert.equal(reload.headers['location'], PAGE)
      })
    })

    it('tells the user of a recovery code that was used as the session ended', async () => {
      const browser = await signedIn(server)
      const before = (await server.mails()).length
      mock.method(server.store.sessions, 'replaceAndClear', () => Promise.resolve(false))
      const { headers } = await prove(browser, { way: 'recovery', code: codes[0] ?? '' })
      mock.restoreAll()
      assert.equal(headers['location'], `${BASE}/login`)
      assert.equal((await server.mails()).length, before + 1)
    })

    it('does not use up a recovery code where a busy server begins no session', async () => {
      const browser = await signedIn(server)
      const before = (await server.mails()).length
      mock.method(server.store.sessions, 'replaceAndClear', () => Promise.reject(new TooManyHashes()))
      const sent = { way: 'recovery', code: codes[0] ?? '' }
      assert.equal((await prove(browser, sent)).status, 503)
      mock.restoreAll()
      assert.equal((await server.mails()).length, before)
      assert.equal((await prove(browser, sent)).status, 302)
    })

    it('does not remember the browser after a recovery code', async () => {
      const browser = await signedIn(server)
      assert.equal((await prove(browser, { way: 'recovery', code: codes[0] ?? '', remember: 'true' })).status, 302)
      assert.equal(
        [...browser.cookies.keys()].some(name => name.includes('-device-')),
        false,
      )
    })
  })
}

it('one-time passwords and recovery codes work once across processes', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-codes-'))
  const clock = createTestClock()
  const options = { database: `sqlite:${join(folder, 'shared.db')}`, clock, config: { bootstrap: authorizeBootstrap } }
  const one = await startServer(options)
  const two = await startServer(options)
  await setPolicy(one, { requirement: 'required' })
  clock.advance(60)
  const { app, codes } = await enrolApp(one, await signedIn(one))
  clock.advance(60)
  const [here, there] = [await signedIn(one), await signedIn(two)]
  const code = app.code(one)
  const answers = await Promise.all([here, there].map(browser => prove(browser, { code })))
  assert.deepEqual(statusesOf(answers), [302, 422])
  const [recovery = ''] = codes
  const [again, elsewhere] = [await signedIn(one), await signedIn(two)]
  const used = await Promise.all([again, elsewhere].map(browser => prove(browser, { way: 'recovery', code: recovery })))
  assert.deepEqual(statusesOf(used), [302, 422])
  clock.advance(3600)
  const guessers = await Promise.all([one, two, one, two, one, two, one, two].map(server => signedIn(server)))
  await Promise.all(guessers.map(browser => prove(browser, { code: '000000' })))
  const failures = await one.store.events.failures('svc', (await userNamed(one, 'marissa')).id, new Date(0))
  assert.ok(failures.length <= 6, String(failures.length))
  for (const server of [one, two]) {
    assert.deepEqual(server.faults, [])
    await server.stop()
  }
  await rm(folder, { recursive: true })
})
