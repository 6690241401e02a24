// Verifies XML signatures. xml-crypto canonicalizes and compares; this file restricts its input, and returns only the verified
// bytes, parsed again. Callers never see any other part of the document.
import { constants, createHash, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { DOMParser } from '@xmldom/xmldom'
import { ExclusiveCanonicalization, SignedXml } from 'xml-crypto'
import { SamlProblem } from './problem.ts'
import { childrenNamed, elementsOf, isNamed, MAX_MESSAGE_BYTES, MAX_SIGNED_NODES, NAMESPACES, parseXml } from './xml.ts'
import type { XmlElement, XmlLimits } from './xml.ts'

const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#'
const ENVELOPED = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature'

/** Digests of references. SHA-1 and MD5 are broken. */
const DIGESTS: Readonly<Record<string, string>> = {
  'http://www.w3.org/2001/04/xmlenc#sha256': 'sha256',
  'http://www.w3.org/2001/04/xmldsig-more#sha384': 'sha384',
  'http://www.w3.org/2001/04/xmlenc#sha512': 'sha512',
}

/** How a signature is made. */
interface SignatureAlgorithm {
  readonly hash: string
  readonly type: 'rsa' | 'ec'
  readonly isPss?: true
}

/** RFC 9231. No HMAC: its key would be public. No RSA-PSS with parameters in the message. */
export const SIGNATURE_ALGORITHMS: Readonly<Record<string, SignatureAlgorithm>> = {
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256': { hash: 'sha256', type: 'rsa' },
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha384': { hash: 'sha384', type: 'rsa' },
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512': { hash: 'sha512', type: 'rsa' },
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1': { hash: 'sha256', type: 'rsa', isPss: true },
  'http://www.w3.org/2007/05/xmldsig-more#sha384-rsa-MGF1': { hash: 'sha384', type: 'rsa', isPss: true },
  'http://www.w3.org/2007/05/xmldsig-more#sha512-rsa-MGF1': { hash: 'sha512', type: 'rsa', isPss: true },
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256': { hash: 'sha256', type: 'ec' },
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384': { hash: 'sha384', type: 'ec' },
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha512': { hash: 'sha512', type: 'ec' },
}

/** The salt is as long as the hash, which also masks (RFC 9231 §2.3.10). */
const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }

/** Whether the key made the signature; one of ECDSA has both numbers side by side (XML Signature §6.4.3) or is in DER. */
export const isSignedBy = (
  key: KeyObject,
  { hash, isPss }: SignatureAlgorithm,
  signed: Uint8Array,
  { bytes, dsaEncoding }: { readonly bytes: Uint8Array; readonly dsaEncoding: 'ieee-p1363' | 'der' },
): boolean => verify(hash, signed, { key, dsaEncoding, ...(isPss && PSS) }, bytes)

const MIN_RSA_BITS = 2048
/** Characters of a signature value: base64 for a key of 16,384 bits, in lines. */
const MAX_VALUE_LENGTH = 4096
/** Characters of a list of prefixes, which xml-crypto searches for each element. */
const MAX_PREFIXES_LENGTH = 256
const ELEMENT_NODE = 1

