import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { authorizeBootstrap, Z1_HOST } from '../support/authorize.ts'
import { createTestClock } from '../support/clock.ts'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import { MODES } from '../support/oauth.ts'
import type { Publisher } from '../support/oidc-provider.ts'
import { publicKeyAsSecret, RELYING_PARTY, startPublisher, unsigned } from '../support/oidc-provider.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Upstream } from '../support/upstream.ts'
import { signInUpstream, startUpstream, upstreamRecord } from '../support/upstream.ts'
import { SignJWT } from 'jose'
import type { Attack } from './attack.ts'
import { PORTER } from './identity.ts'

type Claims = Readonly<Record<string, unknown>>

/** A victim from `corp`, and the attacker: `rival`, another provider, or an anonymous caller. */
interface Scene {
  readonly mode: CompatibilityMode
  readonly server: TestServer
  readonly corp: Upstream
  readonly rival: Upstream
  /** The key set of `corp`. */
  readonly publisher: Publisher
  /** The victim's browser, signed in. */
  readonly victim: Browser
  readonly isSignedIn: (browser: Browser) => Promise<boolean>
  /** Sends a logout token to the endpoint of a provider. */
  readonly send: (token: string, origin?: string, host?: string) => Promise<TestAnswer>
}

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const VICTIM = { sub: 'victim', sid: 'victims-session' }

let count = 0
/** The claims of a valid logout token of the provider. */
const logoutClaims = (issuer: string, claims: Claims = {}): Claims => {
  count += 1
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  return { iss: issuer, aud: RELYING_PARTY, jti: `j${count}`, events, email: undefined, ...VICTIM, ...claims }
}
const TYPE = { typ: 'logout+jwt' }

/** Runs the attack in both modes. */
const inBothModes = (play: (scene: Scene) => Promise<void>) => async (): Promise<void> => {
  for (const mode of MODES) {
    const clock = createTestClock()
    const [corp, rival, publisher] = await Promise.all([startUpstream(clock), startUpstream(clock), startPublisher()])
    publisher.answers.set('/keys', JSON.parse(corp.jwks))
    const atCorp = (config = {}) => upstreamRecord(corp, 'corp', { logoutUrl: `${corp.url}/logout`, ...config })
    const bootstrap = {
      ...authorizeBootstrap,
      clients: [...authorizeBootstrap.clients, PORTER],
      identity_providers: [atCorp({ tokenKeyUrl: `${publisher.url}/keys` }), upstreamRecord(rival, 'rival')],
      identity_zones: authorizeBootstrap.identity_zones.map(zone =>
        zone.id === 'z1'
          ? { ...zone, bootstrap: { ...zone.bootstrap, identity_providers: [atCorp({ tokenKey: rival.jwks })] } }
          : zone,
      ),
    }
    const server = await startServer({ mode, clock, config: { bootstrap } })
    const victim = server.browser()
    const isSignedIn = async (browser: Browser): Promise<boolean> => (await browser.send('/home')).status === 200
    try {
      await signInUpstream(victim, corp, { origin: 'corp', claims: VICTIM })
      assert.equal(await isSignedIn(victim), true)
      const send: Scene['send'] = (token, origin = 'corp', host = 'localhost:8080') =>
        server.send(`/login/backchannel_logout/${origin}`, { method: 'POST', form: { logout_token: token }, host })
      await play({ mode, server, corp, rival, publisher, victim, isSignedIn, send })
      assert.deepEqual(server.faults, [])
    } finally {
      await server.stop()
      await Promise.all([corp.stop(), rival.stop(), publisher.stop()])
    }
  }
}

/** Asserts that the victim stays signed in, whatever the response. */
const staysSignedIn = (play: (scene: Scene) => Promise<void>): (() => Promise<void>) =>
  inBothModes(async scene => {
    await play(scene)
    assert.equal(await scene.isSignedIn(scene.victim), true)
  })

const EVIL = 'https://evil.example/'

