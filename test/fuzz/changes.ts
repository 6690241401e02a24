// Inputs that come near valid ones: a valid text, object or message with a few changes, as an attacker makes them who knows
// where parsers break.
import fc from 'fast-check'
import { anyCodePoint } from '../support/code-points.ts'

/** Text with meaning for some parser. */
export const NASTY: readonly string[] = [
  '\0',
  '\r\n',
  '\n',
  '\t',
  ' ',
  '\u007f',
  '\u0085',
  '\u00a0',
  '\u200b',
  '\u2028',
  '\ufeff',
  '\ufffd',
  '\ud800',
  '\udc00',
  '\u{1f511}',
  '\u{10ffff}',
  'İ', // longer in lower case
  'ß',
  'ſ', // an s, and a K, to expressions that ignore case
  '\u212a',
  'é',
  'e\u0301',
  '。',
  '／',
  '１',
  '%',
  '%0',
  '%00',
  '%zz',
  '%0d%0a',
  '%2e%2e',
  '%2f',
  '%5c',
  '%252e',
  '%25',
  '%C0%AF',
  '%C3',
  '%C3%BC',
  '%ED%A0%80',
  '%EF%BB%BF',
  '%F4%90%80%80',
  '%u0041',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'prototype',
  '"',
  "'",
  '`',
  '\\',
  '\\u0000',
  '\\"',
  '/',
  '..',
  '/../',
  '//',
  '@',
  '#',
  '?',
  '*',
  '**',
  ',',
  ';',
  ':',
  '=',
  '==',
  '&',
  '+',
  '-',
  '.',
  '|',
  '$',
  '${x}',
  '{',
  '}',
  '[',
  ']',
  '(',
  ')',
  '<',
  '>',
  '0',
  '-0',
  '-1',
  '1e999',
  '9007199254740993',
  '2147483648',
  'null',
  'true',
  'NaN',
  'undefined',
  '=?utf-8?q?=00?=',
]

type Edit = readonly [kind: number, at: number, length: number, piece: string]

const lengths = fc.oneof({ weight: 6, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.nat(40) })

/** Edits of a text: parts are removed, duplicated, repeated, moved, encoded or replaced. */
const KINDS: readonly ((text: string, at: number, length: number, piece: string) => string)[] = [
  (text, at, _, piece) => text.slice(0, at) + piece + text.slice(at),
  (text, at, _, piece) => text.slice(0, at) + piece + text.slice(at + 1),
  (text, at, length, piece) => text.slice(0, at) + piece + text.slice(at + length),
  (text, at, length) => text.slice(0, at) + text.slice(at + 1 + length),
  (text, at, length) => text.slice(0, at) + text.slice(at, at + 1 + length) + text.slice(at),
  (text, at) => text.slice(0, at),
  (text, at) => text.slice(at),
  (text, at, length) => text.slice(0, at) + text.slice(at, at + 3).repeat(1 + length * 8) + text.slice(at + 3),
  (text, at, length) => text.slice(0, at) + swapped(text.slice(at, at + 1 + length)) + text.slice(at + 1 + length),
  (text, at) => text.slice(0, at) + encoded(text.charAt(at)) + text.slice(at + 1),
  (text, at) => text.slice(0, at) + encoded(encoded(text.charAt(at))) + text.slice(at + 1),
  (text, at, length) => text.slice(at + length) + text.slice(0, at + length),
  (text, at, _, piece) => text.replaceAll(text.charAt(at), piece),
  (text, at, length) =>
    text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ (1 << (length % 16))) + text.slice(at + 1),
]

const swapped = (text: string): string => (text === text.toLowerCase() ? text.toUpperCase() : text.toLowerCase())

const encoded = (text: string): string => Buffer.from(text).toString('hex').replace(/../g, '%$&')

/** Longer texts find nothing more, and cost time. */
const MAX_LENGTH = 20_000

const edited = (text: string, [kind, at, length, piece]: Edit): string =>
  KINDS[kind]?.(text, at % (text.length + 1), length, piece).slice(0, MAX_LENGTH) ?? text

const characters = fc.nat(0xffff).map(code => String.fromCharCode(code))

/** Up to four changes of any text; `pieces` are tokens of this parser. */
export function changes(pieces: readonly string[] = []): fc.Arbitrary<(text: string) => string> {
  const piece = fc.oneof(
    { weight: pieces.length > 0 ? 6 : 0, arbitrary: fc.constantFrom(...pieces, '') },
    { weight: 4, arbitrary: fc.constantFrom(...NASTY) },
    { weight: 1, arbitrary: characters },
  )
  const edit = fc.tuple(fc.nat(KINDS.length - 1), fc.nat(0xffff), lengths, piece)
  return fc.array(edit, { maxLength: 4 }).map(edits => text => edits.reduce(edited, text))
}

/** The texts, each with up to four changes. */
export const changed = (texts: fc.Arbitrary<string>, pieces?: readonly string[]): fc.Arbitrary<string> =>
  fc.tuple(texts, changes(pieces)).map(([text, change]) => change(text))

