// PATCH (RFC 7644 §3.5.2) as a function from one resource to the next: every operation or none.
import { isJsonRecord } from '../../base/json.ts'
import type { Filter } from '../../model/filters/filter.ts'
import type { Attribute, Json, Names, ResolvedPath } from './attribute.ts'
import { nameOf, named } from './attribute.ts'
import { ScimError } from './error.ts'
import { readMessage } from './message.ts'
import { readTarget } from './patch-path.ts'
import type { Target } from './patch-path.ts'
import { checkComplete, checkCount, isPrimary, readSingle, readValue, shown } from './reader.ts'
import type { SentOperation } from './tolerances.ts'
import { entryFor, mayBeAbsent, tolerated } from './tolerances.ts'
import { exactValueOf, selects, sizeOf } from './value-filter.ts'

/** The schema of a PATCH body. */
export const PATCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
const MAX_OPERATIONS = 1000
/** Attributes that a request may name, of which operations without a path have many. Changing them blocks other requests. */
const MAX_CHANGES = 5000

const OPS = ['add', 'replace', 'remove'] as const
type Op = (typeof OPS)[number]

/** An operation with its path, which may still be absent. */
export interface Operation {
  readonly op: Op
  readonly path?: string
  readonly value?: unknown
}

/** Members of a resource that is being changed; every name in it is one of the description. */
type Draft = Record<string, unknown>

/** Reads the body of a PATCH, with the tolerances. */
export function readOperations(names: Names, body: Json): readonly Operation[] {
  const list = readMessage(body, PATCH_SCHEMA)('Operations')
  if (!Array.isArray(list) || list.length === 0) throw new ScimError('invalidSyntax', 'Operations must be a list')
  const changes = list.reduce<number>((sum, each) => sum + countChanges(each), 0)
  if (changes > MAX_CHANGES) {
    throw new ScimError('invalidValue', `A request can change at most ${MAX_CHANGES} attributes`)
  }
  const operations = list.flatMap((each: unknown) => {
    if (!isJsonRecord(each)) throw new ScimError('invalidSyntax', 'An operation must be an object')
    return tolerated({ op: each['op'], path: each['path'] ?? undefined, value: each['value'] }, names)
  })
  if (operations.length > MAX_OPERATIONS) {
    throw new ScimError('invalidValue', `A request can have at most ${MAX_OPERATIONS} operations`)
  }
  return operations.map(readOperation)
}

/** How many attributes an operation names; for one that is no object, what refuses it comes later. */
const countChanges = (sent: unknown): number =>
  isJsonRecord(sent) && isJsonRecord(sent['value']) ? Object.keys(sent['value']).length : 1

function readOperation({ op: sent, path, value }: SentOperation): Operation {
  const op = OPS.find(each => each === sent)
  if (!op) throw new ScimError('invalidSyntax', `op must be one of ${OPS.join(', ')}`)
  if (path !== undefined && typeof path !== 'string') throw new ScimError('invalidPath', 'path must be a string')
  if (op === 'remove' && path === undefined) throw new ScimError('noTarget', 'remove needs a path')
  if (op !== 'remove' && value === undefined) throw new ScimError('invalidValue', `${op} needs a value`)
  return { op, ...(path !== undefined && { path }), value }
}

/** The resource after all operations. Throws `ScimError` for the first that cannot be done. */
export function applyPatch(names: Names, resource: Json, operations: readonly Operation[]): Json {
  const draft: Draft = structuredClone(resource)
  const budget: Budget = { left: MAX_COMPARISONS }
  for (const operation of operations) apply(names, draft, { ...operation, budget })
  checkComplete(names, draft)
  for (const { id } of names.type.extensions) {
    const members = draft[id]
    if (isJsonRecord(members) && Object.keys(members).length === 0) delete draft[id]
  }
  return draft
}

/**
 * Comparisons of values, with filters and with one another, that the request may still make. They block other requests for some
 * hundredths of a second.
 */
interface Budget {
  left: number
}
const MAX_COMPARISONS = 25_000
const TOO_MANY = 'The operations of the request compare too many values'

