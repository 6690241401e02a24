// Reads the configuration from command line, environment, file and defaults, in this order of precedence. The only reader
// of the environment. Reports all problems at once; the result is typed and fully validated.
import { dirname, resolve } from 'node:path'
import { systemClock } from './base/clock.ts'
import type { Clock } from './base/clock.ts'
import { auditOf, auditWarnings } from './config/audit.ts'
import type { Config } from './config/config.ts'
import { checkZoneCors, corsOf } from './config/cors.ts'
import type { ConfigFile, Environment, SecretOrigins } from './config/file.ts'
import { readConfigFile } from './config/file.ts'
import { environmentWarnings } from './config/warnings/environment-names.ts'
import { exampleSecretWarnings } from './config/warnings/example-secrets.ts'
import { hashCostOf } from './config/hash-cost.ts'
import { masterKeyOf } from './config/master-key.ts'
import { playgroundBootstrap } from './config/playground.ts'
import { logOf } from './config/log.ts'
import { managementOf } from './config/management.ts'
import { mutualTlsOf, mutualTlsWarnings } from './config/mutual-tls.ts'
import { operationsOf, trustedProxiesOf } from './config/operations.ts'
import { pageSettingsOf } from './config/pages.ts'
import { passkeysOf } from './config/passkeys.ts'
import { policiesOf } from './config/policies.ts'
import { ConfigError, createProblems } from './config/problems.ts'
import { programEnvironment } from './config/program-environment.ts'
import { providerWarnings } from './config/warnings/provider-warnings.ts'
import { rateLimitOf } from './config/ratelimit.ts'
import { checkBootstrap } from './config/records.ts'
import { checkSigningKeys, takeSigningKeys } from './config/signing-keys.ts'
import { samlOf } from './config/saml.ts'
import { checkRegistration } from './config/registration.ts'
import { checkSecondFactor, secondFactorWarnings } from './config/second-factor.ts'
import { secretFileWarnings } from './config/secret-files.ts'
import { nonEmpty, readServer } from './config/server.ts'
import type { CommandOptions } from './config/server.ts'
import { settingsOf } from './config/settings.ts'
import { smtpOf } from './config/smtp.ts'
import { tlsOf, tlsWarnings } from './config/tls.ts'
import { databaseOptionsOf } from './config/database.ts'
import { tracingOf } from './config/tracing.ts'
import { readUaaDatabaseUrl } from './config/uaa-database.ts'
import { emptyFileWarnings, warningsOf } from './config/warnings/warnings.ts'
import { checkZoneIdentities } from './config/zone-identities.ts'

export type { Config } from './config/config.ts'
export type { OperationsSettings, StatsdSettings } from './config/operations.ts'
export {
  masterKeyPath,
  masterKeysFor,
  MasterKeyUnavailable,
  missingMasterKeyFile,
  readMasterKeys,
} from './config/master-key.ts'
export type { Problem } from './config/problems.ts'
export { ConfigError } from './config/problems.ts'
export type { Bootstrap, ZoneBootstrap } from './config/records.ts'
export type { CommandOptions } from './config/server.ts'
export type { ConfiguredKey, SigningKeys } from './config/signing-keys.ts'

/** Sources of the configuration; tests replace the environment, the working directory and the clock. */
interface ConfigSources {
  readonly options?: CommandOptions
  readonly env?: Environment
  readonly cwd?: string
  readonly clock?: Clock
}

