import { parseArgs } from 'node:util'

/** One word after `latchkey`. */
export interface Command {
  readonly name: string
  readonly summary: string
  /** The lines of its options in the help text. */
  readonly options: string
  /** Answers the exit status, or undefined when the process is to go on. Throws `UsageError` for a wrong option. */
  run(args: readonly string[]): Promise<number | undefined>
}

/** Thrown for a command line that makes no sense. */
export class UsageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'UsageError'
  }
}

/** Thrown when something outside keeps the server from starting; its message says all there is to say. */
export class StartFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartFailure'
  }
}

/** Thrown when a command cannot do what it was told because of what it found; its message says all there is to say. */
export class CommandFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CommandFailure'
  }
}

/** What an option takes: a value, or nothing. */
export type OptionKinds = Readonly<Record<string, 'string' | 'boolean'>>

/** The options by name; throws `UsageError` for one that is unknown, lacks its value or stands there twice. */
export function readOptions<K extends OptionKinds>(
  args: readonly string[],
  kinds: K,
): { readonly [N in keyof K]?: K[N] extends 'string' ? string : boolean } {
  const options = Object.fromEntries(
    Object.entries(kinds).map(([name, type]) => [name, { type, multiple: true }] as const),
  )
  let values: Readonly<Record<string, readonly (string | boolean)[] | undefined>>
  try {
    values = parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new UsageError(message.replace(/\. To specify[^]*$/, ''), { cause: error })
  }
  const given = Object.entries(values).map(([name, list = []]) => {
    if (list.length > 1) throw new UsageError(`Option '--${name}' is given twice`)
    return [name, list[0]]
  })
  return Object.fromEntries(given) // parseArgs gave each the type of its kind
}
