import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isJsonRecord, memberOf, parseJson } from '../../src/base/json.ts'

describe('Untrusted JSON', () => {
  it('is parsed, or undefined if invalid', () => {
    assert.deepEqual(parseJson('{"a":[1]}'), { a: [1] })
    for (const text of ['', '{', 'undefined', '{"a":1}x', "{'a':1}"]) assert.equal(parseJson(text), undefined, text)
  })

  it('is a record only if it is an object', () => {
    assert.equal(isJsonRecord({}), true)
    for (const value of [null, [], 'a', 1, true, undefined]) assert.equal(isJsonRecord(value), false)
  })

  it('has own members only', () => {
    assert.equal(memberOf({ a: 1 }, 'a'), 1)
    assert.equal(memberOf(parseJson('{"__proto__":{"a":1}}'), 'a'), undefined)
    for (const value of [{}, null, 'text', undefined]) assert.equal(memberOf(value, 'constructor'), undefined)
  })
})
