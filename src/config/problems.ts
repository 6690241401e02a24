/** A problem of the configuration; `key` is a key path, an option or an environment variable. */
export interface Problem {
  readonly key: string
  readonly message: string
}

/** Thrown for an invalid configuration, with all problems. */
export class ConfigError extends Error {
  override name = 'ConfigError'
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super(problems.map(({ key, message }) => `${key}: ${message}`).join('\n'))
    this.problems = problems
  }
}

/** Collects problems while a configuration is read. */
export interface Problems {
  readonly list: readonly Problem[]
  /** Keeps only the first problem of a key: further ones are usually consequences. */
  add(key: string, message: string): void
  /** Adds a problem of a missing value or a wrong type, which makes the key invalid. */
  addType(key: string, message: string): void
  /** Whether the values at, above and below the key have the types of the schema. */
  hasValidTypes(key: string): boolean
}

/** An empty collection. */
export function createProblems(): Problems {
  const list: Problem[] = []
  const invalidKeys: string[] = []

  function add(key: string, message: string): void {
    if (!list.some(problem => problem.key === key || problem.key === `${key}_file`)) list.push({ key, message })
  }

  return {
    list,
    add,
    addType(key, message) {
      add(key, message)
      invalidKeys.push(key)
    },
    hasValidTypes: key => !invalidKeys.some(bad => contains(bad, key) || contains(key, bad)),
  }
}

const contains = (outer: string, inner: string): boolean =>
  inner === outer || (inner.startsWith(outer) && /^[.[]/.test(inner.slice(outer.length)))
