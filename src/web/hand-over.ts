// Hands requests over to a second router, whose routes are registered when the first of them is called: registering most routes
// of the server takes an eighth of its start, and a server that issues tokens to programs never needs them.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Urls } from '../model/urls.ts'
import { refusalHeaders } from './answers.ts'

/**
 * Hook: hands over what has no route here. Only those of the connection may come before it: all others run in the second router.
 * Fails with an error of `router`, which the next request calls again.
 */
export function createHandOver({ router, urls }: { router: () => Promise<FastifyInstance>; urls: Urls }) {
  async function handOver(
    request: FastifyRequest,
    reply: FastifyReply,
    { done }: { done: (error: Error) => void },
  ): Promise<void> {
    let inner: FastifyInstance
    try {
      inner = await router()
    } catch (cause) {
      reply.headers(refusalHeaders(request, urls.isHttps))
      done(new Error('the routes could not be registered', { cause }))
      return
    }
    reply.hijack()
    inner.routing(request.raw, reply.raw)
  }

  // Not async: every request passes here.
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    if (!request.is404) return done()
    void handOver(request, reply, { done })
  }
}
