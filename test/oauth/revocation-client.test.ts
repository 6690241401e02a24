import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import * as oauth from 'oauth4webapi'
import { OTHER, startRevocationServer, userTokens } from '../support/revocation.ts'
import type { TestServer } from '../support/server.ts'

describe('oauth4webapi', () => {
  let server: TestServer
  let origin: string
  before(async () => {
    server = await startRevocationServer()
    await server.app.http.listen({ host: '127.0.0.1', port: 0 })
    origin = `http://127.0.0.1:${(server.app.http.server.address() as AddressInfo).port}` // a TCP address
  })
  after(() => server.stop())

  it('discovers the endpoint, revokes access and refresh tokens, and introspects them as inactive', async () => {
    const options = {
      [oauth.allowInsecureRequests]: true,
      // The base URL is replaced by the address of the server.
      [oauth.customFetch]: (url: string, init: object) => fetch(url.replace(server.baseUrl, origin), init),
    }
    const issuer = new URL(server.baseUrl)
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options))
    assert.equal(as.revocation_endpoint, `${server.baseUrl}/oauth/revoke`)
    const client = { client_id: 'target' }
    const clientAuth = oauth.ClientSecretBasic('secret')
    const resource = { client_id: 'resource' }
    const isActive = async (token: string): Promise<boolean> => {
      const secret = oauth.ClientSecretPost('resource-secret')
      const answer = await oauth.introspectionRequest(as, resource, secret, token, options)
      return (await oauth.processIntrospectionResponse(as, resource, answer)).active
    }
    for (const format of ['jwt', 'opaque']) {
      const { access_token, refresh_token } = await userTokens(server, 'marissa', { token_format: format })
      assert.equal(await isActive(access_token), true)
      for (const [token, hint] of Object.entries({
        [access_token]: 'access_token',
        [refresh_token]: 'refresh_token',
      })) {
        const parameters = { ...options, additionalParameters: { token_type_hint: hint } }
        const answer = await oauth.revocationRequest(as, client, clientAuth, token, parameters)
        assert.equal(await oauth.processRevocationResponse(answer), undefined)
      }
      assert.equal(await isActive(access_token), false)
      const refreshing = await oauth.refreshTokenGrantRequest(as, client, clientAuth, refresh_token, options)
      await assert.rejects(oauth.processRefreshTokenResponse(as, client, refreshing), { error: 'invalid_grant' })
    }
    const { access_token: foreign } = await userTokens(server, 'marissa', { basic: OTHER })
    const answer = await oauth.revocationRequest(as, client, clientAuth, foreign, options)
    await assert.rejects(oauth.processRevocationResponse(answer), { error: 'invalid_grant' })
    assert.equal(await isActive(foreign), true)
  })
})
