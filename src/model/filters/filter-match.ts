// Evaluates a filter in memory (RFC 7644 §3.4.2.2), for the value filters of a PATCH. `store/listing/filter-sql.ts` gives the same
// answers on a database; a property test compares them.
import { timeOf } from '../../base/text/date-time.ts'
import { isJsonRecord } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import { splitName } from './filter.ts'
import type { Comparison, Filter, FilterValue } from './filter.ts'

/** Lowers ASCII only, like both databases. */
export const lowerAscii = (text: string): string => text.replace(/[A-Z]+/g, letters => letters.toLowerCase())

/** How strings of an attribute are made equal before they are compared; `path` is lower-case. The default ignores case. */
export type Folding = (path: string) => (text: string) => string

const ignoringCase: Folding = () => lowerAscii

/**
 * Whether a filter of SCIM 2.0 matches a resource, or one value of an attribute. Names of members have no case; an attribute
 * that is absent, null or empty matches only `ne`, `eq null` and negations. `emails eq` compares `emails.value`.
 */
export function matches(filter: Filter, resource: JsonRecord, folding: Folding = ignoringCase): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.parts.every(part => matches(part, resource, folding))
    case 'or':
      return filter.parts.some(part => matches(part, resource, folding))
    case 'not':
      return !matches(filter.part, resource, folding)
    case 'present':
      return isAssigned(filter.attribute, resource)
    case 'values':
      return valuesOf(filter.attribute, resource).some(value =>
        matches(filter.filter, isJsonRecord(value) ? value : { value }, folding),
      )
    case 'compare': {
      const { attribute, comparison, value } = filter
      if (comparison === 'ne') return !matches({ ...filter, comparison: 'eq' }, resource, folding)
      if (value === null) return comparison === 'eq' && !isAssigned(attribute, resource)
      const found = valuesOf(attribute, resource)
      const fold = folding(attribute.toLowerCase())
      return found.some(each =>
        compares(isJsonRecord(each) ? member(each, 'value') : each, { comparison, value, fold }),
      )
    }
  }
}

/** Whether it has a value that is not empty. An empty text can be compared with another, but is no value. */
const isAssigned = (attribute: string, resource: JsonRecord): boolean =>
  valuesOf(attribute, resource).some(value => value !== '')

/** The values of an attribute: one, or each of a list; empty objects and lists are left out. */
function valuesOf(attribute: string, resource: JsonRecord): readonly unknown[] {
  const { schema, name } = splitName(attribute)
  const extension = schema === undefined ? undefined : member(resource, schema)
  let found: readonly unknown[] = [isJsonRecord(extension) ? extension : resource]
  for (const part of name.split('.')) {
    found = found.flatMap(each => (isJsonRecord(each) ? member(each, part) : undefined)).filter(isPresent)
  }
  return found
}

/** An own member, ignoring the case of its name. */
function member(record: JsonRecord, name: string): unknown {
  const lower = name.toLowerCase()
  const key = Object.keys(record).find(each => each.toLowerCase() === lower)
  return key === undefined ? undefined : record[key]
}

function isPresent(value: unknown): boolean {
  if (value === undefined || value === null) return false
  return typeof value !== 'object' || Object.keys(value).length > 0
}

interface Comparing {
  readonly comparison: Exclude<Comparison, 'ne'>
  readonly value: NonNullable<FilterValue>
  readonly fold: (text: string) => string
}

/** Values of different types are never equal, and have no order. */
function compares(found: unknown, { comparison, value, fold }: Comparing): boolean {
  if (typeof found === 'number' && typeof value === 'number') return holds(comparison, found - value)
  if (typeof found === 'boolean') return comparison === 'eq' && found === value
  if (typeof found !== 'string' || typeof value !== 'string') return false
  const [one, other] = [fold(found), fold(value)]
  switch (comparison) {
    case 'co':
      return one.includes(other)
    case 'sw':
      return one.startsWith(other)
    case 'ew':
      return one.endsWith(other)
    default:
      return holds(comparison, timeBetween(found, value) ?? Buffer.compare(Buffer.from(one), Buffer.from(other)))
  }
}

function holds(comparison: Comparison, difference: number): boolean {
  switch (comparison) {
    case 'eq':
      return difference === 0
    case 'gt':
      return difference > 0
    case 'ge':
      return difference >= 0
    case 'lt':
      return difference < 0
    case 'le':
      return difference <= 0
    case 'ne':
    case 'co':
    case 'sw':
    case 'ew':
      return false
  }
}

/** Milliseconds between two dates; undefined unless both are. */
function timeBetween(one: string, other: string): number | undefined {
  const [first, second] = [timeOf(one), timeOf(other)]
  return first === undefined || second === undefined ? undefined : first - second
}