/** Attacks on upstream logout and on redirects after it. */
export const upstreamLogoutAttacks: readonly Attack[] = [
  {
    attack: 'sends a logout token without a signature, or with the public key as a shared secret',
    outcome: 'is refused',
    attempt: staysSignedIn(async ({ corp, send, server }) => {
      const seconds = Math.floor(server.clock.now().getTime() / 1000)
      const claims = { ...logoutClaims(corp.url), iat: seconds, exp: seconds + 60 }
      const header = { alg: 'HS256', kid: 'corp-1', ...TYPE }
      const shared = new SignJWT(claims).setProtectedHeader(header).sign(publicKeyAsSecret(corp))
      for (const token of [unsigned({ alg: 'none', ...TYPE }, claims), await shared]) {
        assert.equal((await send(token)).status, 400)
      }
    }),
  },
  {
    attack: 'as the former provider of an origin, delays the keys for a logout token until its replacement',
    outcome: 'sessions of the new provider are kept',
    attempt: staysSignedIn(async ({ rival, send, server }) => {
      const { providers } = server.store
      const record = await providers.findByOrigin('svc', 'corp')
      assert.ok(record)
      const keys = createServer((_, response) => {
        void providers.update('svc', record).then(() => response.end(rival.jwks))
      })
      keys.listen(0, '127.0.0.1').unref()
      await once(keys, 'listening')
      const { port } = keys.address() as AddressInfo // it listens on TCP
      const config = { ...record.config, issuer: rival.url, tokenKeyUrl: `http://127.0.0.1:${port}/` }
      await providers.update('svc', { ...record, config })
      assert.equal((await send(await rival.token(logoutClaims(rival.url), TYPE))).status, 400)
      keys.close()
    }),
  },
  {
    attack: 'sends logout tokens of another provider for the victim’s sub and sid',
    outcome: 'the session of the victim is kept',
    attempt: staysSignedIn(async ({ corp, rival, send }) => {
      const own = await rival.token(logoutClaims(rival.url), TYPE)
      assert.equal((await send(own)).status, 400)
      assert.equal((await send(await rival.token(logoutClaims(corp.url), TYPE))).status, 400)
      for (const claims of [{}, { sub: undefined }, { sid: undefined }]) {
        assert.equal((await send(await rival.token(logoutClaims(rival.url, claims), TYPE), 'rival')).status, 200)
      }
    }),
  },
  {
    attack: 'as administrator of another zone with a provider of the same name, sends logout tokens there',
    outcome: 'sessions in other zones are kept',
    attempt: staysSignedIn(async ({ corp, rival, send }) => {
      for (const claims of [{ sub: undefined }, { sid: undefined }]) {
        const token = await rival.token(logoutClaims(corp.url, claims), TYPE)
        assert.equal((await send(token, 'corp', Z1_HOST)).status, 200)
        assert.equal((await send(token)).status, 400)
      }
    }),
  },
  {
    attack: 'replays a logout token after the victim signed in again',
    outcome: 'is refused',
    attempt: staysSignedIn(async ({ corp, victim, server, send, isSignedIn }) => {
      const token = await corp.token(logoutClaims(corp.url, { exp: 4e9 }), TYPE)
      assert.equal((await send(token)).status, 200)
      assert.equal(await isSignedIn(victim), false)
      await signInUpstream(victim, corp, { origin: 'corp', claims: VICTIM })
      for (const age of [0, 299, 1, 1]) {
        server.clock.advance(age)
        assert.equal((await send(token)).status, 400)
      }
    }),
  },
  {
    attack: 'sends the victim’s ID token, or one with a nonce and the event, as a logout token',
    outcome: 'is refused',
    attempt: staysSignedIn(async ({ corp, send }) => {
      const idToken = await corp.token({ iss: corp.url, nonce: 'n', jti: 'x', ...VICTIM })
      for (const token of [idToken, await corp.token(logoutClaims(corp.url, { nonce: 'n' }), TYPE)]) {
        assert.equal((await send(token)).status, 400)
      }
    }),
  },
  {
    attack: 'uses a logout token about the victim as ID token, assertion and access token',
    outcome: 'is refused',
    attempt: inBothModes(async ({ corp, server, isSignedIn }) => {
      const token = await corp.token(logoutClaims(corp.url), TYPE)
      const browser = server.browser()
      const state = (await browser.send('/login/external/corp')).location().searchParams.get('state') ?? ''
      corp.answer = () => Promise.resolve({ body: { access_token: 'a', token_type: 'Bearer', id_token: token } })
      await browser.send('/login/callback/corp', { query: { code: 'c', state } })
      assert.equal(await isSignedIn(browser), false)
      const form = { grant_type: JWT_BEARER, assertion: token, scope: 'openid' }
      const answer = await server.token(form, { basic: ['porter', 'secret'] })
      assert.ok(answer.status === 400 || answer.status === 401, answer.text)
      assert.equal((await server.send('/userinfo', { bearer: token })).status, 401)
    }),
  },
  {
    attack: 'sends a megabyte to the back-channel logout endpoint, or uses GET, PUT or DELETE',
    outcome: 'is refused',
    attempt: staysSignedIn(async ({ corp, server, send }) => {
      assert.equal((await send('x'.repeat(1_000_000))).status, 413)
      const query = { logout_token: await corp.token(logoutClaims(corp.url), TYPE) }
      for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
        const { status } = await server.send('/login/backchannel_logout/corp', { method, query })
        assert.ok(status >= 300, `${method} ${status}`)
      }
      assert.equal((await server.send('/login/backchannel_logout/corp', { method: 'POST', query })).status, 400)
    }),
  },
  {
    attack: 'floods the back-channel logout endpoint with tokens signed with unknown keys',
    outcome: 'keys of the provider are refetched at most once',
    attempt: staysSignedIn(async ({ corp, rival, publisher, send }) => {
      const before = publisher.asked.length
      for (let round = 0; round < 50; round += 1) {
        const token = await rival.token(logoutClaims(corp.url), { ...TYPE, kid: `k${round}` })
        assert.equal((await send(token)).status, 400)
      }
      assert.ok(publisher.asked.length - before <= 1)
    }),
  },
  {
    attack: 'sets a foreign redirect URI for a logout through the provider',
    outcome: 'is not redirected to',
    attempt: inBothModes(async ({ corp, server, mode }) => {
      for (const query of [
        { redirect: EVIL },
        { redirect: EVIL, client_id: 'auto' },
        { post_logout_redirect_uri: EVIL, client_id: 'auto' },
        { redirect: 'http://localhost:8080@evil.example/' },
        { redirect: `http://localhost:8080/login`, state: EVIL },
      ]) {
        const browser = server.browser()
        await signInUpstream(browser, corp, { origin: 'corp', claims: { sub: 'mallory' } })
        const answer = await browser.send('/logout.do', { query, headers: { 'sec-fetch-site': 'same-origin' } })
        if (answer.status !== 302) continue // the question of `standard`
        const { searchParams, origin } = answer.location()
        assert.equal(origin, corp.url)
        const back = new URL(searchParams.get('post_logout_redirect_uri') ?? '')
        assert.equal(back.origin + back.pathname, 'http://localhost:8080/logout.do')
        const state = searchParams.get('state')
        if (state !== null) back.searchParams.set('state', state)
        const end = await browser.send(back.pathname + back.search)
        assert.doesNotMatch(String(end.headers['location']), /evil/, `${mode} ${JSON.stringify(query)}`)
      }
    }),
  },
  {
    attack: 'redirects the victim to the end of a logout with the attacker’s state or a forged cookie',
    outcome: 'redirects only to allowed URIs',
    attempt: inBothModes(async ({ corp, server, mode }) => {
      const mine = server.browser()
      await signInUpstream(mine, corp, { origin: 'corp', claims: { sub: 'mallory' } })
      const query = { redirect: 'http://localhost:8080/profile' }
      const leaving = await mine.send('/logout.do', { query, headers: { 'sec-fetch-site': 'same-origin' } })
      const state = leaving.location().searchParams.get('state') ?? 'made-up'
      for (const cookie of [
        undefined,
        'v1.AAAA',
        Buffer.from(JSON.stringify({ target: EVIL })).toString('base64url'),
      ]) {
        const other = server.browser()
        if (cookie !== undefined) other.cookies.set('svc-sign-out', cookie)
        const { status, headers } = await other.send('/logout.do', { query: { state } })
        assert.deepEqual(
          [status, headers['location']],
          mode === 'uaa' ? [302, 'http://localhost:8080/login'] : [200, undefined],
        )
      }
    }),
  },
  {
    attack: 'links to the logout from another site, to sign the victim out',
    outcome: 'confirmation in standard; in uaa the victim is signed out without a foreign redirect',
    attempt: inBothModes(async ({ corp, victim, isSignedIn, mode }) => {
      const headers = { 'sec-fetch-site': 'cross-site' }
      for (const query of [{}, { redirect: EVIL }]) {
        const answer = await victim.send('/logout.do', { query, headers })
        if (mode === 'standard') {
          assert.equal(answer.status, 200)
          assert.equal(await isSignedIn(victim), true)
        } else assert.ok([corp.url, 'http://localhost:8080'].includes(answer.location().origin))
      }
    }),
  },
]
