import type { FastifyInstance } from 'fastify'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import { inRealm } from '../../web/authorization-header.ts'

const ALL = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** What each path has; UAA denies everything else below `/Users`. */
const SERVED: readonly (readonly [url: string, methods: readonly (typeof ALL)[number][]])[] = [
  ['/Users', ['GET', 'POST']],
  ['/Users/:id', ['GET', 'PUT', 'PATCH', 'DELETE']],
  ['/Users/:id/status', ['PATCH']],
  ['/Users/:id/verify', ['GET']],
  ['/Users/:id/verify-link', ['GET']],
  ['/Users/:id/password', ['PUT']],
  ['/Users/*', []],
]

/** Denies every other path and method below `/Users`, to whoever has a token. */
export function denyOthers(app: FastifyInstance, service: Service): void {
  function deny(): never {
    throw inRealm(new OAuthError('access_denied', 'Access is denied'), service)
  }

  const config = { access: { by: 'bearer', acrossZones: true }, audience: 'api', body: 'json', refuses: true } as const
  for (const [url, methods] of SERVED) {
    app.route({
      method: ALL.filter(method => !methods.includes(method)),
      url,
      config,
      preParsing: deny, // before anything of a body is read
      handler: deny,
    })
  }
}
