// Decrypts what a provider encrypted for us (XML Encryption). Encryption proves nothing: our certificate is public.
import type { KeyObject } from 'node:crypto'
import { decrypt } from 'xml-encryption'
import { resultOrProblem, SamlProblem } from './problem.ts'
import { childrenNamed, elementsOf, isNamed, NAMESPACES, parseXml } from './xml.ts'
import type { XmlElement } from './xml.ts'

/**
 * Algorithms for the content. CBC is what directories and simpleSAMLphp use unless configured otherwise. It lets anyone who
 * holds an encrypted assertion try changed ones; every failure from the decryption up to the signature within is the same
 * refusal. What was changed has no valid signature; without one within, only another provider could sign it, as an assertion of
 * its own.
 */
const CONTENT_ALGORITHMS: ReadonlySet<string> = new Set([
  'http://www.w3.org/2009/xmlenc11#aes128-gcm',
  'http://www.w3.org/2009/xmlenc11#aes256-gcm',
  'http://www.w3.org/2001/04/xmlenc#aes128-cbc',
  'http://www.w3.org/2001/04/xmlenc#aes256-cbc',
])

/** Algorithms for the key of the content. RSA 1.5 is vulnerable to Bleichenbacher's attack (XML Encryption 1.1 §5.5.1). */
const KEY_ALGORITHMS: ReadonlySet<string> = new Set([
  'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
  'http://www.w3.org/2009/xmlenc11#rsa-oaep',
])

/** Digests for OAEP (XML Encryption 1.1 §5.5.2) that the library knows; it would take another one for SHA-1. */
const OAEP_DIGESTS: ReadonlySet<string> = new Set([
  'http://www.w3.org/2000/09/xmldsig#sha1',
  'http://www.w3.org/2001/04/xmlenc#sha256',
  'http://www.w3.org/2001/04/xmlenc#sha512',
  // Misspellings that are in use, as is the last one of the masks.
  'http://www.w3.org/2000/09/xmldsig#sha256',
  'http://www.w3.org/2000/09/xmldsig#sha512',
])
const OAEP_MASKS: ReadonlySet<string> = new Set([
  ...['sha1', 'sha224', 'sha256', 'sha384', 'sha512'].map(name => `http://www.w3.org/2009/xmlenc11#mgf1${name}`),
  'http://www.w3.org/2001/04/xmlenc#MGF1withSHA1',
])

const XMLENC11 = 'http://www.w3.org/2009/xmlenc11#'

const failed = (detail: string): SamlProblem => new SamlProblem('decryption', detail)

/**
 * A message that does not decrypt is refused after a multiple of this time: an attacker who changes what is encrypted with
 * AES-CBC must not learn from the time whether its padding is right.
 */
export const DECRYPTION_REFUSAL_MS = 100

/** The identical error for every failure from the decryption up to what was wanted: see `CONTENT_ALGORITHMS`. */
export const notDecrypted = (wanted: string): SamlProblem => failed(`it does not decrypt to ${wanted}`)

/** A text, and the key that it was encrypted for. */
interface Decrypted {
  readonly text: string
  readonly key: KeyObject
  /** Whether the text is as it was encrypted, which AES-CBC does not prove. */
  readonly isAuthentic: boolean
}

/** Encrypted keys of one element: the key of the content, encrypted for each recipient. */
const MAX_ENCRYPTED_KEYS = 4
/** Each takes as long as a decryption with RSA; a zone has as many keys. */
const MAX_ATTEMPTS = 20

/** The encrypted keys within the element. */
const encryptedKeysIn = (element: XmlElement): readonly XmlElement[] =>
  [...elementsOf(element)].filter(({ name }) => name === 'EncryptedKey')

/**
 * The text within an element such as `EncryptedAssertion`, which contains the encrypted data and, beside it or in it, the
 * encrypted keys (SAML Core §2.2.4), one of which is for us; undefined for every cryptographic failure. Throws a `SamlProblem`
 * for what is not encrypted as it must be.
 */
