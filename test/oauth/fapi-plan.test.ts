// The modules of the OpenID Foundation's FAPI 2.0 test plans (Security Profile and Message Signing), by their names, for clients
// that authenticate with private_key_jwt or mTLS and have tokens bound by DPoP or mTLS.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { createLocalJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import type { JWTPayload } from 'jose'
import { authorize, responseOf, signedIn } from '../support/authorize.ts'
import type { DpopKey } from '../support/dpop.ts'
import { dpopKey, nonceOf, proof } from '../support/dpop.ts'
import { KEYS } from '../support/keys.ts'
import { behindProxy, certificates, shown } from '../support/mutual-tls.ts'
import { pkce } from '../support/request-objects.ts'
import { rsaCryptoKeys, rsaKeys } from '../support/rsa-keys.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'

const ISSUER = 'http://localhost:8080'
const CALLBACK = 'https://bank.example/cb'
const es256 = await generateKeyPair('ES256', { extractable: true })
const rs256 = await rsaCryptoKeys()
const foreign = await generateKeyPair('ES256', { extractable: true })
const SIGNERS = {
  ec: { alg: 'ES256', kid: 'ec', key: es256.privateKey },
  rsa: { alg: 'RS256', kid: 'rsa', key: rs256.privateKey },
  foreign: { alg: 'ES256', kid: 'ec', key: foreign.privateKey },
} as const
const jwks = {
  keys: [
    { ...(await exportJWK(es256.publicKey)), kid: 'ec', alg: 'ES256', use: 'sig' },
    { ...(await exportJWK(rs256.publicKey)), kid: 'rsa', alg: 'RS256', use: 'sig' },
  ],
}

interface Variant {
  readonly plan: 'SP' | 'MS' | 'SP-CC'
  readonly auth: 'private_key_jwt' | 'mTLS'
  readonly bound: 'DPoP' | 'mTLS'
}
const variantsOf = (plan: Variant['plan']): readonly Variant[] =>
  (['private_key_jwt', 'mTLS'] as const).flatMap(auth =>
    (['DPoP', 'mTLS'] as const).map(bound => ({ plan, auth, bound })),
  )
const VARIANTS = [...variantsOf('SP'), ...variantsOf('MS')]
/** The plan for clients without users. */
const OWN_VARIANTS = variantsOf('SP-CC')
const OWN_RESOURCE = '/oauth/clients?count=1'

const idOf = ({ plan, auth, bound }: Variant): string => `${plan}-${auth}-${bound}`.toLowerCase()
const clientOf = (variant: Variant, id: string) => ({
  client_id: id,
  profile: variant.plan === 'MS' ? 'fapi2-message-signing' : 'fapi2-security',
  ...(variant.plan === 'SP-CC'
    ? { authorized_grant_types: ['client_credentials'], authorities: ['clients.read'] }
    : {
        authorized_grant_types: ['authorization_code', 'refresh_token'],
        scope: ['openid', 'profile'],
        redirect_uri: [CALLBACK],
        autoapprove: true,
      }),
  jwks,
  ...(variant.auth === 'mTLS'
    ? { token_endpoint_auth_method: 'tls_client_auth', tls_client_auth_subject_dn: 'CN=client,O=Bank' }
    : { token_endpoint_auth_method: 'private_key_jwt' }),
  ...(variant.bound === 'mTLS'
    ? { tls_client_certificate_bound_access_tokens: true }
    : { dpop_bound_access_tokens: true }),
})

type Signer = keyof typeof SIGNERS
/** Undefined claims are omitted. */
interface Signed {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly by?: Signer
  readonly header?: Readonly<Record<string, unknown>>
}
interface Pushing {
  readonly params?: Readonly<Record<string, string | undefined>>
  readonly object?: Signed | 'none'
  readonly assertion?: Signed
  readonly form?: Readonly<Record<string, string>>
}
interface Redeeming {
  readonly form?: Readonly<Record<string, string | undefined>>
  readonly assertion?: Signed | 'none'
  readonly proven?: boolean
  readonly as?: string
}
interface Authorized {
  readonly answer: Readonly<Record<string, unknown>>
  readonly verifier: string
}

