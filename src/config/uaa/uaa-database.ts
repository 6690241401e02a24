import { requireTlsFiles, requireUsableUrl } from '../sections/database.ts'
import type { Environment } from '../environment.ts'
import { ConfigError, createProblems } from '../problems.ts'
import type { Problems } from '../problems.ts'

const VARIABLE = 'LATCHKEY_UAA_DATABASE'

/** The URL of the database of a UAA, from the option of the command line or the environment. Throws `ConfigError`. */
export function readUaaDatabaseUrl(option: string | undefined, env: Environment): string {
  const problems = createProblems()
  const [key, url] = option === undefined ? [VARIABLE, env[VARIABLE] ?? ''] : ['--from', option]
  if (url === '') problems.add('--from', `must be the URL of UAA's database, or ${VARIABLE} in the environment`)
  else if (/^postgres(?:ql)?:\/\/./.test(url)) requireUsableUrl(url, problems, key)
  else if (/^(?:mysql|mariadb):\/\/./.test(url)) requireUsableMysqlUrl(url, problems, key)
  // Not quoted: it may hold a password.
  else problems.add(key, 'must be postgres://user:password@host/database, or the same with mysql:')
  if (problems.list.length > 0) throw new ConfigError(problems.list)
  return url
}

const MYSQL_SSL_MODES = ['disable', 'verify-full']
const MYSQL_PARAMETERS = ['sslmode', 'sslrootcert']

function requireUsableMysqlUrl(given: string, problems: Problems, key: string): void {
  const url = URL.parse(given)
  if (
    !url ||
    url.hash !== '' ||
    !/^[^/,%]+$/.test(url.hostname) ||
    !/^\/[^/@]+$/.test(url.pathname) ||
    !isEncoded(url)
  ) {
    problems.add(
      key,
      'must name one host and a database; special characters of the user and the password are percent-encoded, such as % as %25, @ as %40, / as %2F, ? as %3F and # as %23',
    )
    return
  }
  const unknown = [...url.searchParams.keys()].find(name => !MYSQL_PARAMETERS.includes(name))
  if (unknown !== undefined) {
    problems.add(key, `${unknown} is no parameter of the URL: there are ${MYSQL_PARAMETERS.join(' and ')}`)
  }
  const mode = url.searchParams.get('sslmode')
  if (mode !== null && !MYSQL_SSL_MODES.includes(mode)) {
    problems.add(key, `sslmode must be one of ${MYSQL_SSL_MODES.join(', ')}`)
  }
  if (['', 'system'].includes(url.searchParams.get('sslrootcert') ?? 'none')) {
    problems.add(key, 'sslrootcert must be the path of a file; without it those of Node.js are trusted')
  }
  requireTlsFiles(url, problems, key)
}

function isEncoded({ username, password, pathname }: URL): boolean {
  try {
    decodeURIComponent([username, password, pathname].join('/'))
    return true
  } catch {
    return false
  }
}