export function decryptedText(element: XmlElement, keys: readonly KeyObject[]): Decrypted | undefined {
  const [data, second] = childrenNamed(element, 'EncryptedData', NAMESPACES.encryption)
  if (!data || second) throw failed('there must be exactly one EncryptedData')
  const encryptedKeys = encryptedKeysIn(element)
  if (encryptedKeys.length === 0 || encryptedKeys.length > MAX_ENCRYPTED_KEYS) {
    throw failed(`there must be one to ${MAX_ENCRYPTED_KEYS} EncryptedKey`)
  }
  const content = partsOf(data)
  const usable = encryptedKeys.map(partsOf).filter(mayWrapKey)
  if (!CONTENT_ALGORITHMS.has(content.algorithm) || usable.length === 0) {
    throw new SamlProblem('algorithm', 'the encryption algorithm is not allowed')
  }
  const documents = usable.map(wrapped => rebuilt(content, wrapped))
  const attempts = keys
    .filter(({ asymmetricKeyType }) => asymmetricKeyType === 'rsa')
    .flatMap(key => documents.map(xml => ({ key, xml })))
  for (const { key, xml } of attempts.slice(0, MAX_ATTEMPTS)) {
    const text = attempt(xml, key)
    if (text !== undefined) return { text, key, isAuthentic: content.algorithm.endsWith('-gcm') }
  }
  return undefined
}

const mayWrapKey = ({ algorithm, digest, mask }: Parts): boolean =>
  KEY_ALGORITHMS.has(algorithm) &&
  (digest === undefined || OAEP_DIGESTS.has(digest)) &&
  (mask === undefined || OAEP_MASKS.has(mask))

/**
 * The element in a decrypted text, and a text in which it is the root or a child of it. It may rely on namespaces that are
 * declared around its place, by the elements `around` from the outside in, as if it had never been encrypted (XML
 * Encryption 1.1 §4.5). Throws a `SamlProblem`.
 */
export function decryptedElement(
  text: string,
  isWanted: (element: XmlElement) => boolean,
  around: readonly XmlElement[],
): { readonly text: string; readonly element: XmlElement } {
  const alone = resultOrProblem(() => parseXml(text))
  if (!(alone instanceof SamlProblem) && isWanted(alone)) return { text, element: alone }
  const inScope = new Map(around.flatMap(({ declared }) => Object.entries(declared)))
  // The parser refuses quotation marks in namespaces.
  const declarations = [...inScope].map(([prefix, uri]) => ` xmlns${prefix === '' ? '' : `:${prefix}`}="${uri}"`)
  const placed = `<around${declarations.join('')}>${text.replace(/^\s*<\?xml[^>]*\?>/, '')}</around>`
  const root = parseXml(placed)
  const [element, second] = root.children
  if (!element || second || root.text.trim() !== '' || !isWanted(element)) throw failed('it is something else')
  return { text: placed, element }
}

/** Elements that a provider may encrypt on their own (SAML Core §2.2.4, §2.7.3.2), and what must be in them. */
const CONTENTS = { EncryptedID: 'NameID', EncryptedAttribute: 'Attribute' } as const

/** Encrypted keys in one message. */
const MAX_ENCRYPTED = 30

/**
 * Decrypts what the provider encrypted within a message that it signed: nobody else can have changed it. Gives the element with its
 * encrypted children of this name replaced by their contents, which may use the namespaces of the elements `around` it from
 * the outside in. Throws a `SamlProblem`, the same for everything that is not the element wanted.
 */
type Decryption = (parent: XmlElement, name: keyof typeof CONTENTS, around: readonly XmlElement[]) => XmlElement

