import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { PatternError } from '../../src/base/linear-pattern.ts'
import { compileSearch } from '../../src/base/linear-search.ts'

/**
 * Patterns in which nothing that may be empty is repeated: there engines differ about what the last round was. None is
 * so long that it would be refused for its size.
 */
const patterns = fc
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

describe('a search', () => {
  it('finds in every text what the engine of JavaScript finds first, group by group', () => {
    const texts = fc.array(fc.constantFrom('a', 'b', 'c', '1'), { maxLength: 8 }).map(all => all.join(''))
    fc.assert(
      fc.property(patterns, fc.array(texts, { minLength: 5, maxLength: 5 }), (pattern, all) => {
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
      { numRuns: 2000 },
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
    it(`of ${pattern} in ${JSON.stringify(text)} finds ${JSON.stringify(want)}`, () => {
      const search = compileSearch(pattern)
      assert.deepEqual(search.find(text), want)
      if (want) assert.equal(search.groups, want.length)
    })
  }

  for (const pattern of ['(', 'a)', '(?=a)', '(a)\\1', '[', '(a{100}){100}', 'a'.repeat(501)]) {
    it(`refuses ${pattern.slice(0, 20)}`, () => assert.throws(() => compileSearch(pattern), PatternError))
  }

  it('takes no longer for a text that keeps other engines busy for years', () => {
    const text = `${'a'.repeat(5000)}!`
    for (const pattern of ['(a+)+$', '(a|a)*b', '((a*)*)*b', '(.*)(.*)(.*)(.*)x']) {
      assert.equal(compileSearch(pattern).find(text), undefined)
    }
  })
})
