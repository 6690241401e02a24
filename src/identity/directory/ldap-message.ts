// Validates LDAP responses (RFC 4511 §4) before the library parses them: the library reads a list up to its stated
// length and loops forever if a length inside is wrong. Checks lengths and grammar, not the content.

/** Maximum size of a message. */
const MAX_MESSAGE_BYTES = 256 * 1024
/** Attributes and values of an entry. They cost more than their bytes: an empty one has two. */
const MAX_PARTS = 10_000

const INTEGER = 0x02
const OCTETS = 0x04
const ENUMERATED = 0x0a
const SEQUENCE = 0x30
const SET = 0x31
const REFERRAL = 0xa3
const CONTROLS = 0xa0
const SASL_CREDENTIALS = 0x87
const RESPONSE_NAME = 0x8a
const RESPONSE_VALUE = 0x8b
const SEARCH_END = 0x65
const SIZE_LIMIT_EXCEEDED = 4

/** A BER element, with the offsets of its content. */
interface Element {
  readonly tag: number
  readonly start: number
  readonly end: number
}

/** Thrown for bytes that are not a valid LDAP response. */
export class NotLdap extends Error {
  override name = 'NotLdap'
  constructor(message = 'sent data that is not LDAP') {
    super(message)
  }
}

/** Length in bytes of the message at the start; undefined if its header is incomplete. Throws `NotLdap`. */
export function messageLength(bytes: Buffer): number | undefined {
  if (bytes.length > 0 && bytes[0] !== SEQUENCE) throw new NotLdap()
  const length = readLength(bytes, 1)
  if (!length) return undefined
  const whole = length.next + length.value
  if (whole > MAX_MESSAGE_BYTES) throw new NotLdap()
  return whole
}

/** The content's length and offset; undefined if the length field is incomplete. */
function readLength(bytes: Buffer, offset: number): { readonly value: number; readonly next: number } | undefined {
  const first = bytes[offset]
  if (first === undefined) return undefined
  if (first < 0x80) return { value: first, next: offset + 1 }
  const count = first - 0x80
  if (count === 0 || count > 4) throw new NotLdap() // RFC 4511 §5.1: only the definite form
  if (offset + 1 + count > bytes.length) return undefined
  return { value: bytes.readUIntBE(offset + 1, count), next: offset + 1 + count }
}

function elementAt(bytes: Buffer, offset: number, end: number): Element {
  const tag = bytes[offset]
  const length = readLength(bytes, offset + 1)
  if (tag === undefined || !length || length.next + length.value > end) throw new NotLdap()
  return { tag, start: length.next, end: length.next + length.value }
}

/** The elements of a content; throws unless they fill it exactly. */
function elementsIn(bytes: Buffer, { start, end }: Omit<Element, 'tag'>): readonly Element[] {
  const found: Element[] = []
  for (let offset = start; offset < end; ) {
    const element = elementAt(bytes, offset, end)
    found.push(element)
    if (found.length > MAX_PARTS) throw tooManyParts()
    offset = element.end
  }
  return found
}

const tooManyParts = (): NotLdap => new NotLdap('sent too much data')

/** The message without its controls, which are never requested; throws `NotLdap` for anything but an expected response. */
export function checkedMessage(bytes: Buffer): Buffer {
  const [message, ...rest] = elementsIn(bytes, { start: 0, end: bytes.length })
  if (!message || message.tag !== SEQUENCE || rest.length > 0) throw new NotLdap()
  const [id, operation, controls, ...more] = elementsIn(bytes, message)
  if (!id || !operation || more.length > 0 || !isInteger(id, INTEGER)) throw new NotLdap()
  if (controls && controls.tag !== CONTROLS) throw new NotLdap()
  if (!isResponse(bytes, operation)) throw new NotLdap()
  const content = bytes.subarray(message.start, operation.end)
  const header = Buffer.from([SEQUENCE, 0x84, 0, 0, 0, 0])
  header.writeUInt32BE(content.length, 2)
  return Buffer.concat([header, content])
}

/** Whether a valid response ends a search at a size limit, of the request or of the server (RFC 4511 §4.5.1.4). */
export function endsAtSizeLimit(response: Buffer): boolean {
  const message = elementAt(response, 0, response.length)
  const id = elementAt(response, message.start, message.end)
  const operation = elementAt(response, id.end, message.end)
  if (operation.tag !== SEARCH_END) return false
  const { start, end } = elementAt(response, operation.start, operation.end)
  return response.readUIntBE(start, end - start) === SIZE_LIMIT_EXCEEDED
}

const isInteger = ({ tag, start, end }: Element, wanted: number): boolean =>
  tag === wanted && end > start && end - start <= 4

const areOctetStrings = (elements: readonly Element[]): boolean => elements.every(({ tag }) => tag === OCTETS)

function isResponse(bytes: Buffer, operation: Element): boolean {
  const parts = elementsIn(bytes, operation)
  switch (operation.tag) {
    case 0x61: // bind
      return isResult(bytes, parts, [REFERRAL, SASL_CREDENTIALS])
    case SEARCH_END:
    case 0x6f: // compare
      return isResult(bytes, parts, [REFERRAL])
    case 0x78: // StartTLS
      return isResult(bytes, parts, [REFERRAL, RESPONSE_NAME, RESPONSE_VALUE])
    case 0x73: // a reference to elsewhere
      return areOctetStrings(parts)
    case 0x64: // an entry
      return isEntry(bytes, parts)
    default:
      return false
  }
}

function isResult(bytes: Buffer, parts: readonly Element[], mayFollow: readonly number[]): boolean {
  const [code, matched, message, ...more] = parts
  if (!code || !matched || !message || !isInteger(code, ENUMERATED) || !areOctetStrings([matched, message]))
    return false
  return more.every(
    each => mayFollow.includes(each.tag) && (each.tag !== REFERRAL || areOctetStrings(elementsIn(bytes, each))),
  )
}

function isEntry(bytes: Buffer, parts: readonly Element[]): boolean {
  const [name, attributes, ...more] = parts
  if (!name || !attributes || more.length > 0 || name.tag !== OCTETS || attributes.tag !== SEQUENCE) return false
  let count = 0
  return elementsIn(bytes, attributes).every(attribute => {
    if (attribute.tag !== SEQUENCE) return false
    const [type, values, ...others] = elementsIn(bytes, attribute)
    if (!type || !values || others.length > 0) return false
    // The library gives attributes as members of the entry, next to its DN.
    if (bytes.toString('latin1', type.start, type.end) === 'dn') return false
    const each = elementsIn(bytes, values)
    count += 1 + each.length
    if (count > MAX_PARTS) throw tooManyParts()
    return type.tag === OCTETS && values.tag === SET && areOctetStrings(each)
  })
}
