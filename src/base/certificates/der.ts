// The subset of DER (X.690 §10) that keys use. Strict: input that another parser could read differently is refused.

/** One element; its content is not parsed. */
export interface DerElement {
  readonly tag: number
  readonly content: Buffer
  /** With its tag and length. */
  readonly whole: Buffer
}

/** Tags of the elements used in keys. */
export const DER = { integer: 0x02, octets: 0x04, oid: 0x06, sequence: 0x30, parameters: 0xa0 } as const

/** Parses consecutive elements; empty unless all the bytes are valid DER. */
export function derElements(bytes: Buffer): readonly DerElement[] {
  const found: DerElement[] = []
  let offset = 0
  while (offset < bytes.length) {
    const [tag = 0, short = 0] = bytes.subarray(offset, offset + 2)
    const extra = short > 0x80 ? short - 0x80 : 0
    const start = offset + 2 + extra
    if (short === 0x80 || extra > 4 || start > bytes.length) return [] // §10.1: never without a length
    const length = extra === 0 ? short : bytes.readUIntBE(offset + 2, extra)
    const isShortest = extra === 0 || (length >= 0x80 && length >= 2 ** (8 * (extra - 1)))
    if (!isShortest || start + length > bytes.length) return []
    const end = start + length
    found.push({ tag, content: bytes.subarray(start, end), whole: bytes.subarray(offset, end) })
    offset = end
  }
  return found
}

/** The elements of a single sequence; empty for anything else. */
export function derSequence(bytes: Buffer | undefined): readonly DerElement[] {
  const [outer, ...others] = bytes ? derElements(bytes) : []
  return outer?.tag === DER.sequence && others.length === 0 ? derElements(outer.content) : []
}

/** The content of an object identifier in hexadecimal; undefined for other elements. */
export const oidOf = (element: DerElement | undefined): string | undefined =>
  element?.tag === DER.oid ? element.content.toString('hex') : undefined

/** An integer from 0 to 2^32 - 1; undefined for anything else. */
export function smallNumber(element: DerElement | undefined): number | undefined {
  const { tag, content } = element ?? {}
  if (tag !== DER.integer || content === undefined || content.length === 0 || content.length > 5) return undefined
  const number = content.readIntBE(0, content.length)
  return number >= 0 && number < 2 ** 32 ? number : undefined
}
