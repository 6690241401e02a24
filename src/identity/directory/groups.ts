// The groups of a person, including nested ones (§4.3): each is read once, even in cycles.
import { commonNameOf, readFilter } from './names.ts'
import type { DirectoryEntry, DirectorySession } from './session.ts'
import { DirectoryError } from './session.ts'
import type { GroupRule } from './settings.ts'

/** A group as the directory has it. */
export interface DirectoryGroup {
  readonly dn: string
  readonly cn: string | undefined
  /** Values of the attribute that names scopes, as they are. */
  readonly roles: readonly string[]
}

/** More than any person has; fails beyond it, because a truncated list would be wrong. */
const MAX_GROUPS = 1000
/** Groups that one search asks for. */
const AT_ONCE = 50

/** Whose groups are looked for. */
export interface GroupMember {
  readonly entry: DirectoryEntry
  readonly userName: string
}

/** Finds the groups; throws `DirectoryError` if the search fails or returns too many. */
export async function findGroups(
  rule: GroupRule,
  { entry, userName }: GroupMember,
  session: DirectorySession,
): Promise<readonly DirectoryGroup[]> {
  if (rule.kind === 'none') return []
  if (rule.kind === 'member-of') {
    const groups = entry.attributes.get('memberof') ?? []
    if (groups.length > MAX_GROUPS) throw tooMany()
    return groups.map(dn => ({ dn, cn: commonNameOf(dn), roles: [] }))
  }
  const { OrFilter } = await import('ldapts')
  const template = await readFilter(rule.filter, 'groupSearchFilter')
  const found = new Map<string, DirectoryGroup>()
  const seen = new Set([entry.dn.toLowerCase()])
  // `{1}` stays the person's user name at every level: a group's name there could match a person's.
  const filterFor = (dn: string) => template({ '{0}': dn, '{1}': userName })

  let level: readonly string[] = [entry.dn]
  for (let depth = 0; depth < rule.depth && level.length > 0; depth += 1) {
    const next: string[] = []
    for (let place = 0; place < level.length; place += AT_ONCE) {
      const filters = level.slice(place, place + AT_ONCE).map(filterFor)
      const { entries, isPartial } = await session.search({
        base: rule.base,
        scope: rule.scope,
        filter: new OrFilter({ filters }),
        attributes: ['cn', rule.roleAttribute],
        most: MAX_GROUPS + 1,
      })
      if (isPartial && !rule.takesPartialResults) {
        throw new DirectoryError('misconfigured', 'some groups are in another directory')
      }
      for (const { dn, attributes } of entries) {
        const key = dn.toLowerCase()
        if (seen.has(key)) continue
        seen.add(key)
        const roles = attributes.get(rule.roleAttribute.toLowerCase()) ?? []
        found.set(key, { dn, cn: attributes.get('cn')?.[0], roles })
        next.push(dn)
      }
      if (found.size > MAX_GROUPS) throw tooMany()
    }
    level = next
  }
  return [...found.values()]
}

const tooMany = (): DirectoryError => new DirectoryError('misconfigured', `the groups are more than ${MAX_GROUPS}`)
