// Refusals of `/Users`, `/Groups` and `/ids/Users`: the description stands in `message` too.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { WrongContentType } from '../../web/bodies.ts'
import { MalformedInput } from '../../web/form.ts'
import { refuseResource } from '../../users/refusal.ts'

export { noSuchResource, overtaken, refuseResource, staleVersion } from '../../users/refusal.ts'

const MAX_SHOWN = 100

/**
 * The `errorHandler` of every route of these APIs: answers malformed input with the code `scim`, and passes on everything
 * else.
 */
export function refuseMalformed(thrown: unknown, request: FastifyRequest, _reply: FastifyReply): never {
  const code = thrown instanceof Error ? Reflect.get(thrown, 'code') : undefined
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    throw refuseResource('scim', 'The request body is too large', { status: 413, cause: thrown })
  }
  const hasWrongType = thrown instanceof WrongContentType || code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE'
  const type = (request.headers['content-type'] ?? '').slice(0, MAX_SHOWN)
  const problem = thrown instanceof MalformedInput ? thrown.message : undefined
  const message = hasWrongType ? `Content type '${type}' not supported` : problem
  if (message === undefined) throw thrown
  throw refuseResource('scim', message, { cause: thrown })
}
