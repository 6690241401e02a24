// Copies of users in another zone (§10). One of the two zones is the default one, so changing a pair from the other zone
// affects sign-in there and requires an administrator of the whole server.
import { isDeepStrictEqual } from 'node:util'
import type { Random } from '../base/random.ts'
import type { Service } from '../model/service.ts'
import type { TokenSettings } from '../model/zones/settings.ts'
import type { User } from '../model/users/user.ts'
import { OAuthError } from '../model/oauth-error.ts'
import { AlreadyExists } from '../store/store.ts'
import type { Store, UserCopy } from '../store/store.ts'
import { PASSWORD_REVISION_LENGTH } from './password.ts'
import { refuseResource } from './refusal.ts'
import { checkRoom, getsOtherOwner } from './rules.ts'

/** The user to write, and the change of its copy. */
interface CopyPlan {
  readonly user: User
  readonly copy?: UserCopy
}

/** Plans what a change does to the copy of a user. */
export interface Aliases {
  /** `user` names the zone of its copy, or none. Refuses with `scim` what breaks a rule. */
  forNew(user: User, mayReachOthers: boolean): Promise<CopyPlan>
  /** As `forNew`, for a user that may have a copy already. */
  forChange(before: User, user: User, mayReachOthers: boolean): Promise<CopyPlan>
  /** The copy that is deleted with the user. */
  forDelete(user: User, mayReachOthers: boolean): Promise<User | undefined>
  /** Copies the attributes that a sign-in reported, unless the copy cannot have them; a copy that it links loses its sessions. */
  follow(user: User): Promise<void>
}

