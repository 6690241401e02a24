// The filter language of lists (that of SCIM 1.x without its sub-filters), read into a tree and written back. Owns the
// grammar and its limits; refuses to know which attributes there are and how a database is asked.
//
//   filter      = and *( "or" and )            "and" binds tighter
//   and         = term *( "and" term )
//   term        = "not" group / group / attribute "pr" / attribute operator value
//   group       = "(" filter ")"
//   value       = string in double or single quotes with the escapes of JSON / number / "true" / "false" / "null"

/** How an attribute is set against a value. */
export const COMPARISONS = ['eq', 'co', 'sw', 'gt', 'ge', 'lt', 'le'] as const

/** One of `COMPARISONS`. */
export type Comparison = (typeof COMPARISONS)[number]

/** What an attribute is compared with. */
export type FilterValue = string | number | boolean | null

/** A filter as a tree; `and` and `or` have two parts or more. Attributes are written as the caller wrote them. */
export type Filter =
  | {
      readonly kind: 'compare'
      readonly attribute: string
      readonly comparison: Comparison
      readonly value: FilterValue
    }
  | { readonly kind: 'present'; readonly attribute: string }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Filter[] }
  | { readonly kind: 'not'; readonly part: Filter }

/** Thrown for a filter that is no filter, too large, or asks for what cannot be asked; the message says what is wrong. */
export class InvalidFilter extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'InvalidFilter'
  }
}

/** The longest text of a filter. */
export const MAX_FILTER_LENGTH = 4096
const MAX_COMPARISONS = 50
const MAX_NESTING = 20

/** A piece of the text; a string has its quotes and escapes resolved already. */
type Token =
  | { readonly kind: 'word'; readonly text: string; readonly at: number }
  | { readonly kind: 'value'; readonly value: string | number; readonly at: number }
  | { readonly kind: '(' | ')' | 'end'; readonly at: number }

/** Parses a filter; throws only `InvalidFilter`. */
export function parseFilter(text: string): Filter {
  if (text.length > MAX_FILTER_LENGTH) throw new InvalidFilter(`it is longer than ${MAX_FILTER_LENGTH} characters`)
  const tokens = readTokens(text)
  const end: Token = { kind: 'end', at: text.length }
  let position = 0
  let comparisons = 0

  const peek = (ahead = 0): Token => tokens[position + ahead] ?? end
  function next(): Token {
    const token = peek()
    position += 1
    return token
  }
  const isWord = (token: Token, word: string): boolean => token.kind === 'word' && token.text.toLowerCase() === word

  function joined(kind: 'and' | 'or', depth: number): Filter {
    const part = (): Filter => (kind === 'or' ? joined('and', depth) : term(depth))
    const first = part()
    const parts = [first]
    while (isWord(peek(), kind)) {
      position += 1
      parts.push(part())
    }
    return parts.length === 1 ? first : { kind, parts }
  }

  function term(depth: number): Filter {
    const token = next()
    // RFC 7644 §3.4.2.2: without a parenthesis behind it, `not` is the name of an attribute like any other.
    if (isWord(token, 'not') && peek().kind === '(') return { kind: 'not', part: group(next(), depth) }
    if (token.kind === '(') return group(token, depth)
    if (token.kind !== 'word') throw expected('an attribute', token)
    return comparison(token)
  }

  function group(opening: Token, depth: number): Filter {
    if (depth === MAX_NESTING) throw new InvalidFilter(`it is nested more than ${MAX_NESTING} deep`)
    const inside = joined('or', depth + 1)
    const closing = next()
    if (closing.kind !== ')') throw expected(`a ) for the ( at ${opening.at + 1}`, closing)
    return inside
  }

  function comparison(name: Token & { kind: 'word' }): Filter {
    const attribute = attributeOf(name)
    const operator = next()
    comparisons += 1
    if (comparisons > MAX_COMPARISONS) throw new InvalidFilter(`it has more than ${MAX_COMPARISONS} comparisons`)
    if (isWord(operator, 'pr')) return { kind: 'present', attribute }
    const known = COMPARISONS.find(word => isWord(operator, word))
    if (known === undefined) throw expected('an operator', operator)
    return { kind: 'compare', attribute, comparison: known, value: valueOf(next()) }
  }

  const filter = joined('or', 0)
  const rest = peek()
  if (rest.kind !== 'end') throw expected('"and", "or" or the end', rest)
  return filter
}

