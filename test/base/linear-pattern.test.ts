import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { PatternError, compilePattern } from '../../src/base/linear-pattern.ts'

/** A pattern made of everything that is taken, small enough to be written out. */
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

describe('a pattern', () => {
  it('says of every text what the engine of JavaScript says of the whole of it', () => {
    const small = patterns.filter(pattern => pattern.length <= 40)
    const texts = fc.array(fc.constantFrom('a', 'b', 'c', '.', '-', '1'), { maxLength: 8 }).map(all => all.join(''))
    fc.assert(
      // Longer ones are too slow for the engine of JavaScript.
      fc.property(small, fc.array(texts, { minLength: 5, maxLength: 5 }), (pattern, all) => {
        const fits = compilePattern(pattern)
        const engine = new RegExp(`^(?:${pattern})$`)
        for (const text of all) assert.equal(fits(text), engine.test(text), `${pattern} on ${JSON.stringify(text)}`)
      }),
      { numRuns: 2000 },
    )
  })

  const origins = [
    { pattern: '.*', fits: ['', 'x', 'https://a.example'], fitsNot: [] },
    { pattern: '^.*$', fits: ['', 'https://a.example'], fitsNot: [] },
    {
      pattern: 'https://app\\.example',
      fits: ['https://app.example'],
      fitsNot: ['https://app.example.evil', 'xhttps://app.example', 'https://appxexample', ''],
    },
    {
      pattern: '^https://(?:[a-z0-9-]+\\.)*example\\.org(:\\d{1,5})?$',
      fits: ['https://example.org', 'https://a.b-2.example.org:8443'],
      fitsNot: ['https://evilexample.org', 'http://example.org', 'https://example.org:', 'https://example.org:123456'],
    },
    { pattern: '^/uaa/userinfo$|/logout\\.do', fits: ['/uaa/userinfo', '/logout.do'], fitsNot: ['/uaa/userinfo/x'] },
    { pattern: '', fits: [''], fitsNot: ['a'] },
  ]
  for (const { pattern, fits, fitsNot } of origins) {
    it(`${pattern === '' ? 'without anything' : pattern} fits the whole or not at all`, () => {
      const matches = compilePattern(pattern)
      for (const text of fits) assert.equal(matches(text), true, text)
      for (const text of fitsNot) assert.equal(matches(text), false, text)
    })
  }

  it('costs little whatever it says and whatever it is given', () => {
    // Each of these keeps the engine of JavaScript busy for years; in the test's own process, that would show.
    const text = `${'a'.repeat(2000)}!`
    for (const pattern of ['(a+)+$', '(a*)*b', '(a|a)*b', '(?:a?){100}a{100}', '.*.*.*.*.*.*.*.*=', '((a*)+)*b']) {
      assert.equal(compilePattern(pattern)(text), false, pattern)
    }
  })

  const refused = [
    { name: 'a group that is not closed', pattern: '(a', want: /not closed/ },
    { name: 'a bracket too many', pattern: 'a)', want: /too many/ },
    { name: 'a class that is not closed', pattern: '[a', want: /class/ },
    { name: 'an empty class', pattern: '[]', want: /class/ },
    { name: 'a class in the wrong order', pattern: '[z-a]', want: /class/ },
    { name: 'classes in classes', pattern: '[a-z&&[^b]]', want: /class/ },
    { name: 'an intersection of classes', pattern: '[a-z&&b]', want: /class/ },
    { name: 'nothing to repeat', pattern: '*', want: /nothing to repeat/ },
    { name: 'a brace that counts nothing', pattern: 'a{b}', want: /nothing to repeat/ },
    { name: 'a repetition of a repetition', pattern: 'a**', want: /repeats a repetition/ },
    { name: 'a possessive repetition', pattern: 'a*+', want: /repeats a repetition/ },
    { name: 'counts in the wrong order', pattern: 'a{3,2}', want: /wrong order/ },
    { name: 'many repetitions', pattern: 'a{101}', want: /more than 100/ },
    { name: 'many repetitions of many', pattern: '(a{100}){100}', want: /too large/ },
    { name: 'a backslash at the end', pattern: 'a\\', want: /unknown/ },
    { name: 'a back-reference', pattern: '(a)\\1', want: /unknown/ },
    { name: 'an escape that other engines know', pattern: '\\Qa.b\\E', want: /unknown/ },
    { name: 'a look-ahead', pattern: '(?=a)', want: /group other than/ },
    { name: 'a look-behind', pattern: '(?<!a)b', want: /group other than/ },
    { name: 'flags', pattern: '(?i)a', want: /group other than/ },
    { name: 'a pattern of more than 500 characters', pattern: 'a'.repeat(501), want: /longer than 500/ },
  ]
  for (const { name, pattern, want } of refused) {
    it(`is refused for ${name}`, () => {
      assert.throws(
        () => compilePattern(pattern),
        (error: unknown) => error instanceof PatternError && want.test(error.message),
      )
    })
  }
})
