// Reads the record of a zone in a request: types, lengths, and the syntax of id and subdomain.
import type { JsonRecord } from '../../base/json.ts'
import { isJsonRecord } from '../../base/json.ts'
import { isKeepable } from '../../records/kinds.ts'
import { invalidZone, malformed } from './refusal.ts'
import { MAX_SECONDS } from '../../records/kinds.ts'

/** The members of the request; read-only ones, such as dates, are ignored. */
export interface ZoneBody {
  /** Trimmed; undefined if absent. */
  readonly id: string | undefined
  /** Lower case; empty if absent. */
  readonly subdomain: string
  readonly name: string
  readonly description: string | undefined
  readonly version: number
  readonly active: boolean
  /** As sent. */
  readonly config: JsonRecord
}

/** Reads the types only. Throws a refusal. */
export function readZoneBody(body: JsonRecord): ZoneBody {
  if (!isKeepable(body)) throw malformed('The request body has text that is no Unicode, or NUL')
  const member = (name: string): unknown => (Object.hasOwn(body, name) ? (body[name] ?? undefined) : undefined)
  function text(name: string): string | undefined {
    const value = member(name)
    if (value === undefined || typeof value === 'string') return value
    throw malformed(`${name} must be a string`)
  }
  const version = member('version') ?? 0
  if (typeof version !== 'number' || !Number.isInteger(version) || version < 0 || version >= MAX_SECONDS) {
    throw malformed(`version must be a whole number below ${MAX_SECONDS}`)
  }
  const active = member('active') ?? true
  if (typeof active !== 'boolean') throw malformed('active must be true or false')
  const config = Object.hasOwn(body, 'config') ? body['config'] : {}
  if (!isJsonRecord(config)) throw malformed('config must be an object')
  const id = text('id')?.trim()
  return {
    id: id === '' ? undefined : id,
    subdomain: text('subdomain')?.toLowerCase() ?? '',
    name: text('name') ?? '',
    description: text('description'),
    version,
    active,
    config,
  }
}

/** Whether the required members are present. */
export const isNamed = ({ subdomain, name }: ZoneBody): boolean => subdomain.trim() !== '' && name.trim() !== ''

/** Throws if a required member is missing. */
export function refuseUnnamed(body: ZoneBody): void {
  const problems = [
    ...(body.subdomain.trim() === '' ? ['The subdomain must be provided.'] : []),
    ...(body.name.trim() === '' ? ['The identity zone must be given a name.'] : []),
  ]
  if (problems.length > 0) throw invalidZone(problems.join('\r\n'))
}

// The id is part of scopes such as `zones.<id>.clients.admin`, which must be valid (RFC 6749 §3.3) and unambiguous: an
// id with a dot, such as `x.clients`, would make `zones.x.clients.admin` a right in two zones, and one with a star in
// all. Commas and plus signs also separate scopes.
const ID = /^[\x21\x23-\x29\x2d\x30-\x5b\x5d-\x7e]{1,36}$/

/** The subdomain prefixes the host name in URLs of the zone, and is a path segment in some. */
const SUBDOMAIN = /^[a-z0-9_](?:[a-z0-9._-]{0,253}[a-z0-9_])?$/

/** Throws for an invalid id of a new zone. */
export function refuseBadId(id: string): void {
  if (ID.test(id)) return
  throw invalidZone(
    'The id must have at most 36 characters of ASCII, without white space, dots, commas, plus signs, stars, slashes and quotes.',
  )
}

/**
 * Throws for an invalid subdomain or a name that is too long. Unchanged values are accepted, because the configuration
 * file may have set others.
 */
export function refuseBadNames(
  { subdomain, name }: ZoneBody,
  before?: { readonly subdomain: string; readonly name: string },
): void {
  const labels = subdomain.split('.')
  const isHost = SUBDOMAIN.test(subdomain) && labels.every(label => label !== '' && label.length <= 63)
  if (subdomain !== before?.subdomain && !isHost) {
    throw invalidZone('The subdomain must be made of letters, digits, hyphens and dots, as a host name is.')
  }
  if (name !== before?.name && name.length > 255) throw invalidZone('The name must have at most 255 characters.')
}
