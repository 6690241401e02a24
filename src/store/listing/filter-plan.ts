// Derives from a filter how its rows are found.
import type { Filter } from '../../model/filters/filter.ts'
import type { Attribute, Filterable } from './filter-sql.ts'

type Filtered = Omit<Filterable, 'table'>

/** Whether every row of the zone matches: `key pr` is always true. */
export const isEverything = (filter: Filter, { attributes, key }: Filtered): boolean =>
  filter.kind === 'present' && attributes.get(filter.attribute.toLowerCase())?.column === key

/** Whether an index finds the rows, or those of every part of an `or` and one part of an `and`; there may be many. */
export function isSeekable(filter: Filter, rows: Filtered): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.parts.some(part => isSeekable(part, rows))
    case 'or':
      return filter.parts.every(part => isSeekable(part, rows))
    case 'values': {
      const members = rows.attributes.get(filter.attribute.toLowerCase())?.rows?.members
      return members !== undefined && isSeekable(filter.filter, { key: rows.key, attributes: members })
    }
    case 'compare': {
      const attribute = rows.attributes.get(filter.attribute.toLowerCase())
      if (attribute === undefined || !isIndexed(attribute, rows)) return false
      return SEEKING.has(filter.comparison) && filter.value !== null && filter.value !== ''
    }
    case 'not':
    case 'present':
      return false
  }
}

/**
 * Whether the database reads few rows only, so that the main thread may wait: those with a value that few rows have, or those of
 * one range, up to a limit. For a range with another condition it may read a million rows that do not match.
 */
export const isQuick = (filter: Filter, rows: Filtered): boolean =>
  (filter.kind === 'compare' && isSeekable(filter, rows) && !hasRows(filter, rows)) || isSelective(filter, rows)

const hasRows = (filter: Filter & { kind: 'compare' }, { attributes }: Filtered): boolean =>
  attributes.get(filter.attribute.toLowerCase())?.rows !== undefined

/** Whether an index finds few rows by a value; no other part has to find many in another table. */
function isSelective(filter: Filter, rows: Filtered): boolean {
  const { attributes, key } = rows
  switch (filter.kind) {
    case 'and':
      return filter.parts.some(part => isSelective(part, rows)) && filter.parts.every(part => isLocal(part, rows))
    case 'or':
      return filter.parts.every(part => isSelective(part, rows))
    case 'values': {
      const { members, unselective = false } = attributes.get(filter.attribute.toLowerCase())?.rows ?? {}
      return members !== undefined && !unselective && isSelective(filter.filter, { key, attributes: members })
    }
    case 'compare': {
      const attribute = attributes.get(filter.attribute.toLowerCase())
      return filter.comparison === 'eq' && attribute?.rows?.unselective !== true && isSeekable(filter, rows)
    }
    case 'not':
    case 'present':
      return false
  }
}

/** Whether it needs no other table, or few rows of it. */
function isLocal(filter: Filter, rows: Filtered): boolean {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.parts.every(part => isLocal(part, rows))
    case 'not':
      return isLocal(filter.part, rows)
    case 'present':
      return rows.attributes.get(filter.attribute.toLowerCase())?.rows === undefined
    case 'compare':
      return !hasRows(filter, rows) || isSelective(filter, rows)
    case 'values':
      return isSelective(filter, rows)
  }
}

const SEEKING: ReadonlySet<string> = new Set(['eq', 'sw', 'gt', 'ge', 'lt', 'le'])

const isIndexed = ({ indexed, column }: Attribute, { key, indexed: columns }: Filtered): boolean =>
  indexed === true || column === key || columns?.has(column) === true
