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

  for (const lengths of ['minLength: 300, maxLength: 0', 'maxLength: 8', 'minLength: 255']) {
    it(`accept ${lengths}`, async () => {
      await load(`password: { policy: { global: { ${lengths} } } }`)
      await load(`compatibility: uaa\npassword: { policy: { global: { ${lengths}, requireDigit: 1 } } }`)
    })
  }

  it('have no minimum by default in uaa', async () => {
    await load('compatibility: uaa\npassword: { policy: { global: { maxLength: 4 } } }')
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
      name: 'a minimum beyond the usual maximum',
      text: 'password: { policy: { global: { minLength: 300 } } }',
      want: /^password\.policy\.global\.minLength: must not be greater than maxLength, by default 255$/,
    },
    {
      name: 'a maximum below the usual minimum',
      text: 'password: { policy: { global: { maxLength: 7 } } }',
      want: /^password\.policy\.global\.maxLength: must not be less than minLength, by default 8$/,
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
