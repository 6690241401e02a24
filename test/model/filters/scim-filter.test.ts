// Filters and paths of SCIM 2.0.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { AttributePath, Comparison, Filter, FilterValue } from '../../../src/model/filters/filter.ts'
import {
  InvalidFilter,
  MAX_FILTER_LENGTH,
  SCIM_COMPARISONS,
  filterText,
  parseFilter,
  parsePath,
} from '../../../src/model/filters/filter.ts'
import { anyCodePoint } from '../../support/code-points.ts'
import { treesOf } from './filter-trees.ts'
import { cpuStopwatch } from '../../support/cpu-time.ts'
import { runs } from '../../support/thinning.ts'

const CORE = 'urn:ietf:params:scim:schemas:core:2.0:User'
const compare = (attribute: string, comparison: Comparison, value: FilterValue): Filter => ({
  kind: 'compare',
  attribute,
  comparison,
  value,
})
const values = (attribute: string, filter: Filter): Filter => ({ kind: 'values', attribute, filter })
const work = compare('type', 'eq', 'work')

const valid: readonly { text: string; tree: Filter }[] = [
  ...SCIM_COMPARISONS.map(word => ({ text: `a ${word.toUpperCase()} "x"`, tree: compare('a', word, 'x') })),
  { text: `${CORE}:userName eq "x"`, tree: compare(`${CORE}:userName`, 'eq', 'x') },
  { text: `${CORE}:name.familyName pr`, tree: { kind: 'present', attribute: `${CORE}:name.familyName` } },
  { text: 'emails[type eq "work"]', tree: values('emails', work) },
  { text: `${CORE}:emails[ type eq "work" ]`, tree: values(`${CORE}:emails`, work) },
  { text: 'a[primary eq true]', tree: values('a', compare('primary', 'eq', true)) },
  {
    text: 'emails[type eq "work" and value co "@x"]',
    tree: values('emails', { kind: 'and', parts: [work, compare('value', 'co', '@x')] }),
  },
  {
    text: 'emails[type eq "work"].value co "@x"',
    tree: values('emails', { kind: 'and', parts: [work, compare('value', 'co', '@x')] }),
  },
  {
    text: 'emails[not (type eq "work") or primary pr].display pr',
    tree: values('emails', {
      kind: 'and',
      parts: [
        {
          kind: 'or',
          parts: [
            { kind: 'not', part: work },
            { kind: 'present', attribute: 'primary' },
          ],
        },
        { kind: 'present', attribute: 'display' },
      ],
    }),
  },
  {
    text: 'not (emails[type eq "work"] and active eq true) or title pr',
    tree: {
      kind: 'or',
      parts: [
        { kind: 'not', part: { kind: 'and', parts: [values('emails', work), compare('active', 'eq', true)] } },
        { kind: 'present', attribute: 'title' },
      ],
    },
  },
]

const repeated = (text: string, times: number, separator = ''): string =>
  Array.from({ length: times }, () => text).join(separator)

const invalid = [
  "a eq 'x'",
  'a eq "x',
  'not a pr',
  'emails [type eq "work"]',
  'emails[type eq "work"',
  'emails[type eq "work"]]',
  'emails[type eq "work")',
  'emails(type eq "work")',
  'emails[]',
  'emails[type]',
  'emails[a[b pr]]',
  'emails[a pr and (b[c pr])]',
  '[type eq "work"]',
  'emails[type eq "work"] .value pr',
  'emails[type eq "work"].value',
  'emails[type eq "work"].a.b pr',
  'emails[type eq "work"].',
  'emails[type eq "work"]value pr',
  'emails[type eq "work"] eq "x"',
  'a[b eq 1]and c pr and',
  ':userName pr',
  'urn: pr',
  'urn:a: pr',
  'urn::a pr',
  'http://a:b pr',
  'a:b pr',
  `${CORE}:__proto__ pr`,
  `${CORE}: pr`,
  'a pr; drop table users',
  '\0 pr',
  '\ud800 pr',
  `${repeated('a[', 21)}b pr${repeated(']', 21)}`,
  `${repeated('(', 20)}a[b pr]${repeated(')', 20)}`,
  `${repeated('not (', 10_000)}a pr${repeated(')', 10_000)}`,
  repeated('(', 10_000),
  repeated('a[', 2000),
  repeated('a[b pr] and ', 60),
  `a[${repeated('b pr', 101, ' or ')}]`,
  `a eq "${repeated('x', 100_000)}"`,
]

