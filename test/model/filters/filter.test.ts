import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Filter } from '../../../src/model/filters/filter.ts'
import {
  COMPARISONS,
  InvalidFilter,
  MAX_FILTER_LENGTH,
  filterText,
  parseFilter,
} from '../../../src/model/filters/filter.ts'
import { anyCodePoint } from '../../support/code-points.ts'
import { treesOf } from './filter-trees.ts'
import { cpuStopwatch } from '../../support/cpu-time.ts'
import { runs } from '../../support/thinning.ts'

const compare = (
  attribute: string,
  comparison: (typeof COMPARISONS)[number],
  value: string | number | boolean | null,
) => ({ kind: 'compare', attribute, comparison, value }) as const
const present = (attribute: string) => ({ kind: 'present', attribute }) as const

const readings: readonly { name: string; text: string; tree: Filter }[] = [
  ...COMPARISONS.map(word => ({
    name: `${word} with a string`,
    text: `client_id ${word} "x"`,
    tree: compare('client_id', word, 'x'),
  })),
  { name: 'pr', text: 'client_id pr', tree: present('client_id') },
  {
    name: 'operators in any case',
    text: 'a EQ 1 AND b Pr',
    tree: { kind: 'and', parts: [compare('a', 'eq', 1), present('b')] },
  },
  { name: 'an attribute as it was written', text: 'Client_ID pr', tree: present('Client_ID') },
  { name: 'a path of an attribute', text: 'meta.lastModified gt 5', tree: compare('meta.lastModified', 'gt', 5) },
  { name: 'the names that SCIM begins with a dollar', text: 'members.$ref pr', tree: present('members.$ref') },
  { name: 'true', text: 'active eq true', tree: compare('active', 'eq', true) },
  { name: 'false in capitals', text: 'active eq FALSE', tree: compare('active', 'eq', false) },
  { name: 'null', text: 'name eq null', tree: compare('name', 'eq', null) },
  { name: 'a negative number', text: 'a lt -1.5e2', tree: compare('a', 'lt', -150) },
  { name: 'a negative zero as zero', text: 'a eq -0', tree: compare('a', 'eq', 0) },
  { name: 'single quotes', text: `a eq 'x'`, tree: compare('a', 'eq', 'x') },
  {
    name: 'the other quotes inside quotes',
    text: `a eq 'say "x"' or a eq "it's"`,
    tree: { kind: 'or', parts: [compare('a', 'eq', 'say "x"'), compare('a', 'eq', "it's")] },
  },
  {
    name: 'an escaped quote of either kind',
    text: `a eq 'it\\'s' or a eq "\\"x\\""`,
    tree: { kind: 'or', parts: [compare('a', 'eq', "it's"), compare('a', 'eq', '"x"')] },
  },
  { name: 'the escapes of JSON', text: '(a eq "\\u00e9\\n\\\\\\/")', tree: compare('a', 'eq', 'é\n\\/') },
  { name: 'the same escapes in single quotes', text: `a eq '\\u00e9\\n\\\\'`, tree: compare('a', 'eq', 'é\n\\') },
  {
    name: 'NUL and a lone surrogate, which are for the database to refuse',
    text: 'a eq "\\u0000\\ud800"',
    tree: compare('a', 'eq', '\0\ud800'),
  },
  {
    name: 'a comment mark as the text that it is',
    text: `a eq "x' --" and b eq "/* */;"`,
    tree: { kind: 'and', parts: [compare('a', 'eq', "x' --"), compare('b', 'eq', '/* */;')] },
  },
  {
    name: '"and" before "or"',
    text: 'a pr or b pr and c pr or d pr',
    tree: { kind: 'or', parts: [present('a'), { kind: 'and', parts: [present('b'), present('c')] }, present('d')] },
  },
  {
    name: 'parentheses before both',
    text: '(a pr or b pr)and(c pr)',
    tree: { kind: 'and', parts: [{ kind: 'or', parts: [present('a'), present('b')] }, present('c')] },
  },
  { name: 'parentheses around parentheses', text: ' ( (( a pr) ) )\t\r\n', tree: present('a') },
  {
    name: '"not" before a parenthesis',
    text: 'NOT(a pr) and b pr',
    tree: { kind: 'and', parts: [{ kind: 'not', part: present('a') }, present('b')] },
  },
  {
    name: 'the words of the language as attributes',
    text: 'not pr and and eq 1 or pr pr',
    tree: { kind: 'or', parts: [{ kind: 'and', parts: [present('not'), compare('and', 'eq', 1)] }, present('pr')] },
  },
  { name: 'the names that objects have by themselves', text: 'constructor pr', tree: present('constructor') },
]

