// Requests of provisioning services that RFC 7643 or RFC 7644 does not allow, and their interpretation. One row each;
// everything that has no row here is refused. The tests replay a request of each.
import { isJsonRecord } from '../../../base/json.ts'
import type { Filter } from '../../../model/filters/filter.ts'
import type { Attribute, Json, Names } from '../schemas/attribute.ts'
import { named } from '../schemas/attribute.ts'

/** One operation of a PATCH, not read yet. */
export interface SentOperation {
  readonly op: unknown
  readonly path?: unknown
  readonly value?: unknown
}

/** One row: what is sent, and the senders. `operation` rewrites an operation of a PATCH into standard ones. */
interface Tolerance {
  readonly name: string
  readonly sentBy: readonly ('Entra ID' | 'Okta' | 'scim2-client' | 'SCIM-SDK')[]
  readonly about: string
  readonly operation?: (operation: SentOperation, names: Names) => readonly SentOperation[]
}

/** Every row; those with `operation` are applied in this order. */
export const TOLERANCES: readonly Tolerance[] = [
  {
    name: 'capitalised-operations',
    sentBy: ['Entra ID'],
    about: '`"op": "Add"`, `"Replace"` and `"Remove"` count as `add`, `replace` and `remove`.',
    operation: operation => [
      typeof operation.op === 'string' ? { ...operation, op: lowerCase(operation.op) } : operation,
    ],
  },
  {
    name: 'wrapped-resources',
    sentBy: ['SCIM-SDK'],
    about: 'In an operation without a path, the value can be in a list of its own: `"value": [{"nickName": "…"}]`.',
    operation: operation => [{ ...operation, value: unwrapResource(operation) }],
  },
  {
    name: 'read-only-beside',
    sentBy: ['Okta'],
    about: 'In an operation without a path, `id`, `meta` and `schemas` beside other attributes are ignored.',
    operation: operation => [
      operation.path === undefined && isJsonRecord(operation.value)
        ? { ...operation, value: without(operation.value, ['id', 'meta', 'schemas']) }
        : operation,
    ],
  },
  {
    name: 'paths-as-names',
    sentBy: ['Entra ID'],
    about:
      'In an operation without a path, a name can be a path: `"name.givenName"`, `"urn:…:User:department"`, `"emails[type eq \\"work\\"].value"`.',
    operation: expandNames,
  },
  {
    name: 'schemas-of-extension',
    sentBy: ['scim2-client'],
    about: 'In the value of a whole extension, `schemas` is ignored.',
    operation: (operation, names) => [
      typeof operation.path === 'string' && names.extension(operation.path) && isJsonRecord(operation.value)
        ? { ...operation, value: without(operation.value, ['schemas']) }
        : operation,
    ],
  },
  {
    name: 'removal-with-values',
    sentBy: ['Entra ID'],
    about:
      'A `remove` with values removes these from a list, and not all: `"path": "members", "value": [{"value": "…"}]`, also one without a list.',
    operation: expandRemoval,
  },
  {
    name: 'removal-of-value',
    sentBy: ['Entra ID'],
    about:
      'Where an entry must have a value, its removal removes the entry: `remove` of `phoneNumbers[type eq "work"].value`.',
    operation: removeEntry,
  },
  {
    name: 'wrapped-values',
    sentBy: ['Entra ID'],
    about:
      'The value of a simple attribute, or the manager, can be in a list with one object: `"value": [{"$ref": null, "value": "…"}]`.',
    operation: unwrap,
  },
  {
    name: 'string-booleans',
    sentBy: ['Entra ID'],
    about: '`"True"` and `"False"` in any case count as booleans, in values and in the filters of paths.',
  },
  {
    name: 'manager-as-string',
    sentBy: ['Entra ID'],
    about: 'The manager can be the id alone: `"manager": "…"`.',
  },
  {
    name: 'missing-entries',
    sentBy: ['Entra ID'],
    about:
      'An `add` or `replace` whose path selects no entry by equalities, but not of its value, makes one: `emails[type eq "work"].value` on a user without a work address.',
  },
  {
    name: 'absent-members',
    sentBy: ['Entra ID', 'Okta'],
    about: 'Removing a member that is not in the group changes nothing.',
  },
  {
    name: 'foreign-schemas',
    sentBy: ['Entra ID'],
    about: '`schemas` can have `http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/…`.',
  },
]

/** Rewrites an operation by all rows, in their order. */
export const tolerated = (operation: SentOperation, names: Names): readonly SentOperation[] =>
  TOLERANCES.reduce<readonly SentOperation[]>(
    (operations, { operation: rewrite }) => (rewrite ? operations.flatMap(each => rewrite(each, names)) : operations),
    [operation],
  )

const lowerCase = (op: string): string => (/^(?:add|replace|remove)$/i.test(op) ? op.toLowerCase() : op)

const without = (value: Json, names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name.toLowerCase())))

/** One operation for each name that is a path; the others stay together. */
function expandNames(operation: SentOperation, names: Names): readonly SentOperation[] {
  const { path, value, op } = operation
  if (path !== undefined || !isJsonRecord(value)) return [operation]
  const paths = Object.entries(value).filter(([name]) => isPath(name, names))
  if (paths.length === 0) return [operation]
  const rest = Object.fromEntries(Object.entries(value).filter(([name]) => !isPath(name, names)))
  const expanded = paths.map(([name, each]) => ({ op, path: name, value: each }))
  return Object.keys(rest).length > 0 ? [{ op, value: rest }, ...expanded] : expanded
}

