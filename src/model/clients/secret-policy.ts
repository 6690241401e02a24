// The rules of new client secrets (`config.clientSecretPolicy` of a zone), based on those of passwords.
import { memberOf } from '../../base/json.ts'
import { policyViolation } from '../users/password-policy.ts'
import type { PasswordPolicy } from '../users/password-policy.ts'
import type { Zone } from '../zones/zone.ts'

/** The rules of a client secret; 0: no requirement. */
export type SecretPolicy = Omit<
  PasswordPolicy,
  'expirePasswordInMonths' | 'passwordNewerThan' | 'refuseCommonPasswords' | 'refuseOwnWords'
>

/** The policy of zones without their own. */
const DEFAULT_POLICY: SecretPolicy = {
  minLength: 0,
  maxLength: 255,
  requireUpperCaseCharacter: 0,
  requireLowerCaseCharacter: 0,
  requireDigit: 0,
  requireSpecialCharacter: 0,
}

/** The zone's policy if it sets a minimum length, otherwise the server's. */
export function secretPolicy(zone: Zone): SecretPolicy {
  const own = zone.config.clientSecretPolicy
  const number = (name: string): number | undefined => {
    const value = memberOf(own, name)
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
  }
  const minLength = number('minLength')
  if (minLength === undefined) return DEFAULT_POLICY
  return {
    minLength,
    maxLength: number('maxLength') ?? 0,
    requireUpperCaseCharacter: number('requireUpperCaseCharacter') ?? 0,
    requireLowerCaseCharacter: number('requireLowerCaseCharacter') ?? 0,
    requireDigit: number('requireDigit') ?? 0,
    requireSpecialCharacter: number('requireSpecialCharacter') ?? 0,
  }
}

/** UAA: a blank secret counts as missing where one is required, but is stored if given. */
export const isBlank = (secret: string): boolean => secret.trim() === ''

/** The messages of all violated rules, in alphabetical order; a blank secret is not checked. */
export function secretProblem(policy: SecretPolicy, secret: string): string | undefined {
  if (isBlank(secret)) return undefined
  const asPassword = { ...policy, expirePasswordInMonths: 0 }
  return policyViolation(asPassword, secret, { minPasswordLength: 0 })?.replaceAll(
    'Password must',
    'Client Secret must',
  )
}
