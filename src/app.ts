// Assembles the server: reads top to bottom in order of dependency. Shared parts are created here, the rest by the file in
// app/ that they belong to, which names what it needs.
import type { FastifyInstance } from 'fastify'
import type { assembleAdmin } from './app/admin.ts'
import { assembleHttp } from './app/http.ts'
import type { assembleLogin } from './app/login.ts'
import { assembleOAuth, deferredBackChannel, oauthAtOrigin } from './app/oauth.ts'
import { assembleOps, watchHealth } from './app/ops.ts'
import { createBackground } from './base/concurrency/background.ts'
import type { Background } from './base/concurrency/background.ts'
import type { Clock } from './base/clock.ts'
import { isLoopbackHost } from './base/loopback.ts'
import { createOutbound } from './base/outbound.ts'
import { createPasswords } from './base/passwords.ts'
import type { Passwords } from './base/passwords.ts'
import type { Random } from './base/random.ts'
import { createSecretMemory } from './base/secrets.ts'
import type { Vault } from './base/secrets.ts'
import { createClientAuthenticator } from './clients/authentication/authentication.ts'
import type { Config } from './config.ts'
import { createDeferredDirectories } from './identity/directory/deferred.ts'
import { createIdentity } from './identity/identity.ts'
import { createDemandFinder } from './identity/outstanding-demand.ts'
import { createDeferredServiceProviders } from './identity/saml/deferred.ts'
import { createGroupsOf } from './identity/user-groups.ts'
import { createVouching } from './identity/vouched.ts'
import { createMailLog } from './mail/mail-log.ts'
import { createMailer } from './mail/mailer.ts'
import { behaviourOf } from './model/compatibility.ts'
import { serviceNamed } from './model/service.ts'
import type { TokenSettings } from './model/zones/settings.ts'
import { createSubjects } from './model/tokens/subject.ts'
import { createUrls } from './model/urls.ts'
import type { Urls } from './model/urls.ts'
import { createClientDocuments, withClientDocuments } from './oauth/client-documents/documents.ts'
import type { BackChannel } from './oauth/logout/back-channel.ts'
import { openTrail } from './ops/audit/open-trail.ts'
import type { AuditTrail } from './ops/audit/trail.ts'
import type { BuildFacts } from './ops/build.ts'
import type { Health } from './ops/health.ts'
import type { Instrument } from './ops/instrument.ts'
import type { Log } from './ops/log.ts'
import type { Store } from './store/store.ts'
import { createForeignKeys } from './token/foreign-keys.ts'
import { createTokenIssuer } from './token/issuer.ts'
import { generateKey } from './token/keys/key-generation.ts'
import { createKeyRing } from './token/keys/keys.ts'
import type { KeyRing } from './token/keys/keys.ts'
import { createTokenReader } from './token/reader.ts'
import { createVerifications } from './token/verifications.ts'
import { createDpopNonces } from './token/sender/dpop-nonce.ts'
import { createSenders } from './token/sender/sender.ts'
import type { TokenKeys } from './token/keys/signer.ts'
import { createAccountHistory } from './users/account-history.ts'
import { createAliases } from './users/aliases.ts'
import { createCommonPasswords } from './users/common-passwords.ts'
import { withGlobalPolicies } from './users/global-policies.ts'
import { createUsers } from './users/users.ts'
import { createLimits } from './web/limits/limits.ts'
import { createVerifiedTokens, remembering } from './web/limits/verified-tokens.ts'
import type { RegisteredRoute } from './web/route.ts'
import { createSecretGuesses } from './web/limits/secret-guesses.ts'

/** Inputs of `buildApp`; tests replace only clock, randomness and the cost of hashing. */
export interface AppDeps {
  readonly config: Config
  readonly store: Store
  readonly vault: Vault
  /** Absent where the configuration has no key in a token. */
  readonly tokenKeys?: TokenKeys | undefined
  readonly passwords: Passwords
  /** Separate queue for client secrets, so that a flood of wrong ones does not block users from signing in. */
  readonly clientSecrets: Passwords
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** Shown by `/info`. */
  readonly build: BuildFacts
  /** Makes the first signing key; tests have all of their servers share one, because an RSA key takes a tenth of a second. */
  readonly generateKey?: typeof generateKey
  /** Called after a mail is queued. */
  readonly onMail?: (() => void) | undefined
  /** Observes requests and audit events; absent if metrics are disabled. */
  readonly instrument?: Instrument | undefined
}

