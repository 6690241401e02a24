// Token requests without a browser for users who need a second factor are refused with mfa_required.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { authorize, authorizeBootstrap, AUTO_REQUEST, signedIn } from '../support/authorize.ts'
import { APP, AUTO, MODES, passwordTokens, tokensOf, userNamed } from '../support/oauth.ts'
import type { Tokens } from '../support/oauth.ts'
import { presentFrom, RECIPIENT, SAML_BEARER } from '../support/saml/saml-bearer.ts'
import { createSamlIdp } from '../support/saml/saml-idp.ts'
import { samlTestKey } from '../support/saml/saml-signing.ts'
import { enrolApp, giveFactor, makeSession, prove, setPolicy } from '../support/second-factor.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Upstream } from '../support/upstream.ts'
import { startUpstream, upstreamRecord } from '../support/upstream.ts'
import { createTestClock } from '../support/clock.ts'

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const CALL = ['call', 'call-secret'] as const
const CALL_REQUEST = { ...AUTO_REQUEST, client_id: 'call', redirect_uri: 'https://call.example/cb' }
const STRICT = ['strict', 'strict-secret'] as const

const client = (id: string, more: object = {}) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['authorization_code', 'refresh_token', 'password', 'user_token', JWT_BEARER, SAML_BEARER],
  scope: ['openid', 'svc.user', 'cloud.read'],
  redirect_uri: [`https://${id}.example/cb`],
  autoapprove: true,
  ...more,
})

