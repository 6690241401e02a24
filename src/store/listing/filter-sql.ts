// Compiles a filter to SQL. Columns and keywords come only from this file and the attribute tables; every value of a
// caller is a bound parameter. Both databases give the same results: they lower ASCII only and compare the rest byte by
// byte, and the SQL is explicit where `like`, null and order would differ.
import { timeOf } from '../../base/text/date-time.ts'
import { lowerAscii } from '../../model/filters/filter-match.ts'
import type { Comparison, Filter, FilterValue } from '../../model/filters/filter.ts'
import { InvalidFilter } from '../../model/filters/filter.ts'
import type { Value } from '../database.ts'
import { isStorable } from '../database.ts'
import { isSeekable } from './filter-plan.ts'

/**
 * How a column is compared: `text` ignores case, `exact` does not, dates take `"2030-01-01T00:00:00.000Z"` or
 * milliseconds, those of SCIM 2.0 (`dateTime`) also any offset from UTC, and lists (JSON arrays of strings) match by any
 * entry.
 */
type AttributeType = 'text' | 'exact' | 'number' | 'date' | 'dateTime' | 'flag' | 'list'

/** The column of a filter attribute. */
export interface Attribute {
  /** A column or an SQL expression. */
  readonly column: string
  readonly type: AttributeType
  /** For a `text`: the indexed column or expression that has its value without case. Default: ASCII is lowered. */
  readonly folded?: { readonly column: string; readonly fold?: (text: string) => string }
  /** Whether an index finds rows by the column, folded if it is. */
  readonly indexed?: boolean
  /** Where the values of a multi-valued attribute are; `column` is one of these rows then. */
  readonly rows?: ValueRows
}

/** The rows of another table that have an attribute's values. */
export interface ValueRows {
  /** The expression after `from`, with a condition; may use `:zone_id`. Several where each has an index of its own. */
  readonly from: string | readonly string[]
  /** Its column with the key of the filtered row. */
  readonly owner: string
  /** Whether any number of rows may have the same value. */
  readonly unselective?: boolean
  /** Attributes of a value, for filters in brackets, by lower-case name. */
  readonly members?: Attributes
}

/** By lower-case name: attribute names are case-insensitive. */
type Attributes = ReadonlyMap<string, Attribute>

/** The rows that a filter is about. */
export interface Filterable {
  readonly table: string
  readonly attributes: Attributes
  /** The column that identifies a row in its zone. */
  readonly key: string
  /** Whether an empty text is no value (RFC 7644 §3.4.2.2). UAA: `pr` means "not null". */
  readonly emptyIsAbsent?: boolean
  /** Columns that are never null and indexed between the zone and the key; the key itself need not be named. */
  readonly indexed?: ReadonlySet<string>
}

/** A `where` condition with its parameters. */
export interface Condition {
  readonly text: string
  readonly args: Readonly<Record<string, Value>>
}

