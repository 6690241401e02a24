// Booleans in the query of this API.
import type { FastifyRequest } from 'fastify'
import { MalformedInput } from '../../web/requests/form.ts'
import { queryForm } from '../../web/requests/query.ts'

const TRUE = new Set(['true', 'on', 'yes', '1'])
const FALSE = new Set(['', 'false', 'off', 'no', '0'])

/** Reads a boolean of the query, false if absent; throws `MalformedInput`. */
export function flagOf(request: FastifyRequest, name: string): boolean {
  const value = (queryForm(request).get(name) ?? '').toLowerCase()
  if (TRUE.has(value)) return true
  if (FALSE.has(value)) return false
  throw new MalformedInput(`${name} must be true or false`)
}
