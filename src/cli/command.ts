import { parseArgs } from 'node:util'

/** A subcommand of `latchkey`. */
export interface Command {
  readonly name: string
  readonly summary: string
  /** The subcommands, as the help shows them; absent if there are none. */
  readonly actions?: string
  /** The lines of its options in the help text. */
  readonly options: string
  /** Returns the exit status, or undefined to keep the process running. Throws `UsageError` for a wrong option. */
  run(args: readonly string[]): Promise<number | undefined>
}

/** Thrown for an invalid command line. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** Thrown when an external cause prevents the start; printed as its message only. */
export class StartFailure extends Error {
  override name = 'StartFailure'
}

/** Thrown when the state of the database or a file prevents a command; printed as its message only. */
export class CommandFailure extends Error {
  override name = 'CommandFailure'
}

/** Whether each option takes a value. */
type OptionKinds = Readonly<Record<string, 'string' | 'boolean'>>

/** The options by name; throws `UsageError` for one that is unknown, lacks its value or is repeated. */
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
  return Object.fromEntries(given) // parseArgs has checked the types
}
