import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { IdentityProvider } from '../../../src/model/zones/identity-provider.ts'
import type { PasswordPolicy } from '../../../src/model/users/password-policy.ts'
import {
  mustChangePassword,
  passwordPolicy,
  policyDemands,
  policyViolation,
} from '../../../src/model/users/password-policy.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { user } from '../../store/records.ts'
import { anyCodePoint } from '../../support/code-points.ts'

const standard = behaviourOf('standard')
const uaa = behaviourOf('uaa')

const provider = (policy: unknown): IdentityProvider => ({
  zoneId: 'z1',
  id: 'p1',
  originKey: 'svc',
  type: 'svc',
  name: 'svc',
  active: true,
  config: { passwordPolicy: policy },
  version: 0,
  createdAt: new Date(0),
  updatedAt: new Date(0),
})

const DEFAULTS: PasswordPolicy = {
  maxLength: 255,
  requireUpperCaseCharacter: 0,
  requireLowerCaseCharacter: 0,
  requireDigit: 0,
  requireSpecialCharacter: 0,
  expirePasswordInMonths: 0,
}
const policy = (change: Partial<PasswordPolicy> = {}): PasswordPolicy => ({ ...DEFAULTS, ...change })

describe('passwordPolicy', () => {
  const full = {
    minLength: 12,
    maxLength: 64,
    requireUpperCaseCharacter: 1,
    requireLowerCaseCharacter: 2,
    requireDigit: 3,
    requireSpecialCharacter: 4,
    expirePasswordInMonths: 6,
  }
  const cases: readonly { name: string; given: unknown; want: PasswordPolicy }[] = [
    { name: 'reads every member', given: full, want: full },
    { name: 'has defaults if absent', given: undefined, want: DEFAULTS },
    { name: 'has defaults for null', given: null, want: DEFAULTS },
    { name: 'has defaults for a string', given: 'strict', want: DEFAULTS },
    { name: 'rejects negative numbers', given: { minLength: -1, maxLength: -1 }, want: DEFAULTS },
    { name: 'rejects fractions', given: { minLength: 8.5 }, want: DEFAULTS },
    { name: 'rejects numbers in strings', given: { minLength: '8' }, want: DEFAULTS },
    {
      name: 'distinguishes a minimum of 0 from an absent one',
      given: { minLength: 0 },
      want: policy({ minLength: 0 }),
    },
    {
      name: 'reads passwordNewerThan in milliseconds',
      given: { passwordNewerThan: 1_700_000_000_000 },
      want: policy({ passwordNewerThan: new Date(1_700_000_000_000) }),
    },
    {
      name: 'reads passwordNewerThan as a date',
      given: { passwordNewerThan: '2026-01-02T03:04:05.000Z' },
      want: policy({ passwordNewerThan: new Date('2026-01-02T03:04:05Z') }),
    },
    {
      name: 'reads the rules for guessable passwords',
      given: { refuseCommonPasswords: false, refuseOwnWords: true },
      want: policy({ refuseCommonPasswords: false, refuseOwnWords: true }),
    },
    {
      name: 'rejects other values for booleans',
      given: { refuseCommonPasswords: 'false', refuseOwnWords: 0 },
      want: DEFAULTS,
    },
    { name: 'ignores passwordNewerThan: null', given: { passwordNewerThan: null }, want: DEFAULTS },
    { name: 'ignores an invalid passwordNewerThan', given: { passwordNewerThan: 'soon' }, want: DEFAULTS },
  ]
  for (const { name, given, want } of cases) {
    it(name, () => assert.deepEqual(passwordPolicy(provider(given)), want))
  }
  it('has defaults without a provider', () => assert.deepEqual(passwordPolicy(undefined), DEFAULTS))
})

