// Reads the configuration from command line, environment, file and defaults, in this order of precedence. The only reader
// of the environment. Reports all problems at once; the result is typed and fully validated.
import { dirname, resolve } from 'node:path'
import { systemClock } from './base/clock.ts'
import type { Clock } from './base/clock.ts'
import { auditOf, auditWarnings } from './config/sections/audit.ts'
import type { Config } from './config/config.ts'
import { corsOf } from './config/sections/cors.ts'
import type { Environment } from './config/environment.ts'
import type { ConfigFile, SecretOrigins } from './config/file.ts'
import { readConfigFile } from './config/file.ts'
import { environmentWarnings } from './config/warnings/environment-names.ts'
import { exampleSecretWarnings } from './config/warnings/example-secrets.ts'
import { hashCostOf } from './config/sections/hash-cost.ts'
import { masterKeyOf } from './config/keys/master-key.ts'
import { playgroundBootstrap } from './config/records/playground.ts'
import { logOf } from './config/sections/log.ts'
import { managementOf } from './config/sections/management.ts'
import { mutualTlsOf, mutualTlsWarnings } from './config/sections/mutual-tls.ts'
import { operationsOf, trustedProxiesOf } from './config/sections/operations.ts'
import { pageSettingsOf } from './config/sections/pages.ts'
import { passkeysOf } from './config/sections/passkeys.ts'
import { policiesOf } from './config/sections/policies.ts'
import { ConfigError, createProblems } from './config/problems.ts'
import type { Problems } from './config/problems.ts'
import { programEnvironment } from './config/environment.ts'
import { providerWarnings } from './config/warnings/provider-warnings.ts'
import { rateLimitOf } from './config/sections/ratelimit.ts'
import { checkBootstrap } from './config/records/records.ts'
import { checkSigningKeys, takeSigningKeys } from './config/keys/signing-keys.ts'
import type { SigningKeys } from './config/keys/signing-keys.ts'
import { checkChosenKey, samlOf } from './config/sections/saml.ts'
import { secondFactorWarnings } from './config/records/second-factor.ts'
import { secretFileWarnings } from './config/secret-files.ts'
import { nonEmpty, readServer } from './config/server.ts'
import type { CommandOptions } from './config/server.ts'
import { settingsOf } from './config/sections/settings.ts'
import { smtpOf } from './config/sections/smtp.ts'
import { tlsOf, tlsWarnings } from './config/sections/tls.ts'
import { databaseOptionsOf } from './config/sections/database.ts'
import { tracingOf } from './config/sections/tracing.ts'
import { readUaaDatabaseUrl } from './config/uaa/uaa-database.ts'
import { keyWarnings } from './config/warnings/key-warnings.ts'
import { emptyFileWarnings, warningsOf } from './config/warnings/warnings.ts'
import { checkZoneIdentities } from './config/records/zone-identities.ts'
import { checkZoneSettings } from './config/records/zone-settings.ts'
import { behaviourOf } from './model/compatibility.ts'
import { createUrls } from './model/urls.ts'

export type { Config } from './config/config.ts'
export type { OperationsSettings, StatsdSettings } from './config/sections/operations.ts'
export {
  masterKeyPath,
  masterKeysFor,
  MasterKeyUnavailable,
  missingMasterKeyFile,
  readMasterKeys,
} from './config/keys/master-key.ts'
export type { Problem } from './config/problems.ts'
export { ConfigError } from './config/problems.ts'
export type { Bootstrap, ZoneBootstrap } from './config/records/records.ts'
export type { CommandOptions } from './config/server.ts'
export type { ConfiguredKey, SigningKeys } from './config/keys/signing-keys.ts'

/** Settings that commands use without the others, and the keys of the file on which each depends. */
const KEYS_OF = {
  database: ['database', 'database_file'],
  databaseOptions: ['database_options'],
  service: ['service'],
  compatibility: ['compatibility'],
  masterKey: ['master_key', 'master_key_file', 'master_key_command'],
  audit: ['audit'],
  baseUrl: ['base_url'],
  listen: ['listen'],
} as const satisfies Partial<Record<keyof Config, readonly string[]>>

