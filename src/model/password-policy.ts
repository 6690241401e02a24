import type { Behaviour } from './compatibility.ts'
import type { IdentityProvider } from './identity-provider.ts'
import type { User } from './user.ts'

/** What a new password must be like, and how long one lasts (`config.passwordPolicy` of the internal provider). */
export interface PasswordPolicy {
  /** Absent where the policy is silent: then row P5 decides. */
  readonly minLength?: number
  /** 0 is no limit. */
  readonly maxLength: number
  readonly requireUpperCaseCharacter: number
  readonly requireLowerCaseCharacter: number
  readonly requireDigit: number
  readonly requireSpecialCharacter: number
  /** 0 is never. */
  readonly expirePasswordInMonths: number
  /** Passwords set before it have expired. */
  readonly passwordNewerThan?: Date
}

const DEFAULT_MAX_LENGTH = 255

/** The provider's policy; a member that is missing, or no number that could be meant, has its default. */
export function passwordPolicy(provider: IdentityProvider | undefined): PasswordPolicy {
  const given = provider?.config['passwordPolicy']
  const members = typeof given === 'object' && given !== null ? given : {}
  const number = (name: keyof PasswordPolicy): number | undefined => {
    const value: unknown = Reflect.get(members, name)
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
  }
  const minLength = number('minLength')
  const passwordNewerThan = momentOf(Reflect.get(members, 'passwordNewerThan'))
  return {
    ...(minLength !== undefined && { minLength }),
    maxLength: number('maxLength') ?? DEFAULT_MAX_LENGTH,
    requireUpperCaseCharacter: number('requireUpperCaseCharacter') ?? 0,
    requireLowerCaseCharacter: number('requireLowerCaseCharacter') ?? 0,
    requireDigit: number('requireDigit') ?? 0,
    requireSpecialCharacter: number('requireSpecialCharacter') ?? 0,
    expirePasswordInMonths: number('expirePasswordInMonths') ?? 0,
    ...(passwordNewerThan && { passwordNewerThan }),
  }
}

/** Milliseconds since 1970, as the provider API has it, or a date in ISO 8601. */
function momentOf(value: unknown): Date | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  const moment = new Date(value)
  return Number.isNaN(moment.getTime()) ? undefined : moment
}

interface Rule {
  readonly message: string
  readonly holds: (password: string) => boolean
  /** Whether it goes without saying. */
  readonly isObvious?: boolean
}

const count = (password: string, kind: RegExp): number => password.match(kind)?.length ?? 0

/** The rules in effect, in the order in which violations are reported. */
function rulesOf(policy: PasswordPolicy, { minPasswordLength }: Pick<Behaviour, 'minPasswordLength'>): readonly Rule[] {
  const least = Math.max(policy.minLength ?? minPasswordLength, 1) // nobody has no password
  // NIST 800-63B §3.1.1.2: each code point is one character.
  const lengthOf = (password: string): number => Array.from(password).length
  const { maxLength } = policy
  const demand = (most: number, kind: RegExp, name: string): readonly Rule[] =>
    most === 0
      ? []
      : [
          {
            message: `Password must contain at least ${most} ${name} characters.`,
            holds: password => count(password, kind) >= most,
          },
        ]
  return [
    {
      message: `Password must be at least ${least} characters in length.`,
      holds: password => lengthOf(password) >= least,
      isObvious: least === 1,
    },
    ...(maxLength === 0
      ? []
      : [
          {
            message: `Password must be no more than ${maxLength} characters in length.`,
            holds: (password: string) => lengthOf(password) <= maxLength,
          },
        ]),
    ...demand(policy.requireUpperCaseCharacter, /\p{Lu}/gu, 'uppercase'),
    ...demand(policy.requireLowerCaseCharacter, /\p{Ll}/gu, 'lowercase'),
    ...demand(policy.requireDigit, /\p{Nd}/gu, 'digit'),
    ...demand(policy.requireSpecialCharacter, /[\p{P}\p{S}]/gu, 'special'),
  ]
}

/** The sentences for every rule that the password breaks, in alphabetical order and as one text; undefined for none. */
export function policyViolation(
  policy: PasswordPolicy,
  password: string,
  behaviour: Pick<Behaviour, 'minPasswordLength'>,
): string | undefined {
  const broken = rulesOf(policy, behaviour).filter(rule => !rule.holds(password))
  return broken.length === 0
    ? undefined
    : broken
        .map(({ message }) => message)
        .toSorted()
        .join(' ')
}

/** The sentences for what a password needs, to be read before one is chosen. */
export const policyDemands = (
  policy: PasswordPolicy,
  behaviour: Pick<Behaviour, 'minPasswordLength'>,
): readonly string[] =>
  rulesOf(policy, behaviour)
    .filter(rule => !rule.holds('') && rule.isObvious !== true)
    .map(({ message }) => message)

/** Whether the person has to choose a new password: somebody said so, or the policy does of one so old. */
export function mustChangePassword(user: User, policy: PasswordPolicy, now: Date): boolean {
  if (user.passwordHash === undefined) return false // whoever has no password here has none to change
  const { passwordNewerThan, expirePasswordInMonths } = policy
  if (user.passwordChangeRequired) return true
  if (passwordNewerThan !== undefined && passwordNewerThan > user.passwordChangedAt) return true
  return expirePasswordInMonths > 0 && addMonths(user.passwordChangedAt, expirePasswordInMonths) < now
}

/** The same day and time of a later month, or its last day where that is earlier. */
function addMonths(moment: Date, months: number): Date {
  const later = new Date(moment)
  later.setUTCMonth(moment.getUTCMonth() + months)
  // A day that the month does not have became one of the next month.
  if (later.getUTCDate() !== moment.getUTCDate()) later.setUTCDate(0)
  return later
}
