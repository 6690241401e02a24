// SCIM 2.0 (RFC 7643 and RFC 7644) at `/scim/v2`, over the users and groups of the other APIs. This file has the routes and
// their access; everything else is loaded when the first of them is called.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { loadOnce } from '../../base/concurrency/load-once.ts'
import type { Access } from '../../web/route.ts'
import { managementAccess } from '../resources/access.ts'
import type { Handlers } from './handlers.ts'
import type { AdminDeps } from '../deps.ts'

/** RFC 7644 §3.7 leaves the limit to the server; `/ServiceProviderConfig` announces it. */
const BODY_LIMIT = 1024 * 1024

const PATH = '/scim/v2'

type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void

/** `/scim/v2` and everything below it. */
export function scimEndpoints(app: FastifyInstance, deps: AdminDeps): void {
  const { service } = deps
  const load = loadOnce<Handlers>(async () => (await import('./handlers.ts')).createHandlers(deps))

  const errorHandler: ErrorHandler = (thrown, request, reply) => {
    load()
      .then(({ refuse }) => refuse(thrown, request, reply))
      .catch((cause: unknown) => {
        deps.log.fault('a refusal could not be answered', cause)
        reply.status(500).send()
      })
  }

  type Name = Exclude<keyof Handlers, 'refuse'>
  const handler =
    (name: Name) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
      (await load())[name](request, reply)

  const anyRight = managementAccess(service, 'scim.read', 'scim.write', 'scim.create')
  const reading = managementAccess(service, 'scim.read')
  const writing = managementAccess(service, 'scim.write')
  const creating = managementAccess(service, 'scim.write', 'scim.create')
  const self: Access = { by: 'bearer', ownAccount: true }

  const routes: readonly (readonly [method: string, path: string, access: Access, name: Name])[] = [
    ['GET', '/ServiceProviderConfig', anyRight, 'serviceProviderConfig'],
    ['GET', '/ResourceTypes', anyRight, 'resourceTypes'],
    ['GET', '/ResourceTypes/:id', anyRight, 'resourceType'],
    ['GET', '/Schemas', anyRight, 'schemas'],
    ['GET', '/Schemas/:id', anyRight, 'schema'],
    ['GET', '/Users', reading, 'list'],
    ['POST', '/Users', creating, 'create'],
    ['POST', '/Users/.search', reading, 'search'],
    ['GET', '/Users/:id', reading, 'read'],
    ['PUT', '/Users/:id', writing, 'replace'],
    ['PATCH', '/Users/:id', writing, 'patch'],
    ['DELETE', '/Users/:id', writing, 'remove'],
    ['GET', '/Groups', reading, 'list'],
    ['POST', '/Groups', writing, 'create'],
    ['POST', '/Groups/.search', reading, 'search'],
    ['GET', '/Groups/:id', reading, 'read'],
    ['PUT', '/Groups/:id', writing, 'replace'],
    ['PATCH', '/Groups/:id', writing, 'patch'],
    ['DELETE', '/Groups/:id', writing, 'remove'],
    ['POST', '/.search', reading, 'searchAll'],
    ['POST', '/Bulk', writing, 'bulk'],
    ['GET', '/Me', self, 'readMe'],
    ['PUT', '/Me', self, 'replaceMe'],
    ['PATCH', '/Me', self, 'patchMe'],
  ]
  for (const [method, path, access, name] of routes) {
    const takesBody = method === 'POST' || method === 'PUT' || method === 'PATCH'
    app.route({
      method,
      url: PATH + path,
      config: { access, audience: 'api', ...(takesBody && { body: 'scim' as const }) },
      ...(takesBody && { bodyLimit: BODY_LIMIT }),
      errorHandler,
      handler: handler(name),
    })
  }
  refuseTheRest(app, { routes, access: anyRight, errorHandler, handler })
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** Other methods and paths, refused in the form of SCIM (RFC 7644 §3.12). */
function refuseTheRest(
  app: FastifyInstance,
  {
    routes,
    access,
    errorHandler,
    handler,
  }: {
    readonly routes: readonly (readonly [method: string, path: string, ...rest: unknown[]])[]
    readonly access: Access
    readonly errorHandler: ErrorHandler
    readonly handler: (
      name: 'refuseMethod' | 'refusePath',
    ) => (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>
  },
): void {
  const [refuseMethod, refusePath] = [handler('refuseMethod'), handler('refusePath')]
  const config = { access, audience: 'api', refuses: true, answerUnrouted: errorHandler, body: 'scim' } as const
  // Two wildcards, because every route costs time at every start.
  for (const url of [PATH, `${PATH}/*`]) {
    app.route<{ Params: { '*'?: string } }>({
      method: [...METHODS],
      url,
      config,
      errorHandler,
      handler: (request, reply) => {
        const path = `/${request.params['*'] ?? ''}`
        const allow = routes.flatMap(([method, served]) => (isAt(path, served) ? methodsOf(method) : []))
        // A segment that is too long for the other routes leads here as well.
        if (allow.length === 0 || allow.includes(request.method)) return refusePath(request, reply)
        return refuseMethod(request, reply.header('allow', allow.join(', '))) // RFC 9110 §15.5.6
      },
    })
  }
}

const methodsOf = (method: string): readonly string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method])

/** Whether a path is the one of a route, in which `:id` stands for any segment. */
function isAt(path: string, served: string): boolean {
  const segments = path.split('/')
  const wanted = served.split('/')
  return segments.length === wanted.length && wanted.every((each, at) => each === ':id' || each === segments[at])
}
