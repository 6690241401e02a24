import assert from 'node:assert/strict'
import { constants, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { describe, it } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { SamlProblem } from '../../../src/identity/saml/problem.ts'
import { checkRedirectSignature, readDeflated } from '../../../src/identity/saml/redirect-signature.ts'
import { MAX_MESSAGE_BYTES } from '../../../src/identity/saml/xml.ts'
import { samlTestKey } from '../../support/saml/saml-signing.ts'

const [rsa, otherRsa, ec] = [samlTestKey(), samlTestKey(), samlTestKey('ec')]
const [rsaKey, otherRsaKey, ecKey] = [rsa, otherRsa, ec].map(({ certificate }) => createPublicKey(certificate))
assert.ok(rsaKey && otherRsaKey && ecKey)

const SIGNED = 'http://www.w3.org/2001/04/xmldsig-more#'
const pssOf = (hash: string): string => `http://www.w3.org/2007/05/xmldsig-more#${hash}-rsa-MGF1`
const MESSAGE = `SAMLRequest=${encodeURIComponent(deflateRawSync('<x/>').toString('base64'))}`

interface Signing {
  readonly privateKey?: string
  readonly algorithm?: string
  readonly hash?: string
  readonly padding?: number
  readonly saltLength?: number
}

function signatureOver(text: string, { privateKey = rsa.privateKey, hash = 'sha256', ...how }: Signing = {}): string {
  const bytes = sign(hash, Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363', ...how })
  return `Signature=${encodeURIComponent(bytes.toString('base64'))}`
}

/** A query with a signature over its parts, unchanged. */
function signed(parts: readonly string[], signing: Signing = {}): string {
  const text = [...parts, `SigAlg=${encodeURIComponent(signing.algorithm ?? `${SIGNED}rsa-sha256`)}`].join('&')
  return `${text}&${signatureOver(text, signing)}`
}

const check = (query: string, keys = [rsaKey], kind: 'SAMLRequest' | 'SAMLResponse' = 'SAMLRequest'): void =>
  checkRedirectSignature(query, kind, keys)

const refusal =
  (reason: string) =>
  (error: unknown): boolean =>
    error instanceof SamlProblem && error.reason === reason

describe('checkRedirectSignature', () => {
  const good: readonly { readonly name: string; readonly query: string; readonly keys?: (typeof rsaKey)[] }[] = [
    { name: 'of a message', query: signed([MESSAGE]) },
    { name: 'of a message and its RelayState', query: signed([MESSAGE, 'RelayState=a+b%2Fc']) },
    { name: 'of an empty RelayState', query: signed([MESSAGE, 'RelayState=']) },
    { name: 'with unsigned parameters of other names', query: `${signed([MESSAGE])}&tenant=1` },
    { name: 'in lower-case percent-encoding', query: signed([MESSAGE, 'RelayState=%2f%2F']) },
    { name: 'with any of the keys', query: signed([MESSAGE]), keys: [ecKey, otherRsaKey, rsaKey] },
    {
      name: 'with SHA-512',
      query: signed([MESSAGE], { algorithm: `${SIGNED}rsa-sha512`, hash: 'sha512' }),
    },
    {
      name: 'with an elliptic curve',
      query: signed([MESSAGE], { algorithm: `${SIGNED}ecdsa-sha256`, privateKey: ec.privateKey }),
      keys: [ecKey],
    },
  ]
  for (const { name, query, keys } of good) it(`accepts a signature ${name}`, () => check(query, keys))

  for (const hash of ['sha256', 'sha384', 'sha512']) {
    it(`accepts RSA-PSS with ${hash} only with a salt of the length of the hash`, () => {
      const pss = { algorithm: pssOf(hash), hash, padding: constants.RSA_PKCS1_PSS_PADDING }
      check(signed([MESSAGE], { ...pss, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }))
      for (const saltLength of [0, 20, constants.RSA_PSS_SALTLEN_MAX_SIGN]) {
        assert.throws(() => check(signed([MESSAGE], { ...pss, saltLength })), refusal('bad-signature'))
      }
    })
  }

  it('refuses an RSA key of fewer than 2048 bits', () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    assert.throws(() => check(signed([MESSAGE], { privateKey: pem }), [publicKey]), refusal('bad-signature'))
  })

  it('accepts parameters in another order than signed', () => {
    const parts = signed([MESSAGE, 'RelayState=x']).split('&')
    check(parts.toReversed().join('&'))
  })

  const query = signed([MESSAGE, 'RelayState=x'])
  const without = (name: string): string =>
    query
      .split('&')
      .filter(part => !part.startsWith(`${name}=`))
      .join('&')
  const bad: readonly { readonly name: string; readonly query: string; readonly reason: string }[] = [
    { name: 'an empty query', query: '', reason: 'no-signature' },
    { name: 'no message', query: without('SAMLRequest'), reason: 'bad-signature' },
    { name: 'no signature', query: without('Signature'), reason: 'no-signature' },
    { name: 'an empty signature', query: `${without('Signature')}&Signature=`, reason: 'bad-signature' },
    { name: 'no algorithm', query: without('SigAlg'), reason: 'no-signature' },
    { name: 'a signed RelayState that was removed', query: without('RelayState'), reason: 'bad-signature' },
    { name: 'a RelayState that was added', query: `${signed([MESSAGE])}&RelayState=x`, reason: 'bad-signature' },
    {
      name: 'a re-encoded RelayState',
      query: query.replace('RelayState=x', 'RelayState=%78'),
      reason: 'bad-signature',
    },
    { name: 'a changed message', query: query.replace('SAMLRequest=', 'SAMLRequest=a'), reason: 'bad-signature' },
    { name: 'a repeated message', query: `${query}&${MESSAGE}`, reason: 'bad-signature' },
    { name: 'a repeated signature', query: `${query}&Signature=x`, reason: 'bad-signature' },
    {
      name: 'a message under an encoded name',
      query: query.replace('SAMLRequest', '%53AMLRequest'),
      reason: 'bad-signature',
    },
    { name: 'an invalid encoding', query: query.replace(/Signature=.*/, 'Signature=%'), reason: 'not-xml' },
    {
      name: 'SHA-1',
      query: signed([MESSAGE], { algorithm: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1', hash: 'sha1' }),
      reason: 'algorithm',
    },
    {
      name: 'an algorithm named like an inherited member',
      query: signed([MESSAGE], { algorithm: 'toString' }),
      reason: 'algorithm',
    },
    {
      name: 'a signature by PKCS #1 1.5 under the name of RSA-PSS',
      query: signed([MESSAGE], { algorithm: pssOf('sha256') }),
      reason: 'bad-signature',
    },
    {
      name: 'a signature by RSA-PSS under the name of PKCS #1 1.5',
      query: signed([MESSAGE], { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }),
      reason: 'bad-signature',
    },
    {
      name: 'RSA-PSS with SHA-1',
      query: signed([MESSAGE], { algorithm: pssOf('sha1'), hash: 'sha1' }),
      reason: 'algorithm',
    },
    {
      name: 'RSA-PSS with parameters of its own',
      query: signed([MESSAGE], { algorithm: 'http://www.w3.org/2007/05/xmldsig-more#rsa-pss' }),
      reason: 'algorithm',
    },
    {
      name: 'a relay state with an encoded name',
      query: `${signed([MESSAGE])}&%52elayState=x`,
      reason: 'bad-signature',
    },
    { name: 'a response beside the request', query: `${signed([MESSAGE])}&SAMLResponse=x`, reason: 'bad-signature' },
    { name: 'an HMAC', query: signed([MESSAGE], { algorithm: `${SIGNED}hmac-sha256` }), reason: 'algorithm' },
    {
      name: 'an algorithm of another kind of key',
      query: signed([MESSAGE], { algorithm: `${SIGNED}ecdsa-sha256` }),
      reason: 'bad-signature',
    },
    {
      name: 'another algorithm of the same key',
      query: signed([MESSAGE], { algorithm: `${SIGNED}rsa-sha512` }),
      reason: 'bad-signature',
    },
    { name: 'another key', query: signed([MESSAGE], { privateKey: otherRsa.privateKey }), reason: 'bad-signature' },
  ]
  for (const { name, query: refused, reason } of bad) {
    it(`refuses ${name}: ${reason}`, () => assert.throws(() => check(refused), refusal(reason)))
  }

  it('refuses a signature without keys or for the other kind of message', () => {
    assert.throws(() => check(query, []), refusal('bad-signature'))
    assert.throws(() => check(query, [rsaKey], 'SAMLResponse'), refusal('bad-signature'))
  })
})

describe('readDeflated', () => {
  const packed = (bytes: Buffer | string): string => deflateRawSync(bytes).toString('base64')

  it('inflates a message', () => assert.equal(readDeflated(packed('<x>ö</x>')), '<x>ö</x>'))

  const bad: readonly { readonly name: string; readonly base64: string; readonly reason: string }[] = [
    {
      name: 'a message over the maximum size',
      base64: packed(Buffer.alloc(MAX_MESSAGE_BYTES + 1)),
      reason: 'not-xml',
    },
    { name: 'a message of a hundred megabytes', base64: packed(Buffer.alloc(100_000_000)), reason: 'not-xml' },
    { name: 'a message that is not deflated', base64: Buffer.from('<x/>').toString('base64'), reason: 'not-xml' },
    { name: 'a truncated message', base64: packed('<x/>'.repeat(100)).slice(0, 8), reason: 'not-xml' },
    { name: 'a message that is not UTF-8', base64: packed(Buffer.from([0x3c, 0xff])), reason: 'not-xml' },
    { name: 'an empty message', base64: '', reason: 'not-xml' },
    { name: 'invalid base64', base64: packed('<x/>').replace(/^./, '$&!'), reason: 'not-xml' },
    {
      name: 'long input that inflates to a short message',
      // Blocks without content (RFC 1951 §3.2.4) before the message.
      base64: Buffer.concat([Buffer.from('000000ffff'.repeat(50_000), 'hex'), deflateRawSync('<x/>')]).toString(
        'base64',
      ),
      reason: 'too-large',
    },
  ]
  for (const { name, base64, reason } of bad) {
    it(`refuses ${name}: ${reason}`, () => assert.throws(() => readDeflated(base64), refusal(reason)))
  }
})