function apply(names: Names, draft: Draft, { op, path, value, budget }: Operation & { readonly budget: Budget }): void {
  if (path !== undefined) return change(draft, { op, target: readTarget(names, path), value, budget })
  if (!isJsonRecord(value)) throw new ScimError('invalidValue', 'Without a path, the value must be an object')
  for (const [name, each] of Object.entries(value)) {
    change(draft, { op, target: readTarget(names, name), value: each, budget })
  }
}

interface Change {
  readonly op: Op
  readonly target: Target
  readonly value: unknown
  readonly budget: Budget
}

function change(draft: Draft, { op, target, value, budget }: Change): void {
  if ('schema' in target) {
    const { id, attributes } = target.schema
    if (op !== 'remove' && !isJsonRecord(value)) throw new ScimError('invalidValue', `${id} must be an object`)
    const members = isJsonRecord(value) && op !== 'remove' ? Object.keys(value) : Object.keys(ownerOf(draft, id))
    for (const name of members) {
      const attribute = named(attributes, name)
      if (!attribute) throw new ScimError('invalidPath', `There is no attribute ${id}:${shown(name)}`)
      const each = isJsonRecord(value) ? value[name] : undefined
      if (op === 'remove' && attribute.mutability === 'readOnly') continue
      change(draft, { op, target: { resolved: { extension: id, attribute } }, value: each, budget })
    }
    return
  }
  const { resolved, filter } = target
  checkMutable(resolved)
  const owner = resolved.extension === undefined ? draft : ownerOf(draft, resolved.extension)
  const context: Context = { owner, resolved, path: nameOf(resolved), budget }
  // RFC 7643 §2.5: null and an empty list are no value.
  const isEmpty = value === null || (Array.isArray(value) && value.length === 0)
  if (op === 'remove' || (isEmpty && op === 'replace')) return remove(context, filter, op)
  if (isEmpty) return
  if (resolved.attribute.multiValued) changeList(context, { op, filter, value })
  else if (resolved.attribute.type === 'complex') changeComplex(context, value)
  else setSimple(context, value)
}

/** Where a change happens. */
interface Context {
  readonly owner: Draft
  readonly resolved: ResolvedPath
  /** For messages. */
  readonly path: string
  readonly budget: Budget
}

/** The members of an extension, which are there from now on. */
function ownerOf(draft: Draft, extension: string): Draft {
  const members = draft[extension]
  if (isJsonRecord(members)) return members
  const created: Draft = {}
  draft[extension] = created
  return created
}

function checkMutable(resolved: ResolvedPath): void {
  const readOnly = [resolved.attribute, resolved.sub].some(attribute => attribute?.mutability === 'readOnly')
  if (readOnly) throw new ScimError('mutability', `${nameOf(resolved)} cannot be changed`)
}

function setSimple({ owner, resolved: { attribute }, path }: Context, value: unknown): void {
  const read = readValue(attribute, value, path)
  const current = owner[attribute.name]
  if (attribute.mutability === 'immutable' && current !== undefined && current !== read) {
    throw new ScimError('mutability', `${path} cannot be changed any more`)
  }
  owner[attribute.name] = read
}

/** A value replaces the sub-attributes that it has, and leaves the others (RFC 7644 §3.5.2.1 and §3.5.2.3). */
function changeComplex({ owner, resolved: { attribute, sub }, path }: Context, value: unknown): void {
  const current = owner[attribute.name]
  const members: Draft = isJsonRecord(current) ? { ...current } : {}
  if (sub) members[sub.name] = readValue(sub, value, path)
  else merge(members, attribute, value, path)
  owner[attribute.name] = withoutUndefined(members)
}

/** Sets the members that the value has; null removes one. */
function merge(members: Draft, attribute: Attribute, value: unknown, path: string): void {
  const read = readSingle(attribute, value, path, { isPart: true })
  if (isJsonRecord(read)) Object.assign(members, read)
  if (!isJsonRecord(value)) return
  for (const [name, each] of Object.entries(value)) {
    const sub = each === null ? named(attribute.subAttributes ?? [], name) : undefined
    if (sub && sub.mutability !== 'readOnly') delete members[sub.name]
  }
}

