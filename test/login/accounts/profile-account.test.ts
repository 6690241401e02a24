// The own account on /profile: names, language and recent events.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { authorizeBootstrap, signedIn } from '../../support/authorize.ts'
import { unescaped } from '../../support/forms.ts'
import { APP, MODES, changeUser, userNamed } from '../../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const PAGE = 'http://localhost:8080/profile'
const SAVED = `${PAGE}?success_message_code=details.saved`
const INVALID = `${PAGE}?error_message_code=details.invalid`
const REFUSED = `${PAGE}?error_message_code=details.refused`

const post = (
  browser: Browser,
  form: Readonly<Record<string, string>>,
  path = '/profile/details',
): Promise<TestAnswer> => browser.send(path, { form: { 'X-Svc-Csrf': browser.csrf, ...form } })

/** The text fields of the form, by name. */
const fields = (page: string): Record<string, string> =>
  Object.fromEntries(
    [...page.matchAll(/<input id="(\w+)" type="text" name="\1" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
      name,
      unescaped(value),
    ]),
  )

/** The events on the page, each as its type and the details below it. */
const eventsOn = (page: string): readonly string[] =>
  [...page.matchAll(/<li class="([\w-]+)"><div><strong>[^<]+<\/strong>\s<p>(.*?)<\/p>/g)].map(
    ([, type = '', facts = '']) => `${type}: ${facts.replace(/<[^>]+>/g, '')}`,
  )

