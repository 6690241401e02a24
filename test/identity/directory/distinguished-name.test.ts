import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { canonicalDn, commonNameOf } from '../../../src/identity/directory/distinguished-name.ts'

describe('commonNameOf', () => {
  const names: readonly (readonly [dn: string, name: string | undefined])[] = [
    ['cn=readers,dc=x', 'readers'],
    ['CN = Domain Users ,DC=x', 'Domain Users'],
    ['cn=a\\,b\\+c,dc=x', 'a,b+c'],
    ['cn=a\\2cb,dc=x', 'a,b'],
    ['cn=J\\c3\\bcrgen+uid=1,dc=x', 'Jürgen'],
    ['ou=x,cn=y', undefined],
    ['', undefined],
  ]
  for (const [dn, name] of names) it(`returns ${name} for "${dn}"`, () => assert.equal(commonNameOf(dn), name))
})

describe('canonicalDn (RFC 4514, RFC 4517)', () => {
  const same: readonly (readonly string[])[] = [
    ['cn=readers,ou=groups,dc=x', 'CN=Readers,OU=Groups,DC=X', ' cn = readers , ou = groups , dc = x '],
    ['cn=domain users,dc=x', 'cn=Domain  Users,dc=x', 'cn=domain\\20users,dc=x', 'cn=\\ domain users\\ ,dc=x'],
    ['cn=a\\,b,dc=x', 'cn=a\\2Cb,dc=x', 'CN=A\\2cB,DC=x'],
    ['cn=a\\+b\\\\c,dc=x', 'cn=a\\2bb\\5cc,dc=x'],
    ['cn=a=b,dc=x', 'cn=a\\=b,dc=x', 'cn=a\\3db,dc=x'],
    ['cn=\\#1,dc=x', 'cn=\\231,dc=x'],
    ['cn=jürgen,dc=x', 'cn=J\\c3\\bcrgen,dc=x', 'cn=J\\C3\\9CRGEN,dc=x'],
    ['cn=x+uid=1,dc=x', 'uid=1+cn=x,dc=x', 'UID = 1 + CN = X,dc=x'],
    ['2.5.4.3=#04024869', '2.5.4.3 = #04024869 '],
    ['cn=,dc=x', 'cn= ,dc=x'],
  ]
  for (const [canonical = '', ...others] of same) {
    it(`unifies the spellings of ${canonical}`, () => {
      for (const text of [canonical, ...others]) assert.equal(canonicalDn(text), canonical, text)
    })
  }

  it('distinguishes different names', () => {
    const texts = [
      'cn=a,dc=x',
      'cn=a,dc=y',
      'cn=a',
      'dc=x,cn=a',
      'ou=a,dc=x',
      'cn=a\\,dc=x',
      'cn=a+dc=x',
      'cn=a b,dc=x',
      'cn=ab,dc=x',
      'cn=#61,dc=x',
      'cn=\\#61,dc=x',
      'cn=a,uid=1+cn=b',
      'cn=a+uid=1,cn=b',
    ]
    assert.equal(new Set(texts.map(canonicalDn)).size, texts.length)
  })

  const none = [
    '',
    ' ',
    'staff',
    'cn',
    '=a',
    'cn=a,',
    ',cn=a',
    'cn=a,,dc=x',
    'cn=a+',
    'cn=a\\',
    'c n=a',
    'cn=#6',
    'cn=#zz',
  ]
  const odd = ['cn=\\ff,dc=x', 'cn=\\fe,dc=x', 'cn=\u212aiosk,dc=x', 'cn=\\e2\\84\\aaiosk,dc=x']
  for (const text of [...none, ...odd]) {
    it(`returns undefined for "${text}"`, () => assert.equal(canonicalDn(text), undefined))
  }
})
