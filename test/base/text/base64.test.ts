import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { BASE64, base64In } from '../../../src/base/text/base64.ts'

describe('base64In', () => {
  it('accepts the same strings as the pattern', () => {
    const digit = fc.constantFrom('A', 'b', '9', '+', '/')
    const other = fc.constantFrom('=', '-', '\u00e9')
    const text = fc.string({
      unit: fc.oneof({ weight: 12, arbitrary: digit }, { weight: 1, arbitrary: other }),
      maxLength: 16,
    })
    const property = fc.property(text, fc.constantFrom('', '=', '=='), (digits, padding) => {
      const given = digits + padding
      assert.equal(base64In(given), BASE64.test(given) ? given : undefined)
    })
    fc.assert(property, { numRuns: 5000 })
  })

  it('finds an error anywhere in a long string', () => {
    const long = 'AbC9'.repeat(1000)
    assert.equal(base64In(`${long}\n${long}`), long + long)
    for (const wrong of [`=${long}abc`, `${long}=${long}`, `${long}a`, `${long}ab=`, `${long}-bc9`, `-bc9${long}`]) {
      assert.equal(base64In(wrong), undefined)
    }
  })
})
