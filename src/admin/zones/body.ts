// The record of a zone as it is sent (§5.1): types, lengths, and what can be an id or a subdomain.
import type { JsonRecord } from '../../base/json.ts'
import { isJsonRecord } from '../../base/json.ts'
import { isKeepable } from '../../records/kinds.ts'
import { invalidZone, malformed } from './refusal.ts'
import { MAX_SECONDS } from '../../records/kinds.ts'

/** What was sent; what the server alone says, such as dates, is ignored. */
export interface ZoneBody {
  /** Trimmed; undefined when there is none. */
  readonly id: string | undefined
  /** Lower case; empty when there is none. */
  readonly subdomain: string
  readonly name: string
  readonly description: string | undefined
  readonly version: number
  readonly active: boolean
  /** As it was sent. */
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

/** Whether the two members are there that no zone can do without. */
export const isNamed = ({ subdomain, name }: ZoneBody): boolean => subdomain.trim() !== '' && name.trim() !== ''

/** Throws the refusal of names that are missing. */
export function refuseUnnamed(body: ZoneBody): void {
  const problems = [
    ...(body.subdomain.trim() === '' ? ['The subdomain must be provided.'] : []),
    ...(body.name.trim() === '' ? ['The identity zone must be given a name.'] : []),
  ]
  if (problems.length > 0) throw invalidZone(problems.join('\r\n'))
}

// A scope in which the id stands, `zones.<id>.clients.admin`, must be a scope (RFC 6749 §3.3), and of one zone only: an id
// with a dot, such as `x.clients`, would make `zones.x.clients.admin` the right of two zones, and a star that of all. Lists
// of scopes are also written with commas and plus signs between them.
const ID = /^[\x21\x23-\x29\x2d\x30-\x5b\x5d-\x7e]{1,36}$/

/** The subdomain stands before the host name in every URL of the zone, and as a path in some. */
const SUBDOMAIN = /^[a-z0-9_](?:[a-z0-9._-]{0,253}[a-z0-9_])?$/

/** Throws the refusal of an id that a new zone cannot have. */
export function refuseBadId(id: string): void {
  if (ID.test(id)) return
  throw invalidZone(
    'The id must have at most 36 characters of ASCII, without white space, dots, commas, plus signs, stars, slashes and quotes.',
  )
}

/**
 * Throws the refusal of a subdomain that no URL can have, and of a name that is too long; those that the zone has already
 * may stay, for the configuration may have given it others.
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
