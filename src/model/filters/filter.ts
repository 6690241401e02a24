// The filter language of lists, read into a tree and written back: UAA's dialect of SCIM 1.x, and that of SCIM 2.0. Owns the
// grammar and its limits; does not know the attributes or the databases.
//
//   filter      = and *( "or" and )            "and" binds tighter
//   and         = term *( "and" term )
//   term        = "not" group / group / attribute "pr" / attribute operator value
//   group       = "(" filter ")"
//   value       = string in double or single quotes with the escapes of JSON / number / "true" / "false" / "null"
//
// SCIM 2.0 (RFC 7644 §3.4.2.2) adds `ne` and `ew`, attributes with the URN of their schema, and filters of values; it has no
// single quotes:
//
//   term        =/ attribute "[" filter "]" [ "." name ( "pr" / operator value ) ]
import type { FilterDialect, Token } from './filter-tokens.ts'
import { InvalidFilter, readTokens } from './filter-tokens.ts'

export type { FilterDialect } from './filter-tokens.ts'
export { InvalidFilter, InvalidOrder } from './filter-tokens.ts'

/** How UAA's dialect sets an attribute against a value. */
export const COMPARISONS = ['eq', 'co', 'sw', 'gt', 'ge', 'lt', 'le'] as const

/** How SCIM 2.0 does. `ne` is the negation of `eq`: it matches where the attribute is absent. */
export const SCIM_COMPARISONS = [...COMPARISONS, 'ne', 'ew'] as const

/** One of `SCIM_COMPARISONS`. */
export type Comparison = (typeof SCIM_COMPARISONS)[number]

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
  /** `emails[type eq "work"]`: one value of the attribute matches; the names inside are those of its members. */
  | { readonly kind: 'values'; readonly attribute: string; readonly filter: Filter }

/** Selects every record: each has an id. */
export const EVERYTHING: Filter = { kind: 'present', attribute: 'id' }

/** The longest text of a filter. */
export const MAX_FILTER_LENGTH = 4096
const MAX_COMPARISONS = 100
const MAX_NESTING = 20

/** Parses a filter; throws only `InvalidFilter`. */
export function parseFilter(text: string, dialect: FilterDialect = 'uaa'): Filter {
  const parser = createParser(text, dialect)
  const filter = parser.filter()
  parser.end('"and", "or" or the end')
  return filter
}

/** The target of a change (RFC 7644 §3.5.2). */
export interface AttributePath {
  /** The URN before the attribute; of the name of a schema alone, the part before its last colon. */
  readonly schema?: string
  readonly attribute: string
  /** Which of the attribute's values. */
  readonly filter?: Filter
  readonly subAttribute?: string
}

/** Parses `name.familyName`, `emails[type eq "work"].value` and the like; throws only `InvalidFilter`. */
export function parsePath(text: string): AttributePath {
  const parser = createParser(text, 'scim')
  const path = parser.path()
  parser.end('the end')
  return path
}

interface Parser {
  filter(): Filter
  path(): AttributePath
  /** Refuses anything behind what was read. */
  end(what: string): void
}

