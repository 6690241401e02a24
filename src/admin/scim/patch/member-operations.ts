// Which members of a group a PATCH concerns, so that the others need not be read.
import { isJsonRecord } from '../../../base/json.ts'
import type { Filter } from '../../../model/filters/filter.ts'
import type { Names } from '../schemas/attribute.ts'
import type { Operation } from './patch-operations.ts'
import { idOf } from '../requests/multiple-values.ts'
import { readTarget } from './patch-path.ts'

/** The members to read before a PATCH. */
export interface NeededMembers {
  /** The members that it names, or all for a filter of another kind. */
  readonly ids: readonly string[] | 'all'
  /** Whether it sets all members, or removes them: then nothing else stays. */
  readonly isReplaced: boolean
}

/** Throws `ScimError` for invalid paths. */
export function neededMembers(names: Names, operations: readonly Operation[]): NeededMembers {
  const ids = new Set<string>()
  let isAll = false
  let isReplaced = false
  for (const { op, value, filter } of memberOperations(names, operations)) {
    if (filter) {
      const named = idsIn(filter)
      if (named) for (const id of named) ids.add(id)
      else isAll ||= !isReplaced // of a new list everything is known
    } else if (op === 'add') {
      for (const id of idsOf(value)) ids.add(id)
    } else {
      isReplaced = true
    }
  }
  return { ids: isAll ? 'all' : [...ids], isReplaced }
}

interface MemberOperation {
  readonly op: Operation['op']
  readonly value: unknown
  readonly filter: Filter | undefined
}

function memberOperations(names: Names, operations: readonly Operation[]): readonly MemberOperation[] {
  return operations.flatMap(({ op, path, value }): readonly MemberOperation[] => {
    const targets: readonly (readonly [string, unknown])[] =
      path !== undefined ? [[path, value]] : isJsonRecord(value) ? Object.entries(value) : []
    return targets.flatMap(([name, each]) => {
      const target = readTarget(names, name)
      if ('schema' in target || target.resolved.attribute.name !== 'members') return []
      return [{ op, value: each, filter: target.filter }]
    })
  })
}

/** The ids that a filter selects by equality alone; undefined for any other. */
function idsIn(filter: Filter): readonly string[] | undefined {
  switch (filter.kind) {
    case 'compare':
      return filter.attribute.toLowerCase() === 'value' &&
        filter.comparison === 'eq' &&
        typeof filter.value === 'string'
        ? [filter.value]
        : undefined
    case 'or': {
      const parts = filter.parts.map(idsIn)
      return parts.every(part => part !== undefined) ? parts.flat() : undefined
    }
    default:
      return undefined
  }
}

const idsOf = (value: unknown): readonly string[] =>
  [value].flat().flatMap(each => {
    const id = isJsonRecord(each) ? idOf(each) : undefined
    return typeof id === 'string' ? [id] : []
  })
