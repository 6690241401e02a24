// Assembles what runs before every endpoint: the server with its hooks, in the order in which they run, the gates that
// routes name, sessions, and the error pages.
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Clock } from '../base/clock.ts'
import { loadOnce } from '../base/concurrency/load-once.ts'
import type { Random } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
import { releaseAssertion } from '../clients/authentication/private-key-jwt.ts'
import type { Config } from '../config.ts'
import type { DemandFinder } from '../identity/outstanding-demand.ts'
import { checkOwnAccounts } from '../login/own-accounts.ts'
import { createSavedAccounts } from '../login/sign-in/saved-accounts.ts'
import type { SavedAccounts } from '../login/sign-in/saved-accounts.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Service } from '../model/service.ts'
import type { PageSettings, TokenSettings } from '../model/zones/settings.ts'
import type { Urls } from '../model/urls.ts'
import { aboutBuild } from '../ops/build.ts'
import type { BuildFacts } from '../ops/build.ts'
import type { Instrument } from '../ops/instrument.ts'
import type { Log } from '../ops/log.ts'
import type { Store } from '../store/store.ts'
import type { TokenReader } from '../token/reader.ts'
import type { DpopNonces } from '../token/sender/dpop-nonce.ts'
import { answerFor, createErrorHandler, refusalHeaders } from '../web/answers.ts'
import { loadAssets } from '../web/assets.ts'
import type { Assets } from '../web/assets.ts'
import { createBearerGate } from '../web/callers/bearer.ts'
import type { BearerGate } from '../web/callers/bearer.ts'
import { createProxyNotice } from '../web/requests/proxy-notice.ts'
import { createCertificateHook } from '../web/requests/client-certificate.ts'
import { createCors } from '../web/cors.ts'
import type { Cors } from '../web/cors.ts'
import { createCsrf } from '../web/sessions/csrf.ts'
import type { Csrf } from '../web/sessions/csrf.ts'
import { createDenial } from '../web/sessions/denial.ts'
import type { Denial } from '../web/sessions/denial.ts'
import { createGates } from '../web/gates.ts'
import { createHandOver } from '../web/hand-over.ts'
import { createHostCheck } from '../web/requests/host.ts'
import { createLimitedModeHook } from '../web/limited-mode.ts'
import { createNoRouteHook, createRouteSearch, createUnroutedAnswerSearch } from '../web/no-route.ts'
import { createBodyShedding, createLoadShedding } from '../web/limits/overload.ts'
import { createPageWriter } from '../web/pages.ts'
import type { PageWriter } from '../web/pages.ts'
import { encodePlainBasic } from '../web/requests/plain-basic.ts'
import { createRateLimitHook } from '../web/limits/rate-limit.ts'
import type { VerifiedTokens } from '../web/limits/verified-tokens.ts'
import { createRememberedDevices } from '../web/sessions/remembered-devices.ts'
import type { RememberedDevices } from '../web/sessions/remembered-devices.ts'
import { watchRoutes } from '../web/route.ts'
import type { RegisteredRoute, UnroutedAnswerSearch } from '../web/route.ts'
import { createHttpServer, createInnerRouter, serverTls } from '../web/server.ts'
import { createSessions } from '../web/sessions/session.ts'
import type { Sessions } from '../web/sessions/session.ts'
import { createSignInDemands } from '../web/sessions/sign-in-demands.ts'
import type { SignInDemands } from '../web/sessions/sign-in-demands.ts'
import { createSuspicion } from '../web/limits/suspicion.ts'
import { refuseWritesToDeletedZones } from '../web/zones/zone-deletion.ts'
import { createZoneSwitch } from '../web/zones/zone-switch.ts'
import { createZoneResolver } from '../web/zones/zone.ts'

/** Dependencies of the server. */
interface HttpParts {
  readonly config: Config
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly vault: Vault
  readonly log: Log
  readonly build: BuildFacts
  /** Absent if nothing is measured. */
  readonly instrument: Instrument | undefined
  readonly urls: Urls
  readonly service: Service
  readonly behaviour: Behaviour
  readonly settings: TokenSettings
  readonly pageSettings: PageSettings
  readonly defaultZoneId: string
  readonly reader: TokenReader
  readonly verifiedTokens: VerifiedTokens
  readonly nonces: DpopNonces
  readonly findOutstandingDemand: DemandFinder
  /** Called for both routers. */
  readonly watch: (router: FastifyInstance) => void
  /** Registers the routes of the second router, when the first of them is called. */
  readonly registerInner: (router: FastifyInstance) => Promise<void>
}

/** The server, still without routes, and the services for its responses. */
interface Http {
  readonly http: FastifyInstance
  /** Filled as routes are registered. */
  readonly routes: readonly RegisteredRoute[]
  /** The second router, for what the server has no route for; its routes are registered by the first call. */
  readonly innerRouter: () => Promise<FastifyInstance>
  readonly assets: Assets
  readonly pages: PageWriter
  readonly csrf: Csrf
  readonly sessions: Sessions
  readonly savedAccounts: SavedAccounts
  readonly remembered: RememberedDevices
  readonly denial: Denial
  readonly signInDemands: SignInDemands
  readonly bearerGate: BearerGate
}

const ASSETS = join(import.meta.dirname, '../../assets')

