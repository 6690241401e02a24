// What every route must declare when it is registered: its access, and whether it answers programs or users. A route
// without this declaration fails its registration, and with it that of every other route of its router.
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Session } from '../model/sessions/session.ts'
import type { User } from '../model/users/user.ts'
import type { AddressedZone } from '../model/request.ts'
import type { VerifiedToken } from '../token/token-validity.ts'
import { EMPTY_FORM } from './requests/form.ts'
import type { Form } from './requests/form.ts'

/** The access to a route. */
export type Access =
  /** Every caller; `because` documents why, in the route table. */
  | { readonly by: 'anyone'; readonly because: string }
  /** An authenticated client; authentication is the handler's first step. */
  | { readonly by: 'client' }
  /** The holder of an access token that meets the demand; checked before the handler runs. */
  | ({ readonly by: 'bearer' } & BearerDemand)
  /** A signed-in user; anonymous visitors are redirected to sign-in. */
  | {
      readonly by: 'session'
      /** Allows users with an open demand, such as a new password; all other routes redirect them to its page. */
      readonly whileDemanded?: true
      /** The path of the page with the form that is posted to the route; a sign-in leads back there. */
      readonly formOf?: string
    }

/** Requirements for an access token; all that are present must be met. */
export interface BearerDemand extends Partial<Rights> {
  /** Required in the token's audience. */
  readonly resource?: string
  /**
   * Whether an administrator of the default zone may act in another zone, named in a header. Only for routes whose handlers
   * use nothing but the scopes of the token there: its user and client belong to the default zone.
   */
  readonly acrossZones?: true
  /**
   * A path parameter: the user with this id needs none of the rights. Not in another zone, where the token's user does not exist.
   */
  readonly self?: string
  /** Whether the route is about the account of the token's user, regardless of scopes. */
  readonly ownAccount?: true
  /** Whether the route is one for login servers, where UAA describes a missing token in other words. */
  readonly forLoginServers?: true
}

/** Scopes or authorities; any one of them is sufficient. */
export interface Rights {
  /** In a token of the request's zone, or of a default-zone administrator who switched to it. */
  readonly scopes: readonly string[]
  /** Only in a token issued by the default zone; `{zone}` stands for the id of the request's zone. */
  readonly ofDefaultZone?: readonly string[]
}

/**
 * Who checks that the form is of one of our own pages: the gate, which refuses others before the handler runs; or, for a reason,
 * the handler, or nobody because other sites may post.
 */
type AntiForgery = { readonly by: 'gate' } | { readonly by: 'handler' | 'nobody'; readonly because: string }

/** Programs (`api`) get JSON errors, users (`page`) get pages; `open` answers may be framed and cached. */
export type Audience = 'api' | 'page' | 'open'

/** The `config` of every route. */
export interface RouteConfig {
  readonly access: Access
  readonly audience: Audience
  /** Required of routes that browsers post to: pages, and those for signed-in users. */
  readonly antiForgery?: AntiForgery
  /** Kind of body that is accepted; a form by default. `text` is a bare string of any content type. */
  readonly body?: 'form' | 'json' | 'json list' | 'scim' | 'text' | 'form or json'
  /** False for routes that belong to no zone. */
  readonly zone?: false
  /** Set on routes that work from caches: they answer while the database is down, and every other one of a zone gets 503. */
  readonly withoutDatabase?: true
  /** Set on routes for accounts of the internal provider: closed to every caller in zones that keep accounts elsewhere. */
  readonly ownAccounts?: true
  /** Set on routes that only refuse: an unsupported method, or a path that another route would match otherwise. */
  readonly refuses?: true
  /** Answers what is refused at these paths before a route is found, such as other methods and invalid URLs. */
  readonly answerUnrouted?: UnroutedAnswer
}

