// The members of a client record one at a time, whatever was sent in their place.
import type { JsonRecord } from '../base/json.ts'
import { LONGEST_SECONDS } from './zone.ts'

/** Reads members of known types; null counts as absent, and what has another type is reported and then absent. */
export interface MemberReader {
  text(key: string): string | undefined
  /** An array of texts, or one text of words. */
  list(key: string): readonly string[] | undefined
  flag(key: string): boolean | undefined
  seconds(key: string): number | undefined
  /** Everything, or the scopes that the client has anyway: others are dropped. */
  autoapprove(scopes: readonly string[]): true | readonly string[]
}

/** Hears what is wrong with which member. */
export type Refuse = (key: string, message: string) => void

/** The words of a text, separated by white space and commas. */
export const words = (text: string): readonly string[] => text.split(/[\s,]+/).filter(word => word !== '')

/** The words of a member, also of one that has another type than it should; such parts are left out. */
export const wordsOf = (value: unknown): readonly string[] =>
  [value].flat().flatMap(item => (typeof item === 'string' ? words(item) : []))

/** What is said of a member that `isKeepable` is false for. */
export const UNKEEPABLE = 'holds characters that cannot be kept'

/** Whether a database keeps every text in the value as it is: none has NUL or half a character. */
export function isKeepable(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, item]) => isKeepable(key) && isKeepable(item))
}

/** Reads the members of one record. */
export function readerOf(json: JsonRecord, refuse: Refuse): MemberReader {
  const value = (key: string): unknown => (Object.hasOwn(json, key) ? (json[key] ?? undefined) : undefined)

  /** The value, if it is what it should be. */
  function only<T>(key: string, isFit: (value: unknown) => value is T, demand: string): T | undefined {
    const found = value(key)
    if (found === undefined) return undefined
    if (isFit(found) && isKeepable(found)) return found
    refuse(key, isFit(found) ? `${key} ${UNKEEPABLE}` : `${key} must be ${demand}`)
    return undefined
  }

  function list(key: string): readonly string[] | undefined {
    const found = only(key, isTextOrTexts, 'a list of strings')
    const items = typeof found === 'string' ? words(found) : found?.filter(item => item.trim() !== '')
    if (items === undefined || !isTooLong(items)) return items
    refuse(key, `${key} must have at most ${MOST_ITEMS} entries`)
    return []
  }

  return {
    text: key => only(key, isText, 'a string'),
    list,
    flag(key) {
      const found = only(key, isFlag, 'a boolean')
      return typeof found === 'string' ? found === 'true' : found
    },
    seconds: key => only(key, isSeconds, 'a positive number of seconds'),
    autoapprove(scopes) {
      const found = value('autoapprove')
      if (typeof found === 'boolean') return found ? true : []
      const approved = list('autoapprove')?.flatMap(words) ?? []
      const known = new Set(scopes)
      return approved.includes('true') ? true : [...new Set(approved)].filter(scope => known.has(scope))
    },
  }
}

/** Each is compared with others at every request of the client. */
const MOST_ITEMS = 1000

/** Also of entries that will be taken apart into words. */
const isTooLong = (items: readonly string[]): boolean =>
  items.length > MOST_ITEMS || items.reduce((sum, item) => sum + (item.match(/,/g)?.length ?? 0) + 1, 0) > MOST_ITEMS

const isText = (value: unknown): value is string => typeof value === 'string'

const isTextOrTexts = (value: unknown): value is string | readonly string[] =>
  isText(value) || (Array.isArray(value) && value.every(isText))

const isFlag = (value: unknown): value is boolean | 'true' | 'false' =>
  typeof value === 'boolean' || value === 'true' || value === 'false'

const isSeconds = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= LONGEST_SECONDS
