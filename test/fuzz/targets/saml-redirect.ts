import assert from 'node:assert/strict'
import { createPublicKey, sign } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import type { FastifyRequest } from 'fastify'
import { SamlProblem } from '../../../src/identity/saml/problem.ts'
import { checkRedirectSignature, readDeflated } from '../../../src/identity/saml/redirect-signature.ts'
import { MAX_MESSAGE_BYTES } from '../../../src/identity/saml/xml.ts'
import { MalformedInput } from '../../../src/web/requests/form.ts'
import { parseQuery, rawQuery } from '../../../src/web/requests/query.ts'
import { samlTestKey } from '../../support/saml/saml-signing.ts'
import { changed, changedBytes } from '../changes.ts'
import { target, verdictOf } from '../target.ts'

const [rsa, ec, stranger] = [samlTestKey(), samlTestKey('ec'), samlTestKey()]
const KEYS = [rsa, ec].map(({ certificate }) => createPublicKey(certificate))
const ALGORITHM = 'http://www.w3.org/2001/04/xmldsig-more#'
const PATH = '/saml/SingleLogout/alias/latchkey'

const packed = (text: string): string => encodeURIComponent(deflateRawSync(text).toString('base64'))
const TEXTS = ['<a>genuine</a>', '<b>another</b>', '<c>forged</c>'] as const
const [GENUINE, OTHER, FORGED] = TEXTS.map(packed)

/** The signed octets; the signature is added when an input is checked, since keys differ between runs. */
const SIGNED: readonly (readonly [text: string, key: string, hash: string])[] = [
  [`SAMLRequest=${GENUINE}&RelayState=a+b%2fc&SigAlg=${encodeURIComponent(`${ALGORITHM}rsa-sha256`)}`, 'rsa', 'sha256'],
  [`SAMLRequest=${OTHER}&SigAlg=${encodeURIComponent(`${ALGORITHM}rsa-sha512`)}`, 'rsa', 'sha512'],
  [`SAMLRequest=${GENUINE}&RelayState=&SigAlg=${encodeURIComponent(`${ALGORITHM}ecdsa-sha256`)}`, 'ec', 'sha256'],
  [`SAMLResponse=${GENUINE}&RelayState=x&SigAlg=${encodeURIComponent(`${ALGORITHM}rsa-sha256`)}`, 'rsa', 'sha256'],
  [`SAMLRequest=${FORGED}&SigAlg=${encodeURIComponent(`${ALGORITHM}rsa-sha256`)}`, 'stranger', 'sha256'],
]
const PRIVATE = { rsa, ec, stranger }
const SIGNATURES = SIGNED.map(([text, key, hash]) =>
  encodeURIComponent(
    sign(hash, Buffer.from(text), {
      key: PRIVATE[key as keyof typeof PRIVATE].privateKey, // written above
      dsaEncoding: 'ieee-p1363',
    }).toString('base64'),
  ),
)
const OWN = new Set(SIGNED.filter(([, key]) => key !== 'stranger').map(([text]) => text))

const QUERIES = SIGNED.map(([text], index) => `${text}&Signature=~${index}~`)
const PIECES = [
  ...QUERIES,
  `SAMLRequest=${FORGED}`,
  `SAMLRequest=${OTHER}`,
  'SAMLRequest=',
  'SAMLResponse=',
  'RelayState=evil',
  'RelayState=a+b%2Fc',
  'RelayState',
  '%53AMLRequest=',
  'SAMLRequest%00=',
  'samlrequest=',
  '&',
  '&&',
  '&x=',
  '?',
  '#',
  ';',
  '=',
  '+',
  '%20',
  '%3D',
  '%26',
  'SigAlg=',
  'Signature=~0~',
  '~1~',
]

/** Of the query, as it was sent, every value of the name: by an expression, not by a parser. */
const sentAs = (query: string, name: string): readonly string[] =>
  [...query.matchAll(new RegExp(`(?<=^|&)${name}(?:=[^&]*)?(?=&|$)`, 'g'))].map(([part]) => part)

