// Bodies that are messages rather than resources, such as PATCH, searches and bulk requests (RFC 7644 §3.1).
import type { Json } from '../schemas/attribute.ts'
import { ScimError } from '../error.ts'

/**
 * Reads the members of a message by their names, in any case; null counts as absent. Throws unless `schemas` has that of
 * the message.
 */
export function readMessage(body: Json, schema: string): (name: string) => unknown {
  const member = membersOf(body)
  const schemas = member('schemas')
  if (!Array.isArray(schemas) || !schemas.includes(schema)) {
    throw new ScimError('invalidSyntax', `schemas must have ${schema}`)
  }
  return name => member(name) ?? undefined
}

/** Reads members by their names, which have no case (RFC 7643 §2.1). */
export function membersOf(record: Json): (name: string) => unknown {
  const members = new Map(Object.entries(record).map(([name, value]) => [name.toLowerCase(), value]))
  return name => members.get(name.toLowerCase())
}
