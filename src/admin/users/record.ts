// Users as UAA's API shows them, with their groups and decisions, and the access to its endpoints.
import { hasPrimaryEmail } from '../../model/users/user.ts'
import type { User } from '../../model/users/user.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { approvalToJson } from '../../users/approvals.ts'
import { createGroupsShown } from '../../users/groups/default-groups.ts'
import type { ShownGroup } from '../../users/groups/default-groups.ts'
import type { Resource } from '../resources/list.ts'
import { SCHEMAS } from '../resources/dialect.ts'
import type { AdminDeps } from '../deps.ts'

/** Data of users in responses beyond their records. */
export interface Shown {
  readonly groups: boolean
  readonly approvals: boolean
}

const EVERYTHING: Shown = { groups: true, approvals: true }

/** Users in the form of responses. */
export interface UserViews {
  /** In the order given; one read for all groups and one for all decisions. */
  ofMany(zone: Zone, users: readonly User[], shown?: Shown): Promise<readonly Resource[]>
  /** With groups and decisions. */
  of(zone: Zone, user: User): Promise<Resource>
}

/** One instance serves every zone. */
export function createUserViews(deps: AdminDeps): UserViews {
  const { store, clock } = deps
  const groupsShown = createGroupsShown(deps)

  async function ofMany(zone: Zone, users: readonly User[], shown = EVERYTHING): Promise<readonly Resource[]> {
    if (users.length === 0) return []
    const ids = users.map(({ id }) => id)
    const groups = shown.groups ? await groupsShown(zone, ids) : undefined
    const approvals = shown.approvals ? await store.users.listApprovals(zone.id, ids, clock.now()) : undefined
    return users.map(user =>
      userToJson(user, {
        ...(groups && { groups: groups.get(user.id) ?? [] }),
        ...(approvals && { approvals: (approvals.get(user.id) ?? []).map(approvalToJson) }),
      }),
    )
  }

  return {
    ofMany,
    async of(zone, user) {
      const [view = {}] = await ofMany(zone, [user])
      return view
    },
  }
}

/** The user without or with groups and decisions; members without a value are left out. */
export function userToJson(
  user: User,
  { groups, approvals }: { readonly groups?: readonly ShownGroup[]; readonly approvals?: readonly Resource[] } = {},
): Resource {
  const { givenName, familyName, phoneNumber, lastLogonAt, previousLogonAt } = user
  const changedAt = new Date(Math.floor(user.passwordChangedAt.getTime() / 1000) * 1000)
  const members = {
    id: user.id,
    externalId: user.externalId,
    meta: {
      version: user.version,
      created: user.createdAt.toISOString(),
      lastModified: user.updatedAt.toISOString(),
    },
    userName: user.userName,
    name: withoutUndefined({ familyName, givenName }),
    emails: [{ value: user.email, primary: hasPrimaryEmail(user) }],
    groups,
    approvals,
    phoneNumbers: phoneNumber === undefined ? undefined : [{ value: phoneNumber }],
    active: user.active,
    verified: user.verified,
    origin: user.origin,
    zoneId: user.zoneId,
    aliasId: user.aliasId,
    aliasZid: user.aliasZoneId,
    salt: user.salt,
    passwordLastModified: changedAt.toISOString(),
    previousLogonTime: previousLogonAt?.getTime(),
    lastLogonTime: lastLogonAt?.getTime(),
    schemas: SCHEMAS,
  }
  return withoutUndefined(members)
}

const withoutUndefined = (members: Resource): Resource =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
