import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { OAUTH_ERROR_STATUS, OAuthError } from '../../src/model/oauth-error.ts'
import type { OAuthErrorCode } from '../../src/model/oauth-error.ts'

describe('OAuthError', () => {
  const codes = Object.keys(OAUTH_ERROR_STATUS) as OAuthErrorCode[] // the keys of that very object

  it('has the default status of its code', () => {
    for (const code of codes) assert.equal(new OAuthError(code, 'text').status, OAUTH_ERROR_STATUS[code])
  })

  it('takes code and status from a row of the compatibility table', () => {
    const { error, status } = new OAuthError({ error: 'invalid_grant', status: 401 }, 'text')
    assert.deepEqual({ error, status }, { error: 'invalid_grant', status: 401 })
  })

  it('has error statuses only', () => {
    for (const code of codes) assert.ok(OAUTH_ERROR_STATUS[code] >= 400 && OAUTH_ERROR_STATUS[code] < 600, code)
  })

  it('keeps the public description apart from the logged detail', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (description, detail) => {
        const error = new OAuthError('invalid_grant', description, { detail })
        assert.deepEqual([error.message, error.detail, error.extra], [description, detail, {}])
      }),
    )
  })

  it('keeps cause, challenge and further members', () => {
    const cause = new Error('why')
    const error = new OAuthError('invalid_scope', 'text', { cause, challenge: 'Bearer', extra: { scope: 'a b' } })
    assert.equal(error.cause, cause)
    assert.equal(error.challenge, 'Bearer')
    assert.deepEqual(error.extra, { scope: 'a b' })
    assert.ok(!('cause' in new OAuthError('invalid_scope', 'text')))
  })
})
