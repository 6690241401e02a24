import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { keepLatest } from '../../../src/base/text/latest.ts'

describe('keepLatest', () => {
  const long = 'x'.repeat(40_000)
  const counted = () => {
    const parsed: string[] = []
    const parse = keepLatest(text => {
      parsed.push(text)
      return text.length
    })
    return { parsed, parse }
  }

  it('keeps the result for a long string until another one is parsed', () => {
    const { parsed, parse } = counted()
    assert.equal(parse(long), 40_000)
    assert.equal(parse(`x${long.slice(1)}`), 40_000)
    assert.equal(parsed.length, 1)
    assert.equal(parse(`y${long}`), 40_001)
    assert.equal(parse(long), 40_000)
    assert.equal(parsed.length, 3)
  })

  it('neither keeps nor replaces the result for a short string', () => {
    const { parsed, parse } = counted()
    for (const text of [long, 'short', 'short', long]) assert.equal(parse(text), text.length)
    assert.deepEqual(parsed, [long, 'short', 'short'])
  })
})
