// Client libraries register clients, and use them against a listening server.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { exportJWK, generateKeyPair } from 'jose'
import type { JWK } from 'jose'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { signedIn } from '../../support/authorize.ts'
import { freePort } from '../../support/free-port.ts'
import type { Registered } from '../../support/registration.ts'
import { initialToken, setRegistration, startRegistrationServer } from '../../support/registration.ts'
import type { Browser, TestServer } from '../../support/server.ts'

const CALLBACK = 'https://library.example/cb'
const insecure = { [oauth.allowInsecureRequests]: true } as const

describe('Dynamic registration with client libraries', () => {
  let server: TestServer
  let browser: Browser
  let base: URL
  let keyServer: Server
  let published: readonly JWK[] = []
  let keysUrl: string
  before(async () => {
    const port = await freePort()
    base = new URL(`http://localhost:${port}`)
    server = await startRegistrationServer({ mode: 'open' }, { config: { base_url: base.href } })
    await server.app.http.listen({ host: '127.0.0.1', port })
    server.clock.advance((Date.now() - server.clock.now().getTime()) / 1000)
    browser = await signedIn(server)
    keyServer = createServer((_, answer) => {
      answer.setHeader('content-type', 'application/json')
      answer.setHeader('cache-control', 'max-age=86400')
      answer.end(JSON.stringify({ keys: published }))
    }).listen(0, '127.0.0.1')
    await once(keyServer, 'listening')
    const address = keyServer.address()
    keysUrl = `http://localhost:${typeof address === 'object' ? address?.port : ''}/keys`
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    keyServer.close()
    await server.stop()
  })

  /** Opens the authorization request as the user, and approves it. */
  async function allow(url: URL): Promise<URL> {
    const page = await browser.send(url.pathname + url.search)
    if (page.status === 302) return page.location()
    const scopes = Object.fromEntries(
      [...page.text.matchAll(/name="(scope\.\d+)" value="([^"]+)"/g)].map(([, name = '', value = '']) => [name, value]),
    )
    const answer = await browser.send('/oauth/authorize', {
      form: { user_oauth_approval: 'true', ...scopes, 'X-Svc-Csrf': browser.csrf },
    })
    assert.equal(answer.status, 302, answer.text)
    return answer.location()
  }

  /** Authorization code flow with PKCE and nonce. */
  async function signIn(config: client.Configuration) {
    const verifier = client.randomPKCECodeVerifier()
    const [state, nonce] = [client.randomState(), client.randomNonce()]
    const parameters = {
      redirect_uri: CALLBACK,
      scope: 'openid profile',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    }
    const location = await allow(client.buildAuthorizationUrl(config, parameters))
    const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce }
    return client.authorizationCodeGrant(config, location, checks)
  }

  const newKey = async (kid: string) => {
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    return { privateKey, kid, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256' } }
  }

  for (const [method, authentication] of [
    ['client_secret_basic', (secret?: string) => client.ClientSecretBasic(secret)],
    ['client_secret_post', (secret?: string) => client.ClientSecretPost(secret)],
    ['none', () => client.None()],
  ] as const) {
    it(`supports discovery, registration and sign-in by openid-client with ${method}`, async () => {
      const metadata = {
        redirect_uris: [CALLBACK],
        client_name: 'By a library',
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: method,
      }
      const options = { execute: [client.allowInsecureRequests] }
      const registered = await client.dynamicClientRegistration(base, metadata, undefined, options)
      const { client_id, client_secret } = registered.clientMetadata()
      const secret = typeof client_secret === 'string' ? client_secret : undefined
      const config = await client.discovery(base, client_id, metadata, authentication(secret), options)
      const tokens = await signIn(config)
      const info = await client.fetchUserInfo(config, tokens.access_token, tokens.claims()?.sub ?? '')
      assert.equal(info.given_name, 'Marissa')
      const again = await client.refreshTokenGrant(config, tokens.refresh_token ?? '')
      assert.notEqual(again.access_token, tokens.access_token)
    })
  }

  it('supports private_key_jwt with jwks_uri and key rotation by openid-client', async () => {
    const [first, second] = [await newKey('first'), await newKey('second')]
    published = [first.jwk]
    const metadata = {
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'ES256',
      jwks_uri: keysUrl,
    }
    const options = { execute: [client.allowInsecureRequests] }
    const { client_id } = (await client.dynamicClientRegistration(base, metadata, undefined, options)).clientMetadata()
    const withKey = ({ privateKey, kid }: typeof first) =>
      client.discovery(base, client_id, metadata, client.PrivateKeyJwt({ key: privateKey, kid }), options)
    const tokens = await signIn(await withKey(first))
    published = [second.jwk]
    server.clock.advance(31) // the minimum interval between fetches of keys
    const again = await client.refreshTokenGrant(await withKey(second), tokens.refresh_token ?? '')
    assert.notEqual(again.access_token, '')
  })

  it('supports initial access tokens and client management by oauth4webapi', async () => {
    await setRegistration(server, { mode: 'token' })
    const found = await oauth.discoveryRequest(base, insecure)
    const as = await oauth.processDiscoveryResponse(base, found)
    const metadata = { redirect_uris: [CALLBACK], client_name: 'By a library' }
    const refused = await oauth.dynamicClientRegistrationRequest(as, metadata, insecure)
    await assert.rejects(oauth.processDynamicClientRegistrationResponse(refused), {
      name: 'WWWAuthenticateChallengeError',
    })
    const options = { ...insecure, initialAccessToken: await initialToken(server) }
    const answer = await oauth.dynamicClientRegistrationRequest(as, metadata, options)
    const reported = (await answer.clone().json()) as Registered
    const registered = await oauth.processDynamicClientRegistrationResponse(answer)
    const headers = { authorization: `Bearer ${reported.registration_access_token}` }
    const read = await fetch(reported.registration_client_uri, { headers })
    const { client_id } = (await read.json()) as Registered
    assert.equal(client_id, registered.client_id)
    await setRegistration(server, { mode: 'open' })
  })
})
