import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dnValue, readFilter } from '../../../src/identity/directory/names.ts'
import { UnusableDirectory } from '../../../src/providers/directory-settings.ts'

describe('dnValue (RFC 4514)', () => {
  const values: readonly (readonly [name: string, value: string])[] = [
    ['marissa', 'marissa'],
    ['Jürgen', 'Jürgen'],
    [' a b ', '\\20a b\\20'],
    [' ', '\\20'],
    ['#1', '\\231'],
    ['a,b+c;d<e>f=g"h\\i', 'a\\2cb\\2bc\\3bd\\3ce\\3ef\\3dg\\22h\\5ci'],
    ['a\0b\nc\u007f', 'a\\00b\\0ac\\7f'],
    ['{0}', '{0}'],
  ]
  for (const [name, value] of values) {
    it(`returns ${JSON.stringify(value)} for ${JSON.stringify(name)}`, () => assert.equal(dnValue(name), value))
  }
})

describe('readFilter (RFC 4515)', () => {
  const filters: readonly (readonly [filter: string, want: string])[] = [
    ['cn={0}', '(cn=\\2a\\29\\28x)'],
    ['(cn={0})', '(cn=\\2a\\29\\28x)'],
    [
      '(&(a={0})(|(b>={0})(!(c<={1})))(d~={0}))',
      '(&(a=\\2a\\29\\28x)(|(b>=\\2a\\29\\28x)(!(c<={1}-{0})))(d~=\\2a\\29\\28x))',
    ],
    ['(a={0}*{0}*{1})', '(a=\\2a\\29\\28x*\\2a\\29\\28x*{1}-{0})'],
    ['(member:1.2.840.113556.1.4.1941:={0})', '(member:1.2.840.113556.1.4.1941:=\\2a\\29\\28x)'],
    ['(a=*)', '(a=*)'],
  ]
  for (const [filter, want] of filters) {
    it(`escapes values in ${filter}`, async () => {
      const template = await readFilter(filter, 'userSearchFilter')
      const values = { '{0}': '*)(x', '{1}': '{1}-{0}' } // placeholders in values are not replaced
      assert.equal(template(values).toString(), want)
      assert.equal(template(values).toString(), want, 'reused')
    })
  }

  for (const filter of ['', '(', 'cn', '(cn={0}', '(cn={0}))', '({0}=x)', '(&)', '(cn=\\zz{0})', '()']) {
    it(`refuses ${JSON.stringify(filter)}`, async () => {
      await assert.rejects(readFilter(filter, 'userSearchFilter'), error => {
        assert.ok(error instanceof UnusableDirectory)
        return error.message === 'userSearchFilter is not a filter'
      })
    })
  }
})
