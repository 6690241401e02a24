// Settings from the command line, the environment or the file, in this order of precedence: where the server
// listens, its base URL, its database and its name.
import { isLoopbackHost } from '../base/loopback.ts'
import type { CompatibilityMode } from '../model/compatibility.ts'
import type { Config } from './config.ts'
import type { Environment } from './environment.ts'
import type { ConfigFile } from './file.ts'
import { LOOPBACK_ONLY } from './records/playground.ts'
import type { Problems } from './problems.ts'

/** Options of the command line, unparsed. */
export interface CommandOptions {
  readonly config?: string
  readonly host?: string
  readonly port?: string
  readonly baseUrl?: string
  readonly database?: string
  readonly workers?: string
}

type ServerSettings = Pick<Config, 'workers' | 'database' | 'service' | 'compatibility' | 'baseUrl'> &
  Pick<Config['listen'], 'host' | 'port'>

/** Reads them; reports unusable values and invalid combinations. */
export function readServer(
  file: ConfigFile,
  {
    options,
    env,
    problems,
    playground,
  }: {
    readonly options: CommandOptions
    readonly env: Environment
    readonly problems: Problems
    readonly playground: boolean
  },
): ServerSettings {
  const sources: Sources = { env, problems }
  const { listen } = file
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
  return { host, port, workers, database, service, compatibility, baseUrl }
}

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

/** An empty variable counts as absent. */
export const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text)

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
  // A parser takes these, but no request and no client's comparison of issuers would match them.
  if (/[\s*\\]/.test(text)) problems.add(found.key, 'must have no blank, no * and no backslash')
  const path = url.pathname.replace(/\/+$/, '')
  if (path.includes('//')) problems.add(found.key, 'has two slashes in a row in its path')
  return `${url.origin}${path}`
}
