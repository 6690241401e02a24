import type { FastifyInstance } from 'fastify'
import { OAuthError } from '../../model/oauth-error.ts'

/** Denies these methods of paths to callers with a token. A wildcard answers the paths without a route of the same method. */
export function denyMethods(
  app: FastifyInstance,
  denied: readonly (readonly [url: string, methods: readonly ('GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE')[]])[],
): void {
  function deny(): never {
    throw new OAuthError('access_denied', 'Access is denied')
  }

  const config = { access: { by: 'bearer', acrossZones: true }, audience: 'api', body: 'json', refuses: true } as const
  for (const [url, methods] of denied) {
    app.route({
      method: [...methods],
      url,
      config,
      preParsing: deny, // before anything of a body is read
      handler: deny,
    })
  }
}
