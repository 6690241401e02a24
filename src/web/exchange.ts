import type { FastifyReply, FastifyRequest } from 'fastify'

/** A request with its reply, for functions that read the one and write the other. */
export interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}
