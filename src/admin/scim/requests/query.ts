// The parameters of a list, from a query or from the body of `/.search` (RFC 7644 §3.4.2 and §3.4.3, RFC 9865 §2).
import { MAX_INT32 } from '../../../base/json.ts'
import type { Filter } from '../../../model/filters/filter.ts'
import { EVERYTHING, parseFilter } from '../../../model/filters/filter.ts'
import type { Form } from '../../../web/requests/form.ts'
import type { Json } from '../schemas/attribute.ts'
import { LIMITS } from '../schemas/discovery.ts'
import { ScimError } from '../error.ts'
import { readMessage } from './message.ts'
import type { SelectedNames } from './selection.ts'
import { namesIn } from './selection.ts'

const SEARCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest'

/** The parameters of a list. */
export interface ListRequest extends SelectedNames {
  /** As sent; empty where there is none. */
  readonly filterText: string
  readonly filter: Filter
  readonly sortBy: string
  readonly descending: boolean
  readonly startIndex: number
  readonly count: number
  /** As sent; empty for the first page, and undefined for a list by number. */
  readonly cursor: string | undefined
}

/** The order of a list without `sortBy`. */
export const DEFAULT_ORDER = 'meta.created'
const NAMES = [
  'filter',
  'sortBy',
  'sortOrder',
  'startIndex',
  'count',
  'cursor',
  'attributes',
  'excludedAttributes',
] as const
type Name = (typeof NAMES)[number]

/** Reads the query of a GET. */
export function readListQuery(query: Form): ListRequest {
  refuseRepeated(query, NAMES)
  return readList({
    text: name => query.get(name),
    number: name => numberOf(name, query.get(name)),
    names: name => namesIn(query.get(name) ?? ''),
  })
}

/** Reads the selection of attributes. */
export function readSelection(query: Form): SelectedNames {
  refuseRepeated(query, ['attributes', 'excludedAttributes'])
  return {
    attributes: namesIn(query.get('attributes') ?? ''),
    excludedAttributes: namesIn(query.get('excludedAttributes') ?? ''),
  }
}

function refuseRepeated(query: Form, names: readonly string[]): void {
  const repeated = names.find(name => query.repeated.includes(name))
  if (repeated !== undefined) throw new ScimError('invalidValue', `The parameter ${repeated} must not be repeated`)
}

/** Reads the body of a search; names of members have no case. */
export function readSearch(body: Json): ListRequest {
  const member: (name: Name) => unknown = readMessage(body, SEARCH_SCHEMA)
  return readList({
    text(name) {
      const value = member(name)
      if (value === undefined || typeof value === 'string') return value
      throw new ScimError('invalidValue', `${name} must be a string`)
    },
    number(name) {
      const value = member(name)
      if (value === undefined || typeof value === 'number') return value
      throw new ScimError('invalidValue', `${name} must be a number`)
    },
    names(name) {
      const value = member(name) ?? []
      const list: readonly unknown[] = Array.isArray(value) ? value : [value]
      if (!list.every(each => typeof each === 'string')) {
        throw new ScimError('invalidValue', `${name} must be a list of strings`)
      }
      return namesIn(list.join(','))
    },
  })
}

interface Parameters {
  readonly text: (name: Name) => string | undefined
  readonly number: (name: Name) => number | undefined
  readonly names: (name: Name) => readonly string[]
}

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  if (/^-?\d{1,10}$/.test(text)) return Number(text)
  throw new ScimError(name === 'count' ? 'invalidCount' : 'invalidValue', `${name} must be a whole number`)
}

function readList({ text, number, names }: Parameters): ListRequest {
  const filterText = text('filter') ?? ''
  const sortOrder = (text('sortOrder') || 'ascending').toLowerCase()
  if (sortOrder !== 'ascending' && sortOrder !== 'descending') {
    throw new ScimError('invalidValue', 'sortOrder must be ascending or descending')
  }
  const sortBy = text('sortBy') || DEFAULT_ORDER
  if (sortBy.includes(',')) throw new ScimError('invalidValue', 'sortBy must be one attribute')
  const cursor = text('cursor')
  const [start, count = LIMITS.defaultPageSize] = [number('startIndex'), number('count')]
  // RFC 9865 §2.3: each of them requests another way to page.
  if (cursor !== undefined && start !== undefined) {
    throw new ScimError('invalidValue', 'cursor and startIndex exclude each other')
  }
  const startIndex = start ?? 1
  if (![startIndex, count].every(each => Number.isInteger(each) && Math.abs(each) <= MAX_INT32)) {
    throw new ScimError('invalidValue', 'startIndex and count must be whole numbers')
  }
  if (cursor !== undefined && count < 1) throw new ScimError('invalidCount', 'With a cursor, count must be at least 1')
  return {
    filterText,
    filter: filterText === '' ? EVERYTHING : parseFilter(filterText, 'scim'),
    sortBy,
    descending: sortOrder === 'descending',
    // RFC 7644 §3.4.2.4: values that are too small count as the smallest.
    startIndex: Math.max(startIndex, 1),
    count: Math.min(Math.max(count, 0), LIMITS.maxResults),
    cursor,
    attributes: names('attributes'),
    excludedAttributes: names('excludedAttributes'),
  }
}
