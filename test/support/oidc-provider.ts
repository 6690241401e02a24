// An independent OpenID Connect provider: its keys, tokens for its users, and a loopback server that publishes
// both its keys and its discovery document.
import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { createServer } from 'node:http'
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose'
import type { CryptoKey, JWK } from 'jose'
import { epochSeconds } from '../../src/base/clock.ts'
import type { Clock } from '../../src/base/clock.ts'
import { inTurn, rsaCryptoKeys } from './rsa-keys.ts'

/** The default issuer of the provider's tokens. */
export const CORP = 'https://corp.example'

/** Our client id there. */
export const RELYING_PARTY = 'latchkey-at-corp'

type Claims = Readonly<Record<string, unknown>>

/** A provider of the test's own. */
export interface OidcProvider {
  readonly privateKey: CryptoKey
  readonly jwk: JWK
  readonly pem: string
  /** JSON text of its key set. */
  readonly jwks: string
  /** An ID token about its user `pat`, valid for five minutes; undefined claims are omitted. */
  token(claims?: Claims, header?: Claims): Promise<string>
}

const nextRsaKeys = inTurn(8, rsaCryptoKeys)

/** Makes the keys; tokens are made at the time of the clock. */
export async function createOidcProvider(clock: Clock, { alg = 'RS256', kid = 'corp-1' } = {}): Promise<OidcProvider> {
  const { privateKey, publicKey } =
    alg === 'RS256' ? await nextRsaKeys() : await generateKeyPair(alg, { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }
  return {
    privateKey,
    jwk,
    pem: await exportSPKI(publicKey),
    jwks: JSON.stringify({ keys: [jwk] }),
    token(claims = {}, header = {}) {
      const now = epochSeconds(clock.now())
      const usual = { iss: CORP, aud: RELYING_PARTY, sub: 'pat', iat: now, exp: now + 300, email: 'pat@corp.example' }
      return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg, kid, ...header }).sign(privateKey)
    },
  }
}

/** The provider's public key as a shared secret, for forged HS256 signatures. */
export const publicKeyAsSecret = ({ pem }: OidcProvider): Uint8Array => {
  assert.equal(createPublicKey(pem).type, 'public')
  return new TextEncoder().encode(pem)
}

/** A token without a signature that fits its header. */
export const unsigned = (header: Claims, claims: Claims, signature = ''): string =>
  `${[header, claims].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.${signature}`

/** A loopback server. */
export interface Publisher {
  readonly url: string
  /** Requested paths, in order. */
  readonly asked: readonly string[]
  /** Its responses by path: JSON, or a status if it is a number; everything else is 404. */
  readonly answers: Map<string, unknown>
  stop(): Promise<void>
}

/** Starts a server that publishes documents on a free port of 127.0.0.1. */
export async function startPublisher(): Promise<Publisher> {
  const asked: string[] = []
  const answers = new Map<string, unknown>()
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const answer = answers.get(path) ?? 404
    response.writeHead(typeof answer === 'number' ? answer : 200, { 'content-type': 'application/json' })
    response.end(typeof answer === 'number' ? '{}' : JSON.stringify(answer))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    answers,
    stop: () => new Promise<void>((resolve, reject) => server.close(error => (error ? reject(error) : resolve()))),
  }
}
