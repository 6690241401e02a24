// Filters of users by `groups`: every user has the default groups of the zone, which no membership in the store says.
import { matches } from '../../model/filters/filter-match.ts'
import type { Folding } from '../../model/filters/filter-match.ts'
import type { Filter, FilterDialect } from '../../model/filters/filter.ts'
import { EVERYTHING } from '../../model/filters/filter.ts'
import type { Zone } from '../../model/zones/zone.ts'
import type { DefaultGroupsDeps, ShownGroup } from './default-groups.ts'
import { createDefaultGroups } from './default-groups.ts'

/** The filter of users for the store, whose conditions on `groups` every user meets who has a default group that meets them. */
export type DefaultGroupFilter = (zone: Zone, filter: Filter) => Promise<Filter>

const CORE = 'urn:ietf:params:scim:schemas:core:2.0:user:'
/** Attributes of a user that are about groups, in lower case. */
const ATTRIBUTES: Readonly<Record<FilterDialect, ReadonlySet<string>>> = {
  uaa: new Set(['groups.display']),
  scim: new Set(['groups', 'groups.value', 'groups.display'].flatMap(name => [name, CORE + name])),
}

/** Creates it for one dialect. */
export function createDefaultGroupFilter(deps: DefaultGroupsDeps, dialect: FilterDialect): DefaultGroupFilter {
  const defaultsOf = createDefaultGroups(deps)
  const attributes = ATTRIBUTES[dialect]
  return async (zone, filter) => {
    if (!mentions(filter, attributes)) return filter
    const groups = await defaultsOf(zone)
    return groups.length === 0 ? filter : withDefaults(filter, { groups, attributes })
  }
}

function mentions(filter: Filter, attributes: ReadonlySet<string>): boolean {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.parts.some(part => mentions(part, attributes))
    case 'not':
      return mentions(filter.part, attributes)
    case 'values':
    case 'present':
    case 'compare':
      return attributes.has(filter.attribute.toLowerCase())
  }
}

/** As the store compares them: names without case, ids as they are. */
const FOLDING: Folding = path => text => (path.endsWith('display') ? text.toLowerCase() : text)

interface Defaults {
  readonly groups: readonly ShownGroup[]
  readonly attributes: ReadonlySet<string>
}

function withDefaults(filter: Filter, defaults: Defaults): Filter {
  const isMet = (part: Filter): boolean => matches(part, { groups: defaults.groups }, FOLDING)
  switch (filter.kind) {
    case 'and':
    case 'or':
      return { ...filter, parts: filter.parts.map(part => withDefaults(part, defaults)) }
    case 'not':
      return not(withDefaults(filter.part, defaults))
    case 'present':
      return defaults.attributes.has(filter.attribute.toLowerCase()) ? EVERYTHING : filter
    case 'values':
      if (!defaults.attributes.has(filter.attribute.toLowerCase()) || !isMet(filter)) return filter
      return { kind: 'or', parts: [EVERYTHING, filter] } // the store refuses names and values that do not fit
    case 'compare': {
      const { attribute, comparison, value } = filter
      if (!defaults.attributes.has(attribute.toLowerCase())) return filter
      if (comparison === 'ne') return not(withDefaults({ ...filter, comparison: 'eq' }, defaults))
      if (comparison === 'eq' && value === null) return not(EVERYTHING)
      return isMet(filter) ? EVERYTHING : filter
    }
  }
}

const not = (part: Filter): Filter => ({ kind: 'not', part })
