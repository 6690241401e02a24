// Reads the configuration from command line, environment, file and defaults, in this order of precedence. The only reader
// of the environment. Reports all problems at once; the result is typed and fully validated.
import { dirname, resolve } from 'node:path'
import { systemClock } from './base/clock.ts'
import type { Clock } from './base/clock.ts'
import { isLoopbackHost } from './base/loopback.ts'
import { auditOf, auditWarnings } from './config/audit.ts'
import type { Config } from './config/config.ts'
import { checkZoneCors, corsOf } from './config/cors.ts'
import type { Environment, SecretOrigins } from './config/file.ts'
import { readConfigFile } from './config/file.ts'
import { environmentWarnings } from './config/environment-names.ts'
import { exampleSecretWarnings } from './config/example-secrets.ts'
import { hashCostOf } from './config/hash-cost.ts'
import { masterKeyOf } from './config/master-key.ts'
import { LOOPBACK_ONLY, playgroundBootstrap } from './config/playground.ts'
import { logOf } from './config/log.ts'
import { managementOf } from './config/management.ts'
import { mutualTlsOf, mutualTlsWarnings } from './config/mutual-tls.ts'
import { operationsOf, trustedProxiesOf } from './config/operations.ts'
import { pageSettingsOf } from './config/pages.ts'
import { passkeysOf } from './config/passkeys.ts'
import { policiesOf } from './config/policies.ts'
import { ConfigError, createProblems, type Problems } from './config/problems.ts'
import { programEnvironment } from './config/program-environment.ts'
import { providerWarnings } from './config/provider-warnings.ts'
import { rateLimitOf } from './config/ratelimit.ts'
import { checkBootstrap } from './config/records.ts'
import { checkSigningKeys, takeSigningKeys } from './config/signing-keys.ts'
import { samlOf } from './config/saml.ts'
import { checkRegistration } from './config/registration.ts'
import { checkSecondFactor, secondFactorWarnings } from './config/second-factor.ts'
import { secretFileWarnings } from './config/secret-files.ts'
import { settingsOf } from './config/settings.ts'
import { smtpOf } from './config/smtp.ts'
import { tlsOf, tlsWarnings } from './config/tls.ts'
import { databaseOptionsOf } from './config/database.ts'
import { tracingOf } from './config/tracing.ts'
import { readUaaDatabaseUrl } from './config/uaa-database.ts'
import { warningsOf } from './config/warnings.ts'
import type { CompatibilityMode } from './model/compatibility.ts'

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
export type { ConfiguredKey, SigningKeys } from './config/signing-keys.ts'

/** Options of the command line, unparsed. */
export interface CommandOptions {
  readonly config?: string
  readonly host?: string
  readonly port?: string
  readonly baseUrl?: string
  readonly database?: string
  readonly workers?: string
}

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

  const sources: Sources = { env, problems }
  const listen = file.listen
  const hostFrom = pick(sources, ['--host', options.host], 'LATCHKEY_HOST', ['listen.host', listen?.host])
  const host = String(hostFrom?.value ?? '127.0.0.1')
  if (host === '') problems.add(hostFrom?.key ?? 'listen.host', 'must not be empty')
  const port = asNumber(
    sources,
    { min: 0, max: 65_535, fallback: 8080 },
    pick(sources, ['--port', options.port], 'LATCHKEY_PORT', ['listen.port', listen?.port]),
  )
  const workersFrom = pick(sources, ['--workers', options.workers], 'LATCHKEY_WORKERS', ['workers', file.workers])
  const workers = asNumber(sources, { min: 1, max: 64, fallback: 1 }, workersFrom)
  const databaseFrom = pick(sources, ['--database', options.database], 'LATCHKEY_DATABASE', ['database', file.database])
  const database = checkDatabase(databaseFrom, problems)
  if (database === 'sqlite::memory:' && workers > 1) {
    problems.add(workersFrom?.key ?? 'workers', 'must be 1 with a database in memory')
  }
  if (port === 0 && workers > 1) {
    problems.add(workersFrom?.key ?? 'workers', 'must be 1 if the port is 0')
  }
  const serviceFrom = pick(sources, undefined, 'LATCHKEY_SERVICE', ['service', file.service])
  const service = String(serviceFrom?.value ?? 'svc')
  if (!/^[a-z][a-z0-9]*$/.test(service)) {
    problems.add(serviceFrom?.key ?? 'service', 'must be a lower-case letter and then lower-case letters and digits')
  }
  const compatibility = checkMode(
    pick(sources, undefined, 'LATCHKEY_COMPATIBILITY', ['compatibility', file.compatibility]),
    problems,
  )
  const baseFrom = pick(sources, ['--base-url', options.baseUrl], 'LATCHKEY_BASE_URL', ['base_url', file.base_url])
  const baseUrl = checkBaseUrl(baseFrom, problems) ?? `http://localhost:${port}`.replace(/:80$/, '')
  if (playground) {
    if (!isLoopbackHost(host)) problems.add(hostFrom?.key ?? '--host', LOOPBACK_ONLY)
    if (!isLoopbackHost(new URL(baseUrl).hostname)) problems.add(baseFrom?.key ?? '--base-url', LOOPBACK_ONLY)
  }
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
  if (problems.list.length > 0) throw new ConfigError(problems.list)

  const keys = signingKeys ?? zone.signingKeys
  const outbound = { allowPrivate: file.outbound?.allow_private ?? false }
  const { clientWarnings } = playground ? {} : await import('./config/client-warnings.ts') // the playground has none
  const ofClients = clientWarnings?.(bootstrap, { zoneConfig: zone.config, signingKeys: keys, service, compatibility })
  const sessionSameSite = file.session?.same_site === 'none' ? 'none' : 'lax'
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
    warnings: [
      ...environmentWarnings(env),
      ...warningsOf({
        baseUrl,
        database,
        databaseOptions,
        compatibility,
        sessionSameSite,
        hashCost,
        cors,
        settings,
        smtp,
        playground,
      }),
      ...secretFileWarnings(secrets.files, { masterKey, database, tls }),
      ...(await tlsWarnings(tls, { baseUrl, clock, isBehindProxy: trustedProxies.length > 0 })),
      ...mutualTlsWarnings(bootstrap, mutualTls),
      ...(ofClients ?? []),
      ...(await providerWarnings(bootstrap, { serviceName: service, allowPrivate: outbound.allowPrivate, baseUrl })),
      ...auditWarnings(file.audit),
      ...exampleSecretWarnings(bootstrap, baseUrl),
      ...secondFactorWarnings(bootstrap, { zoneConfig: zone.config, compatibility }),
    ],
  }
}

