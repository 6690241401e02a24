import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isBlank, secretPolicy, secretProblem } from '../../../src/model/clients/secret-policy.ts'
import type { ZoneConfig } from '../../../src/model/zones/zone.ts'
import { zone } from '../../store/records.ts'

/** Of any JSON value, since UAA may have stored others than policies. */
const at = (clientSecretPolicy: unknown) => secretPolicy(zone({ config: { clientSecretPolicy } as ZoneConfig }))
const LEAST = (count: number, kind: string) => `Client Secret must contain at least ${count} ${kind} characters.`

describe('secretProblem', () => {
  const cases: readonly { name: string; policy: unknown; secret: string; problem: string | undefined }[] = [
    { name: 'accepts one character without a policy', policy: undefined, secret: 'x', problem: undefined },
    {
      name: 'limits secrets to 255 characters without a policy',
      policy: undefined,
      secret: 'x'.repeat(256),
      problem: 'Client Secret must be no more than 255 characters in length.',
    },
    // Partly covers clientSecretPolicy: global policy
    {
      name: 'ignores a zone’s policy without a minimum length',
      policy: { minLength: -1, maxLength: 3, requireDigit: 5 },
      secret: 'four',
      problem: undefined,
    },
    {
      name: 'uses only the zone’s policy if it sets a minimum length',
      policy: { minLength: 0 },
      secret: 'x'.repeat(300),
      problem: undefined,
    },
    {
      name: 'takes a maximum of zero or less as no limit',
      policy: { minLength: 1, maxLength: -1 },
      secret: 'x'.repeat(300),
      problem: undefined,
    },
    // Covers clientSecretPolicy: minLength
    {
      name: 'requires the minimum length',
      policy: { minLength: 5 },
      secret: 'four',
      problem: 'Client Secret must be at least 5 characters in length.',
    },
    // Covers clientSecretPolicy: maxLength
    {
      name: 'enforces the maximum length',
      policy: { minLength: 1, maxLength: 3 },
      secret: 'four',
      problem: 'Client Secret must be no more than 3 characters in length.',
    },
    // Covers clientSecretPolicy: requireUpperCaseCharacter
    {
      name: 'requires uppercase characters',
      policy: { minLength: 1, requireUpperCaseCharacter: 2 },
      secret: 'aBc',
      problem: LEAST(2, 'uppercase'),
    },
    // Covers clientSecretPolicy: requireLowerCaseCharacter
    {
      name: 'requires lowercase characters',
      policy: { minLength: 1, requireLowerCaseCharacter: 1 },
      secret: 'ABC',
      problem: LEAST(1, 'lowercase'),
    },
    // Covers clientSecretPolicy: requireDigit
    { name: 'requires digits', policy: { minLength: 1, requireDigit: 1 }, secret: 'abc', problem: LEAST(1, 'digit') },
    // Covers clientSecretPolicy: requireSpecialCharacter
    {
      name: 'requires special characters',
      policy: { minLength: 1, requireSpecialCharacter: 1 },
      secret: 'abc',
      problem: LEAST(1, 'special'),
    },
    {
      name: 'reports every violation, in order',
      policy: { minLength: 5, requireDigit: 1, requireUpperCaseCharacter: 1 },
      secret: 'four',
      problem: `Client Secret must be at least 5 characters in length. ${LEAST(1, 'digit')} ${LEAST(1, 'uppercase')}`,
    },
    { name: 'ignores an empty secret', policy: { minLength: 5 }, secret: '', problem: undefined },
    { name: 'ignores a secret of white space', policy: { minLength: 5 }, secret: ' \t', problem: undefined },
    { name: 'ignores a policy that is not an object', policy: 'strict', secret: 'x', problem: undefined },
    { name: 'ignores a policy that is an array', policy: [5], secret: 'x', problem: undefined },
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

  it('counts code points, not UTF-16 units', () => {
    assert.equal(secretProblem(at({ minLength: 1, maxLength: 2 }), '🔑🔑'), undefined)
    assert.notEqual(secretProblem(at({ minLength: 3 }), '🔑🔑'), undefined)
  })
})

describe('isBlank', () => {
  for (const [secret, blank] of [
    ['', true],
    [' \n', true],
    [' x', false],
    ['0', false],
  ] as const) {
    it(`is ${blank} for ${JSON.stringify(secret)}`, () => assert.equal(isBlank(secret), blank))
  }
})
