// The signature of the HTTP-Redirect binding, which is over the query as it was sent, and its compression.
import type { KeyObject } from 'node:crypto'
import { inflateRawSync } from 'node:zlib'
import { SamlProblem } from './problem.ts'
import { isSignedBy, isUsableKey, SIGNATURE_ALGORITHMS } from './signed-xml.ts'
import { MAX_MESSAGE_BYTES, textOf } from './xml.ts'

/**
 * Checks the signature over the message, the relay state and the algorithm, in this order and with the encoding of the query
 * itself (SAML Bindings §3.4.4.1); each may be there once. Throws a `SamlProblem`, `no-signature` if there is none.
 */
export function checkRedirectSignature(
  rawQuery: string,
  kind: 'SAMLRequest' | 'SAMLResponse',
  keys: readonly KeyObject[],
): void {
  const parts = new Map<string, string>()
  for (const part of rawQuery.split('&')) {
    const [name = ''] = part.split('=', 1)
    const plain = decoded(name)
    // An encoded name would be another parameter for a receiver that decodes first.
    if (plain !== name || parts.has(name)) throw new SamlProblem('bad-signature', 'a parameter is repeated or encoded')
    parts.set(name, part)
  }
  const [message, relayState, algorithm] = [kind, 'RelayState', 'SigAlg'].map(name => parts.get(name))
  const signature = parts.get('Signature')
  if (signature === undefined || algorithm === undefined) throw new SamlProblem('no-signature', 'it is not signed')
  if (message === undefined || (parts.has('SAMLRequest') && parts.has('SAMLResponse'))) {
    throw new SamlProblem('bad-signature', 'there must be exactly one message')
  }
  const name = decoded(algorithm.slice('SigAlg='.length))
  const allowed = Object.hasOwn(SIGNATURE_ALGORITHMS, name) ? SIGNATURE_ALGORITHMS[name] : undefined
  if (!allowed) throw new SamlProblem('algorithm', 'the signature algorithm is not allowed')
  const signed = Buffer.from([message, relayState, algorithm].filter(part => part !== undefined).join('&'))
  const bytes = Buffer.from(decoded(signature.slice('Signature='.length)), 'base64')
  const usable = keys.filter(key => isUsableKey(key, allowed.type))
  // For ECDSA both forms are in use.
  const isGenuine = usable.some(key =>
    (['ieee-p1363', 'der'] as const).some(dsaEncoding => isSignedBy(key, allowed, signed, { bytes, dsaEncoding })),
  )
  if (!isGenuine) throw new SamlProblem('bad-signature', 'no key of the provider matches')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new SamlProblem('not-xml', 'the query is not encoded correctly')
  }
}

/** The XML of a parameter (§3.4.4): base64 around DEFLATE, unpacked up to the limit of messages. Throws a `SamlProblem`. */
export function readDeflated(base64: string): string {
  const compact = base64.replace(/[\t\n\r ]/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) throw new SamlProblem('not-xml', 'no base64')
  if (compact.length > MAX_MESSAGE_BYTES) throw new SamlProblem('too-large', 'it is too long')
  try {
    return textOf(inflateRawSync(Buffer.from(compact, 'base64'), { maxOutputLength: MAX_MESSAGE_BYTES }))
  } catch (error) {
    if (error instanceof SamlProblem) throw error
    throw new SamlProblem('not-xml', 'it cannot be unpacked, or is too long')
  }
}
