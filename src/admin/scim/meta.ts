// Versions and addresses of resources: `meta`, `ETag`, and the conditions of requests (RFC 7644 §3.14).
import { MAX_INT32 } from '../../base/json.ts'
import type { FastifyRequest } from 'fastify'
import type { Json, ResourceType } from './schemas/attribute.ts'
import { ScimError } from './error.ts'

/** The members of every record. */
interface Versioned {
  readonly id: string
  readonly version: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** The URL of a resource; `base` is that of `/scim/v2`. */
export const locationOf = (id: string, { endpoint }: ResourceType, base: string): string =>
  `${base}${endpoint}/${encodeURIComponent(id)}`

/** The version as a tag; weak, because responses differ by the requested attributes. */
export const tagOf = (version: number): string => `W/"${version}"`

/** `meta` of RFC 7643 §3.1. */
export const metaOf = (record: Versioned, type: ResourceType, base: string): Json => ({
  resourceType: type.name,
  created: record.createdAt.toISOString(),
  lastModified: record.updatedAt.toISOString(),
  location: locationOf(record.id, type, base),
  version: tagOf(record.version),
})

/** A condition on the version of a record: none, any version, or one of these. */
export type Condition = readonly number[] | 'any' | undefined

/** Reads a list of tags, weak or strong; a tag of another form matches no version. */
export function conditionOf(header: string | undefined): Condition {
  if (header === undefined) return undefined
  if (header.trim() === '*') return 'any'
  return header.split(',').flatMap(tag => {
    const [, digits = ''] = /^(?:W\/)?"(\d{1,10})"$/.exec(tag.trim()) ?? []
    return digits !== '' && Number(digits) <= MAX_INT32 ? [Number(digits)] : []
  })
}

const meets = (condition: Condition, version: number): boolean =>
  condition === undefined || condition === 'any' || condition.includes(version)

/** Throws 412 when `If-Match`, or the version of a bulk operation, names another version. */
export function checkMatch(condition: Condition, version: number): void {
  if (!meets(condition, version)) throw new ScimError(412, 'The resource has another version')
}

/** Deletes a record that meets the condition; throws 412 also when a change at the same moment makes it fail. */
export async function deleteMatching<Found extends Pick<Versioned, 'version'>>(
  condition: Condition,
  find: () => Promise<Found>,
  remove: (expected: number | undefined) => Promise<unknown>,
): Promise<void> {
  const { version } = await find()
  checkMatch(condition, version)
  try {
    await remove(condition === 'any' || condition === undefined ? undefined : version)
  } catch (error) {
    checkMatch(condition, (await find()).version)
    throw error
  }
}

/** Whether `If-None-Match` names the version, so that a GET is answered 304. */
export const isUnchanged = ({ headers }: FastifyRequest, version: number): boolean => {
  const condition = conditionOf(headers['if-none-match'])
  return condition !== undefined && meets(condition, version)
}
