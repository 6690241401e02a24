import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { APP_REQUEST, AUTO_REQUEST, authorize, authorizeBootstrap, signedIn } from '../support/authorize.ts'
import { hiddenFields, setCookies, unescaped } from '../support/forms.ts'
import { MODES, changeUser, userNamed } from '../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer, withServer } from '../support/server.ts'

const LOGIN = 'http://localhost:8080/login'
const zone_config = { accountChooserEnabled: true }

/** The cookie of an account. */
function cookieFor(account: Readonly<Record<string, unknown>>, id = String(account['userId'])): [string, string] {
  return [`Saved-Account-${id}`, encodeURIComponent(JSON.stringify(account))]
}

const account = (given: Readonly<Record<string, unknown>> = {}) => ({
  userId: 'u1',
  username: 'marissa',
  origin: 'svc',
  email: 'marissa@example.org',
  ...given,
})

/** The user names on the account chooser; undefined for any other page. */
const choices = (page: string): readonly string[] | undefined =>
  page.includes('<ul class="accounts">')
    ? [
        ...page.matchAll(
          /class="account" type="submit"><span class="initial"[^>]*>[^<]*<\/span><span(?:><bdi>| class="email-address">)([^<]*?)(?:<\/bdi>)?(?: <small>|<\/span>)/g,
        ),
      ].map(([, name = '']) => unescaped(name))
    : undefined

