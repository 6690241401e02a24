import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { messageCodes, messageFor } from '../../src/pages/messages.ts'

describe('the message for a code', () => {
  const errors = [
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

  it('exists for every error of the login page', () => assert.deepEqual(messageCodes('error'), errors))
  it('exists for every success of the login page', () => assert.deepEqual(messageCodes('success'), successes))
  it('is a sentence of its own for each', () => {
    const texts = [
      ...errors.map(code => messageFor('error', code).text),
      ...successes.map(code => messageFor('success', code).text),
    ]
    assert.equal(new Set(texts).size, texts.length)
    for (const text of texts) assert.match(text, /^[A-Z].{20,}\.$/)
  })

  for (const code of ['', 'constructor', '__proto__', 'LOGIN_FAILURE', 'verify_success', '<b>You won</b>']) {
    it(`never repeats an unknown code: ${JSON.stringify(code)}`, () => {
      assert.deepEqual(messageFor('error', code), { kind: 'error', text: 'Error!' })
    })
  }
  it('says no more than Success! for an unknown success', () => {
    assert.deepEqual(messageFor('success', 'login_failure'), { kind: 'success', text: 'Success!' })
  })
})