/** A client of one variant. */
class Bank {
  readonly server: TestServer
  readonly variant: Variant
  readonly browser: Browser
  readonly key: DpopKey
  constructor(server: TestServer, variant: Variant, { browser, key }: { browser: Browser; key: DpopKey }) {
    this.server = server
    this.variant = variant
    this.browser = browser
    this.key = key
  }

  /** The same client with another DPoP key. */
  withKey(key: DpopKey): Bank {
    return new Bank(this.server, this.variant, { browser: this.browser, key })
  }

  get id(): string {
    return idOf(this.variant)
  }

  get now(): number {
    return Math.floor(this.server.clock.now().getTime() / 1000)
  }

  sign(usual: JWTPayload, { claims = {}, by = 'ec', header = {} }: Signed): Promise<string> {
    const { alg, kid, key } = SIGNERS[by]
    const payload = Object.fromEntries(
      Object.entries({ ...usual, ...claims }).filter(([, value]) => value !== undefined),
    )
    return new SignJWT(payload).setProtectedHeader({ alg, kid, ...header }).sign(key)
  }

  /** The client's credentials for form and headers. */
  async credentials(assertion: Signed | 'none' = {}, id = this.id) {
    if (this.variant.auth === 'mTLS') {
      return { form: { client_id: id }, headers: assertion === 'none' ? {} : shown(certificates.client) }
    }
    const headers = this.variant.bound === 'mTLS' ? shown(certificates.client) : {}
    if (assertion === 'none') return { form: { client_id: id }, headers }
    const usual = { iss: id, sub: id, aud: ISSUER, jti: randomUUID(), iat: this.now, exp: this.now + 60 }
    const form = {
      client_id: id,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await this.sign(usual, assertion),
    }
    return { form, headers }
  }

  /** Returns the answer and the PKCE verifier. */
  async push({ params = {}, object = {}, assertion, form: more = {} }: Pushing = {}) {
    const { verifier, challenge } = pkce()
    const usual: Record<string, string | undefined> = {
      response_type: 'code',
      client_id: this.id,
      redirect_uri: CALLBACK,
      scope: 'openid',
      state: 'state-of-the-bank',
      nonce: 'nonce-of-the-bank',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...(this.variant.plan === 'MS' && { response_mode: 'jwt' }),
      ...params,
    }
    const asked = Object.fromEntries(Object.entries(usual).filter(([, value]) => value !== undefined)) as Record<
      string,
      string
    >
    const { form, headers } = await this.credentials(assertion)
    const claims = { iss: this.id, aud: ISSUER, exp: this.now + 300, nbf: this.now, iat: this.now, ...asked }
    const isSigned = this.variant.plan === 'MS' && object !== 'none'
    const request = isSigned
      ? { request: await this.sign(claims, { ...object, header: { typ: 'oauth-authz-req+jwt', ...object.header } }) }
      : asked
    const answer = await this.server.send('/oauth/par', { form: { ...request, ...form, ...more }, headers })
    return { answer, verifier }
  }

  /** The parameters at the redirect URI, read from the signed response if there is one. */
  async read(answer: TestAnswer): Promise<Readonly<Record<string, unknown>>> {
    assert.equal(answer.status, 302, answer.text)
    const { query } = responseOf(answer)
    if (this.variant.plan === 'SP') return query
    const keys = (await this.server.send('/token_keys')).json<{ keys: [] }>()
    const { payload } = await jwtVerify(query['response'] ?? '', createLocalJWKSet(keys), {
      issuer: ISSUER,
      audience: this.id,
      algorithms: ['ES256', 'PS256'],
      currentDate: this.server.clock.now(),
    })
    assert.ok(Number(payload.exp) - this.now <= 600)
    return payload
  }

