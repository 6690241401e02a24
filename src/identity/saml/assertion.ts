// Reads assertions: finds the relevant one, decrypts and verifies it, and passes only that to the statement's reader.
import { decryptedElement, decryptedText, mayBePatchwork, notDecrypted } from './encryption.ts'
import { SamlProblem } from './problem.ts'
import { checkSignaturePlaces, signatureOf, verifiedPart } from './signed-xml.ts'
import { checkIssuer, readStatement } from './statement.ts'
import type { Expectation, SamlStatement } from './statement.ts'
import { decodeXml, elementsOf, isNamed, NAMESPACES, parseXml } from './xml.ts'
import type { XmlElement } from './xml.ts'

const isAssertion = (element: XmlElement): boolean => isNamed(element, 'Assertion', NAMESPACES.assertion)
const isEncrypted = (element: XmlElement): boolean => isNamed(element, 'EncryptedAssertion', NAMESPACES.assertion)

/** An assertion that a client presents by itself (RFC 7522), in base64url, and that is not encrypted. Throws a `SamlProblem`. */
export function readBearerAssertion(base64url: string, expected: Omit<Expectation, 'inResponseTo'>): SamlStatement {
  const text = decodeXml(base64url)
  const root = parseXml(text)
  if (!isAssertion(root)) throw new SamlProblem('not-xml', 'it is not an assertion')
  checkAssertions(root, root)
  checkSignaturePlaces(root, [root])
  const { element: assertion } = verifiedPart(text, root, expected.provider.signingKeys)
  // The issuer may have made it in the user's absence (§3 item 7). It answers no request of ours.
  return readStatement(assertion, { ...expected, inResponseTo: 'none' }, { needsAuthentication: false })
}

/** Refuses a document with any assertion but this one: no reader can then take another one for it. */
export function checkAssertions(root: XmlElement, assertion: XmlElement): void {
  const found = [...elementsOf(root)].filter(({ name }) => name === 'Assertion' || name === 'EncryptedAssertion')
  if (found.length !== 1 || found[0] !== assertion) {
    throw new SamlProblem('several-assertions', 'there must be exactly one assertion, in its place')
  }
}

/** What an assertion is verified and decrypted with. */
interface Verification extends Pick<Expectation, 'provider' | 'decryptionKeys'> {
  /** The elements around an encrypted one, whose namespaces it may use. */
  readonly around: readonly XmlElement[]
  /**
   * The same as the provider signed them, with the encrypted one: then the assertion within needs no signature of its own. Absent if
   * they are not signed, because anyone can encrypt for us.
   */
  readonly signedAround?: readonly XmlElement[]
}

/**
 * The assertion, which is a child of the root of the text, as it was signed; an encrypted one must be signed within, or
 * with the elements around it. Throws a `SamlProblem`.
 */
export function verifiedAssertion(text: string, element: XmlElement, verification: Verification): XmlElement {
  const { provider } = verification
  if (isEncrypted(element)) return decryptedAssertion(element, verification)
  return verifiedPart(text, element, provider.signingKeys).element
}

const SIGNED_ASSERTION = 'an assertion that the provider signed'

/** Every failure gives the same refusal, so that an attacker cannot learn how far modified ciphertext was processed. */
function decryptedAssertion(
  encrypted: XmlElement,
  { provider, decryptionKeys, around, signedAround }: Verification,
): XmlElement {
  const decrypted = decryptedText(encrypted, decryptionKeys)
  if (!decrypted) throw notDecrypted(SIGNED_ASSERTION)
  try {
    const { text, element } = decryptedElement(decrypted.text, isAssertion, around)
    checkAssertions(element, element)
    checkSignaturePlaces(element, [element])
    if (!signedAround || signatureOf(element)) return verifiedPart(text, element, provider.signingKeys).element
    // A provider can sign what another one encrypted; so it must be whole, and of this provider.
    if (mayBePatchwork(decrypted)) throw notDecrypted(SIGNED_ASSERTION)
    const { element: assertion } = decryptedElement(decrypted.text, isAssertion, signedAround)
    checkIssuer(assertion, provider.entityId)
    return assertion
  } catch (error) {
    throw error instanceof SamlProblem ? notDecrypted(SIGNED_ASSERTION) : error
  }
}