/** One instance serves every zone. */
export function createAliases({
  store,
  service,
  settings,
  random,
}: {
  store: Store
  service: Pick<Service, 'name'>
  settings: Pick<TokenSettings, 'aliasEntities'>
  random: Random
}): Aliases {
  const mayChange = ({ zoneId }: User, mayReachOthers: boolean): boolean =>
    settings.aliasEntities && (zoneId === service.name || mayReachOthers)

  /** Whether the user can have a copy there: the origins of both zones are copies of each other, too. */
  async function canBeIn({ zoneId, origin }: User, aliasZoneId: string): Promise<boolean> {
    if (zoneId === aliasZoneId || (zoneId === service.name) === (aliasZoneId === service.name)) return false
    const [here, there] = await Promise.all([
      store.providers.findByOrigin(zoneId, origin),
      store.providers.findByOrigin(aliasZoneId, origin),
    ])
    return here?.aliasZoneId === aliasZoneId && there?.aliasZoneId === zoneId && here.aliasId === there.id
  }

  /** What the two have in common; the password, the salt, sign-ins and the version are of each alone. */
  const mirrored = (user: User, there: User): User => ({
    ...without(there),
    ...shared(user),
    passwordRevision:
      (there.active && !user.active) || getsOtherOwner(there, user, service.name)
        ? random.urlSafe(PASSWORD_REVISION_LENGTH)
        : there.passwordRevision,
    updatedAt: user.updatedAt,
  })

  async function newCopy(user: User, zoneId: string): Promise<CopyPlan> {
    if (await store.users.findByName(zoneId, user.origin, user.userName)) throw taken()
    const zone = await store.zones.find(zoneId)
    if (zone) await checkRoom(zone, store)
    const { id, zoneId: aliasZoneId, createdAt, updatedAt } = user
    const copy: User = {
      ...shared(user),
      zoneId,
      id: random.uuid(),
      origin: user.origin,
      passwordRevision: random.urlSafe(PASSWORD_REVISION_LENGTH),
      passwordChangedAt: updatedAt,
      passwordChangeRequired: false,
      aliasId: id,
      aliasZoneId,
      version: 0,
      createdAt: createdAt < updatedAt ? updatedAt : createdAt,
      updatedAt,
    }
    return { user: { ...user, aliasId: copy.id, aliasZoneId: zoneId }, copy: { user: copy } }
  }

  async function copyOf({ id, zoneId, aliasId, aliasZoneId }: User): Promise<User | undefined> {
    if (aliasId === undefined || aliasZoneId === undefined) return undefined
    const found = await store.users.find(aliasZoneId, aliasId)
    return found?.aliasId === id && found.aliasZoneId === zoneId ? found : undefined
  }

  return {
    async forNew(user, mayReachOthers) {
      const { aliasId, aliasZoneId } = user
      if (aliasId === undefined && aliasZoneId === undefined) return { user }
      const isAllowed = aliasId === undefined && aliasZoneId !== undefined && mayChange(user, mayReachOthers)
      if (!isAllowed || !(await canBeIn(user, aliasZoneId))) {
        throw refuseResource('scim', 'Alias ID and/or alias ZID are invalid.')
      }
      return newCopy({ ...user, version: user.version + 1 }, aliasZoneId)
    },

    async forChange(before, user, mayReachOthers) {
      const { aliasId, aliasZoneId } = user
      if (before.aliasZoneId === undefined && aliasId === undefined && aliasZoneId === undefined) return { user }
      const invalid = refuseResource('scim', "The fields 'aliasId' and/or 'aliasZid' are invalid.")
      if (!mayChange(before, mayReachOthers) || aliasZoneId === undefined) throw invalid
      if (before.aliasZoneId === undefined) {
        if (aliasId !== undefined || !(await canBeIn(user, aliasZoneId))) throw invalid
        return newCopy(user, aliasZoneId)
      }
      if (aliasId !== before.aliasId || aliasZoneId !== before.aliasZoneId) throw invalid
      const copy = await copyOf(before)
      if (copy) return { user, copy: { before: copy, user: mirrored(user, copy) } }
      if (!(await store.zones.find(aliasZoneId))) {
        const message = 'Could not create alias for user, as alias zone does not exist.'
        throw refuseResource('scim', message, { status: 422 })
      }
      return newCopy(user, aliasZoneId)
    },

    async forDelete(user, mayReachOthers) {
      if (user.aliasZoneId === undefined) return undefined
      if (!mayChange(user, mayReachOthers)) {
        const description = 'Could not delete user with alias since alias entities are disabled.'
        throw new OAuthError('unknown_error', description)
      }
      return copyOf(user)
    },

    async follow(user) {
      const copy = settings.aliasEntities ? await copyOf(user) : undefined
      if (!copy) return
      // The account was read before the sign-in: both may have been deactivated since.
      const followed = mirrored({ ...user, active: copy.active }, copy)
      if (isDeepStrictEqual({ ...followed, updatedAt: copy.updatedAt }, copy)) return
      await store.users.replace(copy.zoneId, copy, followed).catch((error: unknown) => {
        if (!(error instanceof AlreadyExists)) throw error // its zone has the name, or the external id
      })
    },
  }
}

/** The refusal of a name that the other zone has already. */
export const taken = (cause?: unknown): OAuthError =>
  refuseResource(
    'scim',
    'Could not create alias for user. A user with the same username already exists in the alias zone.',
    { status: 409, cause },
  )

const SHARED = [
  'userName',
  'email',
  'givenName',
  'familyName',
  'phoneNumber',
  'externalId',
  'externalIdFormat',
  'profile',
  'active',
  'verified',
] as const satisfies readonly (keyof User)[]

type Shared = Pick<User, (typeof SHARED)[number]>

const shared = (user: User): Shared => {
  const { userName, email, givenName, familyName, phoneNumber, profile, active, verified } = user
  const { externalId, externalIdFormat } = user
  return {
    userName,
    email,
    ...(givenName !== undefined && { givenName }),
    ...(familyName !== undefined && { familyName }),
    ...(phoneNumber !== undefined && { phoneNumber }),
    ...(externalId !== undefined && { externalId }),
    ...(externalIdFormat !== undefined && { externalIdFormat }),
    ...(profile !== undefined && { profile }),
    active,
    verified,
  }
}

function without(user: User): Omit<User, keyof Shared> {
  const copy: Partial<User> & Omit<User, keyof Shared> = { ...user }
  for (const name of SHARED) Reflect.deleteProperty(copy, name)
  return copy
}
