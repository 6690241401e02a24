import { requireUsableUrl } from '../sections/database.ts'
import type { Environment } from '../environment.ts'
import { ConfigError, createProblems } from '../problems.ts'

const VARIABLE = 'LATCHKEY_UAA_DATABASE'

/** The URL of the database of a UAA, from the option of the command line or the environment. Throws `ConfigError`. */
export function readUaaDatabaseUrl(option: string | undefined, env: Environment): string {
  const problems = createProblems()
  const [key, url] = option === undefined ? [VARIABLE, env[VARIABLE] ?? ''] : ['--from', option]
  if (url === '') problems.add('--from', `must be the URL of UAA's database, or ${VARIABLE} in the environment`)
  // Not quoted: it may hold a password.
  else if (!/^postgres(?:ql)?:\/\/./.test(url)) problems.add(key, 'must be postgres://user:password@host/database')
  else requireUsableUrl(url, problems, key)
  if (problems.list.length > 0) throw new ConfigError(problems.list)
  return url
}
