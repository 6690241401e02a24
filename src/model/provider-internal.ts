// The record of the internal provider (§6.3): what passwords must be like, and when an account is locked.
import { isJsonRecord } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import { COMMON_MEMBERS, FLAG, isWhole, member } from './provider-members.ts'
import type { Kind } from './provider-members.ts'
import type { ProviderProblem, ProviderRecordType } from './provider-types.ts'

/** All of them, or the policy would count as absent. */
const POLICIES = {
  passwordPolicy: [
    'minLength',
    'maxLength',
    'requireUpperCaseCharacter',
    'requireLowerCaseCharacter',
    'requireDigit',
    'requireSpecialCharacter',
    'expirePasswordInMonths',
  ],
  lockoutPolicy: ['countFailuresWithin', 'lockoutAfterFailures', 'lockoutPeriodSeconds'],
} as const

const NEWER_THAN = 'passwordNewerThan'

/** The numbers of a policy, in the order of the page; what is wrong with them is found by `checkPolicy`. */
const policy = (numbers: readonly string[]): Kind => ({
  expected: 'an object',
  read: value =>
    isJsonRecord(value)
      ? Object.fromEntries(numbers.flatMap(name => (Object.hasOwn(value, name) ? [[name, value[name]]] : [])))
      : undefined,
})

/** The same with a moment, which is kept as milliseconds; a member that is not known is kept to be refused. */
const PASSWORD_POLICY: Kind = {
  expected: 'an object',
  read: value =>
    isJsonRecord(value)
      ? {
          ...Object(policy(POLICIES.passwordPolicy).read(value)),
          ...value,
          [NEWER_THAN]: millisecondsOf(value[NEWER_THAN] ?? null),
        }
      : undefined,
}

/** Of a date in ISO 8601; anything else stays what it is. */
function millisecondsOf(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT/.test(value)) return value
  const time = Date.parse(value)
  return Number.isNaN(time) ? value : time
}

/** Further from 1970 than this no date reaches (ECMA-262 §21.4.1.1). */
const LAST_MOMENT = 8.64e15

function checkPolicy(config: JsonRecord, name: keyof typeof POLICIES): readonly ProviderProblem[] {
  const given = config[name]
  if (!isJsonRecord(given)) return []
  const numbers: readonly string[] = POLICIES[name]
  const problems = numbers.flatMap((each): readonly ProviderProblem[] => {
    const value = given[each] ?? undefined
    if (isWhole(value) && value >= 0) return []
    const kind = value === undefined || isWhole(value) ? 'invalid' : 'unreadable'
    return [{ key: `${name}.${each}`, message: 'must be a whole number that is not negative', kind }]
  })
  const others = Object.entries(given).filter(([each]) => !numbers.includes(each))
  return [
    ...problems,
    ...others.flatMap(([each, value]): readonly ProviderProblem[] => {
      if (each !== NEWER_THAN) return [{ key: `${name}.${each}`, message: 'is not a known member', kind: 'unreadable' }]
      const isMoment = typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= LAST_MOMENT
      if (value === null || isMoment) return []
      return [{ key: `${name}.${each}`, message: 'must be a date', kind: 'unreadable' }]
    }),
  ]
}

/** The accounts that this server keeps itself. */
export const internalRecord = (serviceName: string): ProviderRecordType => ({
  type: serviceName,
  needsConfig: false,
  members: [
    ...COMMON_MEMBERS,
    member('passwordPolicy', PASSWORD_POLICY),
    member('lockoutPolicy', policy(POLICIES.lockoutPolicy)),
    member('disableInternalUserManagement', FLAG, false),
  ],
  check: config => [...checkPolicy(config, 'passwordPolicy'), ...checkPolicy(config, 'lockoutPolicy')],
  computed: () => ({}),
  externalKey: () => undefined,
})
