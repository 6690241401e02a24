// FAPI 1.0 Advanced §5.2.2 requires mutual TLS, and Baseline §5.2.2 https: alternatives of later profiles are refused.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { dpopKey, provenToken } from '../support/dpop.ts'
import { KEYS } from '../support/keys.ts'
import { behindProxy, certificates, shown } from '../support/mutual-tls.ts'
import { tokensOf } from '../support/oauth.ts'
import { JWKS } from '../support/request-objects.ts'
import type { TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import { sendJson } from '../support/zones.ts'

const certified = (id: string, more: object = {}) => ({
  client_id: id,
  profile: 'fapi1-advanced',
  authorized_grant_types: ['client_credentials'],
  authorities: ['jobs.run'],
  token_endpoint_auth_method: 'tls_client_auth',
  tls_client_auth_subject_dn: 'CN=client,O=Bank',
  tls_client_certificate_bound_access_tokens: true,
  ...more,
})
const administrator = {
  client_id: 'root',
  client_secret: 'secret',
  authorized_grant_types: ['client_credentials'],
  authorities: ['clients.admin'],
}
const unbound = { tls_client_certificate_bound_access_tokens: false, dpop_bound_access_tokens: true }

for (const mode of ['standard', 'uaa'] as const) {
  describe(`Clients with FAPI 1.0 Advanced in ${mode}`, () => {
    let server: TestServer
    let bearer: string
    before(async () => {
      const clients = [...defaultBootstrap.clients, administrator, certified('bank'), certified('by-key', unbound)]
      const protocols = { dpop: true, mutualTls: true, requestObjects: true }
      const bootstrap = { ...defaultBootstrap, clients }
      const signing_keys = { active: 'ec', keys: { ec: KEYS.ES256 } }
      server = await startServer(behindProxy(mode, { bootstrap, signing_keys, zone_config: { protocols } }))
      const form = { grant_type: 'client_credentials' }
      bearer = tokensOf(await server.token(form, { basic: ['root', 'secret'] })).access_token
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    it('receive tokens bound to a certificate, not to a DPoP key', async () => {
      const headers = shown(certificates.client)
      const form = { grant_type: 'client_credentials', client_id: 'bank' }
      assert.equal((await server.token(form, { headers })).status, 200)
      const key = await dpopKey()
      const answer = await provenToken(server, key, { ...form, client_id: 'by-key' }, { headers })
      assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_request'])
      assert.equal(answer.json()['error_description'], 'This client must bind its tokens, to its certificate')
    })

    it('are refused on creation if their tokens are not certificate-bound or a redirect URI is not https', async () => {
      const create = (record: object) => sendJson(server, 'POST', '/oauth/clients', record, { bearer })
      assert.equal((await create(certified('new'))).status, 201)
      const browserClient = { authorized_grant_types: ['authorization_code'], scope: ['openid'], jwks: JWKS }
      for (const [more, about] of [
        [unbound, /tls_client_certificate_bound_access_tokens: it must be true/],
        [{ ...browserClient, redirect_uri: ['http://127.0.0.1/cb'] }, /http:\/\/127\.0\.0\.1\/cb must be https/],
        [{ ...browserClient, redirect_uri: ['http://[::1]/cb'] }, /must be https/],
        [{ ...browserClient, redirect_uri: ['com.example.bank:/cb'] }, /must be https|redirect_uri is invalid/],
      ] as const) {
        const answer = await create(certified('other', more))
        assert.equal(answer.status, 400, answer.text)
        assert.match(answer.text, about)
      }
    })

    it('are reported as violating the profile if they were created before', async () => {
      const answer = await server.send('/oauth/clients/by-key/profile', { bearer })
      const { missing } = answer.json<{ missing: readonly { key: string }[] }>()
      assert.deepEqual(
        missing.map(({ key }) => key),
        ['tls_client_certificate_bound_access_tokens'],
      )
    })
  })
}
