// Maps a provider's groups to memberships that its origin owns, updated at every sign-in, and to the claim `roles`. Does not
// change memberships of other origins, such as those created by an administrator.
import { canonicalDn, LOOK_ALIKE } from './directory/distinguished-name.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Audit } from '../model/audit/event.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import { isAdministrative } from '../model/tokens/restricted-scopes.ts'
import type { Service } from '../model/service.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import { MAX_GROUP_TEXT } from '../records/group.ts'
import { isGroupPattern } from '../records/provider.ts'
import type { NamedGroup, Store } from '../store/store.ts'
import { defaultGroupsOf, newGroup } from '../users/groups/default-groups.ts'
import type { ExternalGroups, ExternalRefusal } from './source.ts'

/** The groups here that a user is to be in because the provider says so, and the roles that it names. */
interface Resolved {
  readonly groups: readonly NamedGroup[]
  /** Names of groups that are to be created. */
  readonly missing: readonly string[]
  readonly roles: readonly string[]
}

/** Memberships that providers own. */
export interface Memberships {
  /** Finds the groups; changes nothing. Refuses too many. */
  resolve(zone: Zone, provider: Origin, groups: ExternalGroups): Promise<Resolved | ExternalRefusal>
  /** Makes the user's memberships of this origin exactly these, and creates the groups that are missing. */
  apply(zone: Zone, user: User, resolved: Resolved): Promise<void>
}

type Origin = Pick<IdentityProvider, 'originKey' | 'config'>

/** A token with more would be too large to use, and every sign-in would have to compare them. */
const MAX_GROUPS = 1000
/** Characters of all roles together; they are read with the account. */
const MAX_ROLES_LENGTH = 65_536

const refuse = (description: string): ExternalRefusal => ({ outcome: 'refused', reason: 'unusable', description })
const TOO_MANY = refuse('The identity provider names too many groups.')

interface MembershipDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly behaviour: Behaviour
  readonly audit: Audit
  readonly service: Service
}

/** One instance serves every zone. */
export function createMemberships(deps: MembershipDeps): Memberships {
  const { store, clock, random, audit } = deps
  const { findMapped, findNamed } = createGroupSearch(deps)

  async function create(zone: Zone, { origin }: User, names: readonly string[]): Promise<readonly NamedGroup[]> {
    if (names.length === 0) return []
    const now = clock.now()
    const made = names.map(displayName => newGroup({ zoneId: zone.id, displayName }, { id: random.uuid(), now }))
    await store.groups.insertMissing(zone.id, made)
    const found = await store.groups.findByNames(zone.id, names)
    const ids = new Set(made.map(({ id }) => id))
    for (const { id, displayName } of found.filter(each => ids.has(each.id))) {
      const data = JSON.stringify([`group_name=${displayName}`])
      audit({ type: 'GroupCreatedEvent', zoneId: zone.id, principal: id, origin, data })
    }
    return found
  }

  function report(
    zone: Zone,
    { id: userId, origin }: User,
    change: { readonly [how: string]: readonly string[] },
  ): void {
    for (const [how, groupIds] of Object.entries(change)) {
      for (const principal of groupIds) {
        const data = JSON.stringify([`${how}=${userId}`, `origin=${origin}`])
        audit({ type: 'GroupModifiedEvent', zoneId: zone.id, principal, origin, data })
      }
    }
  }

  return {
    async resolve(zone, provider, { mapped = [], areDns = false, asScopes = [], keeps, roles, addsMissing }) {
      if (mapped.length > MAX_GROUPS || asScopes.length > MAX_GROUPS) return TOO_MANY
      const byMapping = await findMapped(zone, provider, { mapped, areDns })
      const named = await findNamed(zone, provider, { asScopes, addsMissing })
      const counts = keeps ? matcherOf(keeps) : () => true
      const missing = named.missing.filter(counts)
      const kept = [...byMapping, ...named.groups].filter(({ displayName }) => counts(displayName))
      const groups = [...new Map(kept.map(group => [group.id, group])).values()]
      const results = [...groups.map(({ displayName }) => displayName), ...missing]
      const names = roles === 'memberships' ? results : [...new Set(roles)]
      const isTooLong = names.reduce((sum, name) => sum + name.length, 0) > MAX_ROLES_LENGTH
      if (results.length > MAX_GROUPS || names.length > MAX_GROUPS || isTooLong) return TOO_MANY
      return { groups, missing, roles: names.toSorted() }
    },

    async apply(zone, user, { groups, missing }) {
      const current = await store.groups.listDirect(zone.id, user.id)
      const owned = current.filter(({ origin }) => origin === user.origin).map(({ groupId }) => groupId)
      const currentIds = new Set(current.map(({ groupId }) => groupId))
      const wanted = new Set([...groups, ...(await create(zone, user, missing))].map(({ id }) => id))
      const remove = owned.filter(id => !wanted.has(id))
      const add = [...wanted].filter(id => !currentIds.has(id))
      if (remove.length === 0 && add.length === 0) return
      await store.groups.changeOwned(zone.id, { userId: user.id, origin: user.origin }, { remove, add })
      report(zone, user, { removed: remove, added: add })
    },
  }
}

