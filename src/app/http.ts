// Assembles what runs before every endpoint: the server with its hooks, in the order in which they run, the gates that
// routes name, sessions, and the error pages.
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
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
import { createErrorHandler, refusalHeaders } from '../web/answers.ts'
import { loadAssets } from '../web/assets.ts'
import type { Assets } from '../web/assets.ts'
import { createBearerGate } from '../web/callers/bearer.ts'
import type { BearerGate } from '../web/callers/bearer.ts'
import { createProxyNotice } from '../web/requests/proxy-notice.ts'
import { createCertificateHook } from '../web/requests/client-certificate.ts'
import { createCors } from '../web/cors.ts'
import { createCsrf } from '../web/sessions/csrf.ts'
import type { Csrf } from '../web/sessions/csrf.ts'
import { createDenial } from '../web/sessions/denial.ts'
import type { Denial } from '../web/sessions/denial.ts'
import { createGates } from '../web/gates.ts'
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
import { createHttpServer, serverTls } from '../web/server.ts'
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
}

/** The server, still without routes, and the services for its responses. */
interface Http {
  readonly http: FastifyInstance
  /** Filled as routes are registered. */
  readonly routes: readonly RegisteredRoute[]
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
  const { config, clock, log, urls, behaviour, settings, instrument } = parts
  const { mutualTls, rateLimit } = config
  const { trustedProxies, tls: tlsFiles } = config.listen
  const tls = tlsFiles && (await serverTls(tlsFiles))
  const http = createHttpServer({ behaviour, urls, trustedProxies, tls, onFrameworkError: answerFrameworkError })

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
  // Needs the routes, which are registered below, before the first request.
  const ownAnswerTo: UnroutedAnswerSearch = request => findOwnAnswer(request)
  const furtherHosts = config.settings.internalHostnames
  const resolveZone = createZoneResolver({ ...parts, furtherHosts, isPlayground: config.playground })
  const cors = createCors({ system: config.cors, resolveZone, urls, behaviour, ownAnswerTo })
  instrument?.watch(http)
  refuseWritesToDeletedZones(http, parts.store)
  http.addHook('onRequest', createHostCheck(urls.isHttps))
  http.addHook('onRequest', createProxyNotice(trustedProxies, log))
  if (mutualTls) http.addHook('onRequest', createCertificateHook(mutualTls, trustedProxies))
  http.addHook('onRequest', cors.onRequest)
  // Its pages are assigned below, before the first request.
  const lateError: PageWriter['error'] = (request, reply, error) => pages.error(request, reply, error)
  const limiting = { ...parts, ownAnswerTo, onRefusal: instrument?.countRefusal, pages: { error: lateError } }
  if (rateLimit) http.addHook('onRequest', createRateLimitHook({ ...limiting, settings: rateLimit }))
  http.addHook('onRequest', createSuspicion({ behaviour, urls, ownAnswerTo }))
  const { limitedMode } = config.operations
  if (limitedMode) http.addHook('onRequest', createLimitedModeHook({ clock, urls, mode: limitedMode }))
  if (settings.plainBasicCredentials) http.addHook('onRequest', encodePlainBasic)
  const bearerGate = createBearerGate({ ...parts, enterZone: createZoneSwitch(parts) })
  const denial = createDenial({ sessions, urls, behaviour })
  const signInDemands = createSignInDemands({ ...parts, sessions, remembered })
  const gates = createGates({
    ...parts,
    resolveZone,
    bearerGate,
    sessions,
    denial,
    signInDemands,
    checkOwnAccounts: request => checkOwnAccounts(request, parts),
  })
  const routes = watchRoutes(http, gates)
  const routesAt = createRouteSearch(routes)
  const findOwnAnswer = createUnroutedAnswerSearch(routesAt)

  const assets = loadAssets(ASSETS, urls.basePath)
  const about = aboutBuild(parts.build, [behaviour.ownWords ? 'Server' : 'UAA', urls.base])
  const pages = createPageWriter({ ...parts, csrf, assets, about })
  const handleError = createErrorHandler({ pages, behaviour, log })
  http.setErrorHandler(handleError)
  /** Answers an invalid URL. Not awaited by Fastify, so it must not reject. */
  async function answerFrameworkError(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    try {
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
  http.addHook('onRequest', createNoRouteHook({ routesAt, resolveZone, denial, urls, log }))
  http.addHook('preParsing', createBodyShedding())
  const shedding = createLoadShedding()
  http.addHook('preValidation', shedding.enter)
  http.addHook('onSend', shedding.leave)
  return {
    http,
    routes,
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
