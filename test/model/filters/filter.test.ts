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

const valid: readonly { name: string; text: string; tree: Filter }[] = [
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
  { name: 'an attribute, keeping its case', text: 'Client_ID pr', tree: present('Client_ID') },
  { name: 'a path of an attribute', text: 'meta.lastModified gt 5', tree: compare('meta.lastModified', 'gt', 5) },
  { name: 'SCIM names that begin with a dollar sign', text: 'members.$ref pr', tree: present('members.$ref') },
  { name: 'true', text: 'active eq true', tree: compare('active', 'eq', true) },
  { name: 'false in upper case', text: 'active eq FALSE', tree: compare('active', 'eq', false) },
  { name: 'null', text: 'name eq null', tree: compare('name', 'eq', null) },
  { name: 'a negative number', text: 'a lt -1.5e2', tree: compare('a', 'lt', -150) },
  { name: 'a negative zero as zero', text: 'a eq -0', tree: compare('a', 'eq', 0) },
  { name: 'single quotes', text: `a eq 'x'`, tree: compare('a', 'eq', 'x') },
  {
    name: 'the other kind of quotes inside quotes',
    text: `a eq 'say "x"' or a eq "it's"`,
    tree: { kind: 'or', parts: [compare('a', 'eq', 'say "x"'), compare('a', 'eq', "it's")] },
  },
  {
    name: 'an escaped quote of each kind',
    text: `a eq 'it\\'s' or a eq "\\"x\\""`,
    tree: { kind: 'or', parts: [compare('a', 'eq', "it's"), compare('a', 'eq', '"x"')] },
  },
  { name: 'JSON escapes', text: '(a eq "\\u00e9\\n\\\\\\/")', tree: compare('a', 'eq', 'é\n\\/') },
  { name: 'JSON escapes in single quotes', text: `a eq '\\u00e9\\n\\\\'`, tree: compare('a', 'eq', 'é\n\\') },
  {
    name: 'NUL and a lone surrogate, which the database rejects',
    text: 'a eq "\\u0000\\ud800"',
    tree: compare('a', 'eq', '\0\ud800'),
  },
  {
    name: 'comment marks inside a string',
    text: `a eq "x' --" and b eq "/* */;"`,
    tree: { kind: 'and', parts: [compare('a', 'eq', "x' --"), compare('b', 'eq', '/* */;')] },
  },
  {
    name: '"and" with precedence over "or"',
    text: 'a pr or b pr and c pr or d pr',
    tree: { kind: 'or', parts: [present('a'), { kind: 'and', parts: [present('b'), present('c')] }, present('d')] },
  },
  {
    name: 'parentheses with precedence over both',
    text: '(a pr or b pr)and(c pr)',
    tree: { kind: 'and', parts: [{ kind: 'or', parts: [present('a'), present('b')] }, present('c')] },
  },
  { name: 'nested parentheses', text: ' ( (( a pr) ) )\t\r\n', tree: present('a') },
  {
    name: '"not" before a parenthesis',
    text: 'NOT(a pr) and b pr',
    tree: { kind: 'and', parts: [{ kind: 'not', part: present('a') }, present('b')] },
  },
  {
    name: 'keywords as attributes',
    text: 'not pr and and eq 1 or pr pr',
    tree: { kind: 'or', parts: [{ kind: 'and', parts: [present('not'), compare('and', 'eq', 1)] }, present('pr')] },
  },
  { name: 'names of Object.prototype', text: 'constructor pr', tree: present('constructor') },
]

const repeated = (text: string, times: number, separator = ''): string =>
  Array.from({ length: times }, () => text).join(separator)

