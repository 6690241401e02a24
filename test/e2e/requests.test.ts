// Request objects, pushed requests and signed responses as openid-client and oauth4webapi do them, against a listening server.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { signedIn } from '../support/authorize.ts'
import { KEYS } from '../support/keys.ts'
import { CALLBACK, SIGNERS, bankClient, withBanks } from '../support/request-objects.ts'
import type { Browser, TestServer } from '../support/server.ts'
import { startInRealTime } from '../support/server.ts'

const INSECURE = { [oauth.allowInsecureRequests]: true } as const
const signingKeys = { active: 'rsa', keys: { rsa: KEYS.RS256, ec: KEYS.ES256 } }
const SIGNING = { key: SIGNERS.ec.key, kid: 'ec' }

describe('Signed and pushed requests with client libraries', () => {
  let server: TestServer
  let browser: Browser
  let base: URL
  before(async () => {
    const strict = bankClient('strict', {
      client_secret: undefined,
      profile: 'fapi2-message-signing',
      authorized_grant_types: ['authorization_code', 'refresh_token'],
    })
    ;({ server, base } = await startInRealTime(() => ({
      config: { bootstrap: withBanks(strict), signing_keys: signingKeys },
    })))
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
  const configured = (id: string, auth: client.ClientAuth): Promise<client.Configuration> =>
    client.discovery(base, id, undefined, auth, { execute: [client.allowInsecureRequests] })

  const ways: readonly {
    readonly name: string
    readonly urlOf: (config: client.Configuration, parameters: Record<string, string>) => Promise<URL>
  }[] = [
    { name: 'signs a request', urlOf: (config, sent) => client.buildAuthorizationUrlWithJAR(config, sent, SIGNING) },
    { name: 'pushes a request', urlOf: (config, sent) => client.buildAuthorizationUrlWithPAR(config, sent) },
    {
      name: 'signs and pushes a request',
      urlOf: async (config, sent) => {
        const signed = await client.buildAuthorizationUrlWithJAR(config, sent, SIGNING)
        return client.buildAuthorizationUrlWithPAR(config, signed.searchParams)
      },
    },
  ]
  for (const { name, urlOf } of ways) {
    for (const isSigned of [false, true]) {
      it(`openid-client ${name}${isSigned ? ', and receives a signed response' : ''}`, async () => {
        const config = await configured('bank', client.ClientSecretBasic('bank-secret'))
        if (isSigned) client.useJwtResponseMode(config)
        const verifier = client.randomPKCECodeVerifier()
        const [state, nonce] = [client.randomState(), client.randomNonce()]
        const url = await urlOf(config, {
          redirect_uri: CALLBACK,
          scope: 'openid',
          state,
          nonce,
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        })
        assert.equal(url.searchParams.get('state'), null)
        const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce }
        const location = await visit(url)
        assert.equal(location.searchParams.has('response'), isSigned)
        const tokens = await client.authorizationCodeGrant(config, location, checks)
        const subject = tokens.claims()?.sub ?? ''
        assert.equal((await client.fetchUserInfo(config, tokens.access_token, subject)).sub, subject)
      })
    }
  }

  it('openid-client receives an error in a signed response', async () => {
    const config = await configured('bank', client.ClientSecretBasic('bank-secret'))
    client.useJwtResponseMode(config)
    const sent = { redirect_uri: CALLBACK, scope: 'cloud.write', state: 's' }
    const location = await visit(await client.buildAuthorizationUrlWithJAR(config, sent, SIGNING))
    await assert.rejects(
      client.authorizationCodeGrant(config, location, { expectedState: 's' }),
      (error: unknown) => error instanceof client.AuthorizationResponseError && error.error === 'invalid_scope',
    )
  })

  it('openid-client receives the error of a request when pushing it', async () => {
    const config = await configured('bank', client.ClientSecretBasic('bank-secret'))
    await assert.rejects(
      client.buildAuthorizationUrlWithPAR(config, { redirect_uri: 'https://evil.example', scope: 'openid' }),
      (error: unknown) => error instanceof client.ResponseBodyError && error.error === 'invalid_request',
    )
  })

  it('oauth4webapi pushes a signed request with a DPoP proof, and redeems the code with the same key (FAPI 2.0)', async () => {
    const issuer = await oauth
      .discoveryRequest(base, { ...INSECURE })
      .then(response => oauth.processDiscoveryResponse(base, response))
    const self: oauth.Client = { client_id: 'strict' }
    const auth = oauth.PrivateKeyJwt({ key: SIGNERS.ec.key, kid: 'ec' })
    const proven = async (DPoP: oauth.DPoPHandle, more: object = { response_mode: 'jwt' }) => {
      const verifier = oauth.generateRandomCodeVerifier()
      const parameters = {
        response_type: 'code',
        redirect_uri: CALLBACK,
        scope: 'openid',
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...more,
      }
      const request = await oauth.issueRequestObject(issuer, self, new URLSearchParams(parameters), SIGNING)
      const answer = await oauth.pushedAuthorizationRequest(issuer, self, auth, { request }, { DPoP, ...INSECURE })
      const { request_uri } = await oauth.processPushedAuthorizationResponse(issuer, self, answer)
      const url = new URL(issuer.authorization_endpoint ?? '')
      url.search = new URLSearchParams({ client_id: 'strict', request_uri }).toString()
      return { verifier, location: await visit(url) }
    }
    const DPoP = oauth.DPoP(self, await oauth.generateKeyPair('ES256', { extractable: true }))
    const thief = oauth.DPoP(self, await oauth.generateKeyPair('ES256', { extractable: true }))
    // The first request learns the nonce, as the library's documentation says.
    const { verifier, location } = await proven(DPoP).catch((error: unknown) => {
      assert.ok(oauth.isDPoPNonceError(error), String(error))
      return proven(DPoP)
    })
    await assert.rejects(
      proven(DPoP, {}),
      (error: unknown) =>
        error instanceof oauth.ResponseBodyError && /signed responses/.test(error.error_description ?? ''),
    )
    const answered = await oauth.validateJwtAuthResponse(issuer, self, location, oauth.expectNoState, { ...INSECURE })
    const redeem = async (handle: oauth.DPoPHandle) => {
      const options = { DPoP: handle, ...INSECURE }
      const response = await oauth.authorizationCodeGrantRequest(
        issuer,
        self,
        auth,
        answered,
        CALLBACK,
        verifier,
        options,
      )
      return oauth.processAuthorizationCodeResponse(issuer, self, response)
    }
    const again = async (handle: oauth.DPoPHandle) =>
      redeem(handle).catch((error: unknown) => {
        if (!oauth.isDPoPNonceError(error)) throw error
        return redeem(handle)
      })
    await assert.rejects(
      again(thief),
      (error: unknown) => error instanceof oauth.ResponseBodyError && error.error === 'invalid_grant',
    )
    const fresh = await proven(DPoP)
    const second = await oauth.validateJwtAuthResponse(issuer, self, fresh.location, oauth.expectNoState, {
      ...INSECURE,
    })
    const response = await oauth.authorizationCodeGrantRequest(issuer, self, auth, second, CALLBACK, fresh.verifier, {
      DPoP,
      ...INSECURE,
    })
    const tokens = await oauth.processAuthorizationCodeResponse(issuer, self, response)
    assert.equal(tokens.token_type, 'dpop')
  })
})
