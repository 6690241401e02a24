import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { createTestClock } from '../support/clock.ts'
import { hiddenFields, unescaped } from '../support/forms.ts'
import { MODES, tokensOf } from '../support/oauth.ts'
import { RELYING_PARTY } from '../support/oidc-provider.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import type { Upstream } from '../support/upstream.ts'
import { startUpstream } from '../support/upstream.ts'
import type { Jar } from '../support/zone-path.ts'
import { bootstrap, HTML, jarOf, passwordIn, zone_config, zoneTokens } from '../support/zone-path.ts'

for (const mode of MODES) {
  for (const path of ['', '/uaa']) {
    const base = `http://id.example:8080${path}`
    const issuerEnd = mode === 'uaa' ? '/oauth/token' : ''

    describe(`Pages of zones by path below ${base} in ${mode}`, () => {
      let server: TestServer
      before(async () => {
        server = await startServer({ mode, config: { base_url: base, bootstrap, zone_config } })
      })
      after(async () => {
        assert.deepEqual(server.faults, [])
        await server.stop()
      })

      const { token, signIn } = zoneTokens(() => server, path)
      /** All URLs on a page and in a redirect, except those of files and other sites. */
      const urlsIn = ({ text, headers }: TestAnswer): readonly string[] =>
        [
          ...[...text.matchAll(/ (?:href|action|src|value)="([^"]*)"/g)].map(([, url = '']) => unescaped(url)),
          String(headers['location'] ?? ''),
        ].filter(url => (url.startsWith('/') || url.startsWith(base)) && !url.startsWith(`${path}/resources/`))

      const stay = (answer: TestAnswer, zone: string): TestAnswer => {
        const inside = [`${path}/z/${zone}/`, `${base}/z/${zone}/`]
        for (const url of urlsIn(answer)) {
          assert.ok(
            inside.some(start => url.startsWith(start)),
            `${url} leads out of ${zone}`,
          )
        }
        return answer
      }

      for (const zone of ['x', 'default']) {
        // Covers zone by path: rule: pages, redirects and callbacks stay on the path
        it(`of ${zone} stay below the path, from an authorization request to sign-out`, async () => {
          const jar = jarOf(server)
          const prefix = `${path}/z/${zone}`
          const query = {
            response_type: 'code',
            client_id: 'app',
            redirect_uri: 'https://app.example/cb',
            state: 's',
          }
          const asked = stay(await jar.send(`${prefix}/oauth/authorize`, { query }), zone)
          assert.equal(asked.headers['location'], `${base}/z/${zone}/login`)
          const page = stay(await jar.send(`${prefix}/login`), zone)
          assert.ok(urlsIn(page).length >= 2)
          const { form_redirect_uri: next } = hiddenFields(page.text)
          assert.ok(next?.startsWith(`${base}/z/${zone}/oauth/authorize?`))
          const failed = await jar.send(`${prefix}/login.do`, {
            form: { ...hiddenFields(page.text), username: 'marissa', password: 'wrong' },
          })
          assert.equal(failed.headers['location'], `${base}/z/${zone}/login?error=login_failure`)
          const done = await jar.send(`${prefix}/login.do`, {
            form: { ...hiddenFields(page.text), username: 'marissa', password: passwordIn(zone) },
          })
          assert.equal(stay(done, zone).headers['location'], next)
          const approval = stay(await jar.send(done.location().pathname + done.location().search), zone)
          assert.match(approval.text, /id="authorize"/)
          const answered = await jar.send(`${prefix}/oauth/authorize`, {
            form: { ...hiddenFields(approval.text), 'scope.0': 'scope.openid', user_oauth_approval: 'true' },
          })
          const { searchParams } = answered.location()
          assert.equal(answered.location().origin, 'https://app.example', answered.text)
          assert.equal(searchParams.get('iss'), mode === 'uaa' ? null : `${base}/z/${zone}`)
          const code = {
            grant_type: 'authorization_code',
            code: searchParams.get('code') ?? '',
            redirect_uri: query.redirect_uri,
          }
          assert.equal(
            decodeJwt(tokensOf(await token(`/z/${zone}`, code)).access_token).iss,
            `${base}/z/${zone}${issuerEnd}`,
          )

          const reported = mode === 'standard' ? ['/login?error=login_failure'] : []
          for (const place of ['/', '/home', '/profile', '/passcode', ...reported]) {
            const shown = stay(await jar.send(prefix + place), zone)
            assert.equal(shown.status, 200, place)
            assert.ok(urlsIn(shown).length >= 2, place)
          }
          for (const place of [
            '/login',
            '/nowhere',
            '/oauth/authorize?client_id=app&prompt=login&response_type=code',
          ]) {
            stay(await jar.send(prefix + place), zone)
          }
          const out = stay(await jar.send(`${prefix}/logout.do`), zone)
          if (mode === 'uaa') assert.equal(out.headers['location'], `${base}/z/${zone}/login`)
          const left = await jar.send(`${prefix}/logout.do?redirect=${encodeURIComponent(`${base}/z/${zone}/login`)}`)
          assert.equal(left.headers['location'], `${base}/z/${zone}/login`)
          assert.equal(await jar.isSignedIn(prefix), false)
        })
      }

      it('are continued after sign-in below the path', async () => {
        const jar = jarOf(server)
        assert.equal((await jar.send(`${path}/z/x/profile?a=1`)).headers['location'], `${base}/z/x/login`)
        const done = await jar.signIn(`${path}/z/x`, 'koala-x')
        assert.equal(done.headers['location'], `${base}/z/x/profile?a=1`)
      })

      for (const [from, target, want] of [
        ['/z/x', '/z/x/profile', '/z/x/profile'],
        ['/z/x', '//x./profile', '/z/x/profile'],
        ['/z/x', '/z/y/profile', '/z/x/'],
        ['/z/x', '/profile', '/z/x/'],
        ['/z/x', '/z/x/../y/profile', '/z/x/'],
        ['/z/x', '/z/x/z/y/profile', '/z/x/'],
        ['', '/profile', '/profile'],
        ['', '/z/default/profile', '/profile'],
        ['', '/z/x/profile', '/'],
        ['', '/%7a/x/profile', '/'],
        ['', '/a/../z/x/profile', '/'],
        ['', '//x./profile', '/'],
      ] as const) {
        it(`redirect from ${from || 'the default zone'} for form_redirect_uri=${target} to ${want}`, async () => {
          const url = target.startsWith('//') ? base.replace('://', '://x.') + target.slice(4) : base + target
          const jar = jarOf(server)
          const page = await jar.send(`${path}${from}/login`)
          const password = from === '' ? 'koala' : 'koala-x'
          const form = { ...hiddenFields(page.text), username: 'marissa', password, form_redirect_uri: url }
          const answer = await jar.send(`${path}${from}/login.do`, { form })
          assert.equal(answer.headers['location'], base + want)
        })
      }

      for (const [from, target, isFollowed] of [
        ['/z/x', '/z/x/home', true],
        ['/z/x', '/z/y/home', false],
        ['/z/x', '/home', false],
        ['', '/home', true],
        ['', '/z/x/home', false],
      ] as const) {
        it(`${isFollowed ? 'redirect' : 'do not redirect'} from sign-out of ${from || 'the default zone'} to ${target}`, async () => {
          const answer = await server.send(`${path}${from}/logout.do`, { query: { redirect: base + target } })
          assert.equal(answer.headers['location'], base + (isFollowed ? target : `${from}/login`))
        })
      }

      it('accept an id_token_hint of their own zone only, by path and by host', async () => {
        const { id_token: hint } = await signIn('/z/x', 'koala-x')
        const query = { id_token_hint: hint, post_logout_redirect_uri: 'https://app.example/bye' }
        const want = mode === 'uaa' ? 'https://app.example/cb' : 'https://app.example/bye'
        const asked = mode === 'uaa' ? { ...query, post_logout_redirect_uri: want } : query
        for (const [to, host] of [
          ['/z/x', 'id.example'],
          ['', 'x.id.example'],
        ] as const) {
          const answer = await server.send(`${path}${to}/logout.do`, { query: asked, host })
          assert.equal(answer.headers['location'], want)
        }
        for (const to of ['/z/y', '']) {
          const answer = await server.send(`${path}${to}/logout.do`, { query: asked })
          assert.notEqual(answer.headers['location'], want)
        }
      })
    })
  }
}