for (const mode of MODES) {
  describe(`Saved accounts in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap, zone_config } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const openWith = (cookies: Iterable<readonly [string, string]>, query = {}): Promise<TestAnswer> =>
      server.send('/login', { cookies: Object.fromEntries(cookies), query })

    // Covers POST /login.do: cookie: Saved-Account-<id>
    // Covers cookie Saved-Account-<id>: value; Max-Age
    it('are set as a cookie for /login at each sign-in, for a year', async () => {
      const browser = server.browser()
      const answer = await browser.signIn('marissa', 'koala')
      const { id: userId } = await userNamed(server, 'marissa')
      const value = { userId, username: 'marissa', origin: 'svc', email: 'marissa@example.org' }
      assert.equal(
        setCookies(answer)[`Saved-Account-${userId}`],
        `Saved-Account-${userId}=${encodeURIComponent(JSON.stringify(value))}; Max-Age=31536000; Path=/login; HttpOnly; SameSite=Lax`,
      )
    })

    it('are not set after a failed sign-in', async () => {
      const answer = await server.browser().signIn('marissa', 'wrong')
      assert.deepEqual(
        Object.keys(setCookies(answer)).filter(name => name.startsWith('Saved-')),
        [],
      )
    })

    it('are not set if too long for a cookie', async () => {
      const { userName } = await userNamed(server, 'joel')
      await changeUser(server, 'joel', { email: `${'x'.repeat(300)}@example.org` })
      const answer = await server.browser().signIn(userName, 'wombat')
      assert.equal(answer.headers['location'], 'http://localhost:8080/')
      assert.doesNotMatch(JSON.stringify(answer.headers), /Saved-Account/)
    })

    /** A browser with a saved account and no session. */
    async function returning(): Promise<Browser> {
      const browser = await signedIn(server)
      await browser.send('/logout.do', { form: { 'X-Svc-Csrf': browser.csrf } })
      return browser
    }

    // Covers page idp_discovery: account chooser page
    it('are offered at the next sign-in, fill in the user name and continue the request', async () => {
      const browser = await returning()
      await authorize(browser, APP_REQUEST)
      const page = await browser.send('/login')
      assert.deepEqual(choices(page.text), ['marissa'])
      assert.match(page.text, /to continue to <strong><bdi>The application<\/bdi>/)
      // UAA: always shows the origin; `standard` shows only the name of the provider.
      if (mode === 'uaa') assert.match(page.text, /<small>\(origin: <bdi>svc<\/bdi>\)<\/small>/)
      else assert.doesNotMatch(page.text, /<small>|\(origin/)
      assert.match(
        page.text,
        /<a class="remove" [^>]*><svg[^]*?<\/svg><span class="visually-hidden">Remove <bdi>marissa<\/bdi>/,
      )
      assert.match(
        page.text,
        /href="\/login\?otherAccountSignIn=true&amp;form_redirect_uri=[^"]+">Sign in to another account</,
      )
      const { id } = await userNamed(server, 'marissa')
      assert.ok(page.text.includes(`<form id="${id}" action="/login/idp_discovery" method="post"`))
      const fields = hiddenFields(page.text)
      assert.equal(fields['email'], 'marissa')
      assert.equal(fields['username'], 'marissa')
      assert.equal(fields['login_hint'], '%7B%22origin%22:%22svc%22%7D')
      assert.equal(fields['X-Svc-Csrf'], browser.csrf)
      const form = await browser.send('/login/idp_discovery', { form: fields })
      assert.equal(form.status, 200)
      assert.match(form.text, /name="username"[^>]* value="marissa"/)
      const signed = await browser.send('/login.do', {
        form: { ...hiddenFields(form.text), username: 'marissa', password: 'koala' },
      })
      assert.equal(signed.location().pathname, '/oauth/authorize')
    })

    it('continue the request of their own tab', async () => {
      const browser = await returning()
      await authorize(browser, APP_REQUEST)
      const { text } = await browser.send('/login')
      await authorize(browser, AUTO_REQUEST)
      const link = (path: string): string => unescaped(new RegExp(`href="(/${path}[^"]*)"`).exec(text)?.[1] ?? '')
      const { id } = await userNamed(server, 'marissa')
      const removed = await browser.send(link(`delete_saved_account\\?userId=${id}`))
      assert.equal(setCookies(removed)[`Saved-Account-${id}`]?.includes('Max-Age=0'), true)
      const { pathname, search } = removed.location()
      for (const path of [link('login\\?otherAccountSignIn=true'), pathname + search]) {
        const fields = hiddenFields((await browser.send(path)).text)
        assert.match(fields['form_redirect_uri'] ?? '', /client_id=app&/, path)
      }
      const wanted = hiddenFields((await browser.send('/login')).text)
      assert.match(wanted['form_redirect_uri'] ?? '', /client_id=auto&/, 'the other tab')
    })

    it('continue a long request without repeating it in links', async () => {
      const browser = await returning()
      await authorize(browser, { ...APP_REQUEST, state: 's'.repeat(3000) })
      const { text } = await browser.send('/login')
      assert.match(text, /href="\/login\?otherAccountSignIn=true">/)
      const fields = hiddenFields((await browser.send('/login?otherAccountSignIn=true')).text)
      assert.match(fields['form_redirect_uri'] ?? '', /client_id=app&/)
    })

    const others = ['otherAccountSignIn', 'discoveryPerformed']
    for (const name of others) {
      it(`are not offered with ${name}=true`, async () => {
        assert.equal(choices((await openWith([cookieFor(account())], { [name]: 'true' })).text), undefined)
        assert.deepEqual(choices((await openWith([cookieFor(account())], { [name]: 'false' })).text), ['marissa'])
      })
    }

    it('are not offered if their provider was deleted', async () => {
      const page = await openWith([cookieFor(account({ origin: 'nowhere' })), cookieFor(account({ userId: 'u2' }))])
      assert.deepEqual(choices(page.text), ['marissa'])
      assert.equal(hiddenFields(page.text)['login_hint'], '%7B%22origin%22:%22svc%22%7D')
    })

    it('are offered by email address for external accounts', () => {
      const oidc = {
        id: 'i-oidc',
        zoneId: 'svc',
        originKey: 'partner',
        type: 'oidc1.0',
        name: 'Partner',
        active: true,
        config: {},
        version: 0,
        createdAt: server.clock.now(),
        updatedAt: server.clock.now(),
      }
      return withServer({ mode, config: { bootstrap: authorizeBootstrap, zone_config } }, async own => {
        await own.store.providers.insert('svc', oidc)
        const [name, value] = cookieFor(account({ origin: 'partner' }))
        const page = (await own.send('/login', { cookies: { [name]: value } })).text
        assert.deepEqual(choices(page), ['marissa'])
        assert.ok(page.includes(mode === 'uaa' ? '(origin: <bdi>partner</bdi>)' : 'with <bdi>Partner</bdi>'))
        assert.equal(hiddenFields(page)['email'], 'marissa@example.org')
        assert.equal(hiddenFields(page)['login_hint'], '%7B%22origin%22:%22partner%22%7D')
      })
    })

    it('sign in at their own provider, also if their address is in the domain of another', () => {
      const identity_providers = [
        {
          originKey: 'corp',
          type: 'oidc1.0',
          name: 'Corp',
          config: {
            authUrl: 'https://corp.example/authorize',
            tokenUrl: 'https://corp.example/token',
            tokenKeyUrl: 'https://corp.example/keys',
            relyingPartyId: 'me',
            linkText: 'Corp',
            emailDomain: ['example.org'],
          },
        },
      ]
      const config = { bootstrap: { ...authorizeBootstrap, identity_providers }, zone_config }
      return withServer({ mode, config }, async own => {
        const browser = own.browser()
        browser.cookies.set(...cookieFor(account({ username: 'marissa@example.org' })))
        const form = hiddenFields((await browser.send('/login')).text)
        const led = await browser.send('/login/idp_discovery', { form })
        assert.equal(led.status, 302)
        const page = await browser.send(led.location().pathname + led.location().search)
        assert.match(page.text, /name="username"[^>]* value="marissa@example\.org"/)
        assert.equal(hiddenFields(page.text)['login_hint'], '%7B%22origin%22:%22svc%22%7D')
      })
    })

    const invalid: readonly { name: string; cookie: readonly [string, string] }[] = [
      { name: 'a value that is not JSON', cookie: ['Saved-Account-u1', 'x'] },
      { name: 'an empty value', cookie: ['Saved-Account-u1', ''] },
      { name: 'null', cookie: ['Saved-Account-u1', 'null'] },
      { name: 'an array', cookie: ['Saved-Account-u1', encodeURIComponent('["u1"]')] },
      { name: 'an incomplete percent-encoding', cookie: ['Saved-Account-u1', '%7B%2'] },
      { name: 'the account of another cookie', cookie: cookieFor(account(), 'u2') },
      { name: 'no account id', cookie: cookieFor(account({ userId: undefined }), 'u1') },
      { name: 'an id not allowed in a cookie name', cookie: cookieFor(account({ userId: 'u.1$' })) },
      { name: 'an empty id', cookie: cookieFor(account({ userId: '' })) },
      { name: 'no user name', cookie: cookieFor(account({ username: undefined })) },
      { name: 'an empty user name', cookie: cookieFor(account({ username: ' ' })) },
      { name: 'a user name of another type', cookie: cookieFor(account({ username: ['marissa'] })) },
      { name: 'a user name with a line break', cookie: cookieFor(account({ username: 'a\r\nb' })) },
      { name: 'no origin', cookie: cookieFor(account({ origin: null })) },
      { name: 'an origin of another zone', cookie: cookieFor(account({ origin: 'z1-partner' })) },
      { name: 'no address', cookie: cookieFor(account({ email: 5 })) },
      { name: 'a user name that is too long', cookie: cookieFor(account({ username: 'x'.repeat(256) })) },
      { name: 'a value that is too long', cookie: cookieFor(account({ more: 'x'.repeat(900) })) },
      {
        name: 'a __proto__ member',
        cookie: [
          'Saved-Account-u1',
          encodeURIComponent('{"__proto__":{"userId":"u1","username":"a","origin":"svc","email":"b"}}'),
        ],
      },
    ]
    for (const { name, cookie } of invalid) {
      it(`are ignored if the cookie has ${name}`, async () => {
        const alone = await openWith([cookie])
        assert.equal(alone.status, 200)
        assert.equal(choices(alone.text), undefined)
        const good = account({ userId: 'good' })
        assert.deepEqual(choices((await openWith([cookie, cookieFor(good)])).text), ['marissa'])
      })
    }

    it('are deleted from the browser if invalid', async () => {
      const answer = await openWith([['Saved-Account-u1', 'x']])
      assert.equal(
        setCookies(answer)['Saved-Account-u1'],
        'Saved-Account-u1=; Max-Age=0; Path=/login; HttpOnly; SameSite=Lax',
      )
    })

    it('are escaped', async () => {
      const username = '"><script>alert(1)</script>\u202e'
      const page = (await openWith([cookieFor(account({ username, email: username }))])).text
      assert.deepEqual(choices(page), ['"><script>alert(1)</script>'])
      assert.doesNotMatch(page, /<script(?! src="[^"]*\/latchkey\.js)/)
    })

    it('are limited to the newest ten; the others are deleted', async () => {
      const many = Array.from({ length: 25 }, (_, each) =>
        cookieFor(account({ userId: `u${each}`, username: `name${each}` })),
      )
      const answer = await openWith(many)
      assert.deepEqual(
        choices(answer.text),
        Array.from({ length: 10 }, (_, each) => `name${24 - each}`),
      )
      const forgotten = Object.keys(setCookies(answer)).filter(name => name.startsWith('Saved-Account-'))
      assert.deepEqual(
        forgotten.toSorted(),
        Array.from({ length: 15 }, (_, each) => `Saved-Account-u${each}`).toSorted(),
      )
    })

    it('are expired at most twenty per response, the oldest first', async () => {
      const planted = Array.from({ length: 300 }, (_, each) => [`Saved-Account-p${each}`, 'x'] as const)
      const answer = await openWith([...planted, cookieFor(account())])
      assert.deepEqual(choices(answer.text), ['marissa'])
      const expired = Object.keys(setCookies(answer)).filter(name => name.startsWith('Saved-Account-'))
      assert.deepEqual(
        expired.toSorted(),
        planted
          .slice(0, 20)
          .map(([name]) => name)
          .toSorted(),
      )
    })

    describe('/delete_saved_account', () => {
      // Covers any /delete_saved_account: userId
      it('deletes one account and redirects to the sign-in page', async () => {
        const browser = await returning()
        const { id } = await userNamed(server, 'marissa')
        for (const request of [{ query: { userId: id } }, { form: { userId: id } }]) {
          const answer = await browser.send('/delete_saved_account', request)
          assert.equal(answer.status, 302)
          assert.equal(answer.headers['location'], LOGIN)
          assert.deepEqual(setCookies(answer), {
            [`Saved-Account-${id}`]: `Saved-Account-${id}=; Max-Age=0; Path=/login; HttpOnly; SameSite=Lax`,
          })
        }
        assert.equal(choices((await browser.send('/login')).text), undefined)
      })

      for (const userId of [undefined, '', 'a b', 'a;b=c', '\r\nX: y', 'ü', 'x'.repeat(65), '../x']) {
        it(`deletes nothing for ${JSON.stringify(userId)?.slice(0, 20)}`, async () => {
          const answer = await server.send('/delete_saved_account', userId === undefined ? {} : { query: { userId } })
          assert.equal(answer.status, 302)
          assert.equal(answer.headers['location'], LOGIN)
          assert.deepEqual(setCookies(answer), {})
        })
      }

      for (const form_redirect_uri of [
        'https://evil.example/',
        '//evil.example/',
        'http://localhost:8080@evil.example/',
        '/home',
      ]) {
        it(`ignores form_redirect_uri=${form_redirect_uri}`, async () => {
          const answer = await server.send('/delete_saved_account', { query: { userId: 'u1', form_redirect_uri } })
          assert.equal(answer.headers['location'], LOGIN)
        })
      }

      it('ends no session', async () => {
        const browser = await signedIn(server)
        const { id } = await userNamed(server, 'marissa')
        await browser.send('/delete_saved_account', { query: { userId: id } })
        assert.equal((await browser.send('/home')).status, 200)
      })
    })
  })
}

