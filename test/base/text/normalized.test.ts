import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { normalized } from '../../../src/base/text/normalized.ts'

const FORMS = ['NFC', 'NFKC', 'NFKD'] as const

describe('normalized', () => {
  it('returns the Unicode form of ordinary text', () => {
    const texts = [
      '',
      'marissa',
      'e\u0301lodie',
      '\uff4d\uff41x',
      'a\u0316\u0301'.repeat(100),
      `a${'\u0301'.repeat(30)}b`,
    ]
    for (const form of FORMS) for (const text of texts) assert.equal(normalized(text, form), text.normalize(form))
  })

  // A sequence normalized as a whole would take minutes.
  for (const [what, row] of [
    ['combining characters', '\u0316\u0301'],
    ['supplementary ones', '\u{1d165}\u0323'],
    ['halfwidth marks', '\uff9e\u0323'],
  ] as const) {
    it(`takes linear time for a sequence of ${what}`, () => {
      for (const form of FORMS) assert.ok(normalized(`a${row.repeat(200_000)}`, form).length > 200_000)
    })
  }

  it('knows every character that decomposes to a combining one', () => {
    const blocks = Array.from({ length: 0x1100 }, (_, block) => block).filter(block => block < 0xd8 || block > 0xdf)
    const made = blocks
      .map(block => Array.from({ length: 0x100 }, (_, index) => String.fromCodePoint(block * 0x100 + index)))
      .filter(block => block.join('\n').normalize('NFKD') !== block.join('\n')) // in others, none decomposes
      .flat()
      .filter(text => !/\p{M}/u.test(text) && /^\p{M}/u.test(text.normalize('NFKD')))
    // The vowels of Thai and Lao begin no row: they decompose to marks that are not sorted.
    assert.deepEqual(made, ['\u0e33', '\u0eb3', '\uff9e', '\uff9f'])
  })
})
