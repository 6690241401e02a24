import { isJsonRecord, parseJson } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import { isKeepable } from '../records/kinds.ts'

/** More levels than any record has; limits recursion. */
const MAX_DEPTH = 32

/** The object in a column with JSON: empty for an empty column, undefined for what is no object that can be kept. */
export function storedJson(text: string | null): JsonRecord | undefined {
  if (text === null || text.trim() === '' || text === 'null') return {}
  const value = parseJson(text)
  return isJsonRecord(value) && isModest(value) && isKeepable(value) ? value : undefined
}

/** Whether the value has no prototype members and is not too deep. */
function isModest(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (depth >= MAX_DEPTH) return false
  return Object.entries(value).every(([name, each]) => name !== '__proto__' && isModest(each, depth + 1))
}

/** The last moment that ISO 8601 can express with a four-digit year. */
const LAST_MOMENT = Date.UTC(9999, 11, 31)

/** The time in a column; undefined for none, or one that is no date of this era. */
export const storedTime = (milliseconds: number | null): Date | undefined =>
  milliseconds !== null && milliseconds >= 0 && milliseconds <= LAST_MOMENT ? new Date(milliseconds) : undefined

/** A count of changes, which never decreases. */
export const storedVersion = (version: number | null): number =>
  version !== null && Number.isInteger(version) && version >= 0 && version < 2 ** 31 ? version : 0

/** The items of a list with commas, as UAA splits it. */
export const storedList = (text: string | null): readonly string[] =>
  (text ?? '')
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')