/** The server, not yet listening. */
export interface App {
  readonly http: FastifyInstance
  readonly keys: KeyRing
  /** State behind `/healthz`; unknown until the first probe. */
  readonly health: Health
  /** Notifies applications of ended sessions; loaded when the first notification is due. */
  readonly backChannel: () => Promise<BackChannel>
  /** Tasks after a response; await them before the store is closed. */
  readonly background: Background
  /** The stored audit trail; absent if events are only logged. */
  readonly trail: AuditTrail | undefined
  /** Every route with its access; registers those that no request has needed yet. */
  readonly routes: () => Promise<readonly RegisteredRoute[]>
}

/** At most a few seconds of work. */
const MAX_BACKGROUND_TASKS = 1000

/** The host that requests client certificates serves the same zones. */
const withHost = (settings: TokenSettings, base: string | undefined): TokenSettings =>
  base === undefined
    ? settings
    : { ...settings, internalHostnames: [...settings.internalHostnames, new URL(base).hostname] }

/** Builds the server; nothing is read from the database yet. */
export async function buildApp(deps: AppDeps): Promise<App> {
  const foundations = await createFoundations(deps)
  return assembleServer(deps, foundations, createServices(deps, foundations))
}

/** What everything else depends on: the store, its caches and the audit trail, outbound requests, limits and keys. */
async function createFoundations(deps: AppDeps) {
  const { config, passwords, clock, random, log, instrument } = deps
  const { pageSettings, mutualTls } = config
  const behaviour = behaviourOf(config.compatibility)
  const service = serviceNamed(config.service)
  const defaultZoneId = service.name
  const urls = createUrls(config.baseUrl, behaviour, mutualTls?.endpointBase)
  const settings = withHost(config.settings, mutualTls?.endpointBase)
  const background = createBackground({ max: MAX_BACKGROUND_TASKS, onError: cause => log.fault('background', cause) })
  // Behind a proxy the server listens on loopback but serves remote callers: only the base URL shows whether all are local.
  const outbound = createOutbound({
    allowPrivate: config.outbound.allowPrivate,
    allowLoopback: isLoopbackHost(new URL(config.baseUrl).hostname),
    onExchange: instrument?.countOutbound,
  })
  const limits = createLimits({ ...deps, onRefusal: instrument?.countRefusal })
  const keys = createKeyRing({ ...deps, defaultZoneId, onSignature: instrument?.countSignature })
  /** Without the clients that are not stored: for the APIs that change what is stored. */
  const stored = withGlobalPolicies(deps.store, config.service, config.policies)
  const documents = createClientDocuments({
    store: stored,
    outbound: outbound.for('client_metadata'),
    keys,
    urls,
    service,
    behaviour,
    settings,
    mutualTls,
    clock,
    limits,
    log,
  })
  const store = withClientDocuments(stored, documents)
  const notWritten = (cause: unknown): void => log.fault('events of accounts were not written', cause)
  const history = createAccountHistory({ store, clock, background, onError: notWritten })
  const logged = instrument ? instrument.counted(log.audit) : log.audit
  const recording = { ...deps, audit: logged, outbound: outbound.for('webhook') }
  const trail = config.audit && (await openTrail(recording, config.audit))
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
    passwords,
    commonPasswords: createCommonPasswords(),
    defaultZoneId,
  }
  return { shared, stored, documents, background, outbound, limits, keys, history, trail }
}

type Foundations = Awaited<ReturnType<typeof createFoundations>>

