// From a filter and a table of attributes to SQL. Columns and words come from here and from the tables alone, whatever a
// caller writes is a bound value. The databases answer alike: both lower ASCII only, compare the rest byte by byte, and
// are told what `like`, null and order mean where they would differ.
import type { Comparison, Filter, FilterValue } from '../model/filter.ts'
import { InvalidFilter } from '../model/filter.ts'
import type { Value } from './database.ts'
import { isStorable } from './database.ts'

/**
 * How a column is compared: texts without case, exact ones as they are, dates with `"2030-01-01T00:00:00.000Z"` or
 * milliseconds, and lists (JSON of texts) by any of their entries.
 */
export type AttributeType = 'text' | 'exact' | 'number' | 'date' | 'flag' | 'list'

/** What stands behind the name of an attribute. */
export interface Attribute {
  /** A column, or an expression of columns. */
  readonly column: string
  readonly type: AttributeType
}

/** By names in lower case, since those of attributes have none. */
export type Attributes = ReadonlyMap<string, Attribute>

/** A condition for a `where`, with the values of its `:names`. */
export interface Condition {
  readonly text: string
  readonly args: Readonly<Record<string, Value>>
}

/** Compiles a filter; throws `InvalidFilter` for an attribute that is not in the table, or a value it cannot have. */
export function compileFilter(filter: Filter, attributes: Attributes): Condition {
  const args: Record<string, Value> = {}
  let count = 0
  const bind = (value: Value): string => {
    if (typeof value === 'string' && !isStorable(value)) throw new InvalidFilter('a value has characters of no text')
    count += 1
    args[`filter_${count}`] = value
    return `:filter_${count}`
  }

  function attributeNamed(name: string): Attribute {
    const attribute = attributes.get(name.toLowerCase())
    if (attribute === undefined) throw new InvalidFilter(`there is no attribute ${name} to filter by`)
    return attribute
  }

  function compile(part: Filter): string {
    switch (part.kind) {
      case 'and':
      case 'or':
        return `(${part.parts.map(compile).join(` ${part.kind} `)})`
      case 'not':
        // What has no value does not have this one either; to SQL both would be unknown.
        return `not coalesce(${compile(part.part)}, false)`
      case 'present':
        return isPresent(attributeNamed(part.attribute))
      case 'compare': {
        const attribute = attributeNamed(part.attribute)
        if (part.value !== null) return COMPILERS[attribute.type]({ ...part, ...attribute, value: part.value, bind })
        if (part.comparison !== 'eq') throw new InvalidFilter('null can only be equal')
        return `not (${isPresent(attribute)})`
      }
    }
  }
  return { text: compile(filter), args }
}

const isPresent = ({ column, type }: Attribute): string =>
  type === 'list' ? `(${column} is not null and ${column} <> '[]')` : `(${column} is not null)`

/** One comparison under way. */
interface Comparing {
  readonly attribute: string
  readonly column: string
  readonly comparison: Comparison
  readonly value: NonNullable<FilterValue>
  readonly bind: (value: Value) => string
}