const invalid: readonly { name: string; text: string; message: RegExp }[] = [
  { name: 'nothing', text: '', message: /an attribute is missing at the end/ },
  { name: 'blanks', text: '   ', message: /an attribute is missing at the end/ },
  { name: 'an attribute only', text: 'client_id', message: /an operator is missing at the end/ },
  { name: 'a missing value', text: 'client_id eq', message: /a value is missing at the end/ },
  { name: 'an unquoted value', text: 'a eq b', message: /a value is missing at 6/ },
  { name: 'a value as the first operand', text: '"x" eq a', message: /an attribute is missing at 1/ },
  { name: 'an unknown operator', text: 'a ne "x"', message: /an operator is missing at 3/ },
  { name: 'a symbol as operator', text: 'a = "x"', message: /unexpected character at 3/ },
  { name: 'two terms without "and" or "or"', text: 'a pr b pr', message: /"and", "or" or the end is missing at 6/ },
  { name: '"and" at the end', text: 'a pr and', message: /an attribute is missing at the end/ },
  { name: 'an unclosed parenthesis', text: '((a pr)', message: /a \) for the \( at 1 is missing at the end/ },
  { name: 'an unmatched closing parenthesis', text: 'a pr)', message: /the end is missing at 5/ },
  { name: 'empty parentheses', text: '()', message: /an attribute is missing at 2/ },
  { name: '"not" without a parenthesis', text: 'not a pr', message: /an operator is missing at 5/ },
  { name: 'an unterminated string', text: 'a eq "x', message: /the string at 6 is not terminated/ },
  { name: 'an unterminated single-quoted string', text: "a eq 'x\\'", message: /the string at 6 is not terminated/ },
  { name: 'an unknown escape', text: 'a eq "\\x41"', message: /the string at 6/ },
  { name: 'an escaped single quote in double quotes', text: `a eq "\\'"`, message: /the string at 6/ },
  { name: 'a line break inside a string', text: 'a eq "\n"', message: /the string at 6/ },
  { name: 'a NUL inside a string', text: 'a eq "\0"', message: /the string at 6/ },
  { name: 'a NUL outside a string', text: 'a\0 pr', message: /unexpected character at 2/ },
  { name: 'a string directly after its operator', text: 'a eq"x"', message: /a space is missing at 5/ },
  { name: 'a number directly after its operator', text: 'a eq-1', message: /./ },
  { name: 'text directly after a string', text: 'a eq "x"or b pr', message: /a space is missing at 9/ },
  { name: 'a doubled quote', text: `a eq 'x''y'`, message: /a space is missing at 9/ },
  { name: 'a number with leading zeros', text: 'a eq 007', message: /a space is missing/ },
  { name: 'a word directly after a number', text: 'a eq 1and b pr', message: /a space is missing at 7/ },
  { name: 'a hexadecimal number', text: 'a eq 0x10', message: /a space is missing/ },
  { name: 'a number beyond the range of databases', text: 'a eq 1e999', message: /the number at 6 is too large/ },
  { name: 'a sub-filter', text: 'emails[type eq "work"]', message: /unexpected character at 7/ },
  { name: 'a comment', text: 'a pr -- b', message: /unexpected character at 6|an? / },
  { name: 'a semicolon', text: 'a pr; drop table clients', message: /unexpected character at 5/ },
  { name: 'a bind parameter', text: ':zone_id pr', message: /unexpected character at 1/ },
  { name: '__proto__', text: '__proto__ pr', message: /the word at 1 is not an attribute name/ },
  { name: 'a path with an empty part', text: 'a..b pr', message: /the word at 1/ },
  { name: 'a path that ends in a dot', text: 'a. pr', message: /the word at 1/ },
  { name: 'non-ASCII letters', text: 'naïve pr', message: /unexpected character at 3/ },
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
    name: 'one "not" too many',
    text: `${repeated('not (', 21)}a pr${repeated(')', 21)}`,
    message: /more than 20 levels of nesting/,
  },
  {
    name: 'a filter of only parentheses',
    text: repeated('(', MAX_FILTER_LENGTH),
    message: /more than 20 levels of nesting/,
  },
]

const atLimit: readonly { name: string; text: string }[] = [
  { name: '4096 characters', text: `a eq "${repeated('x', MAX_FILTER_LENGTH - 7)}"` },
  { name: '100 comparisons', text: repeated('a pr', 100, ' or ') },
  { name: '20 parentheses', text: `${repeated('(', 20)}a pr${repeated(')', 20)}` },
]

/** Any filter within the limits. */
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

describe('parseFilter', () => {
  for (const { name, text, tree } of valid) {
    it(`parses ${name}`, () => assert.deepEqual(parseFilter(text), tree))
  }

  for (const { name, text, message } of invalid) {
    it(`rejects ${name}`, () => {
      assert.throws(
        () => parseFilter(text),
        (error: unknown) => error instanceof InvalidFilter && message.test(error.message),
      )
    })
  }

  for (const { name, text } of atLimit) {
    it(`accepts ${name}`, () => assert.doesNotThrow(() => parseFilter(text)))
  }

  it('parses the text of filterText as the same tree', () => {
    fc.assert(
      fc.property(trees, tree => assert.deepEqual(parseFilter(filterText(tree)), tree)),
      { numRuns: runs(1000) },
    )
  })

  it('parses or rejects any input', () => {
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

  // A second is thousands of times what they need; backtracking would need minutes.
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
  it('takes linear time for repeated input', () => {
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
