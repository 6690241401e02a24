// What a new client secret must be like (`config.clientSecretPolicy` of a zone): the rules of passwords in other words.
import { memberOf } from '../base/json.ts'
import { policyViolation } from './password-policy.ts'
import type { PasswordPolicy } from './password-policy.ts'
import type { Zone } from './zone.ts'

/** Demands on a client secret; 0 is none, of the length as well. */
export type SecretPolicy = Omit<PasswordPolicy, 'expirePasswordInMonths' | 'passwordNewerThan'>

/** What holds in a zone without a policy of its own. */
const DEFAULT_POLICY: SecretPolicy = {
  minLength: 0,
  maxLength: 255,
  requireUpperCaseCharacter: 0,
  requireLowerCaseCharacter: 0,
  requireDigit: 0,
  requireSpecialCharacter: 0,
}

/** The zone's own policy when it sets a least length, and then all of it; otherwise that of the server. */
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

/** UAA: what counts as no secret when one is asked for, although it is kept as one when it is given. */
export const isBlank = (secret: string): boolean => secret.trim() === ''

/** The sentences for every demand that the secret does not meet, in alphabetical order; a blank one is not judged. */
export function secretProblem(policy: SecretPolicy, secret: string): string | undefined {
  if (isBlank(secret)) return undefined
  const asPassword = { ...policy, expirePasswordInMonths: 0 }
  return policyViolation(asPassword, secret, { minPasswordLength: 0 })?.replaceAll(
    'Password must',
    'Client Secret must',
  )
}