/** Compiles a filter of a table's rows; throws `InvalidFilter` for an unknown attribute or a value of the wrong type. */
export function compileFilter(filter: Filter, rows: Filterable): Condition {
  const { table, key, attributes, emptyIsAbsent = false } = rows
  const args: Record<string, Value> = {}
  let count = 0
  const bind = (value: Value): string => {
    if (typeof value === 'string' && !isStorable(value))
      throw new InvalidFilter('a value contains characters that no attribute can have')
    count += 1
    args[`filter_${count}`] = value
    return `:filter_${count}`
  }

  function among({ from, owner }: ValueRows, condition: string): string {
    const selects = [from].flat().map(each => `select ${owner} from ${each} and ${condition}`)
    return `(${key} in (${selects.join(' union all ')}))`
  }

  function compile(part: Filter, available: Attributes): string {
    switch (part.kind) {
      case 'and':
      case 'or': {
        const { kind, parts } = part
        if (kind === 'or' && available === attributes && isSeekable(part, rows)) return oneOf(parts)
        const conditions = parts.map(each => compile(each, available))
        return joined(conditions, kind)
      }
      case 'not':
        return negated(compile(part.part, available))
      case 'values': {
        const { rows } = attributeNamed(part.attribute, available)
        if (rows?.members === undefined) throw new InvalidFilter(`${part.attribute} takes no filter in brackets`)
        return among(rows, compile(part.filter, rows.members))
      }
      case 'present':
        return present(attributeNamed(part.attribute, available))
      case 'compare':
        return compare(part, attributeNamed(part.attribute, available))
    }
  }

  /** Compiles each part separately, because neither database reliably uses the indexes of different parts in one condition. */
  function oneOf(parts: readonly Filter[]): string {
    const selects = parts.map(
      part => `select ${key} from ${table} where zone_id = :zone_id and ${compile(part, attributes)}`,
    )
    return `(${key} in (${selects.join(' union all ')}))`
  }

  function present(attribute: Attribute): string {
    const condition = isPresent(attribute, emptyIsAbsent)
    return attribute.rows ? among(attribute.rows, condition) : condition
  }

  function compare(part: Filter & { kind: 'compare' }, attribute: Attribute): string {
    const { comparison, value } = part
    if (comparison === 'ne') return value === null ? present(attribute) : negated(equal(part, attribute))
    if (value !== null) return set({ ...part, comparison, value }, attribute)
    if (comparison !== 'eq') throw new InvalidFilter('null can only be compared with eq and ne')
    return `not (${present(attribute)})`
  }

  const equal = (part: Filter & { kind: 'compare' }, attribute: Attribute): string =>
    compare({ ...part, comparison: 'eq' }, attribute)

  function set(part: Pick<Comparing, 'attribute' | 'comparison' | 'value'>, attribute: Attribute): string {
    const { rows, ...column } = attribute
    const condition = COMPILERS[attribute.type]({ ...part, ...column, bind })
    return rows ? among(rows, condition) : condition
  }

  return { text: compile(filter, attributes), args }
}

/** The conditions, halved until few are left: SQLite nests `a or b or c`, and refuses what is nested more than a thousand times. */
function joined(conditions: readonly string[], word: 'and' | 'or'): string {
  if (conditions.length <= 100) return `(${conditions.join(` ${word} `)})`
  const middle = conditions.length >> 1
  return `(${joined(conditions.slice(0, middle), word)} ${word} ${joined(conditions.slice(middle), word)})`
}

function attributeNamed(name: string, available: Attributes): Attribute {
  const attribute = available.get(name.toLowerCase())
  if (attribute === undefined) throw new InvalidFilter(`there is no attribute ${name} to filter by`)
  return attribute
}

/** A null must not match, and its negation must: in SQL both would be unknown. */
const negated = (condition: string): string => `not coalesce(${condition}, false)`

function isPresent({ column, type }: Attribute, emptyIsAbsent: boolean): string {
  if (type === 'list') return `(${column} is not null and ${column} <> '[]')`
  const isText = type === 'text' || type === 'exact'
  return isText && emptyIsAbsent ? `(${column} is not null and ${column} <> '')` : `(${column} is not null)`
}

/** One comparison to compile. */
interface Comparing {
  readonly attribute: string
  readonly column: string
  readonly folded?: Attribute['folded']
  readonly comparison: Exclude<Comparison, 'ne'>
  readonly value: NonNullable<FilterValue>
  readonly bind: (value: Value) => string
}