/** Whether the key may verify this kind of signature. */
export const isUsableKey = (key: KeyObject, type: 'rsa' | 'ec'): boolean =>
  key.asymmetricKeyType === type && (type === 'ec' || (key.asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_RSA_BITS)

const bad = (detail: string): SamlProblem => new SamlProblem('bad-signature', detail)

/** The signature of the element: its only one, a direct child. Undefined if there is none. */
export function signatureOf(element: XmlElement): XmlElement | undefined {
  const [signature, second] = childrenNamed(element, 'Signature', NAMESPACES.signature)
  if (second) throw bad('an element has two signatures')
  return signature
}

/**
 * Refuses a document with a signature, or the signed part of one, in any other place than directly in one of these elements.
 * In any namespace: a parser may look for them by local name, as xml-crypto does for `SignedInfo`.
 */
export function checkSignaturePlaces(root: XmlElement, elements: readonly XmlElement[]): void {
  const expected = elements.reduce((sum, place) => sum + (signatureOf(place) ? 1 : 0), 0)
  const names = [...elementsOf(root)].map(({ name }) => name)
  for (const part of ['Signature', 'SignedInfo']) {
    if (names.filter(name => name === part).length !== expected) throw bad(`a ${part} is out of place`)
  }
}

/** Verifies the signature of a document's root element and returns the text that was signed; see `verifiedPart`. */
export function verifiedText(text: string, keys: readonly KeyObject[], limits?: XmlLimits): string {
  const root = parseXml(text, limits)
  checkSignaturePlaces(root, [root])
  return verifiedPart(text, root, keys).text
}

/** What was signed: the canonical text, and the same parsed. */
interface Verified {
  readonly text: string
  readonly element: XmlElement
}

/**
 * Verifies the signature of the element, which is the root of the text or a child of the root, and returns what was
 * signed. Throws a `SamlProblem`, `no-signature` if there is none.
 */
export function verifiedPart(text: string, element: XmlElement, keys: readonly KeyObject[]): Verified {
  const signature = signatureOf(element)
  if (!signature) throw new SamlProblem('no-signature', `the ${element.name} is not signed`)
  const id = element.attributes['ID'] ?? ''
  const algorithm = checkShape(signature, id)
  const canonical = checked(text, id, { algorithm, keys })
  if (canonical === undefined) throw bad('no key of the provider matches, or the content was changed')
  return sameElement(canonical, element, id)
}

/** Canonical XML declares a namespace at each element that uses it first. */
const CANONICAL: XmlLimits = { bytes: 4 * MAX_MESSAGE_BYTES, nodes: 4 * MAX_SIGNED_NODES }

/** What was signed must be this element: a digest of something else, or of nothing, proves nothing about it. */
function sameElement(canonical: string, { name, namespace }: XmlElement, id: string): Verified {
  const signed = canonical === '' ? undefined : parseXml(canonical, CANONICAL)
  if (!signed || !isNamed(signed, name, namespace) || signed.attributes['ID'] !== id) {
    throw bad('the signature covers something else')
  }
  return { text: canonical, element: signed }
}

const CHILDREN: Readonly<Record<string, readonly string[]>> = {
  Signature: ['SignedInfo', 'SignatureValue', 'KeyInfo'],
  SignedInfo: ['CanonicalizationMethod', 'SignatureMethod', 'Reference'],
  Reference: ['Transforms', 'DigestMethod', 'DigestValue'],
}

/** Names that xml-crypto looks for at any depth: within KeyInfo they are not wanted. */
const STRUCTURE: ReadonlySet<string> = new Set([
  ...Object.keys(CHILDREN),
  ...Object.values(CHILDREN).flat(),
  'Transform',
  'Object',
  'Manifest',
  'SignatureProperties',
  'RetrievalMethod',
])

/** The algorithms of a signature, which are allowed. */
interface Algorithm extends SignatureAlgorithm {
  readonly name: string
  readonly digestName: string
  readonly digest: string
}

/**
 * The one shape that is accepted: one reference to the element around the signature, with the two transforms that SAML
 * allows (SAML Core §5.4.4), algorithms of the short lists, and nothing else.
 */
function checkShape(signature: XmlElement, id: string): Algorithm {
  const info = only(signature, 'SignedInfo')
  const reference = only(info, 'Reference')
  for (const part of [signature, info, reference]) {
    const allowed = CHILDREN[part.name] ?? []
    const isIn = ({ name, namespace }: XmlElement): boolean =>
      namespace === NAMESPACES.signature && allowed.includes(name)
    if (!part.children.every(isIn) || part.children.length > allowed.length)
      throw bad(`${part.name} has unexpected children`)
    if (part.text.trim() !== '') throw bad(`${part.name} has text`)
  }
  const [keyInfo] = childrenNamed(signature, 'KeyInfo', NAMESPACES.signature)
  if (keyInfo?.children.some(child => [...elementsOf(child)].some(({ name }) => STRUCTURE.has(name)))) {
    throw bad('KeyInfo has parts of a signature')
  }
  if (id === '' || reference.attributes['URI'] !== `#${id}`) throw bad('it refers to another element')
  checkTransforms(only(reference, 'Transforms'))
  if (algorithmOf(only(info, 'CanonicalizationMethod')) !== EXCLUSIVE) throw notAllowed('canonicalization')
  const digestName = algorithmOf(only(reference, 'DigestMethod'))
  const digest = Object.hasOwn(DIGESTS, digestName) ? DIGESTS[digestName] : undefined
  if (digest === undefined) throw notAllowed('digest')
  const name = algorithmOf(only(info, 'SignatureMethod'))
  const allowed = Object.hasOwn(SIGNATURE_ALGORITHMS, name) ? SIGNATURE_ALGORITHMS[name] : undefined
  if (!allowed) throw notAllowed('signature')
  for (const value of [only(signature, 'SignatureValue'), only(reference, 'DigestValue')]) {
    if (value.children.length > 0 || value.text.length > MAX_VALUE_LENGTH || !VALUE.test(value.text)) {
      throw bad(`${value.name} is not base64`)
    }
  }
  return { name, ...allowed, digestName, digest }
}

/** Base64 and white space. Only genuine spaces: some parsers take others for text. */
const VALUE = /^[A-Za-z0-9+/=\t\n\r ]+$/

function checkTransforms({ children }: XmlElement): void {
  const names = children.map(child =>
    isNamed(child, 'Transform', NAMESPACES.signature) ? child.attributes['Algorithm'] : '',
  )
  if (names.length !== 2 || names[0] !== ENVELOPED || names[1] !== EXCLUSIVE) throw notAllowed('transform')
  // Prefixes that are treated as in Canonical XML (Exclusive XML Canonicalization §4); some signers repeat them.
  const parts = children.flatMap(child => child.children)
  const isPlain = ({ name, children: inner, attributes }: XmlElement): boolean =>
    name === 'InclusiveNamespaces' &&
    inner.length === 0 &&
    (attributes['PrefixList'] ?? '').length <= MAX_PREFIXES_LENGTH
  if (children.some(child => child.children.length > 1) || !parts.every(isPlain)) throw notAllowed('transform')
}

const notAllowed = (what: string): SamlProblem => new SamlProblem('algorithm', `the ${what} algorithm is not allowed`)

/** The child of this name; its text, if it has any, is whole. */
function only(parent: XmlElement, name: string): XmlElement {
  const [found, second] = childrenNamed(parent, name, NAMESPACES.signature)
  if (!found || second) throw bad(`there must be exactly one ${name}`)
  return found
}

/** Without parameters, such as the length of a truncated HMAC. */
function algorithmOf(element: XmlElement): string {
  if (element.children.length > 0) throw notAllowed(element.name)
  return element.attributes['Algorithm'] ?? ''
}

/** xml-crypto's answer: the canonical text, or undefined if the signature is of none of these keys. */
function checked(
  text: string,
  id: string,
  { algorithm, keys }: { readonly algorithm: Algorithm; readonly keys: readonly KeyObject[] },
): string | undefined {
  const usable = keys.filter(key => isUsableKey(key, algorithm.type))
  const [first] = usable
  if (!first) return undefined
  const signer = new SignedXml({ publicCert: first, getCertFromKeyInfo: () => null, idAttribute: 'ID' })
  signer.idAttributes = ['ID']
  const Verifier = verifierOf(algorithm, usable)
  // The only algorithms that it is given, so that it cannot use any that were not checked. Tries every key at
  // once: whatever it does before takes far longer.
  Object.assign(signer, {
    SignatureAlgorithms: { [algorithm.name]: Verifier },
    HashAlgorithms: { [algorithm.digestName]: hashOf(algorithm) },
  })
  try {
    const signature = signatureNode(text, id)
    if (!isOfProvider(signature, new Verifier())) return undefined
    signer.loadSignature(signature)
    if (!signer.checkSignature(text)) return undefined
  } catch (error) {
    if (error instanceof SamlProblem) throw error
    return undefined // the library's errors say which part of the comparison failed, in no particular class
  }
  const [canonical, second] = signer.getSignedReferences()
  return second === undefined ? canonical : undefined
}

/**
 * Whether the provider signed this SignedInfo. xml-crypto looks at what it refers to before; a sender without a message of the
 * provider must not make it do so (XML Signature Best Practices, practice 1). It can only refuse: xml-crypto looks again.
 */
function isOfProvider(signature: Element, verifier: InstanceType<ReturnType<typeof verifierOf>>): boolean {
  const parts = childElements(signature)
  const info = parts.find(({ localName }) => localName === 'SignedInfo')
  const value = parts.find(({ localName }) => localName === 'SignatureValue')
  if (!info || !value) return false
  const canonical = new ExclusiveCanonicalization().process(info, {})
  return verifier.verifySignature(canonical, undefined, value.textContent ?? '')
}

/** In the shape that xml-crypto takes. */
const verifierOf = (algorithm: Algorithm, keys: readonly KeyObject[]) =>
  class {
    getAlgorithmName = (): string => algorithm.name

    getSignature(): never {
      throw new Error('nothing is signed here')
    }

    verifySignature(material: string, _key: unknown, value: string): boolean {
      const signed = Buffer.from(material)
      const signature = { bytes: Buffer.from(value, 'base64'), dsaEncoding: 'ieee-p1363' } as const
      return keys.some(key => isSignedBy(key, algorithm, signed, signature))
    }
  }

/** xml-crypto does not implement SHA-384. */
const hashOf = ({ digest, digestName }: Algorithm) =>
  class {
    getAlgorithmName = (): string => digestName
    getHash = (text: string): string => createHash(digest).update(text, 'utf8').digest('base64')
  }

/** The signature of the element with this id: the root, or a child of it. */
function signatureNode(text: string, id: string): Element {
  let complaints = 0
  const errorHandler = (): void => void (complaints += 1)
  const { documentElement: root } = new DOMParser({ errorHandler }).parseFromString(text, 'text/xml')
  // xml-crypto parses the text again, and would print its warnings.
  if (complaints > 0) throw bad('two parsers disagree about it')
  const parents = [root, ...childElements(root)].filter(element => element.getAttribute('ID') === id)
  const found = parents.flatMap(childElements).filter(({ localName }) => localName === 'Signature')
  const [signature, second] = found
  if (!signature || second) throw bad('there must be exactly one signature')
  return signature
}

function childElements(parent: Element): readonly Element[] {
  const found: Element[] = []
  for (let node = parent.firstChild; node; node = node.nextSibling) {
    if (node.nodeType === ELEMENT_NODE) found.push(node as Element) // what the number says
  }
  return found
}
