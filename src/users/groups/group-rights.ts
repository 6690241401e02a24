// Which callers may grant the rights of a group. A caller who may change groups could otherwise become an administrator:
// UAA lets every caller with `scim.write` do that (docs/compatibility.md, "Unsafe or broken in UAA"). The same holds for
// accounts with such rights.
import type { Group } from '../../model/users/group.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { isAdministrative } from '../../model/tokens/restricted-scopes.ts'
import { scopesInZone } from '../../model/tokens/scopes-in-zone.ts'
import type { Service } from '../../model/service.ts'
import type { User } from '../../model/users/user.ts'
import type { Zone } from '../../model/zones/zone.ts'
import type { Store } from '../../store/store.ts'
import type { Caller } from '../caller.ts'

/** The caller of a change of groups. */
export interface GroupCaller extends Caller {
  /** The scopes of the token, as they apply in the zone. */
  readonly scopes: readonly string[]
  /** Whether the token was issued in the default zone. */
  readonly ofDefaultZone: boolean
}

/** The caller, for what a change does to the copy in another zone, where a token of the default zone has fewer rights. */
export const callerIn = (zoneId: string, by: GroupCaller, service: Service): GroupCaller =>
  by.ofDefaultZone && zoneId !== service.name ? { ...by, scopes: scopesInZone(by.scopes, zoneId, service) } : by

/** The caller, for what a change does to the copy of a user of the zone: in the default zone the scopes of others are none. */
function callerAtCopy({ zoneId, aliasZoneId }: User, by: GroupCaller, service: Service): GroupCaller {
  if (zoneId === service.name) return callerIn(aliasZoneId ?? '', by, service)
  const isServerAdmin = by.ofDefaultZone && by.scopes.includes(service.scope('admin'))
  return { ...by, scopes: isServerAdmin ? by.scopes : [] }
}

/** Refuses callers who would grant more rights than they have. */
export interface GroupRights {
  /** Whether the caller administers the zone, and so may give everything in it. */
  isAdministrator(zone: Pick<Zone, 'id'>, by: GroupCaller): boolean
  /** For changes that give a group a name, or remove it. */
  checkNames(zone: Pick<Zone, 'id'>, names: readonly string[], by: GroupCaller): void
  /** For changes that let others put users into groups of these names: the same, and the groups that those are nested in. */
  checkNamed(zone: Pick<Zone, 'id'>, names: readonly string[], by: GroupCaller): Promise<void>
  /** For changes that grant the scope of the group, and of those that it is nested in. */
  checkGroup(zone: Zone, group: Group, by: GroupCaller): Promise<void>
  /** For changes that would make it possible to sign in as the user, who may be an administrator. */
  checkUser(user: User, by: GroupCaller): Promise<void>
  /** The same for changes of what identifies the user: a sign-in writes that to the copy in another zone, too. */
  checkOwner(user: User, by: GroupCaller): Promise<void>
  /** The same for every account of the origin, those that its mappings would make administrators among them. */
  checkOrigin(zone: Pick<Zone, 'id'>, origin: string, by: GroupCaller): Promise<void>
  /** The same as `checkGroup`, as an answer. */
  mayGive(zone: Zone, group: Group, by: GroupCaller): Promise<boolean>
}

/** One instance serves every zone. */
export function createGroupRights({
  store,
  service,
}: {
  readonly store: Store
  readonly service: Service
}): GroupRights {
  /** In the default zone `zones.<id>.admin` is a restricted scope like others: its holder may grant it, and no more. */
  const isAdministrator = (zone: Pick<Zone, 'id'>, { scopes, ofDefaultZone }: GroupCaller): boolean =>
    scopes.includes(service.scope('admin')) ||
    (zone.id !== service.name && ofDefaultZone && scopes.includes(`zones.${zone.id}.admin`))

  const lacking = (zone: Pick<Zone, 'id'>, names: readonly string[], by: GroupCaller): string | undefined =>
    isAdministrator(zone, by)
      ? undefined
      : names.find(name => isAdministrative(name, service) && !by.scopes.includes(name))

  async function lackingFor(zone: Zone, group: Group, by: GroupCaller): Promise<string | undefined> {
    if (isAdministrator(zone, by)) return undefined
    const outer = await store.groups.listOuter(zone.id, group.id)
    return lacking(
      zone,
      [group, ...outer].map(({ displayName }) => displayName),
      by,
    )
  }

  async function checkUser({ id, zoneId }: Pick<User, 'id' | 'zoneId'>, by: GroupCaller): Promise<void> {
    const name = lacking({ id: zoneId }, await store.groups.namesOfUser(zoneId, id), by)
    if (name !== undefined) refuse(name)
  }

  function refuse(name: string): never {
    const message = `Only callers with the scope ${name} can grant it`
    throw new OAuthError('insufficient_scope', message, { extra: { message, scope: service.scope('admin') } })
  }

  return {
    isAdministrator,
    checkNames(zone, names, by) {
      const name = lacking(zone, names, by)
      if (name !== undefined) refuse(name)
    },
    async checkNamed(zone, names, by) {
      if (names.length === 0 || isAdministrator(zone, by)) return
      const groups = await store.groups.findByNames(zone.id, names)
      const ids = groups.map(({ id }) => id)
      const outer = ids.length === 0 ? [] : await store.groups.listOuterNames(zone.id, ids)
      const name = lacking(zone, [...names, ...outer.map(({ displayName }) => displayName)], by)
      if (name !== undefined) refuse(name)
    },
    async checkGroup(zone, group, by) {
      const name = await lackingFor(zone, group, by)
      if (name !== undefined) refuse(name)
    },
    checkUser,
    async checkOwner(user, by) {
      await checkUser(user, by)
      const { aliasId: id, aliasZoneId: zoneId } = user
      if (id !== undefined && zoneId !== undefined) await checkUser({ id, zoneId }, callerAtCopy(user, by, service))
    },
    async checkOrigin(zone, origin, by) {
      if (isAdministrator(zone, by)) return
      for await (const page of store.zones.groupNames(zone.id)) {
        const names = page.filter(name => lacking(zone, [name], by) !== undefined)
        const groups = names.length === 0 ? [] : await store.groups.findByNames(zone.id, names)
        const reached = await store.groups.reachedFrom(zone.id, new Set(groups.map(({ id }) => id)), origin)
        const group = groups.find(({ id }) => reached.has(id))
        if (group) refuse(group.displayName)
      }
    },
    mayGive: async (zone, group, by) => (await lackingFor(zone, group, by)) === undefined,
  }
}
