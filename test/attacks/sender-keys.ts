import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { NONCE_SECONDS } from '../../src/token/sender/dpop-nonce.ts'
import { AUTO_REQUEST, authorize, authorizeBootstrap, responseOf, signedIn } from '../support/authorize.ts'
import { temporaryFolder } from '../support/config.ts'
import { dpopKey, nonceOf, proof, provenToken, sendProven } from '../support/dpop.ts'
import type { DpopKey } from '../support/dpop.ts'
import { AUTO, insertCode, tokensOf } from '../support/oauth.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

const MANAGER = ['manager', 'manager-secret'] as const
const CREDENTIALS = { grant_type: 'client_credentials' }
const PATH = '/oauth/clients'

const bootstrap = {
  ...authorizeBootstrap,
  clients: [
    ...authorizeBootstrap.clients,
    {
      client_id: 'manager',
      client_secret: 'manager-secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['clients.read'],
      dpop_bound_access_tokens: true,
    },
  ],
}

/** The server, the key of the client, and that of the attacker. */
interface Scene {
  readonly server: TestServer
  readonly key: DpopKey
  readonly thief: DpopKey
  /** An access token that is bound to `key`. */
  readonly token: string
}

const against = (attempt: (scene: Scene) => Promise<void>) => async (): Promise<void> => {
  for (const mode of ['standard', 'uaa'] as const) {
    const server = await startServer({ mode, config: { bootstrap, zone_config: { protocols: { dpop: true } } } })
    try {
      const [key, thief] = [await dpopKey(), await dpopKey()]
      const { access_token: token } = tokensOf(await provenToken(server, key, CREDENTIALS, { basic: MANAGER }))
      await attempt({ server, key, thief, token })
      assert.deepEqual(server.faults, [])
    } finally {
      await server.stop()
    }
  }
}

function refusedAs(answer: TestAnswer, want: string): void {
  assert.equal(`${answer.status} ${String(answer.json()['error'])}`, want, answer.text)
}