for (const mode of MODES) {
  const isStandard = mode === 'standard'
  describe(`Token requests of a user who needs a second factor in ${mode}`, () => {
    const clock = createTestClock()
    let upstream: Upstream
    let server: TestServer
    before(async () => {
      upstream = await startUpstream(clock)
      const bootstrap = {
        ...authorizeBootstrap,
        clients: [
          ...authorizeBootstrap.clients,
          client('call'),
          client('strict', { secondFactor: { requirement: 'required' } }),
          {
            client_id: 'front',
            client_secret: 'front-secret',
            authorized_grant_types: ['client_credentials'],
            authorities: ['oauth.login'],
          },
        ],
        users: [
          ...authorizeBootstrap.users,
          { userName: 'tom', password: 'wombat', emails: [{ value: 't@example.org' }] },
          { userName: 'vic', origin: 'front-door', emails: [{ value: 'v@example.org' }] },
        ],
        identity_providers: [
          upstreamRecord(upstream, 'corp', { acrMapping: { gold: '2' }, passwordGrantEnabled: true }),
        ],
      }
      server = await startServer({ mode, clock, config: { bootstrap } })
      await giveFactor(server, (await userNamed(server, 'tom')).id)
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      await upstream.stop()
    })
    beforeEach(() => setPolicy(server, { requirement: 'optional', rememberDays: 30 }))

    const required = () => setPolicy(server, { requirement: 'required', rememberDays: 30 })
    const outcome = (answer: TestAnswer): string =>
      answer.status === 200 ? '200' : `${answer.status} ${String(answer.json()['error'])}`
    const reported = (...classes: readonly string[]): unknown =>
      isStandard ? (classes[0] ?? '1') : classes.length > 0 ? { values: classes } : undefined
    const TOM = { username: 'tom', password: 'wombat' }

    describe('with a password', () => {
      const grant = (form: object) => server.token({ grant_type: 'password', ...form }, { basic: APP })

      it('answer mfa_required with a hint to passcodes', async () => {
        const answer = await grant(TOM)
        assert.equal(outcome(answer), '400 mfa_required')
        assert.match(String(answer.json()['error_description']), /passcode/)
        assert.equal(answer.headers['www-authenticate'], undefined)
        const { data, type } = server.events.at(-1) ?? {}
        assert.deepEqual([type, data], ['UserAuthenticationFailure', 'second factor required'])
        assert.equal((await userNamed(server, 'tom')).lastLogonAt, undefined)
      })

      it('answer as usual to a wrong password', async () => {
        assert.equal(
          outcome(await grant({ ...TOM, password: 'x' })),
          isStandard ? '400 invalid_grant' : '401 invalid_client',
        )
      })

      it('are refused for all users if the zone requires a second factor', async () => {
        assert.equal(outcome(await grant({ username: 'marissa', password: 'koala' })), '200')
        await required()
        assert.equal(outcome(await grant({ username: 'marissa', password: 'koala' })), '400 mfa_required')
      })

      it('are refused for a client that requires a second factor', async () => {
        const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
        assert.equal(outcome(await server.token(form, { basic: STRICT })), '400 mfa_required')
      })

      it('are refused even with the cookie of a remembered browser', async () => {
        const browser = await signedIn(server)
        await authorize(browser, { ...CALL_REQUEST, acr_values: '2' })
        const { app } = await enrolApp(server, browser)
        clock.advance(60)
        const other = server.browser()
        await other.signIn('marissa', 'koala')
        await prove(other, { code: app.code(server), remember: 'true' })
        const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
        const cookies = Object.fromEntries(other.cookies)
        assert.equal(outcome(await server.token(form, { basic: APP, cookies })), '400 mfa_required')
        await server.store.factors.reset('svc', (await userNamed(server, 'marissa')).id)
      })

      it('are allowed if the policy is off or does not apply to the user', async () => {
        await setPolicy(server, { requirement: 'off' })
        assert.equal(outcome(await grant(TOM)), '200')
        assert.equal(outcome(await server.token({ grant_type: 'password', ...TOM }, { basic: STRICT })), '200')
        await setPolicy(server, { requirement: 'required', origins: ['ldap'] })
        assert.equal(outcome(await grant(TOM)), '200')
      })

      it('answer mfa_required at /authenticate', async () => {
        const send = (form: Readonly<Record<string, string>>) => server.send('/authenticate', { form })
        assert.equal(outcome(await send(TOM)), '403 mfa_required')
        assert.equal(outcome(await send({ ...TOM, password: 'x' })), '401 authentication failed')
        assert.equal(outcome(await send({ username: 'sam', password: 'dingo' })), '200')
      })

      it('receive a code at /autologin, whose session still requires the second factor', async () => {
        const posted = await server.send('/autologin', { form: TOM, basic: AUTO })
        const { code } = posted.json<{ code: string }>()
        const browser = server.browser()
        const headers = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
        const query = { ...AUTO_REQUEST, code }
        const answer = await browser.send('/oauth/authorize', { query, headers })
        assert.equal(answer.headers['location'], 'http://localhost:8080/second_factor', answer.text)
        assert.equal((await browser.send('/passcode')).headers['location'], 'http://localhost:8080/second_factor')
      })

      it('do not reset the count of failed sign-ins', async () => {
        const { id } = await userNamed(server, 'tom')
        await server.store.events.recordFailure('svc', id, clock.now())
        await grant(TOM)
        await server.send('/authenticate', { form: TOM })
        assert.equal((await server.store.events.failures('svc', id, new Date(0))).length > 0, true)
      })
    })

    describe('with authentication by a provider', () => {
      const relayed = async (acr: string | undefined) => {
        upstream.answer = () => upstream.usual({ nonce: undefined, acr })
        const form = { grant_type: 'password', username: 'pat', password: 'p', login_hint: '{"origin":"corp"}' }
        return server.token(form, { basic: APP })
      }
      const asserted = async (acr: string | undefined) => {
        const assertion = await upstream.token({ iss: upstream.url, acr })
        return server.token({ grant_type: JWT_BEARER, assertion }, { basic: CALL })
      }
      for (const [name, send] of [
        ['a relayed password', relayed],
        ['a JWT assertion', asserted],
      ] as const) {
        it(`require an acr mapped to two factors, for ${name}`, async () => {
          assert.equal(outcome(await send(undefined)), '200')
          const { id, lastLogonAt } = (await server.store.users.findByExternalId('svc', 'corp', 'pat')) ?? assert.fail()
          await required()
          clock.advance(10)
          await server.store.events.recordFailure('svc', id, clock.now())
          for (const acr of [undefined, '2', 'phr', 'urn:other']) {
            assert.equal(outcome(await send(acr)), '400 mfa_required', acr)
          }
          assert.deepEqual((await server.store.users.find('svc', id))?.lastLogonAt, lastLogonAt)
          assert.equal((await server.store.events.failures('svc', id, new Date(0))).length, 1)
          const tokens = tokensOf(await send('gold'))
          assert.deepEqual(decodeJwt(tokens.access_token)['acr'], reported('2', 'gold'))
        })
      }

      it('require an acr mapped to two factors, for a SAML assertion', async () => {
        const idp = createSamlIdp({
          clock,
          key: samlTestKey(),
          entityId: 'https://saml.example',
          to: { entityId: 'latchkey', recipient: RECIPIENT },
        })
        const config = { metaDataLocation: idp.metadata(), acrMapping: { 'urn:strong': 'phr' } }
        const saml = { name: 'SAML', type: 'saml', originKey: 'saml', config }
        const { store } = server
        const corp = (await store.providers.findByOrigin('svc', 'corp')) ?? assert.fail()
        await store.providers.insert('svc', { ...corp, ...saml, id: 'saml', externalKey: 'https://saml.example' })
        const send = (authnContext: string) =>
          presentFrom(server, idp, { parts: { nameId: 'sal', authnContext }, basic: CALL })
        assert.equal(outcome(await send('urn:weak')), '200')
        await required()
        for (const each of ['urn:weak', '2', 'phr']) assert.equal(outcome(await send(each)), '400 mfa_required')
        const { access_token: token } = tokensOf(await send('urn:strong'))
        assert.deepEqual(decodeJwt(token)['acr'], reported('phr', 'urn:strong'))
      })

      it('are refused for a login server', async () => {
        const { access_token: bearer } = tokensOf(
          await server.token({ grant_type: 'client_credentials' }, { basic: ['front', 'front-secret'] }),
        )
        const user = { username: 'vic', origin: 'front-door', source: 'login', add_new: 'false' }
        const grant = () =>
          server.token({ grant_type: 'password', ...user, client_id: 'app', client_secret: 'app-secret' }, { bearer })
        const authenticate = () => server.send('/authenticate', { form: user, bearer })
        const authorizing = () =>
          server.send('/oauth/authorize', {
            form: { ...AUTO_REQUEST, ...user },
            bearer,
            headers: { accept: 'application/json' },
          })
        assert.equal(outcome(await grant()), '200')
        assert.equal(outcome(await authenticate()), '200')
        assert.equal((await authorizing()).status, 302)
        await required()
        assert.equal(outcome(await grant()), '400 mfa_required')
        assert.equal(outcome(await authenticate()), '403 mfa_required')
        assert.equal(outcome(await authorizing()), '400 mfa_required')
      })
    })

    describe('with a token', () => {
      const sign = async (acr?: string): Promise<Tokens> => {
        const browser = await signedIn(server, 'sam', 'dingo')
        if (acr !== undefined) await makeSession(server, browser, { acr: [acr] })
        const code = (await authorize(browser, CALL_REQUEST)).location().searchParams.get('code') ?? ''
        const form = { grant_type: 'authorization_code', code, redirect_uri: CALL_REQUEST.redirect_uri }
        return tokensOf(await server.token(form, { basic: CALL }))
      }
      const exchanges: readonly [string, (tokens: Tokens, to?: string) => Promise<TestAnswer>][] = [
        [
          'jwt-bearer with an access token',
          ({ access_token: assertion }, to = 'call') =>
            server.token({ grant_type: JWT_BEARER, assertion }, { basic: [to, `${to}-secret`] }),
        ],
        [
          'user_token',
          ({ access_token: bearer }, to = 'call') =>
            server.token({ grant_type: 'user_token', client_id: to, scope: 'openid' }, { bearer }),
        ],
      ]
      for (const [name, exchange] of exchanges) {
        it(`require a token of the level for ${name}`, async () => {
          const [weak, strong] = [await sign(), await sign('2')]
          assert.equal(outcome(await exchange(weak)), '200')
          await required()
          assert.equal(outcome(await exchange(weak)), '400 mfa_required')
          assert.equal(outcome(await exchange(strong)), '200')
        })
      }

      it('require a token of the level for user_token and a client that requires a second factor', async () => {
        const [weak, strong] = [await sign(), await sign('2')]
        const [, exchange] = exchanges[1] ?? assert.fail()
        assert.equal(outcome(await exchange(weak, 'strict')), '400 mfa_required')
        assert.equal(outcome(await exchange(strong, 'strict')), '200')
      })

      it('require an ID token of the level for jwt-bearer', async () => {
        const [weak, strong] = [await sign(), await sign('2')]
        await required()
        const exchange = (assertion: string) => server.token({ grant_type: JWT_BEARER, assertion }, { basic: CALL })
        assert.equal(outcome(await exchange(weak.id_token)), '400 mfa_required')
        assert.equal(outcome(await exchange(strong.id_token)), '200')
      })

      it('are allowed for a refresh', async () => {
        const weak = await sign()
        await required()
        const form = { grant_type: 'refresh_token', refresh_token: weak.refresh_token }
        assert.deepEqual(decodeJwt(tokensOf(await server.token(form, { basic: CALL })).access_token)['acr'], reported())
      })

      it('are refused for a refresh or code of a client that requires a second factor by now', async () => {
        const clientNow = (await server.store.clients.find('svc', 'call')) ?? assert.fail()
        const [weak, strong] = [await sign(), await sign('2')]
        const browser = await signedIn(server, 'sam', 'dingo')
        const code = (await authorize(browser, CALL_REQUEST)).location().searchParams.get('code') ?? ''
        await server.store.clients.update('svc', { ...clientNow, secondFactor: { requirement: 'required' } })
        const refresh = ({ refresh_token: value }: Tokens) =>
          server.token({ grant_type: 'refresh_token', refresh_token: value }, { basic: CALL })
        assert.equal(outcome(await refresh(weak)), isStandard ? '400 invalid_grant' : '401 invalid_token')
        assert.equal(outcome(await refresh(strong)), '200')
        const form = { grant_type: 'authorization_code', code, redirect_uri: CALL_REQUEST.redirect_uri }
        assert.equal(outcome(await server.token(form, { basic: CALL })), '400 invalid_grant')
        await server.store.clients.update('svc', clientNow)
      })
    })

    describe('with a passcode', () => {
      const passcodeOf = async (browser: Browser): Promise<string> =>
        JSON.parse((await browser.send('/passcode', { headers: { accept: 'application/json' } })).text) as string
      const redeem = (passcode: string, basic: readonly [string, string] = APP) =>
        server.token({ grant_type: 'password', passcode }, { basic, headers: { accept: 'application/json' } })

      it('return acr, amr and auth_time of its session', async () => {
        const browser = await signedIn(server)
        clock.advance(100)
        const weak = tokensOf(await redeem(await passcodeOf(browser)))
        const at = clock.now().getTime() / 1000 - 100
        const amr = ['pwd', 'otp', 'mfa']
        await makeSession(server, browser, { acr: ['2'], amr })
        const strong = tokensOf(await redeem(await passcodeOf(browser)))
        for (const kind of ['id_token', 'access_token'] as const) {
          const [one, two] = [decodeJwt(weak[kind]), decodeJwt(strong[kind])]
          assert.deepEqual([one['acr'], two['acr']], [reported(), reported('2')])
          // UAA: tokens from a passcode have neither amr nor auth_time.
          assert.deepEqual([one['amr'], two['amr']], isStandard ? [['pwd'], amr] : [undefined, undefined])
          assert.deepEqual([one['auth_time'], two['auth_time']], isStandard ? [at, at] : [undefined, undefined])
        }
      })

      it('require that its session has reached the level', async () => {
        const browser = await signedIn(server)
        const weak = await passcodeOf(browser)
        await required()
        assert.equal(outcome(await redeem(weak)), '400 mfa_required')
        await makeSession(server, browser, { acr: ['2'] })
        assert.equal(outcome(await redeem(await passcodeOf(browser))), '200')
      })

      it('count the passcode of a remembered browser as level 1', async () => {
        const browser = await signedIn(server)
        await authorize(browser, { ...CALL_REQUEST, acr_values: '2' })
        const { app } = await enrolApp(server, browser)
        clock.advance(60)
        const other = server.browser()
        await other.signIn('marissa', 'koala')
        await prove(other, { code: app.code(server), remember: 'true' })
        for (const name of ['svc-session', 'JSESSIONID']) other.cookies.delete(name)
        await other.signIn('marissa', 'koala')
        await required()
        assert.deepEqual(decodeJwt(tokensOf(await redeem(await passcodeOf(other))).access_token)['acr'], reported())
        assert.equal(outcome(await redeem(await passcodeOf(other), STRICT)), '400 mfa_required')
        await server.store.factors.reset('svc', (await userNamed(server, 'marissa')).id)
      })

      it('require the level for a client that requires a second factor', async () => {
        const browser = await signedIn(server)
        assert.equal(outcome(await redeem(await passcodeOf(browser), STRICT)), '400 mfa_required')
        await makeSession(server, browser, { acr: ['2'] })
        assert.equal(outcome(await redeem(await passcodeOf(browser), STRICT)), '200')
      })

      it('return no acr, amr and auth_time in a zone without second factors', async () => {
        await setPolicy(server, { requirement: 'off' })
        const browser = await signedIn(server)
        await makeSession(server, browser, { acr: ['2', 'urn:gold'], amr: ['ext'] })
        const tokens = tokensOf(await redeem(await passcodeOf(browser)))
        for (const token of [tokens.id_token, tokens.access_token]) {
          const { acr, amr, auth_time: at } = decodeJwt(token)
          assert.deepEqual([acr, amr, at], [undefined, undefined, undefined])
        }
      })
    })

    it('do not affect other users', async () => {
      assert.equal(decodeJwt((await passwordTokens(server)).access_token)['user_name'], 'marissa')
    })
  })
}
