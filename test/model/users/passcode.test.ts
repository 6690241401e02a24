import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRandom } from '../../../src/base/random.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { enteredPasscode, newPasscode, shownPasscode } from '../../../src/model/users/passcode.ts'

const random = createRandom()
const standard = behaviourOf('standard')
const uaa = behaviourOf('uaa')
const CODE = '01AB23CD45EF67GH89JK'

describe('Passcodes in standard', () => {
  it('are twenty unambiguous characters, shown in groups of four', () => {
    const code = newPasscode(random, standard)
    assert.match(code, /^[0-9A-HJKMNP-TV-Z]{20}$/)
    assert.match(shownPasscode(code, standard), /^(?:[0-9A-HJKMNP-TV-Z]{4}-){4}[0-9A-HJKMNP-TV-Z]{4}$/)
  })
  const ways = [
    { name: 'as shown', entered: '01AB-23CD-45EF-67GH-89JK' },
    { name: 'without separators', entered: CODE },
    { name: 'in lower case', entered: CODE.toLowerCase() },
    { name: 'with surrounding and inner white space', entered: ' 01ab 23cd 45ef 67gh 89jk\n' },
    { name: 'with the letters O and I instead of digits', entered: 'OiAB-23CD-45EF-67GH-89JK' },
    { name: 'with the letter l instead of a digit', entered: 'olAB-23CD-45EF-67GH-89JK' },
  ]
  for (const { name, entered } of ways) {
    it(`are accepted ${name}`, () => assert.equal(enteredPasscode(entered, standard), CODE))
  }
  const others = [
    '',
    '-',
    CODE.slice(1),
    `${CODE}0`,
    CODE.replace('A', 'U'),
    CODE.replace('A', 'ä'),
    CODE.replace('A', '_'),
  ]
  for (const entered of [...others, `${'-'.repeat(60)}${CODE}`, 'x'.repeat(100_000)]) {
    it(`reject ${JSON.stringify(entered.slice(0, 30))}`, () => {
      assert.equal(enteredPasscode(entered, standard), undefined)
    })
  }
})

describe('Passcodes in uaa', () => {
  it('are 32 characters, shown and compared unchanged', () => {
    const code = newPasscode(random, uaa)
    assert.match(code, /^[\w-]{32}$/)
    assert.equal(shownPasscode(code, uaa), code)
    assert.equal(enteredPasscode(code, uaa), code)
  })
  for (const entered of ['', CODE, 'x'.repeat(31), 'x'.repeat(33), ` ${'x'.repeat(32)}`]) {
    it(`reject ${JSON.stringify(entered)}`, () => assert.equal(enteredPasscode(entered, uaa), undefined))
  }
})
