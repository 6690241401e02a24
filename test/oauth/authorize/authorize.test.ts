import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { digest } from '../../../src/base/secrets.ts'
import {
  APP_REQUEST,
  AUTO_REQUEST,
  Z1_HOST,
  authorize,
  authorizeBootstrap,
  requestOf,
  responseOf,
  signedIn,
} from '../../support/authorize.ts'
import { hiddenFields, setCookies } from '../../support/forms.ts'
import { AUTO, MODES, changeClient, clientNamed, verified } from '../../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const POST = { method: 'POST' }

/** The user id in the Current-User cookie. */
const currentUser = (browser: Browser): string =>
  JSON.parse(decodeURIComponent(browser.cookies.get('Current-User') ?? ''))['userId']

const isCode = (answer: TestAnswer): boolean =>
  answer.status === 302 && /^[\w-]{32}$/.test(answer.location().searchParams.get('code') ?? '')

const loginOf = (server: TestServer): string => `${server.baseUrl}/login`

/** Checks the formula of `session_state` (OpenID Connect Session Management §2). */
function assertSessionState(text: string | undefined, clientId: string, origin: string, userId: string): void {
  const [hash, salt = ''] = text?.split('.') ?? []
  assert.match(salt, /^[0-9a-f]{64}$/)
  assert.equal(hash, createHash('sha256').update(`${clientId} ${origin} ${userId} ${salt}`).digest('hex'))
}

const FIXED = {
  'content-security-policy': "script-src 'self'",
  'x-content-type-options': 'nosniff',
  'x-xss-protection': '1; mode=block',
  'x-frame-options': 'DENY',
} as const

/** The named headers of an answer; absent ones are undefined. */
const pick = (answer: TestAnswer, names: readonly string[]) =>
  Object.fromEntries(names.map(name => [name, answer.headers[name]]))

const COMPARED_HEADERS = [
  ...Object.keys(FIXED),
  'cache-control',
  'pragma',
  'expires',
  'strict-transport-security',
  'content-language',
]

