// Parses SAML messages strictly: refuses anything that another parser could read differently, or that is expensive.
import { SaxesParser } from 'saxes'
import { keepLatest } from '../../base/text/latest.ts'
import { nodesOfText } from '../../base/text/xml-cost.ts'
import { resultOrProblem, SamlProblem } from './problem.ts'

/** An element as it was parsed. */
export interface XmlElement {
  /** Without its prefix. */
  readonly name: string
  readonly namespace: string
  readonly prefix: string
  /** Attributes without a namespace, by name. */
  readonly attributes: Readonly<Record<string, string>>
  /** The namespaces that it declares, by prefix; the default one by an empty prefix. */
  readonly declared: Readonly<Record<string, string>>
  readonly children: readonly XmlElement[]
  /** Its own text, whole: the borders of CDATA sections do not cut it. */
  readonly text: string
}

/** Namespaces of what this folder reads. */
export const NAMESPACES = {
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
  encryption: 'http://www.w3.org/2001/04/xmlenc#',
} as const

/** Limits of a document. */
export interface XmlLimits {
  readonly bytes: number
  /** Elements, attributes, namespace declarations and CDATA sections together. */
  readonly nodes: number
  /** Whether text counts too (`nodesOfText`). */
  readonly countsText?: true
}

/** Bytes of a message. */
export const MAX_MESSAGE_BYTES = 256 * 1024
/**
 * What takes time is nodes, not bytes: for every signature, xml-crypto looks at each of them several times. A user in 1,400
 * groups has about as many, or one in 400 where each value says its type.
 */
export const MAX_SIGNED_NODES = 1500
/** Any message of 256 kB takes less than 50 ms. */
const MESSAGE: XmlLimits = { bytes: MAX_MESSAGE_BYTES, nodes: MAX_SIGNED_NODES, countsText: true }
const MAX_DEPTH = 32
const MAX_ATTRIBUTES_OF_ONE = 40
const MAX_NAME_LENGTH = 256

interface Open {
  readonly element: XmlElement & { readonly attributes: Record<string, string> }
  readonly children: XmlElement[]
  readonly text: string[]
}

/**
 * Parses one document, a message unless other limits are given. Throws a `SamlProblem` for document types, processing
 * instructions, comments (signatures leave them out, so that any intermediary can add them), entities other than XML's own, ids
 * that occur twice, relative namespaces, and for anything that is too large.
 */
export const parseXml = (text: string, limits?: XmlLimits): XmlElement =>
  (limits ? parse(text, limits) : parseCounted(text)).root

interface Parsed {
  readonly root: XmlElement
  readonly nodes: number
}

/** Parses a message, and counts its nodes, text included. */
export function parseCounted(text: string): Parsed {
  const parsed = parsedMessage(text)
  if (parsed instanceof SamlProblem) throw parsed
  return parsed
}

/** Anyone can post a message, which is parsed for its issuer, for its problem and for its content. */
const parsedMessage = keepLatest(text => resultOrProblem(() => parse(text, MESSAGE)))

function parse(text: string, limits: XmlLimits): Parsed {
  if (text.length > limits.bytes) throw new SamlProblem('too-large', 'it has too many characters')
  if (!text.isWellFormed()) throw notXml('half a surrogate pair')
  checkMarkup(text)
  const parser = new SaxesParser({ xmlns: true })
  const open: Open[] = []
  const ids = new Set<string>()
  let root: XmlElement | undefined
  let nodes = limits.countsText ? nodesOfText(text) : 0
  if (nodes > limits.nodes) throw new SamlProblem('too-large', 'its text takes too long to read')
  parser.on('error', ({ message }) => {
    // Keeps line, column and problem; the rest repeats the document.
    throw notXml(/^\d+:\d+: [^:.]*/.exec(message)?.[0] ?? 'unreadable')
  })
  parser.on('xmldecl', ({ encoding, version }) => {
    if (version !== '1.0' || (encoding ?? 'utf-8').toLowerCase() !== 'utf-8')
      throw notXml('another version or encoding')
  })
  parser.on('opentagstart', ({ name }) => {
    nodes += 1
    if (nodes > limits.nodes || open.length >= MAX_DEPTH || name.length > MAX_NAME_LENGTH) {
      throw new SamlProblem('too-large', 'it has too many elements or attributes, or too deep ones')
    }
  })
  let own = 0
  parser.on('attribute', ({ name }) => {
    own += 1
    nodes += 1
    if (own > MAX_ATTRIBUTES_OF_ONE || nodes > limits.nodes || name.length > MAX_NAME_LENGTH) {
      throw new SamlProblem('too-large', 'it has too many elements or attributes')
    }
  })
  parser.on('opentag', ({ local, uri, prefix, attributes: given }) => {
    own = 0
    checkName(local)
    const plain: Record<string, string> = Object.create(null)
    const declared: Record<string, string> = Object.create(null)
    for (const each of Object.values(given)) {
      checkName(each.local)
      if (each.prefix === 'xmlns' || each.name === 'xmlns') {
        checkNamespace(each.value)
        declared[each.name === 'xmlns' ? '' : each.local] = each.value
      } else if (/^id$/i.test(each.local)) {
        if (ids.has(each.value)) throw new SamlProblem('bad-signature', 'an id occurs twice')
        ids.add(each.value)
      }
      if (each.uri === '' && each.prefix === '') plain[each.local] = each.value
    }
    const children: XmlElement[] = []
    open.push({
      element: { name: local, namespace: uri, prefix, attributes: plain, declared, children, text: '' },
      children,
      text: [],
    })
  })
  const addText = (part: string): void => void open.at(-1)?.text.push(part)
  parser.on('text', addText)
  parser.on('cdata', part => {
    // Each is a node of its own to xml-crypto, and the shortest there is: 256 kB are 20,000.
    nodes += 1
    if (nodes > limits.nodes) throw new SamlProblem('too-large', 'it has too many sections')
    addText(part)
  })
  parser.on('closetag', () => {
    const closed = open.pop()
    if (!closed) return
    const element = { ...closed.element, text: closed.text.join('') }
    const parent = open.at(-1)
    if (parent) parent.children.push(element)
    else root = element
  })
  parser.write(text).close()
  if (!root) throw notXml('no element')
  return { root, nodes }
}

