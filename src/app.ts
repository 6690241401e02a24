// Wires everything together: the only file that imports every folder. Reads top to bottom in order of dependency.
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { codeEndpoints, invitationEndpoints, passwordEndpoints } from './admin/accounts/routes.ts'
import { approvalEndpoints } from './admin/approvals/routes.ts'
import { auditEndpoint } from './admin/audit/routes.ts'
import { clientInfoEndpoint } from './admin/clients/client-info.ts'
import { clientEndpoints } from './admin/clients/routes.ts'
import { groupEndpoints } from './admin/groups/routes.ts'
import { emailChangeEndpoints } from './admin/accounts/email-changes.ts'
import { createServerInfo, infoEndpoint } from './admin/info.ts'
import { openApiEndpoints } from './admin/openapi/openapi.ts'
import { providerEndpoints } from './admin/providers/routes.ts'
import { userEndpoints } from './admin/users/routes.ts'
import { scimEndpoints } from './admin/scim/scim.ts'
import { zoneEndpoints } from './admin/zones/routes.ts'
import { createBackground } from './base/background.ts'
import type { Background } from './base/background.ts'
import { createCache } from './base/cache.ts'
import type { Clock } from './base/clock.ts'
import { loadOnce } from './base/load-once.ts'
import { isLoopbackHost } from './base/loopback.ts'
import { createOutbound } from './base/outbound.ts'
import { createPasswords } from './base/passwords.ts'
import type { Passwords } from './base/passwords.ts'
import type { Random } from './base/random.ts'
import { createSecretMemory } from './base/secrets.ts'
import type { Vault } from './base/secrets.ts'
import type { Config } from './config.ts'
import { createDeferredDirectories } from './identity/directory/deferred.ts'
import { createIdentity } from './identity/identity.ts'
import { createDeferredServiceProviders } from './identity/saml/deferred.ts'
import { createVouching } from './identity/vouched.ts'
import { createOwedBy } from './identity/owed.ts'
import { createGroupsOf } from './identity/user-groups.ts'
import { autologinEndpoints } from './login/autologin.ts'
import { authenticateEndpoint } from './login/authenticate.ts'
import { accountPages } from './login/account-pages.ts'
import { errorPages } from './login/errors.ts'
import { factorPages } from './login/factor-pages.ts'
import { forcePasswordChangeEndpoints } from './login/force-password-change.ts'
import { createAttempts } from './login/attempts.ts'
import { backchannelLogoutEndpoint } from './login/backchannel-logout.ts'
import { discoveryEndpoints } from './login/discovery.ts'
import { createExternalSignIn, externalEndpoints } from './login/external.ts'
import { createReturns } from './login/returns.ts'
import { homeEndpoints } from './login/home.ts'
import { createJourneys } from './login/journey.ts'
import { loginEndpoints } from './login/login.ts'
import { samlEndpoints } from './login/saml.ts'
import { createSamlFailures } from './login/saml-failures.ts'
import { outboxEndpoint } from './login/outbox.ts'
import { passcodeEndpoint } from './login/passcode.ts'
import { samlMetadataEndpoints } from './login/saml-metadata.ts'
import { samlLogoutEndpoint } from './login/saml-logout.ts'
import { staticFileEndpoints } from './login/static-files.ts'
import { createAccountChooser, createSavedAccounts, savedAccountEndpoint } from './login/saved-accounts.ts'
import { createMailLog } from './mail/mail-log.ts'
import { createMailer } from './mail/mailer.ts'
import { behaviourOf } from './model/compatibility.ts'
import { serviceNamed } from './model/service.ts'
import type { TokenSettings } from './model/settings.ts'
import { createSubjects } from './model/subject.ts'
import { createUrls } from './model/urls.ts'
import { authorizeEndpoint } from './oauth/authorize/authorize.ts'
import { createClientAuthenticator } from './clients/authentication/authentication.ts'
import type { BackChannel } from './oauth/logout/back-channel.ts'
import { createClientDocuments, withClientDocuments } from './oauth/client-documents/documents.ts'
import { deviceEndpoints } from './oauth/device/routes.ts'
import { explainEndpoint } from './oauth/explain/routes.ts'
import { inspectEndpoints } from './oauth/inspect.ts'
import { logoutEndpoint } from './oauth/logout.ts'
import { sessionFrames } from './oauth/session-frames.ts'
import { createUpstreamLogout } from './oauth/upstream-logout.ts'
import { pushedRequestEndpoint } from './oauth/pushed-requests.ts'
import { SUPPORTED, metadataAtOrigin, metadataEndpoints } from './oauth/metadata.ts'
import { resourceMetadataAtOrigin, resourceMetadataEndpoint } from './oauth/resource-metadata.ts'
import { tokenKeysEndpoints } from './oauth/token-keys.ts'
import { registrationEndpoints } from './oauth/registration/routes.ts'
import { revokeEndpoints } from './oauth/revoke.ts'
import { tokenListEndpoints } from './oauth/token-list.ts'
import { tokenEndpoint } from './oauth/token.ts'
import { openTrail } from './ops/audit/open-trail.ts'
import type { AuditTrail } from './ops/audit/trail.ts'
import { aboutBuild } from './ops/build.ts'
import type { BuildFacts } from './ops/build.ts'
import { createHealth, healthEndpoints } from './ops/health.ts'
import type { Health } from './ops/health.ts'
import type { Instrument } from './ops/instrument.ts'
import type { Log } from './ops/log.ts'
import { rateLimitingStatusEndpoint } from './ops/rate-limiting-status.ts'
import { StoreBusy, StoreUnavailable } from './store/store.ts'
import type { Store } from './store/store.ts'
import { createForeignKeys } from './token/foreign-keys.ts'
import { createTokenIssuer } from './token/issuer.ts'
import { generateKey } from './token/key-generation.ts'
import { createKeyRing } from './token/keys.ts'
import type { KeyRing } from './token/keys.ts'
import { createTokenReader } from './token/reader.ts'
import { createDpopNonces } from './token/sender/dpop-nonce.ts'
import { createSenders } from './token/sender/sender.ts'
import type { TokenKeys } from './token/signer.ts'
import { createAccountHistory } from './users/account-history.ts'
import { createAliases } from './users/aliases.ts'
import { createGroupsShown } from './users/default-groups.ts'
import { createGroups } from './users/groups.ts'
import { createCommonPasswords } from './users/common-passwords.ts'
import { withGlobalPolicies } from './users/global-policies.ts'
import { createUsers } from './users/users.ts'
import { createErrorHandler, refusalHeaders } from './web/answers.ts'
import { loadAssets } from './web/assets.ts'
import { createBearerGate } from './web/bearer.ts'
import { createCertificateHook } from './web/client-certificate.ts'
import { createCors } from './web/cors.ts'
import { createCsrf } from './web/csrf.ts'
import { createDenial } from './web/denial.ts'
import { createGates } from './web/gates.ts'
import { createHostCheck } from './web/host.ts'
import { createLimitedModeHook, isLimited } from './web/limited-mode.ts'
import { createLimits } from './web/limits.ts'
import { createSecretGuesses } from './web/secret-guesses.ts'
import { createNoRouteHook } from './web/no-route.ts'
import { createLoadShedding } from './web/overload.ts'
import { createPageWriter } from './web/pages.ts'
import type { PageWriter } from './web/pages.ts'
import { createRememberedDevices } from './web/remembered-devices.ts'
import { createSignInDemands } from './web/sign-in-demands.ts'
import { encodePlainBasic } from './web/plain-basic.ts'
import { createRateLimitHook, createVerifiedTokens, remembering } from './web/rate-limit.ts'
import { watchRoutes } from './web/route.ts'
import type { RegisteredRoute } from './web/route.ts'
import { createHttpServer, serverTls } from './web/server.ts'
import { createSessions } from './web/session.ts'
import type { Sessions } from './web/session.ts'
import { createSuspicion } from './web/suspicion.ts'
import { createZoneResolver } from './web/zone.ts'
import { createZoneSwitch } from './web/zone-switch.ts'

