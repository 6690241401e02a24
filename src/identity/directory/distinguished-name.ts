// Reads distinguished names in their string form (RFC 4514).

/** Characters of a value; escaped bytes are read together, because one character may have several. */
const PIECES = /(?:\\[0-9a-f]{2})+|\\.|[^\\]/gisu

/** The value of `cn` if the DN begins with it. */
export function commonNameOf(dn: string): string | undefined {
  const found = /^ *cn *= *((?:\\.|[^\\,+])*)/isu.exec(dn)?.[1]
  if (found === undefined) return undefined
  const pieces = found.match(PIECES) ?? []
  while (pieces.at(-1) === ' ') pieces.pop() // an escaped one is part of the name
  return pieces.map(unescaped).join('')
}

/** RFC 4514 §2.4: after a backslash, two hexadecimal digits are a byte of UTF-8; any other character is literal. */
function unescaped(piece: string): string {
  if (!piece.startsWith('\\')) return piece
  const isHex = /^\\[0-9a-f]{2}/i.test(piece)
  return isHex ? Buffer.from(piece.replaceAll('\\', ''), 'hex').toString('utf8') : piece.slice(1)
}

/**
 * One spelling for all of a DN, so that mappings can be compared with what a directory returns (RFC 4517 §4.2.15): in lower case,
 * without spaces around separators, values of a name with several in order, and no other escapes than necessary. Undefined for any
 * other text, and for a name with a look-alike of a letter (`LOOK_ALIKE`).
 */
export function canonicalDn(text: string): string | undefined {
  const names: string[] = []
  for (const part of split(text, ',') ?? []) {
    const values = (split(part, '+') ?? []).map(canonicalValue)
    if (!values.every(value => value !== undefined)) return undefined
    names.push(values.toSorted().join('+'))
  }
  return names.length === 0 || names.includes('') ? undefined : names.join(',')
}

/** The signs for theta, ohm, kelvin and angstrom, whose lower case is that of a letter: such a name differs from the one with it. */
export const LOOK_ALIKE = /[\u03f4\u2126\u212a\u212b]/

/** The parts between unescaped separators; undefined if the last character escapes nothing. */
function split(text: string, separator: string): readonly string[] | undefined {
  const parts = ['']
  let length = 0
  for (const piece of text.match(/\\.|[^\\]/gsu) ?? []) {
    length += piece.length
    if (piece === separator) parts.push('')
    else parts.push(`${parts.pop() ?? ''}${piece}`)
  }
  return length === text.length ? parts : undefined
}

const TYPE = /^(?:[a-z][a-z0-9-]*|[0-9]+(?:\.[0-9]+)*)$/i
const HEX = /^#(?:[0-9a-f]{2})+$/i

/** `type=value`; undefined for any other text. */
function canonicalValue(text: string): string | undefined {
  const end = text.indexOf('=')
  const type = text.slice(0, Math.max(end, 0)).trim()
  if (!TYPE.test(type)) return undefined
  const encoded = text.slice(end + 1)
  if (/^ *#/.test(encoded)) {
    const hex = encoded.trim()
    return HEX.test(hex) ? `${type}=${hex}`.toLowerCase() : undefined
  }
  const value = (encoded.match(PIECES) ?? []).map(unescaped).join('')
  if (value.includes('\ufffd') || LOOK_ALIKE.test(value)) return undefined // bytes that are no UTF-8 would look equal
  // RFC 4518 §2.6.1: how many spaces there are does not count, and none do at the ends.
  const folded = value.replace(/ +/g, ' ').replace(/^ | $/g, '').toLowerCase()
  return `${type.toLowerCase()}=${folded.replace(/^#|[\\,+]/g, character => `\\${character}`)}`
}