const notXml = (what: string): SamlProblem => new SamlProblem('not-xml', `it is not usable as XML: ${what}`)

/** Any instruction but the declaration at the start. */
const FORBIDDEN_MARKUP = /<!--|<!DOCTYPE|(?!^)<\?|^<\?(?!xml[\t\n\r ])/

/**
 * Refuses a document type, a comment or a processing instruction, which the parser would read to its end before it reports it.
 * Also where it is text within a CDATA section, which other parsers may end elsewhere.
 */
function checkMarkup(text: string): void {
  const [found] = FORBIDDEN_MARKUP.exec(text) ?? []
  if (found === '<!--') throw new SamlProblem('comment', 'it has a comment')
  if (found === '<!DOCTYPE') throw new SamlProblem('document-type', 'it has a document type')
  if (found !== undefined) throw notXml('a processing instruction')
}

/**
 * Canonical XML is not defined for relative ones (Canonical XML 1.1 §1.3), and xml-crypto writes them into the canonical text
 * as they are: a quotation mark in one would end it there, and what follows would be markup.
 */
function checkNamespace(uri: string): void {
  if (uri !== '' && !/^[A-Za-z][A-Za-z0-9+.-]*:[^\s\p{Cc}"'<>&]+$/u.test(uri))
    throw notXml('a relative or invalid namespace')
}

/**
 * Namespaces in XML §4: what stands behind a prefix begins like a name, which the parser asks of the whole name only. The parser
 * behind the signatures rejects names with characters beyond the first plane.
 */
function checkName(local: string): void {
  if (!/^[\p{L}_][^\u{10000}-\u{10ffff}]*$/u.test(local)) throw notXml('an invalid name')
}

/** Every element of the tree, the root first. */
export function* elementsOf(root: XmlElement): Generator<XmlElement> {
  yield root
  for (const child of root.children) yield* elementsOf(child)
}

/** Whether it is this element. */
export const isNamed = (element: XmlElement, name: string, namespace: string): boolean =>
  element.name === name && element.namespace === namespace

/** Children of this name. */
export const childrenNamed = (parent: XmlElement, name: string, namespace: string): readonly XmlElement[] =>
  parent.children.filter(child => isNamed(child, name, namespace))

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/

/** The XML of a base64 text, of either alphabet; throws a `SamlProblem`. */
export function decodeXml(base64: string): string {
  if (base64.length > MAX_MESSAGE_BYTES * 2) throw new SamlProblem('too-large', 'it is too long')
  const compact = base64.replace(/[\t\n\r ]/g, '')
  if (compact === '' || !BASE64.test(compact)) throw notXml('no base64')
  const bytes = Buffer.from(compact, 'base64')
  if (bytes.length > MAX_MESSAGE_BYTES) throw new SamlProblem('too-large', 'it is too long')
  return textOf(bytes)
}

/** The text of UTF-8; throws a `SamlProblem`. */
export function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw notXml('no UTF-8')
  }
}

/** The issuer that a response, assertion or logout message names: unverified, for choosing the provider. Never throws. */
export function peekIssuer(base64: string): string | undefined {
  try {
    const root = parseXml(decodeXml(base64))
    const [issuer] = childrenNamed(root, 'Issuer', NAMESPACES.assertion)
    const [assertion] = childrenNamed(root, 'Assertion', NAMESPACES.assertion)
    const [inner] = assertion ? childrenNamed(assertion, 'Issuer', NAMESPACES.assertion) : []
    return (issuer ?? inner)?.text
  } catch (error) {
    if (error instanceof SamlProblem) return undefined
    throw error
  }
}
