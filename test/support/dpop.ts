// A client with a DPoP key (RFC 9449), implemented with an independent library.
import type { KeyObject } from 'node:crypto'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { CompactSign, calculateJwkThumbprint } from 'jose'
import type { JWK } from 'jose'
import type { TestAnswer, TestRequest, TestServer } from './server.ts'

/** A key pair and how it signs. */
export interface DpopKey {
  readonly alg: string
  readonly jwk: JWK
  readonly privateKey: KeyObject
  readonly jkt: string
}

/** The content of a proof; `header` and `claims` replace or, if undefined, remove members. */
export interface ProofContent {
  readonly method?: string
  readonly url: string
  readonly at: Date
  readonly nonce?: string | undefined
  /** The access token that it is sent with. */
  readonly token?: string | undefined
  readonly header?: Readonly<Record<string, unknown>>
  readonly claims?: Readonly<Record<string, unknown>>
  /** Signs instead of the key that the header shows. */
  readonly signedBy?: KeyObject
}

/** A new key of P-256, or the given pair. */
export async function dpopKey(
  pair: { publicKey: KeyObject; privateKey: KeyObject } = generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  alg = 'ES256',
): Promise<DpopKey> {
  const jwk = pair.publicKey.export({ format: 'jwk' }) as JWK // of a public key
  return { alg, jwk, privateKey: pair.privateKey, jkt: await calculateJwkThumbprint(jwk) }
}

let made = 0

/** A proof, valid unless its content says otherwise. */
export function proof(
  key: DpopKey,
  { method = 'POST', url, at, nonce, token, ...rest }: ProofContent,
): Promise<string> {
  made += 1
  const ath = token === undefined ? undefined : createHash('sha256').update(token).digest('base64url')
  const iat = Math.floor(at.getTime() / 1000)
  const claims = { jti: `proof-${made}`, htm: method, htu: url, iat, nonce, ath, ...rest.claims }
  const header = { typ: 'dpop+jwt', alg: key.alg, jwk: key.jwk, ...rest.header }
  return new CompactSign(Buffer.from(JSON.stringify(claims)))
    .setProtectedHeader(header)
    .sign(rest.signedBy ?? key.privateKey)
}

/** The target of a request with a proof. */
export interface Target {
  readonly path: string
  readonly token?: string
  readonly request?: TestRequest
}

/** The current nonce of the zone of a host. */
export async function nonceOf(server: TestServer, host?: string): Promise<string> {
  const answer = await server.send('/userinfo', { headers: { dpop: 'none' }, ...(host !== undefined && { host }) })
  return String(answer.headers['dpop-nonce'])
}

/** Sends a request with a proof that has the server's nonce; `content` changes the proof. */
export async function sendProven(
  server: TestServer,
  key: DpopKey,
  { path, token, request = {} }: Target,
  content: Partial<ProofContent> = {},
): Promise<TestAnswer> {
  const method = request.method ?? (request.form === undefined && request.body === undefined ? 'GET' : 'POST')
  const base = request.host === undefined ? server.baseUrl : `http://${request.host}`
  const sent = await proof(key, {
    method,
    url: base + path,
    at: server.clock.now(),
    nonce: await nonceOf(server, request.host),
    token,
    ...content,
  })
  const authorization = token === undefined ? {} : { authorization: `DPoP ${token}` }
  return server.send(path, { ...request, headers: { ...authorization, dpop: sent, ...request.headers } })
}

/** A token request with a proof. */
export const provenToken = (
  server: TestServer,
  key: DpopKey,
  form: Readonly<Record<string, string>>,
  request: TestRequest = {},
  content: Partial<ProofContent> = {},
): Promise<TestAnswer> => sendProven(server, key, { path: '/oauth/token', request: { ...request, form } }, content)