/** For one message, whose elements must all be encrypted for the same key: so the others are tried once. */
export function createDecryption(keys: readonly KeyObject[]): Decryption {
  let [candidates, left] = [keys, MAX_ENCRYPTED]

  function contentOf(element: XmlElement, wanted: string, around: readonly XmlElement[]): XmlElement {
    left -= encryptedKeysIn(element).length
    if (left < 0) throw new SamlProblem('too-large', 'it has too many encrypted elements')
    const decrypted = decryptedText(element, candidates)
    if (!decrypted || mayBePatchwork(decrypted)) throw notDecrypted(`one ${wanted}`)
    candidates = [decrypted.key]
    const isWanted = (content: XmlElement): boolean => isNamed(content, wanted, NAMESPACES.assertion)
    const content = resultOrProblem(() => decryptedElement(decrypted.text, isWanted, around).element)
    if (content instanceof SamlProblem) throw notDecrypted(`one ${wanted}`)
    return content
  }

  return (parent, name, around) => {
    const children = parent.children.map(child =>
      isNamed(child, name, NAMESPACES.assertion) ? contentOf(child, CONTENTS[name], [...around, parent, child]) : child,
    )
    return { ...parent, children }
  }
}

/**
 * Whether what was encrypted may have been changed. Another provider could put a beginning and an end of its choice around blocks that
 * were not encrypted for it to read. Between them a block decrypts to random bytes, which are hardly ever UTF-8.
 */
export const mayBePatchwork = ({ text, isAuthentic }: Decrypted): boolean => !isAuthentic && text.includes('\ufffd')

interface Parts {
  readonly algorithm: string
  readonly value: string
  readonly digest: string | undefined
  readonly mask: string | undefined
}

/** Base64 and white space. */
const VALUE = /^[A-Za-z0-9+/=\s]+$/

function partsOf(element: XmlElement): Parts {
  const child = (parent: XmlElement, name: string, namespace: string = NAMESPACES.encryption): XmlElement => {
    const [found, second] = childrenNamed(parent, name, namespace)
    if (!found || second) throw failed(`there must be exactly one ${name}`)
    return found
  }
  const method = child(element, 'EncryptionMethod')
  const { text: value } = child(child(element, 'CipherData'), 'CipherValue')
  const algorithm = method.attributes['Algorithm'] ?? ''
  const [digest] = childrenNamed(method, 'DigestMethod', NAMESPACES.signature)
  const [mask] = childrenNamed(method, 'MGF', XMLENC11)
  if (!VALUE.test(value)) throw failed('it is not usable')
  return { algorithm, value, digest: digest?.attributes['Algorithm'], mask: mask?.attributes['Algorithm'] }
}

/**
 * The same, in one shape: xml-encryption looks for its parts by their local names, at any depth. Nothing in it needs to be escaped:
 * the algorithms are those of the lists above, and the values are base64.
 */
const rebuilt = (content: Parts, key: Parts): string =>
  `<e:EncryptedData xmlns:e="${NAMESPACES.encryption}" xmlns:d="${NAMESPACES.signature}" xmlns:f="${XMLENC11}"><e:EncryptionMethod Algorithm="${content.algorithm}"/><d:KeyInfo><e:EncryptedKey><e:EncryptionMethod Algorithm="${key.algorithm}">${key.digest === undefined ? '' : `<d:DigestMethod Algorithm="${key.digest}"/>`}${key.mask === undefined ? '' : `<f:MGF Algorithm="${key.mask}"/>`}</e:EncryptionMethod><e:CipherData><e:CipherValue>${key.value}</e:CipherValue></e:CipherData></e:EncryptedKey></d:KeyInfo><e:CipherData><e:CipherValue>${content.value}</e:CipherValue></e:CipherData></e:EncryptedData>`

function attempt(xml: string, privateKey: KeyObject): string | undefined {
  let text: string | undefined
  let hasFailed = false
  const options = {
    // No key object: where digest and mask differ, as they do by default with SHA-256, the library opens it itself.
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    disallowDecryptionWithInsecureAlgorithm: false, // the list above decides
    warnInsecureAlgorithm: false,
  }
  try {
    decrypt(xml, options, (error, result) => {
      if (error) hasFailed = true
      else text = result
    })
  } catch {
    return undefined // its errors say what failed
  }
  return hasFailed ? undefined : text
}
