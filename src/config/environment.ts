// The environment of the server, and that of the programs it runs: the library of a PKCS#11 token, and `master_key_command`.

/** Environment variables, by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Members of the file whose value is a secret, or has one in it, and may be in a file of its own. */
export const SECRETS_IN_FILES: readonly string[] = [
  'bindPassword',
  'client_secret',
  'database',
  'passphrase',
  'password',
  'pem',
  'pin',
  'relyingPartySecret',
  'secondary_client_secret',
  'secret',
]

const SECRET_MEMBERS: ReadonlySet<string> = new Set([
  ...SECRETS_IN_FILES,
  'key',
  'master_key',
  'signingKey',
  'tokenKey',
])

/** Whether one of these members of a section of the file is a secret. */
export const haveSecret = (members: readonly string[]): boolean => members.some(member => SECRET_MEMBERS.has(member))

/** About the part of a secret after a comma, which YAML takes for a key without a value. */
export const CUT_OFF = 'has a key without a value: inside { } put quotes around a value with a comma'

/** Secrets of the server itself and of its PostgreSQL driver. */
const OWN_SECRETS = ['LATCHKEY_MASTER_KEY', 'LATCHKEY_DATABASE', 'PGPASSWORD']

/**
 * Whether the file has a secret in this text, at this key or below such a key. The path of an SQLite database is none: without
 * the variables in it, such as `HOME`, programs would miss their own settings.
 */
export const isSecret = (key: string, text: string): boolean =>
  !(key === 'database' && text.startsWith('sqlite:')) &&
  (PROVIDER_AS_TEXT.test(key) || key.split(/[.[\]]+/).some(member => SECRET_MEMBERS.has(member)))

/** The settings of a provider, where they are JSON in a string. */
const PROVIDER_AS_TEXT = /\bidentity_providers\[\d+\]\.config$/

/** Whether the file itself has a secret in this text, at this key: not where a variable stands for it, unless by its default. */
export function isWrittenSecret(key: string, text: string): boolean {
  const member = /[^.[\]]+$/.exec(key)?.[0] ?? ''
  if (!SECRET_MEMBERS.has(member)) return false
  const written = text.replace(/\$\{\w+:-([^}]*)\}/g, '$1')
  if (written === '' || written.includes('${')) return false
  if (member === 'database') return /^\w+:\/\/[^/@]*:[^/@]+@/.test(written)
  // Public keys have the same members.
  return written.includes('PRIVATE KEY') || !/-----BEGIN |"kty"\s*:\s*"(?:RSA|EC|OKP)"/.test(written)
}

/**
 * The server's environment without its secrets: those it reads itself, and the variables that stand for secrets in its file. A
 * program has what it needs, such as `SOFTHSM2_CONF` or the token of a vault, and not the password of the database.
 */
export const programEnvironment = (env: Environment, secretVariables: Iterable<string>): Environment => {
  const withheld = new Set([...OWN_SECRETS, ...secretVariables])
  return Object.fromEntries(Object.entries(env).filter(([name]) => !withheld.has(name)))
}
