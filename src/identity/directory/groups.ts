// Finds the groups of a user, including nested ones; reads each once, even in cycles.
import { commonNameOf } from './distinguished-name.ts'
import { readFilter } from './names.ts'
import type { DirectoryEntry, DirectorySession } from './session.ts'
import { DirectoryError } from './directory-error.ts'
import type { GroupRule } from '../../providers/directory-settings.ts'

/** A group of the directory. */
export interface DirectoryGroup {
  readonly dn: string
  readonly cn: string | undefined
  /** Values of the attribute that names scopes, unparsed. */
  readonly roles: readonly string[]
}

/** More than any user has. Beyond it the look-up fails, because a truncated list would be wrong. */
const MAX_GROUPS = 1000
/** Members whose groups one search looks for. */
const BATCH_SIZE = 50

/** The user whose groups are read. */
interface GroupMember {
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
    // Active Directory returns a part of more than 1,500 values, under a name with their range ([MS-ADTS] §3.1.1.3.1.3.3).
    const isPartial = [...entry.attributes.keys()].some(name => name.startsWith('memberof;range='))
    if (groups.length > MAX_GROUPS || isPartial) throw tooMany()
    return groups.map(dn => ({ dn, cn: commonNameOf(dn), roles: [] }))
  }
  const { OrFilter } = await import('ldapts')
  const template = await readFilter(rule.filter, 'groupSearchFilter')
  const found = new Map<string, DirectoryGroup>()
  const seen = new Set([entry.dn.toLowerCase()])
  // `{1}` is the user name at every level, never a group's name, which could equal a user name.
  const filterFor = (dn: string) => template({ '{0}': dn, '{1}': userName })

  let level: readonly string[] = [entry.dn]
  for (let depth = 0; depth < rule.depth && level.length > 0; depth += 1) {
    const next: string[] = []
    for (let start = 0; start < level.length; start += BATCH_SIZE) {
      const filters = level.slice(start, start + BATCH_SIZE).map(filterFor)
      const { entries, isPartial } = await session.search({
        base: rule.base,
        scope: rule.scope,
        filter: new OrFilter({ filters }),
        attributes: ['cn', rule.roleAttribute],
        sizeLimit: MAX_GROUPS + 1,
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

const tooMany = (): DirectoryError =>
  new DirectoryError('misconfigured', `the user is in more than ${MAX_GROUPS} groups`)
