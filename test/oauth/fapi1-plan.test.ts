// The modules of the OpenID Foundation's FAPI 1.0 Advanced test plan, by their names, for clients that authenticate with
// private_key_jwt or mTLS, send requests by value or PAR, and receive ID tokens with codes or JARM responses.
import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { createLocalJWKSet, decodeJwt, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import type { JWTPayload } from 'jose'
import { authorize, responseOf, signedIn } from '../support/authorize.ts'
import { KEYS } from '../support/keys.ts'
import { behindProxy, certificates, shown } from '../support/mutual-tls.ts'
import { pkce } from '../support/request-objects.ts'
import { rsaCryptoKeys } from '../support/rsa-keys.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'

const ISSUER = 'http://localhost:8080'
const CALLBACK = 'https://bank.example/cb'
/** A redirect URI that was registered before the profile. */
const LOOPBACK = 'http://127.0.0.1/cb'
const ps256 = await generateKeyPair('PS256', { extractable: true })
const rs256 = await rsaCryptoKeys()
const foreign = await generateKeyPair('PS256', { extractable: true })
const SIGNERS = {
  ps: { alg: 'PS256', kid: 'ps', key: ps256.privateKey },
  rs: { alg: 'RS256', kid: 'rs', key: rs256.privateKey },
  foreign: { alg: 'PS256', kid: 'ps', key: foreign.privateKey },
} as const
const jwks = {
  keys: [
    { ...(await exportJWK(ps256.publicKey)), kid: 'ps', alg: 'PS256', use: 'sig' },
    { ...(await exportJWK(rs256.publicKey)), kid: 'rs', alg: 'RS256', use: 'sig' },
  ],
}

interface Variant {
  readonly auth: 'private_key_jwt' | 'mTLS'
  readonly by: 'value' | 'push'
  readonly response: 'ID token' | 'JARM'
}
const VARIANTS: readonly Variant[] = (['private_key_jwt', 'mTLS'] as const).flatMap(auth =>
  (['value', 'push'] as const).flatMap(by => (['ID token', 'JARM'] as const).map(response => ({ auth, by, response }))),
)

const clientOf = (auth: Variant['auth'], id: string) => ({
  client_id: id,
  profile: 'fapi1-advanced',
  authorized_grant_types: ['authorization_code', 'refresh_token'],
  scope: ['openid', 'profile'],
  redirect_uri: [CALLBACK, LOOPBACK],
  autoapprove: true,
  jwks,
  tls_client_certificate_bound_access_tokens: true,
  ...(auth === 'mTLS'
    ? { token_endpoint_auth_method: 'tls_client_auth', tls_client_auth_subject_dn: 'CN=client,O=Bank' }
    : { token_endpoint_auth_method: 'private_key_jwt' }),
})

type Claims = Readonly<Record<string, unknown>>
interface Asking {
  /** Undefined claims are omitted. */
  readonly claims?: Claims
  readonly by?: keyof typeof SIGNERS
  /** Parameters outside the object. */
  readonly outside?: Readonly<Record<string, string>>
}
interface Redeeming {
  readonly form?: Readonly<Record<string, string | undefined>>
  readonly assertion?: Asking | 'none'
  readonly shown?: boolean
  readonly as?: string
}

/** A client of one variant. */
class Bank {
  readonly server: TestServer
  readonly browser: Browser
  readonly variant: Variant
  readonly #pkce = pkce()
  constructor(server: TestServer, browser: Browser, variant: Variant) {
    this.server = server
    this.browser = browser
    this.variant = variant
  }

  get id(): string {
    return this.variant.auth === 'mTLS' ? 'certified' : 'signing'
  }

  get now(): number {
    return Math.floor(this.server.clock.now().getTime() / 1000)
  }

  async sign(usual: JWTPayload, { claims = {}, by = 'ps' }: Asking): Promise<string> {
    const { key, ...header } = SIGNERS[by]
    const whole = Object.entries({ ...usual, ...claims }).filter(([, value]) => value !== undefined)
    return new SignJWT(Object.fromEntries(whole)).setProtectedHeader(header).sign(key)
  }

  object(asking: Asking = {}): Promise<string> {
    const { by, response } = this.variant
    const proven = { code_challenge: this.#pkce.challenge, code_challenge_method: 'S256' }
    const usual = {
      iss: this.id,
      aud: ISSUER,
      exp: this.now + 300,
      nbf: this.now,
      client_id: this.id,
      redirect_uri: CALLBACK,
      scope: 'openid',
      state: 'the-state',
      nonce: 'the-nonce',
      ...(response === 'JARM' ? { response_type: 'code', response_mode: 'jwt' } : { response_type: 'code id_token' }),
      ...(by === 'push' && proven),
    }
    return this.sign(usual, asking)
  }

  async credentials(assertion: Asking | 'none' = {}, id = this.id): Promise<Readonly<Record<string, string>>> {
    if (this.variant.auth === 'mTLS' || assertion === 'none') return { client_id: id }
    const usual = {
      iss: id,
      sub: id,
      aud: `${ISSUER}/oauth/token`,
      jti: randomUUID(),
      iat: this.now,
      exp: this.now + 60,
    }
    return {
      client_id: id,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await this.sign(usual, assertion),
    }
  }

  /** The answer to the browser, or that of a refused push. */
  async ask(request: Readonly<Record<string, string>>): Promise<TestAnswer> {
    if (this.variant.by === 'value') return authorize(this.browser, { client_id: this.id, ...request })
    const form = { ...(await this.credentials()), ...request }
    const answer = await this.server.send('/oauth/par', { form, headers: shown(certificates.client) })
    if (answer.status !== 201) return answer
    const { request_uri } = answer.json<{ request_uri: string }>()
    return authorize(this.browser, { client_id: this.id, request_uri })
  }

  /** The parameters at the redirect URI, read from a signed response; or the error of a push or error page. */
  async outcome(asking: Asking = {}): Promise<Claims> {
    const answer = await this.ask({ request: await this.object(asking), ...asking.outside })
    return this.read(answer)
  }

  async read(answer: TestAnswer): Promise<Claims> {
    if (answer.status === 400) return answer.text.startsWith('{') ? answer.json() : { error: 'page' }
    assert.equal(answer.status, 302, answer.text)
    const { query, fragment } = responseOf(answer)
    const sent = Object.keys(fragment).length > 0 ? fragment : query
    return sent['response'] === undefined ? sent : (await this.verified(sent['response'])).payload
  }

  async verified(jwt: string) {
    const keys = (await this.server.send('/token_keys')).json<{ keys: [] }>()
    return jwtVerify(jwt, createLocalJWKSet(keys), {
      issuer: ISSUER,
      audience: this.id,
      algorithms: ['PS256', 'ES256'],
      currentDate: this.server.clock.now(),
    })
  }

  async redeem(code: unknown, redeeming: Redeeming = {}): Promise<TestAnswer> {
    const usual = {
      grant_type: 'authorization_code',
      code: String(code),
      redirect_uri: CALLBACK,
      ...(this.variant.by === 'push' && { code_verifier: this.#pkce.verifier }),
      ...redeeming.form,
    }
    const form = { ...(await this.credentials(redeeming.assertion, redeeming.as)), ...usual }
    const sent = Object.entries(form).filter((pair): pair is [string, string] => pair[1] !== undefined)
    const headers = redeeming.shown === false ? {} : shown(certificates.client)
    return this.server.token(Object.fromEntries(sent), { headers })
  }
}

const half = (text: string): string => createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url')

type Module = readonly [name: string, play: (bank: Bank) => Promise<void>, only?: (variant: Variant) => boolean]

const byKey = ({ auth }: Variant): boolean => auth === 'private_key_jwt'
const pushing = ({ by }: Variant): boolean => by === 'push'
const withIdToken = ({ response }: Variant): boolean => response === 'ID token'

/** A request that must be refused with one of these errors, without a code. */
const failing =
  (asking: Asking | ((bank: Bank) => Asking), ...errors: readonly string[]) =>
  async (bank: Bank): Promise<void> => {
    const outcome = await bank.outcome(typeof asking === 'function' ? asking(bank) : asking)
    assert.ok(errors.includes(String(outcome['error'])), JSON.stringify(outcome))
    assert.equal(outcome['code'], undefined)
  }
/** A request that must lead to tokens. */
const succeeding =
  (asking: Asking | ((bank: Bank) => Asking)) =>
  async (bank: Bank): Promise<void> => {
    const { code } = await bank.outcome(typeof asking === 'function' ? asking(bank) : asking)
    assert.equal((await bank.redeem(code)).status, 200)
  }
/** A token request that must be refused. */
const refusing =
  (redeeming: Redeeming | ((bank: Bank) => Redeeming), ...errors: readonly string[]) =>
  async (bank: Bank): Promise<void> => {
    const { code } = await bank.outcome()
    const answer = await bank.redeem(code, typeof redeeming === 'function' ? redeeming(bank) : redeeming)
    assert.ok(errors.includes(String(answer.json()['error'])), answer.text)
  }
const OBJECT = 'invalid_request_object'

const MODULES: readonly Module[] = [
  [
    'happy flow',
    async bank => {
      const outcome = await bank.outcome()
      assert.equal(outcome['state'], 'the-state')
      if (bank.variant.response === 'ID token') {
        const { payload } = await bank.verified(String(outcome['id_token']))
        assert.equal(payload['nonce'], 'the-nonce')
        assert.equal(payload['s_hash'], half('the-state'))
        assert.equal(payload['c_hash'], half(String(outcome['code'])))
      }
      const tokens = (await bank.redeem(outcome['code'])).json<Record<string, string>>()
      await bank.verified(tokens['id_token'] ?? '')
      const bearer = tokens['access_token'] ?? ''
      assert.ok(decodeJwt(bearer)['cnf'])
      const headers = shown(certificates.client)
      assert.equal((await bank.server.send('/userinfo', { bearer, headers })).status, 200)
      assert.equal((await bank.server.send('/userinfo', { bearer })).status, 401)
    },
  ],
  [
    'refresh-token',
    async bank => {
      const { refresh_token } = (await bank.redeem((await bank.outcome())['code'])).json<Record<string, string>>()
      const form = { grant_type: 'refresh_token', refresh_token, code: undefined, redirect_uri: undefined }
      for (let i = 0; i < 2; i += 1) assert.equal((await bank.redeem('', { form })).status, 200)
      assert.notEqual((await bank.redeem('', { form, shown: false })).status, 200)
    },
  ],
  [
    'ensure-request-object-with-multiple-aud-succeeds',
    succeeding({ claims: { aud: [ISSUER, 'https://other.example'] } }),
  ],
  [
    'ensure-authorization-request-without-state-success',
    async bank => {
      const outcome = await bank.outcome({ claims: { state: undefined }, outside: { state: 'outside' } })
      assert.equal(outcome['state'], undefined)
      assert.equal((await bank.redeem(outcome['code'])).status, 200)
    },
  ],
  ['a redirect URI without TLS (Baseline §5.2.2)', failing({ claims: { redirect_uri: LOOPBACK } }, 'invalid_request')],
  ['ensure-other-scope-order-succeeds', succeeding({ claims: { scope: 'profile openid' } })],
  ['ensure-response-mode-query', failing({ claims: { response_mode: 'query' } }, 'invalid_request'), withIdToken],
  [
    'ensure-different-nonce-inside-and-outside-request-object',
    async bank => {
      const { code } = await bank.outcome({ outside: { nonce: 'outside' } })
      const { id_token = '' } = (await bank.redeem(code)).json<Record<string, string>>()
      assert.equal(decodeJwt(id_token)['nonce'], 'the-nonce')
    },
  ],
  [
    'ensure-registered-redirect-uri',
    failing({ claims: { redirect_uri: 'https://other.example/cb' } }, 'page', 'invalid_request'),
  ],
  ['ensure-request-object-with-long-nonce', succeeding({ claims: { nonce: 'n'.repeat(384) } })],
  ['ensure-request-object-with-long-state', succeeding({ claims: { state: 's'.repeat(1000) } })],
  ['ensure-request-object-without-exp-fails', failing({ claims: { exp: undefined } }, OBJECT, 'page')],
  ['ensure-request-object-without-nbf-fails', failing({ claims: { nbf: undefined } }, OBJECT, 'page')],
  ['ensure-request-object-without-scope-fails', failing({ claims: { scope: undefined } }, 'invalid_request')],
  ['ensure-request-object-without-nonce-fails', failing({ claims: { nonce: undefined } }, 'invalid_request')],
  [
    'a request for openid beside another separator than a blank, without nonce',
    failing({ claims: { scope: 'profile,openid', nonce: undefined } }, 'invalid_request'),
  ],
  [
    'a request whose scope has no word, which asks for all, without nonce',
    failing({ claims: { scope: ',', nonce: undefined } }, 'invalid_request'),
  ],
  [
    'an OAuth request without openid and state',
    failing({ claims: { scope: 'profile', state: undefined } }, 'invalid_request'),
    ({ response }) => response === 'JARM',
  ],
  [
    'ensure-request-object-without-redirect-uri-fails',
    failing({ claims: { redirect_uri: undefined } }, 'invalid_request', 'page'),
  ],
  [
    'ensure-expired-request-object-fails',
    failing(({ now }) => ({ claims: { exp: now - 300, nbf: now - 600 } }), OBJECT, 'page'),
  ],
  ['ensure-request-object-with-bad-aud-fails', failing({ claims: { aud: 'https://other.example' } }, OBJECT, 'page')],
  [
    'ensure-request-object-with-exp-over-60-fails',
    failing(({ now }) => ({ claims: { exp: now + 4200 } }), OBJECT, 'page'),
  ],
  [
    'ensure-request-object-with-nbf-over-60-fails',
    failing(({ now }) => ({ claims: { nbf: now - 4200 } }), OBJECT, 'page'),
  ],
  ['ensure-signed-request-object-with-RS256-fails', failing({ by: 'rs' }, OBJECT, 'page')],
  ['ensure-request-object-with-invalid-signature-fails', failing({ by: 'foreign' }, OBJECT, 'page')],
  [
    'ensure-request-object-signature-algorithm-is-not-none',
    async bank => {
      const [, claims] = (await bank.object()).split('.')
      const request = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`
      assert.ok([OBJECT, 'page'].includes(String((await bank.read(await bank.ask({ request })))['error'])))
    },
  ],
  [
    'ensure-authorization-request-without-request-object-fails',
    async bank => {
      const { aud: _, exp: __, nbf: ___, iss: ____, ...request } = decodeJwt(await bank.object())
      const outcome = await bank.read(await bank.ask(request as Record<string, string>))
      assert.equal(outcome['error'], 'invalid_request')
    },
  ],
  [
    'ensure-response-type-code-fails',
    failing({ claims: { response_type: 'code', response_mode: undefined } }, 'unsupported_response_type'),
  ],
  [
    'a token in the authorization response',
    failing({ claims: { response_type: 'code token' } }, 'unsupported_response_type', 'unauthorized_client'),
  ],
  [
    'ensure-client-id-in-token-endpoint',
    async bank => {
      const answer = await bank.redeem((await bank.outcome())['code'], { as: `${bank.id}-other` })
      assert.ok(['invalid_client', 'invalid_grant'].includes(String(answer.json()['error'])), answer.text)
    },
  ],
  [
    'ensure-mtls-holder-of-key-required',
    refusing({ shown: false }, 'invalid_client', 'invalid_request', 'invalid_grant'),
  ],
  [
    'attempt-reuse-authorization-code-after-one-second',
    async bank => {
      const { code } = await bank.outcome()
      const { access_token: bearer = '' } = (await bank.redeem(code)).json<Record<string, string>>()
      assert.equal((await bank.redeem(code)).json()['error'], 'invalid_grant')
      const headers = shown(certificates.client)
      assert.equal((await bank.server.send('/userinfo', { bearer, headers })).status, 401)
    },
  ],
  ['ensure-signed-client-assertion-with-RS256-fails', refusing({ assertion: { by: 'rs' } }, 'invalid_client'), byKey],
  ['ensure-client-assertion-in-token-endpoint', refusing({ assertion: 'none' }, 'invalid_client'), byKey],
  [
    'ensure-client-assertion-with-exp-is-5-minutes-in-past-fails',
    refusing(({ now }) => ({ assertion: { claims: { exp: now - 300, iat: now - 360 } } }), 'invalid_client'),
    byKey,
  ],
  [
    'ensure-client-assertion-with-wrong-aud-fails',
    refusing({ assertion: { claims: { aud: 'https://other.example' } } }, 'invalid_client'),
    byKey,
  ],
  [
    'ensure-client-assertion-with-no-sub-fails',
    refusing({ assertion: { claims: { sub: undefined } } }, 'invalid_client'),
    byKey,
  ],
  [
    'par-check-audience-for-jwt-client-assertion',
    async bank => {
      for (const aud of [ISSUER, `${ISSUER}/oauth/token`, `${ISSUER}/oauth/par`, [ISSUER]]) {
        const form = { ...(await bank.credentials({ claims: { aud } })), request: await bank.object() }
        const answer = await bank.server.send('/oauth/par', { form, headers: shown(certificates.client) })
        assert.equal(answer.status, 201, answer.text)
      }
    },
    variant => pushing(variant) && byKey(variant),
  ],
  [
    'par-ensure-pkce-required',
    failing({ claims: { code_challenge: undefined, code_challenge_method: undefined } }, 'invalid_request'),
    pushing,
  ],
  [
    'par-plain-pkce-rejected',
    failing({ claims: { code_challenge: 'v'.repeat(43), code_challenge_method: 'plain' } }, 'invalid_request'),
  ],
  ['ensure-pkce-code-verifier-required', refusing({ form: { code_verifier: undefined } }, 'invalid_grant'), pushing],
  ['incorrect-pkce-code-verifier-rejected', refusing({ form: { code_verifier: 'w'.repeat(43) } }, 'invalid_grant')],
]

describe('FAPI 1.0 Advanced conformance plan', () => {
  let server: TestServer
  let browser: Browser
  before(async () => {
    const clients = (['private_key_jwt', 'mTLS'] as const).flatMap(auth => {
      const id = auth === 'mTLS' ? 'certified' : 'signing'
      return [clientOf(auth, id), clientOf(auth, `${id}-other`)]
    })
    const bootstrap = { ...defaultBootstrap, clients: [...defaultBootstrap.clients, ...clients] }
    const signingKeys = { active: 'rs', keys: { rs: KEYS.RS256, ps: KEYS.PS256 } }
    server = await startServer(behindProxy('standard', { bootstrap, signing_keys: signingKeys }))
    browser = await signedIn(server)
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  for (const variant of VARIANTS) {
    describe(`${variant.auth}, by ${variant.by}, ${variant.response}`, () => {
      for (const [name, play, isPlayed] of MODULES) {
        if (isPlayed && !isPlayed(variant)) continue
        it(name, () => play(new Bank(server, browser, variant)))
      }
    })
  }
})
