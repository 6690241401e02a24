import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { MalformedInput } from '../../../src/web/requests/form.ts'
import { parseJsonList, parseJsonObject } from '../../../src/web/requests/json.ts'

const nested = (levels: number, open: string, close: string): string => `${open.repeat(levels)}1${close.repeat(levels)}`

describe('a body of JSON', () => {
  it('may have fifty thousand values, and commas in its texts', () => {
    const list = Array.from({ length: 50_000 }, () => ',,"')
    assert.deepEqual(parseJsonObject(JSON.stringify({ list })), { list })
  })

  it('may have five thousand members in each object', () => {
    const object = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`m${index}`, '{,']))
    const body = { one: object, lists: [[1, 2], object] }
    assert.deepEqual(parseJsonObject(JSON.stringify(body)), body)
  })

  it('may have the same name in several objects, and colons in texts and names', () => {
    const body = { a: { 'a:': [{ a: ':' }, { a: '":' }] }, 'a:': 'a:"b":1', '': {} }
    assert.deepEqual(parseJsonObject(JSON.stringify(body)), body)
  })

  const refused: readonly { name: string; text: string; message: string; only?: 'object' | 'list' }[] = [
    { name: 'nothing', text: '', message: 'The request body is not valid JSON' },
    { name: 'half of it', text: '{"a":', message: 'The request body is not valid JSON' },
    { name: 'two of it', text: '{} {}', message: 'The request body is not valid JSON' },
    { name: 'a byte order mark', text: '\ufeff{}', message: 'The request body is not valid JSON' },
    { name: 'an invalid number', text: '{"a":NaN}', message: 'The request body is not valid JSON' },
    { name: 'a prototype', text: '{"__proto__":{"a":1}}', message: 'The request body is not valid JSON' },
    { name: 'a prototype in escapes', text: '{"\\u005f_proto__":{}}', message: 'The request body is not valid JSON' },
    { name: 'a prototype inside', text: '[{"a":[{"__proto__":null}]}]', message: 'The request body is not valid JSON' },
    { name: 'a member twice', text: '[{"a":1,"b":2,"a":1}]', message: 'The request body has a member twice' },
    {
      name: 'a member twice inside',
      text: '{"a":[{"b":{"c":1,"c":2}}]}',
      message: 'The request body has a member twice',
    },
    {
      name: 'a member twice, once in escapes',
      text: '{"a":1,"\\u0061":2}',
      message: 'The request body has a member twice',
    },
    {
      name: 'thirty-three levels of objects',
      text: nested(33, '{"a":', '}'),
      message: 'The request body is nested too deeply',
    },
    {
      name: 'thirty-three levels of lists',
      text: nested(33, '[', ']'),
      message: 'The request body is nested too deeply',
    },
    {
      name: 'levels without end',
      text: '['.repeat(50_000),
      message: 'The request body is nested too deeply',
    },
    {
      name: 'levels after a text with brackets and quotes',
      text: `{"a":"]}\\"]}\\\\","b":${nested(32, '[', ']')}}`,
      message: 'The request body is nested too deeply',
    },
    {
      name: 'more than fifty thousand values in a list',
      text: `{"a":[${'1,'.repeat(50_000)}1]}`,
      message: 'The request body has more than 50000 values',
    },
    {
      name: 'an object with more than five thousand members',
      text: `{"\\",":"\\\\",${Array.from({ length: 5000 }, (_, index) => `"${index}":[1,2]`).join(',')}}`,
      message: 'The request body has an object with more than 5000 members',
    },
    { name: 'null', text: 'null', message: 'The request body must be a JSON object', only: 'object' },
    { name: 'a list', text: '[]', message: 'The request body must be a JSON object', only: 'object' },
    { name: 'a text', text: '"{}"', message: 'The request body must be a JSON object', only: 'object' },
    { name: 'an object', text: '{}', message: 'The request body must be a JSON array', only: 'list' },
    { name: 'zero', text: '0', message: 'The request body must be a JSON array', only: 'list' },
    { name: 'false', text: 'false', message: 'The request body must be a JSON array', only: 'list' },
    { name: 'an empty text', text: '""', message: 'The request body must be a JSON array', only: 'list' },
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
      it(`is no ${kind} when it is ${name}`, () => {
        assert.throws(() => parse(text), new MalformedInput(message))
      })
    }
  }

  it('may have thirty-two levels', () => {
    assert.deepEqual(parseJsonList(`[${nested(31, '{"a":', '}')}]`)?.length, 1)
    assert.deepEqual(Object.keys(parseJsonObject(nested(32, '{"a":', '}'))), ['a'])
  })

  it('may have brackets in a text', () => {
    assert.deepEqual(parseJsonObject(`{"a":"${'['.repeat(100)}\\"["}`), { a: `${'['.repeat(100)}"[` })
  })

  it('is an empty list when it is null', () => {
    assert.equal(parseJsonList('null'), null)
    assert.deepEqual(parseJsonList(' [ ] '), [])
  })

  it('keeps members that only look dangerous', () => {
    assert.deepEqual(parseJsonObject('{"constructor":1,"prototype":2,"toString":null}'), {
      constructor: 1,
      prototype: 2,
      toString: null,
    })
  })

  it('is what was written, for every object, and never throws anything else', () => {
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
