import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { MalformedInput } from '../../../src/web/requests/form.ts'
import { parseJsonList, parseJsonObject } from '../../../src/web/requests/json.ts'

const nested = (levels: number, open: string, close: string): string => `${open.repeat(levels)}1${close.repeat(levels)}`

describe('JSON body', () => {
  it('may have 50,000 values, and commas in strings', () => {
    const list = Array.from({ length: 50_000 }, () => ',,"')
    assert.deepEqual(parseJsonObject(JSON.stringify({ list })), { list })
  })

  it('may have 5000 members in each object', () => {
    const object = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`m${index}`, '{,']))
    const body = { one: object, lists: [[1, 2], object] }
    assert.deepEqual(parseJsonObject(JSON.stringify(body)), body)
  })

  it('may have the same name in several objects, and colons in strings', () => {
    const body = { a: { 'a:': [{ a: ':' }, { a: '":' }] }, 'a:': 'a:"b":1', '': {} }
    assert.deepEqual(parseJsonObject(JSON.stringify(body)), body)
  })

  const refused: readonly { name: string; text: string; message: string; only?: 'object' | 'list' }[] = [
    { name: 'empty', text: '', message: 'The request body is not valid JSON' },
    { name: 'truncated', text: '{"a":', message: 'The request body is not valid JSON' },
    { name: 'two values', text: '{} {}', message: 'The request body is not valid JSON' },
    { name: 'preceded by a byte order mark', text: '\ufeff{}', message: 'The request body is not valid JSON' },
    { name: 'an invalid number', text: '{"a":NaN}', message: 'The request body is not valid JSON' },
    { name: 'an object with __proto__', text: '{"__proto__":{"a":1}}', message: 'The request body is not valid JSON' },
    {
      name: 'an object with an escaped __proto__',
      text: '{"\\u005f_proto__":{}}',
      message: 'The request body is not valid JSON',
    },
    {
      name: 'nested with __proto__',
      text: '[{"a":[{"__proto__":null}]}]',
      message: 'The request body is not valid JSON',
    },
    {
      name: 'an object with a duplicate member',
      text: '[{"a":1,"b":2,"a":1}]',
      message: 'The request body has a member twice',
    },
    {
      name: 'nested with a duplicate member',
      text: '{"a":[{"b":{"c":1,"c":2}}]}',
      message: 'The request body has a member twice',
    },
    {
      name: 'an object with an escaped duplicate member',
      text: '{"a":1,"\\u0061":2}',
      message: 'The request body has a member twice',
    },
    {
      name: '33 levels of objects',
      text: nested(33, '{"a":', '}'),
      message: 'The request body is nested too deeply',
    },
    {
      name: '33 levels of arrays',
      text: nested(33, '[', ']'),
      message: 'The request body is nested too deeply',
    },
    {
      name: '50,000 open arrays',
      text: '['.repeat(50_000),
      message: 'The request body is nested too deeply',
    },
    {
      name: '33 levels after a string with brackets and quotes',
      text: `{"a":"]}\\"]}\\\\","b":${nested(32, '[', ']')}}`,
      message: 'The request body is nested too deeply',
    },
    {
      name: 'more than 50,000 values',
      text: `{"a":[${'1,'.repeat(50_000)}1]}`,
      message: 'The request body has more than 50000 values',
    },
    {
      name: 'an object with more than 5000 members',
      text: `{"\\",":"\\\\",${Array.from({ length: 5000 }, (_, index) => `"${index}":[1,2]`).join(',')}}`,
      message: 'The request body has an object with more than 5000 members',
    },
    { name: 'null', text: 'null', message: 'The request body must be a JSON object', only: 'object' },
    { name: 'an array', text: '[]', message: 'The request body must be a JSON object', only: 'object' },
    { name: 'a string', text: '"{}"', message: 'The request body must be a JSON object', only: 'object' },
    { name: 'an object', text: '{}', message: 'The request body must be a JSON array', only: 'list' },
    { name: 'zero', text: '0', message: 'The request body must be a JSON array', only: 'list' },
    { name: 'false', text: 'false', message: 'The request body must be a JSON array', only: 'list' },
    { name: 'an empty string', text: '""', message: 'The request body must be a JSON array', only: 'list' },
    ...['[null]', '[{},null]', '[1]', '["x"]', '[[]]', '[[{}]]', '[true]'].map(text => ({
      name: text,
      text,
      message: 'The request body must be an array of JSON objects',
      only: 'list' as const,
    })),
  ]
  for (const { name, text, message, only } of refused) {
    for (const [kind, parse] of [['object', parseJsonObject] as const, ['list', parseJsonList] as const]) {
      if (only !== undefined && only !== kind) continue
      it(`is refused as ${kind} if it is ${name}`, () => {
        assert.throws(() => parse(text), new MalformedInput(message))
      })
    }
  }

  it('may have 32 levels', () => {
    assert.deepEqual(parseJsonList(`[${nested(31, '{"a":', '}')}]`)?.length, 1)
    assert.deepEqual(Object.keys(parseJsonObject(nested(32, '{"a":', '}'))), ['a'])
  })

  it('may have brackets in a string', () => {
    assert.deepEqual(parseJsonObject(`{"a":"${'['.repeat(100)}\\"["}`), { a: `${'['.repeat(100)}"[` })
  })

  it('may be null or empty as a list', () => {
    assert.equal(parseJsonList('null'), null)
    assert.deepEqual(parseJsonList(' [ ] '), [])
  })

  it('keeps `constructor`, `prototype` and `toString`', () => {
    assert.deepEqual(parseJsonObject('{"constructor":1,"prototype":2,"toString":null}'), {
      constructor: 1,
      prototype: 2,
      toString: null,
    })
  })

  it('is parsed like JSON.parse, or refused with MalformedInput', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })), value => {
        const text = JSON.stringify(value)
        if (/"__proto__"\s*:/.test(text)) assert.throws(() => parseJsonObject(text), MalformedInput)
        else assert.deepEqual(parseJsonObject(text), JSON.parse(text))
      }),
    )
    fc.assert(
      fc.property(fc.string(), text => {
        try {
          parseJsonList(text)
        } catch (error) {
          assert.ok(error instanceof MalformedInput)
        }
      }),
    )
  })
})
