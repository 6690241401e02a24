import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { stopwatch } from '../../../src/base/clock.ts'
import { compilePattern, compileSearch, PatternError, weightOf } from '../../../src/base/text/pattern.ts'
import { runs } from '../../support/thinning.ts'

/** A pattern of all supported syntax, small enough to be expanded. */
const patterns = fc.letrec<{ choice: string; sequence: string; item: string }>(tie => ({
  choice: fc.array(tie('sequence'), { minLength: 1, maxLength: 3 }).map(parts => parts.join('|')),
  sequence: fc
    .array(fc.tuple(tie('item'), fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,}', '{0,2}', '*?')), {
      maxLength: 4,
    })
    .map(parts => parts.map(([item, times]) => item + (/^[$^]$/.test(item) ? '' : times)).join('')),
  item: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom('a', 'b', '.', '\\.', '-', '[ab]', '[^a]', '[a-c.]', '\\d', '\\W', '^', '$'),
    tie('choice').map(inside => `(${inside})`),
    tie('choice').map(inside => `(?:${inside})`),
  ),
})).choice

const MAX_REPETITIONS = 4

describe('compilePattern', () => {
  it('matches whole strings like a JavaScript RegExp', () => {
    // Repetitions within one another take the engine of JavaScript years, even on eight characters.
    const small = patterns.filter(
      pattern => pattern.length <= 40 && (pattern.match(/(?<!\()[*+?{]/g)?.length ?? 0) <= MAX_REPETITIONS,
    )
    const texts = fc.array(fc.constantFrom('a', 'b', 'c', '.', '-', '1'), { maxLength: 8 }).map(all => all.join(''))
    fc.assert(
      fc.property(small, fc.array(texts, { minLength: 5, maxLength: 5 }), (pattern, all) => {
        const matches = compilePattern(pattern)
        const engine = new RegExp(`^(?:${pattern})$`)
        for (const text of all) assert.equal(matches(text), engine.test(text), `${pattern} on ${JSON.stringify(text)}`)
      }),
      { numRuns: runs(2000) },
    )
  })

  const origins = [
    { pattern: '.*', matching: ['', 'x', 'https://a.example'], mismatches: [] },
    { pattern: '^.*$', matching: ['', 'https://a.example'], mismatches: [] },
    {
      pattern: 'https://app\\.example',
      matching: ['https://app.example'],
      mismatches: ['https://app.example.evil', 'xhttps://app.example', 'https://appxexample', ''],
    },
    {
      pattern: '^https://(?:[a-z0-9-]+\\.)*example\\.org(:\\d{1,5})?$',
      matching: ['https://example.org', 'https://a.b-2.example.org:8443'],
      mismatches: [
        'https://evilexample.org',
        'http://example.org',
        'https://example.org:',
        'https://example.org:123456',
      ],
    },
    {
      pattern: '^/uaa/userinfo$|/logout\\.do',
      matching: ['/uaa/userinfo', '/logout.do'],
      mismatches: ['/uaa/userinfo/x'],
    },
    { pattern: '', matching: [''], mismatches: ['a'] },
  ]
  for (const { pattern, matching, mismatches } of origins) {
    it(`matches only whole strings: ${pattern === '' ? 'an empty pattern' : pattern}`, () => {
      const matches = compilePattern(pattern)
      for (const text of matching) assert.equal(matches(text), true, text)
      for (const text of mismatches) assert.equal(matches(text), false, text)
    })
  }

  it('takes linear time for any pattern and string', () => {
    // Each of these keeps the engine of JavaScript busy for years; in the test's own process, that would show.
    const text = `${'a'.repeat(2000)}!`
    for (const pattern of ['(a+)+$', '(a*)*b', '(a|a)*b', '(?:a?){100}a{100}', '.*.*.*.*.*.*.*.*=', '((a*)+)*b']) {
      assert.equal(compilePattern(pattern)(text), false, pattern)
    }
  })

  it('computes the weight without compiling', () => {
    const begun = stopwatch()
    for (const pattern of [
      '(a|b|c){1000}'.repeat(38),
      '((\\pL{30})(?s){30}\\Q(\\E){30}',
      '(?i)[\\x{80}-\\x{10ffff}]',
    ]) {
      assert.throws(() => weightOf(pattern), PatternError)
    }
    assert.ok(weightOf('\\pL'.repeat(160)) > 3000)
    assert.equal(weightOf('x{400}'), 400)
    assert.equal(weightOf('^https://[a-z0-9-]+\\.example\\.org(?::\\d{1,5})?$'), 39)
    assert.ok(begun() < 100, `${begun()} ms`) // less than one
  })

  const refused = [
    { name: 'an unclosed group', pattern: '(a', want: /missing closing \)/ },
    { name: 'an unmatched closing parenthesis', pattern: 'a)', want: /unexpected \)/ },
    { name: 'an unclosed class', pattern: '[a', want: /missing closing \]/ },
    { name: 'an empty class', pattern: '[]', want: /missing closing \]/ },
    { name: 'a reversed range', pattern: '[z-a]', want: /invalid character class range/ },
    { name: 'nothing to repeat', pattern: '*', want: /missing argument to repetition/ },
    { name: 'a repetition of a repetition', pattern: 'a**', want: /nested repetition/ },
    { name: 'a possessive repetition', pattern: 'a*+', want: /nested repetition/ },
    { name: 'reversed counts', pattern: 'a{3,2}', want: /repeat count/ },
    { name: 'too many repetitions', pattern: 'a{1001}', want: /repeat count/ },
    { name: 'too many nested repetitions', pattern: '(a{100}){11}', want: /repeat count/ },
    { name: 'repetitions that expand too far', pattern: '(a|b|c){1000}'.repeat(38), want: /too large/ },
    {
      name: 'a repetition after flags',
      pattern: '([abc]{90})(?s){11}',
      want: /too large|count/,
    },
    {
      name: 'case-insensitive classes of nearly all characters',
      pattern: `(?i)${'[^\\x{80}]'.repeat(40)}`,
      want: /ignores case/,
    },
    { name: 'repetitions too large together', pattern: '(a{40}){25}', want: /too large/ },
    { name: 'a trailing backslash', pattern: 'a\\', want: /trailing backslash/ },
    { name: 'a back-reference', pattern: '(a)\\1', want: /invalid escape/ },
    { name: 'a look-ahead', pattern: '(?=a)', want: /unsupported Perl syntax/ },
    { name: 'a look-behind', pattern: '(?<!a)b', want: /is not valid/ },
    { name: 'a pattern of more than 500 characters', pattern: 'a'.repeat(501), want: /longer than 500/ },
  ]
  for (const { name, pattern, want } of refused) {
    it(`rejects ${name}`, () => {
      for (const compile of [compilePattern, compileSearch]) {
        assert.throws(
          () => compile(pattern),
          (error: unknown) => error instanceof PatternError && want.test(error.message),
        )
      }
    })
  }
})

