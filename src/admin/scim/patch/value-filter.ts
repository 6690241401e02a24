// Filters over the values of one attribute, as PATCH paths have them in brackets.
import { isJsonRecord } from '../../../base/json.ts'
import { matches } from '../../../model/filters/filter-match.ts'
import type { Folding } from '../../../model/filters/filter-match.ts'
import type { Filter } from '../../../model/filters/filter.ts'
import type { Attribute } from '../schemas/attribute.ts'
import { named } from '../schemas/attribute.ts'
import { ScimError } from '../error.ts'
import { shown } from '../requests/reader.ts'
import { toleratedFilter } from '../requests/tolerances.ts'

/** The sub-attributes that a filter can name. */
const partsOf = ({ subAttributes, ...attribute }: Attribute): readonly Attribute[] =>
  subAttributes ?? [{ ...attribute, name: 'value' }]

/** The filter with booleans for boolean attributes; throws `invalidFilter` for an attribute that is unknown, or that values lack. */
export function checkValueFilter(filter: Filter, attribute: Attribute): Filter {
  const parts = partsOf(attribute)
  checkNames(filter, parts)
  return toleratedFilter(filter, parts)
}

function checkNames(filter: Filter, parts: readonly Attribute[]): void {
  switch (filter.kind) {
    case 'and':
    case 'or':
      for (const part of filter.parts) checkNames(part, parts)
      return
    case 'not':
      checkNames(filter.part, parts)
      return
    case 'values':
      throw new ScimError('invalidFilter', 'A filter in brackets cannot have another')
    case 'compare':
    case 'present': {
      const part = named(parts, filter.attribute)
      if (!part) throw new ScimError('invalidFilter', `Unknown attribute ${shown(filter.attribute)}`)
      // The name of a member is read with a response only: no value would be found, and a removal would answer as if it was made.
      if (part.returned === 'request') throw new ScimError('invalidFilter', `${part.name} cannot be compared here`)
    }
  }
}

/** How many comparisons a filter has. */
export function sizeOf(filter: Filter): number {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.parts.reduce((sum, part) => sum + sizeOf(part), 0)
    case 'not':
      return sizeOf(filter.part)
    case 'values':
      return sizeOf(filter.filter)
    default:
      return 1
  }
}

/** The value that a filter such as `value eq "…"` names, where case counts; undefined for any other filter. */
export function exactValueOf(filter: Filter, attribute: Attribute): string | undefined {
  const isPlain = filter.kind === 'compare' && filter.comparison === 'eq' && filter.attribute.toLowerCase() === 'value'
  if (!isPlain || typeof filter.value !== 'string') return undefined
  return named(partsOf(attribute), 'value')?.caseExact ? filter.value : undefined
}

/** Whether the filter selects the value. */
export function selects(filter: Filter, value: unknown, attribute: Attribute): boolean {
  const parts = partsOf(attribute)
  const folding: Folding = path => {
    const part = named(parts, path)
    return text => (part?.caseExact ? text : text.toLowerCase())
  }
  return matches(filter, isJsonRecord(value) ? value : { value }, folding)
}