/** Pieces in any order, mostly not grammatical. */
export const jumble = (pieces: readonly string[], maxLength = 12): fc.Arbitrary<string> =>
  fc
    .array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...pieces) }, fc.constantFrom(...NASTY)), { maxLength })
    .map(parts => parts.join(''))

/** Members and values that no schema expects. */
const ODD_KEYS = ['__proto__', 'constructor', 'prototype', 'toString', '', '$ref', 'a.b', '\0', '\ud800'] as const
const ODD_VALUES: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => false,
  () => 0,
  () => -1,
  () => 1.5,
  () => 1e308,
  () => Number.MAX_SAFE_INTEGER + 1,
  () => '',
  () => ' ',
  () => '\0',
  () => '\ud800',
  () => 'true',
  () => '1',
  () => 'x'.repeat(5000),
  () => [],
  () => [[]],
  () => [null],
  () => ['a', 'a'],
  () => ({}),
  () => ({ value: null }),
  () => ({ toString: 'x' }),
  () => JSON.parse('{"__proto__":{"polluted":true}}'),
  () => JSON.parse('{"constructor":{"prototype":{"polluted":true}}}'),
  () => JSON.parse(`${'[{"a":'.repeat(15)}1${'}]'.repeat(15)}`),
  () => Array.from({ length: 150 }, (_, index) => ({ value: `v${index}` })),
]

/** Replaces a place of a JSON value, removes it, or adds a member beside it. */
function withOdd(root: unknown, [place, kind, odd, key]: readonly [number, number, number, string]): unknown {
  const spots: { readonly owner: object; readonly name: string }[] = []
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const name of Object.keys(value)) {
      spots.push({ owner: value, name })
      visit(Reflect.getOwnPropertyDescriptor(value, name)?.value)
    }
  }
  visit(root)
  const make = ODD_VALUES[odd % ODD_VALUES.length]
  const spot = spots[place % (spots.length + 1)]
  if (!spot) return kind === 0 ? make?.() : root
  const at = Array.isArray(spot.owner) ? spot.name : kind === 1 ? key : spot.name
  const value = kind === 2 ? Reflect.getOwnPropertyDescriptor(spot.owner, spot.name)?.value : make?.()
  if (kind === 3) Reflect.deleteProperty(spot.owner, spot.name)
  else Object.defineProperty(spot.owner, at, { value, enumerable: true, configurable: true, writable: true })
  if (kind === 2 && !Array.isArray(spot.owner)) {
    Object.defineProperty(spot.owner, swapped(spot.name), {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return root
}

/** JSON of the values with up to three odd members or values. */
export const oddJson = (
  values: fc.Arbitrary<unknown>,
  keys: readonly string[] = [],
  maxChanges = 3,
): fc.Arbitrary<string> =>
  fc
    .tuple(
      values,
      fc.array(fc.tuple(fc.nat(200), fc.nat(3), fc.nat(ODD_VALUES.length - 1), fc.constantFrom(...ODD_KEYS, ...keys)), {
        maxLength: maxChanges,
      }),
    )
    .map(([value, edits]) => JSON.stringify(edits.reduce(withOdd, JSON.parse(JSON.stringify(value)))) ?? 'null')

/** Changes of bytes: the same in hexadecimal, so that a corpus can have them. */
export const changedBytes = (bytes: fc.Arbitrary<Uint8Array>): fc.Arbitrary<string> =>
  fc
    .tuple(bytes, fc.array(fc.tuple(fc.nat(6), fc.nat(0xffff), fc.nat(255), lengths), { maxLength: 5 }))
    .map(([given, edits]) => edits.reduce(editedBytes, Buffer.from(given)).toString('hex'))

function editedBytes(
  bytes: Buffer,
  [kind, place, byte, length]: readonly [number, number, number, number],
): Buffer<ArrayBuffer> {
  const at = place % (bytes.length + 1)
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
  const join = (...parts: readonly Uint8Array[]): Buffer<ArrayBuffer> => Buffer.concat(parts)
  switch (kind) {
    case 0:
      return join(before, Buffer.from([byte]), after.subarray(1))
    case 1:
      return join(before, Buffer.from([(after[0] ?? 0) ^ (1 << (byte % 8))]), after.subarray(1))
    case 2:
      return join(before, Buffer.from([byte]), after)
    case 3:
      return join(before, after.subarray(1 + length))
    case 4:
      return join(before, after.subarray(0, 1 + length), after)
    case 5:
      return join(before)
    default:
      return join(before, Buffer.from([0x84, 0xff, 0xff, 0xff, byte]), after.subarray(1))
  }
}

/** Any text: rarely valid, but with every character. */
export const anyText = fc.oneof(
  fc.string({ unit: anyCodePoint, maxLength: 40 }),
  fc.array(characters, { maxLength: 20 }).map(all => all.join('')),
)
