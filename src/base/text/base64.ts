/** The alphabet of RFC 4648 §4, with or without its padding. `Buffer.from` skips all other characters. */
export const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/

const DIGITS = /^[A-Za-z0-9+/]*$/

/** The base64 of the text, which may be broken into lines; undefined for any other text. */
export function base64In(text: string): string | undefined {
  const digits = text.replace(/\s+/g, '')
  // Pages show images: comparing all of it with the whole pattern takes five times as long.
  const end = Math.max(digits.length - (digits.length % 4) - 4, 0)
  return DIGITS.test(digits.slice(0, end)) && BASE64.test(digits.slice(end)) ? digits : undefined
}
