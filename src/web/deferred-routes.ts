// Routes whose code is loaded when the first of them is called: most servers never serve some of the management APIs, and
// every start would pay for them. The access that a route requires is known at once, and checked before anything is
// loaded.
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteGenericInterface } from 'fastify'
import { loadOnce } from '../base/concurrency/load-once.ts'
import type { RouteConfig } from './route.ts'

/** A route without its code; an API route unless it says otherwise. */
export interface DeferredRoute extends Omit<RouteConfig, 'audience'> {
  readonly audience?: RouteConfig['audience']
  /** Bytes; the server's own limit unless given. */
  readonly bodyLimit?: number
  /** False where HEAD must not run the handler of GET, which changes something. */
  readonly exposeHeadRoute?: false
}

/** Method and path, as in `GET /Users/:id`. */
export type RouteName = `${'HEAD' | 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`

/** Sets the handler of a route. */
export type On<Name extends RouteName> = <R extends RouteGenericInterface = RouteGenericInterface>(
  name: Name,
  handler: (request: FastifyRequest<R>, reply: FastifyReply) => FastifyReply | Promise<FastifyReply>,
) => void

interface Handler {
  // A method, so that a handler may declare a more specific request type.
  answer(request: FastifyRequest, reply: FastifyReply): FastifyReply | Promise<FastifyReply>
}

/** Options of all routes of an area. */
interface DeferredOptions<Name extends RouteName, Deps> {
  /** Translates what the layers below throw; not deferred, because a caller is refused before anything is loaded. */
  readonly errorHandler?: (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => never
  readonly deps: Deps
  /** Loads the functions that set a handler for every route. Tried again by the next request if it fails. */
  readonly load: () => Promise<readonly ((on: On<Name>, deps: Deps) => void)[]>
}

/** Registers the routes. */
export function deferredRoutes<Name extends RouteName, Deps>(
  app: FastifyInstance,
  routes: Readonly<Record<Name, DeferredRoute>>,
  { errorHandler, deps, load }: DeferredOptions<Name, Deps>,
): void {
  const handlers = loadOnce(async () => {
    const found = new Map<string, Handler>()
    for (const setHandlers of await load()) setHandlers((name, answer) => found.set(name, { answer }), deps)
    return found
  })

  async function handlerOf(name: string): Promise<Handler> {
    const handler = (await handlers()).get(name)
    if (!handler) throw new Error(`nothing answers ${name}`)
    return handler
  }

  for (const [name, route] of Object.entries<DeferredRoute>(routes)) {
    const { bodyLimit, exposeHeadRoute, audience = 'api', ...config } = route
    const [method = '', url = ''] = name.split(' ')
    app.route({
      method,
      url,
      config: { ...config, audience },
      ...(bodyLimit !== undefined && { bodyLimit }),
      ...(exposeHeadRoute === false && { exposeHeadRoute }),
      ...(errorHandler && { errorHandler }),
      handler: async (request, reply) => (await handlerOf(name)).answer(request, reply),
    })
  }
}
