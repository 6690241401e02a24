// Answers requests without a route before their body is read: 405 if the path has routes for other methods, else as an
// unknown path.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError } from '../model/oauth-error.ts'
import type { Urls } from '../model/urls.ts'
import { sendJson } from './requests/json.ts'
import { PageError, refusalHeaders } from './answers.ts'
import type { Denial } from './sessions/denial.ts'
import { securityHeaders } from './headers.ts'
import type { RegisteredRoute, UnroutedAnswer, UnroutedAnswerSearch } from './route.ts'

/** A path with its methods. */
interface KnownPath {
  readonly pattern: RegExp
  readonly routes: readonly RegisteredRoute[]
}

/** Finds the routes of a path, whatever their method. */
type RouteSearch = (path: string) => readonly RegisteredRoute[]

/** The table grows: its routes are registered after this, and those of the inner router after the first requests. */
export function createRouteSearch(routes: readonly RegisteredRoute[]): RouteSearch {
  let paths: readonly KnownPath[] = []
  let known = 0
  return path => {
    if (known < routes.length) {
      paths = knownPaths(routes)
      known = routes.length
    }
    return paths.flatMap(({ pattern, routes: own }) => (pattern.test(path) ? own : []))
  }
}

/** Finds the answer of an API by the routes at its paths. */
export const createUnroutedAnswerSearch =
  (routesAt: RouteSearch): UnroutedAnswerSearch =>
  request =>
    ownAnswerOf(routesAt(pathOf(request.url)))

const ownAnswerOf = (routes: readonly RegisteredRoute[]): UnroutedAnswer | undefined =>
  routes.find(({ answerUnrouted }) => answerUnrouted)?.answerUnrouted

/** Hook: answers requests that match no route, and lets all others pass. */
export function createNoRouteHook(deps: {
  routesAt: RouteSearch
  resolveZone: (request: FastifyRequest) => Promise<void>
  denial: Denial
  urls: Urls
  log: { info(message: string): void }
}) {
  const { routesAt, denial, urls, log } = deps
  let hasLogged = false

  /** Once per process: enough to find a proxy that removes the path of `base_url`, and callers can send any path. */
  function logRemovedPath(path: string): void {
    if (hasLogged || urls.basePath === '') return
    const [route] = routesAt(urls.basePath + path)
    if (!route) return
    hasLogged = true
    // Its pattern: the path of a request may contain a code.
    log.info(
      `${route.url.slice(urls.basePath.length)} was requested, and this server has ${route.url}: its paths begin with that of base_url. If a proxy removes that, let it pass the path on unchanged. Not logged again`,
    )
  }

  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    reply.headers(refusalHeaders(request, urls.isHttps))
    await deps.resolveZone(request)
    const path = pathOf(request.url)
    const others = routesAt(path)
    if (others.length > 0) return refuseMethod(request, reply, answering(others, path))
    logRemovedPath(path)
    // UAA: files and /saml/web/ are not pages, which require a session. See docs/compatibility.md, M7. Programs look for
    // documents at well-known URLs, and take any page for one.
    const below = path.startsWith(`${urls.basePath}/`) ? path.slice(urls.basePath.length) : path
    const isPage = !/^\/(?:resources|saml\/web|\.well-known)\//.test(below)
    if (isPage) {
      await denial.refuseUnknownPath(request, reply)
      return
    }
    throw new PageError(404, 'The address may be mistyped, or the page has moved.')
  }

  /** Answers 405 (RFC 9110 §15.5.6). Endpoints for programs answer JSON regardless of `Accept`. */
  function refuseMethod(request: FastifyRequest, reply: FastifyReply, others: readonly RegisteredRoute[]): void {
    const served = others.filter(({ refuses }) => refuses !== true)
    const ownAnswer = ownAnswerOf(others)
    if (ownAnswer && served.length === 0) {
      ownAnswer(new PageError(404, 'There is no such resource'), request, reply)
      return
    }
    reply.header('allow', [...new Set(served.map(({ method }) => method))].join(', '))
    const error = new OAuthError('method_not_allowed', `Request method '${request.method}' not supported`)
    if (ownAnswer) return ownAnswer(error, request, reply)
    if (!others.every(({ audience }) => audience === 'api')) throw error
    reply.headers(securityHeaders('api', urls.isHttps))
    sendJson(reply, { error: error.error, error_description: error.message }, error.status)
  }

  async function answerOrFail(
    request: FastifyRequest,
    reply: FastifyReply,
    { done }: { done: (error: Error) => void },
  ): Promise<void> {
    try {
      await answer(request, reply)
    } catch (cause) {
      done(cause instanceof Error ? cause : new Error('no answer could be given', { cause }))
    }
  }

  // Not async: every request passes here.
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    if (!request.is404) return done()
    void answerOrFail(request, reply, { done })
  }
}

/** The routes that a request can reach: the router prefers a fixed path to a pattern. */
function answering(routes: readonly RegisteredRoute[], path: string): readonly RegisteredRoute[] {
  const fixed = new Set(routes.filter(({ url }) => url === path).map(({ method }) => method))
  return routes.filter(({ url, method }) => url === path || !fixed.has(method))
}

/** The paths of the route table as patterns: `:name` matches one segment, `*` the rest. */
function knownPaths(routes: readonly RegisteredRoute[]): readonly KnownPath[] {
  const source = (part: string): string => {
    if (part.startsWith(':')) return '[^/]+'
    return part === '*' ? '.*' : part.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  }
  return [...Map.groupBy(routes, ({ url }) => url)].map(([url, ofUrl]) => ({
    pattern: new RegExp(
      `^${url
        .split(/(:\w+|\*$)/)
        .map(source)
        .join('')}$`,
      's',
    ),
    routes: ofUrl,
  }))
}

/** The path as the router reads it: without query, decoded except for encoded slashes. */
function pathOf(url: string): string {
  const [path = ''] = url.split(/[?#]/, 1)
  try {
    return decodeURI(path)
  } catch {
    return path // which no route has
  }
}
