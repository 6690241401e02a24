import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LANGUAGES } from '../../src/model/language.ts'
import { messageFor } from '../../src/pages/parts/messages.ts'
import { profileMessage } from '../../src/pages/accounts/profile.ts'
import { textsIn } from '../../src/pages/texts/texts.ts'

const english = textsIn('en')

describe('`messageFor`', () => {
  const errors = [
    'passkey_refused',
    'passkey_needs_password',
    'login_failure',
    'account_locked',
    'account_not_verified',
    'password_expired',
    'account_not_precreated',
    'invalid_login_request',
    'invalid_login_hint',
    'invalid_idp',
    'idp_not_found',
  ]
  const successes = ['verify_success', 'password_reset', 'invite_accepted', 'change_email_success']

  // Covers GET /login error codes: account_not_precreated; idp_not_found
  // Partly covers POST /login.do: error: password_expired
  it('has a text for every error of the login page', () => {
    assert.deepEqual(Object.keys(english.errors), [...errors, 'unknown'])
  })
  // Covers GET /login error codes: success `verify_success`; success `invite_accepted`; success `change_email_success`
  it('has a text for every success of the login page', () => {
    assert.deepEqual(Object.keys(english.successes), [...successes, 'unknown'])
  })
  for (const language of LANGUAGES) {
    it(`returns a distinct sentence for each code, in ${language}`, () => {
      const texts = textsIn(language)
      const sentences = [
        ...errors.map(code => messageFor(texts, 'error', code).text),
        ...successes.map(code => messageFor(texts, 'success', code).text),
      ]
      assert.equal(new Set(sentences).size, sentences.length)
      for (const sentence of sentences) assert.match(sentence, /^\p{L}.{7,}[.。]$/u)
    })
  }

  for (const code of ['', 'constructor', '__proto__', 'LOGIN_FAILURE', 'verify_success', '<b>You won</b>', 'unknown']) {
    it(`does not repeat an unknown code: ${JSON.stringify(code)}`, () => {
      assert.deepEqual(messageFor(english, 'error', code), { kind: 'error', text: 'Error!' })
      assert.deepEqual(messageFor(textsIn('de'), 'error', code), { kind: 'error', text: 'Fehler!' })
      assert.deepEqual(profileMessage(english, 'error', code), { kind: 'error', text: 'Error!' })
      assert.deepEqual(profileMessage(english, 'success', code), { kind: 'success', text: 'Success!' })
    })
  }
  it('returns Success! for an unknown success', () => {
    assert.deepEqual(messageFor(english, 'success', 'login_failure'), { kind: 'success', text: 'Success!' })
  })
})
