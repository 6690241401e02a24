import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { FOREIGN_ALGORITHMS } from '../../src/token/foreign-keys.ts'
import { NONCE_SECONDS } from '../../src/token/sender/dpop-nonce.ts'
import { AUTO_REQUEST, authorize, authorizeBootstrap, requestOf, responseOf, signedIn } from '../support/authorize.ts'
import { dpopKey, nonceOf, proof, provenToken, sendProven } from '../support/dpop.ts'
import type { DpopKey, ProofContent } from '../support/dpop.ts'
import { AUTO, MODES, RESOURCE, SERVICE, insertCode, refresh, tokensOf, verified } from '../support/oauth.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const strict = (id: string, more: object = {}) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['client_credentials', 'authorization_code', 'implicit', 'refresh_token'],
  authorities: ['jobs.run', 'svc.resource', 'svc.admin', 'clients.read'],
  scope: ['openid', 'cloud.read'],
  redirect_uri: [`https://${id}.example/cb`],
  autoapprove: true,
  dpop_bound_access_tokens: true,
  ...more,
})

const bootstrap = {
  ...authorizeBootstrap,
  clients: [
    ...authorizeBootstrap.clients,
    strict('strict'),
    strict('manager', { dpop_bound_access_tokens: undefined }),
    {
      client_id: 'desk',
      client_secret: 'desk-secret',
      authorized_grant_types: ['password', 'user_token', 'refresh_token'],
      scope: ['svc.user', 'openid', 'cloud.read'],
    },
    {
      client_id: 'cli',
      client_secret: '',
      authorized_grant_types: ['password', 'refresh_token'],
      scope: ['openid', 'cloud.read'],
      autoapprove: true,
    },
  ],
}

const PROTOCOLS = { dpop: true, pushedRequests: true }
const CREDENTIALS = { grant_type: 'client_credentials' }
const STRICT = ['strict', 'strict-secret'] as const
const MANAGER = ['manager', 'manager-secret'] as const

/** Status and error code. */
function refusal(answer: TestAnswer): string {
  const { error } = answer.json()
  return `${answer.status} ${String(error)}`
}

const challengeOf = (answer: TestAnswer): string => String(answer.headers['www-authenticate'])

