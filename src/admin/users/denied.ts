import type { FastifyInstance } from 'fastify'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import { inRealm } from '../../web/callers/authorization-header.ts'

const DENIED = [
  ['/Users', ['PUT', 'PATCH', 'DELETE']],
  ['/Users/*', ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']],
] as const

/** Denies every other path and method below `/Users` to callers with a token. */
export function denyOthers(app: FastifyInstance, service: Service): void {
  function deny(): never {
    throw inRealm(new OAuthError('access_denied', 'Access is denied'), service)
  }

  const config = { access: { by: 'bearer', acrossZones: true }, audience: 'api', body: 'json', refuses: true } as const
  // A wildcard answers paths without a route of the same method.
  for (const [url, method] of DENIED) {
    app.route({
      method: [...method],
      url,
      config,
      preParsing: deny, // before anything of a body is read
      handler: deny,
    })
  }
}
