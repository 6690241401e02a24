// DPoP as openid-client and oauth4webapi do it, against a listening server.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { authorizeBootstrap, signedIn } from '../support/authorize.ts'
import type { Browser, TestServer } from '../support/server.ts'
import { startInRealTime } from '../support/server.ts'

const CALLBACK = 'https://native.example/cb'
const INSECURE = { [oauth.allowInsecureRequests]: true } as const

describe('DPoP with client libraries', () => {
  let server: TestServer
  let browser: Browser
  let base: URL
  before(async () => {
    const clients = [
      ...authorizeBootstrap.clients,
      {
        client_id: 'jobs',
        client_secret: 'jobs-secret',
        authorized_grant_types: ['client_credentials'],
        authorities: ['clients.read'],
        dpop_bound_access_tokens: true,
      },
    ]
    ;({ server, base } = await startInRealTime(() => ({ config: { bootstrap: { ...authorizeBootstrap, clients } } })))
    browser = await signedIn(server)
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  async function visit(url: URL): Promise<URL> {
    const answer = await browser.send(url.pathname + url.search)
    assert.equal(answer.status, 302, answer.text)
    return answer.location()
  }

  it('openid-client signs a user in as a public client, with DPoP-bound code and tokens', async () => {
    const config = await client.discovery(base, 'native', undefined, client.None(), {
      execute: [client.allowInsecureRequests],
    })
    const keyPair = await client.randomDPoPKeyPair()
    const DPoP = client.getDPoPHandle(config, keyPair)
    const verifier = client.randomPKCECodeVerifier()
    const location = await visit(
      client.buildAuthorizationUrl(config, {
        redirect_uri: CALLBACK,
        scope: 'openid',
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        dpop_jkt: await DPoP.calculateThumbprint(),
      }),
    )
    const tokens = await client.authorizationCodeGrant(config, location, { pkceCodeVerifier: verifier }, undefined, {
      DPoP,
    })
    assert.equal(tokens.token_type, 'dpop')
    const subject = tokens.claims()?.sub ?? ''
    assert.equal((await client.fetchUserInfo(config, tokens.access_token, subject, { DPoP })).sub, subject)
    await assert.rejects(client.fetchUserInfo(config, tokens.access_token, subject))

    const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '', undefined, { DPoP })
    assert.equal((await client.fetchUserInfo(config, refreshed.access_token, subject, { DPoP })).sub, subject)
    const thief = client.getDPoPHandle(config, await client.randomDPoPKeyPair())
    await assert.rejects(
      client.refreshTokenGrant(config, refreshed.refresh_token ?? '', undefined, { DPoP: thief }),
      (error: unknown) => error instanceof client.ResponseBodyError && error.error === 'invalid_grant',
    )
  })

  it('openid-client binds the code by the proof of a pushed request', async () => {
    const config = await client.discovery(base, 'auto', undefined, client.ClientSecretBasic('auto-secret'), {
      execute: [client.allowInsecureRequests],
    })
    const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair())
    const sign = async () => {
      const verifier = client.randomPKCECodeVerifier()
      const parameters = {
        redirect_uri: 'https://auto.example/cb',
        scope: 'openid',
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }
      const location = await visit(await client.buildAuthorizationUrlWithPAR(config, parameters, { DPoP }))
      return { location, checks: { pkceCodeVerifier: verifier } }
    }
    const first = await sign()
    const tokens = await client.authorizationCodeGrant(config, first.location, first.checks, undefined, { DPoP })
    assert.equal(tokens.token_type, 'dpop')
    const second = await sign()
    const thief = client.getDPoPHandle(config, await client.randomDPoPKeyPair())
    for (const options of [{ DPoP: thief }, undefined]) {
      await assert.rejects(
        client.authorizationCodeGrant(config, second.location, second.checks, undefined, options),
        (error: unknown) => error instanceof client.ResponseBodyError && error.error === 'invalid_grant',
      )
    }
  })

  it('oauth4webapi requests its own token, and calls the API with it', async () => {
    const issuer = await oauth
      .discoveryRequest(base, { ...INSECURE })
      .then(response => oauth.processDiscoveryResponse(base, response))
    assert.ok(issuer.dpop_signing_alg_values_supported?.includes('ES256'))
    const self: oauth.Client = { client_id: 'jobs' }
    const DPoP = oauth.DPoP(self, await oauth.generateKeyPair('ES256', { extractable: true }))
    const ask = async () => {
      const auth = oauth.ClientSecretBasic('jobs-secret')
      const answer = await oauth.clientCredentialsGrantRequest(issuer, self, auth, {}, { DPoP, ...INSECURE })
      return oauth.processClientCredentialsResponse(issuer, self, answer)
    }
    // The first request learns the nonce, as the library's documentation says.
    const tokens = await ask().catch((error: unknown) => {
      assert.ok(oauth.isDPoPNonceError(error), String(error))
      return ask()
    })
    assert.equal(tokens.token_type, 'dpop')
    const url = new URL('/oauth/clients?count=1', base)
    const options = { DPoP, ...INSECURE }
    const answer = await oauth.protectedResourceRequest(tokens.access_token, 'GET', url, undefined, null, options)
    assert.equal(answer.status, 200)
    await answer.body?.cancel()
    await assert.rejects(
      oauth.protectedResourceRequest(tokens.access_token, 'GET', url, undefined, null, { ...INSECURE }),
      (error: unknown) => error instanceof oauth.WWWAuthenticateChallengeError && error.status === 401,
    )
  })
})