/** Formats a filter; `parseFilter` parses the result into the same tree. */
export function filterText(filter: Filter): string {
  switch (filter.kind) {
    case 'compare':
      return `${filter.attribute} ${filter.comparison} ${JSON.stringify(filter.value)}`
    case 'present':
      return `${filter.attribute} pr`
    case 'not':
      return `not (${filterText(filter.part)})`
    case 'and':
    case 'or':
      return filter.parts
        .map(part => (part.kind === 'and' || part.kind === 'or' ? `(${filterText(part)})` : filterText(part)))
        .join(` ${filter.kind} `)
  }
}

const BLANKS = /[ \t\r\n]*/y
const PARENTHESIS = /[()]/y
const WORD = /[A-Za-z$_][\w$.-]*/y
// RFC 8259 §6 and §7; what may stand between single quotes is the same, with the quotes exchanged.
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const DOUBLE_QUOTED = /"(?:[^"\\]|\\[^])*"/y
const SINGLE_QUOTED = /'(?:[^'\\]|\\[^])*'/y

/** Each expression is tried once where a piece begins, and none of them has two ways to fit: the cost is the length. */
function readTokens(text: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  const take = (expression: RegExp): string | undefined => {
    expression.lastIndex = at
    const found = expression.exec(text)?.[0]
    at += found?.length ?? 0
    return found
  }
  for (take(BLANKS); at < text.length; take(BLANKS)) {
    const token = readToken(text.charAt(at), at, take)
    // `1and`, `"a"b` and `'a''b'` are two pieces to the expressions, and a mistake to whoever wrote them.
    const before = tokens.at(-1)
    if (before?.kind === 'value' && token.kind !== ')' && !/[ \t\r\n]/.test(text.charAt(token.at - 1))) {
      throw new InvalidFilter(`a blank is missing at ${token.at + 1}`)
    }
    tokens.push(token)
  }
  return tokens
}

function readToken(first: string, at: number, take: (expression: RegExp) => string | undefined): Token {
  if (first === '(' || first === ')') {
    take(PARENTHESIS)
    return { kind: first, at }
  }
  const word = take(WORD)
  if (word !== undefined) return { kind: 'word', text: word, at }
  const number = take(NUMBER)
  if (number !== undefined) return { kind: 'value', value: numberOf(number, at), at }
  const double = take(DOUBLE_QUOTED)
  if (double !== undefined) return { kind: 'value', value: stringOf(double, at), at }
  const single = take(SINGLE_QUOTED)
  if (single !== undefined) return { kind: 'value', value: stringOf(requoted(single), at), at }
  if (first === '"' || first === "'") throw new InvalidFilter(`the string at ${at + 1} has no end`)
  throw new InvalidFilter(`the character at ${at + 1} has no meaning`)
}

function numberOf(text: string, at: number): number {
  const number = Number(text)
  if (!Number.isFinite(number)) throw new InvalidFilter(`the number at ${at + 1} is too large`)
  return number + 0 // there is no negative zero in a database
}

function stringOf(quoted: string, at: number): string {
  try {
    return String(JSON.parse(quoted))
  } catch (cause) {
    throw new InvalidFilter(`the string at ${at + 1} has a character or an escape that JSON does not know`, { cause })
  }
}

/** From single quotes to double ones. */
const requoted = (single: string): string =>
  `"${single.slice(1, -1).replace(/\\[^]|"/g, found => (found === '"' ? '\\"' : found === "\\'" ? "'" : found))}"`

// A name, and those of its parts behind dots: `meta.lastModified`, `$ref`. RFC 7644 §3.10 begins each with a letter.
const ATTRIBUTE = /^[A-Za-z$][\w$-]*(?:\.[A-Za-z$][\w$-]*)*$/

function attributeOf({ text, at }: Token & { kind: 'word' }): string {
  if (!ATTRIBUTE.test(text)) throw new InvalidFilter(`the word at ${at + 1} is no name of an attribute`)
  return text
}

const WORDS: ReadonlyMap<string, FilterValue> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
])

function valueOf(token: Token): FilterValue {
  if (token.kind === 'value') return token.value
  const value = token.kind === 'word' ? WORDS.get(token.text.toLowerCase()) : undefined
  if (value === undefined) throw expected('a value', token)
  return value
}

const expected = (what: string, { kind, at }: Token): InvalidFilter =>
  new InvalidFilter(`${what} is missing ${kind === 'end' ? 'at the end' : `at ${at + 1}`}`)
