// The device grant and token exchange as openid-client and oauth4webapi do them, against a listening server.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { signedIn } from '../support/authorize.ts'
import { hiddenFields } from '../support/forms.ts'
import { passwordTokens } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { defaultBootstrap, startInRealTime } from '../support/server.ts'

const INSECURE = { [oauth.allowInsecureRequests]: true } as const
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

describe('Device authorization and token exchange with client libraries', () => {
  let server: TestServer
  let base: URL
  before(async () => {
    const clients = [
      ...defaultBootstrap.clients,
      {
        client_id: 'tv',
        allowpublic: true,
        authorized_grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
        scope: ['openid', 'cloud.read'],
      },
      {
        client_id: 'cloud',
        client_secret: 'secret',
        authorized_grant_types: [EXCHANGE],
        scope: ['cloud.read'],
        tokenExchange: [{ audience: 'stock', subjects: ['app'], scopes: ['cloud.read'], mode: 'delegation' }],
      },
    ]
    ;({ server, base } = await startInRealTime(() => ({ config: { bootstrap: { ...defaultBootstrap, clients } } })))
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  async function decide(userCode: string, answer: 'true' | 'false'): Promise<void> {
    const browser = await signedIn(server)
    const form = hiddenFields((await browser.send('/device')).text)
    const page = await browser.send('/device', { form: { ...form, user_code: userCode } })
    const decision = { ...hiddenFields(page.text), user_oauth_approval: answer }
    assert.equal((await browser.send('/device/decision', { form: decision })).status, 200)
  }

  it('openid-client signs a device in, and refreshes its tokens', async () => {
    const config = await client.discovery(base, 'tv', undefined, client.None(), {
      execute: [client.allowInsecureRequests],
    })
    const begun = await client.initiateDeviceAuthorization(config, { scope: 'openid cloud.read' })
    await decide(begun.user_code, 'true')
    const tokens = await client.pollDeviceAuthorizationGrant(config, { ...begun, interval: 0 })
    assert.equal([tokens.claims()?.aud].flat().join(), 'tv')
    const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '')
    assert.equal(refreshed.claims()?.sub, tokens.claims()?.sub)
  })

  it('openid-client reports that the user denied the request', async () => {
    const config = await client.discovery(base, 'tv', undefined, client.None(), {
      execute: [client.allowInsecureRequests],
    })
    const begun = await client.initiateDeviceAuthorization(config, {})
    await decide(begun.user_code, 'false')
    await assert.rejects(
      client.pollDeviceAuthorizationGrant(config, { ...begun, interval: 0 }),
      (error: unknown) => error instanceof client.ResponseBodyError && error.error === 'access_denied',
    )
  })

  it('oauth4webapi polls until approval, for DPoP-bound tokens', async () => {
    const issuer = await oauth
      .discoveryRequest(base, { ...INSECURE })
      .then(response => oauth.processDiscoveryResponse(base, response))
    const self: oauth.Client = { client_id: 'tv' }
    const DPoP = oauth.DPoP(self, await oauth.generateKeyPair('ES256'))
    const answer = await oauth.deviceAuthorizationRequest(issuer, self, oauth.None(), { scope: 'openid' }, INSECURE)
    const begun = await oauth.processDeviceAuthorizationResponse(issuer, self, answer)
    const ask = async () => {
      const options = { DPoP, ...INSECURE }
      const response = await oauth.deviceCodeGrantRequest(issuer, self, oauth.None(), begun.device_code, options)
      return oauth.processDeviceCodeResponse(issuer, self, response)
    }
    const asked = async () =>
      ask().catch((error: unknown) => {
        if (oauth.isDPoPNonceError(error)) return ask()
        throw error
      })
    await assert.rejects(
      asked(),
      (error: unknown) => error instanceof oauth.ResponseBodyError && error.error === 'authorization_pending',
    )
    await decide(begun.user_code, 'true')
    server.clock.advance(5)
    const tokens = await asked()
    assert.equal(tokens.token_type, 'dpop')
    assert.ok(decodeJwt(tokens.access_token)['cnf'])
  })

  it('oauth4webapi exchanges a token bound to another key for one bound to its own', async () => {
    const issuer = await oauth
      .discoveryRequest(base, { ...INSECURE })
      .then(response => oauth.processDiscoveryResponse(base, response))
    const self: oauth.Client = { client_id: 'cloud' }
    const bound = async (client: oauth.Client, auth: oauth.ClientAuth, grant: string, form: URLSearchParams) => {
      const DPoP = oauth.DPoP(client, await oauth.generateKeyPair('ES256'))
      const ask = async () => {
        const options = { DPoP, ...INSECURE }
        const response = await oauth.genericTokenEndpointRequest(issuer, client, auth, grant, form, options)
        return oauth.processGenericTokenEndpointResponse(issuer, client, response)
      }
      return ask().catch((error: unknown) => {
        if (oauth.isDPoPNonceError(error)) return ask()
        throw error
      })
    }
    const password = new URLSearchParams({ username: 'marissa', password: 'koala', scope: 'openid cloud.read' })
    const app = oauth.ClientSecretBasic('app-secret')
    const { access_token: subject } = await bound({ client_id: 'app' }, app, 'password', password)
    const form = new URLSearchParams({ subject_token: subject, subject_token_type: ACCESS_TOKEN, audience: 'stock' })
    const tokens = await bound(self, oauth.ClientSecretBasic('secret'), EXCHANGE, form)
    assert.equal(tokens.token_type, 'dpop')
    assert.notDeepEqual(decodeJwt(tokens.access_token)['cnf'], decodeJwt(subject)['cnf'])
    const plainly = oauth
      .genericTokenEndpointRequest(issuer, self, oauth.ClientSecretBasic('secret'), EXCHANGE, form, INSECURE)
      .then(response => oauth.processGenericTokenEndpointResponse(issuer, self, response))
    await assert.rejects(
      plainly,
      (error: unknown) => error instanceof oauth.ResponseBodyError && error.error === 'invalid_request',
    )
  })

  it('openid-client exchanges a user’s token for one of another service', async () => {
    const config = await client.discovery(base, 'cloud', 'secret', client.ClientSecretBasic('secret'), {
      execute: [client.allowInsecureRequests],
    })
    const { access_token: subject } = await passwordTokens(server, { scope: 'openid cloud.read' })
    const parameters = { subject_token: subject, subject_token_type: ACCESS_TOKEN, audience: 'stock' }
    const tokens = await client.genericGrantRequest(config, EXCHANGE, parameters)
    assert.equal(tokens['issued_token_type'], ACCESS_TOKEN)
    assert.deepEqual(decodeJwt(tokens.access_token)['act'], { sub: 'cloud' })
  })
})
