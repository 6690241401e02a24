// Reads resources and values of requests by their description, strictly: what is left has the names of the description, no
// attribute that only the server writes, and nothing unassigned (RFC 7643 §2.5).
import { isJsonRecord } from '../../../base/json.ts'
import { isKeepable, UNKEEPABLE } from '../../../records/kinds.ts'
import type { Attribute, Json, Names } from '../schemas/attribute.ts'
import { MAX_VALUES, named } from '../schemas/attribute.ts'
import { ScimError } from '../error.ts'
import { isPrimary, joined } from './multiple-values.ts'
import { isForeignSchema, toleratedBoolean, toleratedComplex } from './tolerances.ts'

/** Reads the body of a POST or PUT. Throws `ScimError`. */
export function readResource(names: Names, body: Json): Json {
  checkSchemas(names, body)
  const resource: Record<string, unknown> = {}
  for (const [key, sent] of Object.entries(body)) {
    const extension = names.extension(key)
    const name = extension?.id ?? named(names.own, key)?.name
    if (name === undefined) throw new ScimError('invalidSyntax', `Unknown attribute ${shown(key)}`)
    if (Object.hasOwn(resource, name)) throw new ScimError('invalidSyntax', `${name} occurs twice`)
    if (extension) {
      if (sent === null) continue
      if (!isJsonRecord(sent)) throw new ScimError('invalidSyntax', `${extension.id} must be an object`)
      const members = readMembers(extension.attributes, sent, `${extension.id}:`)
      if (Object.keys(members).length > 0) resource[name] = members
      continue
    }
    const attribute = named(names.own, key)
    const value = attribute && attribute.mutability !== 'readOnly' ? readValue(attribute, sent, name) : undefined
    if (value !== undefined) resource[name] = value
  }
  checkRequired(names, resource)
  return resource
}

const MAX_SCHEMAS = 20

/** RFC 7643 §3: `schemas` must contain the resource's own schema, and only schemas of the resource. */
function checkSchemas(names: Names, body: Json): void {
  const { type } = names
  const sent = Object.entries(body).find(([key]) => key.toLowerCase() === 'schemas')?.[1]
  const list: readonly unknown[] = Array.isArray(sent) ? sent : []
  if (list.length > MAX_SCHEMAS || !list.some(each => typeof each === 'string' && isSame(each, type.schema.id))) {
    throw new ScimError('invalidSyntax', `schemas must have ${type.schema.id}`)
  }
  for (const each of list) {
    if (typeof each !== 'string') throw new ScimError('invalidSyntax', 'schemas must be a list of strings')
    if (isSame(each, type.schema.id) || names.extension(each) || isForeignSchema(each)) continue
    throw new ScimError('invalidSyntax', `${type.name} has no schema ${shown(each)}`)
  }
}

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

/** Throws for a required attribute that is missing. */
function checkRequired({ own }: Names, resource: Json): void {
  const missing = own.find(({ name, required, defaulted }) => required && !defaulted && resource[name] === undefined)
  if (missing) throw new ScimError('invalidValue', `${missing.name} is required`)
}

/** Throws for a resource that lacks something required, in a value of a list as well. */
export function checkComplete(names: Names, resource: Json): void {
  checkRequired(names, resource)
  const parts = [
    { attributes: names.own, members: resource },
    ...names.type.extensions.map(({ id, attributes }) => ({ attributes, members: Object(resource[id]) })),
  ]
  for (const { attributes, members } of parts) {
    for (const attribute of attributes) {
      const values: unknown = attribute.multiValued ? members[attribute.name] : undefined
      if (!Array.isArray(values)) continue
      for (const value of values) if (isJsonRecord(value)) checkMembers(attribute, value, attribute.name)
    }
  }
}

