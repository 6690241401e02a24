import assert from 'node:assert/strict'
import { decodeJwt } from 'jose'
import { dpopKey, proof, provenToken, sendProven } from '../support/dpop.ts'
import type { DpopKey } from '../support/dpop.ts'
import { behindProxy, certificateClients, certificates, shown } from '../support/mutual-tls.ts'
import { insertCode, RESOURCE, tokensOf } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

const everything = {
  authorized_grant_types: ['client_credentials', 'password', 'refresh_token', 'user_token', 'authorization_code'],
  authorities: ['svc.admin', 'svc.resource', 'clients.read', 'clients.write', 'scim.read', 'scim.write', 'zones.read'],
  scope: ['openid', 'svc.user', 'cloud.read'],
  redirect_uri: ['https://app.example/cb'],
}
const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    ...certificateClients,
    { client_id: 'by-key', client_secret: 'secret', dpop_bound_access_tokens: true, ...everything },
    {
      client_id: 'by-certificate',
      client_secret: 'secret',
      tls_client_certificate_bound_access_tokens: true,
      ...everything,
    },
    {
      client_id: 'by-both',
      client_secret: 'secret',
      tls_client_certificate_bound_access_tokens: true,
      dpop_bound_access_tokens: true,
      ...everything,
    },
    {
      client_id: 'bearer',
      client_secret: 'secret',
      ...everything,
      authorized_grant_types: [...everything.authorized_grant_types, 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
    },
  ],
}

/** In both modes; `uaa` has to be configured to support sender constraints. */
const against = (attempt: (server: TestServer, key: DpopKey) => Promise<void>) => async (): Promise<void> => {
  const zone_config = { protocols: { dpop: true, mutualTls: true } }
  for (const mode of ['standard', 'uaa'] as const) {
    const server = await startServer(behindProxy(mode, { bootstrap, zone_config }))
    try {
      await attempt(server, await dpopKey())
      assert.deepEqual(server.faults, [])
    } finally {
      await server.stop()
    }
  }
}

const CREDENTIALS = { grant_type: 'client_credentials' }
const PASSWORD = { grant_type: 'password', username: 'marissa', password: 'koala', scope: 'openid svc.user' }
const CERTIFICATE = shown(certificates.client)

/** One token that is bound to a key, and one that is bound to a certificate. */
async function boundTokens(server: TestServer, key: DpopKey, form = CREDENTIALS): Promise<readonly string[]> {
  const answers = [
    await provenToken(server, key, form, { basic: ['by-key', 'secret'] }),
    await server.token(form, { basic: ['by-certificate', 'secret'], headers: CERTIFICATE }),
  ]
  return answers.map(answer => tokensOf(answer).access_token)
}

