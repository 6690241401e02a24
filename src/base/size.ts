/** Objects that are more than their members, such as keys: with their part outside of the heap. */
const OPAQUE_BYTES = 3 * 1024
const OBJECT_BYTES = 32
const MEMBER_BYTES = 16
/** Members of a record share their names with other records, unless there are more, or longer names, than any record has. */
const MAX_SHARED_NAMES = 64
const MAX_SHARED_LENGTH = 32

const textBytes = (text: string): number => MEMBER_BYTES + (/[^\0-\xff]/.test(text) ? 2 : 1) * text.length

/** About how many bytes a value keeps in memory, with everything that it refers to; parts in several places count once. */
export function approximateBytes(value: unknown): number {
  const seen = new Set<unknown>()
  const open: unknown[] = [value]
  let bytes = 0
  while (open.length > 0) {
    const part = open.pop()
    if (typeof part === 'string') bytes += textBytes(part)
    if (typeof part !== 'object' || part === null || seen.has(part)) continue
    seen.add(part)
    bytes += OBJECT_BYTES
    if (ArrayBuffer.isView(part)) bytes += part.byteLength
    else if (part instanceof Map) {
      bytes += 2 * MEMBER_BYTES * part.size
      for (const [key, each] of part) open.push(key, each)
    } else if (Array.isArray(part) || part instanceof Set) {
      for (const each of part) {
        bytes += MEMBER_BYTES
        open.push(each)
      }
    } else if (isPlain(part)) {
      bytes += nameBytes(Object.keys(part))
      for (const each of Object.values(part)) {
        bytes += MEMBER_BYTES
        open.push(each)
      }
    } else if (!(part instanceof Date)) bytes += OPAQUE_BYTES
  }
  return bytes
}

/** Where tenants choose the names, each may take as much as a value. */
function nameBytes(names: readonly string[]): number {
  let bytes = 0
  for (const name of names) {
    if (names.length > MAX_SHARED_NAMES || name.length > MAX_SHARED_LENGTH) bytes += MEMBER_BYTES + textBytes(name)
  }
  return bytes
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