/** The `npm run` script of this project that started the process, if one did. */
export const npmScript = (env: Environment = process.env): string | undefined =>
  env['npm_package_name'] === 'latchkey' ? env['npm_lifecycle_event'] : undefined

/** See `readUaaDatabaseUrl`. */
export const uaaDatabaseUrl = (option: string | undefined): string => readUaaDatabaseUrl(option, process.env)

interface Sources {
  readonly env: Environment
  readonly problems: Problems
}

/** A value and the name of its source for messages. */
interface Found {
  readonly key: string
  readonly value: string | number
}

type Candidate = readonly [key: string, value: string | number | undefined]

const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text)

/** The first value given: option, environment (empty means absent), file. */
function pick(
  { env, problems }: Sources,
  option: Candidate | undefined,
  variable: string,
  file: Candidate,
): Found | undefined {
  if (option?.[1] !== undefined) return { key: option[0], value: option[1] }
  const value = nonEmpty(env[variable])
  if (value !== undefined) return { key: variable, value }
  return file[1] === undefined || !problems.hasValidTypes(file[0]) ? undefined : { key: file[0], value: file[1] }
}

function asNumber(
  { problems }: Sources,
  { min, max, fallback }: { min: number; max: number; fallback: number },
  found: Found | undefined,
): number {
  if (found === undefined) return fallback
  const number = /^\d{1,9}$/.test(String(found.value)) ? Number(found.value) : Number.NaN
  if (number >= min && number <= max) return number
  problems.add(found.key, `must be a whole number from ${min} to ${max}`)
  return fallback
}

function checkDatabase(found: Found | undefined, problems: Problems): string {
  if (found === undefined) return 'sqlite:./data/latchkey.db'
  const database = String(found.value)
  if (!/^(?:postgres(?:ql)?:\/\/.|sqlite:(?!\/\/).)/.test(database)) {
    // Not quoted: it may hold a password.
    problems.add(found.key, 'must be sqlite:<path>, sqlite::memory: or postgres://user:password@host/database')
  }
  return database
}

function checkMode(found: Found | undefined, problems: Problems): CompatibilityMode {
  if (found === undefined || found.value === 'standard') return 'standard'
  if (found.value !== 'uaa') problems.add(found.key, 'must be one of standard, uaa')
  return 'uaa'
}

function checkBaseUrl(found: Found | undefined, problems: Problems): string | undefined {
  if (found === undefined) return undefined
  const text = String(found.value)
  const url = /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) {
    problems.add(found.key, 'must be an http or https URL')
    return undefined
  }
  if (url.username !== '' || url.password !== '') problems.add(found.key, 'must not hold a user name or password')
  if (/[?#]/.test(text)) problems.add(found.key, 'must have neither a query nor a fragment')
  const path = url.pathname.replace(/\/+$/, '')
  if (path.includes('//')) problems.add(found.key, 'has two slashes in a row in its path')
  return `${url.origin}${path}`
}
