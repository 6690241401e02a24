// Which attributes a response has: `returned` of the description, and the parameters `attributes` and `excludedAttributes`
// (RFC 7644 §3.9).
import { isJsonRecord } from '../../../base/json.ts'
import type { Attribute, Json, Names, Schema } from '../schemas/attribute.ts'
import { ScimError } from '../error.ts'

/** The attributes that a response shows. */
export interface Selection {
  /** Whether the attribute or sub-attribute is shown, so that it is looked up only then. */
  wants(name: string, sub?: string): boolean
  of(resource: Json): Json
}

/** The parameters as lists of names; empty where absent. */
export interface SelectedNames {
  readonly attributes: readonly string[]
  readonly excludedAttributes: readonly string[]
}

const MAX_NAMES = 100

/** Reads a comma-separated parameter. */
export function namesIn(text: string): readonly string[] {
  const names = text
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
  if (names.length > MAX_NAMES) throw new ScimError('invalidValue', `At most ${MAX_NAMES} attributes can be named`)
  return names
}

/** The selected part of an attribute: all of it, or these sub-attributes. */
type Named = ReadonlyMap<string, 'all' | ReadonlySet<string>>

/** Names that do not exist select nothing. Throws when both lists are given: they exclude one another. */
export function createSelection(names: Names, { attributes, excludedAttributes }: SelectedNames): Selection {
  if (attributes.length > 0 && excludedAttributes.length > 0) {
    throw new ScimError('invalidValue', 'attributes and excludedAttributes cannot be used together')
  }
  const only = attributes.length > 0 ? namedIn(names, attributes) : undefined
  const without = namedIn(names, excludedAttributes)

  function shows(attribute: Attribute, key: string): boolean {
    const { returned } = attribute
    if (returned === 'always' || returned === 'never') return returned === 'always'
    if (only) return only.has(key)
    return returned !== 'request' && without.get(key) !== 'all'
  }

  function showsSub({ name, returned }: Attribute, key: string): boolean {
    if (returned === 'always' || returned === 'never') return returned === 'always'
    const wanted = only?.get(key)
    if (wanted instanceof Set) return wanted.has(name)
    const unwanted = without.get(key)
    return returned !== 'request' && !(unwanted instanceof Set && unwanted.has(name))
  }

  /** Undefined where nothing of the value is shown, which is no value (RFC 7643 §2.5). */
  function valueOf(value: unknown, attribute: Attribute, key: string): unknown {
    const subs = attribute.subAttributes
    if (!subs) return value
    if (Array.isArray(value)) {
      const entries = value.map(each => valueOf(each, attribute, key)).filter(each => each !== undefined)
      return entries.length > 0 ? entries : undefined
    }
    if (!isJsonRecord(value)) return value
    const shown = subs.filter(sub => value[sub.name] !== undefined && showsSub(sub, key))
    return shown.length > 0 ? Object.fromEntries(shown.map(({ name }) => [name, value[name]])) : undefined
  }

  function membersOf(attributes: readonly Attribute[], values: Json, prefix: string): Record<string, unknown> {
    const members: Record<string, unknown> = {}
    for (const attribute of attributes) {
      const key = prefix + attribute.name
      const value = values[attribute.name]
      if (value === undefined || !shows(attribute, key)) continue
      const part = valueOf(value, attribute, key)
      if (part !== undefined) members[attribute.name] = part
    }
    return members
  }

  return {
    wants(name, sub) {
      const attribute = names.own.find(each => each.name === name)
      if (!attribute || !shows(attribute, name)) return false
      const part = attribute.subAttributes?.find(each => each.name === sub)
      return sub === undefined || (part !== undefined && showsSub(part, name))
    },
    of(resource) {
      const shown = membersOf(names.own, resource, '')
      for (const extension of names.type.extensions) {
        const values = resource[extension.id]
        if (!isJsonRecord(values)) continue
        const members = membersOf(extension.attributes, values, `${extension.id}:`)
        if (Object.keys(members).length > 0) shown[extension.id] = members
      }
      return shown
    },
  }
}

function namedIn(names: Names, list: readonly string[]): Named {
  const found = new Map<string, 'all' | Set<string>>()
  for (const name of list) {
    const schema = schemaNamed(names, name)
    if (schema) {
      const prefix = schema === names.type.schema ? '' : `${schema.id}:`
      for (const attribute of schema.attributes) found.set(prefix + attribute.name, 'all')
      continue
    }
    const resolved = names.find(name)
    if (!resolved) continue
    const { attribute, sub } = resolved
    const key = (resolved.extension === undefined ? '' : `${resolved.extension}:`) + attribute.name
    const selected = found.get(key)
    if (!sub) found.set(key, 'all')
    else if (selected === undefined) found.set(key, new Set([sub.name]))
    else if (selected !== 'all') selected.add(sub.name)
  }
  return found
}

/** The schema with this URN: its name alone stands for all of its attributes. */
function schemaNamed(names: Names, urn: string): Schema | undefined {
  const { schema } = names.type
  return urn.toLowerCase() === schema.id.toLowerCase() ? schema : names.extension(urn)
}