describe('policyViolation', () => {
  const cases: readonly { policy?: Partial<PasswordPolicy>; password: string; want: string | undefined }[] = [
    { password: 'eight888', want: undefined },
    { password: 'seven77', want: 'Password must be at least 8 characters in length.' },
    { policy: { minLength: 0 }, password: 'x', want: undefined },
    { policy: { minLength: 0 }, password: '', want: 'Password must be at least 1 characters in length.' },
    // Covers passwordPolicy: minLength
    // Covers config of type uaa: passwordPolicy.minLength
    { policy: { minLength: 3 }, password: 'ab', want: 'Password must be at least 3 characters in length.' },
    { password: 'x'.repeat(255), want: undefined },
    { password: 'x'.repeat(256), want: 'Password must be no more than 255 characters in length.' },
    // Covers passwordPolicy: maxLength
    // Covers config of type uaa: passwordPolicy.maxLength
    { policy: { maxLength: 0 }, password: 'x'.repeat(5000), want: undefined },
    { policy: { minLength: 4, maxLength: 4 }, password: '🔑🔑🔑🔑', want: undefined },
    // Covers passwordPolicy: requireUpperCaseCharacter
    // Covers config of type uaa: passwordPolicy.requireUpperCaseCharacter
    {
      policy: { requireUpperCaseCharacter: 2 },
      password: 'Abcdefgh',
      want: 'Password must contain at least 2 uppercase characters.',
    },
    { policy: { requireUpperCaseCharacter: 1 }, password: 'Ärgerlich', want: undefined },
    // Covers passwordPolicy: requireLowerCaseCharacter
    // Covers config of type uaa: passwordPolicy.requireLowerCaseCharacter
    {
      policy: { requireLowerCaseCharacter: 1 },
      password: 'ABCDEFGH',
      want: 'Password must contain at least 1 lowercase characters.',
    },
    // Covers passwordPolicy: requireDigit
    // Covers config of type uaa: passwordPolicy.requireDigit
    { policy: { requireDigit: 1 }, password: 'abcdefgh', want: 'Password must contain at least 1 digit characters.' },
    {
      policy: { requireSpecialCharacter: 1 },
      password: 'abc defg1',
      want: 'Password must contain at least 1 special characters.',
    },
    // Covers passwordPolicy: requireSpecialCharacter
    // Covers config of type uaa: passwordPolicy.requireSpecialCharacter
    { policy: { requireSpecialCharacter: 3 }, password: 'abcd!$_efg', want: undefined },
    {
      policy: {
        requireUpperCaseCharacter: 1,
        requireLowerCaseCharacter: 1,
        requireDigit: 1,
        requireSpecialCharacter: 1,
      },
      password: '   ',
      want:
        'Password must be at least 8 characters in length. Password must contain at least 1 digit characters. ' +
        'Password must contain at least 1 lowercase characters. Password must contain at least 1 special characters. ' +
        'Password must contain at least 1 uppercase characters.',
    },
  ]
  for (const { policy: change = {}, password, want } of cases) {
    const shown = password.length > 30 ? `${password.length} characters` : JSON.stringify(password)
    it(`returns ${want === undefined ? 'nothing' : JSON.stringify(want)} for ${shown}`, () => {
      assert.equal(policyViolation(policy(change), password, standard), want)
    })
  }

  // Covers compatibility: pages, headers, cookies: P5 password policy
  it('defaults to a minimum of eight characters in standard and one in uaa (P5)', () => {
    assert.equal(policyViolation(policy(), 'x', uaa), undefined)
    assert.equal(policyViolation(policy(), '', uaa), 'Password must be at least 1 characters in length.')
    assert.match(String(policyViolation(policy(), 'x', standard)), /at least 8/)
  })

  const policies = fc.record({
    minLength: fc.nat(20),
    maxLength: fc.nat(40),
    requireUpperCaseCharacter: fc.nat(3),
    requireLowerCaseCharacter: fc.nat(3),
    requireDigit: fc.nat(3),
    requireSpecialCharacter: fc.nat(3),
    expirePasswordInMonths: fc.constant(0),
  })
  const passwords = fc.string({ unit: anyCodePoint, maxLength: 60 })

  // Covers passwordPolicy: all violations in one text
  it('lists each violation once, in order, for any password', () => {
    fc.assert(
      fc.property(policies, passwords, (given, password) => {
        const text = policyViolation(given, password, standard) ?? ''
        const sentences = text === '' ? [] : text.split(/(?<=\.) /)
        assert.deepEqual(sentences, [...new Set(sentences)].toSorted())
        for (const sentence of sentences) assert.match(sentence, /^Password must .+ characters( in length)?\.$/)
      }),
    )
  })

  it('never violates more rules but the maximum length for a longer password', () => {
    fc.assert(
      fc.property(policies, passwords, passwords, (given, password, more) => {
        const broken = (text: string) => policyViolation({ ...given, maxLength: 0 }, text, standard)?.length ?? 0
        assert.ok(broken(password + more) <= broken(password) || !(password + more).isWellFormed())
      }),
    )
  })

  it('accepts a password with enough characters of every kind', () => {
    fc.assert(
      fc.property(policies, given => {
        const password = 'Aa1!'.repeat(20)
        assert.equal(policyViolation({ ...given, maxLength: 0 }, password, standard), undefined)
      }),
    )
  })
})

