// A client that signs its requests, for tests of request objects, pushed requests and signed responses.
import { createHash, randomBytes } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import type { CryptoKey, JWTPayload } from 'jose'
import { rsaCryptoKeys } from './rsa-keys.ts'
import type { TestAnswer, TestServer } from './server.ts'
import { defaultBootstrap } from './server.ts'

/** The issuer in `standard`. */
export const ISSUER = 'http://localhost:8080'
/** The redirect URI of the client. */
export const CALLBACK = 'https://bank.example/cb'
/** Credentials of the client for Basic. */
export const BANK = ['bank', 'bank-secret'] as const

const es256 = await generateKeyPair('ES256', { extractable: true })
const rs256 = await rsaCryptoKeys()
const ed25519 = await generateKeyPair('Ed25519', { extractable: true })
const stranger = await generateKeyPair('ES256', { extractable: true })

/** The signing keys of the client and a foreign key, by `kid`. */
export const SIGNERS: Readonly<
  Record<'ec' | 'rsa' | 'ed' | 'stranger', { readonly alg: string; readonly key: CryptoKey }>
> = {
  ec: { alg: 'ES256', key: es256.privateKey },
  rsa: { alg: 'RS256', key: rs256.privateKey },
  ed: { alg: 'Ed25519', key: ed25519.privateKey },
  stranger: { alg: 'ES256', key: stranger.privateKey },
}

/** The public keys of the client. */
export const JWKS = {
  keys: [
    { ...(await exportJWK(es256.publicKey)), kid: 'ec', alg: 'ES256', use: 'sig' },
    { ...(await exportJWK(rs256.publicKey)), kid: 'rsa', alg: 'RS256', use: 'sig' },
    { ...(await exportJWK(ed25519.publicKey)), kid: 'ed', use: 'sig' },
  ],
}

/** A client of the bank. */
export const bankClient = (id: string, more: Readonly<Record<string, unknown>> = {}) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['authorization_code', 'refresh_token', 'implicit'],
  scope: ['openid', 'profile', 'cloud.read'],
  redirect_uri: [CALLBACK],
  autoapprove: true,
  jwks: JWKS,
  ...more,
})

/** The usual accounts and the clients. */
export const withBanks = (...clients: readonly Readonly<Record<string, unknown>>[]) => ({
  ...defaultBootstrap,
  clients: [...defaultBootstrap.clients, bankClient('bank'), ...clients],
})

/** A plain request of the client. */
export const BANK_REQUEST = {
  response_type: 'code',
  client_id: 'bank',
  redirect_uri: CALLBACK,
  scope: 'openid',
  state: 'signed-state',
  nonce: 'n1',
} as const

/** Differences from the default object. */
export interface ObjectOptions {
  readonly by?: keyof typeof SIGNERS
  readonly header?: Readonly<Record<string, unknown>>
  /** Added to the usual claims; undefined removes one. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/** A request object of the client, as `openid-client` makes them. */
export async function requestObject(
  { clock }: Pick<TestServer, 'clock'>,
  { by = 'ec', header = {}, claims = {} }: ObjectOptions = {},
): Promise<string> {
  const now = Math.floor(clock.now().getTime() / 1000)
  const payload: JWTPayload = {
    iss: 'bank',
    aud: ISSUER,
    exp: now + 300,
    nbf: now,
    iat: now,
    jti: randomBytes(16).toString('hex'),
    ...BANK_REQUEST,
    ...claims,
  }
  const { alg, key } = SIGNERS[by]
  return new SignJWT(payload).setProtectedHeader({ alg, kid: by, typ: 'oauth-authz-req+jwt', ...header }).sign(key)
}

/** `POST /oauth/par`. */
export const push = (
  server: Pick<TestServer, 'send'>,
  form: Readonly<Record<string, string>> = BANK_REQUEST,
  basic: readonly [string, string] | undefined = BANK,
): Promise<TestAnswer> => server.send('/oauth/par', { method: 'POST', form, ...(basic && { basic }) })

/** The reference that the client gets for its request. */
export async function pushed(
  server: Pick<TestServer, 'send'>,
  form?: Readonly<Record<string, string>>,
  basic?: readonly [string, string],
): Promise<string> {
  const answer = await push(server, form, basic)
  if (answer.status !== 201) throw new Error(`not pushed: ${answer.text}`)
  return answer.json<{ request_uri: string }>().request_uri
}

/** A PKCE verifier and its challenge. */
export function pkce(): { readonly verifier: string; readonly challenge: string } {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}