for (const mode of MODES) {
  describe(`Sign-in at an OIDC provider in a zone by path in ${mode}`, () => {
    const base = 'http://id.example:8080'
    const clock = createTestClock()
    let upstream: Upstream
    let server: TestServer
    before(async () => {
      upstream = await startUpstream(clock)
      const corp = {
        originKey: 'corp',
        type: 'oidc1.0',
        name: 'corp',
        config: {
          authUrl: `${upstream.url}/authorize`,
          tokenUrl: `${upstream.url}/token`,
          tokenKeyUrl: `${upstream.url}/keys`,
          logoutUrl: `${upstream.url}/logout`,
          issuer: upstream.url,
          relyingPartyId: RELYING_PARTY,
          relyingPartySecret: 'secret',
          linkText: 'Corp',
        },
      }
      const within = (records: object) => ({ ...records, identity_providers: [corp] })
      const x = { id: 'x', subdomain: 'x', name: 'Zone x', bootstrap: within(defaultBootstrap) }
      const bootstrap = within({ ...defaultBootstrap, identity_zones: [x] })
      const config = { base_url: base, bootstrap, outbound: { allow_private: true } }
      server = await startServer({ mode, clock, config })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      await upstream.stop()
    })

    /** Starts a sign-in in the zone; returns the redirect URI of the provider, with a response. */
    async function goThere(jar: Jar, prefix: string): Promise<URL> {
      const page = await jar.send(`${prefix}/login`)
      assert.ok(page.text.includes(`href="${prefix}/login/external/corp"`), page.text)
      const answer = await jar.send(`${prefix}/login/external/corp`)
      const sent = answer.location().searchParams
      upstream.nonce = sent.get('nonce') ?? ''
      const back = new URL(sent.get('redirect_uri') ?? '')
      back.search = new URLSearchParams({ state: sent.get('state') ?? '', code: 'c1', iss: upstream.url }).toString()
      return back
    }

    it('returns to the path of the zone', async () => {
      const jar = jarOf(server)
      const back = await goThere(jar, '/z/x')
      assert.equal(back.origin + back.pathname, `${base}/z/x/login/callback/corp`)
      const attempt = [...jar.cookies.values()].find(({ name }) => /^svc-sign-in-\d\.x$/.test(name))
      assert.equal(attempt?.path, '/z/x/login/callback')
      const done = await jar.send(back.pathname + back.search)
      assert.equal(done.headers['location'], `${base}/z/x/${mode === 'uaa' ? 'home' : ''}`, done.text)
      assert.ok(await jar.isSignedIn('/z/x'))
      assert.equal(await jar.isSignedIn(''), false)
    })

    it('supports RP-initiated and back-channel logout below the path', async () => {
      const signIn = async (jar: Jar, prefix: string): Promise<void> => {
        const back = await goThere(jar, prefix)
        await jar.send(back.pathname + back.search)
        assert.ok(await jar.isSignedIn(prefix))
      }
      const [jar, other] = [jarOf(server), jarOf(server)]
      await signIn(jar, '/z/x')
      const query = new URLSearchParams({ redirect: `${base}/z/x/profile` }).toString()
      const headers = { 'sec-fetch-site': 'same-origin' }
      const { origin, searchParams } = (await jar.send(`/z/x/logout.do?${query}`, { headers })).location()
      assert.equal(origin, upstream.url)
      const back = new URL(searchParams.get('post_logout_redirect_uri') ?? '')
      assert.equal(back.origin + back.pathname, `${base}/z/x/logout.do`)
      const state = searchParams.get('state')
      if (state !== null) back.searchParams.set('state', state)
      assert.equal((await jar.send(back.pathname + back.search)).headers['location'], `${base}/z/x/profile`)

      await signIn(jar, '/z/x')
      await signIn(other, '')
      const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
      const claims = { iss: upstream.url, aud: RELYING_PARTY, jti: 'j1', events }
      const form = { logout_token: await upstream.token(claims, { typ: 'logout+jwt' }) }
      assert.equal((await server.send('/z/x/login/backchannel_logout/corp', { method: 'POST', form })).status, 200)
      assert.deepEqual([await jar.isSignedIn('/z/x'), await other.isSignedIn('')], [false, true])
    })

    it('refuses a response in another zone', async () => {
      for (const [from, to, host] of [
        ['/z/x', '', undefined],
        ['', '/z/x', undefined],
        ['/z/x', '', 'x.id.example:8080'],
      ] as const) {
        const jar = jarOf(server)
        const { search } = await goThere(jar, from)
        const cookies = Object.fromEntries(
          [...jar.cookies.values()].flatMap(({ name, value }) => {
            const bare = name.replace(/\.x$/, '')
            return [bare, `${bare}.x`].map(each => [each, value])
          }),
        )
        const answer = await server.send(`${to}/login/callback/corp${search}`, { cookies, ...(host && { host }) })
        const isSameZone = host !== undefined
        // The state belongs to the zone, so it is accepted at its host with cookies that a browser would not send there.
        const failure = `${base}${to}/oauth_error`
        if (mode === 'uaa') assert.equal(answer.headers['location'] === failure, !isSameZone, `${from} ${to}`)
        else assert.equal(answer.status, isSameZone ? 302 : 400, `${from} ${to}`)
      }
    })

    it('redirects a posted response below the path', async () => {
      const answer = await server.send('/z/x/login/callback/corp', { form: { state: 's', code: 'c' } })
      assert.deepEqual(
        [answer.status, answer.headers['location']],
        [303, `${base}/z/x/login/callback/corp?state=s&code=c`],
      )
      const page = await server.send('/z/x/login/callback/corp?state=s&code=c', { headers: HTML })
      if (mode === 'uaa') return assert.equal(page.headers['location'], `${base}/z/x/oauth_error`)
      assert.equal(page.status, 400)
      assert.ok(page.text.includes('href="/z/x/login"'))
    })
  })
}
