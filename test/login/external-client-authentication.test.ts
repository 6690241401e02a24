// How this server authenticates at the token endpoint of an upstream provider.
import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import type { JWK } from 'jose'
import { epochSeconds } from '../../src/base/clock.ts'
import { createTestClock } from '../support/clock.ts'
import { MODES } from '../support/oauth.ts'
import { RELYING_PARTY } from '../support/oidc-provider.ts'
import { rsaKeys } from '../support/rsa-keys.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import type { Upstream } from '../support/upstream.ts'
import { signInUpstream, startUpstream, upstreamRecord } from '../support/upstream.ts'

type Config = Readonly<Record<string, unknown>>

const pem = (key: { export(options: { type: 'pkcs8'; format: 'pem' }): string | Buffer }): string =>
  key.export({ type: 'pkcs8', format: 'pem' }).toString()
const rsa = rsaKeys()
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const weak = generateKeyPairSync('rsa', { modulusLength: 1024 })

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const SECRET = { relyingPartySecret: 'a secret: 100%' }

const RECORDS: Readonly<Record<string, Config>> = {
  basic: { ...SECRET, authMethod: 'client_secret_basic', clientAuthInBody: true },
  post: { ...SECRET, authMethod: 'client_secret_post' },
  none: { authMethod: 'none' },
  zone: { jwtClientAuthentication: true },
  issuer: { jwtClientAuthentication: { aud: 'UPSTREAM' } },
  rsa: {
    authMethod: 'private_key_jwt',
    jwtClientAuthentication: {
      kid: 'ours',
      key: pem(rsa.privateKey),
      iss: 'other',
      sub: 'subject',
      aud: 'https://as.example',
    },
  },
  ec: { jwtClientAuthentication: { key: pem(ec.privateKey) } },
  // None of these can be used.
  weak: { jwtClientAuthentication: { key: pem(weak.privateKey) } },
  reference: { jwtClientAuthentication: { key: '-----BEGIN KEY-----' } },
  wrong: { jwtClientAuthentication: { key: pem(ec.privateKey), alg: 'RS256' } },
  uncertain: { jwtClientAuthentication: { key: pem(ec.privateKey), cert: 'none' } },
  elsewhere: { jwtClientAuthentication: { aud: 'https://as.example/token' } },
  impostor: { jwtClientAuthentication: { iss: 'http://localhost:8080/oauth/token' } },
  substitute: { jwtClientAuthentication: { sub: 'other' } },
  gone: { jwtClientAuthentication: { kid: 'not-the-active-key' } },
}

