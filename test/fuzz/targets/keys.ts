// Keys that are the same in every run, so that a counterexample can be kept: made from a public text, and so
// good for nothing else.
import { createPrivateKey, createPublicKey, hash, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

/** RFC 8410 §7: what stands before the 32 bytes. */
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex')

/** A key pair of Ed25519, whose signatures are the same each time. */
export function testKey(name: string): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  const der = Buffer.concat([PKCS8_ED25519, hash('sha256', `fuzz ${name}`, 'buffer')])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  return { privateKey, publicKey: createPublicKey(privateKey) }
}

/** The JWS of a header and a payload, which need not be JSON. */
export function signedText(header: string, payload: string, key: KeyObject): string {
  const input = [header, payload].map(part => Buffer.from(part).toString('base64url')).join('.')
  return `${input}.${sign(null, Buffer.from(input), key).toString('base64url')}`
}
