// Decides which users need a second factor: the policy of the zone, and its result for one user. Pure; called at every
// sign-in by model/sessions/sign-in-demands.ts.
import type { FactorMethod } from '../../records/user.ts'
import { FACTOR_METHODS } from '../../records/user.ts'
import type { REQUIREMENTS } from '../../records/zone-config.ts'
import type { Level } from '../sessions/assurance.ts'
import type { Behaviour } from '../compatibility.ts'
import type { User } from './user.ts'
import type { Zone } from '../zones/zone.ts'

/** See `REQUIREMENTS`. */
export type Requirement = (typeof REQUIREMENTS)[number]

/** The policy of a zone, with its defaults. */
export interface SecondFactorPolicy {
  readonly requirement: Requirement
  /** Groups whose members must have one, with `groups`; other users are asked for one if they have it. */
  readonly groups: readonly string[]
  /** Which factors count. */
  readonly methods: readonly FactorMethod[]
  /** How long a browser may be remembered; 0 for never. */
  readonly rememberDays: number
  /** The providers whose users it applies to; absent: all. */
  readonly origins?: readonly string[]
}

/** A policy as the record of a zone or a client has it. */
interface RecordedPolicy {
  readonly requirement?: Requirement | undefined
  readonly groups?: readonly string[] | undefined
  readonly methods?: readonly FactorMethod[] | undefined
}

const MAX_GROUP_NAME = 255

/** A rule between members that the policy breaks; its message completes the name of the member. */
export function policyProblem({
  requirement,
  groups,
}: RecordedPolicy): { readonly member: 'groups'; readonly message: string } | undefined {
  const member = 'groups'
  if (requirement === 'groups' && (groups ?? []).length === 0) {
    return { member, message: 'must name a group, because requirement is groups' }
  }
  if (groups === undefined) return undefined
  // The policy would apply to no user, although it looks as if it did.
  if (requirement === undefined) return { member, message: 'has no effect without requirement: groups' }
  const isName = (name: string): boolean => name.trim() !== '' && name.length <= MAX_GROUP_NAME
  return groups.every(isName) ? undefined : { member, message: `must have names of 1 to ${MAX_GROUP_NAME} characters` }
}

/** The policy of the zone. */
export function secondFactorPolicy(
  { config }: Pick<Zone, 'config'>,
  { secondFactorByDefault }: Pick<Behaviour, 'secondFactorByDefault'>,
): SecondFactorPolicy {
  const { requirement, groups, methods, rememberDays, origins } = config.secondFactor ?? {}
  return {
    requirement: requirement ?? secondFactorByDefault,
    groups: groups ?? [],
    methods: methods ?? FACTOR_METHODS,
    rememberDays: rememberDays ?? 0,
    ...(origins && { origins }),
  }
}

/** Whether tokens of the zone contain the level of the sign-in, and requests may ask for one. */
export const supportsLevels = (
  { config }: Pick<Zone, 'config'>,
  { secondFactorByDefault }: Pick<Behaviour, 'secondFactorByDefault'>,
): boolean => (config.secondFactor?.requirement ?? secondFactorByDefault) !== 'off'

/** Whether the user's provider is one that the policy is about. */
export const isAbout = ({ requirement, origins }: SecondFactorPolicy, { origin }: Pick<User, 'origin'>): boolean =>
  requirement !== 'off' && (origins === undefined || origins.includes(origin))

/** The factors of the user that count under the policy. */
export const countingMethods = (
  { methods }: Pick<SecondFactorPolicy, 'methods'>,
  { factors }: Pick<User, 'factors'>,
): readonly FactorMethod[] => (factors?.methods ?? []).filter(method => methods.includes(method))

/** Whether the policy asks this user for a second factor. `groupNames` are those that the user is in. */
export function asksForSecondFactor(
  policy: SecondFactorPolicy,
  user: Pick<User, 'origin' | 'factors'>,
  groupNames: readonly string[],
): boolean {
  if (!isAbout(policy, user)) return false
  if (countingMethods(policy, user).length > 0) return true
  switch (policy.requirement) {
    case 'required':
      return true
    case 'groups': {
      const named = new Set(policy.groups.map(name => name.toLowerCase()))
      return groupNames.some(name => named.has(name.toLowerCase()))
    }
    case 'off':
    case 'optional':
      return false
  }
}

/** The factors that reach a level: a one-time password can be phished. */
export const methodsFor = (level: Level, { methods }: Pick<SecondFactorPolicy, 'methods'>): readonly FactorMethod[] =>
  level === 'phr' || level === 'phrh' ? methods.filter(method => method === 'passkey') : methods

/** Whether users of this server's own accounts may sign in by a passkey alone. */
export const offersPasskeySignIn = (policy: SecondFactorPolicy, serviceName: string): boolean =>
  isAbout(policy, { origin: serviceName }) && policy.methods.includes('passkey')

/** Whether a user who signed in with a password is offered a passkey: if they could sign in with it alone, and have no factor. */
export const mayBeOfferedPasskey = (
  policy: SecondFactorPolicy,
  { origin, factors }: Pick<User, 'origin' | 'factors'>,
  serviceName: string,
): boolean =>
  origin === serviceName &&
  offersPasskeySignIn(policy, serviceName) &&
  (factors?.methods ?? []).length === 0 &&
  factors?.hasDeclined !== true
