// The grants, methods and flows that openid-client knows, each driven by it against a listening server: what a library
// that others wrote refuses, their clients would too. The user's browser is the one of the other tests.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { exportJWK, generateKeyPair } from 'jose'
import * as client from 'openid-client'
import { authorizeBootstrap, signedIn } from '../support/authorize.ts'
import { hiddenFields, unescaped } from '../support/forms.ts'
import { passwordTokens } from '../support/oauth.ts'
import type { Browser, TestServer } from '../support/server.ts'
import { startInRealTime } from '../support/server.ts'

const CALLBACK = 'https://library.example/cb'

describe('openid-client', () => {
  let server: TestServer
  let browser: Browser
  let base: URL
  let signer: Awaited<ReturnType<typeof generateKeyPair>>['privateKey']
  before(async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    signer = privateKey
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' }] }
    const common = {
      authorized_grant_types: [
        'authorization_code',
        'refresh_token',
        'implicit',
        'client_credentials',
        'password',
        'user_token',
        'urn:ietf:params:oauth:grant-type:jwt-bearer',
      ],
      scope: ['openid', 'profile', 'email', 'svc.user', 'cloud.read'],
      authorities: ['svc.resource', 'jobs.run'],
      redirect_uri: [CALLBACK],
      post_logout_redirect_uris: ['https://library.example/bye'],
      autoapprove: true,
    }
    const clients = [
      ...authorizeBootstrap.clients,
      { ...common, client_id: 'library', client_secret: 's e+c%r:ét' },
      { ...common, client_id: 'signer', jwks },
      {
        ...common,
        client_id: 'public',
        allowpublic: true,
        authorized_grant_types: ['authorization_code', 'refresh_token'],
      },
    ]
    ;({ server, base } = await startInRealTime(() => ({ config: { bootstrap: { ...authorizeBootstrap, clients } } })))
    browser = await signedIn(server)
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  const discover = (id: string, auth?: client.ClientAuth): Promise<client.Configuration> =>
    client.discovery(base, id, undefined, auth, { execute: [client.allowInsecureRequests] })
  const library = (): Promise<client.Configuration> => discover('library', client.ClientSecretBasic('s e+c%r:ét'))
  const key = () => ({ key: signer, kid: 'k1' })

  /** Opens the URL as the signed-in user, and returns the redirect target. */
  async function visit(url: URL): Promise<URL> {
    const answer = await browser.send(url.pathname + url.search)
    assert.equal(answer.status, 302, answer.text)
    return answer.location()
  }

  const methods: readonly { name: string; id: string; auth: () => client.ClientAuth }[] = [
    { name: 'client_secret_basic', id: 'library', auth: () => client.ClientSecretBasic('s e+c%r:ét') },
    { name: 'client_secret_post', id: 'library', auth: () => client.ClientSecretPost('s e+c%r:ét') },
    { name: 'private_key_jwt', id: 'signer', auth: () => client.PrivateKeyJwt(key()) },
  ]
  for (const { name, id, auth } of methods) {
    it(`requests, introspects and revokes its own token by ${name}`, async () => {
      const config = await discover(id, auth())
      const tokens = await client.clientCredentialsGrant(config, { scope: 'jobs.run' })
      assert.equal(tokens.scope, 'jobs.run')
      assert.equal((await client.tokenIntrospection(config, tokens.access_token)).active, true)
      await client.tokenRevocation(config, tokens.access_token)
      assert.equal((await client.tokenIntrospection(config, tokens.access_token)).active, false)
    })
  }

  it('verifies a signed introspection response (RFC 9701)', async () => {
    const auth = client.ClientSecretBasic('s e+c%r:ét')
    const metadata = { introspection_signed_response_alg: 'RS256' }
    const config = await client.discovery(base, 'library', metadata, auth, { execute: [client.allowInsecureRequests] })
    client.enableNonRepudiationChecks(config)
    let type: string | null = null
    config[client.customFetch] = async (url, options) => {
      const answer = await fetch(url, { ...options, body: options.body as string | undefined } as RequestInit)
      if (url.endsWith('/introspect')) type = answer.headers.get('content-type')
      return answer
    }
    const { access_token: token } = await client.clientCredentialsGrant(config, { scope: 'jobs.run' })
    const { active, scope } = await client.tokenIntrospection(config, token)
    assert.deepEqual([active, scope, type], [true, 'jobs.run', 'application/token-introspection+jwt'])
  })

  for (const [name, id, auth] of [
    ['a confidential client', 'library', () => client.ClientSecretBasic('s e+c%r:ét')],
    ['a client that signs', 'signer', () => client.PrivateKeyJwt(key())],
    ['a public client', 'public', () => client.None()],
  ] as const) {
    it(`signs a user in by code with PKCE and nonce, reads userinfo, and refreshes, as ${name}`, async () => {
      const config = await discover(id, auth())
      const verifier = client.randomPKCECodeVerifier()
      const [state, nonce] = [client.randomState(), client.randomNonce()]
      const location = await visit(
        client.buildAuthorizationUrl(config, {
          redirect_uri: CALLBACK,
          scope: 'openid profile email',
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          state,
          nonce,
        }),
      )
      const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true }
      const tokens = await client.authorizationCodeGrant(config, location, checks)
      const subject = tokens.claims()?.sub ?? ''
      const user = await client.fetchUserInfo(config, tokens.access_token, subject)
      assert.deepEqual([user['user_name'], user.email], ['marissa', 'marissa@example.org'])
      const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '')
      assert.equal(refreshed.claims()?.sub, subject)
      assert.equal((await client.fetchUserInfo(config, refreshed.access_token, subject)).sub, subject)
    })
  }

  it('receives an ID token in the fragment (implicit)', async () => {
    const config = await library()
    client.useIdTokenResponseType(config)
    const [state, nonce] = [client.randomState(), client.randomNonce()]
    const location = await visit(
      client.buildAuthorizationUrl(config, { redirect_uri: CALLBACK, scope: 'openid', state, nonce }),
    )
    const claims = await client.implicitAuthentication(config, location, nonce, { expectedState: state })
    assert.equal(claims['user_name'], 'marissa')
  })

  for (const mode of ['fragment', 'form_post']) {
    it(`receives code and ID token by ${mode}, checks c_hash, and exchanges the code (hybrid)`, async () => {
      const config = await library()
      client.useCodeIdTokenResponseType(config)
      const [state, nonce] = [client.randomState(), client.randomNonce()]
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: CALLBACK,
        scope: 'openid',
        response_mode: mode,
        state,
        nonce,
      })
      let location: URL
      if (mode === 'fragment') location = await visit(url)
      else {
        const page = await browser.send(url.pathname + url.search)
        const fields = Object.entries(hiddenFields(page.text)).map(([name, value]) => [name, unescaped(value)] as const)
        location = new URL(`${CALLBACK}#${new URLSearchParams(Object.fromEntries(fields)).toString()}`)
      }
      const tokens = await client.authorizationCodeGrant(config, location, {
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      })
      assert.equal(tokens.claims()?.['user_name'], 'marissa')
    })
  }

  it('requests tokens by the password and JWT bearer grants', async () => {
    const config = await library()
    const byPassword = await client.genericGrantRequest(config, 'password', { username: 'marissa', password: 'koala' })
    assert.equal(byPassword.claims()?.['user_name'], 'marissa')
    const byToken = await client.genericGrantRequest(config, 'urn:ietf:params:oauth:grant-type:jwt-bearer', {
      assertion: byPassword.id_token ?? '',
    })
    assert.equal(
      (await client.fetchUserInfo(config, byToken.access_token, byPassword.claims()?.sub ?? '')).email,
      'marissa@example.org',
    )
  })

  it('receives an error description with every refusal', async () => {
    const config = await library()
    await assert.rejects(client.clientCredentialsGrant(config, { scope: 'x' }), { error: 'invalid_scope', status: 400 })
    await assert.rejects(client.refreshTokenGrant(config, 'x'), { error: 'invalid_grant', status: 400 })
    const wrong = await discover('library', client.ClientSecretBasic('wrong'))
    await assert.rejects(client.clientCredentialsGrant(wrong), {
      code: 'OAUTH_WWW_AUTHENTICATE_CHALLENGE',
      status: 401,
    })
    const url = client.buildAuthorizationUrl(config, { redirect_uri: CALLBACK, scope: 'openid magic', state: 's' })
    await assert.rejects(client.authorizationCodeGrant(config, await visit(url), { expectedState: 's' }), {
      error: 'invalid_scope',
    })
  })

  it('signs the user out, and receives its state', async () => {
    const config = await library()
    const other = await signedIn(server)
    const { id_token: hint } = await passwordTokens(server, {}, ['library', 's e+c%r:ét'])
    const url = client.buildEndSessionUrl(config, {
      id_token_hint: hint,
      post_logout_redirect_uri: 'https://library.example/bye',
      state: 's1',
    })
    const answer = await other.send(url.pathname + url.search)
    assert.equal(answer.location().href, 'https://library.example/bye?state=s1')
    assert.equal((await other.send('/')).status, 302)
  })
})