/** Attacks with stolen sender-constrained tokens. */
export const senderConstraintAttacks: readonly Attack[] = [
  {
    attack: 'sends stolen bound tokens of an administrator to every API',
    outcome: 'refused at every API',
    attempt: against(async (server, key) => {
      const tokens = await boundTokens(server, key)
      const routes = (await server.app.routes()).filter(
        ({ access, method }) => access.by === 'bearer' && method !== 'HEAD',
      )
      assert.ok(routes.length > 50)
      for (const token of tokens) {
        for (const { method, url } of routes) {
          const path = url.replaceAll(/:[a-zA-Z_]+\??|\*/g, 'x')
          const answer = await server.send(path, { method, bearer: token })
          assert.equal(answer.status, 401, `${method} ${url} ${answer.text}`)
        }
        const elsewhere = [
          await server.send('/introspect', { form: { token }, bearer: token }),
          await server.send('/RateLimitingStatus', { bearer: token }),
          await server.send('/userinfo', { form: { access_token: token } }),
        ]
        assert.ok(elsewhere.every(({ status }) => status === 401 || status === 403 || status === 404))
      }
    }),
  },
  {
    attack: 'exchanges the stolen token of a user for a code or tokens',
    outcome: 'refused',
    attempt: against(async (server, key) => {
      for (const token of await boundTokens(server, key, PASSWORD)) {
        const call = { response_type: 'code', client_id: 'bearer', redirect_uri: 'https://app.example/cb' }
        const code = await server.send('/oauth/authorize', { form: call, bearer: token })
        assert.ok(code.status === 401 && !/code=/.test(String(code.headers['location'])), code.text)
        const userToken = { grant_type: 'user_token', client_id: 'bearer' }
        assert.equal((await server.token(userToken, { bearer: token })).status, 401)
        const jwtBearer = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: token }
        const exchanged = await server.token(jwtBearer, { basic: ['bearer', 'secret'] })
        assert.notEqual(exchanged.status, 200)
      }
    }),
  },
  {
    attack: 'has only the key or only the certificate of a token that is bound to both',
    outcome: 'both are required',
    attempt: against(async (server, key) => {
      const basic = ['by-both', 'secret'] as const
      for (const request of [{ basic }, { basic, headers: CERTIFICATE }]) {
        assert.equal((await server.token(CREDENTIALS, request)).json()['error'], 'invalid_request')
      }
      assert.equal((await provenToken(server, key, CREDENTIALS, { basic })).json()['error'], 'invalid_request')
      const { access_token: token } = tokensOf(
        await provenToken(server, key, CREDENTIALS, { basic, headers: CERTIFICATE }),
      )
      assert.deepEqual(decodeJwt(token)['cnf'], { jkt: key.jkt, 'x5t#S256': certificates.client.thumbprint })
      const use = async (sender: DpopKey, headers: Record<string, string>) =>
        (await sendProven(server, sender, { path: '/oauth/clients', token, request: { headers } })).status
      assert.equal(await use(key, CERTIFICATE), 200)
      assert.equal(await use(key, {}), 401)
      assert.equal(await use(key, shown(certificates.other)), 401)
      assert.equal(await use(await dpopKey(), CERTIFICATE), 401)
      const alone = { headers: { authorization: `Bearer ${token}`, ...CERTIFICATE } }
      assert.equal((await server.send('/oauth/clients', alone)).status, 401)
    }),
  },
  {
    attack: 'uses the key of the certificate for DPoP proofs, and certificates as keys',
    outcome: 'refused',
    attempt: against(async (server, key) => {
      const [byKey = '', byCertificate = ''] = await boundTokens(server, key)
      const { publicKey, privateKey } = certificates.client
      const own = await dpopKey({ publicKey, privateKey })
      const status = async (sender: DpopKey, token: string, headers: Record<string, string>) =>
        (await sendProven(server, sender, { path: '/oauth/clients', token, request: { headers } })).status
      assert.equal(await status(own, byCertificate, {}), 401)
      assert.equal(await status(own, byCertificate, CERTIFICATE), 401, 'by the scheme DPoP')
      assert.equal(await status(own, byKey, CERTIFICATE), 401)
      assert.equal(await status(key, byKey, {}), 200)
    }),
  },
  {
    attack: 'fills the database with proofs, as a public client with invalid codes',
    outcome: 'is limited to some hundred, without limiting others',
    attempt: against(async (server, key) => {
      const form = {
        grant_type: 'authorization_code',
        client_id: 'spa',
        code: 'none',
        code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
      }
      for (let count = 0; count < 310; count += 1) {
        const unready = await provenToken(server, key, form, {}, { nonce: undefined })
        assert.equal(unready.json()['error'], 'use_dpop_nonce', 'costs nothing, and everybody begins with it')
      }
      const statuses: number[] = []
      for (let count = 0; count < 310; count += 1) {
        statuses.push((await provenToken(server, key, form)).status)
        if (statuses.at(-1) === 429) break
      }
      assert.equal(statuses[0], 400)
      assert.equal(statuses.at(-1), 429)
      tokensOf(await provenToken(server, key, CREDENTIALS, { basic: ['by-key', 'secret'] }))
      server.clock.advance(61)
      const S256 = {
        codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        codeChallengeMethod: 'S256',
      } as const
      const code = await insertCode(server, { clientId: 'spa', scopes: ['openid'], ...S256 })
      assert.equal(tokensOf(await provenToken(server, key, { ...form, code })).token_type, 'DPoP')
    }),
  },
  {
    attack: 'replays a proof at another address of the server, or in another zone',
    outcome: 'it is accepted once, and only for its URL',
    attempt: async () => {
      const options = { bootstrap, mutualTls: { endpoint_base_url: 'https://mtls.example' } }
      const server = await startServer(behindProxy('standard', options))
      const key = await dpopKey()
      const { access_token: token } = tokensOf(
        await provenToken(server, key, CREDENTIALS, { basic: ['by-key', 'secret'] }),
      )
      const nonce = String((await server.send('/userinfo', { headers: { dpop: 'x' } })).headers['dpop-nonce'])
      const at = server.clock.now()
      const made = (url: string) => proof(key, { method: 'GET', url, at, nonce, token })
      const send = async (dpop: string, more: object = {}) =>
        (await server.send('/oauth/clients', { headers: { authorization: `DPoP ${token}`, dpop }, ...more })).status
      const first = await made('https://mtls.example/oauth/clients')
      assert.equal(await send(first, { host: 'mtls.example' }), 200)
      assert.equal(await send(first), 401)
      for (const url of [
        'https://evil.example/oauth/clients',
        'https://mtls.example/oauth/clients/',
        'http://mtls.example/oauth/clients',
      ]) {
        assert.equal(await send(await made(url)), 401, url)
      }
      assert.deepEqual(server.faults, [])
      await server.stop()
    },
  },
  {
    attack: 'introspects a stolen token',
    outcome: 'the response has the confirmation claim, which the resource server must check',
    attempt: against(async (server, key) => {
      const [byKey = '', byCertificate = ''] = await boundTokens(server, key)
      const reported = async (token: string) =>
        (await server.send('/introspect', { form: { token }, basic: RESOURCE })).json()
      assert.deepEqual((await reported(byKey))['cnf'], { jkt: key.jkt })
      assert.deepEqual((await reported(byCertificate))['cnf'], { 'x5t#S256': certificates.client.thumbprint })
    }),
  },
]