/** Inputs of `buildServer`; tests replace only clock, randomness and the cost of hashing. */
export interface AppDeps {
  readonly config: Config
  readonly store: Store
  readonly vault: Vault
  /** Absent where the configuration has no key in a token. */
  readonly tokenKeys?: TokenKeys | undefined
  readonly passwords: Passwords
  /** Separate queue for client secrets, so that a flood of wrong ones does not block people from signing in. */
  readonly clientSecrets: Passwords
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** Shown by `/info`. */
  readonly build: BuildFacts
  /** Makes the first signing key; tests have all of their servers share one, because an RSA key takes a tenth of a second. */
  readonly generateKey?: typeof generateKey
  /** Called when a mail was queued that is to be sent. */
  readonly onMail?: (() => void) | undefined
  /** Observes requests and audit events; absent if nothing is measured. */
  readonly instrument?: Instrument | undefined
}

/** A built server, not yet listening. */
export interface App {
  readonly http: FastifyInstance
  readonly keys: KeyRing
  /** State behind `/healthz`; unknown until the first probe. */
  readonly health: Health
  /** Tells applications of ended sessions; loaded when the first one is due. */
  readonly backChannel: () => Promise<BackChannel>
  /** What answers do not wait for; to be waited for before the store is closed. */
  readonly background: Background
  /** The stored audit trail; absent where only the log has it. */
  readonly trail: AuditTrail | undefined
  /** Every route with who may call it. */
  readonly routes: readonly RegisteredRoute[]
}

