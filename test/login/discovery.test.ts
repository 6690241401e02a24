import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { ZoneConfig } from '../../src/model/zones/zone.ts'
import { AUTO_REQUEST, authorize, authorizeBootstrap } from '../support/authorize.ts'
import { hiddenFields, setCookies, unescaped } from '../support/forms.ts'
import { MODES } from '../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const oidc = (originKey: string, emailDomain: readonly string[]) => ({
  originKey,
  type: 'oidc1.0',
  name: originKey,
  config: {
    authUrl: `https://${originKey}.example/authorize`,
    tokenUrl: `https://${originKey}.example/token`,
    tokenKeyUrl: `https://${originKey}.example/keys`,
    relyingPartyId: 'me',
    linkText: originKey,
    emailDomain,
    userPropagationParameter: 'login_hint',
  },
})

const bootstrap = {
  ...authorizeBootstrap,
  clients: authorizeBootstrap.clients.map(client =>
    client.client_id === 'staff' ? { ...client, allowedproviders: ['svc'], name: 'Staff' } : client,
  ),
  identity_providers: [
    { originKey: 'svc', type: 'svc', name: 'svc', config: { emailDomain: ['here.example'] } },
    oidc('corp', ['corp.example', '*.corp.example', 'both.example']),
    oidc('bank', ['bank.example', 'both.example']),
    { ...oidc('off', ['off.example']), active: false },
  ],
}
const STAFF = { ...AUTO_REQUEST, client_id: 'staff', redirect_uri: 'https://staff.example/cb' }

