import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()
const load = (text: string) => loadText(folder, text)

describe('Server policies', () => {
  it('are absent by default', async () => {
    for (const text of ['{}', 'password: { policy: {} }\nauthentication: { policy: {} }']) {
      assert.deepEqual((await load(text)).policies, {})
    }
  })

  it('have UAA’s keys', async () => {
    const { policies, settings } = await load(`
password: { policy: { global: { minLength: 12, requireDigit: 1, expirePasswordInMonths: 6, refuseOwnWords: false } } }
authentication:
  enableUriEncodingCompatibilityMode: true
  policy: { global: { countFailuresWithinSeconds: 60 } }`)
    assert.deepEqual(policies, {
      passwordPolicy: { minLength: 12, requireDigit: 1, expirePasswordInMonths: 6, refuseOwnWords: false },
      lockoutPolicy: { lockoutAfterFailures: 5, countFailuresWithin: 60, lockoutPeriodSeconds: 300 },
    })
    assert.equal(settings.plainBasicCredentials, true)
  })

  for (const { name, text, want } of [
    {
      name: 'negative numbers and strings',
      text: 'password: { policy: { global: { minLength: -1, refuseOwnWords: "no" } } }',
      want: /password\.policy\.global\.minLength: .*password\.policy\.global\.refuseOwnWords: /s,
    },
    {
      name: 'impossible password lengths',
      text: 'password: { policy: { global: { minLength: 50, maxLength: 10 } } }',
      want: /^password\.policy\.global\.minLength: must not be greater than maxLength$/,
    },
    {
      name: 'unknown rules',
      text: 'authentication: { policy: { global: { countFailuresWithin: 1 } } }',
      want: /authentication\.policy\.global\.countFailuresWithin: /,
    },
  ]) {
    it(`reject ${name}`, async () => assert.match((await problemsOf(load(text))).join('\n'), want))
  }
})