/** Some seconds of work at most. */
const MAX_BACKGROUND_TASKS = 1000
const ASSETS = join(import.meta.dirname, '../assets')

/** Where clients are asked for certificates, the same zones are served. */
const withHost = (settings: TokenSettings, base: string | undefined): TokenSettings =>
  base === undefined
    ? settings
    : { ...settings, internalHostnames: [...settings.internalHostnames, new URL(base).hostname] }

/** Builds the server; nothing is read from the database yet. */
export async function buildApp(deps: AppDeps): Promise<App> {
  const { config, vault, passwords, clock, random, log, instrument } = deps
  /** Without the clients that are not stored: for the APIs that change what is stored. */
  const stored = withGlobalPolicies(deps.store, config.service, config.policies)
  const behaviour = behaviourOf(config.compatibility)
  const service = serviceNamed(config.service)
  const { mutualTls } = config
  const readsCertificates = mutualTls !== undefined
  const urls = createUrls(config.baseUrl, behaviour, mutualTls?.endpointBase)
  const defaultZoneId = service.name
  const { pageSettings, rateLimit } = config
  const settings = withHost(config.settings, mutualTls?.endpointBase)
  const { trustedProxies } = config.listen
  const background = createBackground({ most: MAX_BACKGROUND_TASKS, onError: cause => log.fault('background', cause) })
  const notWritten = (cause: unknown): void => log.fault('events of accounts were not written', cause)
  // Behind a proxy the server listens on loopback and serves everybody: only the base URL says that this is one machine.
  const outbound = createOutbound({
    allowPrivate: config.outbound.allowPrivate,
    allowLoopback: isLoopbackHost(new URL(config.baseUrl).hostname),
  })
  const keys = createKeyRing({ ...deps, defaultZoneId })
  const onRefusal = instrument?.countRefusal
  const limits = createLimits({ ...deps, onRefusal })
  const ofDocuments = { store: stored, outbound, keys, service, behaviour, mutualTls, clock, limits, log }
  const store = withClientDocuments(stored, createClientDocuments(ofDocuments))
  const history = createAccountHistory({ store, clock, background, onError: notWritten })
  const trail = config.audit && (await openTrail({ ...deps, outbound }, config.audit))
  const logged = instrument ? instrument.counted(log.audit) : log.audit
  const shared = {
    store,
    clock,
    random,
    urls,
    service,
    behaviour,
    settings,
    mutualTls,
    pageSettings,
    audit: history.recorded(trail ? trail.recorded(logged) : logged),
    recordEvent: trail?.record, // what the log has otherwise
    passwords,
    commonPasswords: createCommonPasswords(),
    defaultZoneId,
  }

  const mailer = createMailer({
    store,
    vault,
    clock,
    random,
    onQueued: config.smtp ? deps.onMail : createMailLog(log.info),
  })
  const groupsOf = createGroupsOf(shared)
  const owedBy = createOwedBy({ ...shared, groupsOf })
  const verifiedTokens = createVerifiedTokens()
  const nonces = createDpopNonces({ vault, clock })
  const senders = createSenders({ ...shared, nonces })
  const tokenReader = createTokenReader({ ...shared, keys, senders, groupsOf })
  const reader = rateLimit ? remembering(tokenReader, verifiedTokens) : tokenReader
  const subjects = createSubjects({ vault, behaviour })
  const issuer = createTokenIssuer({ ...shared, keys, subjects })
  const foreignKeys = createForeignKeys({ outbound, clock })
  // A pool of its own: a directory chooses what its hashes cost, and accounts here must not cost as much.
  const directories = createDeferredDirectories({
    ...shared,
    outbound,
    passwords: createPasswords({ places: 1, cost: config.hashCost }),
  })
  const serviceProviders = createDeferredServiceProviders({
    ...shared,
    vault,
    samlEntityId: config.saml.entityId,
    generateKey: deps.generateKey ?? generateKey,
  })
  const identity = createIdentity({
    ...shared,
    owedBy,
    outbound,
    foreignKeys,
    vault,
    zoneKeys: keys,
    directories,
    serviceProviders,
    samlEntityId: config.saml.entityId,
    log,
  })
  const users = createUsers(shared)
  const aliases = createAliases(shared)
  const vouching = createVouching({ ...shared, users, aliases, owedBy, serviceName: service.name })
  const authenticator = createClientAuthenticator({
    ...shared,
    passwords: deps.clientSecrets,
    memory: createSecretMemory(random),
    guesses: createSecretGuesses({ limits, random }),
    foreignKeys,
  })

  const { tls: tlsFiles } = config.listen
  const tls = tlsFiles && (await serverTls(tlsFiles))
  const http = createHttpServer({ behaviour, urls, trustedProxies, tls, onFrameworkError: answerFrameworkError })

  // Sessions renew the value, which is made under them.
  const csrf = createCsrf({ ...shared, sessionOf: request => sessions.of(request) })
  const savedAccounts = createSavedAccounts({ urls })
  const remembered = createRememberedDevices({ ...shared, vault })
  const sessions: Sessions = createSessions({
    ...shared,
    vault,
    csrf,
    sameSite: config.sessionSameSite,
    onSignIn: (request, reply, user) => savedAccounts.remember(request, reply, user),
  })
  const resolveZone = createZoneResolver({ ...shared, isPlayground: config.playground })
  const cors = createCors({ system: config.cors, resolveZone, urls })
  instrument?.watch(http)
  http.addHook('onRequest', createHostCheck(urls.isHttps))
  if (mutualTls) http.addHook('onRequest', createCertificateHook(mutualTls, trustedProxies))
  http.addHook('onRequest', cors.onRequest)
  // Its pages are assigned below, before the first request.
  const lateError: PageWriter['error'] = (request, reply, error) => pages.error(request, reply, error)
  const rateLimitDeps = { clock, urls, log, verifiedTokens, onRefusal, pages: { error: lateError } }
  if (rateLimit) http.addHook('onRequest', createRateLimitHook({ ...rateLimitDeps, settings: rateLimit }))
  http.addHook('onRequest', createSuspicion({ behaviour, urls }))
  const { limitedMode } = config.operations
  if (limitedMode) http.addHook('onRequest', createLimitedModeHook({ clock, urls, mode: limitedMode }))
  if (settings.plainBasicCredentials) http.addHook('onRequest', encodePlainBasic)
  const bearerGate = createBearerGate({ ...shared, reader, enterZone: createZoneSwitch(shared) })
  const denial = createDenial({ sessions, urls, behaviour })
  const signInDemands = createSignInDemands({ ...shared, sessions, remembered, owedBy })
  const gates = createGates({
    resolveZone,
    bearerGate,
    sessions,
    denial,
    signInDemands,
    urls,
    behaviour,
    nonces,
    store,
  })
  const routes = watchRoutes(http, gates)

  const assets = loadAssets(ASSETS, urls.basePath)
  const pages = createPageWriter({ ...shared, csrf, assets, about: aboutBuild(deps.build, urls.base) })
  const handleError = createErrorHandler({ pages, behaviour, log })
  http.setErrorHandler(handleError)
  /** Answers an invalid URL. Not awaited by Fastify, so it must not reject. */
  async function answerFrameworkError(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    try {
      reply.headers(refusalHeaders(request, urls.isHttps))
      await cors.letRead(request, reply)
      await handleError(error, request, reply)
    } catch (cause) {
      log.fault('an error could not be answered', cause)
      reply.raw.destroy()
    }
  }
  http.addHook('onRequest', createNoRouteHook({ routes, resolveZone, denial, urls }))
  http.addHook('preValidation', createLoadShedding())

  const serverInfo = createServerInfo({
    ...shared,
    build: deps.build,
    serviceName: service.name,
    samlEntityId: config.saml.entityId,
    loginProviders: zone => identity.loginProviders(zone),
  })
  // In limited mode the database may be meant to take no writes.
  const check = (): Promise<void> => (isLimited(limitedMode) ? store.ping() : store.probeWriting(clock.now()))
  const health = createHealth({ check, isAway: () => store.isAway(), log })
  http.addHook('onClose', (_, done) => {
    directories.close()
    done()
  })
  http.addHook('onError', (_request, _reply, error, done) => {
    if (error instanceof StoreUnavailable && !(error instanceof StoreBusy)) health.suspect()
    done()
  })
  const chooseAccountPage = createAccountChooser({ ...shared, savedAccounts, pages })
  const web = { ...shared, sessions, denial, csrf, pages, limits, chooseAccountPage, signInDemands, background, mailer }
  const tellsHardware = config.passkeys.attestationRoots !== undefined
  const journeys = createJourneys({ store, sessions, urls })
  const samlFailures = createSamlFailures({ urls, vault })
  const attempts = createAttempts({ ...shared, sessions, vault })
  const elsewhere = { ...web, identity, journeys, attempts, samlFailures, log }
  const external = createExternalSignIn(elsewhere)
  const register = (app: FastifyInstance): void => {
    assets.serve(app)
    healthEndpoints(app, { health })
    infoEndpoint(app, { serverInfo, behaviour })
    const rateLimiting = { settings: rateLimit, file: config.file, asOf: clock.now() }
    rateLimitingStatusEndpoint(app, { ...rateLimiting, authenticator, reader, service })
    metadataEndpoints(app, { keys, urls, service, behaviour, tellsHardware, mutualTls })
    resourceMetadataEndpoint(app, { urls, behaviour, readsCertificates })
    tokenKeysEndpoints(app, { ...shared, keys, authenticator })
    const token = {
      ...shared,
      identity,
      reader,
      groupsOf,
      owedBy,
      authenticator,
      issuer,
      limits,
      vouching,
      bearerGate,
    }
    tokenEndpoint(app, { ...token, senders, samlEntityId: config.saml.entityId })
    inspectEndpoints(app, { ...shared, reader, authenticator, subjects, keys })
    revokeEndpoints(app, { ...shared, reader, authenticator })
    tokenListEndpoints(app, shared)
    clientInfoEndpoint(app, { ...shared, authenticator })
    clientEndpoints(app, { ...shared, store: stored, keys, limits, clientSecrets: deps.clientSecrets })
    deviceEndpoints(app, { ...web, authenticator, groupsOf })
    registrationEndpoints(app, { ...shared, store: stored, keys, limits, clientSecrets: deps.clientSecrets, outbound })
    const deciding = { ...shared, store: stored, keys, subjects, senders, groupsOf, owedBy, tellsHardware }
    explainEndpoint(app, { ...deciding, trail, namesRequests: log.requests !== undefined })
    approvalEndpoints(app, shared)
    auditEndpoint(app, { ...shared, trail })
    codeEndpoints(app, shared)
    invitationEndpoints(app, { ...shared, store: stored, users })
    passwordEndpoints(app, { ...shared, users })
    providerEndpoints(app, { ...shared, outbound, directories, vault, log })
    const groups = createGroups(shared)
    userEndpoints(app, { ...shared, users, limits, vault, mailer, pages, groupsOf })
    emailChangeEndpoints(app, { ...shared, users })
    groupEndpoints(app, { ...shared, groups })
    const ofZones = { vault, keys, clientSecrets: deps.clientSecrets, samlEntityId: config.saml.entityId }
    zoneEndpoints(app, { ...shared, store: stored, ...ofZones })
    scimEndpoints(app, {
      ...shared,
      users,
      groups,
      groupsShown: createGroupsShown(shared),
      vault,
      log,
    })
    const authorizing = {
      ...web,
      identity,
      vouching,
      bearerGate,
      groupsOf,
      owedBy,
      tellsHardware,
      subjects,
      foreignKeys,
      keys,
      outbound,
      fetchedObjects: createCache<{ readonly content: string }>(200),
      vault,
      reader,
      issuer,
      log,
    }
    authorizeEndpoint(app, authorizing)
    pushedRequestEndpoint(app, { ...authorizing, authenticator, senders })
    sessionFrames(app, { assets })
    logoutEndpoint(app, { ...web, reader, subjects, upstream: createUpstreamLogout({ ...web, identity, vault }) })
    loginEndpoints(app, { ...web, identity, serverInfo, journeys, external, samlEntityId: config.saml.entityId })
    autologinEndpoints(app, { ...web, identity, authenticator })
    authenticateEndpoint(app, { ...web, identity, vouching, bearerGate })
    discoveryEndpoints(app, { ...web, identity, journeys, external })
    const returns = createReturns(elsewhere)
    externalEndpoints(app, { ...elsewhere, external, returns })
    samlEndpoints(app, { ...elsewhere, external, returns, samlEntityId: config.saml.entityId })
    backchannelLogoutEndpoint(app, elsewhere)
    samlMetadataEndpoints(app, { serviceProviders, behaviour })
    samlLogoutEndpoint(app, elsewhere)
    forcePasswordChangeEndpoints(app, web)
    factorPages(app, { ...web, journeys, remembered, groupsOf, vault, ...config.passkeys })
    errorPages(app, { ...web, samlFailures })
    homeEndpoints(app, web)
    if (config.playground) outboxEndpoint(app, { store, vault, pages })
    staticFileEndpoints(app, { pages, assets })
    passcodeEndpoint(app, { ...web, remembered })
    accountPages(app, { ...web, users, history, external, identity })
    savedAccountEndpoint(app, { savedAccounts, urls })
    const { version } = deps.build
    openApiEndpoints(app, {
      assets,
      ...web,
      routes,
      version,
      isRateLimited: rateLimit !== undefined,
      lists: SUPPORTED,
    })
  }
  if (urls.basePath === '') register(http)
  else {
    await http.register(
      (app, _, done) => {
        register(app)
        done()
      },
      { prefix: urls.basePath },
    )
    resourceMetadataAtOrigin(http, { urls, behaviour, readsCertificates })
    metadataAtOrigin(http, { keys, urls, service, behaviour, tellsHardware, mutualTls })
  }
  const backChannel = loadOnce(async () => {
    const { createBackChannel } = await import('./oauth/logout/back-channel.ts')
    return createBackChannel({ ...shared, keys, subjects, outbound, log })
  })
  return { http, keys, health, backChannel, background, trail, routes }
}
