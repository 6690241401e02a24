// Reads the metadata of a SAML identity provider: a single EntityDescriptor without a document type (SAML 2.0 Metadata).
// Extracts what a sign-in needs, in one pass, as strings; identity/saml/ turns them into keys and
// URLs. Does NOT verify trust or the signature.
import type { SaxesTagNS } from 'saxes'
import { saxes } from '../base/lazy-packages.ts'
import { keepLatest } from '../base/text/latest.ts'
import { nodesOfText } from '../base/text/xml-cost.ts'

/** The result; the problem is shown to the author of the record. */
type SamlMetadata =
  | ({ readonly outcome: 'readable' } & SamlEntity)
  | { readonly outcome: 'unreadable'; readonly problem: string }

/** An entity as its metadata describes it. */
export interface SamlEntity {
  readonly entityId: string
  /** `xs:dateTime`, of the document or of the descriptor. */
  readonly validUntil?: readonly string[]
  /** `xs:duration`, of the document or of the descriptor. */
  readonly cacheDuration?: readonly string[]
  /** Its role as a SAML 2.0 identity provider; absent if it has none. */
  readonly provider?: SamlProviderDescriptor
}

/** The first IDPSSODescriptor for SAML 2.0 (§2.4.3). */
interface SamlProviderDescriptor {
  /** Certificates of each key that signs, base64 with white space. A key without a `use` signs too. */
  readonly signing: readonly (readonly string[])[]
  readonly signOn: readonly SamlEndpoint[]
  readonly logout: readonly SamlEndpoint[]
  readonly wantsSignedRequests: boolean
}

/** An endpoint as it is written. */
export interface SamlEndpoint {
  readonly binding: string
  readonly location: string
  readonly responseLocation?: string
}

/**
 * Several times the metadata of one provider; aggregates of federations are refused. It is parsed on the main thread: what the
 * limits allow takes less than 50 ms.
 */
export const MAX_METADATA_BYTES = 256 * 1024

/** SAML 2.0 Metadata §2.2.1. */
const MAX_ENTITY_ID_LENGTH = 1024
const MAX_DEPTH = 64
const NAMESPACE = 'urn:oasis:names:tc:SAML:2.0:metadata'
const SIGNATURE = 'http://www.w3.org/2000/09/xmldsig#'
const PROTOCOL = 'urn:oasis:names:tc:SAML:2.0:protocol'

/** Whether the text is inline metadata, not a URL. */
export const isMetadataText = (text: string): boolean =>
  /^(?:<\?xml\s|<!--|<(?:[A-Za-z_][\w.-]*:)?EntityDescriptor[\s/>])/.test(text)

/**
 * Reads metadata; refuses anything but one well-formed EntityDescriptor. A request to change a provider reads it for one check
 * after another.
 */
export const readSamlMetadata: (text: string) => SamlMetadata = keepLatest(read)

function read(text: string): SamlMetadata {
  try {
    if (Buffer.byteLength(text) > MAX_METADATA_BYTES) throw new Unreadable('it is larger than 256 KiB')
    if (!text.isWellFormed()) throw new Unreadable('it has half a surrogate pair')
    if (nodesOfText(text) > MAX_NODES_OF_TEXT) throw new Unreadable('its text takes too long to read')
    if (!isMetadataText(text)) throw new Unreadable('it does not begin with an EntityDescriptor')
    return { outcome: 'readable', ...entityIn(text) }
  } catch (error) {
    if (error instanceof Unreadable) return { outcome: 'unreadable', problem: error.message }
    throw error
  }
}

class Unreadable extends Error {}

const ROOT = 'EntityDescriptor'
const MAX_ATTRIBUTES = 100
/** Of all elements: as many as of elements with two each, which metadata of one provider has at most. */
const MAX_ALL_ATTRIBUTES = 10_000
/**
 * Elements, comments, processing instructions and CDATA sections. Large metadata of one provider has two thousand; each costs
 * more to read than its characters.
 */
const MAX_NODES = 5000
/** As of messages; metadata with short lines and tabs has less than half. */
const MAX_NODES_OF_TEXT = 1500
/** More keys than any provider has at a time; each must be parsed and tried on signatures. */
const MAX_CERTIFICATES = 50
/** Endpoints of each kind; a provider has one for each binding. */
const MAX_ENDPOINTS = 50

/** The descriptor while it is read. */
interface Draft extends Omit<SamlProviderDescriptor, 'signing' | 'signOn' | 'logout'> {
  readonly signing: string[][]
  readonly signOn: SamlEndpoint[]
  readonly logout: SamlEndpoint[]
}

/** Parses the document; stops at the first problem. */
function entityIn(text: string): SamlEntity {
  const { SaxesParser } = saxes()
  const parser = new SaxesParser({ xmlns: true })
  const limits = createLimits()
  const entity = createCollector()
  parser.on('error', ({ message }) => {
    // Keeps line, column and problem; the rest repeats the document.
    throw new Unreadable(`it is not well-formed (${/^\d+:\d+: [^:.]*/.exec(message)?.[0] ?? 'unreadable'})`)
  })
  parser.on('doctype', () => {
    throw new Unreadable('it has a document type')
  })
  parser.on('opentagstart', () => limits.countElement())
  parser.on('attribute', () => limits.countAttribute())
  parser.on('comment', limits.countNode)
  parser.on('processinginstruction', limits.countNode)
  parser.on('opentag', tag => entity.open(tag))
  parser.on('text', part => entity.addText(part))
  parser.on('cdata', part => {
    limits.countNode()
    entity.addText(part)
  })
  parser.on('closetag', () => entity.close())
  parser.write(text).close()
  return entity.result()
}