const repeated = (text: string, times: number, separator = ''): string =>
  Array.from({ length: times }, () => text).join(separator)

const mistakes: readonly { name: string; text: string; message: RegExp }[] = [
  { name: 'nothing', text: '', message: /an attribute is missing at the end/ },
  { name: 'blanks', text: '   ', message: /an attribute is missing at the end/ },
  { name: 'an attribute alone', text: 'client_id', message: /an operator is missing at the end/ },
  { name: 'no value', text: 'client_id eq', message: /a value is missing at the end/ },
  { name: 'a value that is a word', text: 'a eq b', message: /a value is missing at 6/ },
  { name: 'a value first', text: '"x" eq a', message: /an attribute is missing at 1/ },
  { name: 'an operator that does not exist', text: 'a ne "x"', message: /an operator is missing at 3/ },
  { name: 'a sign for an operator', text: 'a = "x"', message: /unexpected character at 3/ },
  { name: 'two terms without a word between', text: 'a pr b pr', message: /"and", "or" or the end is missing at 6/ },
  { name: '"and" at the end', text: 'a pr and', message: /an attribute is missing at the end/ },
  { name: 'an open parenthesis', text: '((a pr)', message: /a \) for the \( at 1 is missing at the end/ },
  { name: 'a parenthesis too many', text: 'a pr)', message: /the end is missing at 5/ },
  { name: 'empty parentheses', text: '()', message: /an attribute is missing at 2/ },
  { name: '"not" without a parenthesis', text: 'not a pr', message: /an operator is missing at 5/ },
  { name: 'a string without an end', text: 'a eq "x', message: /the string at 6 is not terminated/ },
  { name: 'a single-quoted string without an end', text: "a eq 'x\\'", message: /the string at 6 is not terminated/ },
  { name: 'an unknown escape', text: 'a eq "\\x41"', message: /the string at 6/ },
  { name: 'an escaped single quote in double quotes', text: `a eq "\\'"`, message: /the string at 6/ },
  { name: 'a line break inside a string', text: 'a eq "\n"', message: /the string at 6/ },
  { name: 'a NUL inside a string', text: 'a eq "\0"', message: /the string at 6/ },
  { name: 'a NUL outside of one', text: 'a\0 pr', message: /unexpected character at 2/ },
  { name: 'a string behind its operator', text: 'a eq"x"', message: /a space is missing at 5/ },
  { name: 'a number behind its operator', text: 'a eq-1', message: /./ },
  { name: 'text behind a string', text: 'a eq "x"or b pr', message: /a space is missing at 9/ },
  { name: 'a doubled quote', text: `a eq 'x''y'`, message: /a space is missing at 9/ },
  { name: 'a number with zeros before it', text: 'a eq 007', message: /a space is missing/ },
  { name: 'a number that runs into a word', text: 'a eq 1and b pr', message: /a space is missing at 7/ },
  { name: 'a hexadecimal number', text: 'a eq 0x10', message: /a space is missing/ },
  { name: 'a number that no database has', text: 'a eq 1e999', message: /the number at 6 is too large/ },
  { name: 'a sub-filter', text: 'emails[type eq "work"]', message: /unexpected character at 7/ },
  { name: 'a comment', text: 'a pr -- b', message: /unexpected character at 6|an? / },
  { name: 'a semicolon', text: 'a pr; drop table clients', message: /unexpected character at 5/ },
  { name: 'a name for a statement', text: ':zone_id pr', message: /unexpected character at 1/ },
  { name: '__proto__', text: '__proto__ pr', message: /the word at 1 is not an attribute name/ },
  { name: 'a path with a hole', text: 'a..b pr', message: /the word at 1/ },
  { name: 'a path that ends in a dot', text: 'a. pr', message: /the word at 1/ },
  { name: 'letters of other alphabets', text: 'naïve pr', message: /unexpected character at 3/ },
  { name: 'a lone surrogate', text: '\ud800 pr', message: /unexpected character at 1/ },
  {
    name: 'one character too many',
    text: `a eq "${repeated('x', MAX_FILTER_LENGTH - 6)}"`,
    message: /longer than 4096/,
  },
  { name: '100 kB', text: repeated('a pr and ', 12_000), message: /longer than 4096/ },
  { name: 'one comparison too many', text: repeated('a pr', 101, ' or '), message: /more than 100 comparisons/ },
  {
    name: 'one parenthesis too deep',
    text: `${repeated('(', 21)}a pr${repeated(')', 21)}`,
    message: /more than 20 levels of nesting/,
  },
  {
    name: 'one "not" too deep',
    text: `${repeated('not (', 21)}a pr${repeated(')', 21)}`,
    message: /more than 20 levels of nesting/,
  },
  {
    name: 'parentheses to the brim',
    text: repeated('(', MAX_FILTER_LENGTH),
    message: /more than 20 levels of nesting/,
  },
]

