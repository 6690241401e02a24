// PATCH changes to the values of a multi-valued attribute (RFC 7644 §3.5.2).
import { isJsonRecord } from '../../../base/json.ts'
import type { Filter } from '../../../model/filters/filter.ts'
import type { Attribute, ResolvedPath } from '../schemas/attribute.ts'
import { named } from '../schemas/attribute.ts'
import { ScimError } from '../error.ts'
import { hasOwnId, idOf, isPrimary, joined, onlyPrimary } from '../requests/multiple-values.ts'
import type { Op } from './patch-operations.ts'
import { checkCount, readPart, readSingle, readValue } from '../requests/reader.ts'
import { entryFor, mayBeAbsent } from '../requests/tolerances.ts'
import { exactValueOf, selects, sizeOf } from './value-filter.ts'

/** Members of a resource that is being changed; every name in it is one of the description. */
export type Draft = Record<string, unknown>

/** Where a change happens. */
export interface Context {
  readonly owner: Draft
  readonly resolved: ResolvedPath
  /** For messages. */
  readonly path: string
  readonly budget: Budget
}

/**
 * Comparisons of values, with filters and with one another, and changes of them that the request may still make. They block other
 * requests for some hundredths of a second.
 */
export interface Budget {
  left: number
}
/** Comparisons for one request. */
export const MAX_COMPARISONS = 25_000
/** Ids are compared faster than values: a thousand members can be added one by one. */
const COST_OF_ID = 1 / 40

function spend(budget: Budget, comparisons: number): void {
  budget.left -= comparisons
  if (budget.left < 0) throw new ScimError('invalidValue', 'The operations of the request compare too many values')
}

const listIn = (owner: Draft, { name }: Attribute): readonly unknown[] => {
  const list = owner[name]
  return Array.isArray(list) ? list : []
}

/** The values that a filter selects; all without one. */
function chosenIn(
  list: readonly unknown[],
  filter: Filter | undefined,
  { resolved: { attribute }, budget }: Context,
): ReadonlySet<unknown> {
  const id = filter && exactValueOf(filter, attribute)
  spend(budget, list.length * (id !== undefined ? COST_OF_ID : filter ? sizeOf(filter) : 1))
  if (!filter) return new Set(list)
  return new Set(list.filter(entry => (id === undefined ? selects(filter, entry, attribute) : idOf(entry) === id)))
}

/** Adds or replaces values, or members of those that the filter selects. */
export function changeValues(
  context: Context,
  { op, filter, value }: { readonly op: Op; readonly filter: Filter | undefined; readonly value: unknown },
): void {
  const { owner, resolved, path, budget } = context
  const { attribute, sub } = resolved
  const list = listIn(owner, attribute)
  if (!filter && !sub) {
    const sent = Array.isArray(value) ? value : [value]
    const read = readValue(attribute, sent, path)
    const values: readonly unknown[] = Array.isArray(read) ? read : []
    if (op === 'add') spend(budget, (list.length + values.length) * (hasOwnId(attribute) ? COST_OF_ID : 1))
    owner[attribute.name] = op === 'replace' ? values : added(attribute, list, values)
    return
  }
  const chosen = chosenIn(list, filter, context)
  if (chosen.size === 0) {
    const entry = filter && entryFor(filter)
    if (!entry) throw new ScimError('noTarget', `${path} has no such value`)
    const made = readPart(attribute, entry, attribute.name)
    const changed = changedEntry(made, { attribute, sub, value, path, op: 'add' })
    owner[attribute.name] = added(attribute, list, [changed])
    return
  }
  const changed = list.map(entry =>
    chosen.has(entry) ? changedEntry(entry, { attribute, sub, value, path, op }) : entry,
  )
  const preferred = changed.findLast((entry, index) => chosen.has(list[index]) && isPrimary(entry))
  const entries = onlyPrimary(changed, preferred).filter(entry => entry !== undefined)
  // Members can be many: a set of them is made at the end.
  owner[attribute.name] = hasOwnId(attribute) ? entries : joined(attribute, [], entries)
}

/** The list with more values; throws for too many. */
function added(attribute: Attribute, list: readonly unknown[], values: readonly unknown[]): readonly unknown[] {
  const all = joined(attribute, list, values)
  checkCount(attribute, all, attribute.name)
  return all
}

interface EntryChange {
  readonly op: Op
  readonly attribute: Attribute
  readonly sub: Attribute | undefined
  readonly value: unknown
  readonly path: string
}

/** An entry of a list after a change of one of its members, or of all. */
function changedEntry(entry: unknown, { op, attribute, sub, value, path }: EntryChange): unknown {
  const members: Draft = isJsonRecord(entry) ? { ...entry } : {}
  if (sub) {
    const read = readValue(sub, value, path)
    if (sub.mutability === 'immutable' && members[sub.name] !== undefined && members[sub.name] !== read) {
      throw new ScimError('mutability', `${path} can no longer be changed`)
    }
    members[sub.name] = read
    return withoutUndefined(members)
  }
  if (op === 'replace') return readSingle(attribute, value, path)
  merge(members, value, { attribute, path })
  return withoutUndefined(members)
}

/** Removes the values that the filter selects, or a member of these. */
export function removeValues(context: Context, filter: Filter | undefined, op: Op): void {
  const { owner, resolved, path } = context
  const { attribute, sub } = resolved
  const list = listIn(owner, attribute)
  const chosen = chosenIn(list, filter, context)
  if (chosen.size === 0 && filter && !(op === 'remove' && mayBeAbsent(attribute))) {
    throw new ScimError('noTarget', `${path} has no such value`)
  }
  const left = list.flatMap(entry => {
    if (!chosen.has(entry)) return [entry]
    if (!sub) return []
    const { [sub.name]: _, ...others } = isJsonRecord(entry) ? entry : {}
    return withoutUndefined(others) ?? []
  })
  owner[attribute.name] = left.length > 0 ? left : undefined
}

/** Sets the members that the value has; null removes one. */
export function merge(
  members: Draft,
  value: unknown,
  { attribute, path }: { readonly attribute: Attribute; readonly path: string },
): void {
  const read = readPart(attribute, value, path)
  if (isJsonRecord(read)) Object.assign(members, read)
  if (!isJsonRecord(value)) return
  for (const [name, each] of Object.entries(value)) {
    const sub = each === null ? named(attribute.subAttributes ?? [], name) : undefined
    if (sub && sub.mutability !== 'readOnly') delete members[sub.name]
  }
}

/** The members that have a value; undefined without any. */
export const withoutUndefined = (members: Draft): Draft | undefined => {
  const kept = Object.entries(members).filter(([, value]) => value !== undefined)
  return kept.length > 0 ? Object.fromEntries(kept) : undefined
}