/** Reads and validates everything; throws a `ConfigError` that lists all problems. */
export async function loadConfig({
  options = {},
  env = process.env,
  cwd = process.cwd(),
  clock = systemClock,
}: ConfigSources = {}): Promise<Config> {
  const problems = createProblems()
  const path = options.config ?? nonEmpty(env['LATCHKEY_CONFIG'])
  const playground = path === undefined
  const absolutePath = playground ? undefined : resolve(cwd, path)
  const secrets: SecretOrigins = { variables: new Set(), files: [] }
  const file = absolutePath === undefined ? {} : await readConfigFile(absolutePath, env, { problems, secrets })
  const programEnv = programEnvironment(env, secrets.variables)

  const server = readServer(file, { options, env, problems, playground })
  const { host, port, workers, database, service, compatibility, baseUrl } = server
  const { listen } = file
  const folder = absolutePath === undefined ? cwd : dirname(absolutePath)
  const masterKey = masterKeyOf(file, {
    variable: nonEmpty(env['LATCHKEY_MASTER_KEY']),
    folder,
    env: programEnv,
    problems,
  })

  const signingKeys = checkSigningKeys(file.signing_keys, problems)
  const given = problems.hasValidTypes('zone_config') ? (file.zone_config ?? {}) : {}
  const zone = takeSigningKeys(given, 'zone_config', { problems, elsewhere: signingKeys })
  checkZoneCors(given.corsPolicy, 'zone_config', problems)
  checkSecondFactor(given, 'zone_config', problems)
  checkRegistration(given, 'zone_config', { problems, service })
  const hashCost = hashCostOf(file.passwords, host, problems)
  const cors = corsOf(file.cors, problems)
  const settings = settingsOf(file, { compatibility, problems })
  const operations = operationsOf(file, folder, problems)
  const pageSettings = pageSettingsOf(file, problems)
  const policies = policiesOf(file, problems)
  const rateLimit = rateLimitOf(file.ratelimit, problems)
  const trustedProxies = trustedProxiesOf(listen?.trusted_proxies, problems)
  const tls = listen?.tls && (await tlsOf(listen.tls, { baseUrl, folder, problems }))
  const management = managementOf(listen?.management, { port, problems })
  const smtp = smtpOf(file.smtp, baseUrl, problems)
  const saml = await samlOf(file.saml, problems)
  const mutualTls = mutualTlsOf(
    file.mutual_tls,
    { baseUrl, trustedProxies, asks: tls?.asksForCertificates ?? false },
    problems,
  )
  const passkeys = passkeysOf(file.passkeys, problems)
  const audit = auditOf(file.audit, problems)
  const databaseOptions = databaseOptionsOf(file.database_options, { database, problems })
  const bootstrap = playground
    ? playgroundBootstrap(service, compatibility)
    : checkBootstrap(file.bootstrap ?? {}, zone.config, { service, compatibility, problems })
  const issuers = [baseUrl, zone.config.issuer]
  checkZoneIdentities(file.bootstrap ?? {}, { issuers, samlEntityId: saml.entityId, problems })
  if (problems.list.length > 0) throw new ConfigError(problems.list)

  const keys = signingKeys ?? zone.signingKeys
  const outbound = { allowPrivate: file.outbound?.allow_private ?? false }
  const sessionSameSite = file.session?.same_site === 'none' ? 'none' : 'lax'
  const config = {
    baseUrl,
    listen: { host, port, trustedProxies, ...(tls && { tls }), ...(management && { management }) },
    database,
    workers,
    service,
    compatibility,
    playground,
    programEnv,
    ...(masterKey && { masterKey }),
    sessionSameSite,
    ...(smtp && { smtp }),
    ...(keys === undefined ? {} : { signingKeys: keys }),
    saml,
    passkeys,
    ...(mutualTls && { mutualTls }),
    outbound,
    hashCost,
    cors,
    settings,
    pageSettings,
    policies,
    ...(rateLimit && { rateLimit }),
    operations,
    log: logOf(file.log, problems),
    tracing: tracingOf(file.tracing, problems),
    databaseOptions,
    ...(audit && { audit }),
    ...(absolutePath !== undefined && { file: absolutePath }),
    zoneConfig: zone.config,
    bootstrap,
  } as const
  const { files: secretFiles } = secrets
  return { ...config, warnings: await warningsFor(config, { env, clock, secretFiles, file }) }
}

/** All warnings, in the order in which they are shown. */
async function warningsFor(
  config: Omit<Config, 'warnings'>,
  {
    env,
    clock,
    secretFiles,
    file,
  }: {
    readonly env: Environment
    readonly clock: Clock
    readonly secretFiles: SecretOrigins['files']
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
    ...secretFileWarnings(secretFiles, { masterKey: config.masterKey, database, tls }),
    ...(await tlsWarnings(tls, { baseUrl, clock, isBehindProxy: trustedProxies.length > 0 })),
    ...mutualTlsWarnings(bootstrap, mutualTls),
    ...(clientWarnings?.(bootstrap, rules) ?? []),
    ...(await providerWarnings(bootstrap, { serviceName: service, allowPrivate, baseUrl })),
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
