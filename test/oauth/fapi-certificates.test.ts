import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { authorize, responseOf, signedIn } from '../support/authorize.ts'
import type { TestCertificate } from '../support/client-certificates.ts'
import { dpopKey, provenToken, sendProven } from '../support/dpop.ts'
import { KEYS } from '../support/keys.ts'
import { behindProxy, certificates, shown } from '../support/mutual-tls.ts'
import { tokensOf, verified } from '../support/oauth.ts'
import { pkce } from '../support/request-objects.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'

const CALLBACK = 'https://bank.example/cb'
const bank = (id: string, more: object = {}) => ({
  client_id: id,
  profile: 'fapi2-security',
  token_endpoint_auth_method: 'tls_client_auth',
  tls_client_auth_subject_dn: 'CN=client,O=Bank',
  authorized_grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  scope: ['openid'],
  authorities: ['jobs.run'],
  redirect_uri: [CALLBACK],
  autoapprove: true,
  ...more,
})
const bootstrap = {
  ...defaultBootstrap,
  clients: [bank('bank', { tls_client_certificate_bound_access_tokens: true }), bank('by-key')],
}

describe('FAPI 2.0 with certificates', () => {
  let server: TestServer
  before(async () => {
    const signing = { signing_keys: { active: 'ec', keys: { ec: KEYS.ES256 } } }
    server = await startServer(behindProxy('standard', { bootstrap, ...signing }))
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  const headersOf = (certificate: TestCertificate | undefined) => (certificate ? shown(certificate) : {})
  const push = (challenge: string, certificate?: TestCertificate, clientId = 'bank'): Promise<TestAnswer> => {
    const request = { response_type: 'code', client_id: clientId, redirect_uri: CALLBACK, scope: 'openid', state: 's' }
    const form = { ...request, code_challenge: challenge, code_challenge_method: 'S256' }
    return server.send('/oauth/par', { form, headers: headersOf(certificate) })
  }

  async function codeFor(clientId = 'bank'): Promise<{ code: string; code_verifier: string }> {
    const { verifier, challenge } = pkce()
    const pushed = await push(challenge, certificates.client, clientId)
    assert.equal(pushed.status, 201, pushed.text)
    const { request_uri } = pushed.json<{ request_uri: string }>()
    const answer = await authorize(await signedIn(server), { client_id: clientId, request_uri })
    const { code = '', iss } = responseOf(answer).query
    assert.equal(iss, server.baseUrl)
    return { code, code_verifier: verifier }
  }

  const redeem = async (certificate?: TestCertificate, change: Record<string, string> = {}): Promise<TestAnswer> => {
    const usual = { grant_type: 'authorization_code', client_id: 'bank', redirect_uri: CALLBACK, ...(await codeFor()) }
    return server.token({ ...usual, ...change }, { headers: headersOf(certificate) })
  }
  const userinfo = (token: string, certificate?: TestCertificate, scheme = 'Bearer'): Promise<TestAnswer> =>
    server.send('/userinfo', { headers: { authorization: `${scheme} ${token}`, ...headersOf(certificate) } })

  it('supports the flow from a pushed request to userinfo and refresh', async () => {
    const tokens = tokensOf(await redeem(certificates.client))
    assert.deepEqual((await verified(server, tokens.access_token)).payload['cnf'], {
      'x5t#S256': certificates.client.thumbprint,
    })
    assert.equal((await userinfo(tokens.access_token, certificates.client)).status, 200)
    const form = { grant_type: 'refresh_token', client_id: 'bank', refresh_token: tokens.refresh_token }
    const again = tokensOf(await server.token(form, { headers: shown(certificates.client) }))
    assert.equal(again.refresh_token, tokens.refresh_token)
    assert.equal((await userinfo(again.access_token, certificates.client)).status, 200)
  })

  it('requires the certificate at each step', async () => {
    const { challenge } = pkce()
    for (const wrong of [undefined, certificates.names, certificates.untrusted]) {
      assert.equal((await push(challenge, wrong)).status, 401)
      assert.equal((await redeem(wrong)).json()['error'], 'invalid_client')
    }
    const { access_token: token } = tokensOf(await redeem(certificates.client))
    assert.equal((await userinfo(token)).status, 401)
    assert.equal((await userinfo(token, certificates.renewed)).status, 401)
  })

  it('requires client_id at the token endpoint', async () => {
    const answer = await redeem(certificates.client, { client_id: '' })
    assert.equal(answer.status, 401)
  })

  it('compares the token scheme case-insensitively', async () => {
    const { access_token: token } = tokensOf(await redeem(certificates.client))
    for (const scheme of ['bearer', 'BEARER', 'bEaReR']) {
      assert.equal((await userinfo(token, certificates.client, scheme)).status, 200)
    }
  })

  it('supports DPoP-bound tokens, and refuses unbound tokens', async () => {
    const headers = shown(certificates.client)
    const form = { grant_type: 'client_credentials', client_id: 'by-key' }
    const nothing = await server.token(form, { headers })
    assert.match(String(nothing.json()['error_description']), /must bind its tokens/)
    const key = await dpopKey()
    const usual = { grant_type: 'authorization_code', client_id: 'by-key', redirect_uri: CALLBACK }
    const tokens = tokensOf(await provenToken(server, key, { ...usual, ...(await codeFor('by-key')) }, { headers }))
    assert.equal(tokens.token_type, 'DPoP')
    assert.equal((await sendProven(server, key, { path: '/userinfo', token: tokens.access_token })).status, 200)
  })
})