for (const mode of MODES) {
  describe(`Provider discovery in ${mode}`, () => {
    const STAFF_NAME = mode === 'uaa' ? 'Staff' : '<bdi>Staff</bdi>'
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: { bootstrap } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    /** Replaces the discovery settings of the zone. */
    async function configure(config: ZoneConfig): Promise<void> {
      const zone = await server.store.zones.find('svc')
      assert.ok(zone)
      const { idpDiscoveryEnabled: _, accountChooserEnabled: __, defaultIdentityProvider: ___, ...rest } = zone.config
      await server.store.zones.update({ ...zone, config: { ...rest, ...config } })
    }

    /** Opens the sign-in page for its anti-forgery value, and posts a form. */
    async function post(
      path: string,
      form: Readonly<Record<string, string>>,
      browser: Browser = server.browser(),
    ): Promise<TestAnswer> {
      await browser.send('/login')
      return browser.send(path, { form: { 'X-Svc-Csrf': browser.csrf, ...form } })
    }
    const discover = (form: Readonly<Record<string, string>>, browser?: Browser): Promise<TestAnswer> =>
      post('/login/idp_discovery', form, browser)

    const login = (query: Readonly<Record<string, string>> = {}): Promise<TestAnswer> =>
      server.send('/login', { query })

    describe('GET /login', () => {
      before(() => configure({ idpDiscoveryEnabled: true }))

      // Covers page idp_discovery: email page
      // Covers Zone config in effect: idpDiscoveryEnabled
      it('asks for the email address first', async () => {
        const { status, text } = await login()
        assert.equal(status, 200)
        assert.match(text, /<form action="\/login\/idp_discovery" method="post"/)
        // UAA's; in standard the label says it.
        const placeholder = mode === 'uaa' ? ' placeholder="Email or Username"' : ''
        assert.match(text, new RegExp(`<input id="email" type="text" name="email"${placeholder} autocomplete`))
        assert.match(text, /<input class="button" type="submit" name="commit" value="Next">/)
        assert.match(text, /<h1>Sign in to continue<\/h1>/)
        assert.doesNotMatch(text, /login\.do|saml-login-link|type="password"/)
      })

      it('shows the name of the application, and the address from the query', async () => {
        const browser = server.browser()
        await authorize(browser, STAFF)
        const { text } = await browser.send('/login', { query: { email: 'pat@corp.example' } })
        assert.ok(text.includes(`<h1>Sign in to continue to ${STAFF_NAME}</h1>`), text)
        assert.match(text, /name="email" value="pat@corp\.example"/)
        assert.match(hiddenFields(text)['form_redirect_uri'] ?? '', /^http:\/\/localhost:8080\/oauth\/authorize\?/)
      })

      // Covers GET /login: discoveryPerformed; email
      it('shows the password form with the address after discovery', async () => {
        const { text } = await login({ discoveryPerformed: 'true', email: 'pat@nowhere.example' })
        assert.match(text, /login\.do/)
        assert.match(text, /name="username" value="pat@nowhere\.example"/)
        assert.equal(text.match(/saml-login-link/g)?.length, 2)
      })

      it('prefers the user name to the address', async () => {
        const { text } = await login({ discoveryPerformed: 'true', email: 'pat@nowhere.example', username: 'pat' })
        assert.match(text, /name="username" value="pat"/)
      })

      it('shows the password form with an error', async () => {
        const { text } = await login({ error: 'login_failure' })
        assert.match(text, /login\.do/)
        assert.match(text, /class="alert/)
      })

      it('accepts only discoveryPerformed=true', async () => {
        for (const discoveryPerformed of ['', 'false', 'TRUE', '1']) {
          assert.match((await login({ discoveryPerformed })).text, /idp_discovery/)
        }
      })

      // Covers provider selection GET /login: default provider
      it('redirects to the default provider after discovery', async () => {
        await configure({ idpDiscoveryEnabled: true, defaultIdentityProvider: 'bank' })
        assert.match((await login()).text, /idp_discovery/)
        const { host } = (await login({ discoveryPerformed: 'true' })).location()
        assert.equal(host, 'bank.example')
        // A program that only looks whether the page is there starts no sign-in, which is a row in the database.
        const looked = await server.send('/login', { method: 'HEAD', query: { discoveryPerformed: 'true' } })
        assert.deepEqual([looked.status, setCookies(looked)], [200, {}])
        await configure({ idpDiscoveryEnabled: true })
      })
    })

    describe('POST /login/idp_discovery', () => {
      before(() => configure({ idpDiscoveryEnabled: true }))

      // Covers POST /login/idp_discovery: answer: password page
      // Covers page idp_discovery: password page
      it('asks for the password of an internal account', async () => {
        const browser = server.browser()
        const { status, text } = await discover({ email: 'marissa@here.example' }, browser)
        assert.equal(status, 200)
        assert.match(text, /<form action="\/login\.do" method="post"/)
        assert.match(text, /<input id="username" type="text" name="username" value="marissa@here\.example"/)
        assert.match(text, /<input id="password" type="password" name="password"/)
        assert.match(text, /<input class="button" type="submit" name="commit" value="Sign in">/)
        assert.match(text, /<a class="button plain" href="\/login">Back<\/a>/)
        const fields = hiddenFields(text)
        assert.equal(fields['login_hint'], '{"origin":"svc"}')
        const signedIn = await browser.send('/login.do', {
          form: { ...fields, username: 'marissa', password: 'koala' },
        })
        assert.equal(signedIn.headers['location'], 'http://localhost:8080/')
      })

      const upstreams = [
        { email: 'pat@corp.example', host: 'corp.example', name: 'pat@corp.example' },
        { email: ' pat@EU.corp.example ', host: 'corp.example', name: 'pat@EU.corp.example' },
        { email: 'pat@bank.example', username: 'pat', host: 'bank.example', name: 'pat' },
      ]
      for (const { email, username, host, name } of upstreams) {
        // Covers POST /login/idp_discovery: email; answer: redirect upstream
        // Partly covers identity provider common config: emailDomain
        // Partly covers config of type uaa: emailDomain
        it(`redirects to the provider of ${email.trim()} with login_hint ${name}`, async () => {
          const answer = await discover({ email, ...(username && { username }) })
          assert.equal(answer.status, 302)
          assert.equal(answer.location().host, host)
          assert.equal(answer.location().searchParams.get('login_hint'), name)
        })
      }

      const returns: readonly { name: string; form: Readonly<Record<string, string>>; query: string }[] = [
        { name: 'an address of several providers', form: { email: 'a@both.example' }, query: 'email=a%40both.example' },
        { name: 'an address of no provider', form: { email: 'a@x.example' }, query: 'email=a%40x.example' },
        {
          name: 'an address of an inactive provider',
          form: { email: 'a@off.example' },
          query: 'email=a%40off.example',
        },
        { name: 'a name without a domain', form: { email: 'marissa' }, query: 'email=marissa' },
        // Covers POST /login/idp_discovery: username; login_hint
        {
          name: 'all parameters',
          form: { email: 'a@x.example', username: 'a&b', login_hint: '{"origin":"corp"}' },
          query: 'email=a%40x.example&username=a%26b&login_hint=%7B%22origin%22%3A%22corp%22%7D',
        },
        // Covers POST /login/idp_discovery: skipDiscovery
        {
          name: 'an external address with skipDiscovery',
          form: { email: 'a@corp.example', skipDiscovery: 'true' },
          query: 'email=a%40corp.example',
        },
        {
          name: 'an internal address with skipDiscovery',
          form: { email: 'a@here.example', skipDiscovery: '1' },
          query: 'email=a%40here.example',
        },
      ]
      for (const { name, form, query } of returns) {
        // Covers POST /login/idp_discovery: answer: back to the login page
        it(`redirects to /login with ${name}`, async () => {
          const answer = await discover(form)
          assert.equal(answer.status, 302)
          assert.equal(answer.headers['location'], `http://localhost:8080/login?discoveryPerformed=true&${query}`)
        })
      }

      it('considers only providers that the client allows', async () => {
        const browser = server.browser()
        await authorize(browser, STAFF)
        const barred = await discover({ email: 'pat@corp.example' }, browser)
        assert.equal(
          barred.headers['location'],
          'http://localhost:8080/login?discoveryPerformed=true&email=pat%40corp.example',
        )
        const { text } = await discover({ email: 'marissa' }, browser)
        assert.match(text, /id="password"/)
        assert.ok(text.includes(`Sign in to continue to ${STAFF_NAME}`))
      })

      it('keeps form_redirect_uri if it is on this server', async () => {
        const browser = server.browser()
        const place = 'http://localhost:8080/home?x=1'
        await discover({ email: 'a@x.example', form_redirect_uri: place }, browser)
        assert.equal(hiddenFields((await browser.send('/login')).text)['form_redirect_uri'], place)
        const evil = server.browser()
        await discover({ email: 'a@x.example', form_redirect_uri: 'https://evil.example/' }, evil)
        assert.equal(hiddenFields((await evil.send('/login')).text)['form_redirect_uri'], undefined)
      })

      it('returns to the target of its own tab after requests of other tabs', async () => {
        await configure({ idpDiscoveryEnabled: true })
        const browser = server.browser()
        await authorize(browser, STAFF)
        const fields = hiddenFields((await browser.send('/login')).text)
        const { text } = await browser.send('/login/idp_discovery', { form: { ...fields, email: 'a@here.example' } })
        await authorize(browser, AUTO_REQUEST)
        const back = unescaped(/<a class="button plain" href="([^"]+)">Back</.exec(text)?.[1] ?? '')
        assert.ok((await browser.send(back)).text.includes(`Sign in to continue to ${STAFF_NAME}`))
        assert.doesNotMatch((await browser.send('/login')).text, /Staff/)
      })

      const refusals: readonly { name: string; form: Readonly<Record<string, string>> }[] = [
        { name: 'no address', form: {} },
        { name: 'an address that is too long', form: { email: `${'a'.repeat(300)}@corp.example` } },
        { name: 'a user name that is too long', form: { email: 'a', username: 'a'.repeat(256) } },
        { name: 'a login_hint that is too long', form: { email: 'a', login_hint: 'a'.repeat(256) } },
      ]
      for (const { name, form } of refusals) {
        it(`refuses ${name}`, async () => {
          const answer = await discover(form)
          assert.equal(answer.status, 400)
          assert.match(String(answer.headers['content-type']), /^text\/html/)
        })
      }

      it('escapes the address', async () => {
        const { text } = await discover({ email: '"><script>@here.example' })
        assert.match(text, /value="&quot;&gt;&lt;script&gt;@here\.example"/)
      })
    })

    describe('POST /origin-chooser', () => {
      before(() => configure({ accountChooserEnabled: true }))

      // Covers GET /login: otherAccountSignIn
      it('is offered if the account chooser is enabled and no account is saved', async () => {
        for (const query of [{}, { otherAccountSignIn: 'true' }]) {
          const { text } = await login(query)
          assert.equal(text.match(/<form action="\/origin-chooser" method="post"/g)?.length, 1)
          assert.match(text, /<input id="login_hint" type="text" name="login_hint"/)
          assert.match(text, /value="Sign in with alternative identity provider"/)
          assert.doesNotMatch(text, /default identity provider/)
        }
      })

      // Covers page idp_discovery: origin page
      it('offers the default provider', async () => {
        await configure({ accountChooserEnabled: true, defaultIdentityProvider: 'bank' })
        const { text } = await login()
        assert.equal(text.match(/<form action="\/origin-chooser" method="post"/g)?.length, 2)
        assert.match(text, /value="Sign in with default identity provider"/)
        const answer = await post('/origin-chooser', { login_hint: '' })
        assert.equal(answer.headers['location'], 'http://localhost:8080/login?discoveryPerformed=true')
        assert.equal((await server.send('/login?discoveryPerformed=true')).location().host, 'bank.example')
        await configure({ accountChooserEnabled: true })
      })

      // Covers POST /origin-chooser: login_hint
      it('redirects to the provider of the origin', async () => {
        const answer = await post('/origin-chooser', { login_hint: 'corp' })
        const location =
          'http://localhost:8080/login?discoveryPerformed=true&login_hint=%7B%22origin%22%3A%22corp%22%7D'
        assert.equal(answer.status, 302)
        assert.equal(answer.headers['location'], location)
        assert.equal(
          (await server.send(new URL(location).pathname + new URL(location).search)).location().host,
          'corp.example',
        )
      })

      it('shows an error page for an unknown origin', async () => {
        const { pathname, search } = (await post('/origin-chooser', { login_hint: '"},{' })).location()
        assert.match((await server.send(pathname + search)).text, /does not exist here|hint is invalid/)
      })

      it('treats a missing login_hint as empty, and refuses one that is too long', async () => {
        const location = 'http://localhost:8080/login?discoveryPerformed=true'
        assert.equal((await post('/origin-chooser', {})).headers['location'], location)
        assert.equal((await post('/origin-chooser', { login_hint: 'a'.repeat(256) })).status, 400)
      })
    })

    for (const path of ['/login/idp_discovery', '/origin-chooser']) {
      // Covers POST /login/idp_discovery: X-<Service>-Csrf
      // Covers POST /origin-chooser: X-<Service>-Csrf
      it(`refuses a forged form at ${path}`, async () => {
        const form = { email: 'pat@corp.example', login_hint: 'corp' }
        for (const forged of [{}, { 'X-Svc-Csrf': '' }, { 'X-Svc-Csrf': 'x'.repeat(22) }]) {
          const answer = await server.browser().send(path, { form: { ...form, ...forged } })
          assert.equal(answer.status, 302)
          assert.equal(answer.headers['location'], 'http://localhost:8080/login?error=invalid_login_request')
        }
        const browser = server.browser()
        await browser.send('/login')
        const cross = await browser.send(path, {
          form: { ...form, 'X-Svc-Csrf': browser.csrf },
          headers: { 'sec-fetch-site': 'cross-site' },
        })
        assert.equal(cross.location().search, '?error=invalid_login_request')
      })
    }
  })
}
