// Between records and rows. The only place that knows how an absent member, a structure or a name without case is kept.
import type { Flag } from './schema.ts'

/** A boolean as a column. */
export const flag = (value: boolean): Flag => (value ? 1 : 0)

/** A structure as a column. */
export const toJson = (value: unknown): string => JSON.stringify(value)

/** Reads a structure back, as the type that the same area wrote: nobody else writes the column. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- a cast in one place instead of a dozen
export const fromJson = <T>(text: string): T => JSON.parse(text) as T

/** A moment that may be missing, as a column. */
export const timeOrNull = (moment: Date | undefined): number | null => moment?.getTime() ?? null

/** A moment that may be missing, from a column. */
export const dateOrNull = (time: number | null): Date | null => (time === null ? null : new Date(time))

/**
 * What names are compared by. Made here and not by the databases: SQLite lowers ASCII only, and PostgreSQL's answer
 * depends on its locale.
 */
export const lowerCase = (name: string): string => name.toLowerCase()

/** A record whose optional members may be null instead of absent. */
type WithNulls<T> = { readonly [K in keyof T]-?: Partial<Pick<T, K>> extends Pick<T, K> ? T[K] | null : T[K] }

/** The record without the members that are null. */
export function withoutNulls<T extends object>(members: WithNulls<T>): T {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(members)) if (value !== null) kept[name] = value
  return kept as T // null stands only where the member is optional
}
