import assert from 'node:assert/strict'
import crypto, { createPrivateKey, createPublicKey } from 'node:crypto'
import { describe, it } from 'node:test'
import { DOMParser } from '@xmldom/xmldom'
import { SignedXml } from 'xml-crypto'
import { readBearerAssertion } from '../../../src/identity/saml/assertion.ts'
import { SamlProblem } from '../../../src/identity/saml/problem.ts'
import type { SamlReason } from '../../../src/identity/saml/problem.ts'
import { mayAnswerRequest, readResponse } from '../../../src/identity/saml/response.ts'
import type { Expectation } from '../../../src/identity/saml/statement.ts'
import { peekIssuer } from '../../../src/identity/saml/xml.ts'
import { createTestClock } from '../../support/clock.ts'
import { base64Of, base64UrlOf, SAML } from '../../support/saml/saml-xml.ts'
import { createSamlIdp } from '../../support/saml/saml-idp.ts'
import { encrypted, samlTestKey, withBitTurned } from '../../support/saml/saml-signing.ts'
import type { SamlTestKey } from '../../support/saml/saml-signing.ts'
import type { EncryptionParts, ResponseParts } from '../../support/saml/saml-parts.ts'
import { thinned } from '../../support/thinning.ts'

const clock = createTestClock()
const to = { entityId: 'latchkey', recipient: 'http://localhost:8080/saml/SSO/alias/latchkey' }
const idp = createSamlIdp({ clock, to })
const ours = samlTestKey()
const otherKey = samlTestKey()
const publicKey = createPublicKey(idp.key.certificate)

const expected: Expectation = {
  provider: { entityId: idp.entityId, signingKeys: [publicKey] },
  ownEntityId: 'latchkey',
  decryptionKeys: [createPrivateKey(ours.privateKey)],
  recipient: to.recipient,
  inResponseTo: { id: '_request' },
  maxAuthenticationAge: 864_000,
  now: clock.now(),
}
const inSeconds = (seconds: number): Date => new Date(clock.now().getTime() + seconds * 1000)

const read = (xml: string, changes: Partial<Expectation> = {}) =>
  readResponse(base64Of(xml), { ...expected, ...changes })
const response = (parts: ResponseParts = {}): Promise<string> => idp.response({ inResponseTo: '_request', ...parts })

function refuses(reason: SamlReason, work: () => unknown): void {
  assert.throws(work, (error: unknown) => {
    assert.ok(error instanceof SamlProblem, String(error))
    assert.equal(error.reason, reason, error.message)
    return true
  })
}

const assertNotDecrypted = (xml: string): void =>
  assert.throws(() => read(xml), {
    reason: 'decryption',
    message: 'it does not decrypt to an assertion that the provider signed',
  })