/** Counts the parts of a document; each function throws for one too many. */
function createLimits() {
  let nodes = 0
  let attributes = 0
  let allAttributes = 0

  const countNode = (): void => {
    nodes += 1
    if (nodes > MAX_NODES) throw new Unreadable('it has too many elements, comments or sections')
  }

  return {
    countNode,
    countElement() {
      attributes = 0
      countNode()
    },
    countAttribute() {
      attributes += 1
      allAttributes += 1
      if (allAttributes > MAX_ALL_ATTRIBUTES) throw new Unreadable('it has too many attributes')
      if (attributes > MAX_ATTRIBUTES) throw new Unreadable('an element has too many attributes')
    },
  }
}

/** Collects what is read of the entity, element by element. */
function createCollector() {
  /** Names of the open elements. */
  const path: string[] = []
  let entityId: string | undefined
  let provider: Draft | undefined
  let isInProvider = false
  let certificates = 0
  /** Certificates of the open key element, if it is for signing. */
  let key: string[] | undefined
  /** Text of the open certificate element. */
  let content: string | undefined
  const validUntil: string[] = []
  const cacheDuration: string[] = []

  function limit(tag: SaxesTagNS): void {
    const until = attributeOf(tag, 'validUntil')
    const duration = attributeOf(tag, 'cacheDuration')
    if (until !== undefined) validUntil.push(until)
    if (duration !== undefined) cacheDuration.push(duration)
  }

  function openRoot(tag: SaxesTagNS): void {
    if (path[0] !== `md:${ROOT}`) throw new Unreadable('it is not a SAML EntityDescriptor')
    entityId = checkedEntityId(attributeOf(tag, 'entityID'))
    limit(tag)
  }

  function openProvider(tag: SaxesTagNS): void {
    const wantsSignedRequests = /^(?:true|1)$/.test(attributeOf(tag, 'WantAuthnRequestsSigned')?.trim() ?? '')
    provider = { signing: [], signOn: [], logout: [], wantsSignedRequests }
    isInProvider = true
    limit(tag)
  }

  function openWithin(draft: Draft, tag: SaxesTagNS): void {
    switch (path.slice(2).join(' ')) {
      case 'md:KeyDescriptor':
        key = (attributeOf(tag, 'use') ?? 'signing') === 'signing' ? [] : undefined
        if (key) draft.signing.push(key)
        return
      case 'md:KeyDescriptor ds:KeyInfo ds:X509Data ds:X509Certificate':
        certificates += 1
        if (certificates > MAX_CERTIFICATES) throw new Unreadable('it has too many certificates')
        content = ''
        return
      case 'md:SingleSignOnService':
        return addEndpoint(draft.signOn, tag)
      case 'md:SingleLogoutService':
        return addEndpoint(draft.logout, tag)
    }
  }

  return {
    open(tag: SaxesTagNS) {
      path.push(nameOf(tag))
      if (path.length > MAX_DEPTH) throw new Unreadable('it is nested too deeply')
      if (path.length > 1 && tag.local === ROOT) throw new Unreadable('it describes more than one entity')
      if (path.length === 1) openRoot(tag)
      else if (path.length === 2 && !provider && isProvider(tag)) openProvider(tag)
      else if (isInProvider && provider) openWithin(provider, tag)
    },
    addText(part: string) {
      if (content !== undefined) content += part
    },
    close() {
      const name = path.pop()
      if (path.length === 1) isInProvider = false
      if (content === undefined || name !== 'ds:X509Certificate') return
      key?.push(content)
      content = undefined
    },
    result(): SamlEntity {
      if (entityId === undefined) throw new Unreadable('it has no entityID')
      return {
        entityId,
        ...(validUntil.length > 0 && { validUntil }),
        ...(cacheDuration.length > 0 && { cacheDuration }),
        ...(provider && { provider }),
      }
    },
  }
}

/** A name without its prefix, which the document chooses. */
function nameOf({ uri, local }: SaxesTagNS): string {
  if (uri === NAMESPACE) return `md:${local}`
  return uri === SIGNATURE ? `ds:${local}` : `{${uri}}${local}`
}

/** The value of an attribute without a namespace. */
const attributeOf = ({ attributes }: SaxesTagNS, name: string): string | undefined =>
  Object.hasOwn(attributes, name) ? attributes[name]?.value : undefined

const isProvider = (tag: SaxesTagNS): boolean =>
  nameOf(tag) === 'md:IDPSSODescriptor' &&
  (attributeOf(tag, 'protocolSupportEnumeration') ?? '').split(/\s+/).includes(PROTOCOL)

function addEndpoint(endpoints: SamlEndpoint[], tag: SaxesTagNS): void {
  if (endpoints.length >= MAX_ENDPOINTS) throw new Unreadable('it has too many endpoints')
  const responseLocation = attributeOf(tag, 'ResponseLocation')
  endpoints.push({
    binding: attributeOf(tag, 'Binding') ?? '',
    location: attributeOf(tag, 'Location') ?? '',
    ...(responseLocation !== undefined && { responseLocation }),
  })
}

function checkedEntityId(entityId: string | undefined): string {
  if (entityId === undefined || entityId.trim() === '') throw new Unreadable('it has no entityID')
  if (/[\t\n\r]/.test(entityId) || entityId !== entityId.trim()) throw new Unreadable('its entityID has white space')
  if (entityId.length > MAX_ENTITY_ID_LENGTH) throw new Unreadable('its entityID is too long')
  return entityId
}