describe('policyDemands', () => {
  it('lists the rules of the policy that are not trivial', () => {
    assert.deepEqual(policyDemands(policy({ requireDigit: 2 }), standard), [
      'Password must be at least 8 characters in length.',
      'Password must contain at least 2 digit characters.',
      'Password must not be one of the most common passwords.',
      'Password must not be made of your name, your email address or the name of this site.',
    ])
    assert.deepEqual(policyDemands(policy(), uaa), [])
    const off = { refuseCommonPasswords: false, refuseOwnWords: false }
    assert.deepEqual(policyDemands(policy(off), standard), ['Password must be at least 8 characters in length.'])
    assert.equal(policyDemands(policy({ refuseOwnWords: true }), uaa).length, 1)
  })
})

describe('mustChangePassword', () => {
  const changed = new Date('2026-01-31T12:00:00Z')
  const account = user({ passwordHash: 'h', passwordChangedAt: changed })
  const after = (text: string) => new Date(text)
  const cases = [
    { name: 'is false by default', now: after('2036-01-31T12:00:00Z'), want: false },
    { name: 'is true if a change is required', now: changed, user: { passwordChangeRequired: true }, want: true },
    {
      name: 'is false for a user without a password',
      now: changed,
      user: { passwordChangeRequired: true, passwordHash: undefined },
      want: false,
    },
    {
      name: 'is false on the last day of a short month',
      now: after('2026-02-28T12:00:00Z'),
      policy: { expirePasswordInMonths: 1 },
      want: false,
    },
    {
      name: 'is true after the last day of a short month',
      now: after('2026-02-28T12:00:01Z'),
      policy: { expirePasswordInMonths: 1 },
      want: true,
    },
    {
      name: 'is false up to the same day of a later year',
      now: after('2027-01-31T12:00:00Z'),
      policy: { expirePasswordInMonths: 12 },
      want: false,
    },
    {
      name: 'is true after the same day of a later year',
      now: after('2027-01-31T12:00:00.001Z'),
      policy: { expirePasswordInMonths: 12 },
      want: true,
    },
    {
      name: 'is false for more months than dates can represent',
      now: after('2036-01-31T12:00:00Z'),
      policy: { expirePasswordInMonths: Number.MAX_SAFE_INTEGER },
      want: false,
    },
    {
      name: 'is true for a password older than passwordNewerThan',
      now: changed,
      policy: { passwordNewerThan: after('2026-01-31T12:00:00.001Z') },
      want: true,
    },
    {
      name: 'is false for a password set exactly at passwordNewerThan',
      now: changed,
      policy: { passwordNewerThan: changed },
      want: false,
    },
  ]
  for (const { name, now, user: change = {}, policy: rules = {}, want } of cases) {
    it(name, () => {
      const { passwordHash: _, ...without } = account
      const given = 'passwordHash' in change ? { ...without, passwordChangeRequired: true } : { ...account, ...change }
      assert.equal(mustChangePassword(given, policy(rules), now), want)
    })
  }
})
