/** Of objects that are more than their members, such as keys and dates: their part outside of the heap, too. */
const OPAQUE_BYTES = 3 * 1024
const OBJECT_BYTES = 32
const MEMBER_BYTES = 16

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
      for (const each of Object.values(part)) {
        bytes += MEMBER_BYTES
        open.push(each)
      }
    } else if (!(part instanceof Date)) bytes += OPAQUE_BYTES
  }
  return bytes
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