/** The parser of browsers, which repairs input that ours rejects. */
function judged(seen: string, kind: string): string {
  const [parts, read] = [['SAMLRequest', 'SAMLResponse', 'RelayState', 'SigAlg'], new URLSearchParams(seen)]
  for (const name of parts) {
    assert.ok(read.getAll(name).length <= 1, `${name} is there twice`)
    assert.equal(read.getAll(name).length, sentAs(seen, name).length, `${name} in another spelling`)
  }
  const signed = parts.flatMap(name => sentAs(seen, name)).join('&')
  assert.ok(OWN.has(signed), 'the provider did not sign it')
  assert.ok(signed.startsWith(`${kind}=`), 'it is another message')
  return Buffer.from(read.get(kind) ?? '', 'base64').toString('base64')
}

function checkQuery(target: string): 'read' | 'refused' {
  const url = target.replace(/~(\d)~/g, (mark, index: string) => SIGNATURES[Number(index)] ?? mark)
  // Where the router lets the query begin, whichever of the two is first.
  const seen = /^[^?#]*[?#](.*)$/s.exec(url)?.[1] ?? ''
  const form = parseQuery(seen)
  if (form instanceof MalformedInput) return 'refused'
  const kind = form.all('SAMLRequest').length > 0 ? 'SAMLRequest' : 'SAMLResponse'
  return verdictOf(
    [SamlProblem],
    () => checkRedirectSignature(rawQuery({ url } as FastifyRequest), kind, KEYS), // the member that it reads
    () => {
      const message = judged(seen, kind)
      assert.equal(readDeflated(form.get(kind) ?? ''), readDeflated(message), 'another document')
      assert.ok(TEXTS.slice(0, 2).some(text => text === readDeflated(message)))
    },
  )
}

/** DEFLATE of so many spaces, or of anything: what comes out is bounded, and is text that packed again comes out again. */
function checkPacked(bytes: Buffer, size?: number): 'read' | 'refused' {
  const verdict = verdictOf(
    [SamlProblem],
    () => readDeflated(bytes.toString('base64')),
    text => {
      assert.ok(Buffer.byteLength(text) <= MAX_MESSAGE_BYTES, 'too long')
      assert.ok(text.isWellFormed())
      assert.equal(readDeflated(deflateRawSync(text).toString('base64')), text.replace(/^\ufeff/, ''))
    },
  )
  if (size !== undefined) assert.equal(verdict, size <= MAX_MESSAGE_BYTES ? 'read' : 'refused')
  return verdict
}

type Input =
  | { readonly kind: 'query'; readonly url: string }
  | { readonly kind: 'packed'; readonly hex: string }
  | { readonly kind: 'size'; readonly size: number }

const urls = fc.constantFrom(...QUERIES).map(query => `${PATH}?${query}`)
const sizes = fc.oneof(fc.integer({ min: MAX_MESSAGE_BYTES - 2, max: MAX_MESSAGE_BYTES + 2 }), fc.nat(2 ** 22))

/** SAML's redirect binding: what the provider signed, octet for octet of the query that the form is read from. */
export const samlRedirect = target<Input>({
  name: 'saml-redirect',
  inputs: fc.oneof(
    { weight: 40, arbitrary: changed(urls, PIECES).map(url => ({ kind: 'query', url }) as const) },
    {
      weight: 10,
      arbitrary: changedBytes(fc.constantFrom(...TEXTS, 'ü'.repeat(300)).map(text => deflateRawSync(text))).map(
        hex => ({ kind: 'packed', hex }) as const,
      ),
    },
    { weight: 1, arbitrary: sizes.map(size => ({ kind: 'size', size }) as const) },
  ),
  check(input) {
    switch (input.kind) {
      case 'query':
        return checkQuery(input.url)
      case 'packed':
        return checkPacked(Buffer.from(input.hex, 'hex'))
      case 'size':
        return checkPacked(deflateRawSync(' '.repeat(input.size)), input.size)
    }
  },
})