for (const mode of MODES) {
  describe(`Details on /profile in ${mode}`, () => {
    let server: TestServer
    let browser: Browser
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
      browser = await signedIn(server)
      await browser.send('/profile')
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    // Covers POST /profile/details: name; rule: audit trail
    it('can be changed, with a new version and an audit event', async () => {
      const page = (await browser.send('/profile')).text
      assert.deepEqual(fields(page), { givenName: 'Marissa', familyName: 'Bloggs', displayName: '' })
      assert.match(page, mode === 'uaa' ? /<h2 id="details">Profile<\/h2>/ : /<h2 id="details">Your details<\/h2>/)
      assert.match(page, mode === 'uaa' ? /\*{8}<\/dd>/ : /\*{8}<small>Set /, 'it was never changed')
      const { version, updatedAt } = await userNamed(server, 'marissa')
      server.clock.advance(60)
      const names = { givenName: ' Zoë ', familyName: "O'Neil & Söhne", displayName: 'Zo\u0065\u0308' }
      assert.equal((await post(browser, names)).headers['location'], SAVED)
      const changed = await userNamed(server, 'marissa')
      assert.equal(changed.givenName, 'Zoë')
      assert.equal(changed.familyName, "O'Neil & Söhne")
      assert.equal(changed.profile?.displayName, 'Zoë')
      assert.equal(changed.version, version + 1)
      assert.ok(changed.updatedAt > updatedAt)
      const event = server.events.findLast(({ type }) => type === 'UserModifiedEvent')
      assert.equal(event?.principal, changed.id)
      assert.equal(event.byOther, undefined)
      const saved = (await browser.send('/profile?success_message_code=details.saved')).text
      assert.match(saved, /Your details are saved\./)
      assert.deepEqual(fields(saved), { givenName: 'Zoë', familyName: "O'Neil & Söhne", displayName: 'Zoë' })
    })

    it('keep the version without a change, and ignore other fields', async () => {
      const { version } = await userNamed(server, 'marissa')
      const same = fields((await browser.send('/profile')).text)
      for (const form of [same, {}, { userName: 'root', email: 'x@example.org', active: 'false', origin: 'ldap' }]) {
        assert.equal((await post(browser, form)).headers['location'], SAVED)
      }
      const { email, active, origin, version: now } = await userNamed(server, 'marissa')
      assert.deepEqual(
        { email, active, origin, now },
        { email: 'marissa@example.org', active: true, origin: 'svc', now: version },
      )
    })

    it('remove an empty name, and update name.formatted', async () => {
      const { profile } = await userNamed(server, 'marissa')
      await changeUser(server, 'marissa', {
        profile: { ...profile, name: { formatted: 'Dr Zoë O’Neil', middleName: 'M' } },
      })
      await post(browser, { givenName: 'Ann', familyName: '', displayName: '' })
      const user = await userNamed(server, 'marissa')
      assert.equal(user.givenName, 'Ann')
      assert.equal(user.familyName, undefined)
      assert.deepEqual(user.profile, { name: { formatted: 'Ann', middleName: 'M' } })
    })

    const unusable: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
      ['a name of 256 characters', { givenName: 'x'.repeat(256) }],
      ['a line break', { displayName: 'Ann\nRoot' }],
      ['a bidirectional control character', { familyName: 'gnp\u202e.exe' }],
      ['an unsupported language', { language: 'xx' }],
      ['a language named __proto__', { language: '__proto__' }],
    ]
    for (const [name, form] of unusable) {
      it(`refuse ${name}`, async () => {
        const { version } = await userNamed(server, 'marissa')
        assert.equal((await post(browser, form)).headers['location'], INVALID)
        assert.equal((await userNamed(server, 'marissa')).version, version)
      })
    }

    // Covers POST /profile/details: error: form of another site
    it('require the anti-forgery token and a session', async () => {
      const { version } = await userNamed(server, 'marissa')
      const forged = await browser.send('/profile/details', {
        form: { givenName: 'Eve', 'X-Svc-Csrf': 'x'.repeat(22) },
      })
      assert.equal(forged.status, 403)
      const stranger = await server.send('/profile/details', { form: { givenName: 'Eve' } })
      assert.notEqual(stranger.headers['location'], SAVED)
      assert.equal((await userNamed(server, 'marissa')).version, version)
    })

    it('keep both of two concurrent changes', async () => {
      const answers = await Promise.all([post(browser, { givenName: 'Both' }), post(browser, { displayName: 'Kept' })])
      assert.deepEqual(
        answers.map(({ headers }) => headers['location']),
        [SAVED, SAVED],
      )
      const user = await userNamed(server, 'marissa')
      assert.deepEqual([user.givenName, user.profile?.displayName], ['Both', 'Kept'])
    })

    it('set the language of the pages and of `locale`, and reset both', async () => {
      const inJapanese = { headers: { 'accept-language': 'ja' } }
      const heading = async (path = '/home') => (await browser.send(path, inJapanese)).headers['content-language']
      const own = mode === 'standard' ? ['ja', 'de', 'fr'] : ['en', 'en', 'en']
      assert.equal(await heading(), own[0])
      await post(browser, { language: 'de' })
      assert.equal((await userNamed(server, 'marissa')).profile?.locale, 'de')
      assert.equal(await heading(), own[1])
      if (mode === 'standard') {
        const page = (await browser.send('/profile', inJapanese)).text
        assert.match(page, /<option value="de" lang="de" selected>Deutsch<\/option>/)
        assert.equal(await heading('/home?ui_locales=fr'), 'fr', 'ui_locales takes precedence')
      }
      const { profile } = await userNamed(server, 'marissa')
      await changeUser(server, 'marissa', { profile: { ...profile, locale: 'fr-CH' } })
      await post(browser, { language: 'fr' })
      assert.equal((await userNamed(server, 'marissa')).profile?.locale, 'fr-CH')
      assert.equal(await heading(), own[2])
      await post(browser, { language: 'browser' })
      const after = (await userNamed(server, 'marissa')).profile
      assert.deepEqual([after?.preferredLanguage, after?.locale], [undefined, undefined])
      assert.equal(await heading(), own[0])
    })

    it('are read-only if internal user management is disabled', async () => {
      const provider = await server.store.providers.findByOrigin('svc', 'svc')
      assert.ok(provider)
      const config = { ...provider.config, disableInternalUserManagement: true }
      await server.store.providers.update('svc', { ...provider, config })
      const page = (await browser.send('/profile')).text
      assert.deepEqual(fields(page), {})
      assert.match(page, /managed by your administrator/)
      for (const form of [{ givenName: 'Eve' }, { language: 'de' }]) {
        assert.equal((await post(browser, form)).headers['location'], REFUSED)
      }
      assert.equal((await userNamed(server, 'marissa')).givenName, 'Both')
      await server.store.providers.update('svc', provider)
    })

    it('are read-only for external users, except for the language', async () => {
      const sam = await signedIn(server, 'sam', 'dingo')
      const { id } = await userNamed(server, 'sam')
      const provider = await server.store.providers.findByOrigin('svc', 'svc')
      assert.ok(provider)
      await server.store.providers.insert('svc', {
        ...provider,
        id: 'corp',
        originKey: 'corp',
        type: 'oidc1.0',
        name: 'The <Corp>',
      })
      const user = await server.store.users.find('svc', id)
      assert.ok(user)
      await server.store.users.update('svc', { ...user, origin: 'corp', externalId: 'sub-"1"', givenName: 'Sam' })
      const page = (await sam.send('/profile')).text
      assert.deepEqual(fields(page), {})
      assert.match(page, /Your name and address come from <bdi>The &lt;Corp&gt;<\/bdi>/)
      assert.match(page, /<dd><bdi>Sam<\/bdi><\/dd>/)
      assert.match(page, /<dd><bdi>corp<\/bdi><\/dd>/)
      assert.match(page, /<dd><bdi>sub-&quot;1&quot;<\/bdi><\/dd>/)
      assert.doesNotMatch(page, /change_(email|password)/)
      assert.equal((await post(sam, { givenName: 'Eve' })).headers['location'], REFUSED)
      assert.equal((await post(sam, { givenName: 'Eve', language: 'de' })).headers['location'], REFUSED)
      assert.equal((await post(sam, { language: 'de' })).headers['location'], SAVED)
      const after = await server.store.users.find('svc', id)
      assert.deepEqual([after?.givenName, after?.profile?.preferredLanguage], ['Sam', 'de'])
    })
  })

  describe(`Recent events on /profile in ${mode}`, () => {
    let server: TestServer
    let browser: Browser
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
      browser = await signedIn(server)
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })
    const events = async (of = browser) => eventsOn((await of.send('/profile')).text)

    it('list sign-ins, failures and changes, newest first, with device, address and application', async () => {
      assert.deepEqual(await events(), ['signed-in: Unknown browser, from 127.0.0.1'])
      const firefox = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' }
      server.clock.advance(1)
      const form = { grant_type: 'password', username: 'marissa', password: 'wrong' }
      await server.token(form, { basic: APP, headers: firefox })
      server.clock.advance(1)
      await server.token({ ...form, password: 'koala' }, { basic: APP, headers: firefox })
      server.clock.advance(1)
      await post(browser, { givenName: 'Ann' })
      server.clock.advance(1)
      await signedIn(server)
      await post(browser, { others: 'true' }, '/profile/sessions')
      assert.deepEqual(await events(), [
        'sessions-ended: Unknown browser, from 127.0.0.1',
        'signed-in: Unknown browser, from 127.0.0.1',
        'details-changed: Unknown browser, from 127.0.0.1',
        'signed-in: The application, Firefox on Linux, from 127.0.0.1',
        'sign-in-failed: Firefox on Linux, from 127.0.0.1',
        'signed-in: Unknown browser, from 127.0.0.1',
      ])
    })

    it('list only events of the user', async () => {
      const joel = await signedIn(server, 'joel', 'wombat')
      assert.deepEqual(await events(joel), ['signed-in: Unknown browser, from 127.0.0.1'])
    })

    it('list at most ten failed sign-ins, and the events before them', async () => {
      for (let each = 0; each < 40; each += 1) {
        await server.token({ grant_type: 'password', username: 'joel', password: 'wrong' }, { basic: APP })
        server.clock.advance(400)
      }
      const fresh = await signedIn(server, 'joel', 'wombat')
      const types = (await events(fresh)).map(each => each.split(':')[0])
      assert.equal(types.filter(type => type === 'sign-in-failed').length, 10)
      assert.equal(types.filter(type => type === 'signed-in').length, 2)
    })

    it('show the client address from X-Forwarded-For only behind a trusted proxy', async () => {
      for (const [trusted, want] of [
        [['127.0.0.1'], '2001:db8::7'],
        [[], '127.0.0.1'],
      ] as const) {
        const config = { bootstrap: authorizeBootstrap, listen: { trusted_proxies: trusted } }
        const behind = await startServer({ mode, config })
        try {
          const visitor = behind.browser()
          await visitor.send('/login')
          const form = { username: 'marissa', password: 'koala', 'X-Svc-Csrf': visitor.csrf }
          await visitor.send('/login.do', { form, headers: { 'x-forwarded-for': '2001:0DB8:0::7' } })
          const page = (await visitor.send('/profile')).text
          assert.deepEqual(eventsOn(page), [`signed-in: Unknown browser, from ${want}`])
          assert.match(page, new RegExp(`last seen .*, from <bdi>${want}</bdi></p>`))
        } finally {
          await behind.stop()
        }
      }
    })
  })
}