for (const mode of MODES) {
  describe(`DPoP in ${mode}`, () => {
    let server: TestServer
    let key: DpopKey
    let other: DpopKey
    before(async () => {
      server = await startServer({ mode, config: { bootstrap } })
      if (mode === 'uaa') await changeZone(server, { protocols: PROTOCOLS })
      key = await dpopKey()
      other = await dpopKey()
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const bound = async (basic: readonly [string, string] = MANAGER): Promise<string> =>
      tokensOf(await provenToken(server, key, CREDENTIALS, { basic })).access_token

    describe('at the token endpoint', () => {
      // Covers later standards: DPoP
      it('binds the token to the key of the proof', async () => {
        const answer = await provenToken(server, key, CREDENTIALS, { basic: SERVICE })
        const tokens = tokensOf(answer)
        assert.equal(tokens.token_type, 'DPoP')
        const { payload } = await verified(server, tokens.access_token)
        assert.deepEqual(payload['cnf'], { jkt: key.jkt })
        assert.equal(answer.headers['dpop-nonce'], await nonceOf(server))
      })

      it('issues a bearer token without a proof', async () => {
        const answer = await server.token(CREDENTIALS, { basic: SERVICE })
        assert.equal(tokensOf(answer).token_type, 'bearer')
        assert.equal(answer.headers['dpop-nonce'], undefined)
      })

      it('requires a nonce', async () => {
        const answer = await provenToken(server, key, CREDENTIALS, { basic: SERVICE }, { nonce: undefined })
        assert.equal(refusal(answer), '400 use_dpop_nonce')
        assert.equal(answer.headers['dpop-nonce'], await nonceOf(server))
        assert.equal(answer.headers['cache-control'], 'no-store')
        assert.equal(answer.headers['www-authenticate'], undefined)
      })

      it('accepts the previous nonce, and returns the current one', async () => {
        const nonce = await nonceOf(server)
        server.clock.advance(NONCE_SECONDS)
        const answer = await provenToken(server, key, CREDENTIALS, { basic: SERVICE }, { nonce })
        assert.equal(answer.status, 200)
        assert.notEqual(answer.headers['dpop-nonce'], nonce)
      })

      it('accepts a proof without a nonce if requireDpopNonce is false', async () => {
        await changeZone(server, { protocols: PROTOCOLS, requireDpopNonce: false })
        const answer = await provenToken(server, key, CREDENTIALS, { basic: SERVICE }, { nonce: undefined })
        await changeZone(server, { protocols: PROTOCOLS })
        assert.equal(tokensOf(answer).token_type, 'DPoP')
      })

      const wrong: readonly [name: string, content: Partial<ProofContent>][] = [
        ['for another endpoint', { url: 'http://localhost:8080/userinfo' }],
        ['for another host', { url: 'http://z1.localhost:8080/oauth/token' }],
        ['for another method', { method: 'GET' }],
        ['with another typ', { header: { typ: 'JWT' } }],
        ['without alg and jwk', { header: { alg: undefined, jwk: undefined } }],
      ]
      for (const [name, content] of wrong) {
        it(`refuses a proof ${name}`, async () => {
          const sending = provenToken(server, key, CREDENTIALS, { basic: SERVICE }, content)
          if ('alg' in (content.header ?? {})) return assert.rejects(sending) // signing fails
          assert.equal(refusal(await sending), '400 invalid_dpop_proof')
        })
      }

      it('refuses two proofs', async () => {
        const nonce = await nonceOf(server)
        const one = () => proof(key, { url: 'http://localhost:8080/oauth/token', at: server.clock.now(), nonce })
        const dpop = `${await one()}, ${await one()}`
        assert.equal(
          refusal(await server.token(CREDENTIALS, { basic: SERVICE, headers: { dpop } })),
          '400 invalid_dpop_proof',
        )
      })

      it('refuses an empty proof', async () => {
        const answer = await server.token(CREDENTIALS, { basic: SERVICE, headers: { dpop: '' } })
        assert.equal(refusal(answer), '400 invalid_dpop_proof')
      })

      it('refuses a replayed proof', async () => {
        const content = { claims: { jti: `twice-${mode}` } }
        assert.equal((await provenToken(server, key, CREDENTIALS, { basic: SERVICE }, content)).status, 200)
        const again = await provenToken(server, key, CREDENTIALS, { basic: SERVICE }, content)
        assert.equal(refusal(again), '400 invalid_dpop_proof')
      })

      it('authenticates the client before checking the proof', async () => {
        const answer = await provenToken(server, key, CREDENTIALS, { basic: ['service', 'wrong'] }, { nonce: 'x' })
        assert.equal(answer.json()['error'], 'invalid_client')
      })

      it('requires a proof of a client with dpop_bound_access_tokens', async () => {
        const answer = await server.token(CREDENTIALS, { basic: STRICT })
        assert.equal(refusal(answer), '400 invalid_request')
        assert.equal(tokensOf(await provenToken(server, key, CREDENTIALS, { basic: STRICT })).token_type, 'DPoP')
      })

      it('accepts one proof for both the presented token and the request', async () => {
        const desk = ['desk', 'desk-secret'] as const
        const form = { grant_type: 'password', username: 'marissa', password: 'koala', scope: 'svc.user openid' }
        const { access_token: token } = tokensOf(await provenToken(server, key, form, { basic: desk }))
        const path = '/oauth/token'
        const request = { form: { grant_type: 'user_token', client_id: 'auto' } }
        const answer = await sendProven(server, key, { path, token, request })
        assert.equal(answer.status, 200, answer.text)
        assert.equal(refusal(await sendProven(server, other, { path, token, request })), '401 invalid_token')
      })

      it('does not bind the refresh token of another client on user_token', async () => {
        const desk = ['desk', 'desk-secret'] as const
        const form = { grant_type: 'password', username: 'marissa', password: 'koala', scope: 'svc.user openid' }
        const { access_token: token } = tokensOf(await provenToken(server, key, form, { basic: desk }))
        const request = { form: { grant_type: 'user_token', client_id: 'cli' } }
        const tokens = tokensOf(await sendProven(server, key, { path: '/oauth/token', token, request }))
        assert.equal(tokens.token_type, 'bearer')
        const refreshed = await refresh(server, tokens.refresh_token, {}, ['cli', ''])
        assert.equal(tokensOf(refreshed).token_type, 'bearer')
      })
    })

    describe('binds codes', () => {
      async function codeFor(jkt: string | undefined): Promise<string> {
        const browser = await signedIn(server)
        const request = { ...AUTO_REQUEST, ...(jkt !== undefined && { dpop_jkt: jkt }) }
        return responseOf(await authorize(browser, request)).query['code'] ?? ''
      }
      const form = (code: string) => ({
        grant_type: 'authorization_code',
        code,
        redirect_uri: AUTO_REQUEST.redirect_uri,
      })

      it('to the key of dpop_jkt', async () => {
        const answer = await provenToken(server, key, form(await codeFor(key.jkt)), { basic: AUTO })
        assert.equal(tokensOf(answer).token_type, 'DPoP')
      })

      it('and refuses another key or no proof', async () => {
        const byOther = await provenToken(server, other, form(await codeFor(key.jkt)), { basic: AUTO })
        assert.equal(refusal(byOther), '400 invalid_grant')
        assert.equal(refusal(await server.token(form(await codeFor(key.jkt)), { basic: AUTO })), '400 invalid_grant')
      })

      it('to the key of a pushed request, even with an empty dpop_jkt', async () => {
        for (const more of [{}, { dpop_jkt: '' }]) {
          const request = { form: { ...AUTO_REQUEST, ...more }, basic: AUTO }
          const pushed = await sendProven(server, key, { path: '/oauth/par', request })
          const { request_uri: uri } = pushed.json<{ request_uri: string }>()
          const answer = await authorize(await signedIn(server), { client_id: 'auto', request_uri: uri })
          const code = responseOf(answer).query['code'] ?? ''
          assert.equal(refusal(await server.token(form(code), { basic: AUTO })), '400 invalid_grant')
        }
      })

      it('only on request', async () => {
        assert.equal(tokensOf(await server.token(form(await codeFor(undefined)), { basic: AUTO })).token_type, 'bearer')
      })

      it('and neither consumes the code nor revokes tokens on a replayed proof', async () => {
        const content = { claims: { jti: `again-${mode}` } }
        const first = await codeFor(key.jkt)
        const { access_token: token } = tokensOf(await provenToken(server, key, form(first), { basic: AUTO }, content))
        assert.equal(
          refusal(await provenToken(server, key, form(first), { basic: AUTO }, content)),
          '400 invalid_dpop_proof',
        )
        assert.equal((await sendProven(server, key, { path: '/userinfo', token })).status, 200)
        const second = await codeFor(key.jkt)
        const again = await provenToken(server, key, form(second), { basic: AUTO }, content)
        assert.equal(refusal(again), '400 invalid_dpop_proof')
        assert.equal((await provenToken(server, key, form(second), { basic: AUTO })).status, 200)
      })

      it('and does not consume the code if the nonce is missing', async () => {
        const code = await codeFor(key.jkt)
        const first = await provenToken(server, key, form(code), { basic: AUTO }, { nonce: undefined })
        assert.equal(refusal(first), '400 use_dpop_nonce')
        assert.equal((await provenToken(server, key, form(code), { basic: AUTO })).status, 200)
      })

      for (const jkt of ['', 'x', 'x'.repeat(44), `${'x'.repeat(42)}=`, `${'x'.repeat(42)}+`]) {
        it(`and ${jkt === '' ? 'ignores an empty' : 'refuses the'} dpop_jkt ${jkt}`, async () => {
          const answer = await authorize(await signedIn(server), { ...AUTO_REQUEST, dpop_jkt: jkt })
          if (jkt === '') return assert.ok(responseOf(answer).query['code']) // empty parameters count as omitted (RFC 6749 §3.1)
          const error = mode === 'uaa' ? answer.status : responseOf(answer).query['error']
          assert.equal(error, mode === 'uaa' ? 400 : 'invalid_request')
        })
      }

      it('and refuses response_type=token of a client with dpop_bound_access_tokens', async () => {
        const browser = await signedIn(server)
        const request = { ...requestOf('strict'), nonce: 'n' }
        const answer = await authorize(browser, { ...request, response_type: 'token', scope: 'cloud.read' })
        const error = mode === 'uaa' ? answer.status : responseOf(answer).fragment['error']
        assert.equal(error, mode === 'uaa' ? 401 : 'unauthorized_client')
        assert.ok(responseOf(await authorize(browser, { ...request, response_type: 'code' })).query['code'])
      })
    })

    describe('binds refresh tokens', () => {
      const verifier = 'v'.repeat(43)
      const codeChallenge = createHash('sha256').update(verifier).digest('base64url')

      async function publicTokens() {
        const code = await insertCode(server, { clientId: 'spa', codeChallenge, codeChallengeMethod: 'S256' })
        const form = { grant_type: 'authorization_code', code, client_id: 'spa', code_verifier: verifier }
        return tokensOf(await provenToken(server, key, form))
      }
      const refreshing = (token: string) => ({ grant_type: 'refresh_token', refresh_token: token, client_id: 'spa' })
      const refused = mode === 'uaa' ? '401 invalid_token' : '400 invalid_grant'

      it('of public clients through every rotation', async () => {
        const { refresh_token: first } = await publicTokens()
        const second = tokensOf(await provenToken(server, key, refreshing(first)))
        assert.equal(second.token_type, 'DPoP')
        assert.equal(refusal(await provenToken(server, other, refreshing(second.refresh_token))), refused)
        assert.equal(refusal(await server.token(refreshing(second.refresh_token))), refused)
        assert.equal((await provenToken(server, key, refreshing(second.refresh_token))).status, 200)
      })

      it('not of confidential clients, which may change their key', async () => {
        const code = await insertCode(server)
        const first = tokensOf(
          await provenToken(server, key, { grant_type: 'authorization_code', code }, { basic: AUTO }),
        )
        const form = { grant_type: 'refresh_token', refresh_token: first.refresh_token }
        const second = tokensOf(await provenToken(server, other, form, { basic: AUTO }))
        const { payload } = await verified(server, second.access_token)
        assert.deepEqual(payload['cnf'], { jkt: other.jkt })
      })
    })

    describe('at resource endpoints', () => {
      it('accepts a bound token with a proof of its key', async () => {
        for (const path of ['/oauth/clients', '/Groups', '/identity-zones']) {
          const answer = await sendProven(server, key, { path, token: await bound() })
          assert.notEqual(answer.status, 401, `${path}: ${answer.text}`)
        }
        const answer = await sendProven(server, key, { path: '/oauth/clients', token: await bound() })
        assert.equal(answer.headers['dpop-nonce'], await nonceOf(server))
      })

      it('compares htu without the query', async () => {
        const answer = await sendProven(
          server,
          key,
          { path: '/oauth/clients?count=1', token: await bound() },
          { url: 'http://localhost:8080/oauth/clients' },
        )
        assert.equal(answer.status, 200, answer.text)
      })

      it('compares the scheme case-insensitively', async () => {
        const token = await bound()
        const headers = { authorization: `dpop ${token}` }
        assert.equal(
          (await sendProven(server, key, { path: '/oauth/clients', token, request: { headers } })).status,
          200,
        )
      })

      it('refuses a bound token without a proof', async () => {
        const answer = await server.send('/oauth/clients', { bearer: await bound() })
        assert.equal(refusal(answer), '401 invalid_token')
        assert.match(challengeOf(answer), /^Bearer .*error="invalid_token"/)
      })

      it('refuses a bound token with a proof but scheme Bearer', async () => {
        const token = await bound()
        const headers = { authorization: `Bearer ${token}` }
        const answer = await sendProven(server, key, { path: '/oauth/clients', token, request: { headers } })
        assert.equal(refusal(answer), '401 invalid_token')
      })

      const cases: readonly [name: string, content: Partial<ProofContent>, want: string][] = [
        ['without a nonce', { nonce: undefined }, 'use_dpop_nonce'],
        ['with an old nonce', { nonce: 'old' }, 'use_dpop_nonce'],
        ['without ath', { token: undefined }, 'invalid_dpop_proof'],
        ['with the ath of another token', { token: 'other' }, 'invalid_dpop_proof'],
        ['for another URL', { url: 'http://localhost:8080/Users' }, 'invalid_dpop_proof'],
        ['for another method', { method: 'POST' }, 'invalid_dpop_proof'],
        ['with its key in the claims', { header: { jwk: undefined }, claims: { jwk: {} } }, 'invalid_dpop_proof'],
      ]
      for (const [name, content, want] of cases) {
        it(`refuses a proof ${name} with a DPoP challenge`, async () => {
          const answer = await sendProven(server, key, { path: '/oauth/clients', token: await bound() }, content)
          assert.equal(refusal(answer), `401 ${want}`)
          const [challenge] = new RegExp(`^DPoP .*error="${want}".*`).exec(challengeOf(answer)) ?? []
          assert.ok(challenge?.endsWith(`algs="${FOREIGN_ALGORITHMS.join(' ')}"`), challengeOf(answer))
          assert.equal(answer.headers['dpop-nonce'], await nonceOf(server))
        })
      }

      it('refuses a proof of another key', async () => {
        const answer = await sendProven(server, other, { path: '/oauth/clients', token: await bound() })
        assert.equal(refusal(answer), '401 invalid_token')
        assert.match(challengeOf(answer), /^DPoP .*error="invalid_token".*algs=/)
      })

      it('refuses scheme DPoP without a proof', async () => {
        const answer = await server.send('/oauth/clients', { headers: { authorization: `DPoP ${await bound()}` } })
        assert.equal(refusal(answer), '401 invalid_dpop_proof')
      })

      it('refuses a token that is not bound', async () => {
        const { access_token: token } = tokensOf(await server.token(CREDENTIALS, { basic: MANAGER }))
        const answer = await sendProven(server, key, { path: '/oauth/clients', token })
        assert.equal(refusal(answer), '401 invalid_token')
        assert.equal((await server.send('/oauth/clients', { bearer: token })).status, 200)
      })

      it('refuses a replayed request', async () => {
        const token = await bound()
        const content = { claims: { jti: `replay-${mode}` } }
        const target = { path: '/oauth/clients', token }
        assert.equal((await sendProven(server, key, target, content)).status, 200)
        assert.equal(refusal(await sendProven(server, key, target, content)), '401 invalid_dpop_proof')
      })

      it('refuses a bound token in the form', async () => {
        const token = await bound()
        const request = { form: { access_token: token } }
        const answer = await sendProven(server, key, { path: '/userinfo', request }, { token })
        assert.equal(refusal(answer), '401 invalid_token')
      })

      it('challenges with DPoP for insufficient scope', async () => {
        const token = await bound(SERVICE)
        const answer = await sendProven(server, key, { path: '/oauth/clients', token })
        assert.equal(answer.status, 403)
        assert.match(challengeOf(answer), /^DPoP /)
      })

      it('accepts a bound token at /userinfo', async () => {
        const code = await insertCode(server)
        const form = { grant_type: 'authorization_code', code }
        const { access_token: token } = tokensOf(await provenToken(server, key, form, { basic: AUTO }))
        const answer = await sendProven(server, key, { path: '/userinfo', token })
        assert.equal(answer.json()['user_name'], 'marissa')
        assert.equal(refusal(await server.send('/userinfo', { bearer: token })), '401 invalid_token')
      })

      it('accepts a bound token at /introspect', async () => {
        const [token, about] = [await bound(), await bound(SERVICE)]
        const target = { path: '/introspect', token, request: { form: { token: about } } }
        const answer = await sendProven(server, key, target)
        assert.equal(answer.json()['active'], true)
        const alone = await server.send('/introspect', { bearer: token, form: { token: about } })
        assert.equal(refusal(alone), '401 invalid_token')
      })

      it('accepts a bound token at /oauth/authorize', async () => {
        const basic = ['desk', 'desk-secret'] as const
        const form = { grant_type: 'password', username: 'marissa', password: 'koala', scope: 'svc.user openid' }
        const { access_token: token } = tokensOf(await provenToken(server, key, form, { basic }))
        const query = new URLSearchParams({ ...AUTO_REQUEST, scope: 'openid' }).toString()
        const path = `/oauth/authorize?${query}`
        const answer = await sendProven(server, key, { path, token })
        assert.ok(responseOf(answer).query['code'])
        assert.equal((await server.send(path, { bearer: token })).status, 401)
        assert.equal((await sendProven(server, other, { path, token })).status, 401)
      })

      it('returns the nonce of the zone of the host with X-Identity-Zone-Id', async () => {
        const token = await bound()
        const headers = { 'x-identity-zone-id': 'z1' }
        const answer = await sendProven(server, key, { path: '/oauth/clients', token, request: { headers } })
        assert.ok([200, 403].includes(answer.status), answer.text)
        assert.equal(answer.headers['dpop-nonce'], await nonceOf(server))
      })

      it('accepts opaque bound tokens', async () => {
        const form = { ...CREDENTIALS, token_format: 'opaque' }
        const { access_token: token } = tokensOf(await provenToken(server, key, form, { basic: MANAGER }))
        assert.equal((await sendProven(server, key, { path: '/oauth/clients', token })).status, 200)
        assert.equal((await server.send('/oauth/clients', { bearer: token })).status, 401)
      })
    })

    it('returns cnf from /introspect and /check_token', async () => {
      const token = await bound()
      const introspected = await server.send('/introspect', { basic: RESOURCE, form: { token } })
      assert.deepEqual(introspected.json()['cnf'], { jkt: key.jkt })
      if (mode === 'standard') assert.equal(introspected.json()['token_type'], 'DPoP')
      const checked = await server.send('/check_token', { basic: RESOURCE, form: { token } })
      assert.deepEqual(checked.json()['cnf'], { jkt: key.jkt })
    })

    it('refuses a bound token as a jwt-bearer assertion', async () => {
      const code = await insertCode(server)
      const form = { grant_type: 'authorization_code', code }
      const { access_token: assertion } = tokensOf(await provenToken(server, key, form, { basic: AUTO }))
      const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
      const answer = await server.token({ grant_type: grant, assertion }, { basic: AUTO })
      assert.ok(answer.status >= 400)
    })

    it('supports zones by host and by path, each with its own nonce', async () => {
      const z1 = ['auto', 'z1-secret'] as const
      const host = 'z1.localhost:8080'
      if (mode === 'uaa') await changeZone(server, { protocols: { dpop: true } }, 'z1')
      const form = { grant_type: 'authorization_code', code: 'none' }
      const found = await provenToken(server, key, form, { basic: z1, host })
      assert.equal(found.json()['error'], 'invalid_grant')
      const elsewhere = { nonce: await nonceOf(server) }
      assert.equal(refusal(await provenToken(server, key, form, { basic: z1, host }, elsewhere)), '400 use_dpop_nonce')
      const path = '/z/z1/oauth/token'
      const nonce = await nonceOf(server, host)
      const byPath = await sendProven(server, key, { path, request: { form, basic: z1 } }, { nonce })
      assert.equal(byPath.json()['error'], 'invalid_grant')
    })

    it('allows cross-origin requests to send proofs and read nonces', async () => {
      const origin = 'https://spa.example'
      const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,dpop' }
      const preflight = await server.send('/oauth/token', { method: 'OPTIONS', headers: { origin, ...asked } })
      assert.equal(preflight.status, 200)
      assert.match(String(preflight.headers['access-control-allow-headers']), /\bDPoP\b/)
      const request = { basic: SERVICE, headers: { origin } }
      const answer = await provenToken(server, key, CREDENTIALS, request, { nonce: undefined })
      assert.equal(refusal(answer), '400 use_dpop_nonce')
      assert.match(String(answer.headers['access-control-expose-headers']), /\bDPoP-Nonce\b/)
    })

    it('is advertised in standard only', async () => {
      const document = (await server.send('/.well-known/openid-configuration')).json()
      const reported = document['dpop_signing_alg_values_supported']
      assert.deepEqual(reported, mode === 'uaa' ? undefined : FOREIGN_ALGORITHMS)
    })

    describe('if disabled', () => {
      before(() => changeZone(server, { protocols: { dpop: false } }))
      after(() => changeZone(server, { protocols: PROTOCOLS }))

      it('ignores proofs', async () => {
        const answer = await server.token(CREDENTIALS, { basic: SERVICE, headers: { dpop: 'x' } })
        assert.equal(tokensOf(answer).token_type, 'bearer')
        assert.equal(answer.headers['dpop-nonce'], undefined)
        const browser = await signedIn(server)
        assert.ok(responseOf(await authorize(browser, { ...AUTO_REQUEST, dpop_jkt: 'x' })).query['code'])
      })

      it('refuses clients with dpop_bound_access_tokens', async () => {
        for (const headers of [{}, { dpop: 'x' }]) {
          const answer = await server.token(CREDENTIALS, { basic: STRICT, headers })
          assert.equal(refusal(answer), '400 unauthorized_client')
        }
      })

      it('does not recognize scheme DPoP', async () => {
        const { access_token: token } = tokensOf(await server.token(CREDENTIALS, { basic: MANAGER }))
        const headers = { authorization: `DPoP ${token}`, dpop: 'x' }
        const answer = await server.send('/oauth/clients', { headers })
        assert.equal(refusal(answer), '401 unauthorized')
        assert.match(challengeOf(answer), /^Bearer /)
      })

      it('is not advertised', async () => {
        const document = (await server.send('/.well-known/openid-configuration')).json()
        assert.equal(document['dpop_signing_alg_values_supported'], undefined)
      })
    })

    it('refuses bound tokens after it was disabled', async () => {
      const token = await bound()
      await changeZone(server, { protocols: { dpop: false } })
      const alone = await server.send('/oauth/clients', { bearer: token })
      const answer = await sendProven(server, key, { path: '/oauth/clients', token }, { nonce: 'x' })
      await changeZone(server, { protocols: PROTOCOLS })
      assert.equal(refusal(alone), '401 invalid_token')
      assert.equal(answer.status, 401)
    })
  })
}

/** Changes the configuration of a zone. */
async function changeZone(server: TestServer, config: object, zoneId = 'svc'): Promise<void> {
  const zone = await server.store.zones.find(zoneId)
  assert.ok(zone)
  const { protocols: _, requireDpopNonce: __, ...kept } = zone.config
  await server.store.zones.update({ ...zone, config: { ...kept, ...config } })
}