/** Any filter within the limits. */
const trees = (() => {
  const names = fc.constantFrom('a', 'name.familyName', `${CORE}:userName`, '$ref', 'not', 'and', 'pr', 'ne', 'true')
  const texts = fc.oneof(
    fc.string({ unit: anyCodePoint, maxLength: 12 }),
    fc.constantFrom('"', "'", '\\', ']', '[', '\0', '%_'),
  )
  const leaves = fc.oneof(
    names.map((attribute): Filter => ({ kind: 'present', attribute })),
    fc
      .tuple(
        names,
        fc.constantFrom(...SCIM_COMPARISONS),
        fc.oneof(texts, fc.integer(), fc.boolean(), fc.constant(null)),
      )
      .map(([name, word, value]) => compare(name, word, value)),
  )
  const inBrackets = fc.tuple(names, treesOf(leaves, 1)).map(([name, filter]) => values(name, filter))
  return treesOf(fc.oneof(leaves, inBrackets), 2)
})()

describe('parseFilter for SCIM 2.0', () => {
  for (const { text, tree } of valid) {
    it(`parses ${text}`, () => assert.deepEqual(parseFilter(text, 'scim'), tree))
  }

  for (const text of invalid) {
    it(`rejects ${JSON.stringify(text.slice(0, 60))}`, () =>
      assert.throws(() => parseFilter(text, 'scim'), InvalidFilter))
  }

  for (const { text } of valid.filter(({ text }) => !/^a (?:EQ|CO|SW|G|L)/.test(text))) {
    it(`is rejected by the UAA syntax: ${text}`, () => assert.throws(() => parseFilter(text), InvalidFilter))
  }

  it('parses the text of filterText as the same tree', () => {
    fc.assert(
      fc.property(trees, tree => assert.deepEqual(parseFilter(filterText(tree), 'scim'), tree)),
      { numRuns: runs(1000) },
    )
  })

  it('parses or rejects any input, like parsePath', () => {
    const pieces = fc.constantFrom(
      'a',
      ' ',
      'eq',
      'pr',
      '(',
      ')',
      '[',
      ']',
      '.',
      ':',
      'urn:',
      'not',
      'and',
      '"',
      '1',
      '\0',
    )
    const texts = fc.oneof(
      fc.string({ unit: anyCodePoint }),
      fc.array(pieces, { maxLength: 30 }).map(all => all.join('')),
    )
    const reads = [(text: string) => parseFilter(text, 'scim'), parsePath]
    fc.assert(
      fc.property(texts, fc.constantFrom(...reads), (text, read) => {
        try {
          read(text)
        } catch (error) {
          if (!(error instanceof InvalidFilter)) throw error
        }
      }),
      { numRuns: runs(3000) },
    )
  })

  it('takes linear time for repeated input', () => {
    const elapsed = cpuStopwatch()
    for (const piece of ['[', 'a[', 'a[b pr].', '].', ':', 'urn:', 'a:', '.', 'a[b pr] and ', 'not (a[']) {
      const text = piece.repeat(MAX_FILTER_LENGTH).slice(0, MAX_FILTER_LENGTH)
      for (let times = 0; times < 10; times += 1) {
        assert.throws(() => parseFilter(text, 'scim'), InvalidFilter)
        assert.throws(() => parsePath(text), InvalidFilter)
      }
    }
    assert.ok(elapsed() < 5000, `${elapsed()} ms`)
  })
})

const paths: readonly { text: string; path: AttributePath }[] = [
  { text: 'userName', path: { attribute: 'userName' } },
  { text: ' name.familyName ', path: { attribute: 'name', subAttribute: 'familyName' } },
  { text: `${CORE}:name.familyName`, path: { schema: CORE, attribute: 'name', subAttribute: 'familyName' } },
  { text: CORE, path: { schema: 'urn:ietf:params:scim:schemas:core:2.0', attribute: 'User' } },
  { text: 'emails[type eq "work"]', path: { attribute: 'emails', filter: work } },
  { text: 'emails[type eq "work"].value', path: { attribute: 'emails', filter: work, subAttribute: 'value' } },
  { text: `${CORE}:emails[type eq "work"]`, path: { schema: CORE, attribute: 'emails', filter: work } },
  { text: '$ref', path: { attribute: '$ref' } },
]

describe('parsePath', () => {
  for (const { text, path } of paths) it(`is read: ${text}`, () => assert.deepEqual(parsePath(text), path))

  const wrong = [
    '',
    'a b',
    'a.b.c',
    'a.b[c pr]',
    'a[b pr] and c pr',
    'a[b pr].c.d',
    'a[b pr].c pr',
    'a[b]',
    'a pr',
    'a[',
    '[a pr]',
    '.a',
    'a.',
    '__proto__',
    'a.__proto__',
    'a[b pr].__proto__',
    'a/b',
    `a[${repeated('(', 10_000)}`,
  ]
  for (const text of wrong) {
    it(`rejects ${JSON.stringify(text.slice(0, 60))}`, () => assert.throws(() => parsePath(text), InvalidFilter))
  }
})