/** Every route that is registered at the result must declare its access, or registration fails. */
export async function assembleHttp(parts: HttpParts): Promise<Http> {
  const { config, log, urls, behaviour } = parts
  const { trustedProxies, tls: tlsFiles } = config.listen
  const tls = tlsFiles && (await serverTls(tlsFiles))

  // Sessions renew the CSRF value, which depends on them.
  const csrf = createCsrf({ ...parts, sessionOf: request => sessions.of(request) })
  const savedAccounts = createSavedAccounts({ urls })
  const remembered = createRememberedDevices(parts)
  const sessions: Sessions = createSessions({
    ...parts,
    csrf,
    sameSite: config.sessionSameSite,
    onSignIn: (request, reply, user) => savedAccounts.remember(request, reply, user),
  })
  const routes: RegisteredRoute[] = []
  const routesAt = createRouteSearch(routes)
  const ownAnswerTo = createUnroutedAnswerSearch(routesAt)
  const resolveZone = createZoneResolver({
    ...parts,
    furtherHosts: config.settings.internalHostnames,
    isPlayground: config.playground,
  })
  const cors = createCors({ system: config.cors, resolveZone, urls, behaviour, ownAnswerTo })
  const bearerGate = createBearerGate({ ...parts, enterZone: createZoneSwitch(parts) })
  const denial = createDenial({ sessions, urls, behaviour })
  const signInDemands = createSignInDemands({ ...parts, sessions, remembered })
  const gates = createGates({
    ...parts,
    resolveZone,
    bearerGate,
    sessions,
    csrf,
    denial,
    signInDemands,
    checkOwnAccounts: request => checkOwnAccounts(request, parts),
  })
  const assets = loadAssets(ASSETS, urls.basePath)
  const about = aboutBuild(parts.build, [behaviour.ownWords ? 'Server' : 'UAA', urls.base])
  const pages = createPageWriter({ ...parts, csrf, sessions, assets, about })
  const handleError = createErrorHandler({ ...parts, pages })
  const addHooks = createHooks(parts, {
    cors,
    ownAnswerTo,
    pages,
    refuseUnrouted: createNoRouteHook({ routesAt, resolveZone, denial, urls, log }),
  })

  /** Answers an invalid URL. Not awaited by Fastify, so it must not reject. */
  async function answerFrameworkError(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    try {
      await innerRouter() // so that the API that the path belongs to is known
      reply.headers(refusalHeaders(request, urls.isHttps))
      reply.header('connection', 'close') // no hook limits what the connection sends
      await cors.letRead(request, reply)
      const ownAnswer = ownAnswerTo(request)
      if (ownAnswer) ownAnswer(error, request, reply)
      else await handleError(error, request, reply)
    } catch (cause) {
      log.fault('an error could not be answered', cause)
      reply.raw.destroy()
    }
  }
  const routerOptions = { urls, behaviour, trustedProxies, onFrameworkError: answerFrameworkError }
  const innerRouter = loadOnce(async () => {
    const router = createInnerRouter(routerOptions)
    const itsRoutes: RegisteredRoute[] = []
    equip(router, itsRoutes)
    await parts.registerInner(router)
    await router.ready()
    routes.push(...itsRoutes) // none of a registration that failed
    return router
  })
  const handOver = createHandOver({ router: innerRouter, urls })
  const http = createHttpServer({ ...routerOptions, tls, handOver })
  equip(http, routes)

  /** The same functions for both routers: some of them count, and limit, what both do. */
  function equip(router: FastifyInstance, table: RegisteredRoute[]): void {
    addHooks(router)
    watchRoutes(router, table, gates)
    router.setErrorHandler(handleError)
    parts.watch(router)
  }

  return {
    http,
    routes,
    innerRouter,
    assets,
    pages,
    csrf,
    sessions,
    savedAccounts,
    remembered,
    denial,
    signInDemands,
    bearerGate,
  }
}

/** What runs before every endpoint, in this order. Made once for both routers: some of it counts, and limits, what both do. */
function createHooks(
  { config, store, clock, log, urls, behaviour, settings, instrument, ...parts }: HttpParts,
  {
    cors,
    ownAnswerTo,
    pages,
    refuseUnrouted,
  }: {
    readonly cors: Cors
    readonly ownAnswerTo: UnroutedAnswerSearch
    readonly pages: PageWriter
    readonly refuseUnrouted: ReturnType<typeof createNoRouteHook>
  },
): (router: FastifyInstance) => void {
  const { mutualTls, rateLimit, operations } = config
  const { trustedProxies } = config.listen
  const { limitedMode } = operations
  const limiting = { ...parts, log, clock, urls, behaviour, ownAnswerTo, onRefusal: instrument?.countRefusal, pages }
  const shedding = createLoadShedding()
  const onRequest: readonly onRequestHookHandler[] = [
    createHostCheck(urls.isHttps),
    createProxyNotice(trustedProxies, log),
    mutualTls && createCertificateHook(mutualTls, trustedProxies),
    cors.onRequest,
    rateLimit && createRateLimitHook({ ...limiting, settings: rateLimit }),
    createSuspicion({ behaviour, urls, ownAnswerTo }),
    limitedMode && createLimitedModeHook({ clock, urls, mode: limitedMode }),
    settings.plainBasicCredentials && encodePlainBasic,
    refuseUnrouted,
  ].filter(hook => typeof hook === 'function')
  const shedBodies = createBodyShedding()
  return router => {
    instrument?.watch(router)
    refuseWritesToDeletedZones(router, store)
    for (const hook of onRequest) router.addHook('onRequest', hook)
    router.addHook('preParsing', shedBodies)
    router.addHook('preValidation', shedding.enter)
    router.addHook('onSend', shedding.leave)
    router.addHook('onError', async (request, _reply, error) => {
      if (answerFor(error).status === 503) await releaseAssertion(request, store)
    })
  }
}
