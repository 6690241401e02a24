// The members of a zone's settings on the wire: type, default and limits of each, once, for what comes in and what goes
// out. Owns no rule between members; those are in zone-rules.ts.
import type { JsonRecord } from '../base/json.ts'
import { isJsonRecord } from '../base/json.ts'
import { MAX_SECONDS } from '../records/kinds.ts'

/** Thrown for a member of a wrong type; the message names its path. */
export class WrongShape extends Error {
  constructor(path: string, needed: string) {
    super(`${path} must be ${needed}`)
    this.name = 'WrongShape'
  }
}

/** A member of the settings. */
export interface Field {
  /** What is kept of a value that was sent; undefined keeps nothing. Throws `WrongShape`. */
  readonly read: (value: unknown, path: string) => unknown
  /** What is shown for a value that is kept, undefined for none; undefined leaves the member out. */
  readonly show: (kept: unknown) => unknown
}

/** Null stands for the default, except where the reference system fails on it. */
const field = (
  usual: unknown,
  needed: string,
  isGood: (value: unknown) => boolean,
  { nullable = true }: { readonly nullable?: boolean } = {},
): Field => ({
  read(value, path) {
    if (value === null && nullable) return undefined
    if (!isGood(value)) throw new WrongShape(path, needed)
    return value
  },
  show: kept => (kept === undefined || kept === null ? usual : kept),
})

const isText = (value: unknown): value is string => typeof value === 'string'

/** True or false. */
export const flag = (usual?: boolean): Field => field(usual, 'true or false', value => typeof value === 'boolean')

/** A whole number, as many bits as the reference system has. */
export const number = (usual: number, least = -1): Field =>
  field(
    usual,
    `a whole number from ${least} to ${MAX_SECONDS}`,
    value => Number.isInteger(value) && Number(value) >= least && Number(value) <= MAX_SECONDS,
  )

/** A text; `usual` undefined leaves it out of what is shown. */
export const text = (usual?: string | null, options?: { readonly nullable: boolean }): Field =>
  field(usual, 'a string', isText, options)

/** One of some texts. */
export const oneOf = (usual: string, ...others: readonly string[]): Field =>
  field(usual, `one of ${[usual, ...others].join(', ')}`, value => isText(value) && [usual, ...others].includes(value))

/** One of some texts, left out of what is shown unless it was set. */
export const optionalOneOf = (known: readonly string[]): Field =>
  field(undefined, `one of ${known.join(', ')}`, value => isText(value) && known.includes(value))

/** A list of texts. */
export const texts = (usual: readonly string[] | null | undefined, most = 1000): Field =>
  field(
    usual,
    `a list of at most ${most} strings`,
    value => Array.isArray(value) && value.length <= most && value.every(isText),
  )

/** A map from names to texts. */
export const textMap = (): Field =>
  field(undefined, 'an object with strings', value => isJsonRecord(value) && Object.values(value).every(isText))

/** A member that may be sent and says nothing: it is always shown as the same, or not at all. */
export const ignored = (shown?: unknown): Field => ({ read: () => undefined, show: () => shown })

/** A list of objects, each with all of these texts. */
export function records(names: readonly string[], usual: readonly JsonRecord[], most = 100): Field {
  const needed = `a list of at most ${most} objects with ${names.join(', ')}`
  return {
    read(value, path) {
      if (value === null) return undefined
      if (!Array.isArray(value) || value.length > most) throw new WrongShape(path, needed)
      const items = value.map((item: unknown) => {
        if (!isJsonRecord(item) || !names.every(name => isText(item[name]))) throw new WrongShape(path, needed)
        return Object.fromEntries(names.map(name => [name, item[name]]))
      })
      return isSame(items, usual) ? undefined : items
    },
    show: kept => kept ?? usual,
  }
}

/** An object of members; others are dropped. An optional one is left out unless something is kept of it. */
export function object(
  members: Readonly<Record<string, Field>>,
  { optional = false, nullable = true }: { readonly optional?: boolean; readonly nullable?: boolean } = {},
): Field {
  const entries = Object.entries(members)
  const showMembers = (kept: JsonRecord): JsonRecord =>
    withoutUndefined(entries.map(([name, member]) => [name, member.show(kept[name])]))
  const usual = optional ? undefined : showMembers({})
  return {
    read(value, path) {
      if (value === null && nullable) return undefined
      if (!isJsonRecord(value)) throw new WrongShape(path, 'an object')
      return withoutUndefined(
        entries.map(([name, member]) => [
          name,
          Object.hasOwn(value, name) ? member.read(value[name], `${path}.${name}`) : undefined,
        ]),
      )
    },
    // A list of ten thousand zones shows mostly defaults: they are made once.
    show: kept => (isJsonRecord(kept) && Object.keys(kept).length > 0 ? showMembers(kept) : usual),
  }
}

/** Members with a value; a name is never that of a prototype, because they all stand in a table of the source. */
function withoutUndefined(members: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of members) if (value !== undefined) kept[name] = value
  return kept
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/**
 * A part of a policy of cross-origin requests. One that says exactly what is usual is not kept, so that who sends back
 * what was shown does not take the server's policy away from the zone; and patterns alone leave no other way in, which
 * has to be shown as a list without texts.
 */
export function corsPart(members: Readonly<Record<string, Field>>): Field {
  const whole = object(members)
  const explicit = (kept: unknown): unknown => {
    if (!isJsonRecord(kept)) return kept
    const closed = (texts: string, patterns: string): object => {
      const list = kept[patterns]
      return Array.isArray(list) && list.length > 0 && (kept[texts] ?? null) === null ? { [texts]: [] } : {}
    }
    return {
      ...kept,
      ...closed('allowedOrigins', 'allowedOriginPatterns'),
      ...closed('allowedUris', 'allowedUriPatterns'),
    }
  }
  return {
    read(value, path) {
      const kept = explicit(whole.read(value, path))
      return isSame(whole.show(kept), whole.show(undefined)) ? undefined : kept
    },
    show: kept => whole.show(explicit(kept)),
  }
}
