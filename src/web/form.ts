// application/x-www-form-urlencoded, strictly: bytes that are not UTF-8, half percent-codes and NUL are refused instead
// of being repaired, and a repeated name is remembered, so that nothing means one thing here and another elsewhere.

/** The parameters of a form or a query. */
export interface Form {
  /** The first value of a name. */
  get(name: string): string | undefined
  /** Every value of a name, in the order sent. */
  all(name: string): readonly string[]
  /** Names that were sent more than once. */
  readonly repeated: readonly string[]
  /** Every name. */
  readonly names: readonly string[]
}

/** Thrown for a body or a query that is not what it should be; the message is for the caller. */
export class MalformedInput extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'MalformedInput'
  }
}

/** Thrown for text that is not what its encoding says. */
export class BadEncoding extends MalformedInput {}

const MAX_PARAMETERS = 1000

/** Parses text that is already known to be UTF-8. Throws `MalformedInput`. */
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
    const known = values.get(name)
    if (known) {
      if (known.length === 1) repeated.push(name)
      known.push(value)
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

/** Both forms as one; where both have a parameter, the value in the first one counts. */
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
