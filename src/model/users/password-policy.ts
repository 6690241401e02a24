import type { Behaviour } from '../compatibility.ts'
import type { IdentityProvider } from '../zones/identity-provider.ts'
import type { User } from './user.ts'

/** The rules of new passwords and their expiry (`config.passwordPolicy` of the internal provider). */
export interface PasswordPolicy {
  /** If absent, the default of row P5 applies. */
  readonly minLength?: number
  /** 0: no limit. */
  readonly maxLength: number
  readonly requireUpperCaseCharacter: number
  readonly requireLowerCaseCharacter: number
  readonly requireDigit: number
  readonly requireSpecialCharacter: number
  /** 0: never. */
  readonly expirePasswordInMonths: number
  /** Passwords set before this time have expired. */
  readonly passwordNewerThan?: Date
  /** If absent, the default of row P7 applies. */
  readonly refuseCommonPasswords?: boolean
  /** If absent, the default of row P7 applies. */
  readonly refuseOwnWords?: boolean
}

type PolicyDefaults = Pick<Behaviour, 'minPasswordLength' | 'refuseGuessablePasswords'>

/** The maximum length of a password where a policy has none. */
export const DEFAULT_MAX_LENGTH = 255

/** The provider's policy; missing or invalid members have their defaults. */
export function passwordPolicy(provider: IdentityProvider | undefined): PasswordPolicy {
  const given = provider?.config['passwordPolicy']
  const members = typeof given === 'object' && given !== null ? given : {}
  const number = (name: keyof PasswordPolicy): number | undefined => {
    const value: unknown = Reflect.get(members, name)
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
  }
  const truth = (name: 'refuseCommonPasswords' | 'refuseOwnWords') => {
    const value: unknown = Reflect.get(members, name)
    return typeof value === 'boolean' ? { [name]: value } : {}
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
    ...truth('refuseCommonPasswords'),
    ...truth('refuseOwnWords'),
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
  /** Whether users need not see it. */
  readonly isObvious?: boolean
}

const count = (password: string, kind: RegExp): number => password.match(kind)?.length ?? 0

/** The rules in effect, in the order in which violations are reported. */
function rulesOf(policy: PasswordPolicy, { minPasswordLength }: Pick<Behaviour, 'minPasswordLength'>): readonly Rule[] {
  const minLength = Math.max(policy.minLength ?? minPasswordLength, 1) // never empty
  // NIST 800-63B §3.1.1.2: each code point is one character.
  const lengthOf = (password: string): number => Array.from(password).length
  const { maxLength } = policy
  const demand = (min: number, kind: RegExp, name: string): readonly Rule[] =>
    min === 0
      ? []
      : [
          {
            message: `Password must contain at least ${min} ${name} characters.`,
            holds: password => count(password, kind) >= min,
          },
        ]
  return [
    {
      message: `Password must be at least ${minLength} characters in length.`,
      holds: password => lengthOf(password) >= minLength,
      isObvious: minLength === 1,
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

const COMMON = 'Password must not be one of the most common passwords.'
const OWN_WORDS = 'Password must not be made of your name, your email address or the name of this site.'

/** Which guessable passwords are refused; see `guessable-password.ts`. */
export const refusedGuesses = (
  policy: PasswordPolicy,
  { refuseGuessablePasswords }: Pick<Behaviour, 'refuseGuessablePasswords'>,
): Guessable => ({
  common: policy.refuseCommonPasswords ?? refuseGuessablePasswords,
  ownWords: policy.refuseOwnWords ?? refuseGuessablePasswords,
})

/** What is known, or refused, of a password that is easily guessed. */
interface Guessable {
  readonly common: boolean
  readonly ownWords: boolean
}

const NOT_GUESSABLE: Guessable = { common: false, ownWords: false }

const guessMessages = ({ common, ownWords }: Guessable): readonly string[] => [
  ...(common ? [COMMON] : []),
  ...(ownWords ? [OWN_WORDS] : []),
]

/** The messages of all violated rules, in alphabetical order, as one string; undefined if there are none. */
export function policyViolation(
  policy: PasswordPolicy,
  password: string,
  behaviour: Pick<Behaviour, 'minPasswordLength'>,
  guessable: Guessable = NOT_GUESSABLE,
): string | undefined {
  const broken = rulesOf(policy, behaviour).filter(rule => !rule.holds(password))
  const messages = [...broken.map(({ message }) => message), ...guessMessages(guessable)]
  return messages.length === 0 ? undefined : messages.toSorted().join(' ')
}

/** The rules as messages, shown before a password is chosen. */
export const policyDemands = (policy: PasswordPolicy, behaviour: PolicyDefaults): readonly string[] => [
  ...rulesOf(policy, behaviour)
    .filter(rule => !rule.holds('') && rule.isObvious !== true)
    .map(({ message }) => message),
  ...guessMessages(refusedGuesses(policy, behaviour)),
]

/** Whether the user must change the password: it was required, or the password has expired. */
export function mustChangePassword(user: User, policy: PasswordPolicy, now: Date): boolean {
  if (user.passwordHash === undefined) return false // no password to change
  const { passwordNewerThan, expirePasswordInMonths } = policy
  if (user.passwordChangeRequired) return true
  if (passwordNewerThan !== undefined && passwordNewerThan > user.passwordChangedAt) return true
  return expirePasswordInMonths > 0 && addMonths(user.passwordChangedAt, expirePasswordInMonths) < now
}

/** The same day and time of a later month, or its last day if that is earlier. */
function addMonths(moment: Date, months: number): Date {
  const later = new Date(moment)
  later.setUTCMonth(moment.getUTCMonth() + months)
  // `setUTCMonth` overflows into the next month if the day does not exist.
  if (later.getUTCDate() !== moment.getUTCDate()) later.setUTCDate(0)
  return later
}
