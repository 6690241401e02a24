import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Form } from '../../../src/web/requests/form.ts'
import { EMPTY_FORM, MalformedInput, parseForm } from '../../../src/web/requests/form.ts'

const pairsOf = (form: Form): readonly (readonly [string, string])[] =>
  form.names.flatMap(name => form.all(name).map(value => [name, value] as const))

/** The result of the lenient `URLSearchParams`, with the values of each name together. */
function pairsByPlatform(text: string): readonly (readonly [string, string])[] {
  const params = new URLSearchParams(text.startsWith('?') ? `?${text}` : text) // it strips one question mark
  return [...new Set(params.keys())].flatMap(name => params.getAll(name).map(value => [name, value] as const))
}

describe('`parseForm`', () => {
  const cases: readonly { name: string; text: string; want: readonly (readonly [string, string])[] }[] = [
    { name: 'an empty string', text: '', want: [] },
    { name: 'one pair', text: 'a=b', want: [['a', 'b']] },
    { name: 'a name without a value', text: 'a', want: [['a', '']] },
    { name: 'an empty value', text: 'a=', want: [['a', '']] },
    { name: 'an empty name', text: '=b', want: [['', 'b']] },
    { name: 'empty parts between ampersands', text: '&a=b&&', want: [['a', 'b']] },
    { name: 'an equals sign in the value', text: 'a=b=c', want: [['a', 'b=c']] },
    { name: 'plus signs as spaces', text: 'a+b=c+d', want: [['a b', 'c d']] },
    { name: 'an encoded plus sign', text: 'a=%2B', want: [['a', '+']] },
    { name: 'percent-encoding in either case', text: 'a=%c3%BC', want: [['a', 'ü']] },
    { name: 'supplementary characters', text: 'a=%F0%9F%94%91', want: [['a', '🔑']] },
    { name: 'percent-encoding once only', text: 'a=%2525', want: [['a', '%25']] },
    { name: 'semicolons literally', text: 'a=b;c=d', want: [['a', 'b;c=d']] },
    {
      name: 'brackets literally',
      text: 'a[]=1&a[b]=2',
      want: [
        ['a[]', '1'],
        ['a[b]', '2'],
      ],
    },
    {
      name: 'names of inherited properties',
      text: '__proto__=1&constructor=2',
      want: [
        ['__proto__', '1'],
        ['constructor', '2'],
      ],
    },
  ]
  for (const { name, text, want } of cases) {
    it(`parses ${name}`, () => assert.deepEqual(pairsOf(parseForm(text)), want))
  }

  const malformed = [
    { name: 'an incomplete percent-encoding at the end', text: 'a=%4' },
    { name: 'an incomplete percent-encoding in a name', text: '%4=a' },
    { name: 'a percent sign alone', text: 'a=%' },
    { name: 'a percent-encoding that is not hexadecimal', text: 'a=%zz' },
    { name: 'an invalid UTF-8 byte', text: 'a=%ff' },
    { name: 'a truncated UTF-8 sequence', text: 'a=%C3' },
    { name: 'an overlong UTF-8 sequence', text: 'a=%C0%AF' },
    { name: 'a lone surrogate', text: 'a=%ED%A0%80' },
    { name: 'a NUL', text: 'a=b\0' },
    { name: 'an encoded NUL', text: 'a=%00' },
    { name: 'a NUL in a name', text: 'a%00b=c' },
    { name: '1001 parameters', text: 'a&'.repeat(1001) },
  ]
  for (const { name, text } of malformed) {
    it(`refuses ${name}`, () => assert.throws(() => parseForm(text), MalformedInput))
  }

  it('returns the first value, all values, and each repeated name once', () => {
    const form = parseForm('a=1&b=2&a=3&a=&c=4&b=5')
    assert.deepEqual([form.get('a'), form.all('a'), form.get('x'), form.all('x')], ['1', ['1', '3', ''], undefined, []])
    assert.deepEqual(form.repeated, ['a', 'b'])
    assert.deepEqual(form.names, ['a', 'b', 'c'])
  })

  it('reports a repetition of a name in another encoding', () => {
    assert.deepEqual(parseForm('scope=a&sc%6Fpe=b').repeated, ['scope'])
  })

  it('returns nothing from an empty form', () => {
    assert.deepEqual([EMPTY_FORM.get('a'), EMPTY_FORM.names, EMPTY_FORM.repeated], [undefined, [], []])
    assert.equal(EMPTY_FORM.get('constructor'), undefined)
  })

  const word = fc.string({ unit: 'grapheme' }).filter(text => !text.includes('\0') && text.isWellFormed())

  it('parses any output of URLSearchParams', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(word, word), { maxLength: 20 }), pairs => {
        const text = new URLSearchParams(pairs).toString()
        assert.deepEqual(pairsOf(parseForm(text)), pairsByPlatform(text))
      }),
    )
  })

  it('refuses any string or parses it like URLSearchParams', () => {
    const piece = fc.oneof(word, fc.constantFrom('%', '&', '=', '+', '%41', '%C3%BC', '%C3', '%00', '?', '%EF%BB%BF'))
    let read = 0
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 12 }).map(pieces => pieces.join('')),
        text => {
          let form: Form
          try {
            form = parseForm(text)
          } catch (error) {
            assert.ok(error instanceof MalformedInput)
            return
          }
          read += 1
          assert.deepEqual(pairsOf(form), pairsByPlatform(text))
        },
      ),
      { numRuns: 500 },
    )
    assert.ok(read > 50, 'too few of the strings were forms')
  })
})
