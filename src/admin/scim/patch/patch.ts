// PATCH (RFC 7644 §3.5.2) as a function from one resource to the next: every operation or none.
import { isJsonRecord } from '../../../base/json.ts'
import type { Filter } from '../../../model/filters/filter.ts'
import type { Json, Names, ResolvedPath } from '../schemas/attribute.ts'
import { nameOf, named } from '../schemas/attribute.ts'
import { ScimError } from '../error.ts'
import type { Op, Operation } from './patch-operations.ts'
import { readTarget } from './patch-path.ts'
import type { Target } from './patch-path.ts'
import { changeValues, MAX_COMPARISONS, merge, removeValues, withoutUndefined } from './patch-values.ts'
import type { Budget, Context, Draft } from './patch-values.ts'
import { checkComplete, readValue, shown } from '../requests/reader.ts'

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
    if (op === 'add' && value === null) return // RFC 7643 §2.5: null is no value
    const isRemoval = op === 'remove' || value === null
    if (!isRemoval && !isJsonRecord(value)) throw new ScimError('invalidValue', `${id} must be an object`)
    const members = isJsonRecord(value) && !isRemoval ? Object.keys(value) : Object.keys(ownerOf(draft, id))
    for (const name of members) {
      const attribute = named(attributes, name)
      if (!attribute) throw new ScimError('invalidPath', `Unknown attribute ${id}:${shown(name)}`)
      const each = isJsonRecord(value) ? value[name] : undefined
      if (isRemoval && attribute.mutability === 'readOnly') continue
      const resolved = { extension: id, attribute }
      change(draft, { op: isRemoval ? 'remove' : op, target: { resolved }, value: each, budget })
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
  if (resolved.attribute.multiValued) changeValues(context, { op, filter, value })
  else if (resolved.attribute.type === 'complex') changeComplex(context, value)
  else setSimple(context, value)
}

/** The members of an extension, which is added if absent. */
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
    throw new ScimError('mutability', `${path} can no longer be changed`)
  }
  owner[attribute.name] = read
}

/** A value replaces the sub-attributes that it has, and leaves the others (RFC 7644 §3.5.2.1 and §3.5.2.3). */
function changeComplex({ owner, resolved: { attribute, sub }, path }: Context, value: unknown): void {
  const current = owner[attribute.name]
  const members: Draft = isJsonRecord(current) ? { ...current } : {}
  if (sub) members[sub.name] = readValue(sub, value, path)
  else merge(members, value, { attribute, path })
  owner[attribute.name] = withoutUndefined(members)
}

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
  removeValues(context, filter, op)
}