describe('compileSearch', () => {
  it('finds the first match and its groups like a JavaScript RegExp', () => {
    // Patterns in which nothing that may be empty is repeated: there engines differ about what the last round was.
    const searches = fc
      .letrec<{ choice: string; sequence: string; item: string; one: string }>(tie => ({
        choice: fc.array(tie('sequence'), { minLength: 1, maxLength: 3 }).map(parts => parts.join('|')),
        sequence: fc
          .array(
            fc.oneof(
              fc
                .tuple(tie('one'), fc.constantFrom('', '*', '+', '?', '{2}', '{0,2}', '*?', '+?', '??'))
                .map(all => all.join('')),
              tie('item'),
            ),
            { maxLength: 4 },
          )
          .map(parts => parts.join('')),
        item: fc.oneof(
          { maxDepth: 2 },
          fc.constantFrom('^', '$'),
          tie('choice').map(inside => `(${inside})`),
          tie('choice').map(inside => `(?:${inside})`),
        ),
        one: fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\d'),
      }))
      .choice.filter(pattern => pattern.length <= 200)
    const texts = fc.array(fc.constantFrom('a', 'b', 'c', '1'), { maxLength: 8 }).map(all => all.join(''))
    fc.assert(
      fc.property(searches, fc.array(texts, { minLength: 5, maxLength: 5 }), (pattern, all) => {
        const search = compileSearch(pattern)
        const engine = new RegExp(pattern)
        for (const text of all) {
          const want = engine.exec(text)?.slice(1)
          assert.deepEqual(
            search.find(text),
            want?.map((group: string | undefined) => group ?? ''),
            JSON.stringify({ pattern, text }),
          )
        }
      }),
      { numRuns: runs(2000) },
    )
  })

  const cases = [
    { pattern: '"email"\\s*:\\s*"(.*?)"', text: '{"email" : "a@b.c","x":"y"}', want: ['a@b.c'] },
    { pattern: '"email"\\s*:\\s*"(.*)"', text: '{"email":"a","x":"y"}', want: ['a","x":"y'] },
    { pattern: '"(cid|sub)":"([^"]+)"', text: '{"a":1,"sub":"u-1"}', want: ['sub', 'u-1'] },
    { pattern: '(a)|(b)', text: 'xb', want: ['', 'b'] },
    { pattern: '(?:a)(b)', text: 'ab', want: ['b'] },
    { pattern: '([0-9]{2,3})', text: 'x12345', want: ['123'] },
    { pattern: '(x)', text: '', want: undefined },
    { pattern: '()', text: '', want: [''] },
    { pattern: 'a', text: 'bab', want: [] },
  ]
  for (const { pattern, text, want } of cases) {
    it(`finds ${JSON.stringify(want)} with ${pattern} in ${JSON.stringify(text)}`, () => {
      const search = compileSearch(pattern)
      assert.deepEqual(search.find(text), want)
      if (want) assert.equal(search.groups, want.length)
    })
  }

  it('takes linear time where backtracking is exponential', () => {
    const text = `${'a'.repeat(5000)}!`
    for (const pattern of ['(a+)+$', '(a|a)*b', '((a*)*)*b', '(.*)(.*)(.*)(.*)x']) {
      assert.equal(compileSearch(pattern).find(text), undefined)
    }
  })
})