/** Whether a name is a path, not just the name of an attribute or an extension. */
const isPath = (name: string, names: Names): boolean => /[.[:]/.test(name) && !names.extension(name)

function expandRemoval(operation: SentOperation, names: Names): readonly SentOperation[] {
  const { op, path, value } = operation
  if (op !== 'remove' || typeof path !== 'string' || path.includes('[')) return [operation]
  if (value === undefined || value === null) return [operation]
  const resolved = names.find(path)
  if (!resolved || resolved.sub || !resolved.attribute.multiValued) return [operation]
  const filters = [value].flat().map(each => filterFor(each, resolved.attribute))
  // Anything else would remove values that were not named.
  if (filters.includes(undefined)) return [{ op, path: `${path}[]` }]
  return filters.map(filter => ({ op, path: `${path}[${filter}]` }))
}

/** The text of a filter for a value, by its id or all its members; undefined without a `value`, and with an unknown member. */
function filterFor(sent: unknown, { subAttributes = [] }: Attribute): string | undefined {
  const members: Json = isJsonRecord(sent) ? sent : { value: sent }
  if (typeof members['value'] !== 'string') return undefined
  const isId = named(subAttributes, 'value')?.mutability === 'immutable'
  const compared = isId ? ['value'] : Object.keys(members).filter(name => (members[name] ?? null) !== null)
  if (isJsonRecord(sent) && !compared.every(name => named(subAttributes, name))) return undefined
  return compared.map(name => `${name} eq ${JSON.stringify(members[name])}`).join(' and ')
}

function removeEntry(operation: SentOperation, names: Names): readonly SentOperation[] {
  const { op, path, value } = operation
  const isRemoval = op === 'remove' || (op === 'replace' && value === null) // RFC 7643 §2.5
  if (!isRemoval || typeof path !== 'string' || !/\]\.value$/i.test(path)) return [operation]
  const attribute = names.find(path.slice(0, path.indexOf('[')))?.attribute
  if (!named(attribute?.subAttributes ?? [], 'value')?.required) return [operation]
  return [{ op: 'remove', path: path.slice(0, path.lastIndexOf('.')) }]
}

function unwrap(operation: SentOperation, names: Names): readonly SentOperation[] {
  const { op, path, value } = operation
  if (typeof path !== 'string' || !Array.isArray(value) || value.length !== 1) return [operation]
  const resolved = names.find(path)
  const attribute = resolved?.sub ?? resolved?.attribute
  const [only]: readonly unknown[] = value
  if (!attribute || attribute.multiValued || !isJsonRecord(only) || !('value' in only)) return [operation]
  if (attribute.type !== 'complex') return [{ op, path, value: only['value'] }]
  return attribute.name === 'manager' ? [{ op, path, value: only }] : [operation]
}

/** `wrapped-resources`: the attributes of an operation without a path; other values unchanged. */
export function unwrapResource({ path, value }: Pick<SentOperation, 'path' | 'value'>): unknown {
  const isWrapped = (path ?? undefined) === undefined && Array.isArray(value) && value.length === 1
  const [only]: readonly unknown[] = isWrapped ? value : []
  return isJsonRecord(only) ? only : value
}

/** `string-booleans`: the boolean of a string; other values unchanged. */
export function toleratedBoolean(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const lower = value.toLowerCase()
  return lower === 'true' || (lower === 'false' ? false : value)
}

/** `string-booleans`: the filter with booleans for boolean attributes. */
export function toleratedFilter(filter: Filter, attributes: readonly Attribute[]): Filter {
  switch (filter.kind) {
    case 'compare': {
      const isBoolean = named(attributes, filter.attribute)?.type === 'boolean'
      const value = isBoolean ? toleratedBoolean(filter.value) : filter.value
      return typeof value === 'boolean' ? { ...filter, value } : filter
    }
    case 'and':
    case 'or':
      return { ...filter, parts: filter.parts.map(part => toleratedFilter(part, attributes)) }
    case 'not':
      return { ...filter, part: toleratedFilter(filter.part, attributes) }
    default:
      return filter
  }
}

/** `manager-as-string`: the object of a string; other values unchanged. */
export const toleratedComplex = ({ name, multiValued }: Attribute, value: unknown): unknown =>
  name === 'manager' && !multiValued && typeof value === 'string' ? { value } : value

/**
 * `missing-entries`: what an entry must have to be selected by the filter; undefined when that is not certain. A filter of values
 * means an entry that once was there.
 */
export function entryFor(filter: Filter): Json | undefined {
  switch (filter.kind) {
    case 'compare': {
      const { attribute, comparison, value } = filter
      const isOfEntry = comparison === 'eq' && value !== null && attribute.toLowerCase() !== 'value'
      return isOfEntry ? { [attribute]: value } : undefined
    }
    case 'and': {
      const parts = filter.parts.map(entryFor)
      return parts.every(part => part !== undefined) ? Object.assign({}, ...parts) : undefined
    }
    default:
      return undefined
  }
}

/** `absent-members`: whether removing an absent member is accepted. */
export const mayBeAbsent = ({ name }: Attribute): boolean => name === 'members'

/** `foreign-schemas`: whether the URI is one that a request may name although the server does not know it. */
export const isForeignSchema = (urn: string): boolean =>
  urn.startsWith('http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/')
