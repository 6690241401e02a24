// Distinguished names (X.501), from certificates in DER and from strings (RFC 4514), in a canonical form for comparison. Strict:
// refuses names that two parsers could read differently.
import { DER, derElements, derSequence } from './der.ts'
import type { DerElement } from './der.ts'

/** The attribute types that may be written by name: those of RFC 4514 §3, and others of certificates as OpenSSL prints them. */
const TYPES: Readonly<Record<string, string>> = {
  cn: '2.5.4.3',
  sn: '2.5.4.4',
  serialnumber: '2.5.4.5',
  c: '2.5.4.6',
  l: '2.5.4.7',
  st: '2.5.4.8',
  street: '2.5.4.9',
  o: '2.5.4.10',
  ou: '2.5.4.11',
  title: '2.5.4.12',
  businesscategory: '2.5.4.15',
  postalcode: '2.5.4.17',
  givenname: '2.5.4.42',
  gn: '2.5.4.42',
  organizationidentifier: '2.5.4.97',
  uid: '0.9.2342.19200300.100.1.1',
  dc: '0.9.2342.19200300.100.1.25',
  emailaddress: '1.2.840.113549.1.9.1',
  jurisdictionl: '1.3.6.1.4.1.311.60.2.1.1',
  jurisdictionst: '1.3.6.1.4.1.311.60.2.1.2',
  jurisdictionc: '1.3.6.1.4.1.311.60.2.1.3',
}

const SET = 0x31
const MAX_PARTS = 64

/** The types of strings in names (RFC 5280 §4.1.2.4); others are compared by their bytes. */
const STRINGS: ReadonlyMap<number, (content: Buffer) => string | undefined> = new Map([
  [0x0c, utf8], // UTF8String
  [0x13, ascii], // PrintableString
  [0x16, ascii], // IA5String
  [0x1e, utf16], // BMPString
])

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function utf8(content: Buffer): string | undefined {
  try {
    return decoder.decode(content)
  } catch {
    return undefined
  }
}

function ascii(content: Buffer): string | undefined {
  return content.every(byte => byte < 0x80) ? content.toString('latin1') : undefined
}

function utf16(content: Buffer): string | undefined {
  if (content.length % 2 !== 0) return undefined
  const text = Buffer.from(content).swap16().toString('utf16le')
  return text.isWellFormed() ? text : undefined
}

/** The value of a string, or the bytes of anything else in hexadecimal. */
type Value = readonly ['text' | 'bytes', string]

const part = (type: string, value: Value): string => JSON.stringify([type, ...value])

/** The order of values within one relative name has no meaning; that of relative names has. */
const joined = (names: readonly (readonly string[])[]): string => JSON.stringify(names.map(parts => parts.toSorted()))

/** The name of a certificate in canonical form; undefined for an invalid or empty one. */
export function nameFromDer(name: Buffer): string | undefined {
  const sets = derSequence(name)
  if (sets.length === 0 || sets.length > MAX_PARTS) return undefined
  const names: string[][] = []
  for (const { tag, content } of sets) {
    const parts = tag === SET ? derElements(content).map(partOf) : []
    const sound = parts.filter(each => each !== undefined)
    if (parts.length === 0 || sound.length !== parts.length) return undefined
    names.push(sound)
  }
  return joined(names)
}

function partOf({ whole }: DerElement): string | undefined {
  const [type, value, ...rest] = derSequence(whole)
  const dotted = type?.tag === DER.oid ? dottedOid(type.content) : undefined
  if (dotted === undefined || !value || rest.length > 0) return undefined
  const read = valueOf(value)
  return read && part(dotted, read)
}

function valueOf({ tag, content, whole }: DerElement): Value | undefined {
  const read = STRINGS.get(tag)
  if (!read) return ['bytes', whole.toString('hex')]
  const text = read(content)
  return text === undefined ? undefined : ['text', text]
}

/** X.690 §8.19; undefined where it is malformed or has unrealistically large numbers. */
function dottedOid(content: Buffer): string | undefined {
  const numbers: number[] = []
  let number = 0
  for (const [index, byte] of content.entries()) {
    if (number === 0 && byte === 0x80) return undefined // §8.19.2: the fewest bytes
    number = number * 128 + (byte & 0x7f)
    if (number > Number.MAX_SAFE_INTEGER / 128) return undefined
    if (byte < 0x80) {
      numbers.push(number)
      number = 0
    } else if (index === content.length - 1) return undefined
  }
  const [first] = numbers
  if (first === undefined) return undefined
  const root = Math.min(Math.floor(first / 40), 2)
  return [root, first - root * 40, ...numbers.slice(1)].join('.')
}

/** A name in a string (RFC 4514), the most specific part first, in canonical form; undefined for an invalid one. */
export function nameFromString(text: string): string | undefined {
  const names: string[][] = [[]]
  let rest = text.trimStart()
  while (rest !== '') {
    const attribute = /^\s*([a-z][a-z0-9-]*|\d+(?:\.\d+)+)\s*=/i.exec(rest)
    const type = attribute?.[1]
    if (!attribute || type === undefined) return undefined
    const dotted = /^\d/.test(type) ? type : TYPES[type.toLowerCase()]
    const read = readValue(rest.slice(attribute[0].length))
    if (dotted === undefined || !read) return undefined
    names.at(-1)?.push(part(dotted, read.value))
    if (read.separator === '') return joined(names.toReversed())
    if (read.separator === ',') names.push([])
    rest = read.rest
    if (rest.trim() === '' || names.length > MAX_PARTS) return undefined
  }
  return undefined
}

interface ReadValue {
  readonly value: Value
  readonly separator: '' | ',' | '+'
  readonly rest: string
}

function readValue(text: string): ReadValue | undefined {
  const bytes = /^#((?:[0-9a-f]{2})+)(?:([,+])|$)/i.exec(text)
  if (bytes) {
    const [whole, hex = '', separator = ''] = bytes
    const [element, ...others] = derElements(Buffer.from(hex, 'hex'))
    const value = element && others.length === 0 ? valueOf(element) : undefined
    return value && { value, separator: separatorOf(separator), rest: text.slice(whole.length) }
  }
  // §2.4: what must be escaped is; a pair of hexadecimal digits is a byte of UTF-8.
  const found = /^((?:\\(?:[0-9a-f]{2}|[ "#+,;<=>\\])|[^\\"+,;<>\0])*)(?:([,+])|$)/i.exec(text)
  if (!found) return undefined
  const [whole, escaped = '', separator = ''] = found
  if (escaped === '' || /^[ #]/.test(escaped) || /(?:^|[^\\])(?:\\\\)* $/.test(escaped)) return undefined
  const value = unescape(escaped)
  return value === undefined
    ? undefined
    : { value: ['text', value], separator: separatorOf(separator), rest: text.slice(whole.length) }
}

const separatorOf = (text: string): ReadValue['separator'] => (text === ',' || text === '+' ? text : '')

function unescape(text: string): string | undefined {
  const pieces = text.match(/\\[0-9a-f]{2}|\\.|[^\\]+/gi) ?? []
  return utf8(
    Buffer.concat(
      pieces.map(piece =>
        /^\\[0-9a-f]{2}$/i.test(piece) ? Buffer.from(piece.slice(1), 'hex') : Buffer.from(piece.replace(/^\\/, '')),
      ),
    ),
  )
}
