// Lists and searches of one type of resource, or of all: the envelope of RFC 7644 §3.4.2 and the pages of RFC 9865.
import type { Vault } from '../../base/secrets.ts'
import { matches } from '../../model/filters/filter-match.ts'
import type { Filter } from '../../model/filters/filter.ts'
import { EVERYTHING } from '../../model/filters/filter.ts'
import type { Position } from '../../store/store.ts'
import type { Json, Names } from './schemas/attribute.ts'
import type { CursorScope } from './cursor.ts'
import { openCursor, sealCursor } from './cursor.ts'
import { LIST_SCHEMA } from './schemas/discovery.ts'
import { ScimError } from './error.ts'
import { DEFAULT_ORDER } from './requests/query.ts'
import type { ListRequest } from './requests/query.ts'
import type { Context, Resource, Resources } from './resources/resources.ts'
import { createSelection } from './requests/selection.ts'

/** One page of a list, by number or by cursor. */
export function listResources(
  resources: Resources,
  context: Context,
  { request, vault }: { readonly request: ListRequest; readonly vault: Vault },
): Promise<Json> {
  const typed = { ...request, filter: ofType(request.filter, resources.names) }
  return request.cursor === undefined
    ? byNumber(resources, context, typed)
    : byCursor(resources, context, { request: typed, cursor: request.cursor, vault })
}

async function byNumber(resources: Resources, context: Context, request: ListRequest): Promise<Json> {
  const selection = createSelection(resources.names, request)
  const { records, totalResults } = await resources.list(context, request, selection)
  return envelope(records, { totalResults, startIndex: request.startIndex })
}

async function byCursor(
  resources: Resources,
  context: Context,
  { request, cursor, vault }: { readonly request: ListRequest; readonly cursor: string; readonly vault: Vault },
): Promise<Json> {
  const scope: CursorScope = { zoneId: context.zone.id, type: resources.names.type.name, request }
  const position = openCursor(vault, cursor, scope)
  const backwards = position?.backwards === true
  const { filter, sortBy, count } = request
  const descending = request.descending !== backwards
  const query = { filter, sortBy, descending, count, ...(position && { after: position.at }) }
  const page = await resources.page(context, query, createSelection(resources.names, request))
  const records = backwards ? page.records.toReversed() : page.records
  const seal = (at: Position | undefined, isBackwards: boolean): string | undefined =>
    at && sealCursor(vault, { at, backwards: isBackwards }, scope)
  // The previous page is on the other side, even if its records have been deleted meanwhile.
  const [behind, before] = backwards ? [page.first, page.next] : [page.next, position && page.first]
  const nextCursor = seal(behind, false)
  const previousCursor = seal(before, true)
  return {
    ...envelope(records, {}),
    ...(nextCursor !== undefined && { nextCursor }),
    ...(previousCursor !== undefined && { previousCursor }),
  }
}

function envelope(
  records: readonly Resource[],
  { totalResults, startIndex }: { readonly totalResults?: number; readonly startIndex?: number },
): Json {
  return {
    schemas: [LIST_SCHEMA],
    ...(totalResults !== undefined && { totalResults }),
    itemsPerPage: records.length,
    ...(startIndex !== undefined && { startIndex }),
    Resources: records.map(({ json }) => json),
  }
}

/** A search through all types, one after the other (RFC 7644 §3.4.2.1); sorted within each. */
export async function searchAll(types: readonly Resources[], context: Context, request: ListRequest): Promise<Json> {
  if (request.cursor !== undefined) {
    throw new ScimError('invalidCursor', 'A search through all types of resources supports pages by index only')
  }
  const names = types.map(resources => resources.names)
  const found: Resource[] = []
  let totalResults = 0
  let isCut = false
  for (const resources of types) {
    // Adjusts the start by the totals of the preceding types.
    const startIndex = Math.max(request.startIndex - totalResults, 1)
    // A page may have fewer resources than it could; those of the next type would then take their places.
    const count: number = isCut ? 0 : request.count - found.length
    const filter = ofType(request.filter, resources.names, names)
    const sortBy = isForeign(request.sortBy, resources.names, names) ? DEFAULT_ORDER : request.sortBy
    const selection = createSelection(resources.names, request)
    const page = await resources.list(context, { ...request, filter, sortBy, startIndex, count }, selection)
    totalResults += page.totalResults
    isCut ||= page.records.length < Math.min(count, page.totalResults - startIndex + 1)
    found.push(...page.records)
  }
  return envelope(found, { totalResults, startIndex: request.startIndex })
}

/** Whether another type that is searched as well has the attribute, and this one does not. */
const isForeign = (attribute: string, own: Names, all: readonly Names[]): boolean =>
  !own.find(attribute) && all.some(names => names.find(attribute))

/**
 * The filter for one type: conditions on `meta.resourceType`, and on attributes that only others of `all` have, are evaluated,
 * and `name pr` is one on the parts of the name.
 */
function ofType(filter: Filter, names: Names, all: readonly Names[] = []): Filter {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return { ...filter, parts: filter.parts.map(part => ofType(part, names, all)) }
    case 'not':
      return not(ofType(filter.part, names, all))
    case 'values':
      return isForeign(filter.attribute, names, all) ? NOTHING : filter
    case 'compare': {
      if (isForeign(filter.attribute, names, all)) return matches(filter, {}) ? EVERYTHING : NOTHING
      if (filter.attribute.toLowerCase() !== 'meta.resourcetype') return filter
      const isType = filter.value === names.type.name
      if (filter.comparison === 'eq') return isType ? EVERYTHING : NOTHING
      if (filter.comparison === 'ne') return isType ? NOTHING : EVERYTHING
      return filter
    }
    case 'present': {
      if (isForeign(filter.attribute, names, all)) return NOTHING
      const { attribute, sub } = names.find(filter.attribute) ?? {}
      if (!attribute || sub || attribute.multiValued) return filter
      const parts = (attribute.subAttributes ?? []).filter(({ at }) => at !== undefined)
      if (parts.length === 0) return filter
      // Not an `or`, each part of which would search the table again.
      const absent = parts.map(({ name }) => not({ ...filter, attribute: `${filter.attribute}.${name}` }))
      return not({ kind: 'and', parts: absent })
    }
  }
}

const not = (part: Filter): Filter => ({ kind: 'not', part })

const NOTHING = not(EVERYTHING)
