/** One thing that is wrong with the configuration, and where: a key path, an option or an environment variable. */
export interface Problem {
  readonly key: string
  readonly message: string
}

/** Thrown when the configuration cannot be used; holds everything that is wrong with it, not just the first. */
export class ConfigError extends Error {
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super(problems.map(({ key, message }) => `${key}: ${message}`).join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/** What was found so far while one configuration is read. */
export interface Problems {
  readonly list: readonly Problem[]
  /** Keeps the first problem of a key only: what follows from a bad value is no news. */
  add(key: string, message: string): void
  /** The same, for a value that is missing or of another type, so that nothing may be read from it. */
  addType(key: string, message: string): void
  /** Whether every value at the key, above it and below it has the type that the schema promises. */
  isSound(key: string): boolean
}

/** An empty collection. */
export function createProblems(): Problems {
  const list: Problem[] = []
  const unsound: string[] = []

  function add(key: string, message: string): void {
    if (!list.some(problem => problem.key === key || problem.key === `${key}_file`)) list.push({ key, message })
  }

  return {
    list,
    add,
    addType(key, message) {
      add(key, message)
      unsound.push(key)
    },
    isSound: key => !unsound.some(bad => contains(bad, key) || contains(key, bad)),
  }
}

const contains = (outer: string, inner: string): boolean =>
  inner === outer || (inner.startsWith(outer) && /^[.[]/.test(inner.slice(outer.length)))
