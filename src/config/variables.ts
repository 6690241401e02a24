// Variables in the strings of the configuration file: `${NAME}` and `${NAME:-default}`.
import type { Environment } from './environment.ts'
import type { SecretOrigins } from './file.ts'
import type { Problems } from './problems.ts'
import { isSecret } from './environment.ts'

/** The source of variables, and the collected problems. */
export interface VariableSources {
  readonly env: Environment
  readonly problems: Problems
  readonly key: string
  /** Keys of strings with variables, which may represent numbers and booleans. */
  readonly filledKeys: Set<string>
  readonly secrets: SecretOrigins
}

/** The whole file has no key. */
export const nameOf = (key: string): string => (key === '' ? 'config' : key)

/** The string with the values of its variables; reports undefined and malformed ones. */
export function fillVariables(text: string, { env, problems, key, filledKeys, secrets }: VariableSources): string {
  return text.replace(/\$(\$?)\{([^}]*)\}?/g, (whole, escaped: string, inside: string) => {
    if (escaped !== '') return whole.slice(1)
    const [, name = '', fallback] = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([^]*))?$/.exec(inside) ?? []
    const isSecretValue = isSecret(key, text)
    const problem = formProblem(whole, { name, fallback })
    if (problem !== undefined) {
      problems.add(nameOf(key), isSecretValue ? NO_VARIABLE : problem)
      return whole
    }
    filledKeys.add(key)
    if (isSecretValue) secrets.variables.add(name)
    const value = env[name] === '' && fallback !== undefined ? fallback : (env[name] ?? fallback)
    if (value === undefined) problems.add(nameOf(key), `the environment variable ${name} is not set`)
    // Anyone could use a client with an empty secret.
    if (value === '' && fallback === undefined && isSecretValue && whole === text) {
      problems.add(nameOf(key), `the environment variable ${name} is empty; \${${name}:-} allows that`)
    }
    return value ?? whole
  })
}

/** Of a secret, which must not be quoted. */
const NO_VARIABLE = 'has ${ without a variable; write $${ for a literal ${'

/** Why `${…}` cannot be read. */
function formProblem(
  whole: string,
  { name, fallback }: { readonly name: string; readonly fallback: string | undefined },
): string | undefined {
  if (name === '' || !whole.endsWith('}')) return `${whole} is not a variable; write $\${ for a literal \${`
  return fallback?.includes('${') ? `${whole} is not a variable: a default cannot have another one in it` : undefined
}