function createParser(text: string, dialect: FilterDialect): Parser {
  if (text.length > MAX_FILTER_LENGTH) throw new InvalidFilter(`it is longer than ${MAX_FILTER_LENGTH} characters`)
  const tokens = readTokens(text, dialect)
  const operators: readonly Comparison[] = dialect === 'scim' ? SCIM_COMPARISONS : COMPARISONS
  const end: Token = { kind: 'end', at: text.length }
  let position = 0
  let comparisons = 0

  const peek = (): Token => tokens[position] ?? end
  function next(): Token {
    const token = peek()
    position += 1
    return token
  }
  const isWord = (token: Token, word: string): boolean => token.kind === 'word' && token.text.toLowerCase() === word

  function joined(kind: 'and' | 'or', inside: Inside): Filter {
    const part = (): Filter => (kind === 'or' ? joined('and', inside) : term(inside))
    const first = part()
    const parts = [first]
    while (isWord(peek(), kind)) {
      position += 1
      parts.push(part())
    }
    return parts.length === 1 ? first : { kind, parts }
  }

  function term(inside: Inside): Filter {
    const token = next()
    // RFC 7644 §3.4.2.2: without a parenthesis after it, `not` is the name of an attribute like any other.
    if (isWord(token, 'not') && peek().kind === '(') return { kind: 'not', part: group(next(), inside) }
    if (token.kind === '(') return group(token, inside)
    if (token.kind !== 'word') throw expected('an attribute', token)
    if (!inside.brackets && opensValues(token)) return values(token, inside)
    return comparison(attributeOf(token, dialect))
  }

  function group(opening: Token, inside: Inside): Filter {
    const closes = opening.kind === '[' ? ']' : ')'
    if (inside.depth === MAX_NESTING) throw new InvalidFilter(`it has more than ${MAX_NESTING} levels of nesting`)
    const brackets = inside.brackets || opening.kind === '['
    const content = joined('or', { depth: inside.depth + 1, brackets })
    const closing = next()
    if (closing.kind !== closes) throw expected(`a ${closes} for the ${opening.kind} at ${opening.at + 1}`, closing)
    return content
  }

  const opensValues = (name: Token & { kind: 'word' }): boolean => {
    const bracket = peek()
    return bracket.kind === '[' && bracket.at === name.at + name.text.length
  }

  /** `emails[type eq "work"].value co "x"` is the same as `emails[type eq "work" and value co "x"]`. */
  function values(name: Token & { kind: 'word' }, inside: Inside): Filter {
    const attribute = attributeOf(name, dialect)
    const filter = group(next(), inside)
    const member = peek()
    if (member.kind !== 'member') return { kind: 'values', attribute, filter }
    position += 1
    const compared = comparison(member.text)
    const parts = filter.kind === 'and' ? [...filter.parts, compared] : [filter, compared]
    return { kind: 'values', attribute, filter: { kind: 'and', parts } }
  }

  function comparison(attribute: string): Filter {
    const operator = next()
    comparisons += 1
    if (comparisons > MAX_COMPARISONS) throw new InvalidFilter(`it has more than ${MAX_COMPARISONS} comparisons`)
    if (isWord(operator, 'pr')) return { kind: 'present', attribute }
    const found = operators.find(word => isWord(operator, word))
    if (found === undefined) throw expected('an operator', operator)
    return { kind: 'compare', attribute, comparison: found, value: valueOf(next()) }
  }

  return {
    filter: () => joined('or', { depth: 0, brackets: false }),
    path() {
      const name = next()
      if (name.kind !== 'word') throw expected('an attribute', name)
      const written = attributeOf(name, dialect)
      if (!opensValues(name)) return pathOf(written, name.at)
      const filter = group(next(), { depth: 0, brackets: false })
      const path = pathOf(written, name.at)
      if (path.subAttribute !== undefined) throw new InvalidFilter(`the word at ${name.at + 1} has a dot before a [`)
      const member = peek()
      if (member.kind !== 'member') return { ...path, filter }
      position += 1
      return { ...path, filter, subAttribute: member.text }
    },
    end(what) {
      const rest = peek()
      if (rest.kind !== 'end') throw expected(what, rest)
    },
  }
}

/** Where a part of a filter stands. */
interface Inside {
  readonly depth: number
  /** In the filter of values, which has none itself. */
  readonly brackets: boolean
}

/** The URN of a name, without its last colon, and the name after it. */
export function splitName(name: string): { readonly schema?: string; readonly name: string } {
  const colon = name.lastIndexOf(':')
  return colon === -1 ? { name } : { schema: name.slice(0, colon), name: name.slice(colon + 1) }
}

function pathOf(written: string, at: number): AttributePath {
  const { schema, name } = splitName(written)
  const [attribute = '', subAttribute, ...more] = name.split('.')
  if (more.length > 0) throw new InvalidFilter(`the word at ${at + 1} has too many parts`)
  return { ...(schema !== undefined && { schema }), attribute, ...(subAttribute !== undefined && { subAttribute }) }
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
    case 'values':
      return `${filter.attribute}[${filterText(filter.filter)}]`
    case 'and':
    case 'or':
      return filter.parts
        .map(part => (part.kind === 'and' || part.kind === 'or' ? `(${filterText(part)})` : filterText(part)))
        .join(` ${filter.kind} `)
  }
}

// A name, and those of its parts behind dots: `meta.lastModified`, `$ref`. RFC 7644 §3.10 begins each with a letter.
const ATTRIBUTE = /^[A-Za-z$][\w$-]*(?:\.[A-Za-z$][\w$-]*)*$/
const URN = /^urn(?::[\w$.-]+)+$/i

function attributeOf({ text, at }: Token & { kind: 'word' }, dialect: FilterDialect): string {
  const { schema, name } = dialect === 'scim' ? splitName(text) : { name: text }
  if (!ATTRIBUTE.test(name) || (schema !== undefined && !URN.test(schema)))
    throw new InvalidFilter(`the word at ${at + 1} is not an attribute name`)
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