const COMPILERS: Readonly<Record<AttributeType, (comparing: Comparing) => string>> = {
  text({ column, comparison, value, bind, attribute }) {
    if (typeof value !== 'string') throw unfit(attribute, 'a text')
    const text = lowerAscii(value)
    if (comparison === 'co') return contains(`lower(${column})`, text, bind)
    if (comparison === 'sw') return like(`lower(${column})`, bind(`${literally(text)}%`))
    return `(lower(${column}) ${OPERATORS[comparison]} ${bind(text)})`
  },
  exact({ column, comparison, value, bind, attribute }) {
    if (typeof value !== 'string') throw unfit(attribute, 'a text')
    // SQLite's `like` knows no case.
    if (value === '' && comparison === 'sw') return `(${column} is not null)`
    if (comparison === 'co') return contains(column, value, bind)
    if (comparison === 'sw') return `(substr(${column}, 1, ${bind(Array.from(value).length)}) = ${bind(value)})`
    return `(${column} ${OPERATORS[comparison]} ${bind(value)})`
  },
  number: ({ value, ...comparing }) => compareOrdered(comparing, wholeNumber(value, comparing.attribute)),
  date: ({ value, ...comparing }) => compareOrdered(comparing, moment(value, comparing.attribute)),
  flag({ column, comparison, value, bind, attribute }) {
    if (typeof value !== 'boolean' || comparison !== 'eq') throw unfit(attribute, 'eq and true or false')
    return `(${column} = ${bind(value ? 1 : 0)})`
  },
  /**
   * Searches the JSON itself, which neither database can be made to read without failing at some text that JSON can hold.
   * An entry begins behind `["` or `,"` and ends before the next quote that is not escaped. Only a comma or a bracket
   * alone could be found between entries: of these nothing is found. `co` may also find what JSON writes for a quote, a
   * backslash or a control character, none of which is in a scope or a URI.
   */
  list({ column, comparison, value, bind, attribute }) {
    if (typeof value === 'number') throw unfit(attribute, 'a text')
    if (!isStorable(String(value))) throw new InvalidFilter('a value has characters of no text')
    const json = lowerAscii(JSON.stringify(String(value)).slice(1, -1))
    const lowered = `lower(${column})`
    if (json === ',' || json === '[' || json === ']') return '(1 = 0)'
    if (comparison === 'co') return `(${column} <> '[]' and ${contains(lowered, json, bind)})`
    if (comparison !== 'eq' && comparison !== 'sw') throw unfit(attribute, 'eq, co or sw')
    const entry = comparison === 'eq' ? `${json}"` : json
    return `(${like(lowered, bind(`["${literally(entry)}%`))} or ${contains(lowered, `,"${entry}`, bind)})`
  },
}

const OPERATORS = { eq: '=', gt: '>', ge: '>=', lt: '<', le: '<=' } as const

const unfit = (attribute: string, what: string): InvalidFilter => new InvalidFilter(`${attribute} takes ${what}`)

function compareOrdered({ column, comparison, bind, attribute }: Omit<Comparing, 'value'>, value: number): string {
  if (comparison === 'co' || comparison === 'sw') throw unfit(attribute, 'eq, gt, ge, lt or le')
  return `(${column} ${OPERATORS[comparison]} ${bind(value)})`
}

function wholeNumber(value: FilterValue, attribute: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw unfit(attribute, 'a whole number')
  return value
}

/** A moment as a text in UTC, or as milliseconds. */
function moment(value: FilterValue, attribute: string): number {
  if (typeof value !== 'string') return wholeNumber(value, attribute)
  const [, seconds] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?Z$/.exec(value) ?? []
  const time = Date.parse(value)
  // JavaScript takes the 30th of February for the 2nd of March.
  if (seconds === undefined || !Number.isFinite(time) || !new Date(time).toISOString().startsWith(seconds)) {
    throw unfit(attribute, 'a date such as "2030-01-01T00:00:00.000Z"')
  }
  return time
}

/** As both databases lower: other letters stay as they are. */
const lowerAscii = (text: string): string => text.replace(/[A-Z]+/g, letters => letters.toLowerCase())

const like = (text: string, pattern: string): string => `${text} like ${pattern} escape '\\'`

/**
 * Whether a text stands in the column. Not by `like`, which compares the whole text at every place: a column of `aaaa…` and
 * a text of `aaa…b` would keep everybody waiting. The databases have no other word in common for it.
 */
const contains = (column: string, text: string, bind: (value: Value) => string): string =>
  text === '' ? `(${column} is not null)` : `(replace(${column}, ${bind(text)}, '') <> ${column})`

/** For a pattern of `like`, with a backslash before what is no character of its own there. */
const literally = (text: string): string => text.replace(/[\\%_]/g, '\\$&')
