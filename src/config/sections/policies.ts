// The keys `password.policy.global` and `authentication.policy.global`, as in UAA: the policies of every zone whose internal
// provider has none of its own.
import { behaviourOf } from '../../model/compatibility.ts'
import type { CompatibilityMode } from '../../model/compatibility.ts'
import { DEFAULT_MAX_LENGTH } from '../../model/users/password-policy.ts'
import { DEFAULT_LOCKOUT } from '../../model/zones/identity-provider.ts'
import type { GlobalPolicies, LockoutPolicy } from '../../model/zones/identity-provider.ts'
import { MAX_SECONDS } from '../../records/kinds.ts'
import type { Problems } from '../problems.ts'
import { section } from './section.ts'

const PASSWORD_RULES = {
  minLength: 'Minimum number of characters; by default 8, with compatibility: uaa none.',
  maxLength: 'Maximum number of characters, by default 255; 0: no limit.',
  requireUpperCaseCharacter: 'Minimum number of upper-case letters.',
  requireLowerCaseCharacter: 'Minimum number of lower-case letters.',
  requireDigit: 'Minimum number of digits.',
  requireSpecialCharacter: 'Minimum number of punctuation marks and symbols.',
  expirePasswordInMonths: 'Age in months at which a password must be changed; 0: never.',
} as const

const PASSWORD_CHECKS = {
  refuseCommonPasswords: 'Whether the most common passwords are refused; by default unless compatibility is uaa.',
  refuseOwnWords: 'Whether passwords made of the user’s own names are refused; by default unless compatibility is uaa.',
} as const

const LOCKOUT = {
  lockoutAfterFailures: 'Failed sign-ins that lock an account.',
  countFailuresWithinSeconds: 'Seconds within which failures count.',
  lockoutPeriodSeconds: 'Seconds that the lock lasts after the last counted failure.',
} as const

type Counts<T> = { readonly [K in keyof T]?: number }

/** The keys in the configuration file. */
export interface PoliciesFile {
  readonly password?: {
    readonly policy?: {
      readonly global?: Counts<typeof PASSWORD_RULES> & { readonly [K in keyof typeof PASSWORD_CHECKS]?: boolean }
    }
  }
  readonly authentication?: { readonly policy?: { readonly global?: Counts<typeof LOCKOUT> } }
}

const count = (description: string) => ({ type: 'integer', minimum: 0, maximum: MAX_SECONDS, description }) as const
const counts = (described: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(described).map(([name, description]) => [name, count(description)]))
const checks = Object.fromEntries(
  Object.entries(PASSWORD_CHECKS).map(([name, description]) => [name, { type: 'boolean', description }]),
)

/** JSON Schema of `password`. */
export const passwordSchema = section('Passwords.', {
  policy: section('The rules of new passwords.', {
    global: section('For every zone whose internal provider has no passwordPolicy.', {
      ...counts(PASSWORD_RULES),
      ...checks,
    }),
  }),
})

/** JSON Schema of `authentication.policy`. */
export const lockoutSchema = section('When failed sign-ins lock an account.', {
  global: section('For every zone whose internal provider has no lockoutPolicy.', counts(LOCKOUT)),
})

/** The policies, as far as their types are correct; reports lengths that no password has. */
export function policiesOf(
  file: PoliciesFile,
  { compatibility, problems }: { readonly compatibility: CompatibilityMode; readonly problems: Problems },
): GlobalPolicies {
  const passwordPolicy = problems.hasValidTypes('password') ? file.password?.policy?.global : undefined
  if (passwordPolicy) checkLengths(passwordPolicy, behaviourOf(compatibility).minPasswordLength, problems)
  const lockout = problems.hasValidTypes('authentication') ? file.authentication?.policy?.global : undefined
  return {
    ...(passwordPolicy && { passwordPolicy: { ...passwordPolicy } }),
    ...(lockout && { lockoutPolicy: lockoutOf(lockout) }),
  }
}

function checkLengths(
  { minLength, maxLength }: { readonly minLength?: number; readonly maxLength?: number },
  defaultMin: number,
  problems: Problems,
): void {
  const max = maxLength ?? DEFAULT_MAX_LENGTH
  if (max === 0 || (minLength ?? defaultMin) <= max) return // 0: no limit
  const key = 'password.policy.global'
  if (minLength === undefined)
    problems.add(`${key}.maxLength`, `must not be less than minLength, by default ${defaultMin}`)
  else
    problems.add(
      `${key}.minLength`,
      `must not be greater than maxLength${maxLength === undefined ? `, by default ${max}` : ''}`,
    )
}

const lockoutOf = ({
  lockoutAfterFailures = DEFAULT_LOCKOUT.lockoutAfterFailures,
  countFailuresWithinSeconds = DEFAULT_LOCKOUT.countFailuresWithin,
  lockoutPeriodSeconds = DEFAULT_LOCKOUT.lockoutPeriodSeconds,
}: Counts<typeof LOCKOUT>): LockoutPolicy => ({
  lockoutAfterFailures,
  countFailuresWithin: countFailuresWithinSeconds,
  lockoutPeriodSeconds,
})
