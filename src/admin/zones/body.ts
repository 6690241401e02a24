// Reads the record of a zone in a request: types, lengths, and the syntax of id and subdomain.
import type { JsonRecord } from '../../base/json.ts'
import { isJsonRecord } from '../../base/json.ts'
import { isSubdomain, isZoneId, ZONE_ID_FORM } from '../../model/zones/zone-names.ts'
import { isKeepable, MAX_SECONDS } from '../../records/kinds.ts'
import { invalidZone, malformed } from './refusal.ts'

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
  if (!isKeepable(body)) throw malformed('The request body has text that is not valid Unicode or contains NUL')
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

/** Throws for an invalid id of a new zone. */
export function refuseBadId(id: string): void {
  if (isZoneId(id)) return
  throw invalidZone(`The id must have ${ZONE_ID_FORM}.`)
}

/**
 * Throws for an invalid subdomain or a name that is too long. Unchanged values are accepted: an earlier version may have stored
 * others.
 */
export function refuseBadNames(
  { subdomain, name }: ZoneBody,
  before?: { readonly subdomain: string; readonly name: string },
): void {
  if (subdomain !== before?.subdomain && !isSubdomain(subdomain)) {
    throw invalidZone('The subdomain must be made of letters, digits, hyphens and dots, as a host name is.')
  }
  if (name !== before?.name && name.length > 255) throw invalidZone('The name must have at most 255 characters.')
}
