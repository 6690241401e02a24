// Reads assertions: finds the relevant one, decrypts and verifies it, and passes only that to the statement's reader.
import type { KeyObject } from 'node:crypto'
import { decryptedText, notDecrypted } from './encryption.ts'
import { SamlProblem } from './problem.ts'
import { checkSignaturePlaces, signatureOf, verifiedPart } from './signed-xml.ts'
import { readStatement } from './statement.ts'
import type { Expectation, SamlStatement } from './statement.ts'
import { decodeXml, elementsOf, isNamed, NAMESPACES, parseXml } from './xml.ts'
import type { XmlElement } from './xml.ts'

const isAssertion = (element: XmlElement): boolean => isNamed(element, 'Assertion', NAMESPACES.assertion)
const isEncrypted = (element: XmlElement): boolean => isNamed(element, 'EncryptedAssertion', NAMESPACES.assertion)

/** An assertion that a client presents by itself (RFC 7522), in base64url. Throws a `SamlProblem`. */
export function readBearerAssertion(base64url: string, expected: Omit<Expectation, 'inResponseTo'>): SamlStatement {
  const text = decodeXml(base64url)
  const root = parseXml(text)
  if (!isAssertion(root) && !isEncrypted(root)) throw new SamlProblem('not-xml', 'it is not an assertion')
  checkAssertions(root, root)
  checkSignaturePlaces(root, isEncrypted(root) ? [] : [root])
  const assertion = verifiedAssertion(text, root, expected)
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

/**
 * The assertion, which is the root of the text or a child of the root, as it was signed; an encrypted one must be signed within.
 * Throws a `SamlProblem`.
 */
export function verifiedAssertion(
  text: string,
  element: XmlElement,
  { provider, decryptionKeys }: Pick<Expectation, 'provider' | 'decryptionKeys'>,
): XmlElement {
  if (isEncrypted(element)) return decryptedAssertion(element, { keys: provider.signingKeys, decryptionKeys })
  return verifiedPart(text, element, provider.signingKeys).element
}

/** Every failure gives the same refusal, so that an attacker cannot learn how far modified ciphertext was processed. */
function decryptedAssertion(
  element: XmlElement,
  { keys, decryptionKeys }: { readonly keys: readonly KeyObject[]; readonly decryptionKeys: readonly KeyObject[] },
): XmlElement {
  const text = decryptedText(element, decryptionKeys)
  try {
    const root = parseXml(text)
    if (!isAssertion(root)) throw new SamlProblem('not-xml', 'it is not an assertion')
    checkAssertions(root, root)
    if (!signatureOf(root)) throw new SamlProblem('no-signature', 'it is not signed')
    checkSignaturePlaces(root, [root])
    return verifiedPart(text, root, keys).element
  } catch (error) {
    throw error instanceof SamlProblem ? notDecrypted() : error
  }
}