/** Attacks on DPoP-bound tokens. */
export const senderKeyAttacks: readonly Attack[] = [
  {
    attack: 'uses a stolen bound token as a bearer token',
    outcome: '401 invalid_token',
    attempt: against(async ({ server, token }) =>
      refusedAs(await server.send(PATH, { bearer: token }), '401 invalid_token'),
    ),
  },
  {
    attack: 'uses a stolen token with a proof of their own key',
    outcome: '401 invalid_token',
    attempt: against(async ({ server, thief, token }) =>
      refusedAs(await sendProven(server, thief, { path: PATH, token }), '401 invalid_token'),
    ),
  },
  {
    attack: 'puts the key of the client into the proof, and signs with their own',
    outcome: '401 invalid_dpop_proof',
    attempt: against(async ({ server, key, thief, token }) => {
      const content = { signedBy: thief.privateKey }
      refusedAs(await sendProven(server, key, { path: PATH, token }, content), '401 invalid_dpop_proof')
    }),
  },
  {
    attack: 'sends an unsigned proof, or signs with the public key as a shared secret',
    outcome: '401 invalid_dpop_proof',
    attempt: against(async ({ server, key, token }) => {
      const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const iat = server.clock.now().getTime() / 1000
      const ath = createHash('sha256').update(token).digest('base64url')
      const nonce = await nonceOf(server)
      const claims = { jti: 'x', htm: 'GET', htu: server.baseUrl + PATH, iat, ath, nonce }
      for (const alg of ['none', 'None', 'HS256', '']) {
        for (const signature of ['', 'x']) {
          const dpop = `${part({ typ: 'dpop+jwt', alg, jwk: key.jwk })}.${part(claims)}.${signature}`
          const headers = { authorization: `DPoP ${token}`, dpop }
          refusedAs(await server.send(PATH, { headers }), '401 invalid_dpop_proof')
        }
      }
    }),
  },
  {
    attack: 'replays a request',
    outcome: '401 invalid_dpop_proof',
    attempt: against(async ({ server, key, token }) => {
      const nonce = await nonceOf(server)
      const content = { method: 'GET', url: server.baseUrl + PATH, at: server.clock.now(), nonce, token }
      const headers = { authorization: `DPoP ${token}`, dpop: await proof(key, content) }
      assert.equal((await server.send(PATH, { headers })).status, 200)
      refusedAs(await server.send(PATH, { headers }), '401 invalid_dpop_proof')
    }),
  },
  {
    attack: 'replays a request at another process of the server',
    outcome: '401 invalid_dpop_proof',
    attempt: async () => {
      const database = `sqlite:${join(temporaryFolder(), 'shared.db')}`
      const first = await startServer({ config: { bootstrap }, database })
      const second = await startServer({ config: { bootstrap }, database })
      try {
        const key = await dpopKey()
        const { access_token: token } = tokensOf(await provenToken(first, key, CREDENTIALS, { basic: MANAGER }))
        const nonce = await nonceOf(second) // any process takes it
        const content = { method: 'GET', url: first.baseUrl + PATH, at: first.clock.now(), nonce, token }
        const headers = { authorization: `DPoP ${token}`, dpop: await proof(key, content) }
        assert.equal((await first.send(PATH, { headers })).status, 200)
        refusedAs(await second.send(PATH, { headers }), '401 invalid_dpop_proof')
      } finally {
        await first.stop()
        await second.stop()
      }
    },
  },
  {
    attack: 'creates proofs for the future while having access to the key',
    outcome: '401 use_dpop_nonce',
    attempt: against(async ({ server, key, token }) => {
      const nonce = await nonceOf(server)
      const at = new Date(server.clock.now().getTime() + 2 * NONCE_SECONDS * 1000)
      server.clock.advance(2 * NONCE_SECONDS)
      refusedAs(await sendProven(server, key, { path: PATH, token }, { at, nonce }), '401 use_dpop_nonce')
      refusedAs(await sendProven(server, key, { path: PATH, token }, { at, nonce: undefined }), '401 use_dpop_nonce')
    }),
  },
  {
    attack: 'uses the nonce of another tenant',
    outcome: '401 use_dpop_nonce',
    attempt: against(async ({ server, key, token }) => {
      const nonce = await nonceOf(server, 'z1.localhost:8080')
      refusedAs(await sendProven(server, key, { path: PATH, token }, { nonce }), '401 use_dpop_nonce')
    }),
  },
  {
    attack: 'uses a proof for another API or another token',
    outcome: '401 invalid_dpop_proof',
    attempt: against(async ({ server, key, token }) => {
      const elsewhere = [
        { url: `${server.baseUrl}/Users` },
        { url: 'https://api.example/oauth/clients' },
        { token: 'x' },
      ]
      for (const content of elsewhere) {
        refusedAs(await sendProven(server, key, { path: PATH, token }, content), '401 invalid_dpop_proof')
      }
    }),
  },
  {
    attack: 'removes the proof from a token request of a client that requires DPoP',
    outcome: '400 invalid_request',
    attempt: against(async ({ server }) =>
      refusedAs(await server.token(CREDENTIALS, { basic: MANAGER }), '400 invalid_request'),
    ),
  },
  {
    attack: 'redeems a stolen code that is bound to a key',
    outcome: '400 invalid_grant, with another key and without',
    attempt: against(async ({ server, key, thief }) => {
      const codes = [1, 2].map(async () => {
        const request = { ...AUTO_REQUEST, dpop_jkt: key.jkt }
        return responseOf(await authorize(await signedIn(server), request)).query['code'] ?? ''
      })
      const [one = '', two = ''] = await Promise.all(codes)
      const form = { grant_type: 'authorization_code', redirect_uri: AUTO_REQUEST.redirect_uri }
      refusedAs(await provenToken(server, thief, { ...form, code: one }, { basic: AUTO }), '400 invalid_grant')
      refusedAs(await server.token({ ...form, code: two }, { basic: AUTO }), '400 invalid_grant')
    }),
  },
  {
    attack: 'refreshes with the stolen refresh token of a public client',
    outcome: 'refused with another key and without; the client can still refresh',
    attempt: against(async ({ server, key, thief }) => {
      const verifier = 'v'.repeat(43)
      const codeChallenge = createHash('sha256').update(verifier).digest('base64url')
      const code = await insertCode(server, { clientId: 'spa', codeChallenge, codeChallengeMethod: 'S256' })
      const exchange = { grant_type: 'authorization_code', code, client_id: 'spa', code_verifier: verifier }
      const { refresh_token: stolen } = tokensOf(await provenToken(server, key, exchange))
      const form = { grant_type: 'refresh_token', client_id: 'spa', refresh_token: stolen }
      const answers = [await provenToken(server, thief, form), await server.token(form)]
      for (const { status, text } of answers) {
        assert.match(`${status} ${text}`, /^400 .*"invalid_grant"|^401 .*"invalid_token"/)
      }
      tokensOf(await provenToken(server, key, form))
    }),
  },
  {
    attack: 'exchanges a stolen bound token for a bearer token, as an assertion',
    outcome: 'refused',
    attempt: against(async ({ server, key }) => {
      const code = await insertCode(server)
      const form = { grant_type: 'authorization_code', code }
      const { access_token: assertion } = tokensOf(await provenToken(server, key, form, { basic: AUTO }))
      const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion }
      assert.ok((await server.token(grant, { basic: AUTO })).status >= 400)
    }),
  },
  {
    attack: 'sends proofs with slow keys or of megabytes',
    outcome: '400 before anything is verified',
    attempt: against(async ({ server, key }) => {
      const wide = { ...key.jwk, kty: 'RSA', n: 'x'.repeat(4000), e: 'x'.repeat(3000) }
      for (const header of [{ alg: 'RS256', jwk: wide }, { jwk: { ...key.jwk, more: 'x'.repeat(10_000) } }]) {
        const sent = await proof(key, { url: `${server.baseUrl}/oauth/token`, at: server.clock.now() })
        const [, claims = '', signature = ''] = sent.split('.')
        const head = Buffer.from(JSON.stringify({ typ: 'dpop+jwt', alg: 'ES256', ...header })).toString('base64url')
        const headers = { dpop: `${head}.${claims}.${signature}` }
        refusedAs(await server.token(CREDENTIALS, { basic: MANAGER, headers }), '400 invalid_dpop_proof')
      }
    }),
  },
]
