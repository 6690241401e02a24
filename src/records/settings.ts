// Nested settings: one description yields the reader, the output with defaults, the type and the JSON Schema. Contains
// no setting; rules across settings are plain functions next to the descriptions.
import * as v from 'valibot'
import { isJsonRecord } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import type { JsonSchema, Kind } from './kinds.ts'

/** Thrown for a setting of the wrong type, and without `needed` for an unknown one; the message contains its path. */
export class WrongShape extends Error {
  override name = 'WrongShape'
  constructor(path: string, needed?: string) {
    super(needed === undefined ? `${path} is not a known member` : `${path} must be ${needed}`)
  }
}

/** An invalid setting; the message does not repeat its path. */
interface SettingProblem {
  readonly key: string
  readonly message: string
}

/** Which values of a setting are secrets: all, those that the function accepts, or one member of an object. */
export type Secret = true | ((value: string) => boolean) | { readonly member: string }

/** One setting. */
export interface Setting {
  readonly kind: Kind
  /** Completes "must be …". */
  readonly needs: string
  /** The default, also meant by null in a request; without one, an unset setting is not shown. */
  readonly unset?: unknown
  /** Whether it is omitted from the output while it is unset, although it has a default. */
  readonly optional?: true
  /** Whether null is refused. */
  readonly notNull?: true
  /** `always`: accepted, not stored, and shown as `unset`. `when default`: not stored if equal to `unset`. */
  readonly dropped?: 'always' | 'when default'
  /** Secrets are encrypted at rest and never returned. */
  readonly secret?: Secret
  readonly about?: string
  /** Keywords of JSON Schema that the kind does not know. */
  readonly schema?: JsonSchema
}

/** A group of settings. */
export interface Section {
  readonly members: Readonly<Record<string, Setting | Section>>
  /** Whether it is omitted from the output while nothing of it is set; `null`: shown as null then. */
  readonly optional?: true | 'null'
  readonly notNull?: true
  /** Not stored if equal to the defaults. */
  readonly dropped?: 'when default'
  /**
   * How unknown members are treated in requests and files. By default the configuration file refuses them and requests
   * ignore them.
   */
  readonly unknown?: 'ignored' | 'refused'
  /** Makes implied settings explicit. */
  readonly explicit?: (kept: JsonRecord) => JsonRecord
  readonly about?: string
  /** Schemas of members that are read elsewhere. */
  readonly others?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
}

type Flatten<T> = { readonly [K in keyof T]: T[K] }
type ValueOf<S> = S extends { readonly kind: infer K extends Kind }
  ? v.InferOutput<K> | (S extends { readonly unset: null } ? null : never)
  : S extends Section
    ? SettingsOf<S>
    : never

/** The type of stored settings: every member is optional. */
export type SettingsOf<S extends Section> = Flatten<{
  readonly [M in keyof S['members'] as S['members'][M] extends { readonly dropped: 'always' } ? never : M]?: ValueOf<
    S['members'][M]
  >
}>

/** Keeps the exact types of a setting. */
export const setting = <const S extends Setting>(described: S): S => described

/** Keeps the exact types of a section. */
export const section = <const S extends Section>(described: S): S => described

const isSection = (described: Setting | Section): described is Section => Object.hasOwn(described, 'members')

/**
 * Reads settings of a request: drops unknown members and null. Throws `WrongShape`.
 */
export function readSettings<S extends Section>(described: S, sent: unknown, path: string): SettingsOf<S> {
  const refuse: Refuse = (key, needs) => {
    throw new WrongShape(key, needs)
  }
  return (readSection(described, sent, { path, refuse }) ?? {}) as SettingsOf<S> // the kinds have checked the type
}

/** Reads settings and returns all problems; omits invalid settings. */
export function readAllSettings<S extends Section>(
  described: S,
  sent: unknown,
  path: string,
): { readonly kept: SettingsOf<S>; readonly problems: readonly SettingProblem[] } {
  const problems: SettingProblem[] = []
  const refuse: Refuse = (key, needs) => {
    problems.push({ key, message: needs === undefined ? 'is not a known member' : `must be ${needs}` })
  }
  const kept = (readSection(described, sent, { path, refuse }) ?? {}) as SettingsOf<S> // the kinds have checked the type
  return { kept, problems }
}

/** Reports an invalid setting; without `needs`, an unknown one. */
type Refuse = (key: string, needs?: string) => void
interface Place {
  readonly path: string
  readonly refuse: Refuse
}

function readSection(described: Section, sent: unknown, { path, refuse }: Place): JsonRecord | undefined {
  if (sent === null && !described.notNull) return undefined
  if (!isJsonRecord(sent)) {
    refuse(path, 'an object')
    return undefined
  }
  const found: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(described.members)) {
    if (!Object.hasOwn(sent, name)) continue
    const value = readMember(member, sent[name], { path: `${path}.${name}`, refuse })
    if (value !== undefined) found[name] = value
  }
  if (described.unknown === 'refused') {
    const unknown = Object.keys(sent).filter(name => !Object.hasOwn(described.members, name))
    for (const name of unknown) refuse(`${path}.${name}`)
  }
  const kept = described.explicit ? described.explicit(found) : found
  const isDefault =
    described.dropped === 'when default' && isSame(showSection(described, kept), showSection(described, {}))
  return isDefault ? undefined : kept
}

function readMember(member: Setting | Section, sent: unknown, place: Place): unknown {
  if (sent === undefined) return undefined
  if (isSection(member)) return readSection(member, sent, place)
  if (member.dropped === 'always' || (sent === null && !member.notNull)) return undefined
  const { success, output } = v.safeParse(member.kind, sent, { abortEarly: true, abortPipeEarly: true })
  if (!success) {
    place.refuse(place.path, member.needs)
    return undefined
  }
  return member.dropped === 'when default' && isSame(output, member.unset) ? undefined : output
}

/** The settings with every default. */
export const showSettings = (described: Section, kept: object): JsonRecord => showSection(described, { ...kept }) ?? {}

function showSection(described: Section, kept: JsonRecord): JsonRecord | null | undefined {
  if (described.optional && Object.keys(kept).length === 0) return described.optional === 'null' ? null : undefined
  const values = described.explicit ? described.explicit(kept) : kept
  const shown: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(described.members)) {
    const value = showMember(member, values[name])
    if (value !== undefined) shown[name] = value
  }
  return shown
}

function showMember(member: Setting | Section, kept: unknown): unknown {
  if (isSection(member)) return showSection(member, isJsonRecord(kept) ? kept : {})
  if (member.dropped === 'always') return member.unset
  return kept ?? (member.optional ? undefined : member.unset)
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** The secret settings by name, without those of nested sections. */
export const secretsOf = ({ members }: Section): ReadonlyMap<string, Secret> =>
  new Map(
    Object.entries(members).flatMap(([name, member]) =>
      isSection(member) || member.secret === undefined ? [] : [[name, member.secret] as const],
    ),
  )
