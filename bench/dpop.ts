import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { CompactSign } from 'jose'
import { describe, post } from './browser.ts'

/** Well below the time for which a server takes a nonce. */
const NONCE_MILLISECONDS = 60_000

/** Creates DPoP proofs for a URL (RFC 9449 §4.2), signed with ES256 by one new key; each is unique. */
export function createProver(url: string): () => Promise<string> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const header = { typ: 'dpop+jwt', alg: 'ES256', jwk: publicKey.export({ format: 'jwk' }) }
  let learned: { readonly nonce: Promise<string>; readonly at: number } | undefined
  return async () => {
    if (!learned || performance.now() - learned.at > NONCE_MILLISECONDS) {
      learned = { nonce: nonceOf(url), at: performance.now() }
    }
    const claims = {
      jti: randomUUID(),
      htm: 'POST',
      htu: url,
      iat: Math.floor(Date.now() / 1000),
      nonce: await learned.nonce,
    }
    return new CompactSign(Buffer.from(JSON.stringify(claims))).setProtectedHeader(header).sign(privateKey)
  }
}

/** The nonce that the server hands out with a refusal. */
async function nonceOf(url: string): Promise<string> {
  const answer = await post(url, {}, undefined, 'none')
  const nonce = answer.headers.get('dpop-nonce')
  if (nonce === undefined) throw new Error(`no nonce: ${describe(url, answer)}`)
  return nonce
}