  async authorized(pushing: Pushing = {}): Promise<Authorized> {
    const { answer, verifier } = await this.push(pushing)
    assert.equal(answer.status, 201, answer.text)
    const { request_uri } = answer.json<{ request_uri: string }>()
    return { answer: await this.read(await authorize(this.browser, { client_id: this.id, request_uri })), verifier }
  }

  /** A token request with the proof of possession of the variant. */
  async token(form: Readonly<Record<string, string | undefined>>, { assertion, proven = true, as }: Redeeming = {}) {
    const credentials = await this.credentials(assertion, as)
    const isDpop = this.variant.bound === 'DPoP'
    const at = this.server.clock.now()
    const nonce = await nonceOf(this.server)
    const sent =
      isDpop && proven ? { dpop: await proof(this.key, { url: `${this.server.baseUrl}/oauth/token`, at, nonce }) } : {}
    const headers = { ...(isDpop || proven ? credentials.headers : {}), ...sent }
    const whole = Object.fromEntries(
      Object.entries({ ...credentials.form, ...form }).filter(
        (pair): pair is [string, string] => pair[1] !== undefined,
      ),
    )
    return this.server.token(whole, { headers })
  }

  redeem({ answer, verifier }: Authorized, redeeming: Redeeming = {}): Promise<TestAnswer> {
    const usual = {
      grant_type: 'authorization_code',
      code: String(answer['code']),
      redirect_uri: CALLBACK,
      code_verifier: verifier,
    }
    return this.token({ ...usual, ...redeeming.form }, redeeming)
  }

  /** A token of the client itself. */
  own(redeeming: Redeeming = {}): Promise<TestAnswer> {
    return this.token({ grant_type: 'client_credentials', ...redeeming.form }, redeeming)
  }

  /** Requests the protected resource of the plan with a proof by a clock that is off by some minutes. */
  async resource(
    token: string,
    scheme = this.variant.bound === 'DPoP' ? 'DPoP' : 'Bearer',
    minutesOff = 0,
  ): Promise<TestAnswer> {
    const path = this.variant.plan === 'SP-CC' ? OWN_RESOURCE : '/userinfo'
    const authorization = `${scheme} ${token}`
    if (this.variant.bound === 'mTLS') {
      return this.server.send(path, { headers: { authorization, ...shown(certificates.client) } })
    }
    const content = {
      method: 'GET',
      url: `${this.server.baseUrl}${path}`,
      at: new Date(this.server.clock.now().getTime() + minutesOff * 60_000),
      nonce: await nonceOf(this.server),
      token,
    }
    return this.server.send(path, { headers: { authorization, dpop: await proof(this.key, content) } })
  }
}

