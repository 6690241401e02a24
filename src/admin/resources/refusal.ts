// Refusals of `/Users`, `/Groups` and `/ids/Users`: the description is repeated as `message`.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OAuthErrorCode } from '../../model/oauth-error.ts'
import { TooManyDetails } from '../../store/store.ts'
import { isWrongContentType } from '../../web/requests/bodies.ts'
import { MalformedInput } from '../../web/requests/form.ts'
import { refuseResource } from '../../users/refusal.ts'

const MAX_SHOWN = 100

/**
 * An `errorHandler` that answers malformed input, and lists that are too large to read, with the code, and passes on everything
 * else; a wrong content type has the status unless it is 400 too.
 */
export const malformedAs =
  (error: OAuthErrorCode, wrongType = 400) =>
  (thrown: unknown, request: FastifyRequest, _reply: FastifyReply): never => {
    const code = thrown instanceof Error ? Reflect.get(thrown, 'code') : undefined
    if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
      throw refuseResource(error, 'The request body is too large', { status: 413, cause: thrown })
    }
    if (isWrongContentType(thrown)) {
      const type = (request.headers['content-type'] ?? '').slice(0, MAX_SHOWN)
      throw refuseResource(error, `Content type '${type}' not supported`, { status: wrongType, cause: thrown })
    }
    if (thrown instanceof MalformedInput || thrown instanceof TooManyDetails) {
      throw refuseResource(error, thrown.message, { cause: thrown })
    }
    throw thrown
  }

/** The `errorHandler` of every route of these APIs. */
export const refuseMalformed = malformedAs('scim')
