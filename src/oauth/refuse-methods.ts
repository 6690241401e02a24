import type { FastifyInstance } from 'fastify'
import { OAuthError } from '../model/oauth-error.ts'

/** Answers 405 to methods that the standard gives no meaning at a path, with those that it has in `Allow` (RFC 9110 §15.5.6). */
export function refuseMethods(
  app: FastifyInstance,
  url: string,
  { allow, refuse }: { readonly allow: string; readonly refuse: readonly string[] },
): void {
  app.route({
    method: [...refuse],
    url,
    config: {
      access: { by: 'anyone', because: `nothing but ${allow} is served, and that is what it says` },
      audience: 'api',
      refuses: true,
    },
    handler: (request, reply) => {
      reply.header('allow', allow)
      throw new OAuthError('method_not_allowed', `Request method '${request.method}' not supported`)
    },
  })
}

/** Every method that a path which takes only a posted form is asked by. */
export const NO_POST: readonly string[] = ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH']
