// Bodies that are messages rather than resources, such as PATCH, searches and bulk requests (RFC 7644 §3.1).
import type { Json } from '../schemas/attribute.ts'
import { ScimError } from '../error.ts'

/**
 * Reads the members of a message by their names, in any case; null counts as absent. Throws unless `schemas` has that of
 * the message.
 */
export function readMessage(body: Json, schema: string): (name: string) => unknown {
  const members = new Map(Object.entries(body).map(([name, value]) => [name.toLowerCase(), value ?? undefined]))
  const schemas = members.get('schemas')
  if (!Array.isArray(schemas) || !schemas.includes(schema)) {
    throw new ScimError('invalidSyntax', `schemas must have ${schema}`)
  }
  return name => members.get(name.toLowerCase())
}
