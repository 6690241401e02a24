// Reads the entity id of a SAML identity provider's metadata, and makes sure that the document is the kind that any XML
// parser reads alike: no document type, no entities of its own, one EntityDescriptor and nothing around it. That is all:
// whether the metadata is to be trusted, its signature, its keys and its addresses, is NOT decided here, and nothing but
// the entity id may be taken from this reading. One pass over the text, without recursion.

/** What was found; the problem is short and for whoever wrote the record. */
export type SamlMetadata =
  | { readonly outcome: 'readable'; readonly entityId: string }
  | { readonly outcome: 'unreadable'; readonly problem: string }

/** More than any provider's metadata has; federations' collections are not taken. */
export const MOST_METADATA_BYTES = 1024 * 1024

/** SAML 2.0 Metadata §2.2.1. */
const LONGEST_ENTITY_ID = 1024
const DEEPEST = 64
const NAMESPACE = 'urn:oasis:names:tc:SAML:2.0:metadata'

/** Whether a text means to be a document, and no address of one. */
export const isMetadataText = (text: string): boolean => /^(?:<\?xml\s|<(?:md:)?EntityDescriptor[\s/>])/.test(text)

/** Reads metadata; refuses whatever is not plainly one well-formed EntityDescriptor. */
export function readSamlMetadata(text: string): SamlMetadata {
  try {
    if (Buffer.byteLength(text) > MOST_METADATA_BYTES) throw new Unreadable('it has more than a mebibyte')
    if (!isMetadataText(text)) throw new Unreadable('it does not begin with an EntityDescriptor')
    return { outcome: 'readable', entityId: entityIdOf(rootOf(text)) }
  } catch (error) {
    if (error instanceof Unreadable) return { outcome: 'unreadable', problem: error.message }
    throw error
  }
}

class Unreadable extends Error {}

interface Tag {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
}

const NAME = String.raw`[A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?`
const START = new RegExp(`<(${NAME})`, 'y')
const ATTRIBUTE = new RegExp(String.raw`\s+(${NAME})\s*=\s*(?:"([^"<]*)"|'([^'<]*)')`, 'y')
const START_END = /\s*(\/?)>/y
const END = new RegExp(String.raw`</(${NAME})\s*>`, 'y')
const TEXT = /[^<]+/y
const COMMENT = /<!--/y
const CDATA = /<!\[CDATA\[/y
const INSTRUCTION = new RegExp(String.raw`<\?(${NAME})(?:\s[^?<>]*)?\?>`, 'y')
const WHITE = /\s+/y

/** Walks over the whole document and answers its outermost start tag. */
function rootOf(text: string): Tag {
  const open: string[] = []
  let root: Tag | undefined
  let place = 0
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = place
    const found = pattern.exec(text) ?? undefined
    if (found) place = pattern.lastIndex
    return found
  }
  const skipTo = (end: string): void => {
    const found = text.indexOf(end, place)
    if (found < 0) throw new Unreadable('it does not end')
    place = found + end.length
  }
  // XML 1.0 §2.2: control characters are no characters, and neither are halves of surrogate pairs.
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/.test(text) || !text.isWellFormed()) {
    throw new Unreadable('it has characters that XML does not allow')
  }
  while (place < text.length) {
    const content = take(open.length === 0 ? WHITE : TEXT)
    if (content) {
      checkText(content[0])
      continue
    }
    if (take(COMMENT)) {
      skipTo('--') // which may stand nowhere else in it (XML 1.0 §2.5)
      if (text[place] !== '>') throw new Unreadable('it is not well-formed')
      place += 1
      continue
    }
    const instruction = take(INSTRUCTION)
    if (instruction) {
      const isDeclaration = instruction[1]?.toLowerCase() === 'xml'
      if (isDeclaration && instruction.index !== 0) throw new Unreadable('it has two beginnings')
      continue
    }
    if (open.length > 0 && take(CDATA)) {
      skipTo(']]>')
      continue
    }
    const end = take(END)
    if (end) {
      if (open.pop() !== end[1]) throw new Unreadable('its tags do not match')
      continue
    }
    const start = take(START)
    if (!start) throw new Unreadable('it is not well-formed, or has a document type')
    if (open.length === 0 && root) throw new Unreadable('it has more than one element')
    const tag = { name: start[1] ?? '', attributes: attributesOf(take) }
    const close = take(START_END)
    if (!close) throw new Unreadable('it is not well-formed')
    if (root && localName(tag.name) === ROOT) throw new Unreadable('it describes more than one entity')
    root ??= tag
    if (close[1] !== '/') open.push(tag.name)
    if (open.length > DEEPEST) throw new Unreadable('it is nested too deeply')
  }
  if (open.length > 0 || !root) throw new Unreadable('it does not end')
  return root
}

const ROOT = 'EntityDescriptor'
const MOST_ATTRIBUTES = 100

const localName = (name: string): string => name.slice(name.indexOf(':') + 1)

function attributesOf(take: (pattern: RegExp) => RegExpExecArray | undefined): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>()
  for (let found = take(ATTRIBUTE); found; found = take(ATTRIBUTE)) {
    const [, name = '', double, single = ''] = found
    if (attributes.has(name)) throw new Unreadable('an element has an attribute twice')
    if (attributes.size >= MOST_ATTRIBUTES) throw new Unreadable('an element has too many attributes')
    attributes.set(name, decode(double ?? single))
  }
  return attributes
}

function checkText(text: string): void {
  if (text.includes(']]>')) throw new Unreadable('it is not well-formed')
  if (text.includes('&')) decode(text)
}

const PREDEFINED: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
])

/** XML 1.0 §4.6 and §4.1: the five names and numbers; there is no document type that could have made others. */
const decode = (text: string): string =>
  text.includes('&')
    ? text.replaceAll(
        /&(?:([a-z]+)|#(\d{1,7})|#x([0-9A-Fa-f]{1,6}))?(;?)/g,
        (_, name?: string, decimal?: string, hex?: string, end?: string) => {
          const number = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
          const known = name === undefined ? characterOf(number) : PREDEFINED.get(name)
          if (end !== ';' || known === undefined) throw new Unreadable('it has an entity that XML does not know')
          return known
        },
      )
    : text

/** XML 1.0 §2.2. */
function characterOf(number: number): string | undefined {
  const isCharacter =
    number === 9 ||
    number === 10 ||
    number === 13 ||
    (number >= 0x20 && number <= 0xd7_ff) ||
    (number >= 0xe0_00 && number <= 0xff_fd) ||
    (number >= 0x1_00_00 && number <= 0x10_ff_ff)
  return isCharacter ? String.fromCodePoint(number) : undefined
}

function entityIdOf({ name, attributes }: Tag): string {
  const prefix = name.includes(':') ? name.slice(0, name.indexOf(':')) : ''
  const namespace = attributes.get(prefix === '' ? 'xmlns' : `xmlns:${prefix}`)
  if (localName(name) !== ROOT || namespace !== NAMESPACE) throw new Unreadable('it is no SAML EntityDescriptor')
  const entityId = attributes.get('entityID')
  if (entityId === undefined || entityId.trim() === '') throw new Unreadable('it has no entityID')
  if (/[\t\n\r]/.test(entityId) || entityId !== entityId.trim()) throw new Unreadable('its entityID has white space')
  if (entityId.length > LONGEST_ENTITY_ID) throw new Unreadable('its entityID is too long')
  return entityId
}