describe('Saved accounts if disabled', () => {
  for (const config of [{}, { accountChooserEnabled: false }]) {
    // Covers Zone config in effect: accountChooserEnabled
    it(`are neither set nor offered: ${JSON.stringify(config)}`, () =>
      withServer({ config: { bootstrap: authorizeBootstrap, zone_config: config } }, async server => {
        const answer = await server.browser().signIn('marissa', 'koala')
        assert.doesNotMatch(JSON.stringify(answer.headers), /Saved-Account/)
        const [name, value] = cookieFor(account())
        const page = await server.send('/login', { cookies: { [name]: value } })
        assert.equal(choices(page.text), undefined)
        assert.match(page.text, /name="password"/)
      }))
  }
})

describe('Cookies of saved accounts', () => {
  const cases = [
    { base_url: 'https://id.example', want: 'Path=/login; HttpOnly; Secure; SameSite=Lax' },
    { base_url: 'https://id.example/auth', want: 'Path=/auth/login; HttpOnly; Secure; SameSite=Lax' },
  ]
  for (const { base_url, want } of cases) {
    // Covers cookie Saved-Account-<id>: Path; HttpOnly; Secure
    it(`have their path and flags at ${base_url}`, () =>
      withServer({ config: { bootstrap: authorizeBootstrap, zone_config, base_url } }, async server => {
        const path = new URL(base_url).pathname.replace(/\/$/, '')
        const browser = server.browser()
        const fields = hiddenFields((await browser.send(`${path}/login`)).text)
        const answer = await browser.send(`${path}/login.do`, {
          form: { ...fields, username: 'marissa', password: 'koala' },
        })
        const { id } = await userNamed(server, 'marissa')
        assert.ok(setCookies(answer)[`Saved-Account-${id}`]?.endsWith(`; Max-Age=31536000; ${want}`))
        const removed = await browser.send(`${path}/delete_saved_account`, { query: { userId: id } })
        assert.equal(setCookies(removed)[`Saved-Account-${id}`], `Saved-Account-${id}=; Max-Age=0; ${want}`)
        assert.equal(removed.headers['location'], `${base_url}/login`)
      }))
  }
})
