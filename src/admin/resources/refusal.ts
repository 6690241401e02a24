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
  if (isTooLarge(thrown)) throw refuseResource('scim', 'The request body is too large', { status: 413, cause: thrown })
  if (!(thrown instanceof MalformedInput)) throw thrown
  const type = (request.headers['content-type'] ?? '').slice(0, MAX_SHOWN)
  const message = thrown instanceof WrongContentType ? `Content type '${type}' not supported` : thrown.message
  throw refuseResource('scim', message, { cause: thrown })
}

const isTooLarge = (thrown: unknown): boolean =>
  thrown instanceof Error && Reflect.get(thrown, 'code') === 'FST_ERR_CTP_BODY_TOO_LARGE'
