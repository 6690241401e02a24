// Reads responses to sign-in requests, as the browser posts them (SAML Profiles §4.1.4, Bindings §3.5).
import { addSeconds } from '../../base/clock.ts'
import { checkAssertions, verifiedAssertion } from './assertion.ts'
import { mismatchText, quoted, resultOrProblem, SamlProblem, timeAndNow } from './problem.ts'
import { checkSignaturePlaces, signatureOf, verifiedPart } from './signed-xml.ts'
import { checkInResponseTo, checkIssuer, instantOf, readStatement, SKEW_SECONDS } from './statement.ts'
import type { Expectation, SamlStatement } from './statement.ts'
import {
  childrenNamed,
  decodeXml,
  elementsOf,
  isNamed,
  MAX_SIGNED_NODES,
  NAMESPACES,
  parseCounted,
  parseXml,
} from './xml.ts'
import type { XmlElement } from './xml.ts'

export type { Expectation, SamlNameId, SamlStatement } from './statement.ts'

const SUCCESS = 'urn:oasis:names:tc:SAML:2.0:status:Success'

/**
 * Verifies a response in base64 and reads its assertion, which may be encrypted. Either the response or the assertion is signed; an
 * assertion that is signed within a signed response must have been signed by the provider as well. Throws a `SamlProblem`.
 */
export function readResponse(base64: string, expected: Expectation): SamlStatement {
  const text = decodeXml(base64)
  const { root, nodes } = parseCounted(text)
  if (!isNamed(root, 'Response', NAMESPACES.protocol)) throw new SamlProblem('not-xml', 'it is not a response')
  const isSigned = signatureOf(root) !== undefined
  const assertion = assertionOf(root, isSigned)
  const verification = { ...expected, around: [root, assertion] }
  checkSignaturePlaces(root, [root, ...(assertion.name === 'Assertion' ? [assertion] : [])])
  if (!isSigned) {
    // What surrounds the assertion is unsigned: it can cause a refusal, and nothing else.
    checkEnvelope(root, expected, { isSigned })
    return readStatement(verifiedAssertion(text, assertion, verification), expected, { needsAuthentication: true })
  }
  const { element: response } = verifiedPart(text, root, expected.provider.signingKeys)
  checkEnvelope(response, expected, { isSigned })
  const inner = assertionOf(response, isSigned)
  const isPlain = inner.name === 'Assertion' && !signatureOf(inner)
  if (!isPlain && nodes > MAX_SIGNED_NODES / 2) throw new SamlProblem('too-large', 'it is too large to be signed twice')
  if (inner.name !== 'Assertion') {
    const decrypted = verifiedAssertion(text, inner, { ...verification, signedAround: [response, inner] })
    return readStatement(decrypted, expected, { needsAuthentication: true })
  }
  // Its own signature is compared in the received message: the canonical text of the response need not have every namespace
  // that it takes along (Exclusive XML Canonicalization §3). What is read is what both signed.
  if (!isPlain && verifiedAssertion(text, assertion, verification).attributes['ID'] !== inner.attributes['ID']) {
    throw new SamlProblem('bad-signature', 'the signature covers another assertion')
  }
  return readStatement(inner, expected, { needsAuthentication: true, around: [response] })
}

/** Whether a response says which request it answers, or hides it in an encrypted assertion. Unverified; never throws. */
export function mayAnswerRequest(base64: string): boolean {
  const root = resultOrProblem(() => parseXml(decodeXml(base64)))
  if (root instanceof SamlProblem) return true
  return [...elementsOf(root)].some(
    ({ name, attributes }) => attributes['InResponseTo'] !== undefined || name === 'EncryptedAssertion',
  )
}

function assertionOf(response: XmlElement, isSigned: boolean): XmlElement {
  const assertion = response.children.find(
    ({ name, namespace }) =>
      namespace === NAMESPACES.assertion && (name === 'Assertion' || name === 'EncryptedAssertion'),
  )
  if (!assertion) {
    checkStatus(response)
    throw new SamlProblem('several-assertions', 'there is no assertion')
  }
  checkAssertions(response, assertion)
  if (assertion.name === 'Assertion' && !isSigned && !signatureOf(assertion)) {
    throw new SamlProblem('no-signature', 'neither the response nor the assertion is signed')
  }
  return assertion
}

function checkEnvelope(
  response: XmlElement,
  { provider, recipient, inResponseTo, now }: Expectation,
  { isSigned }: { readonly isSigned: boolean },
): void {
  const { Version: version, Destination: destination, InResponseTo: answers } = response.attributes
  if (version !== '2.0') throw new SamlProblem('not-xml', 'it has another version')
  checkStatus(response)
  if (destination === undefined ? isSigned : destination !== recipient) {
    throw new SamlProblem('destination', `it is for ${mismatchText(destination, recipient)}`) // Bindings §3.5.5.2
  }
  if (childrenNamed(response, 'Issuer', NAMESPACES.assertion).length > 0) checkIssuer(response, provider.entityId)
  if (answers !== undefined) checkInResponseTo(answers, inResponseTo)
  const issuedAt = instantOf(response, 'IssueInstant')
  if (!issuedAt) throw new SamlProblem('not-xml', 'it does not say when it was issued')
  const issued = `it was issued at ${timeAndNow(issuedAt, now)}`
  if (issuedAt > addSeconds(now, SKEW_SECONDS)) throw new SamlProblem('not-yet-valid', issued)
  if (addSeconds(issuedAt, SKEW_SECONDS) < now) throw new SamlProblem('expired', issued)
}

/** The top-level code decides; the one within and the message say more (SAML Core §3.2.2). */
function checkStatus(response: XmlElement): void {
  const [status, second] = childrenNamed(response, 'Status', NAMESPACES.protocol)
  const [code, other] = status ? childrenNamed(status, 'StatusCode', NAMESPACES.protocol) : []
  const value = code?.attributes['Value']
  if (value === SUCCESS && !second && !other) return
  const [inner] = code ? childrenNamed(code, 'StatusCode', NAMESPACES.protocol) : []
  const [message] = status ? childrenNamed(status, 'StatusMessage', NAMESPACES.protocol) : []
  const words = [value, inner?.attributes['Value'], message?.text].filter(each => each !== undefined)
  throw new SamlProblem('status', `the provider returned ${words.map(quoted).join(', ')}`, inner?.attributes['Value'])
}
