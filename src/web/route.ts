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
export interface BearerDemand extends Partial<Rights> {
  /** In its audience. */
  readonly resource?: string
  /**
   * Whether an administrator of the default zone may come here for another zone, named in a header. Only for routes whose
   * handlers take nothing from the token but its scopes: its user and client are not of the request's zone then.
   */
  readonly acrossZones?: true
}

/** Scopes or authorities of which one is enough. */
export interface Rights {
  /** In a token of the request's zone, or of an administrator who came from the default zone. */
  readonly scopes: readonly string[]
  /** Only in a token that the default zone issued; `{zone}` in one stands for the id of the request's zone. */
  readonly ofDefaultZone?: readonly string[]
}

/** Whom a route answers: programs get JSON errors, people get pages, and a few routes are open to both and framed. */
export type Audience = 'api' | 'page' | 'open'

/** The `config` of every route. */
export interface RouteConfig {
  readonly access: Access
  readonly audience: Audience
  /** What a body may be; a form unless it says otherwise. */
  readonly body?: 'form' | 'json' | 'json list'
  /** False for the few routes that belong to no zone. */
  readonly zone?: false
  /** Set where every answer is a refusal: a method that a path does not have, or what would lead elsewhere otherwise. */
  readonly refuses?: true
}

declare module 'fastify' {
  interface FastifyContextConfig extends Partial<RouteConfig> {}
  interface FastifyRequest {
    /** The zone that the host name or the path chose; set before any handler runs. */
    zone: Zone
    /** Whom this request is answered as, where that is not the route's audience. */
    audience: Audience | undefined
    /** The Basic credentials in form encoding, where clients send them plainly; see plain-basic.ts. */
    encodedBasic: string | undefined
    /** The verified token of a route whose access is by bearer. */
    bearer: VerifiedToken | undefined
    /** The browser's session, once it was looked up. */
    visit: Session | undefined
    /** The request that waits for a sign-in, in the text of `formatSavedRequest`, once `visit` was looked up. */
    waiting: string | undefined
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
    const { access, audience, zone, body, refuses } = route.config ?? {}
    if (!access || !audience) throw new Error(`${String(route.method)} ${route.url} does not state who may call it`)
    const methods = Array.isArray(route.method) ? route.method : [route.method]
    const config = { access, audience, ...(zone === false && { zone }), ...(body && { body }) }
    for (const method of methods) table.push({ method, url: route.url, ...config, ...(refuses && { refuses }) })
    prepare(route, config)
  })
  return table
}

/** Whether the route takes a form, as it does unless it says otherwise. */
export const takesForm = ({ body = 'form' }: Partial<RouteConfig>): boolean => body === 'form'

/** The form in the body of a request; a request without a body, or to a route that takes JSON, has none. */
export const bodyForm = (request: FastifyRequest): Form | undefined =>
  takesForm(request.routeOptions.config) ? (request.body as Form | undefined) : undefined // set by the form parser only
