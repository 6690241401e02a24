// The rules for users, for every API that creates or changes them.
import { LOGIN_SERVER_ORIGIN, domainMatcher, emailDomainOf, emailDomains } from '../model/zones/identity-provider.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'
import { refuseResource } from './refusal.ts'

/** UAA: the characters of names of its own accounts. */
const USER_NAME = /^[\p{L}+0-9\-_.@'!]+$/u

const MAX_LENGTHS = {
  userName: 255,
  email: 255,
  givenName: 255,
  familyName: 255,
  phoneNumber: 255,
  externalId: 255,
  origin: 36,
  salt: 36,
} as const satisfies Partial<Record<keyof User, number>>

/** Refuses a user name that is missing, or that no account of the internal provider can have. */
export function checkUserName({ userName, origin }: Pick<User, 'userName' | 'origin'>, internalOrigin: string): void {
  if (userName.trim() === '') throw refuseResource('invalid_scim_resource', 'A username must be provided.')
  if (origin === internalOrigin && !USER_NAME.test(userName)) {
    throw refuseResource('invalid_scim_resource', String.raw`Username must match pattern: [\p{L}+0-9+\-_.@'!]+`)
  }
}

/** Refuses texts that are longer than UAA's columns. */
export function checkLengths(user: Partial<User>): void {
  for (const [name, max] of Object.entries(MAX_LENGTHS)) {
    const value: unknown = Reflect.get(user, name)
    if (typeof value !== 'string' || value.length <= max) continue
    throw refuseResource('scim', `The value of ${name} must have at most ${max} characters`)
  }
}

/** Refuses an account of the internal provider whose e-mail address belongs to the domain of another active provider. */
export async function checkEmailDomain(
  { providers }: Pick<Store, 'providers'>,
  zone: Zone,
  { email, origin }: Pick<User, 'email' | 'origin'>,
  internalOrigin: string,
): Promise<void> {
  if (origin !== internalOrigin) return
  const domain = emailDomainOf(email)
  if (domain === undefined) return
  const matches = domainMatcher(domain)
  const origins = (await providers.listActive(zone.id))
    .filter(each => each.originKey !== internalOrigin && matches(emailDomains(each)))
    .map(({ originKey }) => originKey)
  if (origins.length === 0) return
  const message = `The user account is set up for single sign-on. Please use one of these origin(s) : [${origins.join(', ')}]`
  throw refuseResource('scim', message)
}

/** Refuses changes of internal accounts where they are kept elsewhere (`disableInternalUserManagement`). */
export async function checkManageable(
  { providers }: Pick<Store, 'providers'>,
  zoneId: string,
  origin: string,
  internalOrigin: string,
): Promise<void> {
  if (origin !== internalOrigin) return
  const internal = await providers.findByOrigin(zoneId, internalOrigin)
  if (internal?.config['disableInternalUserManagement'] !== true) return
  throw refuseResource(
    'internal_user_management_disabled',
    'Internal User Creation is currently disabled. External User Store is in use.',
  )
}

/** Whether the change gives an account of another provider to another user there, who must not share it with the former one. */
export const getsOtherOwner = (
  { origin, externalId: before }: Pick<User, 'origin' | 'externalId'>,
  { externalId }: Pick<User, 'externalId'>,
  internalOrigin: string,
): boolean => origin !== internalOrigin && externalId !== undefined && externalId !== '' && externalId !== before

/** Origins of which every zone of UAA has an idle provider. */
const IDLE_ORIGINS: ReadonlySet<string> = new Set(['keystone', 'ldap'])

/**
 * Refuses an origin without a provider: sign-in would be impossible, and a later provider would take over the account. An
 * external login server signs users in to the accounts of its own origin. Returns the provider, if there is one.
 */
export async function checkOrigin(
  { providers }: Pick<Store, 'providers'>,
  zone: Zone,
  origin: string,
  { storedProvidersOnly }: Pick<Behaviour, 'storedProvidersOnly'>,
): Promise<IdentityProvider | undefined> {
  const provider = await providers.findByOrigin(zone.id, origin)
  if (provider || origin === LOGIN_SERVER_ORIGIN) return provider
  if (!storedProvidersOnly && IDLE_ORIGINS.has(origin)) return undefined
  throw invalidOrigin(zone, origin)
}

/** The refusal of an origin that has no provider, or another one than before. */
export const invalidOrigin = ({ id }: Pick<Zone, 'id'>, origin: string): Error =>
  refuseResource('invalid_scim_resource', `Invalid origin ${origin} in Identity Zone ${id}`)

/** The most users that the zone may have, if there is a limit. Avoids a needless hash where it has them; the insertion decides. */
export async function checkRoom(zone: Zone, { users }: Pick<Store, 'users'>): Promise<number | undefined> {
  const { maxUsers = -1 } = zone.config.userConfig ?? {}
  if (maxUsers < 0) return undefined
  if ((await users.count(zone.id)) >= maxUsers) throw zoneFull(zone, maxUsers)
  return maxUsers
}

/** The refusal of a user beyond the limit. */
export const zoneFull = ({ id }: Pick<Zone, 'id'>, maxUsers: number): Error =>
  refuseResource(
    'invalid_scim_resource',
    `The maximum allowed numbers of users: ${maxUsers} is reached already in Identity Zone ${id}`,
  )
