import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { describe, it } from 'node:test'
import { nameFromDer, nameFromString } from '../../../src/base/certificates/distinguished-name.ts'
import { issue, nameOf } from '../../support/client-certificates.ts'
import type { NamePart } from '../../support/client-certificates.ts'

type Names = readonly (readonly NamePart[])[]

describe('Distinguished names', () => {
  const SAME: readonly (readonly [string, string, Names])[] = [
    [
      'begin with the most specific part',
      'CN=client,O=Bank,C=CH',
      [[['C', 'CH', 'printable']], [['O', 'Bank']], [['CN', 'client']]],
    ],
    ['may have spaces after commas', 'CN=client, O=Bank', [[['O', 'Bank']], [['CN', 'client']]]],
    ['have case-insensitive or numeric types', 'cn=client,2.5.4.10=Bank', [[['O', 'Bank']], [['CN', 'client']]]],
    [
      'have multiple values in any order',
      'OU=x+CN=client',
      [
        [
          ['CN', 'client'],
          ['OU', 'x'],
        ],
      ],
    ],
    [
      'have escaped characters',
      String.raw`CN=a\,b\+c\"d\\e\=f,O=\#1\ `,
      [[['O', '#1 ']], [['CN', String.raw`a,b+c"d\e=f`]]],
    ],
    ['have escaped bytes', String.raw`CN=Z\c3\bcrich`, [[['CN', 'Zürich']]]],
    ['have any characters in any string type', 'CN=Zürich 日本', [[['CN', 'Zürich 日本', 'bmp']]]],
    ['have hexadecimal values', 'CN=#0c0561206f6e65', [[['CN', 'a one']]]],
    ['have domain components', 'DC=example,DC=org', [[['DC', 'org']], [['DC', 'example']]]],
  ]
  for (const [what, text, names] of SAME) {
    it(`${what}: ${text}`, () => {
      const expected = nameFromDer(nameOf(...names))
      assert.notEqual(expected, undefined)
      assert.equal(nameFromString(text), expected)
    })
  }

  const OTHERS: readonly (readonly [string, string, Names])[] = [
    ['another order', 'O=Bank,CN=client', [[['O', 'Bank']], [['CN', 'client']]]],
    ['another case', 'CN=Client', [[['CN', 'client']]]],
    ['one part with a comma instead of two parts', 'CN=a,O=b', [[['CN', 'a,O=b']]]],
    [
      'two values of one part instead of two parts',
      'CN=a,O=b',
      [
        [
          ['CN', 'a'],
          ['O', 'b'],
        ],
      ],
    ],
    ['an additional part', 'CN=client', [[['O', 'Bank']], [['CN', 'client']]]],
    ['a missing part', 'CN=client,O=Bank', [[['CN', 'client']]]],
    ['a value like a hexadecimal one', 'CN=#0500', [[['CN', '#0500']]]],
    ['a trailing space', 'CN=client', [[['CN', 'client ']]]],
  ]
  for (const [what, text, names] of OTHERS) {
    it(`differ from a name with ${what}`, () => {
      assert.notEqual(nameFromString(text), undefined)
      assert.notEqual(nameFromString(text), nameFromDer(nameOf(...names)))
    })
  }

  for (const text of [
    '',
    'client',
    'CN=',
    'CN=a,',
    'CN=a+',
    ',CN=a',
    'CN=a,,O=b',
    'XX=a',
    'CN=a;O=b',
    'CN="a"',
    String.raw`CN=a\ `.trimEnd(),
    String.raw`CN=a\x`,
    String.raw`CN=\ff`,
    'CN=#05',
    'CN=#zz',
    'CN=a\0b',
    'CN= a',
    'CN=a ,O=b',
    `CN=${'+CN='.repeat(400)}`,
    `${'CN=a,'.repeat(400)}CN=a`,
  ]) {
    it(`reject ${JSON.stringify(text.slice(0, 30))}`, () => assert.equal(nameFromString(text), undefined))
  }

  it('are not read from invalid DER or an empty name', () => {
    const name = nameOf([['CN', 'client']])
    assert.equal(nameFromDer(Buffer.from('3000', 'hex')), undefined)
    assert.equal(nameFromDer(name.subarray(0, -1)), undefined)
    assert.equal(nameFromDer(Buffer.concat([name, Buffer.from([0])])), undefined)
    assert.equal(nameFromDer(Buffer.from('300431023000', 'hex')), undefined)
  })

  it('are compared by DER, not by OpenSSL’s text with line breaks', () => {
    const name = nameOf([['CN', 'evil\nO=Bank']])
    assert.match(new X509Certificate(issue({ name }).raw).subject, /Bank/)
    assert.notEqual(nameFromDer(name), nameFromDer(nameOf([['O', 'Bank']], [['CN', 'evil']])))
  })
})