const COMPILERS: Readonly<Record<AttributeType, (comparing: Comparing) => string>> = {
  text({ column, folded, ...comparing }) {
    const { column: lowered, fold = lowerAscii } = folded ?? { column: `lower(${column})` }
    return compareText({ ...comparing, column: lowered }, fold)
  },
  exact: comparing => compareText(comparing, text => text),
  number: ({ value, ...comparing }) => compareOrdered(comparing, wholeNumber(value, comparing.attribute)),
  date: ({ value, ...comparing }) => compareOrdered(comparing, moment(value, comparing.attribute)),
  dateTime: ({ value, ...comparing }) => compareOrdered(comparing, moment(value, comparing.attribute, true)),
  flag({ column, comparison, value, bind, attribute }) {
    if (typeof value !== 'boolean' || comparison !== 'eq') throw unfit(attribute, 'eq and true or false')
    return `(${column} = ${bind(value ? 1 : 0)})`
  },
  /**
   * Searches the JSON as a string, because the JSON functions of both databases fail for some valid strings. An entry
   * begins behind `["` or `,"` and ends before the next unescaped quote. A lone comma or bracket would match between
   * entries and so never matches. `co` may also match the escapes of a quote, a backslash or a control character, which
   * occur in no scope or URI.
   */
  list({ column, comparison, value, bind, attribute }) {
    if (typeof value === 'number') throw unfit(attribute, 'a string')
    if (!isStorable(String(value))) throw new InvalidFilter('a value contains characters that no attribute can have')
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

function compareText(
  { column, comparison, value, bind, attribute }: Comparing,
  fold: (text: string) => string,
): string {
  if (typeof value !== 'string') throw unfit(attribute, 'a string')
  const text = fold(value)
  switch (comparison) {
    case 'co':
      return contains(column, text, bind)
    case 'sw':
      return startsWith(column, text, bind)
    case 'ew':
      return endsWith(column, text, bind)
    default:
      return `(${column} ${OPERATORS[comparison]} ${bind(text)})`
  }
}

function compareOrdered({ column, comparison, bind, attribute }: Omit<Comparing, 'value'>, value: number): string {
  if (comparison === 'co' || comparison === 'sw' || comparison === 'ew') throw unfit(attribute, 'eq, gt, ge, lt or le')
  return `(${column} ${OPERATORS[comparison]} ${bind(value)})`
}

function wholeNumber(value: FilterValue, attribute: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw unfit(attribute, 'a whole number')
  return value
}

/** Milliseconds since 1970 from an ISO 8601 string, in UTC unless `anyZone`, or a number. */
function moment(value: FilterValue, attribute: string, anyZone = false): number {
  if (typeof value !== 'string') return wholeNumber(value, attribute)
  const time = anyZone || value.endsWith('Z') ? timeOf(value) : undefined
  if (time === undefined) throw unfit(attribute, 'a date such as "2030-01-01T00:00:00.000Z"')
  return time
}

const like = (text: string, pattern: string): string => `${text} like ${pattern} escape '\\'`

/** As a range, for which an index serves: both databases order strings by their bytes. */
function startsWith(column: string, prefix: string, bind: (value: Value) => string): string {
  if (prefix === '') return `(${column} is not null)`
  const from = `${column} >= ${bind(prefix)}`
  const end = afterPrefix(prefix)
  return end === undefined ? `(${from})` : `(${from} and ${column} < ${bind(end)})`
}

/** `substr` with a length: `right` and negative starts differ. A shorter string has a shorter end, which is another one. */
function endsWith(column: string, suffix: string, bind: (value: Value) => string): string {
  if (suffix === '') return `(${column} is not null)`
  const length = Array.from(suffix).length
  return `(substr(${column}, length(${column}) - ${length - 1}, ${length}) = ${bind(suffix)})`
}

const LAST_CODE_POINT = 0x10ffff

/** The first string that sorts after all strings with the prefix; undefined when there is none. */
function afterPrefix(prefix: string): string | undefined {
  const codePoints = Array.from(prefix, character => character.codePointAt(0) ?? 0)
  while (codePoints.at(-1) === LAST_CODE_POINT) codePoints.pop()
  const last = codePoints.pop()
  if (last === undefined) return undefined
  const next = last === 0xd7ff ? 0xe000 : last + 1 // no surrogate stands alone
  return String.fromCodePoint(...codePoints, next)
}

/**
 * Whether the column contains a string. Not with `like`, whose quadratic time an attacker can exploit (`aaa…b` in a column
 * of `aaaa…`). The databases share no function for this, so it uses `replace`.
 */
const contains = (column: string, text: string, bind: (value: Value) => string): string =>
  text === '' ? `(${column} is not null)` : `(replace(${column}, ${bind(text)}, '') <> ${column})`

/** Escapes a string for a `like` pattern. */
const literally = (text: string): string => text.replace(/[\\%_]/g, '\\$&')