/** Reads the value of one attribute; undefined when it is unassigned. */
export function readValue(attribute: Attribute, sent: unknown, path: string): unknown {
  if (sent === null || sent === undefined) return undefined
  if (!attribute.multiValued) return readSingle(attribute, sent, path)
  if (!Array.isArray(sent)) throw new ScimError('invalidValue', `${path} must be a list`)
  checkCount(attribute, sent, path)
  const values = sent.map(each => readSingle(attribute, each, path)).filter(value => value !== undefined)
  if (values.filter(isPrimary).length > 1) {
    throw new ScimError('invalidValue', `${path} has more than one primary value`) // RFC 7643 §2.4
  }
  return values.length > 0 ? joined(attribute, [], values) : undefined
}

/** Throws for more values than the attribute can have. */
export function checkCount({ maxValues = MAX_VALUES }: Attribute, values: readonly unknown[], path: string): void {
  if (values.length > maxValues) throw new ScimError('invalidValue', `${path} must have at most ${maxValues} values`)
}

/** Reads one value, of a list for an attribute that has many; undefined when it is unassigned. */
export function readSingle(attribute: Attribute, sent: unknown, path: string): unknown {
  const value = readPart(attribute, sent, path)
  if (isJsonRecord(value)) checkMembers(attribute, value, path)
  return value
}

/** Reads a part of one value, which may lack what the value must have. */
export function readPart(attribute: Attribute, sent: unknown, path: string): unknown {
  switch (attribute.type) {
    case 'string':
    case 'reference':
      if (typeof sent !== 'string') throw new ScimError('invalidValue', `${path} must be a string`)
      if (!isKeepable(sent)) throw new ScimError('invalidValue', `${path} ${UNKEEPABLE}`)
      return sent
    case 'binary':
      if (typeof sent !== 'string' || !BASE64.test(sent)) throw new ScimError('invalidValue', `${path} must be base64`)
      return sent
    case 'boolean': {
      const value = toleratedBoolean(sent)
      if (typeof value !== 'boolean') throw new ScimError('invalidValue', `${path} must be true or false`)
      return value
    }
    case 'integer':
      if (!Number.isSafeInteger(sent)) throw new ScimError('invalidValue', `${path} must be a whole number`)
      return sent
    case 'dateTime':
      throw new ScimError('mutability', `${path} is set by the server`)
    case 'complex': {
      const value = toleratedComplex(attribute, sent)
      if (!isJsonRecord(value)) throw new ScimError('invalidValue', `${path} must be an object`)
      const members = readMembers(attribute.subAttributes ?? [], value, `${path}.`)
      return Object.keys(members).length > 0 ? members : undefined
    }
  }
}

/** RFC 4648 §4, with its padding; RFC 7643 §2.3.6. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

function readMembers(attributes: readonly Attribute[], sent: Json, prefix: string): Record<string, unknown> {
  const members: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(sent)) {
    const attribute = named(attributes, key)
    if (!attribute) throw new ScimError('invalidSyntax', `Unknown attribute ${prefix}${shown(key)}`)
    if (Object.hasOwn(members, attribute.name)) {
      throw new ScimError('invalidSyntax', `${prefix}${attribute.name} occurs twice`)
    }
    const read =
      attribute.mutability === 'readOnly' ? undefined : readValue(attribute, value, `${prefix}${attribute.name}`)
    if (read !== undefined) members[attribute.name] = read
  }
  return members
}

/** Throws for a value without a required member. */
function checkMembers({ subAttributes = [] }: Attribute, members: Json, path: string): void {
  if (Object.keys(members).length === 0) return
  const missing = subAttributes.find(({ name, required }) => required && members[name] === undefined)
  if (missing) throw new ScimError('invalidValue', `${path}.${missing.name} is required`)
}

/** A name from a request, shortened for a message. */
export const shown = (name: string): string => name.slice(0, 100)

/** The client-writable part of a resource, without read-only attributes. */
export function writable({ own, type }: Names, resource: Json): Json {
  const of = (attributes: readonly Attribute[], members: Json): Json =>
    Object.fromEntries(
      attributes.flatMap(({ name, mutability }) =>
        mutability === 'readOnly' || members[name] === undefined ? [] : [[name, members[name]] as const],
      ),
    )
  return {
    ...of(own, resource),
    ...Object.fromEntries(type.extensions.map(({ id, attributes }) => [id, of(attributes, Object(resource[id]))])),
  }
}
