// Lists of clients, users and groups in UAA's dialect of SCIM: parameters, envelope and the choice of attributes. Where the
// lists differ, `ListRules` says how.
import { MAX_INT32 } from '../../base/json.ts'
import { html } from '../../base/html.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Filter } from '../../model/filters/filter.ts'
import { InvalidFilter, MAX_FILTER_LENGTH, parseFilter } from '../../model/filters/filter.ts'
import type { OAuthError } from '../../model/oauth-error.ts'
import type { ListQuery, Page } from '../../store/store.ts'
import type { Form } from '../../web/requests/form.ts'
import { repeatedName } from '../../web/requests/query.ts'

/** More than a record has; each is repeated for up to five hundred records. */
const MAX_ATTRIBUTES = 100

/** The query of a list, with its defaults; empty parameters count as absent. */
export interface ListParameters extends Omit<ListQuery, 'filter'> {
  readonly filter: string
  /** The attributes to return; empty for all. */
  readonly attributes: readonly string[]
}

/** The differences between lists. */
export interface ListRules {
  readonly defaults: { readonly filter: string; readonly sortBy: string }
  /** Whether `sortOrder` asks for the reverse order. */
  readonly isDescending: (sortOrder: string) => boolean
  /** Whether a start before 1 and a negative count are read as 1 and 0 rather than refused. */
  readonly lenient: { readonly startIndex: boolean; readonly count: boolean }
  /** Whether filters know `not (…)`, which UAA's do not. */
  readonly allowsNot: boolean
  /** Whether `sortBy` may be a list with commas. */
  readonly ordersBySeveral?: true
  /** Whether a name can be a path such as `meta.created`; anything else is then refused. */
  readonly attributePaths: boolean
  /** Attributes whose values are not where their name says. */
  readonly attributes?: ReadonlyMap<string, (resource: Resource) => unknown>
  readonly schemas: readonly string[]
  readonly refuse: (message: string) => OAuthError
  readonly refuseFilter: (query: ShownQuery, cause: InvalidFilter) => OAuthError
}

/** A record in responses. */
export type Resource = Readonly<Record<string, unknown>>

/** Filter and order for an error message: shortened. */
interface ShownQuery {
  readonly filter: string
  readonly sortBy: string
}

/** Reads the parameters of a list of at most `maxCount` records a page; throws what the rules refuse with. */
export function readListParameters(
  query: Form,
  rules: ListRules,
  { behaviour, maxCount }: { readonly behaviour: Behaviour; readonly maxCount: number },
): ListParameters {
  const names = ['filter', 'sortBy', 'sortOrder', 'startIndex', 'count', 'attributes']
  const repeated = repeatedName(query, names, behaviour)
  if (repeated !== undefined) throw rules.refuse(`The parameter ${repeated} must not be repeated`)
  const text = (name: string, fallback: string): string => query.get(name) || fallback
  const startIndex = wholeNumber('startIndex', text('startIndex', '1'), rules)
  const count = wholeNumber('count', text('count', '100'), rules)
  if (startIndex < 1 && !rules.lenient.startIndex) throw rules.refuse('The parameter startIndex must be at least 1')
  if (count < 0 && !rules.lenient.count) throw rules.refuse('The parameter count must not be negative')
  return {
    filter: text('filter', rules.defaults.filter),
    sortBy: text('sortBy', rules.defaults.sortBy),
    descending: rules.isDescending(text('sortOrder', 'ascending')),
    startIndex: Math.max(startIndex, 1),
    // RFC 7644 §3.4.2.4: 0 requests only the total.
    count: Math.min(Math.max(count, 0), maxCount),
    attributes: attributesIn(text('attributes', ''), rules),
  }
}

function wholeNumber(name: string, text: string, { refuse }: ListRules): number {
  if (/^-?\d{1,10}$/.test(text) && Math.abs(Number(text)) <= MAX_INT32) return Number(text)
  throw refuse(`The parameter ${name} must be a whole number`)
}

const PATH = /^[A-Za-z_$][\w$-]*(?:\.[A-Za-z_$][\w$-]*)*$/

function attributesIn(text: string, { attributePaths, refuse }: ListRules): readonly string[] {
  const names = text
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
  if (names.length > MAX_ATTRIBUTES) throw refuse(`The parameter attributes must name at most ${MAX_ATTRIBUTES}`)
  if (!attributePaths || names.every(name => PATH.test(name))) return names
  throw refuse(`Invalid attributes: [${text.slice(0, MAX_FILTER_LENGTH)}]`)
}

/** Reads the page from the store; throws what the rules say of a filter or an order that cannot be. */
export async function findPage<T>(
  { filter, sortBy, ...page }: ListParameters,
  { refuseFilter, allowsNot, ordersBySeveral }: ListRules,
  list: (query: ListQuery) => Promise<Page<T>>,
): Promise<Page<T>> {
  try {
    const parsed = parseFilter(filter)
    if (ordersBySeveral !== true && sortBy.includes(','))
      throw new InvalidFilter('only one attribute can be used for sorting')
    if (!allowsNot && hasNot(parsed)) throw new InvalidFilter('the operator not is not supported')
    return await list({ ...page, sortBy, filter: parsed })
  } catch (cause) {
    if (!(cause instanceof InvalidFilter)) throw cause
    const [shownFilter, shownOrder] = [filter, sortBy].map(text => text.slice(0, MAX_FILTER_LENGTH))
    throw refuseFilter({ filter: shownFilter ?? '', sortBy: shownOrder ?? '' }, cause)
  }
}

const hasNot = (filter: Filter): boolean =>
  filter.kind === 'not' || ((filter.kind === 'and' || filter.kind === 'or') && filter.parts.some(hasNot))

/** UAA escapes request values in the messages of `/Users` and `/Groups`. */
export const escapedFilter = (text: string): string => html`${text}`.toString()

/** The envelope of a page; `itemsPerPage` is the requested count unless given. */
export const listOf = (
  resources: readonly Resource[],
  { startIndex, count, attributes }: ListParameters,
  { rules, totalResults, itemsPerPage = count }: { rules: ListRules; totalResults: number; itemsPerPage?: number },
): Resource => ({
  resources: resources.map(resource => selected(resource, attributes, rules)),
  startIndex,
  itemsPerPage,
  totalResults,
  schemas: rules.schemas,
})

/** Whether the request selects the attribute, or selects none and thus all. */
export const wants = ({ attributes }: Pick<ListParameters, 'attributes'>, name: string): boolean =>
  attributes.length === 0 || attributes.includes(name)

/** The resource with exactly the requested names, in their order; null for attributes that it lacks. */
export function selected(resource: Resource, names: readonly string[], rules: ListRules): Resource {
  if (names.length === 0) return resource
  return Object.fromEntries(names.map(name => [name, valueOf(resource, name, rules) ?? null]))
}

function valueOf(resource: Resource, name: string, { attributes, attributePaths }: ListRules): unknown {
  const special = attributes?.get(name)
  if (special) return special(resource)
  let value: unknown = resource
  for (const part of attributePaths ? name.split('.') : [name]) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, part)) return null
    value = Reflect.get(value, part)
  }
  return value
}
