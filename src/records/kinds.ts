// The kinds of values that fields of records have. Each is a valibot schema whose messages complete a sentence that begins
// with the name of the field: "scope must be a list of strings".
import * as v from 'valibot'
import { timeOf } from '../base/text/date-time.ts'
import type { JsonRecord } from '../base/json.ts'
import { isStorable } from '../base/text/storable-text.ts'

/** A kind of value: accepts the values that a request may send, and converts them to the stored form. */
export type Kind = v.GenericSchema<unknown, unknown>

/** A JSON Schema, of the keywords that drafts 7 and 2020-12 share. */
export type JsonSchema = JsonRecord

/** The longest lifetime that can be set, 68 years: a date with that much added is still a date. */
export const MAX_SECONDS = 2 ** 31 - 1

/** The predicate for a value for which `isKeepable` is false. */
export const UNKEEPABLE = 'contains characters that cannot be stored'

/** Whether a database keeps every string in the value as it is. */
export function isKeepable(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, item]) => isKeepable(key) && isKeepable(item))
}

/** The words of a string, separated by white space and commas. */
export const words = (string: string): readonly string[] => string.split(/[\s,]+/).filter(word => word !== '')

/** The words of a value of any type; parts that are no strings are left out. */
export const wordsOf = (value: unknown): readonly string[] =>
  [value].flat().flatMap(item => (typeof item === 'string' ? words(item) : []))

/** Refuses values that the database cannot store. */
const keepable = <T>() => v.check<T, string>(isKeepable, UNKEEPABLE)

/** Any string. */
export const string = v.pipe(v.string('must be a string'), keepable())

/** A boolean, or the word for one. */
export const flag = v.pipe(
  v.union([v.boolean(), v.picklist(['true', 'false'])], 'must be a boolean'),
  v.transform(value => value === true || value === 'true'),
  v.boolean(),
)

/** In place of a lifetime: that of the server, whatever the zone's. */
export const SERVER_LIFETIME = -1

const LIFETIME = 'must be a positive number of seconds, or -1'

const lifetimeNumber = v.pipe(
  v.number(),
  v.integer(LIFETIME),
  v.minValue(SERVER_LIFETIME, LIFETIME),
  v.maxValue(MAX_SECONDS, LIFETIME),
  v.notValue(0, LIFETIME),
)

/** Whole seconds or `SERVER_LIFETIME`; also in decimal digits, which `uaac client add` and `uaac client update` send. */
export const lifetime = v.pipe(
  v.union([lifetimeNumber, v.pipe(v.string(), v.regex(/^(?:-1|[1-9][0-9]{0,9})$/, LIFETIME))], LIFETIME),
  v.transform(Number),
  lifetimeNumber,
)

/** Each is compared with others at every request. */
const MAX_ITEMS = 1000

/** Also of entries that will be split into words. */
const fits = (items: string[]): boolean =>
  items.length <= MAX_ITEMS && items.reduce((sum, item) => sum + (item.match(/,/g)?.length ?? 0) + 1, 0) <= MAX_ITEMS

const itemsOf = (value: string | string[]): string[] =>
  typeof value === 'string' ? [...words(value)] : value.filter(item => item.trim() !== '')

const unique = (items: string[]): string[] => [...new Set(items)]

const items = v.pipe(
  v.union([v.array(v.string()), v.string()], 'must be a list of strings'),
  keepable(),
  v.transform(itemsOf),
  v.check(fits, `must have at most ${MAX_ITEMS} entries`),
)

/** An array of strings, or one string of words; each entry once. */
export const list = v.pipe(items, v.transform(unique), v.array(v.string()), v.readonly())

/** The same, where the entries of an array are split into words as well. */
export const wordList = v.pipe(
  items,
  v.transform(entries => unique(entries.flatMap(words))),
  v.array(v.string()),
  v.readonly(),
)

/** Everything (`true`, or a list with the word `true`), or the entries of a list. */
export const everythingOrList = v.pipe(
  v.union([v.boolean(), v.array(v.string()), v.string()], 'must be a list of strings'),
  keepable(),
  v.transform((value): true | readonly string[] => {
    if (typeof value === 'boolean') return value ? true : []
    const entries = unique(itemsOf(value).flatMap(words))
    return entries.includes('true') ? true : entries
  }),
  v.check(value => value === true || value.length <= MAX_ITEMS, `must have at most ${MAX_ITEMS} entries`),
)

/** A moment in milliseconds since 1970. */
export const milliseconds = v.pipe(v.number(), v.integer())

/** The last moment that the four digits of a year in ISO 8601 can express. */
const LAST_MOMENT = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)$/
const MOMENT = 'must be a date and time'

/** A moment between 1970 and the year 9999: ISO 8601 with a zone, or milliseconds since 1970. */
export const moment = v.pipe(
  v.union([v.pipe(v.string(), v.regex(ISO_8601, MOMENT)), v.pipe(v.number(), v.integer(MOMENT))], MOMENT),
  v.transform(value => new Date(typeof value === 'number' ? value : (timeOf(withColon(value)) ?? Number.NaN))),
  v.check(date => date.getTime() >= 0 && date.getTime() <= LAST_MOMENT, MOMENT),
)

/** The date and time, with the colon in its offset that `moment` does not require. */
const withColon = (text: string): string => text.replace(/([+-]\d\d)(\d\d)$/, '$1:$2')

/** The moment that the value denotes, as `moment` reads it; undefined if it denotes none. */
export function readMoment(value: unknown): Date | undefined {
  const read = v.safeParse(moment, value)
  return read.success ? read.output : undefined
}

/** A value that only this server writes; nothing is checked. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the type of what is written
export const own = <T>() => v.custom<T>(() => true)

/** One of a few words; `problem` for a member of something, which the message has to name. */
export const oneOf = <const W extends readonly string[]>(choices: W, problem = 'must be one of') =>
  v.picklist(choices, `${problem}: [${choices.join(', ')}]`)

/** A maximum count: true is 1; false, -1 and 0 are no limit. */
export const limitOrFlag = v.union(
  [v.boolean(), v.pipe(v.number(), v.integer(), v.minValue(-1), v.maxValue(MAX_SECONDS))],
  'must be true, false or a whole number from -1',
)

/** An object, or JSON text; kept as text. What it must be is checked next to the record. */
export const jsonText = v.pipe(
  v.union([v.string(), v.looseObject({})], 'must be an object or JSON text'),
  keepable(),
  v.transform(value => (typeof value === 'string' ? value : JSON.stringify(value))),
  v.string(),
)
