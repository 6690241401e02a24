import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRandom } from '../../../src/base/random.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { enteredPasscode, newPasscode, shownPasscode } from '../../../src/model/users/passcode.ts'

const random = createRandom()
const standard = behaviourOf('standard')
const uaa = behaviourOf('uaa')
const CODE = '01AB23CD45EF67GH89JK'

describe('a passcode in standard', () => {
  it('is twenty unambiguous characters, shown in groups of four', () => {
    const code = newPasscode(random, standard)
    assert.match(code, /^[0-9A-HJKMNP-TV-Z]{20}$/)
    assert.match(shownPasscode(code, standard), /^(?:[0-9A-HJKMNP-TV-Z]{4}-){4}[0-9A-HJKMNP-TV-Z]{4}$/)
  })
  const ways = [
    { name: 'as it is shown', entered: '01AB-23CD-45EF-67GH-89JK' },
    { name: 'without separators', entered: CODE },
    { name: 'in small letters', entered: CODE.toLowerCase() },
    { name: 'with blanks round and in it', entered: ' 01ab 23cd 45ef 67gh 89jk\n' },
    { name: 'with letters that look like its digits', entered: 'OiAB-23CD-45EF-67GH-89JK' },
    { name: 'with the letter l', entered: 'olAB-23CD-45EF-67GH-89JK' },
  ]
  for (const { name, entered } of ways) {
    it(`counts ${name}`, () => assert.equal(enteredPasscode(entered, standard), CODE))
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
    it(`is not ${JSON.stringify(entered.slice(0, 30))}`, () => {
      assert.equal(enteredPasscode(entered, standard), undefined)
    })
  }
})

describe('a passcode in uaa', () => {
  it('is 32 characters, compared and shown as they are', () => {
    const code = newPasscode(random, uaa)
    assert.match(code, /^[\w-]{32}$/)
    assert.equal(shownPasscode(code, uaa), code)
    assert.equal(enteredPasscode(code, uaa), code)
  })
  for (const entered of ['', CODE, 'x'.repeat(31), 'x'.repeat(33), ` ${'x'.repeat(32)}`]) {
    it(`is not ${JSON.stringify(entered)}`, () => assert.equal(enteredPasscode(entered, uaa), undefined))
  }
})