/** An unsigned JWT. */
function unsecured(claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part(claims)}.`
}

/** A key pair for both RS256 and PS256. */
const rsaPair = rsaKeys()

/** Asserts that the error is one of those that the module accepts. */
function refused(answer: TestAnswer, ...errors: readonly string[]): void {
  const error = String(answer.json()['error'])
  assert.ok(errors.includes(error), `${answer.text} is none of ${errors.join(', ')}`)
  assert.equal(answer.status, error === 'invalid_client' ? 401 : 400, answer.text)
}

/** A push that must fail with one of these errors. */
const failing =
  (pushing: Pushing | ((bank: Bank) => Pushing), ...errors: readonly string[]) =>
  async (bank: Bank): Promise<void> =>
    refused((await bank.push(typeof pushing === 'function' ? pushing(bank) : pushing)).answer, ...errors)

const WRONG_CLIENT = ['invalid_client', 'invalid_request'] as const
const WRONG_REQUEST = ['invalid_request', 'invalid_request_object'] as const
/** Errors of a client that proves no possession of a key or certificate. */
const UNPROVEN = ['invalid_client', 'invalid_request', 'invalid_grant', 'invalid_dpop_proof'] as const

/** A push that must lead to tokens. */
const succeeding =
  (pushing: Pushing | ((bank: Bank) => Pushing)) =>
  async (bank: Bank): Promise<void> => {
    const redeemed = await bank.redeem(await bank.authorized(typeof pushing === 'function' ? pushing(bank) : pushing))
    assert.equal(redeemed.status, 200, redeemed.text)
  }

type Module = readonly [name: string, play: (bank: Bank) => Promise<void>, only?: (variant: Variant) => boolean]

const signing = ({ plan }: Variant): boolean => plan === 'MS'
const byKey = ({ auth }: Variant): boolean => auth === 'private_key_jwt'

const MODULES: readonly Module[] = [
  [
    'happy-flow',
    async bank => {
      const authorized = await bank.authorized()
      assert.equal(authorized.answer['state'], 'state-of-the-bank')
      assert.equal(authorized.answer['iss'], ISSUER)
      const tokens = (await bank.redeem(authorized)).json<Record<string, string>>()
      assert.equal(tokens['token_type'], bank.variant.bound === 'DPoP' ? 'DPoP' : 'bearer')
      assert.equal((await bank.resource(tokens['access_token'] ?? '')).status, 200)
    },
  ],
  [
    'user-rejects-authentication',
    async bank => {
      const { answer } = await bank.push({ params: { prompt: 'consent' } })
      const { request_uri } = answer.json<{ request_uri: string }>()
      assert.equal((await authorize(bank.browser, { client_id: bank.id, request_uri })).status, 200)
      const form = { user_oauth_approval: 'false', 'X-Svc-Csrf': bank.browser.csrf }
      const reported = await bank.read(await bank.browser.send('/oauth/authorize', { form }))
      assert.equal(reported['error'], 'access_denied')
      assert.equal(reported['state'], 'state-of-the-bank')
    },
  ],
  ['ensure-authorization-request-without-state-success', succeeding({ params: { state: undefined } })],
  ['ensure-authorization-request-without-nonce-success', succeeding({ params: { nonce: undefined } })],
  ['ensure-authorization-request-with-64-char-nonce-success', succeeding({ params: { nonce: 'n'.repeat(64) } })],
  ['ensure-authorization-request-with-long-nonce', succeeding({ params: { nonce: 'n'.repeat(384) } })],
  [
    'ensure-authorization-request-with-long-state',
    async bank => {
      const state = 's'.repeat(1000)
      assert.equal((await bank.authorized({ params: { state } })).answer['state'], state)
    },
  ],
  ['ensure-other-scope-order-succeeds', succeeding({ params: { scope: 'profile openid' } })],
  [
    'access-token-type-header-case-sensitivity',
    async bank => {
      const { access_token: token = '' } = (await bank.redeem(await bank.authorized())).json<Record<string, string>>()
      for (const scheme of bank.variant.bound === 'DPoP' ? ['dpop', 'DPOP', 'dPoP'] : ['bearer', 'BEARER']) {
        assert.equal((await bank.resource(token, scheme)).status, 200, scheme)
      }
    },
  ],
  [
    'dpop-negative-tests',
    async bank => {
      const [ps256, rs256] = [await dpopKey(rsaPair, 'PS256'), await dpopKey(rsaPair, 'RS256')]
      const owner = bank.withKey(ps256)
      const { access_token: token = '' } = (await owner.redeem(await owner.authorized())).json<Record<string, string>>()
      const answer = await bank.withKey(rs256).resource(token)
      assert.equal(answer.status, 401, answer.text)
      assert.match(String(answer.headers['www-authenticate']), /^DPoP .*error="invalid_dpop_proof"/)
      for (const minutes of [0, -60, 60]) assert.equal((await owner.resource(token, 'DPoP', minutes)).status, 200)
    },
    ({ bound }) => bound === 'DPoP',
  ],
  [
    'refresh-token',
    async bank => {
      const { refresh_token } = (await bank.redeem(await bank.authorized())).json<Record<string, string>>()
      const again = await bank.token({ grant_type: 'refresh_token', refresh_token })
      assert.equal(again.status, 200, again.text)
      assert.equal((await bank.resource(again.json<Record<string, string>>()['access_token'] ?? '')).status, 200)
      refused(await bank.token({ grant_type: 'refresh_token', refresh_token }, { proven: false }), ...UNPROVEN)
    },
  ],
  [
    'ensure-request-object-with-multiple-aud-succeeds',
    succeeding({ object: { claims: { aud: [ISSUER, 'https://other.example'] } } }),
    signing,
  ],
  [
    'ensure-request-object-with-nbf-8-seconds-in-the-future-is-accepted',
    succeeding(bank => ({ object: { claims: { nbf: bank.now + 8 } } })),
    signing,
  ],
  [
    'ensure-different-nonce-inside-and-outside-request-object',
    async bank => {
      const authorized = await bank.authorized({ form: { nonce: 'outside' } })
      const { id_token = '' } = (await bank.redeem(authorized)).json<Record<string, string>>()
      assert.match(Buffer.from(id_token.split('.')[1] ?? '', 'base64url').toString(), /nonce-of-the-bank/)
    },
    signing,
  ],
  [
    'ensure-different-state-inside-and-outside-request-object',
    async bank => {
      assert.equal((await bank.authorized({ form: { state: 'outside' } })).answer['state'], 'state-of-the-bank')
    },
    signing,
  ],
  [
    'state-only-outside-request-object-not-used',
    async bank => {
      assert.equal(
        (await bank.authorized({ params: { state: undefined }, form: { state: 'outside' } })).answer['state'],
        undefined,
      )
    },
    signing,
  ],
  [
    'ensure-request-object-without-exp-fails',
    failing({ object: { claims: { exp: undefined } } }, 'invalid_request_object'),
    signing,
  ],
  [
    'ensure-request-object-without-nbf-fails',
    failing({ object: { claims: { nbf: undefined } } }, 'invalid_request_object'),
    signing,
  ],
  [
    'ensure-request-object-without-redirect-uri-fails',
    failing({ params: { redirect_uri: undefined } }, ...WRONG_REQUEST),
    signing,
  ],
  [
    'ensure-expired-request-object-fails',
    failing(bank => ({ object: { claims: { exp: bank.now - 300, nbf: bank.now - 600 } } }), 'invalid_request_object'),
    signing,
  ],
  [
    'ensure-request-object-with-bad-aud-fails',
    failing({ object: { claims: { aud: 'https://other.example' } } }, 'invalid_request_object'),
    signing,
  ],
  [
    'ensure-request-object-with-exp-over-60-fails',
    failing(bank => ({ object: { claims: { exp: bank.now + 4200 } } }), 'invalid_request_object'),
    signing,
  ],
  [
    'ensure-request-object-with-nbf-over-60-fails',
    failing(bank => ({ object: { claims: { nbf: bank.now - 4200 } } }), 'invalid_request_object'),
    signing,
  ],
  [
    'ensure-signed-request-object-with-RS256-fails',
    failing({ object: { by: 'rsa' } }, 'invalid_request_object'),
    signing,
  ],
  [
    'ensure-request-object-signature-algorithm-is-not-none',
    async bank => {
      const { form, headers } = await bank.credentials()
      const claims = {
        iss: bank.id,
        aud: ISSUER,
        exp: bank.now + 300,
        nbf: bank.now,
        client_id: bank.id,
        response_type: 'code',
        redirect_uri: CALLBACK,
      }
      refused(
        await bank.server.send('/oauth/par', {
          form: { ...form, request: unsecured(claims) },
          headers,
        }),
        'invalid_request_object',
      )
    },
    signing,
  ],
  [
    'ensure-request-object-with-invalid-signature-fails',
    failing({ object: { by: 'foreign' } }, 'invalid_request_object'),
    signing,
  ],
  [
    'ensure-matching-key-in-authorization-request',
    failing({ object: { by: 'foreign', header: { kid: 'foreign' } } }, ...WRONG_REQUEST),
    signing,
  ],
  ['ensure-unsigned-request-at-par-endpoint-fails', failing({ object: 'none' }, 'invalid_request'), signing],
  [
    'ensure-registered-redirect-uri',
    failing({ params: { redirect_uri: 'https://bank.example/other' } }, ...WRONG_REQUEST),
  ],
  ['ensure-redirect-uri-in-authorization-request', failing({ params: { redirect_uri: undefined } }, ...WRONG_REQUEST)],
  [
    'ensure-unsigned-authorization-request-without-using-par-fails',
    async bank => {
      const { challenge } = pkce()
      const query = {
        response_type: 'code',
        client_id: bank.id,
        redirect_uri: CALLBACK,
        scope: 'openid',
        code_challenge: challenge,
        code_challenge_method: 'S256',
      }
      const answer = await authorize(bank.browser, query)
      assert.doesNotMatch(String(answer.headers['location'] ?? ''), /[?&#]code=/)
    },
  ],
  [
    'ensure-response-type-code-idtoken-fails',
    failing(
      { params: { response_type: 'code id_token' } },
      'unsupported_response_type',
      'unauthorized_client',
      'invalid_request',
    ),
  ],
  [
    'ensure-response-type-token-fails',
    failing(
      { params: { response_type: 'token' } },
      'unsupported_response_type',
      'unauthorized_client',
      'invalid_request',
    ),
  ],
  [
    'ensure-client-id-in-token-endpoint',
    async bank =>
      refused(await bank.redeem(await bank.authorized(), { form: { client_id: undefined } }), ...WRONG_CLIENT),
    ({ auth }) => auth === 'mTLS',
  ],
  [
    'ensure-holder-of-key-required',
    async bank => refused(await bank.redeem(await bank.authorized(), { proven: false }), ...UNPROVEN),
  ],
  [
    'ensure-authorization-code-is-bound-to-client',
    async bank => refused(await bank.redeem(await bank.authorized(), { as: `${bank.id}-other` }), 'invalid_grant'),
  ],
  [
    'attempt-reuse-authorization-code-after-one-second',
    async bank => {
      const authorized = await bank.authorized()
      const { access_token: token = '' } = (await bank.redeem(authorized)).json<Record<string, string>>()
      bank.server.clock.advance(1)
      refused(await bank.redeem(authorized), 'invalid_grant')
      assert.equal((await bank.resource(token)).status, 401)
    },
  ],
  [
    'ensure-token-endpoint-fails-with-expired-auth-code',
    async bank => {
      const authorized = await bank.authorized()
      bank.server.clock.advance(61)
      refused(await bank.redeem(authorized), 'invalid_grant')
    },
  ],
  [
    'ensure-signed-client-assertion-with-RS256-fails',
    async bank => refused(await bank.redeem(await bank.authorized(), { assertion: { by: 'rsa' } }), ...WRONG_CLIENT),
    byKey,
  ],
  [
    'ensure-client-assertion-in-token-endpoint',
    async bank => refused(await bank.redeem(await bank.authorized(), { assertion: 'none' }), ...WRONG_CLIENT),
  ],
  [
    'ensure-client-assertion-with-exp-is-5-minutes-in-past-fails',
    async bank =>
      refused(
        await bank.redeem(await bank.authorized(), {
          assertion: { claims: { iat: bank.now - 360, exp: bank.now - 300 } },
        }),
        ...WRONG_CLIENT,
      ),
    byKey,
  ],
  [
    'ensure-client-assertion-with-wrong-aud-fails',
    async bank =>
      refused(
        await bank.redeem(await bank.authorized(), { assertion: { claims: { aud: 'https://other.example' } } }),
        ...WRONG_CLIENT,
      ),
    byKey,
  ],
  [
    'ensure-client-assertion-with-no-sub-fails',
    async bank =>
      refused(
        await bank.redeem(await bank.authorized(), { assertion: { claims: { sub: undefined } } }),
        ...WRONG_CLIENT,
      ),
    byKey,
  ],
  [
    'par-ensure-reused-request-uri-prior-to-auth-completion-succeeds',
    async bank => {
      const { answer } = await bank.push({ params: { prompt: 'consent' } })
      const { request_uri } = answer.json<{ request_uri: string }>()
      for (let i = 0; i < 2; i += 1) {
        assert.equal((await authorize(bank.browser, { client_id: bank.id, request_uri })).status, 200)
      }
    },
  ],
  [
    'par-attempt-reuse-request_uri',
    async bank => {
      const { answer } = await bank.push()
      const { request_uri } = answer.json<{ request_uri: string }>()
      assert.ok((await bank.read(await authorize(bank.browser, { client_id: bank.id, request_uri })))['code'])
      const again = await authorize(bank.browser, { client_id: bank.id, request_uri })
      assert.doesNotMatch(String(again.headers['location'] ?? ''), /code=|response=/)
    },
  ],
  [
    'par-attempt-to-use-expired-request_uri',
    async bank => {
      const { request_uri } = (await bank.push()).answer.json<{ request_uri: string }>()
      bank.server.clock.advance(600)
      const answer = await authorize(bank.browser, { client_id: bank.id, request_uri })
      assert.doesNotMatch(String(answer.headers['location'] ?? ''), /code=|response=/)
    },
  ],
  [
    'par-attempt-to-use-request_uri-for-different-client',
    async bank => {
      const { request_uri } = (await bank.push()).answer.json<{ request_uri: string }>()
      const answer = await authorize(bank.browser, { client_id: `${bank.id}-other`, request_uri })
      assert.doesNotMatch(String(answer.headers['location'] ?? ''), /code=|response=/)
    },
  ],
  [
    'par-authorization-request-containing-request_uri-form-param',
    failing({ form: { request_uri: 'urn:ietf:params:oauth:request_uri:x' } }, ...WRONG_REQUEST),
  ],
  [
    'par-authorization-request-containing-request_uri',
    failing({ object: { claims: { request_uri: 'urn:ietf:params:oauth:request_uri:x' } } }, 'invalid_request_object'),
    signing,
  ],
  [
    'par-attempt-invalid-http-method',
    async bank => {
      for (const method of ['GET', 'PUT']) {
        const { status } = await bank.server.send('/oauth/par', { method })
        assert.ok(status >= 400 && status < 500, `${method}: ${status}`)
      }
    },
  ],
  [
    'par-ensure-pkce-required',
    failing({ params: { code_challenge: undefined, code_challenge_method: undefined } }, 'invalid_request'),
  ],
  [
    'par-plain-pkce-rejected',
    failing({ params: { code_challenge: 'v'.repeat(43), code_challenge_method: 'plain' } }, 'invalid_request'),
  ],
  [
    'ensure-pkce-code-verifier-required',
    async bank =>
      refused(await bank.redeem(await bank.authorized(), { form: { code_verifier: undefined } }), 'invalid_grant'),
  ],
  [
    'incorrect-pkce-code-verifier-rejected',
    async bank =>
      refused(await bank.redeem(await bank.authorized(), { form: { code_verifier: 'w'.repeat(43) } }), 'invalid_grant'),
  ],
  [
    'ensure-invalid-client-assertions-fail',
    async bank => {
      const { now } = bank
      const type = 'client_assertion_type'
      const wrong: readonly Pushing[] = [
        ...[
          { sub: undefined },
          { sub: 'another' },
          { iss: undefined },
          { iss: 'another' },
          { aud: undefined },
          { aud: 'https://other.example' },
          { aud: `${ISSUER}/oauth/par` },
          { aud: `${ISSUER}/oauth/token` },
          { aud: [ISSUER] },
          { aud: [ISSUER, 'https://other.example'] },
          { iat: now - 360, exp: now - 300 },
          { iat: now + 62, nbf: now + 62, exp: now + 122 },
        ].map(claims => ({ assertion: { claims } })),
        { assertion: { by: 'rsa' } },
        { assertion: { by: 'foreign' } },
        { form: { client_assertion: '' } },
        { form: { [type]: '' } },
        { form: { [type]: 'urn:another' } },
        { form: { client_assertion: unsecured({ iss: bank.id, sub: bank.id, aud: ISSUER, jti: 'j', exp: now + 60 }) } },
      ]
      for (const pushing of wrong) {
        const { answer } = await bank.push(pushing)
        refused(answer, ...WRONG_CLIENT)
      }
      for (const claims of [{ iat: now + 8, nbf: now + 8 }, {}]) {
        const { answer } = await bank.push({ assertion: { claims } })
        assert.equal(answer.status, 201, answer.text)
      }
    },
    byKey,
  ],
]

/** A client_credentials request that must fail. */
const failingOwn = (redeeming: Redeeming | ((bank: Bank) => Redeeming)) => async (bank: Bank) =>
  refused(await bank.own(typeof redeeming === 'function' ? redeeming(bank) : redeeming), ...UNPROVEN)

const OWN_MODULES: readonly Module[] = [
  [
    'happy-flow',
    async bank => {
      const tokens = (await bank.own()).json<Record<string, string>>()
      assert.equal(tokens['token_type'], bank.variant.bound === 'DPoP' ? 'DPoP' : 'bearer')
      assert.equal(tokens['refresh_token'], undefined)
      assert.equal((await bank.resource(tokens['access_token'] ?? '')).status, 200)
    },
  ],
  [
    'access-token-type-header-case-sensitivity',
    async bank => {
      const { access_token: token = '' } = (await bank.own()).json<Record<string, string>>()
      for (const scheme of bank.variant.bound === 'DPoP' ? ['dpop', 'DPOP'] : ['bearer', 'BEARER']) {
        assert.equal((await bank.resource(token, scheme)).status, 200, scheme)
      }
    },
  ],
  ['ensure-client-id-in-token-endpoint', failingOwn({ form: { client_id: undefined } }), ({ auth }) => auth === 'mTLS'],
  ['ensure-holder-of-key-required', failingOwn({ proven: false })],
  ['ensure-signed-client-assertion-with-RS256-fails', failingOwn({ assertion: { by: 'rsa' } }), byKey],
  ['ensure-client-assertion-in-token-endpoint', failingOwn({ assertion: 'none' })],
  [
    'ensure-client-assertion-with-exp-is-5-minutes-in-past-fails',
    failingOwn(bank => ({ assertion: { claims: { iat: bank.now - 360, exp: bank.now - 300 } } })),
    byKey,
  ],
  [
    'ensure-client-assertion-with-wrong-aud-fails',
    failingOwn({ assertion: { claims: { aud: 'https://other.example' } } }),
    byKey,
  ],
  ['ensure-client-assertion-with-no-sub-fails', failingOwn({ assertion: { claims: { sub: undefined } } }), byKey],
]

describe('FAPI 2.0 conformance plans', () => {
  let server: TestServer
  let browser: Browser
  let key: DpopKey
  before(async () => {
    const clients = [...VARIANTS, ...OWN_VARIANTS].flatMap(variant =>
      [idOf(variant), `${idOf(variant)}-other`].map(id => clientOf(variant, id)),
    )
    const bootstrap = { ...defaultBootstrap, clients: [...defaultBootstrap.clients, ...clients] }
    const signingKeys = { signing_keys: { active: 'ec', keys: { ec: KEYS.ES256 } } }
    server = await startServer(behindProxy('standard', { bootstrap, ...signingKeys }))
    browser = await signedIn(server)
    key = await dpopKey()
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  for (const variant of [...VARIANTS, ...OWN_VARIANTS]) {
    describe(`${variant.plan} with ${variant.auth} and ${variant.bound}`, () => {
      for (const [name, play, isPlayed] of variant.plan === 'SP-CC' ? OWN_MODULES : MODULES) {
        if (isPlayed && !isPlayed(variant)) continue
        it(name, () => play(new Bank(server, variant, { browser, key })))
      }
    })
  }
})