const withoutUndefined = (members: Draft): Draft | undefined => {
  const kept = Object.entries(members).filter(([, value]) => value !== undefined)
  return kept.length > 0 ? Object.fromEntries(kept) : undefined
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
  if (!filter) return new Set(list)
  const id = exactValueOf(filter, attribute)
  if (id !== undefined) return new Set(list.filter(entry => idOf(entry) === id))
  budget.left -= list.length * sizeOf(filter)
  if (budget.left < 0) throw new ScimError('invalidValue', TOO_MANY)
  return new Set(list.filter(entry => selects(filter, entry, attribute)))
}

function changeList(
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
    if (op === 'add' && !hasOwnId(attribute)) {
      budget.left -= list.length + values.length
      if (budget.left < 0) throw new ScimError('invalidValue', TOO_MANY)
    }
    owner[attribute.name] = op === 'replace' ? values : joined(attribute, list, values)
    return
  }
  const chosen = chosenIn(list, filter, context)
  if (chosen.size === 0) {
    const entry = filter && entryFor(filter)
    if (!entry) throw new ScimError('noTarget', `${path} has no such value`)
    const made = readSingle(attribute, entry, attribute.name, { isPart: true })
    const changed = changedEntry(made, { attribute, sub, value, path, op: 'add' })
    owner[attribute.name] = joined(attribute, list, [changed])
    return
  }
  const changed = list.map(entry =>
    chosen.has(entry) ? changedEntry(entry, { attribute, sub, value, path, op }) : entry,
  )
  const preferred = changed.findLast((entry, index) => chosen.has(list[index]) && isPrimary(entry))
  owner[attribute.name] = onlyPrimary(changed, preferred).filter(entry => entry !== undefined)
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
      throw new ScimError('mutability', `${path} cannot be changed any more`)
    }
    members[sub.name] = read
    return withoutUndefined(members)
  }
  if (op === 'replace') return readSingle(attribute, value, path)
  merge(members, attribute, value, path)
  return withoutUndefined(members)
}

/** Whether one member identifies a value, like the id of a member of a group; others are compared whole. */
const hasOwnId = ({ subAttributes = [] }: Attribute): boolean =>
  subAttributes.some(({ name, mutability }) => name === 'value' && mutability === 'immutable')

/** The list with the values that it does not have yet. A new primary value takes the mark from the old one (§3.5.2). */
function joined(attribute: Attribute, list: readonly unknown[], values: readonly unknown[]): readonly unknown[] {
  const keyOf = hasOwnId(attribute) ? idOf : textOf
  const known = new Set(list.map(keyOf))
  const fresh = values.filter(value => {
    const key = keyOf(value)
    const isNew = !known.has(key)
    known.add(key)
    return isNew
  })
  const all = [...list, ...fresh]
  checkCount(attribute, all, attribute.name)
  return onlyPrimary(all, fresh.find(isPrimary))
}

/** The same text for equal values, independent of the order of their members. */
const textOf = (entry: unknown): string =>
  JSON.stringify(isJsonRecord(entry) ? Object.entries(entry).toSorted(([a], [b]) => (a < b ? -1 : 1)) : entry)

const idOf = (entry: unknown): unknown => (isJsonRecord(entry) ? entry['value'] : entry)

/** Takes the mark of all values but the preferred one, if there is one. */
const onlyPrimary = (list: readonly unknown[], preferred: unknown): readonly unknown[] =>
  preferred === undefined
    ? list
    : list.map(entry => (entry !== preferred && isPrimary(entry) ? { ...Object(entry), primary: false } : entry))

function remove(context: Context, filter: Filter | undefined, op: Op): void {
  const { owner, resolved, path } = context
  const { attribute, sub } = resolved
  const isWhole = !filter && !sub
  if ((isWhole && (attribute.required || attribute.mutability)) || (sub && (sub.required || sub.mutability))) {
    throw new ScimError('mutability', `${path} cannot be removed`)
  }
  if (isWhole) {
    delete owner[attribute.name]
    return
  }
  if (!attribute.multiValued) {
    const current = owner[attribute.name]
    const { [sub?.name ?? '']: _, ...others } = isJsonRecord(current) ? current : {}
    owner[attribute.name] = withoutUndefined(others)
    return
  }
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
