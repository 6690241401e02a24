// Conversions between records and rows: absent members, structures, times and case-insensitive names.
import type { Flag } from './schema.ts'

/** A boolean as a column. */
export const flag = (value: boolean): Flag => (value ? 1 : 0)

/** A structure as a column. */
export const toJson = (value: unknown): string => JSON.stringify(value)

/** Parses a structure; unchecked, since only the same area writes the column. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- a cast in one place instead of a dozen
export const fromJson = <T>(text: string): T => JSON.parse(text) as T

/** An optional time as a column, in milliseconds since 1970. */
export const timeOrNull = (moment: Date | undefined): number | null => moment?.getTime() ?? null

/** In place of a time that is unknown, where earlier versions need one. */
export const UNKNOWN_TIME = 0

/** An optional time from a column. */
export const dateOrNull = (time: number | null): Date | null => (time === null ? null : new Date(time))

/**
 * Normalises a name for case-insensitive comparison. Not done in SQL: SQLite lowers ASCII only, and PostgreSQL depends on
 * its locale.
 */
export const lowerCase = (name: string): string => name.toLowerCase()

/** A record whose optional members may be null instead of absent. */
type WithNulls<T> = { readonly [K in keyof T]-?: Partial<Pick<T, K>> extends Pick<T, K> ? T[K] | null : T[K] }

/** The record without the members that are null. */
export function withoutNulls<T extends object>(members: WithNulls<T>): T {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(members)) if (value !== null) kept[name] = value
  return kept as T // only optional members can be null
}
