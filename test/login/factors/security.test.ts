// The page /profile/security: users manage their own second factors.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { Passkey } from '../../../src/model/users/passkey.ts'
import { authorizeBootstrap } from '../../support/authorize.ts'
import { createAuthenticator } from '../../support/authenticator.ts'
import type { Credential } from '../../support/authenticator.ts'
import { hiddenFields, unescaped } from '../../support/forms.ts'
import { MODES, userNamed } from '../../support/oauth.ts'
import { appOf, codesOf, prove, setPolicy } from '../../support/second-factor.ts'
import type { AuthenticatorApp } from '../../support/second-factor.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'
import { textOf } from '../../support/self-service.ts'

const BASE = 'http://localhost:8080'
const PAGE = `${BASE}/profile/security`
const PASSKEY = '/profile/security/passkey'
const REMOVE = '/profile/security/remove'
const RENAME = '/profile/security/rename'
const device = createAuthenticator(BASE)

const locationOf = ({ headers }: TestAnswer): string => String(headers['location'])
const optionsOf = ({ text }: TestAnswer): unknown =>
  JSON.parse(unescaped(/data-options="([^"]*)"/.exec(text)?.[1] ?? 'null'))
/** The passkeys of the page, each as its id and name. */
const passkeysOn = (page: string): readonly (readonly [id: string, name: string])[] =>
  [...page.matchAll(/href="[^"]*rename\?passkey=([^"]+)">[^<]*<span class="visually-hidden"> <bdi>([^<]*)/g)].map(
    ([, id = '', name = '']) => [id, unescaped(name)],
  )

for (const mode of MODES) {
  describe(`Own second factors in ${mode}`, () => {
    let server: TestServer
    let browser: Browser
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
    })
    beforeEach(async () => {
      await setPolicy(server, { requirement: 'optional', rememberDays: 30 })
      for (const name of ['marissa', 'joel'])
        await server.store.factors.reset('svc', (await userNamed(server, name)).id)
      server.clock.advance(3600)
      browser = await signedIn()
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    async function signedIn(name = 'marissa', password = 'koala'): Promise<Browser> {
      const made = server.browser()
      await made.signIn(name, password)
      return made
    }

    const factors = async (name = 'marissa') => (await userNamed(server, name)).factors?.methods ?? []
    const passkeys = async (name = 'marissa') =>
      server.store.factors.passkeysOf('svc', (await userNamed(server, name)).id)
    const post = (path: string, form: Readonly<Record<string, string>>, by = browser): Promise<TestAnswer> =>
      by.send(path, { form: { 'X-Svc-Csrf': by.csrf, ...form } })

    /** Adds a passkey as a browser does. */
    async function addPasskey(
      name = 'Phone',
      by = browser,
    ): Promise<{ readonly answer: TestAnswer; readonly credential: Credential }> {
      const page = await by.send(PASSKEY)
      assert.equal(page.status, 200, page.text)
      const { credential, answer } = device.create(optionsOf(page))
      const form = { ...hiddenFields(page.text), name, credential: JSON.stringify(answer) }
      return { answer: await by.send(PASSKEY, { form }), credential }
    }

    async function addApp(by = browser): Promise<{ readonly app: AuthenticatorApp; readonly answer: TestAnswer }> {
      const page = (await by.send('/profile/security/app')).text
      const app = appOf(page)
      const form = { ...hiddenFields(page), code: app.code(server) }
      return { app, answer: await by.send('/profile/security/app', { form }) }
    }

    /** A new session in the same browser, with its remembered devices. */
    function newSessionOf({ cookies }: Browser): Browser {
      const made = server.browser()
      for (const [name, value] of cookies) if (name.includes('-device-')) made.cookies.set(name, value)
      return made
    }

    // Covers GET /profile/security: page: own second factors
    it('are listed on a page linked from the profile', async () => {
      const profile = (await browser.send('/profile')).text
      assert.match(profile, /Second step<\/dt><dd>Off<\/dd><dd class="change"><a href="\/profile\/security">/)
      const page = await browser.send('/profile/security')
      assert.equal(page.status, 200)
      assert.match(textOf(page.text), /Add a passkey .* Set up an authenticator app/)
      assert.doesNotMatch(page.text, /Recovery codes|Remembered devices/, 'not shown without a factor')
      await addApp()
      assert.match((await browser.send('/profile')).text, /<dd>Authenticator app<\/dd>/)
    })

    // Covers any /profile/security/app: rule: adds an app
    // Covers any /profile/security/passkey: rule: adds a passkey
    // Covers any /profile/security/rename: rule: renames a factor
    // Covers any /profile/security/remove: rule: removes a factor
    it('can be added, renamed and removed, with an event and a mail for each', async () => {
      const before = (await server.mails()).length
      const waysIn = async () =>
        /With your user name and password[^<]*/.exec((await browser.send('/profile')).text)?.[0]
      assert.equal(await waysIn(), 'With your user name and password')
      const { answer } = await addPasskey(' My\u00a0ph\u006f\u0308ne ')
      assert.equal(codesOf(answer.text).length, 10, 'codes with the first factor')
      assert.match(answer.text, new RegExp(`href="${PAGE}\\?done=passkey_added"`))
      assert.deepEqual(await factors(), ['passkey'])
      assert.equal(await waysIn(), 'With your user name and password, or with a passkey')
      server.clock.advance(1)
      const second = await addPasskey('Key')
      assert.equal(locationOf(second.answer), `${PAGE}?done=passkey_added`, 'no further codes')
      server.clock.advance(1)
      const [first] = passkeysOn((await browser.send('/profile/security')).text)
      const id = first?.[0] ?? ''
      const renamed = await post(RENAME, { passkey: id, name: '<Pixel> & Co' })
      assert.equal(locationOf(renamed), `${PAGE}?done=renamed`)
      const page = (await browser.send('/profile/security?done=renamed')).text
      assert.match(page, /The passkey has its new name\./)
      assert.deepEqual(
        passkeysOn(page).map(([, name]) => name),
        ['<Pixel> & Co', 'Key'],
      )
      assert.equal(locationOf(await post(REMOVE, { passkey: id })), `${PAGE}?done=removed`)
      server.clock.advance(1)
      assert.equal(locationOf((await addApp()).answer), `${PAGE}?done=app_added`)
      server.clock.advance(1)
      assert.equal(locationOf(await post(REMOVE, { factor: 'app' })), `${PAGE}?done=removed`)
      const mails = (await server.mails()).slice(0, -before || undefined)
      assert.deepEqual(mails.map(({ subject }) => subject).toReversed(), [
        'A passkey was added to your account',
        'A passkey was added to your account',
        'A passkey was removed from your account',
        'An authenticator app was set up for your account',
        'The authenticator app was removed from your account',
      ])
      assert.ok(mails.every(({ to }) => to === 'marissa@example.org'))
      const history = (await browser.send('/profile')).text
      for (const type of ['factor-added', 'factor-changed', 'factor-removed']) {
        assert.match(history, new RegExp(`<li class="${type}">`))
      }
    })

    it('are accepted at the next sign-in, and keep the current session', async () => {
      const { credential } = await addPasskey()
      assert.equal((await browser.send('/profile')).status, 200)
      const later = await signedIn()
      const asked = await later.send('/second_factor')
      const answer = JSON.stringify(device.get(optionsOf(asked), credential))
      const proven = await later.send('/second_factor', { form: { ...hiddenFields(asked.text), credential: answer } })
      assert.equal(proven.status, 302)
      assert.match(textOf((await later.send('/profile/security')).text), /last used now|last used just now/i)
    })

    // Covers any /profile/security/codes: rule: new recovery codes
    it('show the number of recovery codes left, and replace them', async () => {
      const { app, answer } = await addApp()
      const [first = ''] = codesOf(answer.text)
      server.clock.advance(30)
      const other = await signedIn()
      await prove(other, { way: 'recovery', code: first })
      assert.match((await browser.send('/profile/security')).text, /9 of 10 left/)
      assert.match((await browser.send('/profile/security/codes')).text, /Make new recovery codes\?/)
      server.clock.advance(1)
      const made = await post('/profile/security/codes', {})
      assert.equal(codesOf(made.text).length, 10)
      assert.match(String(made.headers['cache-control']), /no-store/)
      const [last] = await server.mails()
      assert.equal(last?.subject, 'You have new recovery codes')
      assert.ok(!codesOf(made.text).some(code => JSON.stringify(last).includes(code)))
      const old = await signedIn()
      assert.equal((await prove(old, { way: 'recovery', code: codesOf(answer.text)[1] ?? '' })).status, 422)
      assert.equal((await prove(old, { code: app.code(server) })).status, 302)
    })

    // Covers POST /profile/security/devices: rule: forgets remembered browsers
    it('forget remembered browsers', async () => {
      const { app } = await addApp()
      server.clock.advance(30)
      const remembered = await signedIn()
      await prove(remembered, { code: app.code(server), remember: 'true' })
      const again = () => newSessionOf(remembered).signIn('marissa', 'koala')
      assert.doesNotMatch(locationOf(await again()), /second_factor/)
      assert.equal(locationOf(await post('/profile/security/devices', {})), `${PAGE}?done=forgotten`)
      assert.match(locationOf(await again()), /second_factor/)
    })

    describe('cannot be changed', () => {
      const changes: readonly (readonly [path: string, form: Readonly<Record<string, string>>])[] = [
        [PASSKEY, { name: 'x', credential: '{}' }],
        ['/profile/security/app', { secret: 'x', code: '000000' }],
        ['/profile/security/codes', {}],
        [RENAME, { passkey: 'x', name: 'y' }],
        [REMOVE, { factor: 'app' }],
      ]

      it('without a recent sign-in', async () => {
        await addApp()
        const { revision } = (await userNamed(server, 'marissa')).factors ?? {}
        server.clock.advance(301)
        await browser.send('/profile/security')
        for (const [path, form] of changes) {
          assert.equal(locationOf(await browser.send(path)), `${BASE}/login`, `GET ${path}`)
          assert.equal(locationOf(await post(path, form)), `${BASE}/login`, path)
          assert.match((await browser.send('/login')).text, /name="password"/, 'despite the session')
        }
        assert.deepEqual(await factors(), ['totp'])
        assert.equal((await userNamed(server, 'marissa')).factors?.revision, revision)
      })

      it('until a new sign-in with the second factor, which returns to the page', async () => {
        const { app } = await addApp()
        server.clock.advance(330)
        await browser.send(`${REMOVE}?factor=app`)
        const again = await browser.signIn('marissa', 'koala')
        assert.equal(locationOf(again), `${BASE}/second_factor`)
        assert.match(
          locationOf(await browser.send(`${REMOVE}?factor=app`)),
          /second_factor$/,
          'the password is not enough',
        )
        assert.equal(locationOf(await prove(browser, { code: app.code(server) })), `${BASE}${REMOVE}?factor=app`)
        assert.match((await browser.send(`${REMOVE}?factor=app`)).text, /Remove the authenticator app\?/)
      })

      it('in a remembered browser without the second factor', async () => {
        const { app } = await addApp()
        server.clock.advance(30)
        const first = await signedIn()
        await prove(first, { code: app.code(server), remember: 'true' })
        const remembered = newSessionOf(first)
        await remembered.signIn('marissa', 'koala')
        assert.equal((await remembered.send('/profile/security')).status, 200)
        for (const [path, form] of changes) {
          assert.equal(locationOf(await post(path, form, remembered)), `${BASE}/second_factor`, path)
        }
        server.clock.advance(30)
        await remembered.send(`${REMOVE}?factor=app`)
        assert.equal(
          locationOf(await prove(remembered, { code: app.code(server) })),
          `${BASE}${REMOVE}?factor=app`,
          'allowed with the second factor',
        )
        assert.equal(locationOf(await post(REMOVE, { factor: 'app' }, remembered)), `${PAGE}?done=removed`)
      })

      it('after only a password change', async () => {
        const { app } = await addApp()
        server.clock.advance(330)
        const older = await signedIn()
        await prove(older, { code: app.code(server) })
        server.clock.advance(400)
        const words = ['quiet harbour lanterns', 'louder harbour lanterns'] as const
        const change = async (from: string, to: string) => {
          const form = { current_password: from, new_password: to, confirm_password: to }
          await older.send('/change_password')
          return post('/change_password.do', form, older)
        }
        const query = mode === 'uaa' ? '' : '?success_message_code=password.changed'
        assert.equal(locationOf(await change('koala', words[0])), `${BASE}/profile${query}`)
        assert.equal(locationOf(await post(REMOVE, { factor: 'app' }, older)), `${BASE}/login`)
        await server.stop()
        server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
      })

      it('without the anti-forgery token', async () => {
        const { credential } = await addPasskey()
        assert.ok(credential)
        const [passkey] = await passkeys()
        const all = [...changes, [REMOVE, { passkey: passkey?.id ?? '' }], ['/profile/security/devices', {}]] as const
        const { revision } = (await userNamed(server, 'marissa')).factors ?? {}
        for (const [path, form] of all) {
          assert.equal((await browser.send(path, { form })).status, 403, path)
          assert.equal(
            (await browser.send(path, { form: { ...form, 'X-Svc-Csrf': 'A'.repeat(22) } })).status,
            403,
            path,
          )
        }
        assert.equal((await userNamed(server, 'marissa')).factors?.revision, revision)
      })

      it('by another user', async () => {
        await addPasskey('Hers')
        const [hers] = await passkeys()
        const joel = await signedIn('joel', 'wombat')
        await joel.send('/profile/security')
        const form = { passkey: hers?.id ?? '', name: 'mine' }
        for (const path of [RENAME, REMOVE]) {
          assert.equal(locationOf(await post(path, form, joel)), `${PAGE}?error=unknown`)
          assert.equal(locationOf(await joel.send(`${path}?passkey=${form.passkey}`)), `${PAGE}?error=unknown`)
        }
        assert.equal((await passkeys())[0]?.name, 'Hers')
        // A registration started by one user is not valid for another.
        const page = await joel.send(PASSKEY)
        const { answer } = device.create(optionsOf(await browser.send(PASSKEY)))
        const sent = { ...hiddenFields(page.text), name: 'x', credential: JSON.stringify(answer) }
        assert.equal((await joel.send(PASSKEY, { form: sent })).status, 422)
        assert.deepEqual(await factors('joel'), [])
      })

      it('by a repeated registration', async () => {
        const page = await browser.send(PASSKEY)
        const { answer } = device.create(optionsOf(page))
        const form = { ...hiddenFields(page.text), name: 'x', credential: JSON.stringify(answer) }
        const answers = await Promise.all([1, 2].map(() => browser.send(PASSKEY, { form })))
        assert.equal(answers.filter(({ status }) => status === 200).length, 1)
        assert.equal((await passkeys()).length, 1)
      })

      it('to more than twenty passkeys', async () => {
        await addPasskey()
        const [first] = await passkeys()
        assert.ok(first)
        for (let count = 1; count < 20; count += 1) {
          const copy: Passkey = { ...first, id: `copy${count}`, credentialId: `copy${count}`, name: `Copy ${count}` }
          assert.equal(await server.store.factors.addPasskey('svc', copy, 20), true)
        }
        const { answer } = await addPasskey('One more')
        assert.equal(answer.status, 422)
        assert.match(answer.text, /there can be no more/)
        assert.doesNotMatch(answer.text, /aria-invalid/, 'nothing is wrong with the name')
        assert.equal((await passkeys()).length, 20)
        assert.doesNotMatch((await browser.send('/profile/security')).text, /security\/passkey"/)
      })

      it('to names that are invisible, too long or contain control characters', async () => {
        await addPasskey('Phone')
        const [passkey] = await passkeys()
        const id = passkey?.id ?? ''
        const bad = [
          '',
          '   ',
          'x'.repeat(65),
          'x'.repeat(10_000),
          'a\r\nb',
          'a\u0001b',
          '\u202egnihsihp',
          '\u200b\u2060',
        ]
        for (const name of bad) {
          const { status } = await post(RENAME, { passkey: id, name })
          assert.equal(status, 422, JSON.stringify(name.slice(0, 20)))
        }
        const page = await browser.send(PASSKEY)
        for (const name of bad.slice(2)) {
          const { answer } = device.create(optionsOf(page))
          const form = { ...hiddenFields(page.text), name, credential: JSON.stringify(answer) }
          const refused = await browser.send(PASSKEY, { form })
          assert.equal(refused.status, 422)
          assert.match(refused.text, /<input id="name"[^>]* aria-describedby="name-hint message" aria-invalid="true"/)
        }
        assert.deepEqual(
          (await passkeys()).map(({ name }) => name),
          ['Phone'],
        )
      })

      it('to none if the zone requires one', async () => {
        await addPasskey()
        await setPolicy(server, { requirement: 'required' })
        const [passkey] = await passkeys()
        const form = { passkey: passkey?.id ?? '' }
        const page = (await browser.send(`${REMOVE}?passkey=${form.passkey}`)).text
        assert.match(page, /Add another one first/)
        assert.doesNotMatch(page, /Remove this passkey\?/, 'no question that cannot be confirmed')
        const refused = await post(REMOVE, form)
        assert.equal(refused.status, 422)
        assert.deepEqual(await factors(), ['passkey'])
        await addApp()
        assert.equal(locationOf(await post(REMOVE, form)), `${PAGE}?done=removed`)
        assert.deepEqual(await factors(), ['totp'])
        assert.equal((await post(REMOVE, { factor: 'app' })).status, 422)
      })

      it('to none by concurrent removals if the zone requires one', async () => {
        await addPasskey()
        await addApp()
        await setPolicy(server, { requirement: 'groups', groups: ['cloud.read'] })
        const [passkey] = await passkeys()
        const answers = await Promise.all([
          post(REMOVE, { passkey: passkey?.id ?? '' }),
          post(REMOVE, { factor: 'app' }),
        ])
        assert.equal(answers.filter(({ status }) => status === 422).length, 1)
        assert.equal(answers.filter(({ status }) => status === 302).length, 1)
        assert.equal((await factors()).length, 1)
      })

      it('to none without a warning', async () => {
        await addPasskey()
        const [passkey] = await passkeys()
        assert.match((await browser.send(`${REMOVE}?passkey=${passkey?.id ?? ''}`)).text, /It is your last one/)
        const twice = await Promise.all([1, 2].map(() => post(REMOVE, { passkey: passkey?.id ?? '' })))
        assert.deepEqual(twice.map(locationOf).toSorted(), [`${PAGE}?done=removed`, `${PAGE}?error=unknown`])
        assert.equal(
          (await server.store.factors.codesLeft('svc', passkey?.userId ?? '', server.clock.now())).recovery,
          0,
        )
      })

      it('with methods that the policy does not allow', async () => {
        await setPolicy(server, { requirement: 'optional', methods: ['totp'] })
        assert.equal(locationOf(await browser.send(PASSKEY)), PAGE)
        assert.doesNotMatch((await browser.send('/profile/security')).text, /passkey/)
        await setPolicy(server, { requirement: 'optional', methods: ['passkey'] })
        assert.equal(locationOf(await browser.send('/profile/security/app')), PAGE)
        assert.equal(locationOf(await post('/profile/security/app', { secret: 'x', code: '1' })), PAGE)
      })
    })

    it('answer 404 if the policy is off or excludes the origin', async () => {
      for (const policy of [{ requirement: 'off' }, { requirement: 'optional', origins: ['ldap'] }] as const) {
        await setPolicy(server, policy)
        assert.doesNotMatch((await browser.send('/profile')).text, /profile\/security/)
        for (const path of ['', '/passkey', '/app', '/codes', '/rename', '/remove', '/offer']) {
          assert.equal((await browser.send(`/profile/security${path}`)).status, 404, path)
          if (path !== '') assert.equal((await post(`/profile/security${path}`, {})).status, 404, path)
        }
      }
    })

    it('require a session', async () => {
      for (const path of ['', '/passkey', '/app', '/codes', '/rename', '/remove', '/offer']) {
        assert.equal(locationOf(await server.browser().send(`/profile/security${path}`)), `${BASE}/login`, path)
      }
    })
  })
}