for (const mode of MODES) {
  describe(`Client authentication at an upstream provider in ${mode}`, () => {
    const clock = createTestClock()
    let upstream: Upstream
    let server: TestServer
    before(async () => {
      upstream = await startUpstream(clock)
      const { url } = upstream
      const records = Object.entries(RECORDS).map(([originKey, config]) =>
        upstreamRecord(upstream, originKey, {
          relyingPartySecret: undefined,
          passwordGrantEnabled: true,
          showLinkText: false,
          ...JSON.parse(JSON.stringify(config).replace('UPSTREAM', url)),
        }),
      )
      const bootstrap = { ...defaultBootstrap, identity_providers: records }
      server = await startServer({ mode, clock, config: { bootstrap } })
    })
    beforeEach(() => {
      upstream.requests.length = 0
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      await upstream.stop()
    })

    /** Signs in at the provider; returns the token request and the answer to the browser. */
    async function signIn(origin: string): Promise<{ answer: TestAnswer; form: URLSearchParams; basic: string }> {
      const answer = await signInUpstream(server.browser(), upstream, { origin })
      const [asked] = upstream.requests
      return { answer, form: asked?.form ?? new URLSearchParams(), basic: asked?.headers.authorization ?? '' }
    }
    const isSignedIn = ({ answer }: { answer: TestAnswer }): boolean =>
      answer.status === 302 && !String(answer.headers['location']).includes('/oauth_error')

    // Covers oidc and oauth provider config: relyingPartySecret; authMethod
    it('sends the secret by authMethod, regardless of clientAuthInBody', async () => {
      const basic = await signIn('basic')
      assert.ok(isSignedIn(basic))
      assert.match(basic.basic, /^Basic /)
      assert.equal(basic.form.get('client_secret'), null)
      upstream.requests.length = 0
      const post = await signIn('post')
      assert.ok(isSignedIn(post))
      assert.deepEqual([post.basic, post.form.get('client_secret')], ['', SECRET.relyingPartySecret])
    })

    it('sends only client_id with authMethod none', async () => {
      const none = await signIn('none')
      assert.ok(isSignedIn(none))
      assert.deepEqual([none.basic, none.form.get('client_id')], ['', RELYING_PARTY])
      assert.equal(none.form.get('client_secret') ?? none.form.get('client_assertion'), null)
      assert.ok(none.form.get('code_verifier'))
    })

    // Covers oidc and oauth provider config: jwtClientAuthentication
    it('signs a new assertion with the published key of the zone each time', async () => {
      const signed = await signIn('zone')
      assert.ok(isSignedIn(signed))
      const { form, basic } = signed
      assert.deepEqual([basic, form.get('client_assertion_type')], ['', ASSERTION_TYPE])
      const assertion = form.get('client_assertion') ?? ''
      const { keys } = (await server.send('/token_keys')).json<{ keys: JWK[] }>()
      const jwk = keys.find(({ kid }) => kid === decodeProtectedHeader(assertion).kid)
      assert.ok(jwk)
      const { payload } = await jwtVerify(assertion, createPublicKey({ key: jwk, format: 'jwk' }), {
        currentDate: clock.now(),
      })
      const now = epochSeconds(clock.now())
      const { jti, ...claims } = payload
      assert.deepEqual(claims, {
        iss: RELYING_PARTY,
        sub: RELYING_PARTY,
        aud: `${upstream.url}/token`,
        iat: now - 120,
        exp: now + 300,
      })
      upstream.requests.length = 0
      const again = await signIn('zone')
      assert.notEqual(decodeJwt(again.form.get('client_assertion') ?? '').jti, jti)
    })

    it('uses the configured audience on the host of the token endpoint', async () => {
      const { form } = await signIn('issuer')
      assert.equal(decodeJwt(form.get('client_assertion') ?? '').aud, upstream.url)
    })

    // Covers token exchange at the OIDC provider: client_assertion
    it('signs with a key of the provider record', async () => {
      const assertion = (await signIn('rsa')).form.get('client_assertion') ?? ''
      const { payload, protectedHeader } = await jwtVerify(assertion, rsa.publicKey, { currentDate: clock.now() })
      assert.deepEqual(protectedHeader, { alg: 'RS256', typ: 'JWT', kid: 'ours' })
      const { iss, sub, aud } = payload
      assert.deepEqual([iss, sub, aud], ['other', 'subject', 'https://as.example'])
      upstream.requests.length = 0
      const second = (await signIn('ec')).form.get('client_assertion') ?? ''
      const usual = await jwtVerify(second, ec.publicKey, { currentDate: clock.now() })
      assert.deepEqual(usual.protectedHeader, { alg: 'ES256', typ: 'JWT' })
      assert.deepEqual([usual.payload.iss, usual.payload.sub], [RELYING_PARTY, RELYING_PARTY])
    })

    for (const origin of ['weak', 'reference', 'wrong', 'uncertain', 'elsewhere', 'impostor', 'substitute', 'gone']) {
      it(`refuses sign-in and sends no request with the unusable record ${origin}`, async () => {
        assert.ok(!isSignedIn(await signIn(origin)))
        assert.equal(upstream.requests.length, 0)
      })
    }

    it('authenticates in the same way for the password grant', async () => {
      upstream.answer = () => upstream.usual({ nonce: undefined })
      for (const [origin, field] of [
        ['zone', 'client_assertion'],
        ['post', 'client_secret'],
        ['none', 'client_id'],
      ] as const) {
        upstream.requests.length = 0
        const form = { grant_type: 'password', username: 'pat', password: 'p', login_hint: JSON.stringify({ origin }) }
        const answer = await server.token(form, { basic: ['app', 'app-secret'] })
        assert.equal(answer.status, 200, answer.text)
        assert.ok(upstream.requests[0]?.form.get(field), origin)
      }
    })
  })
}