/** Users, clients and their tokens. */
function createServices(deps: AppDeps, { shared, background, outbound, limits, keys, history }: Foundations) {
  const { config, vault, clientSecrets, clock, random, log } = deps
  const { service, behaviour } = shared
  const samlEntityId = config.saml.entityId
  const mailer = createMailer({ ...shared, vault, onQueued: config.smtp ? deps.onMail : createMailLog(log.info) })
  const groupsOf = createGroupsOf(shared)
  const findOutstandingDemand = createDemandFinder({ ...shared, groupsOf })
  const verifiedTokens = createVerifiedTokens()
  const nonces = createDpopNonces({ vault, clock })
  const senders = createSenders({ ...shared, nonces })
  const verifications = createVerifications()
  const tokenReader = createTokenReader({ ...shared, keys, senders, groupsOf, verifications })
  const reader = config.rateLimit ? remembering(tokenReader, verifiedTokens) : tokenReader
  const subjects = createSubjects({ vault, behaviour })
  const issuer = createTokenIssuer({ ...shared, keys, subjects })
  const foreignKeys = createForeignKeys({ outbound: outbound.for('jwks'), clock, verifications })
  // A separate pool: the directory determines the cost of its hashes, which must not slow down local accounts.
  const directories = createDeferredDirectories({
    ...shared,
    outbound,
    passwords: createPasswords({ concurrency: 1, cost: config.hashCost }),
  })
  const serviceProviders = createDeferredServiceProviders({
    ...shared,
    vault,
    samlEntityId,
    generateKey: deps.generateKey ?? generateKey,
  })
  const identity = createIdentity({
    ...shared,
    findOutstandingDemand,
    outbound: outbound.for('provider'),
    foreignKeys,
    vault,
    zoneKeys: keys,
    directories,
    serviceProviders,
    samlEntityId,
    samlMaxAuthenticationAge: config.saml.maxAuthenticationAge,
    log,
  })
  const users = createUsers(shared)
  const aliases = createAliases(shared)
  const vouching = createVouching({ ...shared, users, aliases, findOutstandingDemand, serviceName: service.name })
  const authenticator = createClientAuthenticator({
    ...shared,
    passwords: clientSecrets,
    memory: createSecretMemory(random),
    guesses: createSecretGuesses({ limits, random }),
    foreignKeys,
  })

  const accounts = {
    users,
    groupsOf,
    findOutstandingDemand,
    identity,
    vouching,
    authenticator,
    mailer,
    background,
    history,
  }
  const tokens = { keys, foreignKeys, verifications, senders, subjects, issuer, reader, clientSecrets }
  return { accounts, tokens, verifiedTokens, nonces, directories, serviceProviders }
}

type Services = ReturnType<typeof createServices>

/** The server, and the endpoints of each area. */
async function assembleServer(
  { config, vault, log, build, instrument }: AppDeps,
  { shared, stored, documents, background, outbound, limits, keys, trail }: Foundations,
  { accounts, tokens, verifiedTokens, nonces, directories, serviceProviders }: Services,
): Promise<App> {
  const { urls } = shared
  const { health, watch } = watchHealth({ ...shared, config, keys, log })
  const front = await assembleHttp({
    ...shared,
    config,
    vault,
    log,
    build,
    instrument,
    reader: tokens.reader,
    verifiedTokens,
    nonces,
    findOutstandingDemand: accounts.findOutstandingDemand,
    watch,
    registerInner: router => registerInner(router, { ...parts, serviceProviders, directories, build }),
  })
  const { http } = front
  const parts = { ...shared, ...front, ...accounts, ...tokens, config, stored, vault, log, limits, outbound, trail }
  http.addHook('onClose', (_, done) => {
    directories.close()
    done()
  })
  await belowBase(http, urls, app => {
    assembleOps(app, { ...parts, health })
    assembleOAuth(app, parts)
  })
  if (urls.basePath !== '') oauthAtOrigin(http, parts)
  return {
    http,
    keys,
    health,
    backChannel: deferredBackChannel({ ...parts, documents }),
    background,
    trail,
    async routes() {
      await front.innerRouter()
      return front.routes
    },
  }
}

/** Registers at the path of the base URL. */
async function belowBase(
  router: FastifyInstance,
  { basePath }: Pick<Urls, 'basePath'>,
  register: (app: FastifyInstance) => void,
): Promise<void> {
  if (basePath === '') return register(router)
  await router.register(
    (app, _, done) => {
      register(app)
      done()
    },
    { prefix: basePath },
  )
}

type InnerParts = Omit<
  Parameters<typeof assembleLogin>[1] & Parameters<typeof assembleAdmin>[1],
  'serverInfo' | 'version'
> & {
  readonly build: BuildFacts
}

/** Loads the code that registers files, pages and the management APIs. */
export const loadInner = () =>
  Promise.all([import('./app/login.ts'), import('./app/admin.ts'), import('./admin/info.ts')])

/** Registers files, pages and the management APIs. Loads the code that does so: the first request for one of them waits for it. */
async function registerInner(router: FastifyInstance, parts: InnerParts): Promise<void> {
  const [login, admin, { createServerInfo }] = await loadInner()
  const { urls, assets, build, config, service, identity } = parts
  const serverInfo = createServerInfo({
    ...parts,
    serviceName: service.name,
    samlEntityId: config.saml.entityId,
    loginProviders: zone => identity.loginProviders(zone),
  })
  await belowBase(router, urls, app => {
    assets.serve(app)
    login.assembleLogin(app, { ...parts, serverInfo })
    admin.assembleAdmin(app, { ...parts, version: build.version, serverInfo })
  })
  if (urls.basePath !== '') login.loginAtOrigin(router, parts)
}
