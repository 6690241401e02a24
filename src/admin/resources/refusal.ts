// Refusals of `/Users`, `/Groups` and `/ids/Users`: the description stands in `message` too.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError } from '../../model/oauth-error.ts'
import type { OAuthErrorCode } from '../../model/oauth-error.ts'
import { WrongContentType } from '../../web/bodies.ts'
import { MalformedInput } from '../../web/form.ts'

/** A refusal with `message`, and with further members if given; the status is that of the code unless given. */
export function refuseResource(
  error: OAuthErrorCode,
  message: string,
  {
    status,
    extra,
    cause,
    detail,
  }: {
    readonly status?: number
    readonly extra?: Readonly<Record<string, string>>
    readonly cause?: unknown
    readonly detail?: string | undefined
  } = {},
): OAuthError {
  const refusal = status === undefined ? error : { error, status }
  return new OAuthError(refusal, message, { extra: { message, ...extra }, cause, detail })
}

/** The refusal of an id without a record in the zone. */
export const noSuchResource = (kind: 'User' | 'Group', id: string): OAuthError =>
  refuseResource('scim_resource_not_found', `${kind} ${id} does not exist`)

const MAX_SHOWN = 100

/**
 * The `errorHandler` of every route of these APIs: answers malformed input with the code `scim`, and passes on everything
 * else.
 */
export function refuseMalformed(thrown: unknown, request: FastifyRequest, _reply: FastifyReply): never {
  if (!(thrown instanceof MalformedInput)) throw thrown
  const type = (request.headers['content-type'] ?? '').slice(0, MAX_SHOWN)
  const message = thrown instanceof WrongContentType ? `Content type '${type}' not supported` : thrown.message
  throw refuseResource('scim', message, { cause: thrown })
}