const brims: readonly { name: string; text: string }[] = [
  { name: '4096 characters', text: `a eq "${repeated('x', MAX_FILTER_LENGTH - 7)}"` },
  { name: '100 comparisons', text: repeated('a pr', 100, ' or ') },
  { name: '20 parentheses', text: `${repeated('(', 20)}a pr${repeated(')', 20)}` },
]

/** Trees of everything there is, within the limits. */
const trees = (() => {
  const words = fc.constantFrom('a', 'client_id', 'meta.created', '$ref', 'not', 'and', 'or', 'pr', 'eq', 'true', 'A-1')
  const values = fc.oneof(
    fc.string({ unit: anyCodePoint, maxLength: 12 }),
    fc.constantFrom('"', "'", '\\', '\0', '\ud800', '%_', '\\"', "\\'"),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(number => number + 0),
    fc.boolean(),
    fc.constant(null),
  )
  const leaves: fc.Arbitrary<Filter> = fc.oneof(
    words.map(present),
    fc.tuple(words, fc.constantFrom(...COMPARISONS), values).map(([name, word, value]) => compare(name, word, value)),
  )
  return treesOf(leaves, 3)
})()

describe('a filter', () => {
  for (const { name, text, tree } of readings) {
    it(`is read: ${name}`, () => assert.deepEqual(parseFilter(text), tree))
  }

  for (const { name, text, message } of mistakes) {
    it(`is refused: ${name}`, () => {
      assert.throws(
        () => parseFilter(text),
        (error: unknown) => error instanceof InvalidFilter && message.test(error.message),
      )
    })
  }

  for (const { name, text } of brims) {
    it(`may have ${name}`, () => assert.doesNotThrow(() => parseFilter(text)))
  }

  it('is written so that it is read as the same tree', () => {
    fc.assert(
      fc.property(trees, tree => assert.deepEqual(parseFilter(filterText(tree)), tree)),
      { numRuns: runs(1000) },
    )
  })

  it('is read or refused for any input', () => {
    const pieces = fc.constantFrom(
      'a',
      ' ',
      'eq',
      'pr',
      '(',
      ')',
      'not',
      'and',
      'or',
      '"',
      "'",
      '\\',
      '1',
      '-',
      '.',
      'e',
      'null',
      '[',
      '\0',
      'é',
    )
    const texts = fc.oneof(
      fc.string({ unit: anyCodePoint }),
      fc.array(pieces, { maxLength: 30 }).map(all => all.join('')),
    )
    fc.assert(
      fc.property(texts, text => {
        try {
          const tree = parseFilter(text)
          assert.deepEqual(parseFilter(filterText(tree)), tree)
        } catch (error) {
          if (!(error instanceof InvalidFilter)) throw error
        }
      }),
      { numRuns: runs(3000) },
    )
  })

  // A second is thousands of times what they need; one that tried many ways would need minutes.
  const hostile = [
    '(',
    '((((a',
    'not(',
    '"',
    "'",
    '\\',
    '"\\',
    "'\\",
    '1',
    '1.',
    '1e',
    '-',
    'a.',
    'a',
    ' ',
    'a eq "',
    'a pr and ',
    '\n',
  ]
  it('costs little, whatever is repeated in it', () => {
    const elapsed = cpuStopwatch()
    for (const piece of hostile) {
      for (const start of ['', 'a eq ', 'a eq "', "a eq '"]) {
        const text = (start + piece.repeat(MAX_FILTER_LENGTH)).slice(0, MAX_FILTER_LENGTH)
        for (let times = 0; times < 10; times += 1) {
          try {
            parseFilter(text)
          } catch (error) {
            assert.ok(error instanceof InvalidFilter, `${JSON.stringify(piece)}: ${String(error)}`)
          }
        }
      }
    }
    assert.ok(elapsed() < 5000, `${elapsed()} ms`)
  })
})
