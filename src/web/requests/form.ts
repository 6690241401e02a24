// Strict application/x-www-form-urlencoded: refuses invalid UTF-8, incomplete percent-encoding and NUL instead of repairing
// them, and reports repeated names, so that no other parser reads the same bytes differently.

/** The parameters of a form or a query. */
export interface Form {
  /** The first value of the name. */
  get(name: string): string | undefined
  /** All values of the name, in the order sent. */
  all(name: string): readonly string[]
  /** Names sent more than once. */
  readonly repeated: readonly string[]
  /** All names, without duplicates. */
  readonly names: readonly string[]
}

/** Thrown for a malformed body or query; the message is for the caller. */
export class MalformedInput extends Error {
  override name = 'MalformedInput'
}

/** Thrown for input that is not valid in its encoding. */
export class BadEncoding extends MalformedInput {}

const MAX_PARAMETERS = 1000

/** Parses at most 1,000 parameters of valid UTF-8. Throws `MalformedInput`. */
export function parseForm(text: string): Form {
  const values = new Map<string, string[]>()
  const repeated: string[] = []
  const pairs = text === '' ? [] : text.split('&')
  if (pairs.length > MAX_PARAMETERS) throw new MalformedInput('Too many parameters')
  for (const pair of pairs) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1))
    const earlier = values.get(name)
    if (earlier) {
      if (earlier.length === 1) repeated.push(name)
      earlier.push(value)
    } else {
      values.set(name, [value])
    }
  }
  return {
    get: name => values.get(name)?.[0],
    all: name => values.get(name) ?? [],
    repeated,
    get names() {
      return [...values.keys()]
    },
  }
}

/** Merges two forms; `get` prefers the first form, and a name in both counts as repeated. */
export function joinForms(first: Form, second: Form): Form {
  const names = [...new Set([...first.names, ...second.names])]
  const all = (name: string): readonly string[] => [...first.all(name), ...second.all(name)]
  return {
    get: name => first.get(name) ?? second.get(name),
    all,
    repeated: names.filter(name => all(name).length > 1),
    names,
  }
}

/** A form without parameters. */
export const EMPTY_FORM: Form = parseForm('')

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  const decoded = spaced.includes('%') ? percentDecode(spaced) : spaced
  if (decoded.includes('\0')) throw new MalformedInput('NUL characters are not allowed in parameters')
  return decoded
}

function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw new BadEncoding('A parameter is not properly percent-encoded UTF-8', { cause })
  }
}