for (const mode of MODES) {
  const isStandard = mode === 'standard'

  describe(`/oauth/authorize in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    describe('Successful response', () => {
      // Covers GET /oauth/authorize: response_type=code; response: session_state
      it('contains code and state, in standard followed by session_state and iss', async () => {
        const browser = await signedIn(server)
        const answer = await authorize(browser, AUTO_REQUEST)
        assert.equal(answer.status, 302)
        assert.ok(answer.location().href.startsWith('https://auto.example/cb?code='))
        const { query, fragment } = responseOf(answer)
        assert.deepEqual(Object.keys(query), isStandard ? ['code', 'state', 'session_state', 'iss'] : ['code', 'state'])
        assert.match(query['code'] ?? '', /^[\w-]{32}$/)
        assert.equal(query['state'], 's1')
        assert.deepEqual(fragment, {})
        if (!isStandard) return
        assert.equal(query['iss'], server.baseUrl)
        assertSessionState(query['session_state'], 'auto', 'https://auto.example', currentUser(browser))
      })

      // Covers GET /oauth/authorize: response: code
      // Covers every answer in standard: code: 128 bits
      it('contains a unique code that can be exchanged once', async () => {
        const browser = await signedIn(server)
        const codes = await Promise.all(
          [1, 2, 3].map(async () => responseOf(await authorize(browser, AUTO_REQUEST)).query['code'] ?? ''),
        )
        assert.equal(new Set(codes).size, 3)
        const redeem = () =>
          server.token(
            { grant_type: 'authorization_code', code: codes[0] ?? '', redirect_uri: AUTO_REQUEST.redirect_uri },
            { basic: AUTO },
          )
        assert.equal((await redeem()).status, 200)
        assert.equal((await redeem()).json()['error'], 'invalid_grant')
      })

      // Covers GET /oauth/authorize: rule: code is 32 characters, single use, short-lived
      it('contains a code that is valid for one minute, in uaa for five', async () => {
        const browser = await signedIn(server)
        const redeem = async (seconds: number) => {
          const code = responseOf(await authorize(browser, AUTO_REQUEST)).query['code'] ?? ''
          server.clock.advance(seconds)
          return (
            await server.token(
              { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri },
              { basic: AUTO },
            )
          ).status
        }
        assert.equal(await redeem(isStandard ? 59 : 299), 200)
        assert.equal(await redeem(isStandard ? 60 : 300), 400)
      })

      // Covers GET /oauth/authorize: rule: zone default groups
      it('leads to an ID token with nonce and auth_time, and to the requested scopes', async () => {
        const browser = await signedIn(server)
        const authenticatedAt = server.clock.now().getTime() / 1000
        server.clock.advance(30)
        const exchange = async (scope: string | undefined) => {
          const code =
            responseOf(await authorize(browser, { ...AUTO_REQUEST, scope, nonce: 'n-1' })).query['code'] ?? ''
          return (
            await server.token(
              { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri },
              { basic: AUTO },
            )
          ).json()
        }
        const everything = await exchange(undefined)
        assert.deepEqual(String(everything['scope']).split(' ').toSorted(), ['cloud.read', 'openid', 'profile'])
        assert.equal((await exchange('openid'))['scope'], 'openid')
        const { payload } = await verified(server, String(everything['id_token']), { audience: 'auto' })
        assert.equal(payload['nonce'], 'n-1')
        assert.equal(payload['auth_time'], authenticatedAt)
      })

      // Covers compatibility: authorization response: R6 `session_state`
      it('omits session_state for a custom URI scheme', async () => {
        const bootstrap = {
          ...authorizeBootstrap,
          clients: [
            {
              ...requestOf('app'),
              client_id: 'phone',
              client_secret: 'x',
              authorized_grant_types: ['authorization_code'],
              scope: ['openid'],
              autoapprove: true,
              redirect_uri: ['com.example.phone://cb'],
            },
          ],
        }
        const phone = await startServer({ mode, config: { bootstrap } })
        try {
          const answer = await authorize(await signedIn(phone), { response_type: 'code', client_id: 'phone' })
          assert.match(
            String(answer.headers['location']),
            /^com\.example\.phone:\/\/cb\?code=[\w-]{32}(&iss=http%3A%2F%2Flocalhost%3A8080)?$/,
          )
        } finally {
          await phone.stop()
        }
      })

      // Covers GET /oauth/authorize: response: iss
      // Covers compatibility: authorization response: R5 iss
      it('contains the iss of the zone', async () => {
        const browser = await signedIn(server, 'marissa', 'z1-koala', Z1_HOST)
        const answer = await authorize(browser, AUTO_REQUEST)
        assert.ok(isCode(answer))
        assert.equal(answer.location().searchParams.get('iss'), isStandard ? 'http://z1.localhost:8080' : null)
      })
    })

    describe('Response headers', () => {
      const cases: readonly { name: string; visit: () => Promise<TestAnswer>; status: number }[] = [
        { name: 'a redirect to the sign-in page', visit: () => authorize(server.browser(), AUTO_REQUEST), status: 302 },
        {
          name: 'a redirect with a code',
          visit: async () => authorize(await signedIn(server), AUTO_REQUEST),
          status: 302,
        },
        {
          name: 'a redirect with an error',
          visit: async () => authorize(await signedIn(server), { ...AUTO_REQUEST, scope: 'nonsense' }),
          status: 302,
        },
      ]
      for (const { name, visit, status } of cases) {
        // Covers GET /oauth/authorize: header: Cache-Control; X-Content-Type-Options; X-XSS-Protection; X-Frame-Options
        // Covers GET /oauth/authorize: header: Strict-Transport-Security; Content-Language; cookie: X-<Service>-Csrf
        it(`are complete on ${name}`, async () => {
          const answer = await visit()
          assert.equal(answer.status, status)
          assert.deepEqual(pick(answer, COMPARED_HEADERS), {
            ...FIXED,
            'cache-control': 'no-store',
            pragma: undefined,
            expires: undefined,
            'strict-transport-security': isStandard ? 'max-age=31536000' : undefined,
            'content-language': 'en',
          })
          const csrf = /^X-Svc-Csrf=[A-Za-z0-9]{22}; Max-Age=86400; Path=\/; HttpOnly; SameSite=Lax$/
          assert.match(setCookies(answer)['X-Svc-Csrf'] ?? '', csrf)
        })
      }

      // Covers GET /oauth/authorize: header: Content-Security-Policy
      // Covers compatibility: pages, headers, cookies: P1 headers
      it('include a second Content-Security-Policy on pages in standard', async () => {
        const pages = [
          await authorize(await signedIn(server), APP_REQUEST),
          await authorize(server.browser(), { ...AUTO_REQUEST, client_id: 'nemo' }),
          await authorize(await signedIn(server), requestOf('ldaponly')),
        ]
        for (const page of isStandard ? pages : [pages[0], pages[2]]) {
          assert.ok(page)
          assert.deepEqual(pick(page, COMPARED_HEADERS), {
            ...FIXED,
            'content-security-policy': isStandard
              ? ["script-src 'self'", "frame-ancestors 'none'; base-uri 'none'; object-src 'none'"]
              : "script-src 'self'",
            'cache-control': 'no-store',
            pragma: undefined,
            expires: undefined,
            'strict-transport-security': isStandard ? 'max-age=31536000' : undefined,
            'content-language': 'en',
          })
          assert.equal(page.headers['referrer-policy'], isStandard ? 'no-referrer' : undefined)
        }
      })

      // Covers GET /oauth/authorize prompt=none: header: Cache-Control no-cache; Pragma; Expires
      it('forbid caching and set no CSRF cookie for prompt=none', async () => {
        const browser = await signedIn(server)
        const asked = { ...AUTO_REQUEST, prompt: 'none' }
        for (const answer of [
          await authorize(server.browser(), asked),
          await authorize(browser, asked),
          await authorize(browser, { ...asked, scope: 'nonsense' }),
          await authorize(browser, { ...APP_REQUEST, prompt: 'none' }),
        ]) {
          assert.equal(answer.status, 302)
          assert.deepEqual(pick(answer, COMPARED_HEADERS), {
            ...FIXED,
            'cache-control': 'no-cache, no-store, max-age=0, must-revalidate',
            pragma: 'no-cache',
            expires: '0',
            'strict-transport-security': undefined,
            'content-language': undefined,
          })
          assert.equal(setCookies(answer)['X-Svc-Csrf'], undefined)
        }
      })
    })

    describe('prompt=none', () => {
      const silently = (browser: Browser, query: Readonly<Record<string, string | undefined>>) =>
        authorize(browser, { ...AUTO_REQUEST, prompt: 'none', ...query })

      // Covers GET /oauth/authorize: prompt=none
      // Covers GET /oauth/authorize prompt=none: logged in and approved; cookie: Current-User refreshed
      it('returns a code and refreshes Current-User', async () => {
        const browser = await signedIn(server)
        const userId = currentUser(browser)
        const answer = await silently(browser, {})
        assert.ok(isCode(answer))
        const { query } = responseOf(answer)
        assert.deepEqual(Object.keys(query), isStandard ? ['code', 'state', 'session_state', 'iss'] : ['code', 'state'])
        assert.equal(
          setCookies(answer)['Current-User'],
          `Current-User=${encodeURIComponent(JSON.stringify({ userId }))}; Max-Age=1800; Path=/; SameSite=Strict`,
        )
      })

      // Covers GET /oauth/authorize prompt=none: not logged in; response: session_state; cookie: Current-User deleted
      it('returns login_required without a session, and clears Current-User', async () => {
        const answer = await silently(server.browser(), {})
        assert.equal(answer.status, 302)
        const { query, fragment } = responseOf(answer)
        assert.deepEqual(fragment, {})
        assert.deepEqual(
          Object.keys(query),
          isStandard ? ['error', 'error_description', 'state', 'session_state', 'iss'] : ['error', 'session_state'],
        )
        assert.equal(query['error'], 'login_required')
        assertSessionState(query['session_state'], 'auto', 'https://auto.example', '')
        assert.equal(setCookies(answer)['Current-User'], 'Current-User=; Max-Age=0; Path=/; SameSite=Strict')
        assert.deepEqual(Object.keys(setCookies(answer)), ['Current-User'], 'no session is created')
      })

      // Covers GET /oauth/authorize prompt=none: approval needed
      it('returns consent_required, in uaa interaction_required in the fragment', async () => {
        const browser = await signedIn(server)
        const answer = await silently(browser, APP_REQUEST)
        const { query, fragment } = responseOf(answer)
        if (isStandard) {
          assert.deepEqual(Object.keys(query), ['error', 'error_description', 'state', 'session_state', 'iss'])
          assert.equal(query['error'], 'consent_required')
          assertSessionState(query['session_state'], 'app', 'https://app.example', currentUser(browser))
        } else {
          assert.equal(answer.location().href, 'https://app.example/cb#error=interaction_required')
          assert.deepEqual([query, fragment], [{}, { error: 'interaction_required' }])
        }
        assert.equal(setCookies(answer)['Current-User'], undefined)
      })

      // Covers GET /oauth/authorize: max_age
      it('returns login_required if the sign-in is too old, and keeps Current-User', async () => {
        const browser = await signedIn(server)
        server.clock.advance(61)
        const answer = await silently(browser, { max_age: '60' })
        assert.equal(responseOf(answer).query['error'], 'login_required')
        assert.equal(setCookies(answer)['Current-User'], undefined)
        assert.ok(isCode(await silently(browser, { max_age: '61' })), 'the session is still valid')
      })

      // Covers compatibility: authorization response: R2 page or redirect
      it('returns login_required if the provider is not allowed, in uaa a page', async () => {
        const answer = await silently(await signedIn(server), requestOf('ldaponly'))
        if (isStandard) assert.equal(responseOf(answer).query['error'], 'login_required')
        else assert.equal(answer.status, 401)
      })

      // Covers GET /oauth/authorize prompt=none: unknown client or wrong redirect URI
      it('answers an invalid client or redirect URI with a page, in uaa with an empty 400', async () => {
        for (const browser of [server.browser(), await signedIn(server)]) {
          for (const query of [
            { client_id: 'nemo' },
            { client_id: undefined },
            { redirect_uri: 'https://evil.example/' },
          ]) {
            const answer = await silently(browser, query)
            assert.equal(answer.status, 400)
            if (isStandard) assert.match(answer.text, /Error 400/)
            else assert.equal(answer.text, '')
          }
        }
      })

      it('returns other errors as without prompt=none', async () => {
        const tooMany = Array.from({ length: 1001 }, (_, index) => `s${index}`).join(' ')
        for (const scope of ['nonsense', tooMany]) {
          const answer = await silently(await signedIn(server), { scope })
          const { query } = responseOf(answer)
          assert.equal(query['error'], 'invalid_scope')
          assert.equal(query['state'], 's1')
        }
      })

      // Covers GET /oauth/authorize: error: client without scopes
      it('returns invalid_scope for a client without scopes, in uaa internal_server_error', async () => {
        const { scope } = await clientNamed(server, 'writer')
        await changeClient(server, 'writer', { scope: [] })
        try {
          const browser = await signedIn(server)
          const aloud = responseOf(await authorize(browser, requestOf('writer'))).query
          const description = 'Empty scope (client has no registered scopes)'
          assert.deepEqual([aloud['error'], aloud['error_description']], ['invalid_scope', description])
          const answer = await silently(browser, requestOf('writer'))
          if (isStandard) assert.equal(responseOf(answer).query['error'], 'invalid_scope')
          else assert.equal(answer.location().href, 'https://writer.example/cb#error=internal_server_error')
        } finally {
          await changeClient(server, 'writer', { scope })
        }
      })

      // Covers GET /oauth/authorize prompt=none: failure of a later check
      // Covers compatibility: authorization response: R7 `prompt=none`
      it('returns internal errors to the client', async () => {
        const own = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
        try {
          const browser = await signedIn(own)
          const zone = await own.store.zones.find('svc')
          assert.ok(zone)
          // A record that the configuration would reject causes an internal error after the checks.
          await own.store.zones.update({ ...zone, config: { userConfig: { defaultGroups: 5 as never } } })
          const answer = await silently(browser, {})
          assert.equal(answer.status, 302)
          if (isStandard) {
            assert.deepEqual(Object.keys(responseOf(answer).query), [
              'error',
              'error_description',
              'state',
              'session_state',
              'iss',
            ])
            assert.equal(responseOf(answer).query['error'], 'server_error')
            assert.equal(responseOf(answer).query['error_description'], 'Internal Server Error')
          } else {
            assert.equal(answer.location().href, 'https://auto.example/cb#error=internal_server_error')
          }
          assert.equal(own.faults.length, 1)
          const page = await authorize(browser, AUTO_REQUEST)
          assert.equal(page.status, 500, 'without prompt=none the user sees an error page')
          assert.doesNotMatch(page.text, /iterable|TypeError/)
        } finally {
          await own.stop()
        }
      })
    })

    describe('Anonymous user', () => {
      // Covers GET /oauth/authorize: rule: login before approval, request saved
      it('is redirected to sign-in, and back to the same request', async () => {
        const browser = server.browser()
        const asked = await authorize(browser, { ...AUTO_REQUEST, state: 'a b&c' })
        assert.equal(asked.status, 302)
        assert.equal(asked.location().href, loginOf(server))
        const signed = await browser.signIn('marissa', 'koala')
        assert.equal(signed.status, 302)
        assert.equal(signed.location().pathname, '/oauth/authorize')
        const answer = await browser.send(signed.location().pathname + signed.location().search)
        assert.ok(isCode(answer))
        assert.equal(responseOf(answer).query['state'], 'a b&c')
      })

      for (const [name, sent, state] of [
        ['a backslash', 'a\\b', 'a\\b'],
        ['other characters that are invalid in URLs', 'a"<>^`{|}b', 'a"<>^`{|}b'],
        ['plus signs and unusual percent-encoding', 'a+%62%2b', 'a b+'],
      ] as const) {
        it(`keeps ${name} in state across sign-in`, async () => {
          const browser = server.browser()
          const query = new URLSearchParams({ ...AUTO_REQUEST, state: 'STATE' }).toString().replace('STATE', sent)
          assert.equal((await browser.send(`/oauth/authorize?${query}`)).location().href, loginOf(server))
          const fields = hiddenFields((await browser.send('/login')).text)
          const form = { ...fields, username: 'marissa', password: 'koala' }
          const signed = await browser.send('/login.do', { form })
          assert.equal(signed.location().pathname, '/oauth/authorize')
          const answer = await browser.send(signed.location().pathname + signed.location().search)
          assert.equal(responseOf(answer).query['state'], state)
        })
      }

      // Covers GET /oauth/authorize: rule: not logged in and Accept JSON is 403
      it('receives 403 as a JSON client, in uaa a redirect to sign-in (M7)', async () => {
        const answer = await authorize(server.browser(), AUTO_REQUEST, { headers: { accept: 'application/json' } })
        assert.equal(answer.status, isStandard ? 403 : 302)
        if (!isStandard) return assert.equal(answer.headers['location'], 'http://localhost:8080/login')
        assert.deepEqual(answer.json(), { error: 'Full authentication is required to access this resource' })
        assert.equal(setCookies(answer)[isStandard ? 'svc-session' : 'JSESSIONID'], undefined)
      })

      // Covers saved request: client name and allowedproviders on the login page
      it('sees the name of the client on the sign-in page', async () => {
        const browser = server.browser()
        await authorize(browser, APP_REQUEST)
        assert.match((await browser.send('/login')).text, /to continue to <strong><bdi>The application<\/bdi>/)
      })

      // Covers GET /login: page: `form_redirect_uri` field
      it('continues in each tab with its own request', async () => {
        const browser = server.browser()
        const open = async (state: string) => {
          await authorize(browser, { ...AUTO_REQUEST, state })
          return hiddenFields((await browser.send('/login')).text)
        }
        const first = await open('tab-1')
        const second = await open('tab-2')
        assert.notEqual(first['form_redirect_uri'], second['form_redirect_uri'])
        const signed = await browser.send('/login.do', { form: { username: 'marissa', password: 'koala', ...first } })
        assert.equal(new URLSearchParams(signed.location().search).get('state'), 'tab-1')
        const other = second['form_redirect_uri'] ?? ''
        assert.equal(responseOf(await browser.send(other.slice(server.baseUrl.length))).query['state'], 'tab-2')
      })

      it('continues with the request of the tab after a wrong password', async () => {
        const browser = server.browser()
        await authorize(browser, { ...AUTO_REQUEST, state: 'tab-1' })
        const first = hiddenFields((await browser.send('/login')).text)
        await authorize(browser, { ...AUTO_REQUEST, state: 'tab-2' })
        const failed = await browser.send('/login.do', { form: { username: 'marissa', password: 'wrong', ...first } })
        assert.equal(failed.location().href, `${loginOf(server)}?error=login_failure`)
        const again = hiddenFields((await browser.send('/login?error=login_failure')).text)
        assert.equal(again['form_redirect_uri'], first['form_redirect_uri'])
      })

      // Covers saved request: re-created from `form_redirect_uri`
      it('continues if the session expired before the form was posted', async () => {
        const browser = server.browser()
        await authorize(browser, AUTO_REQUEST)
        const fields = hiddenFields((await browser.send('/login')).text)
        server.clock.advance(1801)
        const failed = await browser.send('/login.do', { form: { username: 'marissa', password: 'wrong', ...fields } })
        assert.equal(failed.location().href, `${loginOf(server)}?error=login_failure`)
        const signed = await browser.signIn('marissa', 'koala')
        assert.equal(signed.location().pathname, '/oauth/authorize')
      })

      // Covers saved request: consumed at success
      it('is not redirected to the previous request by a second sign-in', async () => {
        const browser = server.browser()
        await authorize(browser, AUTO_REQUEST)
        await browser.signIn('marissa', 'koala')
        assert.equal((await browser.send('/login')).location().href, `${server.baseUrl}/home`)
        const fresh = await browser.send('/login.do', {
          form: { username: 'marissa', password: 'koala', 'X-Svc-Csrf': browser.csrf },
        })
        assert.equal(fresh.location().href, `${server.baseUrl}/`)
      })
    })

    describe('Fresh sign-in', () => {
      for (const [name, demand, seconds] of [
        // Covers GET /oauth/authorize: prompt=login; rule: `prompt=login` forces a login
        ['prompt=login', { prompt: 'login' }, 0],
        ['max_age', { max_age: '60' }, 61],
        ['max_age=0', { max_age: '0' }, 1],
        ['prompt=login with max_age', { prompt: 'login', max_age: '0' }, 1],
      ] as const) {
        // Covers GET /oauth/authorize: rule: `max_age` forces a login
        it(`is required once for ${name}, and updates auth_time`, async () => {
          const browser = await signedIn(server)
          const cookie = isStandard ? 'svc-session' : 'JSESSIONID'
          const before = browser.cookies.get(cookie)
          server.clock.advance(seconds)
          let asked = await authorize(browser, { ...AUTO_REQUEST, ...demand, grant_type: 'authorization_code' })
          assert.equal(asked.status, 302)
          if (isStandard) {
            assert.equal(browser.cookies.get(cookie), before)
            assert.ok(isCode(await authorize(browser, AUTO_REQUEST)), 'the old session is valid until the new sign-in')
          } else {
            assert.equal(asked.location().pathname, '/oauth/authorize')
            assert.equal(asked.location().searchParams.has('prompt'), false)
            assert.equal(asked.location().searchParams.has('max_age'), false)
            assert.equal(asked.location().searchParams.get('grant_type'), 'authorization_code')
            assert.equal(browser.cookies.get(cookie), undefined, 'the old session ends immediately')
            asked = await browser.send(asked.location().pathname + asked.location().search)
          }
          assert.equal(asked.location().href, loginOf(server))
          server.clock.advance(10)
          const authenticatedAt = server.clock.now().getTime() / 1000
          const signed = await browser.signIn('marissa', 'koala')
          assert.notEqual(browser.cookies.get(cookie), before)
          server.clock.advance(5)
          const answer = await browser.send(signed.location().pathname + signed.location().search)
          const code = responseOf(answer).query['code'] ?? ''
          const tokens = await server.token(
            { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri },
            { basic: AUTO },
          )
          const { payload } = await verified(server, String(tokens.json()['id_token']), { audience: 'auto' })
          assert.equal(payload['auth_time'], authenticatedAt)
        })

        it(`is required once for ${name} of an anonymous user`, async () => {
          const browser = server.browser()
          assert.equal((await authorize(browser, { ...AUTO_REQUEST, ...demand })).location().href, loginOf(server))
          const signed = await browser.signIn('marissa', 'koala')
          server.clock.advance(5)
          assert.ok(isCode(await browser.send(signed.location().pathname + signed.location().search)))
        })
      }

      // Covers compatibility: authorization request: A10 forced login
      it('keeps the old session if it fails, in standard', async () => {
        const browser = await signedIn(server)
        await authorize(browser, { ...AUTO_REQUEST, prompt: 'login' })
        const failed = await browser.signIn('marissa', 'wrong')
        assert.equal(failed.location().search, '?error=login_failure')
        const still = await authorize(browser, AUTO_REQUEST)
        assert.equal(isCode(still), isStandard)
        const again = await browser.signIn('joel', 'wombat')
        assert.equal(again.location().pathname, '/oauth/authorize', 'the request is still pending')
      })

      it('may be as another user', async () => {
        const browser = await signedIn(server)
        const first = currentUser(browser)
        const asked = await authorize(browser, { ...AUTO_REQUEST, scope: 'openid', prompt: 'login' })
        if (!isStandard) await browser.send(asked.location().pathname + asked.location().search)
        const signed = await browser.signIn('joel', 'wombat')
        assert.ok(isCode(await browser.send(signed.location().pathname + signed.location().search)))
        assert.notEqual(currentUser(browser), first)
      })

      it('deletes the old session', async () => {
        const browser = await signedIn(server)
        const cookie = isStandard ? 'svc-session' : 'JSESSIONID'
        const old = browser.cookies.get(cookie) ?? ''
        await browser.send('/login.do', {
          form: { username: 'marissa', password: 'koala', 'X-Svc-Csrf': browser.csrf },
        })
        assert.equal(await server.store.sessions.find('svc', digest(old)), undefined)
        const answer = await authorize(
          { send: (path, request) => server.send(path, { ...request, cookies: { [cookie]: old } }) },
          AUTO_REQUEST,
        )
        assert.equal(answer.location().href, loginOf(server))
      })
    })

    describe('User of a provider that the client does not allow', () => {
      // Covers GET /oauth/authorize: error: provider of the user not allowed
      // Covers page switch_idp: client display name; link to log out and come back
      // Covers provider check after login: authorization request
      it('sees a page with a link to sign out and return', async () => {
        const browser = await signedIn(server)
        const answer = await authorize(browser, requestOf('ldaponly'))
        assert.equal(answer.status, 401)
        assert.match(answer.text, /The application ldaponly is not authorized for your account\./)
        const link = /<a class="button" href="([^"]+)">/.exec(answer.text)?.[1]?.replaceAll('&amp;', '&') ?? ''
        assert.ok(link.startsWith('/logout.do?redirect='))
        const out = await browser.send(link)
        assert.equal(out.status, 302)
        assert.equal(out.location().pathname, '/oauth/authorize')
        assert.deepEqual(Object.fromEntries(out.location().searchParams), requestOf('ldaponly'))
        const again = await browser.send(out.location().pathname + out.location().search)
        assert.equal(again.location().href, loginOf(server))
        assert.match((await browser.send('/login')).text, /No sign-in method is set up here/)
      })

      it('receives JSON as a JSON client', async () => {
        const answer = await authorize(await signedIn(server), requestOf('ldaponly'), {
          headers: { accept: 'application/json' },
        })
        assert.equal(answer.status, 401)
        assert.deepEqual(answer.json(), {
          error: 'unauthorized_client',
          error_description: 'The application is not authorized for your account.',
        })
      })
    })

    describe('POST', () => {
      const post = (browser: Browser, form: Readonly<Record<string, string>>, headers: Record<string, string> = {}) =>
        browser.send('/oauth/authorize', { form, headers })

      // Covers POST /oauth/authorize: authorization request in the form body
      // Covers compatibility: authorization request: A2 POST
      it('starts an authorization request without a CSRF token, which uaa requires', async () => {
        const browser = await signedIn(server)
        const answer = await post(browser, AUTO_REQUEST)
        if (isStandard) assert.ok(isCode(answer))
        else assert.equal(answer.status, 403)
        assert.ok(isCode(await post(browser, { ...AUTO_REQUEST, 'X-Svc-Csrf': browser.csrf })))
      })

      it('needs no CSRF token for prompt=none', async () => {
        const asked = { ...AUTO_REQUEST, prompt: 'none' }
        assert.ok(isCode(await post(await signedIn(server), asked)))
        const answer = await post(server.browser(), asked)
        if (isStandard)
          assert.equal(answer.location().pathname, '/oauth/authorize', 'redirected to a GET with the session')
        else assert.equal(responseOf(answer).query['error'], 'login_required')
        const decided = await post(await signedIn(server), { ...asked, user_oauth_approval: 'true' })
        assert.equal(decided.status, 403, 'a decision requires a CSRF token')
      })

      // Covers saved request: POST only for `/oauth/authorize`
      it('redirects an anonymous user to sign-in and back', async () => {
        const browser = server.browser()
        await browser.send('/login')
        let answer = await post(browser, { ...AUTO_REQUEST, state: 'a b', 'X-Svc-Csrf': browser.csrf })
        if (isStandard) {
          assert.equal(
            answer.status,
            303,
            'redirected to a GET, because a cross-site form is sent without the session cookie',
          )
          assert.equal(answer.location().searchParams.has('X-Svc-Csrf'), false)
          answer = await browser.send(answer.location().pathname + answer.location().search)
        }
        assert.equal(answer.status, 302)
        assert.equal(answer.location().href, loginOf(server))
        const signed = await browser.signIn('marissa', 'koala')
        const done = await browser.send(signed.location().pathname + signed.location().search)
        assert.equal(responseOf(done).query['state'], 'a b')
      })

      it('copies only known parameters to the URL', async () => {
        const browser = server.browser()
        await browser.send('/login')
        const unknown = { Password: 'top-secret', password: 'top-secret', api_key: 'top-secret', prompt: 'login' }
        let answer = await post(browser, { ...AUTO_REQUEST, ...unknown, 'X-Svc-Csrf': browser.csrf })
        for (let step = 0; step < 3; step += 1) {
          const { pathname, search } = answer.location()
          assert.doesNotMatch(search, /top-secret|csrf/i)
          if (pathname === '/login') break
          answer = await browser.send(pathname + search)
        }
        const signed = await browser.signIn('marissa', 'koala')
        assert.equal(signed.location().pathname, '/oauth/authorize')
        assert.equal(signed.location().searchParams.get('client_id'), 'auto')
        assert.doesNotMatch(signed.location().search, /top-secret|csrf/i)
      })

      it('validates the request like GET', async () => {
        const browser = await signedIn(server)
        const csrf = { 'X-Svc-Csrf': browser.csrf }
        assert.equal(
          (await post(browser, { ...AUTO_REQUEST, ...csrf, client_id: 'nemo' })).status,
          isStandard ? 400 : 401,
        )
        assert.equal(
          responseOf(await post(browser, { ...AUTO_REQUEST, ...csrf, scope: 'nonsense' })).query['error'],
          'invalid_scope',
        )
        assert.equal(
          (await browser.send('/oauth/authorize', { ...POST, headers: { 'x-csrf-token': browser.csrf } })).status,
          isStandard ? 400 : 401,
        )
      })

      it('accepts only form content', async () => {
        const browser = await signedIn(server)
        const answer = await browser.send('/oauth/authorize', {
          body: JSON.stringify(AUTO_REQUEST),
          headers: { 'content-type': 'application/json' },
        })
        // UAA treats any other content as an empty form, which has no CSRF token (C5).
        assert.equal(answer.status, isStandard ? 400 : 403)
        if (isStandard) assert.match(answer.text, /The content type must be application\/x-www-form-urlencoded/)
      })
    })
  })
}

describe('Cross-site POST /oauth/authorize in standard', () => {
  let server: TestServer
  before(async () => {
    server = await startServer({ config: { bootstrap: authorizeBootstrap } })
  })
  after(() => server.stop())

  // Covers compatibility: pages, headers, cookies: P2 session cookie
  it('recognizes the session after a redirect to a GET', async () => {
    const browser = await signedIn(server)
    // SameSite=Lax: the form arrives without the cookie, the GET after it with it.
    const form = await server.send('/oauth/authorize', {
      form: { ...AUTO_REQUEST, prompt: 'none' },
      headers: { origin: 'https://auto.example' },
    })
    assert.equal(form.status, 303)
    assert.deepEqual(setCookies(form), {}, 'no session cookie is replaced')
    assert.ok(isCode(await browser.send(form.location().pathname + form.location().search)))
  })

  it('refuses a form that is too long for a URL', async () => {
    const form = await server.send('/oauth/authorize', { form: { ...AUTO_REQUEST, state: 'x'.repeat(9000) } })
    assert.equal(form.status, 400)
    assert.equal(form.headers['location'], undefined)
    assert.deepEqual(Object.keys(form.cookies), [])
  })
})