/** Answers a request that reaches no route. */
export type UnroutedAnswer = (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => void

/** The answer of the API that the path belongs to; undefined for most, which have none of their own. */
export type UnroutedAnswerSearch = (request: FastifyRequest) => UnroutedAnswer | undefined

declare module 'fastify' {
  interface FastifyContextConfig extends Partial<RouteConfig> {}
  interface FastifyRequest {
    /** The zone of the host name or path; set before any handler runs. */
    zone: AddressedZone
    /** Overrides the audience of the route for this request. */
    audience: Audience | undefined
    /** The Basic credentials form-encoded, for clients that send them unencoded; see requests/plain-basic.ts. */
    encodedBasic: string | undefined
    /** Whether it has a proof or a token of DPoP (RFC 9449), in a zone that supports it. */
    usesDpop: boolean
    /** Whether the token may follow `Bearer` directly; the same for all requests. */
    readonly bearerSpaceOptional: boolean
    /** For challenges; see callers/resource-metadata-url.ts. */
    readonly resourceMetadata: string | undefined
    /** The certificate of the caller, as a trusted proxy wrote it, or of the connection; see requests/client-certificate.ts. */
    clientCertificate: string | undefined
    /** The verified token; set on routes with bearer access. */
    bearer: VerifiedToken | undefined
    /** The browser's session, once looked up. */
    visit: Session | undefined
    /** The request pending sign-in, formatted by `formatSavedRequest`; set once `visit` was looked up. */
    waiting: string | undefined
    /** The account of a signed-in session, once looked up. */
    user: User | undefined
    /** Whether `visit` was looked up. */
    visitLoaded: boolean
  }
}

/** One line of the route table. */
export interface RegisteredRoute extends RouteConfig {
  readonly method: string
  readonly url: string
}

/**
 * Adds to the route table, and HEAD to GET; throws for a route that does not declare its access and audience, or for a form its
 * protection against forgery.
 */
export function watchRoutes(
  app: FastifyInstance,
  table: RegisteredRoute[],
  prepare: (route: RouteOptions, config: RouteConfig) => void,
): void {
  app.addHook('onRoute', route => {
    const { access, audience, antiForgery, zone, body, withoutDatabase, ownAccounts, refuses, answerUnrouted } =
      route.config ?? {}
    if (!access || !audience) {
      throw new Error(`${String(route.method)} ${route.url} does not declare its access and audience`)
    }
    const methods = new Set([route.method].flat())
    const takesForms = audience === 'page' || access.by === 'session'
    if (takesForms && !refuses && !antiForgery && [...methods].some(method => !isSafe(method))) {
      throw new Error(`${String(route.method)} ${route.url} does not declare its protection against forged forms`)
    }
    if (methods.has('GET') && route.exposeHeadRoute !== false) {
      // Fastify would add a route for HEAD, which took a quarter of the time of registration.
      methods.add('HEAD')
      route.method = [...methods]
    }
    const config = {
      access,
      audience,
      ...(antiForgery && { antiForgery }),
      ...(zone === false && { zone }),
      ...(body && { body }),
      ...(withoutDatabase && { withoutDatabase }),
      ...(ownAccounts && { ownAccounts }),
    }
    const unrouted = { ...(refuses && { refuses }), ...(answerUnrouted && { answerUnrouted }) }
    for (const method of methods) table.push({ method, url: route.url, ...config, ...unrouted })
    prepare(route, config)
  })
}

/** Whether the method changes nothing, so that it needs no anti-forgery value. */
export const isSafe = (method: string): boolean => ['GET', 'HEAD', 'OPTIONS', 'TRACE'].includes(method)

/** Whether the route takes a form, which is the default. */
export const takesForm = ({ body = 'form' }: Partial<RouteConfig>): boolean => body === 'form'

/** The form in the body; undefined without a body, and on routes that take JSON. */
export const bodyForm = (request: FastifyRequest): Form | undefined =>
  takesForm(request.routeOptions.config) ? (request.body as Form | undefined) : undefined // set by the form parser only

/** The same; an empty one where there is none. */
export const postedForm = (request: FastifyRequest): Form => bodyForm(request) ?? EMPTY_FORM