/** What a command needs to open the database of a server, and to check that it is that of the server. */
export const STORAGE_SETTINGS = ['database', 'databaseOptions', 'service', 'masterKey'] as const

/** The settings of a command that only opens the database. */
export type StorageConfig = Pick<Config, (typeof STORAGE_SETTINGS)[number]>

/**
 * Reads and validates these settings alone. So a command needs the variables and files of those only, and runs although
 * another setting is wrong.
 */
export function loadSettings<Name extends keyof typeof KEYS_OF>(
  names: readonly Name[],
  options: CommandOptions,
): Promise<Pick<Config, Name>> {
  return loadConfig({ options, keys: names.flatMap(name => KEYS_OF[name]) })
}

/** Sources of the configuration; tests replace the environment, the working directory and the clock. */
interface ConfigSources {
  readonly options?: CommandOptions
  /** Keys of the file; absent: all. */
  readonly keys?: readonly string[]
  readonly env?: Environment
  readonly cwd?: string
  readonly clock?: Clock
}

/** Reads and validates everything; throws a `ConfigError` that lists all problems. */
export async function loadConfig({
  options = {},
  keys,
  env = process.env,
  cwd = process.cwd(),
  clock = systemClock,
}: ConfigSources = {}): Promise<Config> {
  const problems = createProblems()
  const named = options.config ?? nonEmpty(env['LATCHKEY_CONFIG'])
  const path = named === undefined ? undefined : resolve(cwd, named)
  const secrets: SecretOrigins = { variables: new Set(), written: [], files: [], cutOff: [] }
  const file = path === undefined ? {} : await readConfigFile(path, env, { problems, secrets, keys })
  const folder = path === undefined ? cwd : dirname(path)
  const programEnv = programEnvironment(env, secrets.variables)
  const config = await readSettings(file, { path, folder, options, env, programEnv, problems })
  if (problems.list.length > 0) throw new ConfigError(problems.list)
  return { ...config, warnings: await warningsFor(config, { env, clock, secrets, file }) }
}

/** Every setting; without a file those of the playground. What is wrong is added to the problems. */
async function readSettings(
  file: ConfigFile,
  {
    path,
    folder,
    options,
    env,
    programEnv,
    problems,
  }: {
    readonly path: string | undefined
    /** Paths in the file are relative to it. */
    readonly folder: string
    readonly options: CommandOptions
    readonly env: Environment
    readonly programEnv: Environment
    readonly problems: Problems
  },
): Promise<Omit<Config, 'warnings'>> {
  const playground = path === undefined
  const { listen } = file
  const server = readServer(file, { options, env, problems, playground })
  const { host, port, workers, database, service, compatibility, baseUrl } = server
  const variable = nonEmpty(env['LATCHKEY_MASTER_KEY'])
  const masterKey = masterKeyOf(file, { variable, folder, env: programEnv, problems })
  const signingKeys = checkSigningKeys(file.signing_keys, problems)
  const zone = defaultZoneOf(file, { service, signingKeys, problems })
  const trustedProxies = trustedProxiesOf(listen?.trusted_proxies, problems)
  const tls = listen?.tls && (await tlsOf(listen.tls, { baseUrl, folder, problems }))
  const management = managementOf(listen?.management, { port, problems })
  const smtp = smtpOf(file.smtp, baseUrl, problems)
  const saml = await samlOf(file.saml, problems)
  checkChosenKey(zone.config.samlConfig?.activeKeyId, saml, problems)
  const asks = tls?.asksForCertificates ?? false
  const mutualTls = mutualTlsOf(file.mutual_tls, { baseUrl, trustedProxies, asks }, problems)
  const rateLimit = rateLimitOf(file.ratelimit, problems)
  const audit = auditOf(file.audit, problems)
  const keys = signingKeys ?? zone.signingKeys
  const bootstrap = playground
    ? playgroundBootstrap(service, compatibility)
    : checkBootstrap(file.bootstrap ?? {}, zone.config, { service, compatibility, problems })
  checkZoneIdentities(file.bootstrap ?? {}, {
    urls: createUrls(baseUrl, behaviourOf(compatibility)),
    issuer: zone.config.issuer,
    samlEntityId: saml.entityId,
    problems,
  })
  return {
    baseUrl,
    listen: { host, port, trustedProxies, ...(tls && { tls }), ...(management && { management }) },
    database,
    workers,
    service,
    compatibility,
    playground,
    programEnv,
    ...(masterKey && { masterKey }),
    sessionSameSite: file.session?.same_site === 'none' ? 'none' : 'lax',
    ...(smtp && { smtp }),
    ...(keys === undefined ? {} : { signingKeys: keys }),
    saml,
    passkeys: passkeysOf(file.passkeys, problems),
    ...(mutualTls && { mutualTls }),
    outbound: { allowPrivate: file.outbound?.allow_private ?? false },
    hashCost: hashCostOf(file.passwords, host, problems),
    cors: corsOf(file.cors, problems),
    settings: settingsOf(file, { compatibility, problems }),
    pageSettings: pageSettingsOf(file, problems),
    policies: policiesOf(file, { compatibility, problems }),
    ...(rateLimit && { rateLimit }),
    operations: operationsOf(file, folder, problems),
    log: logOf(file.log, problems),
    tracing: tracingOf(file.tracing, problems),
    databaseOptions: databaseOptionsOf(file.database_options, { database, problems }),
    ...(audit && { audit }),
    ...(path !== undefined && { file: path }),
    zoneConfig: zone.config,
    bootstrap,
  }
}

