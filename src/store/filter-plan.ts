// What a filter means for the way in which its rows are found.
import type { Filter } from '../model/filter.ts'
import type { Attribute, Attributes } from './filter-sql.ts'

/** The attributes of a list and the column that identifies its rows. */
export interface Filtered {
  readonly attributes: Attributes
  readonly key: string
}

/** Whether every row of the zone matches: `key pr` is always true. */
export const isEverything = (filter: Filter, { attributes, key }: Filtered): boolean =>
  filter.kind === 'present' && attributes.get(filter.attribute.toLowerCase())?.column === key

/** Whether an index finds the rows, or those of every part of an `or` and one part of an `and`; there may be many. */
export function isSeekable(filter: Filter, { attributes, key }: Filtered): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.parts.some(part => isSeekable(part, { attributes, key }))
    case 'or':
      return filter.parts.every(part => isSeekable(part, { attributes, key }))
    case 'values': {
      const members = attributes.get(filter.attribute.toLowerCase())?.rows?.members
      return members !== undefined && isSeekable(filter.filter, { attributes: members, key })
    }
    case 'compare': {
      const attribute = attributes.get(filter.attribute.toLowerCase())
      if (attribute === undefined || !isIndexed(attribute, key)) return false
      return filter.comparison === 'eq' ? filter.value !== null : filter.comparison === 'sw' && filter.value !== ''
    }
    case 'not':
    case 'present':
      return false
  }
}

const isIndexed = ({ indexed, column }: Attribute, key: string): boolean => indexed === true || column === key
