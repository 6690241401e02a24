// The same as the unit 'binary' of fast-check's strings, which makes a map of a million characters first: a second of each
// process that uses it.
import fc from 'fast-check'

const FIRST_SURROGATE = 0xd800
const SURROGATES = 0x800

function numberOf(text: unknown): number {
  const codePoint = typeof text === 'string' ? text.codePointAt(0) : undefined
  if (codePoint === undefined || String.fromCodePoint(codePoint) !== text || !text.isWellFormed()) {
    throw new Error('not one code point')
  }
  return codePoint < FIRST_SURROGATE ? codePoint : codePoint - SURROGATES
}

/** Every character there is: a unit of fast-check's strings. */
export const anyCodePoint: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10ffff - SURROGATES })
  .map(number => String.fromCodePoint(number < FIRST_SURROGATE ? number : number + SURROGATES), numberOf)
