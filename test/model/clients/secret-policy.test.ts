import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isBlank, secretPolicy, secretProblem } from '../../../src/model/clients/secret-policy.ts'
import type { ZoneConfig } from '../../../src/model/zones/zone.ts'
import { zone } from '../../store/records.ts'

/** Also of settings that another system stored. */
const at = (clientSecretPolicy: unknown) => secretPolicy(zone({ config: { clientSecretPolicy } as ZoneConfig }))
const LEAST = (count: number, kind: string) => `Client Secret must contain at least ${count} ${kind} characters.`

describe('the policy for client secrets', () => {
  const cases: readonly { name: string; policy: unknown; secret: string; problem: string | undefined }[] = [
    { name: 'is met by one character where there is none', policy: undefined, secret: 'x', problem: undefined },
    {
      name: 'allows 255 characters where there is none',
      policy: undefined,
      secret: 'x'.repeat(256),
      problem: 'Client Secret must be no more than 255 characters in length.',
    },
    // Partly covers clientSecretPolicy: global policy
    {
      name: 'is that of the server where the zone sets no least length, whatever else it sets',
      policy: { minLength: -1, maxLength: 3, requireDigit: 5 },
      secret: 'four',
      problem: undefined,
    },
    {
      name: 'is the whole of the zone where it sets a least length',
      policy: { minLength: 0 },
      secret: 'x'.repeat(300),
      problem: undefined,
    },
    {
      name: 'takes a most of zero or less for none',
      policy: { minLength: 1, maxLength: -1 },
      secret: 'x'.repeat(300),
      problem: undefined,
    },
    // Covers clientSecretPolicy: minLength
    {
      name: 'requires a least length',
      policy: { minLength: 5 },
      secret: 'four',
      problem: 'Client Secret must be at least 5 characters in length.',
    },
    // Covers clientSecretPolicy: maxLength
    {
      name: 'requires a most length',
      policy: { minLength: 1, maxLength: 3 },
      secret: 'four',
      problem: 'Client Secret must be no more than 3 characters in length.',
    },
    // Covers clientSecretPolicy: requireUpperCaseCharacter
    {
      name: 'wants uppercase characters',
      policy: { minLength: 1, requireUpperCaseCharacter: 2 },
      secret: 'aBc',
      problem: LEAST(2, 'uppercase'),
    },
    // Covers clientSecretPolicy: requireLowerCaseCharacter
    {
      name: 'wants lowercase characters',
      policy: { minLength: 1, requireLowerCaseCharacter: 1 },
      secret: 'ABC',
      problem: LEAST(1, 'lowercase'),
    },
    // Covers clientSecretPolicy: requireDigit
    { name: 'wants digits', policy: { minLength: 1, requireDigit: 1 }, secret: 'abc', problem: LEAST(1, 'digit') },
    // Covers clientSecretPolicy: requireSpecialCharacter
    {
      name: 'wants special characters',
      policy: { minLength: 1, requireSpecialCharacter: 1 },
      secret: 'abc',
      problem: LEAST(1, 'special'),
    },
    {
      name: 'reports everything that is missing, in order',
      policy: { minLength: 5, requireDigit: 1, requireUpperCaseCharacter: 1 },
      secret: 'four',
      problem: `Client Secret must be at least 5 characters in length. ${LEAST(1, 'digit')} ${LEAST(1, 'uppercase')}`,
    },
    { name: 'does not judge a blank secret', policy: { minLength: 5 }, secret: '', problem: undefined },
    { name: 'does not judge blanks', policy: { minLength: 5 }, secret: ' \t', problem: undefined },
    { name: 'is ignored if it is not an object', policy: 'strict', secret: 'x', problem: undefined },
    { name: 'is ignored if it is a list', policy: [5], secret: 'x', problem: undefined },
    {
      name: 'ignores members that are not numbers',
      policy: { minLength: 1, maxLength: '1', requireDigit: true, requireSpecialCharacter: 0.5 },
      secret: 'xx',
      problem: undefined,
    },
  ]
  for (const { name, policy, secret, problem } of cases) {
    it(name, () => assert.equal(secretProblem(at(policy), secret), problem))
  }

  it('counts characters, not their halves', () => {
    assert.equal(secretProblem(at({ minLength: 1, maxLength: 2 }), '🔑🔑'), undefined)
    assert.notEqual(secretProblem(at({ minLength: 3 }), '🔑🔑'), undefined)
  })
})

describe('a blank secret', () => {
  for (const [secret, blank] of [
    ['', true],
    [' \n', true],
    [' x', false],
    ['0', false],
  ] as const) {
    it(`${blank ? 'is' : 'is not'} ${JSON.stringify(secret)}`, () => assert.equal(isBlank(secret), blank))
  }
})
