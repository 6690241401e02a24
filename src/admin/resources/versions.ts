// Versions of users and groups: `If-Match` in requests and `ETag` in responses.
import { MAX_INT32 } from '../../base/json.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendJson } from '../../web/requests/json.ts'
import { refuseResource } from '../../users/refusal.ts'

/** The version that a change may replace; `any` matches every version. */
export type ExpectedVersion = number | 'any'

/** What `If-Match` may be. Anchored at the start: an unanchored search for the final quotes would restart at each of them. */
export const VERSION = /^"*(\*|\d{1,10})"*$/

/** Reads `If-Match`: a number, with or without double quotes, or `*`. Undefined without the header; throws `scim`. */
export function expectedVersion({ headers }: FastifyRequest): ExpectedVersion | undefined {
  const header = headers['if-match']
  if (header === undefined) return undefined
  const [, value = ''] = VERSION.exec(header.trim()) ?? []
  if (value === '*') return 'any'
  if (value !== '' && Number(value) <= MAX_INT32) return Number(value)
  throw refuseResource('scim', `Invalid version match header (should be a version number): ${header}`)
}

/** As `expectedVersion`, for changes that must name the version that they replace; the refusal names `method`. */
export function requiredVersion(request: FastifyRequest, method = 'PUT'): ExpectedVersion {
  const expected = expectedVersion(request)
  if (expected === undefined) throw refuseResource('scim', `Missing If-Match for ${method}`) // UAA: users' PATCH too
  return expected
}

/** Sends one record with its version as `ETag`. */
export const sendVersioned = (
  reply: FastifyReply,
  resource: unknown,
  { version, status = 200 }: { readonly version: number; readonly status?: number },
): FastifyReply => sendJson(reply.header('etag', `"${version}"`), resource, status)
