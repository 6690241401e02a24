import assert from 'node:assert/strict'
import fc from 'fast-check'
import { hasControlCharacter } from '../../../src/base/text/control-characters.ts'
import { canonicalDn, commonNameOf } from '../../../src/identity/directory/distinguished-name.ts'
import { dnValue, readFilter } from '../../../src/identity/directory/names.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { enteredUserCode } from '../../../src/model/tokens/device-code.ts'
import { parseLoginHint } from '../../../src/model/sessions/login-hint.ts'
import { enteredPasscode, parsePasscodeSignIn } from '../../../src/model/users/passcode.ts'
import { formatSavedRequest, parseSavedRequest } from '../../../src/model/sessions/session.ts'
import { keptUserAgent } from '../../../src/model/users/user-agent.ts'
import { nameAsEmail, userNameKey } from '../../../src/model/users/user.ts'
import { namesTag } from '../../../src/web/entity-tag.ts'
import { anyText, changed, jumble } from '../changes.ts'
import { target } from '../target.ts'

const template = await readFilter('(&(objectClass=person)(|(uid={0})(mail={0})))', 'userSearchFilter')
const shape = (text: string): string => text.replaceAll(/\((uid|mail)=[^()]*\)/g, '($1=)')
const SHAPE = shape(template({ '{0}': 'ann', '{1}': '' }).toString())

const TEXTS = [
  'ann@example.org',
  'BCDF-GHJK',
  'bcdfghjk',
  'ANN',
  '01234-56789-ABCDE-FGHJK',
  '{"origin":"okta"}',
  '%7B%22origin%22%3A%22okta%22%7D',
  '"etag-1", W/"2"',
  'cn=ann,dc=x',
  '+49 30 1234567',
  '/oauth/authorize?a=b#max_age=5#reauthenticate',
  'Mozilla/5.0 (X11) Firefox/1',
]
const PIECES = [
  '@',
  '*',
  '(',
  ')',
  '\\',
  '\\2a',
  '|',
  '&',
  '(uid=*)',
  ')(uid=*',
  ',',
  '+',
  '=',
  '"',
  '-',
  '_',
  ' ',
  'Ｂ',
  '#reauthenticate',
  '#max_age=1',
  '{',
  '}',
  '{0}',
  '{1}',
  '%',
  'o',
  'I',
]

/** Input of users and browsers: codes, names, addresses, hints. */
export const userInput = target({
  name: 'user-input',
  inputs: fc.oneof({ weight: 3, arbitrary: changed(fc.constantFrom(...TEXTS), PIECES) }, jumble(PIECES), anyText),
  check(text) {
    const code = enteredUserCode(text)
    if (code !== undefined) assert.equal(enteredUserCode(`${code.slice(0, 4)}-${code.slice(4)}`.toLowerCase()), code)
    for (const mode of ['standard', 'uaa'] as const) {
      const passcode = enteredPasscode(text, behaviourOf(mode))
      if (passcode !== undefined) assert.match(passcode, /^[\w-]{20,32}$/)
    }
    assert.ok(parsePasscodeSignIn(text).amr.every(each => typeof each === 'string'))
    const { origin, text: hint } = parseLoginHint(text)
    assert.ok((origin === undefined) !== (hint === undefined) && (hint ?? text) === text)
    const email = nameAsEmail(text)
    if (email !== undefined) assert.equal(email.split('@').filter(part => part !== '').length, 2)
    assert.equal(userNameKey(userNameKey(text)), userNameKey(text), 'a name with two keys')
    const agent = keptUserAgent(text)
    if (agent !== undefined) assert.match(agent, /^[\x21-\x7e](?:[\x20-\x7e]{0,254}[\x21-\x7e])?$/)
    const saved = parseSavedRequest(text)
    if (saved) assert.deepEqual(parseSavedRequest(formatSavedRequest(saved)), saved)
    assert.equal(namesTag(text, '"never-a-tag"') && !text.includes('never-a-tag'), text.trim() === '*')
    if (text.isWellFormed() && text !== '') {
      const value = dnValue(text)
      assert.ok(
        !hasControlCharacter(value.replace(/[\u0080-\u009f]/g, '')) &&
          !/(?:^|[^\\])[,+;<>"=]/.test(value.replaceAll('\\\\', '')),
      )
      assert.equal(commonNameOf(`cn=${value},dc=x`), text, 'another name in a DN')
      const canonical = canonicalDn(`cn=${value},dc=x`)
      if (canonical !== undefined) assert.equal(canonicalDn(canonical), canonical, 'a canonical form with another')
      assert.equal(shape(template({ '{0}': text, '{1}': '' }).toString()), SHAPE, 'another filter')
    }
    return code !== undefined || origin !== undefined || email !== undefined ? 'read' : 'refused'
  },
})
