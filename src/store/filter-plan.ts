// What a filter means for the way in which its rows are found.
import type { Filter } from '../model/filter.ts'
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

/** Whether no part of it has to find many values in another table, which would take long for any number of rows. */
export function isBounded(filter: Filter, { attributes }: Pick<Filtered, 'attributes'>): boolean {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.parts.every(part => isBounded(part, { attributes }))
    case 'not':
      return isBounded(filter.part, { attributes })
    case 'values': {
      const members = attributes.get(filter.attribute.toLowerCase())?.rows?.members
      return members !== undefined && findsFew(filter.filter, members)
    }
    case 'present':
    case 'compare': {
      const attribute = attributes.get(filter.attribute.toLowerCase())
      return attribute?.rows === undefined || isSelective(filter, attribute)
    }
  }
}

/** Whether one part of the filter of values finds few of them. */
function findsFew(filter: Filter, members: Filtered['attributes']): boolean {
  if (filter.kind === 'and') return filter.parts.some(part => findsFew(part, members))
  const attribute = filter.kind === 'compare' ? members.get(filter.attribute.toLowerCase()) : undefined
  return attribute !== undefined && isSelective(filter, attribute)
}

const isSelective = (filter: Filter, { indexed, rows }: Attribute): boolean =>
  indexed === true &&
  rows?.crowded !== true &&
  filter.kind === 'compare' &&
  filter.comparison === 'eq' &&
  filter.value !== null

const SEEKING: ReadonlySet<string> = new Set(['eq', 'sw', 'gt', 'ge', 'lt', 'le'])

const isIndexed = ({ indexed, column }: Attribute, { key, indexed: columns }: Filtered): boolean =>
  indexed === true || column === key || columns?.has(column) === true
