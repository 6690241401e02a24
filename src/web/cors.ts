// Cross-origin resource sharing (Fetch §3.3): which pages of other origins may call, decided before any gate or handler.
// Requests without an Origin header are ignored. It does not identify the caller: an allowed page must still
// authenticate, and the anti-forgery check is separate.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { corsRules } from '../model/zones/cors-policy.ts'
import type { CorsRules, SystemCors } from '../model/zones/cors-policy.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { OAuthErrorCode } from '../model/oauth-error.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { Urls } from '../model/urls.ts'
import type { CorsConfiguration, Zone } from '../model/zones/zone.ts'
import { sendJson } from './requests/json.ts'
import { CORS_VARY, securityHeaders } from './headers.ts'
import { pathBelow } from './limits/rate-limit.ts'
import type { UnroutedAnswerSearch } from './route.ts'

/** Allows or refuses cross-origin requests. */
export interface Cors {
  /** Hook for every request, even without a route, before any limit. Answers preflights and refuses requests itself. */
  readonly onRequest: (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void
  /** Sets the CORS headers on the answer to a request that reached no hook, such as one with an invalid URL. */
  letRead(request: FastifyRequest, reply: FastifyReply): Promise<void>
}

/** Response headers that scripts may read, besides the safelisted ones (Fetch §3.3.3). */
const EXPOSED = 'WWW-Authenticate, Retry-After, ETag, DPoP-Nonce'

/** A serialized origin (RFC 6454 §7.1); nothing else is echoed in an answer. */
const ORIGIN = /^(?:null|[a-z][a-z0-9+.-]*:\/\/(?:[a-z0-9._~-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?)$/i

/** The answer to a request that the rules do not allow. */
interface Refusal {
  readonly status: number
  readonly error: OAuthErrorCode
  readonly description: string
  /** What the answer lists besides. */
  readonly lists?: 'methods'
}

const AUTHORIZE_PATH = '/oauth/authorize'

const NOT_ALLOWED: Refusal = {
  status: 403,
  error: 'access_denied',
  description: 'The origin or the path is not allowed',
}

interface CorsDeps {
  readonly system: SystemCors
  readonly resolveZone: (request: FastifyRequest) => Promise<void>
  readonly urls: Urls
  readonly behaviour: Pick<Behaviour, 'unsharedAuthorization'>
  /** The answer of the API at the path. */
  readonly ownAnswerTo: UnroutedAnswerSearch
}

/** One instance serves every zone. */
export function createCors(deps: CorsDeps): Cors {
  const { urls, behaviour, ownAnswerTo } = deps
  const rulesFor = createRuleLookup(deps)
  const fixed = securityHeaders('api', urls.isHttps)

  /** RFC 9700 §2.6: applications send browsers to the authorization endpoint, and never call it. See row M16. */
  const isNeverShared = ({ url }: FastifyRequest): boolean =>
    behaviour.unsharedAuthorization && pathBelow(url, urls.basePath) === AUTHORIZE_PATH

  /** Returns whether the request was answered here. */
  async function judge(request: FastifyRequest, reply: FastifyReply, origin: string): Promise<boolean> {
    if (request.method !== 'OPTIONS' && isExempt(request, origin)) return false
    const rules = await rulesFor(request)
    reply.header('vary', CORS_VARY)
    const neverShared = isNeverShared(request)
    const isShared = !neverShared && share(request, reply, rules, origin)
    if (request.method === 'OPTIONS') return answerPreflight(request, reply, { rules, isShared })
    if (neverShared) return false // forms of other sites may be posted there
    if (!isShared) {
      // Our own forms send `Origin: null`, because our pages set `Referrer-Policy: no-referrer`. Allow them without CORS headers.
      if (origin === 'null' && request.routeOptions.config.audience === 'page') return false
      return refuse(request, reply, NOT_ALLOWED)
    }
    reply.header('access-control-expose-headers', EXPOSED)
    if (rules.allowsMethod(request.method)) return false
    reply.header('allow', rules.methodList) // RFC 9110 §15.5.6
    return refuse(request, reply, unsupported(request.method))
  }

  async function judgeThenContinue(
    request: FastifyRequest,
    reply: FastifyReply,
    { origin, done }: { origin: string; done: (error?: Error) => void },
  ): Promise<void> {
    try {
      if (await judge(request, reply, origin)) return
    } catch (cause) {
      return done(cause instanceof Error ? cause : new Error('a cross-origin request could not be checked', { cause }))
    }
    done()
  }

  function answerPreflight(
    request: FastifyRequest,
    reply: FastifyReply,
    { rules, isShared }: { rules: CorsRules; isShared: boolean },
  ): true {
    const refusal = isShared ? preflightRefusal(request.headers, rules) : NOT_ALLOWED
    if (refusal) {
      if (refusal.lists === 'methods') reply.header('access-control-allow-methods', rules.methodList)
      if (refusal.status === 405) reply.header('allow', rules.methodList) // RFC 9110 §15.5.6
      return refuse(request, reply, refusal)
    }
    reply
      .headers(fixed)
      .header('access-control-allow-methods', rules.methodList)
      .header('access-control-allow-headers', rules.headerList)
      .header('access-control-max-age', rules.maxAge)
      .status(200)
      .send()
    return true
  }

  function refuse(request: FastifyRequest, reply: FastifyReply, { status, error, description }: Refusal): true {
    reply.headers(fixed)
    const ownAnswer = ownAnswerTo(request)
    if (ownAnswer) ownAnswer(new OAuthError({ error, status }, description), request, reply)
    else sendJson(reply, { error, error_description: description }, status)
    return true
  }

  return {
    onRequest(request, reply, done) {
      const { origin } = request.headers
      if (origin === undefined || origin === '') return done()
      void judgeThenContinue(request, reply, { origin, done })
    },
    async letRead(request, reply) {
      const { origin } = request.headers
      if (origin === undefined || origin === '') return
      reply.header('vary', CORS_VARY)
      if (!isNeverShared(request) && share(request, reply, await rulesFor(request), origin)) {
        reply.header('access-control-expose-headers', EXPOSED)
      }
    },
  }
}

/** The rules for a request. Those of each configuration are compiled on first use. */
function createRuleLookup({
  system,
  resolveZone,
}: Pick<CorsDeps, 'system' | 'resolveZone'>): (request: FastifyRequest) => Promise<CorsRules> {
  const cache = new WeakMap<CorsConfiguration, CorsRules>()

  /** Undefined for a request that will be refused for lack of a zone; the server's own policy applies to that refusal. */
  async function zoneOf(request: FastifyRequest): Promise<Zone | undefined> {
    try {
      await resolveZone(request)
      return request.zone
    } catch {
      return undefined // the gate throws it again and it is answered there
    }
  }

  function compiled(configuration: CorsConfiguration): CorsRules {
    const rules = cache.get(configuration) ?? corsRules(configuration)
    cache.set(configuration, rules)
    return rules
  }

  return async request => {
    const part = isXhr(request) ? 'xhrConfiguration' : 'defaultConfiguration'
    const configuration = system.enforced ? undefined : (await zoneOf(request))?.config.corsPolicy?.[part]
    return compiled(configuration ?? system.policy[part])
  }
}

/** Sets the headers that let the page read the answer; false if the rules do not allow the origin. */
function share(request: FastifyRequest, reply: FastifyReply, rules: CorsRules, origin: string): boolean {
  if (!rules.allowsUri(pathOf(request)) || !rules.allowsOrigin(origin)) return false
  // With credentials, `*` is not allowed (Fetch §3.3.5).
  const repeats = rules.credentials || isXhr(request)
  if (repeats && !ORIGIN.test(origin)) return false
  reply.header('access-control-allow-origin', repeats ? origin : '*')
  if (rules.credentials) reply.header('access-control-allow-credentials', 'true')
  return true
}

/** Navigations (Fetch §3.2.5) and requests of our own pages: no other page reads the answer. */
function isExempt({ headers }: FastifyRequest, origin: string): boolean {
  if (headers['sec-fetch-mode'] === 'navigate' || headers['sec-fetch-site'] === 'same-origin') return true
  return headers.host !== undefined && origin.endsWith(`://${headers.host}`)
}

/** Why a preflight of an allowed origin fails (Fetch §4.8); undefined if it succeeds. */
function preflightRefusal(headers: FastifyRequest['headers'], rules: CorsRules): Refusal | undefined {
  const method = headers['access-control-request-method']
  const names = headers['access-control-request-headers']
  if (!method) return invalid('Access-Control-Request-Method is missing')
  if (!names) return { ...invalid('Access-Control-Request-Headers is missing'), lists: 'methods' }
  if (!rules.allowsMethod(method)) return unsupported(printable(method))
  if (!namesIn(names).every(name => rules.allowsHeader(name))) {
    return { status: 403, error: 'access_denied', description: 'A header is not allowed' }
  }
  return undefined
}

const invalid = (description: string): Refusal => ({ status: 400, error: 'invalid_request', description })

const unsupported = (method: string): Refusal => ({
  status: 405,
  error: 'method_not_allowed',
  description: `Request method '${method}' not supported`,
})

/** Whether `X-Requested-With` is sent, or announced by a preflight. */
function isXhr({ method, headers }: FastifyRequest): boolean {
  const announced = method === 'OPTIONS' ? headers['access-control-request-headers'] : undefined
  return Boolean(headers['x-requested-with']) || namesIn(announced ?? '').includes('x-requested-with')
}

const namesIn = (list: string): readonly string[] =>
  list
    .toLowerCase()
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')

function pathOf({ url }: FastifyRequest): string {
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}

const printable = (method: string): string => method.slice(0, 40).replace(/[^A-Za-z-]/g, '?')
