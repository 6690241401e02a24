// What every route must say of itself where it is registered: who may call it and whom it answers. A route that does
// not say it stops the start.
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import type { Session } from '../model/session.ts'
import type { User } from '../model/user.ts'
import type { Zone } from '../model/zone.ts'
import type { VerifiedToken } from '../token/reader.ts'
import type { Form } from './form.ts'

/** Who may call a route. */
export type Access =
  /** Whoever comes; the reason is for the reader of the route table. */
  | { readonly by: 'anyone'; readonly because: string }
  /** A client that proves who it is; the handler's first step. */
  | { readonly by: 'client' }
  /** The holder of an access token that fits the demand; checked before the handler runs. */
  | ({ readonly by: 'bearer' } & BearerDemand)
  /** A person who is signed in in this browser; everybody else is sent to sign in. */
  | {
      readonly by: 'session'
      /** Whether somebody may come who must choose a new password; they are sent to do so everywhere else. */
      readonly whileDemanded?: true
    }

/** What the token of a bearer must have; every part that is named. */
export interface BearerDemand {
  /** In its audience. */
  readonly resource?: string
  /** One of these scopes or authorities, told to whoever has none of them in this order. */
  readonly scopes?: readonly string[]
}

/** Whom a route answers: programs get JSON errors, people get pages, and a few routes are open to both and framed. */
export type Audience = 'api' | 'page' | 'open'

/** The `config` of every route. */
export interface RouteConfig {
  readonly access: Access
  readonly audience: Audience
  /** What a body may be; a form unless it says otherwise. */
  readonly body?: 'form' | 'json'
  /** False for the few routes that belong to no zone. */
  readonly zone?: false
}

declare module 'fastify' {
  interface FastifyContextConfig extends Partial<RouteConfig> {}
  interface FastifyRequest {
    /** The zone that the host name chose; set before any handler runs. */
    zone: Zone
    /** The verified token of a route whose access is by bearer. */
    bearer: VerifiedToken | undefined
    /** The browser's session, once it was looked up. */
    visit: Session | undefined
    /** The account of a signed-in session, looked up with it. */
    person: User | undefined
    /** Whether `visit` was looked up. */
    visitLoaded: boolean
  }
}

/** One line of the route table. */
export interface RegisteredRoute extends RouteConfig {
  readonly method: string
  readonly url: string
}

/** Collects the routes and refuses one that does not state its access and audience. */
export function watchRoutes(
  app: FastifyInstance,
  prepare: (route: RouteOptions, config: RouteConfig) => void,
): RegisteredRoute[] {
  const table: RegisteredRoute[] = []
  app.addHook('onRoute', route => {
    const { access, audience, zone } = route.config ?? {}
    if (!access || !audience) throw new Error(`${String(route.method)} ${route.url} does not state who may call it`)
    const methods = Array.isArray(route.method) ? route.method : [route.method]
    for (const method of methods) table.push({ method, url: route.url, access, audience })
    prepare(route, { access, audience, ...(zone === false && { zone }) })
  })
  return table
}

/** The form in the body; a request without a body, or to a route that takes JSON, has none. */
export const bodyForm = (request: FastifyRequest): Form | undefined =>
  request.routeOptions.config.body === 'json' ? undefined : (request.body as Form | undefined) // set by the form parser only
