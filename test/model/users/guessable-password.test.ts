import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isCommonPassword, isMadeOfNames, namesInEmail } from '../../../src/model/users/guessable-password.ts'

const LIST = new Set(['password', 'dragon', 'sunshine', 'q1w2e3r4', 'trustno1', 'll', '12345'])
const isCommon = (password: string): boolean => isCommonPassword(password, each => LIST.has(each))

describe('isCommonPassword', () => {
  const cases: readonly (readonly [password: string, want: boolean])[] = [
    ['password', true],
    ['PassWord', true],
    ['Ｐａｓｓｗｏｒｄ', true],
    ['pässwörd', true],
    ['P@ssw0rd', true],
    ['$un5h1ne', true],
    ['trustno1', true],
    ['Dragon2026!', true],
    ['2026dragon', true],
    ['!!dragon!!!', true],
    ['dragon:2026:', true],
    ['dragon1234567', false],
    ['dragonfly', false],
    ['Q1W2e3r4!', true],
    ['passwordpassword', true],
    ['PasswordPassword1', false],
    ['zzzzzzzzzz', true],
    ['abababababab', true],
    ['xyzxyzxyz', true],
    ['x9Kq x9Kq ', false],
    ['ghijklmnop', true],
    ['0987654321', true],
    ['6789012345', true],
    ['zyxwvuts', true],
    ['7531902468', false],
    ['12345678901234567890', true],
    ['12345-99', false], // around a word only
    ['correct horse battery staple', false],
    ['x', false],
    ['', false],
    ['z'.repeat(255), true],
    ['z'.repeat(256), false], // too long for any list
  ]
  for (const [password, want] of cases) {
    it(`is ${want} for ${JSON.stringify(password.slice(0, 40))} (${password.length})`, () => {
      assert.equal(isCommon(password), want)
    })
  }
})

describe('isMadeOfNames', () => {
  const names = [
    'marissa.kowalska77',
    ...namesInEmail('m.kowalska@mail.corp.example'),
    'Márissa',
    'Kowalska',
    'Shop',
    'svc',
  ]
  const cases: readonly (readonly [password: string, want: boolean])[] = [
    ['marissa', true],
    ['MARISSA2026!', true],
    ['marissa123456', true],
    ['marissa1234567', false],
    ['M4r1ss4!', true],
    ['márissa-kowalska', true],
    ['kowalska.marissa', true],
    ['marissa.kowalska77', true],
    ['m.kowalska@mail.corp.example', false], // the top-level domain counts as seven more characters
    ['corp-mail-2026', true],
    ['shopshopshop', true],
    ['svc-Marissa', true],
    ['SVC12345', true],
    ['marissa likes tea', false],
    ['example-tea-pot', false],
    ['heron nest 41', false],
    ['12345', false], // short, but none of the names
    ['', false],
  ]
  for (const [password, want] of cases) {
    it(`is ${want} for ${JSON.stringify(password)}`, () => assert.equal(isMadeOfNames(password, names), want))
  }

  it('ignores names shorter than three characters', () => {
    assert.equal(isMadeOfNames('jo-2026', ['jo', '', '-']), false)
    assert.equal(isMadeOfNames('jdo2026', ['j.do']), true, 'without its separators')
  })
  it('does not read names as regular expressions', () => {
    assert.equal(isMadeOfNames('heron nest', ['.*', '[a-z]+', '(?:)']), false)
  })
})

describe('namesInEmail', () => {
  for (const { email, want } of [
    { email: 'ann@corp.example', want: ['ann', 'corp'] },
    { email: '"a@b"@x.y.example', want: ['"a@b"', 'x', 'y'] },
    { email: 'none', want: ['none'] },
    { email: '', want: [''] },
    { email: 'ann@', want: ['ann'] },
  ]) {
    it(`splits ${JSON.stringify(email)}`, () => assert.deepEqual(namesInEmail(email), want))
  }
})