describe('readResponse', () => {
  for (const signs of [['assertion'], ['response'], ['assertion', 'response']] as const) {
    it(`accepts a signed ${signs.join(' and a signed ')}`, async () => {
      const attributes = [{ name: 'mail', friendlyName: 'Mail', values: ['a&b@example.org', '<c>'] }]
      const statement = read(await response({ signs, attributes, nameId: 'Mária <1>' }))
      assert.deepEqual(
        [statement.nameId, statement.sessionIndex, statement.authnContextClasses, statement.attributes],
        [{ value: 'Mária <1>', format: SAML.persistentName }, 'session-1', [SAML.password], attributes],
      )
      assert.deepEqual([statement.authenticatedAt, statement.usableUntil], [clock.now(), inSeconds(360)])
    })
  }

  const aes128 = ['http://www.w3.org/2009/xmlenc11#aes128-gcm', 'http://www.w3.org/2001/04/xmlenc#aes128-cbc'] as const
  for (const algorithm of [SAML.gcm, SAML.cbc, ...aes128] as const) {
    // Covers POST /saml/SSO/alias/{alias}: encrypted assertions
    it(`accepts a signed assertion encrypted with ${algorithm}`, async () => {
      const encrypts = { certificate: ours.certificate, algorithm }
      assert.equal(read(await response({ encrypts })).nameId.value, 'person-1')
      assert.equal(read(await response({ encrypts, signs: ['assertion', 'response'] })).nameId.value, 'person-1')
    })
  }

  // Some providers declare namespaces only in the response, outside the encrypted assertion.
  for (const signs of [[], ['response']] as const) {
    const kind = signs.length > 0 ? 'a signed' : 'an unsigned'
    it(`accepts an encrypted assertion that uses namespaces declared in ${kind} response`, async () => {
      const whole = idp.signedAssertion({ inResponseTo: '_request' })
      const bare = whole.replace(` xmlns:saml="${SAML.assertion}"`, '')
      assert.notEqual(bare, whole)
      for (const text of [bare, `<?xml version="1.0" encoding="UTF-8"?>\n${bare}`]) {
        const data = await encrypted(text, { certificate: ours.certificate })
        const content = `<saml:EncryptedAssertion>${data}</saml:EncryptedAssertion>`
        const xml = idp.responseAround(content, { signs, inResponseTo: '_request' })
        assert.equal(read(xml).nameId.value, 'person-1')
      }
      for (const text of [`${bare}${bare}`, `</around>${bare}<around>`, `${bare}x`, '<saml:Assertion/>', 'saml']) {
        const data = await encrypted(text, { certificate: ours.certificate })
        const content = `<saml:EncryptedAssertion>${data}</saml:EncryptedAssertion>`
        refuses('decryption', () => read(idp.responseAround(content, { signs, inResponseTo: '_request' })))
      }
    })
  }

  it('ignores white space around the audience', async () => {
    const audiences = ['\n      latchkey\n    ']
    assert.equal(read(await response({ audiences })).nameId.value, 'person-1')
    for (const audience of ['latch key', 'other latchkey']) {
      const xml = await response({ audiences: [audience] })
      refuses('audience', () => read(xml))
    }
  })

  const hashes = [
    { keyAlgorithm: SAML.oaep, digest: 'sha1' },
    { keyAlgorithm: SAML.oaep, digest: 'sha256' },
    { keyAlgorithm: SAML.oaep, digest: 'sha512' },
    { keyAlgorithm: SAML.oaep11, digest: 'sha256' },
    { keyAlgorithm: SAML.oaep11, digest: 'sha256', mask: 'sha256' },
    { keyAlgorithm: SAML.oaep11, digest: 'sha1', mask: 'sha512' },
    { keyAlgorithm: SAML.oaep11, digest: 'sha1', mask: 'sha224' },
  ] as const
  for (const { keyAlgorithm, ...each } of hashes) {
    it(`accepts a key encrypted by ${keyAlgorithm} with ${Object.values(each).join(' and ')}`, async () => {
      const encrypts = { certificate: ours.certificate, keyAlgorithm, ...each }
      assert.equal(read(await response({ encrypts })).nameId.value, 'person-1')
    })
  }

  it('accepts the misspelled names of hashes that are in use', async () => {
    for (const [hash, genuine, misspelled] of [
      [{ digest: 'sha256' }, 'http://www.w3.org/2001/04/xmlenc#sha256', 'http://www.w3.org/2000/09/xmldsig#sha256'],
      [{ digest: 'sha512' }, 'http://www.w3.org/2001/04/xmlenc#sha512', 'http://www.w3.org/2000/09/xmldsig#sha512'],
      [{ mask: 'sha1' }, 'http://www.w3.org/2009/xmlenc11#mgf1sha1', 'http://www.w3.org/2001/04/xmlenc#MGF1withSHA1'],
    ] as const) {
      const encrypts = { certificate: ours.certificate, keyAlgorithm: SAML.oaep11, ...hash }
      const xml = (await response({ encrypts })).replace(genuine, misspelled)
      assert.ok(xml.includes(misspelled))
      assert.equal(read(xml).nameId.value, 'person-1')
    }
  })

  it('uses SHA-1 for an encrypted key without DigestMethod', async () => {
    const xml = await response({ encrypts: { certificate: ours.certificate, digest: 'sha1' } })
    const silent = xml.replace(/<DigestMethod [^>]*>(?:<\/DigestMethod>)?/, '')
    assert.notEqual(silent, xml)
    assert.equal(read(silent).nameId.value, 'person-1')
  })

  it('accepts an EC key, and any of several keys', async () => {
    const key = samlTestKey('ec')
    const xml = await createSamlIdp({ clock, to, key }).response({ inResponseTo: '_request' })
    const signingKeys = [publicKey, createPublicKey(key.certificate)]
    assert.equal(read(xml, { provider: { ...expected.provider, signingKeys } }).nameId.value, 'person-1')
  })

  it('accepts a signature with RSA-PSS', async () => {
    for (const signs of [['assertion'], ['response']] as const) {
      const xml = await response({ signs, signing: { algorithm: SAML.rsaPssSha256 } })
      assert.equal(read(xml).nameId.value, 'person-1')
      refuses('bad-signature', () => read(xml.replace('person-1', 'person-2')))
    }
  })

  for (const digest of [SAML.sha384, SAML.sha512]) {
    it(`accepts a digest of ${digest}`, async () => {
      assert.equal(read(await response({ signing: { digest } })).nameId.value, 'person-1')
    })
  }

  it('accepts response and assertion signed with different InclusiveNamespaces', () => {
    const types = 'xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    const typed = idp
      .assertion({ inResponseTo: '_request', attributes: [{ name: 'mail', values: ['a@example.org'] }] })
      .replace('<saml:Assertion', `$& ${types}`)
      .replace('<saml:AttributeValue', '$& xsi:type="xs:string"')
    for (const outer of [['xs'], []]) {
      for (const inner of [['xs'], []]) {
        const signed = idp.sign(typed, { inclusivePrefixes: inner })
        const parts = { inResponseTo: '_request', signs: ['response'], signing: { inclusivePrefixes: outer } } as const
        assert.equal(read(idp.responseAround(signed, parts)).attributes[0]?.values[0], 'a@example.org')
        const byOther = idp.sign(typed, { inclusivePrefixes: inner, key: otherKey })
        refuses('bad-signature', () => read(idp.responseAround(byOther, parts)))
      }
    }
  })

  it('limits usableUntil to 3000 s plus clock skew', async () => {
    const far = inSeconds(10_000_000)
    const xml = await response({ notOnOrAfter: far, conditions: { notOnOrAfter: far } })
    assert.deepEqual(read(xml).usableUntil, inSeconds(3060))
  })

  it('takes usableUntil from Conditions, even if the subject confirmation ends earlier', async () => {
    const xml = await response({ notOnOrAfter: inSeconds(60), conditions: { notOnOrAfter: inSeconds(600) } })
    assert.deepEqual(read(xml).usableUntil, inSeconds(660))
  })

  it('accepts every InResponseTo, or only a missing one if there was no request', async () => {
    assert.equal(read(await response(), { inResponseTo: 'any' }).nameId.value, 'person-1')
    assert.equal(read(await idp.response(), { inResponseTo: 'none' }).nameId.value, 'person-1')
  })

  it('limits the age of AuthnInstant to maxAuthenticationAge', async () => {
    const longAgo = await response({ authnInstant: inSeconds(-863_999) })
    assert.deepEqual(read(longAgo).authenticatedAt, inSeconds(-863_999))
    refuses('expired', () => read(longAgo, { maxAuthenticationAge: 863_999 }))
    const longer = await response({ authnInstant: inSeconds(-7_000_000) })
    assert.equal(read(longer, { maxAuthenticationAge: 7_776_000 }).nameId.value, 'person-1')
  })

  it('reports status codes and message of an error response', () => {
    const status = 'urn:oasis:names:tc:SAML:2.0:status:Responder'
    const statusWithin = 'urn:oasis:names:tc:SAML:2.0:status:AuthnFailed'
    for (const signs of [[], ['response']] as const) {
      const answer = (parts: ResponseParts): string =>
        idp.responseAround('', { ...parts, inResponseTo: '_request', signs })
      const words = `the provider returned "${status}", "${statusWithin}"`
      assert.throws(() => read(answer({ status, statusWithin })), {
        reason: 'status',
        code: statusWithin,
        message: words,
      })
      const message = `${words}, "wrong password"`
      assert.throws(() => read(answer({ status, statusWithin, statusMessage: 'wrong password' })), { message })
      refuses('several-assertions', () => read(answer({})))
    }
  })

  it('refuses an Assertion of another namespace', () => {
    const [start, end] = ['<other:Assertion xmlns:other="urn:other"', '</other:Assertion>']
    const other = idp
      .assertion({ inResponseTo: '_request' })
      .replace(/^<saml:Assertion/, start)
      .replace(/<\/saml:Assertion>$/, end)
    const signed = idp.sign(other)
    assert.ok(signed.startsWith(start) && signed.includes('<ds:Signature') && signed.endsWith(end))
    refuses('several-assertions', () => read(idp.responseAround(signed, { signs: [], inResponseTo: '_request' })))
  })

  it('refuses elements within NameID', () => {
    const nameWith = (value: string): string =>
      idp.sign(idp.assertion({ inResponseTo: '_request' }).replace('>person-1<', `>${value}<`))
    const around = (xml: string): string => idp.responseAround(xml, { signs: [], inResponseTo: '_request' })
    assert.equal(read(around(nameWith('person-1'))).nameId.value, 'person-1')
    for (const value of ['person-1<x/>', '<x/>person-1', 'person<x>.evil</x>-1']) {
      refuses('name-id', () => read(around(nameWith(value))))
    }
  })

  it('refuses an invalid IssueInstant', () => {
    const issuedAt = (text: string): string =>
      idp.responseAround(
        idp.sign(
          idp.assertion({ inResponseTo: '_request' }).replace(/ IssueInstant="[^"]*"/, ` IssueInstant="${text}"`),
        ),
        { signs: [], inResponseTo: '_request' },
      )
    for (const text of ['2026-13-01T00:00:00Z', '2026-01-01T24:00:01Z', '2026-02-31T00:00:00Z']) {
      refuses('not-xml', () => read(issuedAt(text)))
    }
  })

  it('reads SessionIndex and SessionNotOnOrAfter', async () => {
    const sessionOf = async (parts: ResponseParts) => {
      const { sessionIndex, sessionEndsAt } = read(await response(parts))
      return { sessionIndex, sessionEndsAt }
    }
    assert.deepEqual(await sessionOf({}), { sessionIndex: 'session-1', sessionEndsAt: undefined })
    const ending = await sessionOf({ sessionIndex: 'x'.repeat(1024), sessionNotOnOrAfter: inSeconds(100) })
    assert.deepEqual(ending, { sessionIndex: 'x'.repeat(1024), sessionEndsAt: inSeconds(160) })
    // Logout requests do not accept these.
    for (const sessionIndex of ['', 'x'.repeat(1025)]) {
      assert.equal((await sessionOf({ sessionIndex })).sessionIndex, undefined)
    }
  })

  it('accepts one of the requested authentication contexts', async () => {
    const authnContext = ['urn:other', SAML.password]
    assert.equal(read(await response(), { authnContext }).nameId.value, 'person-1')
  })

  it('accepts OneTimeUse and ProxyRestriction', async () => {
    const moreConditions = '<saml:OneTimeUse/><saml:ProxyRestriction Count="0"/>'
    assert.equal(read(await response({ moreConditions })).nameId.value, 'person-1')
  })

  it('reads the qualifiers of NameID', async () => {
    const qualifiers = { nameQualifier: 'https://idp.example', spNameQualifier: 'latchkey' }
    const { nameId } = read(await response({ ...qualifiers, format: null }))
    assert.deepEqual(nameId, { value: 'person-1', ...qualifiers })
  })

  const refused: readonly (readonly [string, SamlReason, ResponseParts, Partial<Expectation>?])[] = [
    // Covers POST /saml/SSO/alias/{alias}: check: assertion signature
    ['without a signature', 'no-signature', { signs: [] }],
    ['signed with an unknown key', 'bad-signature', { signing: { key: otherKey } }],
    // Covers POST /saml/SSO/alias/{alias}: check: response signature
    ['signed as a whole with an unknown key', 'bad-signature', { signs: ['response'], signing: { key: otherKey } }],
    ['signed with SHA-1', 'algorithm', { signing: { algorithm: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' } }],
    ['with a digest of SHA-1', 'algorithm', { signing: { digest: 'http://www.w3.org/2000/09/xmldsig#sha1' } }],
    [
      'canonicalized inclusively',
      'algorithm',
      { signing: { canonicalization: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315' } },
    ],
    ['with one transform', 'algorithm', { signing: { transforms: [SAML.exclusive] } }],
    [
      'with three transforms',
      'algorithm',
      { signing: { transforms: [SAML.enveloped, SAML.exclusive, SAML.exclusive] } },
    ],
    // Covers POST /saml/SSO/alias/{alias}: check: status
    ['with another status', 'status', { status: 'urn:oasis:names:tc:SAML:2.0:status:Responder' }],
    // Covers POST /saml/SSO/alias/{alias}: check: Destination
    ['for another destination', 'destination', { destination: 'https://other.example/' }],
    ['signed without a destination', 'destination', { destination: null, signs: ['response'] }],
    // Covers POST /saml/SSO/alias/{alias}: check: Issuer
    ['from another issuer of the response', 'issuer', { responseIssuer: 'https://other.example' }],
    [
      'from another issuer of the assertion',
      'issuer',
      { issuer: 'https://other.example', responseIssuer: idp.entityId },
    ],
    // Covers POST /saml/SSO/alias/{alias}: check: Audience
    ['for another audience', 'audience', { audiences: ['other'] }],
    ['without an audience', 'audience', { audiences: null }],
    ['without conditions', 'condition', { conditions: null }],
    // Covers POST /saml/SSO/alias/{alias}: check: Conditions
    ['with an unknown condition', 'condition', { moreConditions: '<saml:Mood/>' }],
    ['with a condition of another namespace', 'condition', { moreConditions: '<a:OneTimeUse xmlns:a="urn:a"/>' }],
    ['signed with an empty id', 'bad-signature', { responseId: '', signs: ['response'] }],
    [
      'with a second restriction to another audience',
      'audience',
      { moreConditions: '<saml:AudienceRestriction><saml:Audience>other</saml:Audience></saml:AudienceRestriction>' },
    ],
    // Covers POST /saml/SSO/alias/{alias}: check: subject confirmation
    ['for another recipient', 'recipient', { recipient: 'http://localhost:8080/oauth/token/alias/latchkey' }],
    ['without a recipient', 'recipient', { recipient: null }],
    // Covers POST /saml/SSO/alias/{alias}: check: `InResponseTo`
    ['to another request', 'in-response-to', { inResponseTo: '_other' }],
    ['without InResponseTo', 'in-response-to', { inResponseTo: null }],
    ['with another InResponseTo of the response', 'in-response-to', { responseInResponseTo: '_other' }],
    ['with InResponseTo if there was no request', 'in-response-to', {}, { inResponseTo: 'none' }],
    ['with an expired confirmation', 'expired', { notOnOrAfter: inSeconds(-61) }],
    ['with a confirmation without NotOnOrAfter', 'subject', { notOnOrAfter: null }],
    ['with a confirmation with NotBefore', 'subject', { confirmationNotBefore: inSeconds(-10) }],
    ['without a bearer confirmation', 'subject', { method: 'urn:oasis:names:tc:SAML:2.0:cm:holder-of-key' }],
    ['with expired conditions', 'expired', { conditions: { notOnOrAfter: inSeconds(-61) } }],
    ['with conditions that are not valid yet', 'not-yet-valid', { conditions: { notBefore: inSeconds(61) } }],
    ['issued in the future', 'not-yet-valid', { issueInstant: inSeconds(61) }],
    // Covers POST /saml/SSO/alias/{alias}: check: `IssueInstant`; assertion age
    ['issued too long ago', 'expired', { issueInstant: inSeconds(-61) }],
    // Covers POST /saml/SSO/alias/{alias}: check: `AuthnInstant`
    ['with an AuthnInstant too long ago', 'expired', { authnInstant: inSeconds(-864_001) }],
    ['with an AuthnInstant in the future', 'not-yet-valid', { authnInstant: inSeconds(61) }],
    ['with an ended session', 'expired', { sessionNotOnOrAfter: inSeconds(-61) }],
    ['without an AuthnStatement', 'subject', { authnInstant: null }],
    // Covers POST /saml/SSO/alias/{alias}: check: `authnContext`
    ['with another authentication context', 'authn-context', {}, { authnContext: ['urn:other'] }],
    ['without a subject', 'subject', { nameId: null }],
    ['with an empty NameID', 'name-id', { nameId: '' }],
    ['with white space around the NameID', 'name-id', { nameId: ' person-1' }],
    ['with a line break in the NameID', 'name-id', { nameId: 'person\n1' }],
    ['with a long NameID', 'name-id', { nameId: 'x'.repeat(256) }],
    [
      'with a long list of prefixes',
      'algorithm',
      { signing: { inclusivePrefixes: Array.from({ length: 100 }, (_, place) => `prefix${place}`) } },
    ],
    ['with a long NameID format', 'name-id', { format: `urn:${'x'.repeat(1024)}` }],
    ['with a long NameQualifier', 'name-id', { nameQualifier: 'x'.repeat(1025) }],
    ['with a long id', 'not-xml', { id: `_${'x'.repeat(255)}` }],
    ['encrypted without a signature', 'decryption', { signs: [], encrypts: { certificate: ours.certificate } }],
    ['encrypted for another recipient', 'decryption', { encrypts: { certificate: otherKey.certificate } }],
    [
      'encrypted with RSA 1.5',
      'algorithm',
      { encrypts: { certificate: ours.certificate, keyAlgorithm: 'http://www.w3.org/2001/04/xmlenc#rsa-1_5' } },
    ],
  ]
  for (const [name, reason, parts, changes] of refused) {
    it(`refuses a response ${name}`, async () => {
      const xml = await response(parts)
      refuses(reason, () => read(xml, changes))
    })
    // Cases about signing, encryption or the id of the assertion have one layout.
    if (['signs', 'signing', 'encrypts', 'id'].some(part => part in parts)) continue
    it(`refuses a response ${name} if only the response is signed`, async () => {
      const plain = await response({ ...parts, signs: ['response'] })
      refuses(reason, () => read(plain, changes))
      const within = await response({ ...parts, signs: ['response'], encrypts: { certificate: ours.certificate } })
      // Decryption requires an assertion of the provider.
      refuses('issuer' in parts ? 'decryption' : reason, () => read(within, changes))
    })
  }

  describe('in a response issued now', () => {
    const parts = { inResponseTo: '_request' }
    const around = (assertion: string): string => idp.responseAround(idp.sign(assertion), parts)
    const plain = idp.assertion(parts)

    it('accepts an assertion issued now', () => assert.ok(read(around(plain))))

    for (const [name, reason, assertion] of [
      ['issued in the future', 'not-yet-valid', idp.assertion({ ...parts, issueInstant: inSeconds(61) })],
      ['issued too long ago', 'expired', idp.assertion({ ...parts, issueInstant: inSeconds(-3060) })],
      [
        'with an invalid IssueInstant',
        'not-xml',
        plain.replace(/ IssueInstant="[^"]*"/, ' IssueInstant="2026-02-31T00:00:00Z"'),
      ],
      ['without IssueInstant', 'not-xml', plain.replace(/ IssueInstant="[^"]*"/, '')],
      ['of another version', 'not-xml', plain.replace('Version="2.0"', 'Version="1.1"')],
    ] as const) {
      it(`refuses an assertion ${name}`, () => refuses(reason, () => read(around(assertion))))
    }
  })

  for (const [name, url] of [
    ['DigestMethod', 'http://www.w3.org/2001/04/xmlenc#sha256'],
    ['MGF', 'http://www.w3.org/2009/xmlenc11#mgf1sha256'],
  ] as const) {
    it(`refuses an encrypted key with an unknown ${name}`, async () => {
      const hash = { digest: 'sha256', mask: 'sha256' }
      const xml = await response({ encrypts: { certificate: ours.certificate, keyAlgorithm: SAML.oaep11, ...hash } })
      assert.ok(xml.includes(url))
      refuses('algorithm', () => read(xml.replace(url, 'urn:md5')))
    })
  }

  const RESPONDER = 'urn:oasis:names:tc:SAML:2.0:status:Responder'
  const reported: readonly (readonly [string, ResponseParts, string])[] = [
    ['the audience', { audiences: ['a', 'b'] }, 'it is for "a b", not "latchkey"'],
    ['a missing audience', { audiences: null }, 'it is for nothing, not "latchkey"'],
    ['the recipient', { recipient: 'https://a.example/' }, `it is for "https://a.example/", not "${to.recipient}"`],
    ['the destination', { destination: 'https://a.example/' }, `it is for "https://a.example/", not "${to.recipient}"`],
    ['the issuer', { issuer: 'a', responseIssuer: idp.entityId }, `it is from "a", not "${idp.entityId}"`],
    [
      'the time of a clock that is ahead',
      { issueInstant: inSeconds(300) },
      `it was issued at ${inSeconds(300).toISOString()}; here it was ${clock.now().toISOString()}`,
    ],
    [
      'status codes and message of the provider',
      { status: RESPONDER, statusWithin: 'urn:x', statusMessage: 'Ask\nlater' },
      `the provider returned "${RESPONDER}", "urn:x", "Ask\\nlater"`,
    ],
    [
      'a missing signature before other problems',
      { signs: [], destination: 'https://a.example/' },
      'neither the response nor the assertion is signed',
    ],
    ['at most 200 characters', { audiences: ['a'.repeat(300)] }, `it is for "${'a'.repeat(200)}", not "latchkey"`],
  ]
  for (const [what, parts, want] of reported) {
    it(`logs ${what}`, async () => {
      const xml = await response(parts)
      assert.throws(() => read(xml), { name: 'SamlProblem', message: want })
    })
  }

  it('logs the format of the issuer', () => {
    const issuer = `<saml:Issuer Format="${SAML.emailName}">`
    const assertion = idp.assertion({ inResponseTo: '_request' }).replace('<saml:Issuer>', issuer)
    assert.throws(() => read(idp.responseAround(idp.sign(assertion), { inResponseTo: '_request' })), {
      name: 'SamlProblem',
      message: `its issuer has the format "${SAML.emailName}", not "urn:oasis:names:tc:SAML:2.0:nameid-format:entity"`,
    })
  })

  // Covers POST /saml/SSO/alias/{alias}: check: assertion count
  it('refuses other messages and malformed XML', async () => {
    refuses('not-xml', () => read(idp.signedAssertion({ inResponseTo: '_request' })))
    refuses('not-xml', () => read(idp.sign(idp.logoutRequest())))
    for (const text of ['', '<', '<a/>', 'x'.repeat(300_000)]) {
      assert.throws(() => read(text), SamlProblem)
      assert.throws(() => readResponse(text, expected), SamlProblem)
    }
  })

  it('refuses a document type, comments, processing instructions and a second root element', async () => {
    const xml = await response()
    refuses('document-type', () => read(`<!DOCTYPE a [<!ENTITY b "c">]>${xml}`))
    refuses('comment', () => read(xml.replace('person-1', 'person<!-- -->-1')))
    refuses('not-xml', () => read(xml.replace('<saml:Subject>', '<?a b?><saml:Subject>')))
    refuses('not-xml', () => read(xml + xml))
    refuses('not-xml', () => read(`<?a b?>${xml}`))
    refuses('not-xml', () => read(`<?xml-stylesheet href="a"?>${xml}`))
    assert.equal(read(`<?xml version="1.0"?>${xml}`).nameId.value, 'person-1')
  })

  it('refuses them before parsing, and within CDATA sections', async () => {
    const xml = await response()
    refuses('document-type', () => read('<a><!DOCTYPE'))
    refuses('comment', () => read('<a <!--'))
    assert.throws(() => read('<a <?b'), { message: /a processing instruction/ })
    for (const [text, reason] of [
      ['<!DOCTYPE', 'document-type'],
      ['<!--', 'comment'],
      ['<?b', 'not-xml'],
    ] as const) {
      refuses(reason, () => read(xml.replace('person-1', `person<![CDATA[${text}]]>-1`)))
    }
  })

  it('limits bytes, nodes, depth and attributes, and more strictly if signed twice', async () => {
    const inGroups = (count: number) => ({
      attributes: [{ name: 'groups', values: Array.from({ length: count }, (_, place) => `group ${place}`) }],
    })
    assert.equal(read(await response(inGroups(1000))).attributes[0]?.values.length, 1000)
    refuses('too-large', () => read(`<a>${'x'.repeat(300_000)}</a>`))
    for (const text of ['&amp;'.repeat(50_000), ...['\n', '\r', '\t', ']'].map(each => each.repeat(140_000))]) {
      assert.throws(() => read(`<a>${text}</a>`), {
        reason: 'too-large',
        message: 'its text takes too long to read',
      })
    }
    const many = await response(inGroups(1600))
    refuses('too-large', () => read(many))
    const twice = await response({ ...inGroups(1000), signs: ['assertion', 'response'] })
    refuses('too-large', () => read(twice))
    const once = await response({ ...inGroups(1000), signs: ['response'] })
    assert.equal(read(once).attributes[0]?.values.length, 1000)
    // The encrypted assertion may be signed, too.
    const encrypts = { certificate: ours.certificate }
    const sealed = await response({ signs: [], encrypts })
    const extended = sealed.replace('<samlp:Status>', `<samlp:Extensions>${'<a/>'.repeat(800)}</samlp:Extensions>$&`)
    assert.notEqual(extended, sealed)
    const aroundSealed = idp.sign(extended)
    assert.throws(() => read(aroundSealed), { reason: 'too-large', message: 'it is too large to be signed twice' })
    const longer = { attributes: [{ name: 'groups', values: Array.from({ length: 1100 }, () => 'x'.repeat(150)) }] }
    const [long, few] = [
      await response(longer),
      await response({ attributes: [{ name: 'a', values: ['x'.repeat(200_000)] }] }),
    ]
    refuses('too-large', () => read(long))
    assert.deepEqual(read(few).attributes, [{ name: 'a', values: [] }])
    refuses('too-large', () => read('<a>'.repeat(40) + '</a>'.repeat(40)))
    refuses('too-large', () => read(`<a ${Array.from({ length: 50 }, (_, place) => `b${place}=""`).join(' ')}/>`))
  })

  it('refuses invalid names without console output of the second parser', async context => {
    const logged = context.mock.method(console, 'error', () => {})
    const warned = context.mock.method(console, 'warn', () => {})
    for (const change of [' xmlns:4aml="urn:a"', ' a:4="b" xmlns:a="urn:a"', ' a\u{10000}="b"']) {
      const xml = (await response()).replace('<saml:Subject>', `<saml:Subject${change}>`)
      refuses('not-xml', () => read(xml))
    }
    assert.deepEqual([logged.mock.callCount(), warned.mock.callCount()], [0, 0])
  })

  it('refuses namespaces that are relative or contain markup characters', async () => {
    const xml = await response()
    for (const uri of [
      'relative',
      '#',
      'urn:a&quot; ID=&quot;b',
      'urn:a&#x20;b',
      'urn:&lt;a',
      'urn:&amp;',
      'urn:&#9;',
    ]) {
      refuses('not-xml', () => read(xml.replace('<saml:Subject', `<saml:Subject xmlns:other="${uri}"`)))
    }
  })

  it('checks no references if SignedInfo is not signed with a key of the provider', async context => {
    const checks = context.mock.method(SignedXml.prototype, 'checkSignature')
    const xml = await response({ signing: { key: otherKey } })
    refuses('bad-signature', () => read(xml))
    assert.equal(checks.mock.callCount(), 0)
    read(await response())
    assert.equal(checks.mock.callCount(), 1)
  })

  it('refuses a response if xml-crypto reports other signed content', async context => {
    const xml = await response({ signs: ['response'], responseId: '_1' })
    const other = await response({ signs: ['response'], responseId: '_2' })
    const canonical = context.mock.method(SignedXml.prototype, 'getSignedReferences')
    const name = /^<samlp:Response/
    for (const references of [
      [''],
      [other],
      [xml.replace(/ ID="_1"/, '')],
      [xml.replace(name, '<samlp:Answer').replace(/samlp:Response>$/, 'samlp:Answer>')],
      [xml.replace(SAML.protocol, SAML.assertion)],
      [xml, other],
      [],
    ]) {
      canonical.mock.mockImplementation(() => references)
      refuses('bad-signature', () => read(xml))
    }
    canonical.mock.mockImplementation(() => [xml])
    assert.equal(read(xml).nameId.value, 'person-1')
  })

  it('refuses a response whose two signatures cover different assertions', async context => {
    const both = { signs: ['assertion', 'response'], responseId: '_1' } as const
    const [xml, other] = [await response({ ...both, id: '_a' }), await response({ ...both, id: '_b' })]
    const canonical = context.mock.method(SignedXml.prototype, 'getSignedReferences')
    canonical.mock.mockImplementationOnce(() => [other])
    refuses('bad-signature', () => read(xml))
    assert.equal(read(xml).nameId.value, 'person-1')
  })

  it('refuses a response if the parser of xml-crypto reports an error or another document', async context => {
    const xml = await response()
    const other = new DOMParser().parseFromString('<a/>', 'text/xml')
    const parse = DOMParser.prototype.parseFromString
    const parsed = context.mock.method(DOMParser.prototype, 'parseFromString')
    parsed.mock.mockImplementationOnce(() => other)
    assert.throws(() => read(xml), { reason: 'bad-signature', message: 'there must be exactly one signature' })
    parsed.mock.mockImplementationOnce(function (this: DOMParser, text: string) {
      const { options } = this as unknown as { readonly options: { errorHandler(): void } } // not in its types
      options.errorHandler()
      return parse.call(this, text, 'text/xml')
    })
    assert.throws(() => read(xml), { reason: 'bad-signature', message: 'two parsers disagree about it' })
    assert.equal(read(xml).nameId.value, 'person-1')
  })

  it('refuses unexpected elements in a signature', async () => {
    const xml = await response()
    const object = `<ds:Object xmlns:ds="${SAML.signature}"/>`
    for (const end of ['</ds:Signature>', '</ds:SignedInfo>', '</ds:Reference>']) {
      for (const more of [object, '<a/>', 'a', '<![CDATA[a]]>', '<ds:KeyInfo/><ds:KeyInfo/>']) {
        refuses('bad-signature', () => read(xml.replace(end, more + end)))
      }
    }
    const withKeyInfo = (content: string): string =>
      xml.replace(/<ds:KeyInfo>.*<\/ds:KeyInfo>/s, `<ds:KeyInfo>${content}</ds:KeyInfo>`)
    assert.equal(read(withKeyInfo('<ds:KeyName>a</ds:KeyName>')).nameId.value, 'person-1')
    for (const part of ['Reference', 'SignatureValue', 'Transforms', 'DigestValue', 'Object', 'Manifest']) {
      refuses('bad-signature', () => read(withKeyInfo(`<ds:X509Data><ds:${part}/></ds:X509Data>`)))
      refuses('bad-signature', () => read(withKeyInfo(`<a:${part} xmlns:a="urn:a"/>`)))
    }
    refuses('bad-signature', () =>
      read(xml.replaceAll('ds:KeyInfo', 'a:KeyInfo').replace('<a:KeyInfo', '$& xmlns:a="urn:a"')),
    )
    const [value = ''] = /<ds:SignatureValue>.*<\/ds:SignatureValue>/s.exec(xml) ?? []
    const bare = xml.replace(/<ds:KeyInfo>.*<\/ds:KeyInfo>/s, '')
    assert.equal(read(bare).nameId.value, 'person-1')
    refuses('bad-signature', () => read(bare.replace(value, value + value)))
    const prefixes = '<a:InclusiveNamespaces xmlns:a="http://www.w3.org/2001/10/xml-exc-c14n#" PrefixList="b"/>'
    for (const more of [prefixes + prefixes, prefixes.replace('/>', '><a/></a:InclusiveNamespaces>'), '<a/>']) {
      const changed = xml.replace(/(<ds:Transform [^>]*exc-c14n#")\/>/, `$1>${more}</ds:Transform>`)
      assert.notEqual(changed, xml)
      refuses('algorithm', () => read(changed))
    }
    for (const method of ['CanonicalizationMethod', 'SignatureMethod', 'DigestMethod']) {
      const pattern = new RegExp(`(<ds:${method} [^>]*)/>`)
      assert.match(xml, pattern)
      refuses('algorithm', () => read(xml.replace(pattern, `$1><a/></ds:${method}>`)))
    }
  })

  it('limits the length of the canonical text', () => {
    const uri = `urn:${'x'.repeat(3000)}`
    const value = `<saml:AttributeValue>${'<p:a/>'.repeat(400)}</saml:AttributeValue>`
    const assertion = idp
      .assertion({ inResponseTo: '_request', attributes: [{ name: 'a', values: [''] }] })
      .replace('<saml:Assertion', `$& xmlns:p="${uri}"`)
      .replace('<saml:AttributeValue></saml:AttributeValue>', value)
    assert.ok(assertion.includes(value))
    const xml = idp.responseAround(idp.sign(assertion), { signs: [], inResponseTo: '_request' })
    assert.throws(() => read(xml), { reason: 'too-large', message: 'it has too many characters' })
  })

  it('refuses invalid base64 in CipherValue', async () => {
    const xml = await response({ encrypts: { certificate: ours.certificate } })
    for (const place of ['</e:CipherValue>', '</xenc:CipherValue>']) {
      assert.ok(xml.includes(place))
      assert.equal(read(xml.replace(place, `\n ${place}`)).nameId.value, 'person-1')
      for (const more of ['&lt;a/>', '&lt;!-- -->', '&amp;lt;', '-']) {
        assert.throws(() => read(xml.replace(place, more + place)), {
          reason: 'decryption',
          message: 'it is not usable',
        })
      }
    }
  })

  it('accepts line breaks in base64, but no other characters', async () => {
    const base64 = base64Of(await response())
    assert.equal(readResponse(base64.replace(/.{64}/g, '$&\r\n'), expected).nameId.value, 'person-1')
    for (const more of ['!', '%', '.', '=', '\u00a0']) {
      refuses('not-xml', () => readResponse(base64.replace(/^.{8}/, `$&${more}`), expected))
    }
  })

  it('refuses a response without IssueInstant or issued in the future', async () => {
    const xml = await response()
    const at = (text: string): string => xml.replace(/ IssueInstant="[^"]*"/, text)
    refuses('not-xml', () => read(at('')))
    refuses('not-yet-valid', () => read(at(` IssueInstant="${inSeconds(61).toISOString()}"`)))
    assert.equal(read(at(` IssueInstant="${inSeconds(60).toISOString()}"`)).nameId.value, 'person-1')
  })

  it('refuses an AuthnStatement without AuthnInstant', () => {
    const assertion = idp.assertion({ inResponseTo: '_request' }).replace(/ AuthnInstant="[^"]*"/, '')
    refuses('subject', () => read(idp.responseAround(idp.sign(assertion), { inResponseTo: '_request' })))
  })

  it('refuses a nested assertion or a misplaced signature in an encrypted assertion', async () => {
    const assertion = idp.assertion({ inResponseTo: '_request' })
    const advice = `<saml:Advice>${idp.assertion({ nameId: 'other' })}</saml:Advice>`
    const withAdvice = idp.sign(assertion.replace('</saml:Conditions>', end => end + advice))
    const signed = idp.sign(assertion)
    const [signature = ''] = /<ds:Signature .*<\/ds:Signature>/s.exec(signed) ?? []
    // Some implementations of the enveloped transform remove both, because their values are equal.
    const signedTwice = signed.replace('</saml:NameID>', end => signature + end)
    assert.ok(withAdvice.includes(advice) && signedTwice.length > signed.length)
    for (const signs of [[], ['response']] as const) {
      const around = async (text: string): Promise<string> => {
        const data = await encrypted(text, { certificate: ours.certificate })
        return idp.responseAround(`<saml:EncryptedAssertion>${data}</saml:EncryptedAssertion>`, {
          signs,
          inResponseTo: '_request',
        })
      }
      assert.equal(read(await around(signed)).nameId.value, 'person-1')
      for (const text of [withAdvice, signedTwice]) assertNotDecrypted(await around(text))
    }
  })

  it('requires exactly one EncryptedData in EncryptedAssertion', async () => {
    const data = await encrypted(idp.signedAssertion({ inResponseTo: '_request' }), { certificate: ours.certificate })
    const keyless = data.replace(/<KeyInfo.*<\/KeyInfo>/s, '')
    assert.notEqual(keyless, data)
    const [key = ''] = /<e:EncryptedKey.*<\/e:EncryptedKey>/s.exec(data) ?? []
    assert.notEqual(key, '')
    for (const content of [data + keyless, keyless + data, key]) {
      const xml = idp.responseAround(`<saml:EncryptedAssertion>${content}</saml:EncryptedAssertion>`, {
        signs: [],
        inResponseTo: '_request',
      })
      assert.throws(() => read(xml), { reason: 'decryption', message: 'there must be exactly one EncryptedData' })
    }
  })

  it('requires exactly one of each part of EncryptedData and EncryptedKey', async () => {
    const xml = await response({ encrypts: { certificate: ours.certificate } })
    for (const prefix of ['e', 'xenc']) {
      for (const part of ['EncryptionMethod', 'CipherData', 'CipherValue']) {
        const name = `${prefix}:${part}`
        const [found = ''] = new RegExp(`<${name}(?: [^>]*/>|[ >].*?</${name}>)`, 's').exec(xml) ?? []
        assert.notEqual(found, '')
        for (const instead of ['', found + found]) {
          assert.throws(() => read(xml.replace(found, () => instead)), {
            reason: 'decryption',
            message: `there must be exactly one ${part}`,
          })
        }
      }
    }
  })

  it('counts CDATA sections as nodes', async () => {
    const xml = (await response()).replace('</saml:Assertion>', `${'<![CDATA[a]]>'.repeat(2000)}</saml:Assertion>`)
    refuses('too-large', () => read(xml))
  })

  it('refuses a signature value or digest that is not base64 or too long', async () => {
    const xml = await response()
    for (const name of ['SignatureValue', 'DigestValue']) {
      for (const text of ['x'.repeat(5000), '\u00a0', '<a/>', '!', ' '.repeat(5000)]) {
        refuses('bad-signature', () => read(xml.replace(`</ds:${name}>`, `${text}</ds:${name}>`)))
      }
    }
  })

  it('refuses an assertion without an ID in a signed response', () => {
    const withoutId = idp.assertion({ inResponseTo: '_request' }).replace(/ ID="[^"]*"/, '')
    refuses('not-xml', () => read(idp.responseAround(withoutId, { signs: ['response'], inResponseTo: '_request' })))
  })

  describe('with a signed response around an encrypted assertion', () => {
    const encrypts = { certificate: ours.certificate }
    const signs = ['response'] as const
    /** The encrypted text in a signed response. */
    const sealed = async (xml: string, parts: Partial<EncryptionParts> = {}): Promise<string> =>
      idp.responseAround(
        `<saml:EncryptedAssertion>${await encrypted(xml, { ...encrypts, ...parts })}</saml:EncryptedAssertion>`,
        { signs, inResponseTo: '_request' },
      )
    const assertion = idp.assertion({ inResponseTo: '_request' })

    for (const algorithm of [SAML.gcm, SAML.cbc] as const) {
      it(`accepts ${algorithm}`, async () => {
        const xml = await response({ signs, encrypts: { ...encrypts, algorithm } })
        assert.equal(read(xml).nameId.value, 'person-1')
        refuses('bad-signature', () => read(withBitTurned(xml, 40)))
      })
    }

    it('refuses an assertion of another provider like a failed decryption', async () => {
      const theirs = idp.assertion({ inResponseTo: '_request', issuer: 'https://other.example/idp' })
      assertNotDecrypted(await sealed(theirs))
      assertNotDecrypted(await sealed(assertion, { certificate: otherKey.certificate }))
    })

    it('refuses replacement characters decrypted by AES-CBC, which may hide changed bytes', async () => {
      const odd = assertion.replace('>person-1<', '>person\ufffd1<')
      assert.equal(read(await sealed(odd, { algorithm: SAML.gcm })).nameId.value, 'person\ufffd1')
      const xml = await sealed(odd, { algorithm: SAML.cbc })
      refuses('decryption', () => read(xml))
    })

    it('refuses an assertion signed with an unknown key', async () => {
      const forged = idp.sign(assertion, { key: otherKey })
      const xml = await sealed(forged)
      refuses('decryption', () => read(xml))
    })

    it('accepts only namespaces declared in signed content', async () => {
      const xml = await sealed(assertion.replace(/ xmlns:saml="[^"]*"/, ''))
      assert.equal(read(xml).nameId.value, 'person-1')
      const other = await sealed(assertion.replace(/ xmlns:saml="[^"]*"/, '').replaceAll(/(<\/?)saml:/g, '$1later:'))
      const declared = other.replace('<samlp:Response ', `$&xmlns:later="${SAML.assertion}" `)
      assert.notEqual(declared, other)
      refuses('decryption', () => read(declared))
    })
  })

  describe('with an assertion encrypted for several recipients', () => {
    const KEY = /<(\w+:)?EncryptedKey.*EncryptedKey>/s
    const keyIn = (data: string): string => KEY.exec(data)?.[0] ?? ''
    const keyFor = async (recipient: SamlTestKey, parts: Partial<EncryptionParts> = {}): Promise<string> =>
      keyIn(await encrypted('x', { certificate: recipient.certificate, ...parts }))
    const place = (xml: string, keys: readonly string[]): string => xml.replace(KEY, () => keys.join(''))
    const beside = (xml: string, keys: readonly string[]): string =>
      xml.replace(KEY, '').replace('</saml:EncryptedAssertion>', end => keys.join('') + end)

    for (const algorithm of [SAML.gcm, SAML.cbc] as const) {
      it(`decrypts with the encrypted key of this server: ${algorithm}`, async () => {
        const xml = await response({ encrypts: { certificate: ours.certificate, algorithm } })
        const own = keyIn(xml)
        const other = await keyFor(otherKey)
        // Keys for others may be encrypted with an algorithm that is refused otherwise.
        const weak = await keyFor(otherKey, { keyAlgorithm: 'http://www.w3.org/2001/04/xmlenc#rsa-1_5' })
        for (const keys of [
          [other, own],
          [own, other],
          [other, weak, other, own],
        ]) {
          assert.equal(read(place(xml, keys)).nameId.value, 'person-1')
          assert.equal(read(beside(xml, keys)).nameId.value, 'person-1')
        }
        for (const keys of [
          [other, other],
          [weak, other],
        ])
          assertNotDecrypted(place(xml, keys))
        refuses('algorithm', () => read(place(xml, [weak, weak])))
      })
    }

    it('refuses too many encrypted keys or none', async () => {
      const xml = await response({ encrypts: { certificate: ours.certificate } })
      refuses('decryption', () =>
        read(
          place(
            xml,
            Array.from({ length: 5 }, () => keyIn(xml)),
          ),
        ),
      )
      refuses('decryption', () => read(place(xml, [])))
    })

    it('limits decryption attempts if the zone has many keys', async context => {
      const xml = await response({ encrypts: { certificate: otherKey.certificate } })
      const decryptionKeys = Array.from({ length: 20 }, () => createPrivateKey(ours.privateKey))
      const opened = context.mock.method(crypto, 'privateDecrypt')
      refuses('decryption', () =>
        read(
          place(
            xml,
            Array.from({ length: 4 }, () => keyIn(xml)),
          ),
          { decryptionKeys },
        ),
      )
      assert.equal(opened.mock.callCount(), 20)
    })

    it('tries no key that nothing is encrypted for', async () => {
      const xml = await response({ encrypts: { certificate: ours.certificate } })
      const { privateKey: ec } = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const decryptionKeys = [...Array.from({ length: 20 }, () => ec), createPrivateKey(ours.privateKey)]
      assert.equal(read(xml, { decryptionKeys }).nameId.value, 'person-1')
    })
  })

  it('refuses a Signature next to EncryptedData', async () => {
    const [, signature = ''] = /(<ds:Signature .*<\/ds:Signature>)/s.exec(await response()) ?? []
    const xml = (await response({ encrypts: { certificate: ours.certificate } })).replace(
      '</saml:EncryptedAssertion>',
      end => signature + end,
    )
    assert.throws(() => read(xml), { reason: 'bad-signature', message: 'a Signature is out of place' })
  })

  it('reports the same error for every failure of decryption and of the inner signature', async () => {
    const encrypts = { certificate: ours.certificate, algorithm: SAML.cbc } as const
    const signed = await response({ encrypts })
    const changed = signed.replaceAll(/(?<=CipherValue>)[A-Za-z0-9+/]{40}/g, text => text.toLowerCase())
    const unsigned = await response({ encrypts, signs: [] })
    const forOthers = await response({ encrypts: { ...encrypts, certificate: otherKey.certificate } })
    for (const xml of [changed, unsigned, forOthers]) assertNotDecrypted(xml)
  })

  it('refuses changed signed content', async () => {
    for (const signs of [['assertion'], ['response']] as const) {
      const xml = await response({ signs })
      refuses('bad-signature', () => read(xml.replace('>person-1<', '>person-2<')))
    }
  })
})

describe('EncryptedID and EncryptedAttribute', () => {
  const attributes = [
    { name: 'mail', friendlyName: 'Mail', values: ['a&b@example.org'] },
    { name: 'groups', values: ['<a>', 'b'] },
  ]
  const plain = (parts: ResponseParts = {}): string => idp.assertion({ inResponseTo: '_request', attributes, ...parts })
  const NAME = /<saml:NameID.*?<\/saml:NameID>/
  const ATTRIBUTE = /<saml:Attribute .*?<\/saml:Attribute>/g
  const declaring = (xml: string): string => xml.replace(/^<saml:\w+/, `$& xmlns:saml="${SAML.assertion}"`)
  const to: EncryptionParts = { certificate: ours.certificate }

  /** Encrypts every match of the pattern. */
  async function encrypting(
    xml: string,
    [pattern, name]: readonly [RegExp, string],
    { to: parts = to, content = declaring }: { to?: EncryptionParts; content?: (xml: string) => string } = {},
  ): Promise<string> {
    let text = xml
    for (const [found] of xml.matchAll(new RegExp(pattern, 'g'))) {
      const data = await encrypted(content(found), parts)
      text = text.replace(found, () => `<saml:${name}>${data}</saml:${name}>`)
    }
    assert.notEqual(text, xml)
    return text
  }
  const name = [NAME, 'EncryptedID'] as const
  const attribute = [ATTRIBUTE, 'EncryptedAttribute'] as const
  const around = (assertion: string, parts: ResponseParts = {}): string =>
    idp.responseAround(assertion, { signs: [], inResponseTo: '_request', ...parts })
  const signedWithin = async (options: Parameters<typeof encrypting>[2] = {}): Promise<string> =>
    idp.sign(await encrypting(plain(), name, options))

  for (const algorithm of [SAML.gcm, SAML.cbc] as const) {
    it(`are decrypted in signed content with ${algorithm}`, async () => {
      const options = { to: { ...to, algorithm } }
      const assertion = await encrypting(await encrypting(plain(), name, options), attribute, options)
      assert.doesNotMatch(assertion, /person-1|example\.org/)
      const signed = idp.sign(assertion)
      const whole = await encrypted(signed, to)
      for (const xml of [
        around(signed),
        around(assertion, { signs: ['response'] }),
        around(signed, { signs: ['response'] }),
        around(`<saml:EncryptedAssertion>${whole}</saml:EncryptedAssertion>`),
      ]) {
        const statement = read(xml)
        assert.deepEqual(
          [statement.nameId, statement.attributes],
          [{ value: 'person-1', format: SAML.persistentName }, attributes],
        )
      }
    })
  }

  it('are decrypted in a bearer assertion', async () => {
    const recipient = 'http://localhost:8080/oauth/token/alias/latchkey'
    const signed = idp.sign(await encrypting(idp.assertion({ recipient }), name))
    assert.equal(readBearerAssertion(base64UrlOf(signed), { ...expected, recipient }).nameId.value, 'person-1')
  })

  it('are decrypted next to plain attributes in several statements', async () => {
    const more = '<saml:Attribute Name="more"><saml:AttributeValue>c</saml:AttributeValue></saml:Attribute>'
    const xml = (await encrypting(plain(), attribute)).replace(
      '<saml:AttributeStatement>',
      `<saml:AttributeStatement>${more}</saml:AttributeStatement>$&${more.replaceAll('more', 'other')}`,
    )
    assert.deepEqual(
      read(around(idp.sign(xml))).attributes.map(({ name: each, values }) => [each, ...values]),
      [
        ['more', 'c'],
        ['other', 'c'],
        ['mail', 'a&b@example.org'],
        ['groups', '<a>', 'b'],
      ],
    )
  })

  it('may use namespaces declared in signed ancestors', async () => {
    const typed = plain().replaceAll('<saml:AttributeValue', '$& xsi:type="xs:string"')
    const undeclared = await encrypting(await encrypting(typed, name, { content: xml => xml }), attribute, {
      content: xml =>
        declaring(xml).replace('saml:Attribute', '$& xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'),
    })
    assert.deepEqual(read(around(idp.sign(undeclared))).attributes, attributes)
    const xsi = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    const reliant = (await encrypting(typed, attribute, { content: xml => xml })).replace(
      '<saml:Assertion',
      `$& ${xsi}`,
    )
    const inclusive = { inclusivePrefixes: ['xsi'] }
    assert.deepEqual(read(around(idp.sign(reliant, inclusive))).attributes, attributes)
    const response = idp.responseAround(reliant, { signs: ['response'], signing: inclusive, inResponseTo: '_request' })
    assert.deepEqual(read(response).attributes, attributes)
    // This prefix is not declared in signed content.
    refuses('decryption', () => read(around(idp.sign(reliant))))
  })

  it('may use the default namespace that the encrypted element declares', async () => {
    const bare = await encrypting(plain(), name, { content: xml => xml.replaceAll('saml:', '') })
    const declared = bare.replace(
      /<saml:EncryptedID>(.*)<\/saml:EncryptedID>/s,
      (_, data: string) => `<EncryptedID xmlns="${SAML.assertion}">${data}</EncryptedID>`,
    )
    assert.notEqual(declared, bare)
    assert.equal(read(around(idp.sign(declared))).nameId.value, 'person-1')
    refuses('decryption', () => read(around(idp.sign(bare))))
  })

  it('are decrypted with one of several keys, the same for all', async () => {
    const keys = [otherKey, ours].map(({ privateKey }) => createPrivateKey(privateKey))
    const toOther = { to: { certificate: otherKey.certificate } }
    for (const options of [{}, toOther]) {
      const signed = idp.sign(await encrypting(await encrypting(plain(), name, options), attribute, options))
      assert.equal(read(around(signed), { decryptionKeys: keys }).nameId.value, 'person-1')
    }
    const mixed = idp.sign(await encrypting(await encrypting(plain(), name), attribute, toOther))
    refuses('decryption', () => read(around(mixed), { decryptionKeys: keys }))
  })

  it('are refused with the same error for any other content', async () => {
    const id = declaring(NAME.exec(plain())?.[0] ?? '')
    const genuine = await encrypted(id, { ...to, algorithm: SAML.cbc })
    const sealed = async (xml: string, parts = to): Promise<string> => encrypted(xml, { algorithm: SAML.cbc, ...parts })
    const contents = [
      await sealed(id, { certificate: otherKey.certificate }),
      ...[0, -17, -1].map(place => withBitTurned(genuine, place)),
      ...(await Promise.all(
        [
          id.replaceAll('NameID', 'BaseID'),
          id.replace(SAML.assertion, SAML.protocol),
          id.replace('person', '<!-- -->person'),
          id.replace('person', '<?a b?>person'),
          `<!DOCTYPE a>${id}`,
          id + id,
          `${id}x`,
          `</around>${id}<around>`,
          `<saml:EncryptedID xmlns:saml="${SAML.assertion}">${genuine}</saml:EncryptedID>`,
          idp.signedAssertion({ inResponseTo: '_request' }),
          declaring('<saml:Attribute Name="mail"/>'),
          'person-1',
          ' ',
        ].map(text => sealed(text)),
      )),
    ]
    for (const content of contents) {
      const xml = idp.sign(plain().replace(NAME, () => `<saml:EncryptedID>${content}</saml:EncryptedID>`))
      assert.throws(() => read(around(xml)), { reason: 'decryption', message: 'it does not decrypt to one NameID' })
    }
    const attributeOf = (data: string): string =>
      idp.sign(
        plain().replace(
          '<saml:AttributeStatement>',
          () => `<saml:AttributeStatement><saml:EncryptedAttribute>${data}</saml:EncryptedAttribute>`,
        ),
      )
    assert.throws(() => read(around(attributeOf(genuine))), {
      reason: 'decryption',
      message: 'it does not decrypt to one Attribute',
    })
    refuses('decryption', () => read(around(attributeOf('')), {}))
  })

  it('do not act as a decryption oracle for recombined AES-CBC blocks', async () => {
    const text = idp.signedAssertion({ inResponseTo: '_request' }) // as if encrypted by another provider
    const sessionKey = Buffer.alloc(32, 1)
    const cipher = crypto.createCipheriv('aes-256-cbc', sessionKey, Buffer.alloc(16, 2))
    const sent = cipher.update(text)
    const [iv, first, second] = [Buffer.alloc(16, 2), sent.subarray(0, 16), sent.subarray(16, 32)]
    const xor = (left: Buffer, right: Buffer): Buffer => Buffer.from(left.map((byte, at) => byte ^ (right[at] ?? 0)))
    /** The block that makes the first block, whose plaintext is known, decrypt to these sixteen characters. */
    const before = (wanted: string): Buffer => xor(xor(iv, Buffer.from(text.slice(0, 16))), Buffer.from(wanted))
    const sample = await encrypted('x', { ...to, algorithm: SAML.cbc })
    const [key, content] = [...sample.matchAll(/(?<=CipherValue>)\s*[A-Za-z0-9+/=]+/g)].map(([value]) => value)
    const wrapped = crypto.publicEncrypt({ key: ours.certificate, oaepHash: 'sha1' }, sessionKey).toString('base64')
    const codes = Array.from({ length: 94 }, (_, index) => 33 + index)
    for (const code of thinned(codes, 1)) {
      const parts = [before('<saml:NameID>abc'), first, second]
      const end = [before(`</saml:NameID>${String.fromCodePoint(code)}\u0002`), first]
      const sealed = Buffer.concat([...parts, ...end]).toString('base64')
      const data = sample.replace(key ?? '', wrapped).replace(content ?? '', sealed)
      const xml = idp.sign(plain().replace(NAME, () => `<saml:EncryptedID>${data}</saml:EncryptedID>`))
      assert.throws(() => read(around(xml)), { reason: 'decryption', message: 'it does not decrypt to one NameID' })
    }
  })

  it('are refused without a decryption key', async () => {
    const xml = around(await signedWithin())
    refuses('decryption', () => read(xml, { decryptionKeys: [] }))
    const keys = [createPrivateKey(samlTestKey('ec').privateKey)]
    refuses('decryption', () => read(xml, { decryptionKeys: keys }))
  })

  it('are refused before decryption if added or changed after signing', async context => {
    const decrypted = context.mock.method(crypto, 'privateDecrypt')
    const other = await encrypted(declaring('<saml:NameID>victim</saml:NameID>'), to)
    const element = `<saml:EncryptedID>${other}</saml:EncryptedID>`
    const signed = await signedWithin()
    for (const xml of [
      signed.replace(/<saml:EncryptedID>.*<\/saml:EncryptedID>/s, () => element),
      idp.signedAssertion({ inResponseTo: '_request' }).replace(NAME, () => element),
      signed.replace(/(?<=<saml:EncryptedID>).*(?=<\/saml:EncryptedID>)/s, data => withBitTurned(data, -1)),
    ]) {
      assert.notEqual(xml, signed)
      refuses('bad-signature', () => read(around(xml)))
      refuses('bad-signature', () => read(around(xml, { signs: ['response'] })))
    }
    for (const xml of [signed.replace(/<ds:Signature .*<\/ds:Signature>/s, ''), await encrypting(plain(), attribute)]) {
      refuses('no-signature', () => read(around(xml)))
    }
    assert.equal(decrypted.mock.callCount(), 0)
    assert.equal(read(around(signed)).nameId.value, 'person-1')
    assert.equal(decrypted.mock.callCount(), 1)
  })

  it('are not decrypted in an assertion that is refused anyway', async context => {
    const decrypted = context.mock.method(crypto, 'privateDecrypt')
    const refusedAnyway: readonly (readonly [SamlReason, ResponseParts])[] = [
      ['expired', { notOnOrAfter: inSeconds(-61) }],
      ['audience', { audiences: ['other'] }],
      ['in-response-to', { inResponseTo: '_other' }],
      ['expired', { authnInstant: inSeconds(-864_001) }],
    ]
    for (const [reason, parts] of refusedAnyway) {
      const xml = around(idp.sign(await encrypting(plain(parts), name)))
      refuses(reason, () => read(xml))
    }
    assert.equal(decrypted.mock.callCount(), 0)
  })

  it('are refused next to another NameID or in large numbers', async () => {
    const [id = ''] = NAME.exec(plain()) ?? []
    const one = await encrypting(plain(), name)
    for (const xml of [
      one.replace('<saml:EncryptedID>', () => `${id}<saml:EncryptedID>`),
      one.replace('</saml:EncryptedID>', () => `</saml:EncryptedID>${id}`),
      one.replace(/<saml:EncryptedID>.*<\/saml:EncryptedID>/s, element => element + element),
    ]) {
      refuses('name-id', () => read(around(idp.sign(xml))))
    }
    const many = Array.from({ length: 31 }, (_, place) => ({ name: `a${place}`, values: ['b'] }))
    const few = await encrypting(plain({ attributes: many.slice(1) }), attribute)
    assert.equal(read(around(idp.sign(few))).attributes.length, 30)
    const over = [await encrypting(plain({ attributes: many }), attribute), await encrypting(few, name)]
    for (const xml of over) refuses('too-large', () => read(around(idp.sign(xml))))
  })

  it('are refused with other algorithms, two EncryptedData or too many encrypted keys', async () => {
    const weak = { keyAlgorithm: 'http://www.w3.org/2001/04/xmlenc#rsa-1_5' } as const
    const triple = { algorithm: 'http://www.w3.org/2001/04/xmlenc#tripledes-cbc' } as const
    for (const parts of [weak, triple]) {
      const xml = around(await signedWithin({ to: { ...to, ...parts } }))
      refuses('algorithm', () => read(xml))
    }
    const one = await encrypting(plain(), name)
    const twice = one.replace(/(?<=<saml:EncryptedID>).*(?=<\/saml:EncryptedID>)/s, part => part + part)
    refuses('decryption', () => read(around(idp.sign(twice))))
    const many = Array.from({ length: 10 }, (_, place) => ({ name: `a${place}`, values: ['b'] }))
    const all = await encrypting(plain({ attributes: many }), attribute)
    const withKeys = (count: number): string =>
      around(idp.sign(all.replaceAll(/<e:EncryptedKey.*?<\/e:EncryptedKey>/gs, key => key.repeat(count))))
    assert.equal(read(withKeys(3)).attributes.length, 10)
    refuses('too-large', () => read(withKeys(4)))
  })

  it('are refused with an invalid NameID', async () => {
    for (const value of ['', ' person-1', 'person\n1', '<a/>']) {
      const xml = around(await signedWithin({ content: id => declaring(id).replace('person-1', value) }))
      refuses('name-id', () => read(xml))
    }
  })
})

describe('readBearerAssertion', () => {
  const bearer = { ...expected, recipient: 'http://localhost:8080/oauth/token/alias/latchkey' }
  const { recipient } = bearer

  it('accepts base64url, with or without AuthnInstant', () => {
    const signed = idp.signedAssertion({ recipient }, { inclusivePrefixes: ['xs'] })
    assert.equal(readBearerAssertion(base64UrlOf(signed), bearer).nameId.value, 'person-1')
    const { authenticatedAt } = readBearerAssertion(
      base64UrlOf(idp.signedAssertion({ recipient, authnInstant: null })),
      bearer,
    )
    assert.equal(authenticatedAt, undefined)
  })

  // Covers unsafe behaviour: unsigned SAML is refused
  it('refuses unsigned and encrypted assertions, other recipients, InResponseTo and responses', async () => {
    refuses('no-signature', () => readBearerAssertion(base64UrlOf(idp.assertion({ recipient })), bearer))
    refuses('recipient', () => readBearerAssertion(base64UrlOf(idp.signedAssertion()), bearer))
    const answer = idp.signedAssertion({ recipient, inResponseTo: '_request' })
    refuses('in-response-to', () => readBearerAssertion(base64UrlOf(answer), bearer))
    const whole = await idp.response({ recipient })
    refuses('not-xml', () => readBearerAssertion(base64UrlOf(whole), bearer))
    const sealed = await encrypted(idp.signedAssertion({ recipient }), { certificate: ours.certificate })
    const hidden = `<saml:EncryptedAssertion xmlns:saml="${SAML.assertion}">${sealed}</saml:EncryptedAssertion>`
    refuses('not-xml', () => readBearerAssertion(base64UrlOf(hidden), bearer))
  })
})

describe('mayAnswerRequest', () => {
  it('returns whether the response has InResponseTo, and true if encrypted or unreadable', async () => {
    const says = async (parts: ResponseParts): Promise<boolean> => mayAnswerRequest(base64Of(await idp.response(parts)))
    assert.equal(await says({}), false)
    assert.equal(await says({ inResponseTo: '_request' }), true)
    assert.equal(await says({ inResponseTo: '_request', responseInResponseTo: null }), true)
    assert.equal(await says({ inResponseTo: null, responseInResponseTo: '_request' }), true)
    assert.equal(await says({ encrypts: { certificate: ours.certificate } }), true)
    for (const text of ['', '%', base64Of('<a')]) assert.equal(mayAnswerRequest(text), true)
  })
})

describe('peekIssuer', () => {
  it('returns the issuer of a response or an assertion, or else undefined', async () => {
    assert.equal(peekIssuer(base64Of(await response())), idp.entityId)
    assert.equal(peekIssuer(base64Of(await response({ responseIssuer: null }))), idp.entityId)
    assert.equal(peekIssuer(base64UrlOf(idp.assertion())), idp.entityId)
    for (const text of ['', '%', base64Of('<a'), base64Of('<a/>'), base64Of('<!DOCTYPE a><a/>')]) {
      assert.equal(peekIssuer(text), undefined)
    }
  })
})
