// The key `database_options`: how the server uses its database.
import { reasonOf } from '../../base/files/file-error.ts'
import { isLoopbackHost } from '../../base/loopback.ts'
import { readSmallFile } from '../../base/files/small-file.ts'
import type { Problems } from '../problems.ts'
import { section } from './section.ts'

/** `database_options` in the configuration file. */
export interface DatabaseOptionsFile {
  readonly changes?: 'listen' | 'poll'
  readonly migrate_at_start?: boolean
  readonly read_replicas?: readonly string[]
}

/** How the server uses its database. */
export interface DatabaseSettings {
  /** How changes of other nodes are read from PostgreSQL; absent: as the connection allows. */
  readonly changes: 'listen' | 'poll' | undefined
  /** Whether a server or command brings the schema up to date; else only `latchkey migrate` does. */
  readonly migratesAtStart: boolean
  /** The URLs of standby servers that may answer searches. */
  readonly replicas: readonly string[]
}

/** JSON Schema of the key. */
export const databaseOptionsSchema = section('How the server uses its database.', {
  changes: {
    enum: ['listen', 'poll'],
    description:
      'How a node receives changes that others make in PostgreSQL: by LISTEN at once, or by polling a table several times a second. Absent: LISTEN, unless a pooler is used.',
  },
  migrate_at_start: {
    type: 'boolean',
    default: true,
    description:
      'Whether a start changes the schema. false: it refuses a database that lacks a migration, and `latchkey migrate` applies them.',
  },
  read_replicas: {
    type: 'array',
    items: { type: 'string', pattern: '^(?:[A-Za-z0-9][A-Za-z0-9.-]*|\\[[0-9a-fA-F:.]+\\])(?::[0-9]{1,5})?$' },
    maxItems: 8,
    default: [],
    description:
      'Hosts, perhaps with a port, of standby servers of the PostgreSQL of `database` that may answer searches. All other parts of the URL are those of `database`.',
  },
})

/** The settings, as far as their types are correct; `database` is the URL. */
export function databaseOptionsOf(
  file: DatabaseOptionsFile | undefined,
  { database, problems }: { readonly database: string; readonly problems: Problems },
): DatabaseSettings {
  const {
    changes,
    migrate_at_start: migratesAtStart = true,
    read_replicas: hosts = [],
  } = (problems.hasValidTypes('database_options') ? file : undefined) ?? {}
  requireUsableUrl(database, problems)
  return { changes, migratesAtStart, replicas: replicasOf(database, hosts, problems) }
}

/** As `pg` parses it, which throws for anything but a URL, and treats an unknown `sslmode` as none. */
export function requireUsableUrl(database: string, problems: Problems, key = 'database'): void {
  if (!isPostgres(database)) return
  const url = URL.parse(database.replace('@/', '@host/')) // without a host, but with ?host=
  if (!url || url.hash !== '' || url.pathname.includes('@') || hasSeveralHosts(url)) {
    problems.add(key, NO_URL)
    return
  }
  const mode = url.searchParams.get('sslmode')
  if (mode !== null && !SSL_MODES.includes(mode)) {
    problems.add(key, `sslmode must be one of ${SSL_MODES.join(', ')}`)
  }
  requireTlsFiles(url, problems, key)
}

const hasSeveralHosts = ({ hostname, searchParams }: URL): boolean =>
  hostname.includes(',') || searchParams.get('host')?.includes(',') === true

const NO_URL =
  'must be a URL with one host; special characters of the user and the password are percent-encoded, such as @ as %40, / as %2F, ? as %3F and # as %23'

const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

/** The files that a URL names; `pg` reads them at the first connection, and names no setting when one is missing. */
export function requireTlsFiles({ searchParams }: URL, problems: Problems, key: string): void {
  for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
    const path = searchParams.get(name)
    if (path === null || path === '' || path === 'system') continue
    try {
      readSmallFile(path, MAX_TLS_FILE_BYTES)
    } catch (error) {
      problems.add(key, `${name} ${path} cannot be read: ${reasonOf(error)}`)
    }
  }
}

/** More than all certification authorities of an operating system have. */
const MAX_TLS_FILE_BYTES = 4 * 1024 * 1024

/** A standby has the databases, accounts and passwords of its primary, so its URL differs by the host only. */
function replicasOf(database: string, hosts: readonly string[], problems: Problems): readonly string[] {
  const key = 'database_options.read_replicas'
  if (hosts.length === 0) return []
  if (!isPostgres(database)) {
    problems.add(key, 'needs a PostgreSQL as database')
    return []
  }
  if (!URL.canParse(database)) {
    problems.add(key, 'requires a database URL with one host, or with none and ?host=')
    return []
  }
  const urls = hosts.flatMap((host, index) => {
    if (!URL.canParse(`postgres://${host}`)) {
      problems.add(`${key}[${index}]`, 'must be a host name or an IP address, perhaps with a port')
      return []
    }
    const url = new URL(database)
    url.host = host
    for (const name of ['host', 'hostaddr', 'port']) url.searchParams.delete(name)
    return [url.href]
  })
  if (new Set(urls).size < urls.length) problems.add(key, 'must not contain a host twice')
  return urls
}

const isPostgres = (database: string): boolean => /^postgres(?:ql)?:/.test(database)

// The store takes them as `verify-full`, but not as libpq does: there `prefer` may not encrypt, and `require` does not verify.
const SAFE_SSL_MODES = new Set(['prefer', 'require', 'verify-ca', 'verify-full'])
const SAFE_LIBPQ_MODES = new Set(['verify-ca', 'verify-full'])

/** The host of a remote PostgreSQL, MySQL or MariaDB without verified TLS; undefined for any other database. */
export function exposedDatabaseHost(database: string): string | undefined {
  if (database.startsWith('sqlite:') || !URL.canParse(database)) return undefined
  const { hostname, searchParams } = new URL(database)
  if (!isPostgres(database)) {
    return searchParams.get('sslmode') === 'disable' && !isLoopbackHost(hostname) ? hostname : undefined
  }
  const host = searchParams.get('host') ?? decodeURIComponent(hostname)
  if (host === '' || host.startsWith('/') || isLoopbackHost(host)) return undefined // '' is this machine
  const safe = searchParams.get('uselibpqcompat') === 'true' ? SAFE_LIBPQ_MODES : SAFE_SSL_MODES
  return safe.has(searchParams.get('sslmode') ?? '') ? undefined : host
}