/** The settings of the default zone, and the signing keys among them, unless the file has those at its top level. */
function defaultZoneOf(
  file: ConfigFile,
  {
    service,
    signingKeys,
    problems,
  }: { readonly service: string; readonly signingKeys: SigningKeys | undefined; readonly problems: Problems },
) {
  const given = problems.hasValidTypes('zone_config') ? (file.zone_config ?? {}) : {}
  const zone = takeSigningKeys(given, 'zone_config', { problems, elsewhere: signingKeys })
  checkZoneSettings(given, 'zone_config', { problems, service })
  return zone
}

/** All warnings, in the order in which they are shown. */
async function warningsFor(
  config: Omit<Config, 'warnings'>,
  {
    env,
    clock,
    secrets,
    file,
  }: {
    readonly env: Environment
    readonly clock: Clock
    readonly secrets: SecretOrigins
    readonly file: ConfigFile
  },
): Promise<readonly string[]> {
  const { baseUrl, listen, database, service, compatibility, playground, bootstrap, zoneConfig, mutualTls } = config
  const { tls, trustedProxies } = listen
  const rules = { zoneConfig, signingKeys: config.signingKeys, service, compatibility }
  const { clientWarnings } = playground ? {} : await import('./config/warnings/client-warnings.ts') // the playground has none
  const { allowPrivate } = config.outbound
  return [
    ...emptyFileWarnings(file, config.file),
    ...environmentWarnings(env),
    ...warningsOf({ ...config, smtp: config.smtp }),
    ...secretFileWarnings(secrets, { file: config.file, masterKey: config.masterKey, database, tls }),
    ...(await tlsWarnings(tls, { baseUrl, clock, isBehindProxy: trustedProxies.length > 0 })),
    ...mutualTlsWarnings(bootstrap, mutualTls),
    ...(clientWarnings?.(bootstrap, rules) ?? []),
    ...(await providerWarnings(bootstrap, { serviceName: service, allowPrivate, baseUrl })),
    ...keyWarnings(config),
    ...auditWarnings(file.audit),
    ...exampleSecretWarnings(bootstrap, baseUrl),
    ...secondFactorWarnings(bootstrap, { zoneConfig, compatibility }),
  ]
}

/** The `npm run` script of this project that started the process, if one did. */
export const npmScript = (env: Environment = process.env): string | undefined =>
  env['npm_package_name'] === 'latchkey' ? env['npm_lifecycle_event'] : undefined

/** See `readUaaDatabaseUrl`. */
export const uaaDatabaseUrl = (option: string | undefined): string => readUaaDatabaseUrl(option, process.env)