/** Finds the groups here that a provider's names stand for. */
function createGroupSearch(deps: Pick<MembershipDeps, 'store' | 'service' | 'behaviour'>) {
  const { store, service } = deps

  async function findMapped(
    zone: Zone,
    { originKey }: Origin,
    { mapped = [], areDns = false }: Pick<ExternalGroups, 'mapped' | 'areDns'>,
  ): Promise<readonly NamedGroup[]> {
    // Nothing but the case is ignored: users of many providers make groups themselves.
    const keys = mapped.filter(name => !LOOK_ALIKE.test(name)).map(keyOf)
    const canonical = new Set(areDns ? mapped.flatMap(dn => canonicalDn(dn) ?? []) : [])
    const found = keys.length === 0 ? [] : await store.groups.findMapped(zone.id, originKey, [...keys, ...canonical])
    if (canonical.size === 0) return found
    const odd = await store.groups.listOddlyMapped(zone.id, originKey)
    return [...found, ...odd.filter(({ externalGroup }) => canonical.has(canonicalDn(externalGroup) ?? ''))]
  }

  /**
   * The groups of names that a provider writes as scopes. It may put users into whatever can be a scope and is no
   * default group; into an administrative group, or one nested in such a group, only where its record lists the name.
   */
  async function findNamed(
    zone: Zone,
    { config }: Origin,
    { asScopes, addsMissing }: { readonly asScopes: readonly string[]; readonly addsMissing: boolean },
  ): Promise<Pick<Resolved, 'groups' | 'missing'>> {
    const listed = new Set<unknown>([config['externalGroupsWhitelist']].flat())
    const defaultKeys = new Set(defaultGroupsOf(zone, deps).map(keyOf))
    const mayGive = (name: string, givenName: string): boolean =>
      !isAdministrative(name, service) ||
      // `zones.` groups give rights in other zones, which only providers of the default zone may decide on.
      (listed.has(givenName) && (zone.id === service.name || !keyOf(name).startsWith('zones.')))
    const given = new Map(
      asScopes
        .filter(name => SCOPE.test(name) && !defaultKeys.has(keyOf(name)) && mayGive(name, name))
        .map(name => [keyOf(name), name]),
    )
    if (given.size === 0) return { groups: [], missing: [] }
    const found = await store.groups.findByNames(zone.id, [...given.values()])
    const names = new Map(found.map(({ id, displayName }) => [id, given.get(keyOf(displayName)) ?? displayName]))
    const outer = await store.groups.listOuterNames(zone.id, [...names.keys()])
    const barred = new Set(
      outer.filter(each => !mayGive(each.displayName, names.get(each.inner) ?? '')).map(({ inner }) => inner),
    )
    const groups = found.filter(({ id }) => !barred.has(id))
    for (const { displayName } of found) given.delete(keyOf(displayName))
    const allowed = zone.config.userConfig?.allowedGroups
    const missing = addsMissing ? [...given.values()].filter(name => !allowed || allowed.includes(name)) : []
    return { groups, missing }
  }

  return { findMapped, findNamed }
}

/** RFC 6749 §3.3: other names can be no scope; with a space in it, one would be read as several. */
const SCOPE = new RegExp(`^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,${MAX_GROUP_TEXT}}$`)

const keyOf = (name: string): string => name.toLowerCase()

/**
 * Whether a name fits one of the patterns of a whitelist, in which `*` stands for any characters, or none. Patterns that no
 * record may have are ignored: a thousand names times a thousand patterns must take almost no time.
 */
export function matcherOf(patterns: readonly string[]): (name: string) => boolean {
  const exact = new Set(patterns.filter(pattern => !pattern.includes('*')))
  const others = new Set(patterns.filter(pattern => pattern.includes('*') && isGroupPattern(pattern)))
  const pieces = [...others].map(pattern => pattern.split('*'))
  return name => exact.has(name) || pieces.some(each => fits(each, name))
}

/** `pieces` are what stands between the wildcards. Takes linear time. */
function fits([head = '', ...rest]: readonly string[], name: string): boolean {
  const tail = rest.pop() ?? ''
  if (!name.startsWith(head) || !name.endsWith(tail) || name.length < head.length + tail.length) return false
  const end = name.length - tail.length
  let position = head.length
  for (const piece of rest) {
    const found = name.indexOf(piece, position)
    if (found === -1 || found + piece.length > end) return false
    position = found + piece.length
  }
  return true
}
