// Settings that nest: what is kept of those that were sent, what is shown with every default, their type and their JSON
// Schema, from one description. Owns no setting; rules between settings are plain functions beside the descriptions.
import * as v from 'valibot'
import { isJsonRecord } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import type { JsonSchema, Kind } from './kinds.ts'

/** Thrown for a setting of a wrong type; the message names its path. */
export class WrongShape extends Error {
  constructor(path: string, needed: string) {
    super(`${path} must be ${needed}`)
    this.name = 'WrongShape'
  }
}

/** A setting that was sent and cannot be kept; the message does not repeat its path. */
export interface SettingProblem {
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
  /** What is shown while it is not set, and what a null that was sent stands for; absent leaves the setting out. */
  readonly unset?: unknown
  /** Whether null is refused. */
  readonly notNull?: true
  /** `always`: accepted, kept nowhere, and shown as `unset`. `when usual`: not kept when it says what `unset` says. */
  readonly dropped?: 'always' | 'when usual'
  /** Secrets are encrypted at rest and in no answer. */
  readonly secret?: Secret
  readonly about?: string
  /** Keywords of JSON Schema that the kind does not know. */
  readonly schema?: JsonSchema
}

/** Settings that stand together. */
export interface Section {
  readonly members: Readonly<Record<string, Setting | Section>>
  /** Whether it is left out of what is shown while nothing of it is set; `null`: it is shown as null then. */
  readonly optional?: true | 'null'
  readonly notNull?: true
  /** Not kept when it says what is usual. */
  readonly dropped?: 'when usual'
  /**
   * What becomes of members that are not described, wherever they are sent. Absent: the configuration file refuses them, and
   * a request may have them in vain.
   */
  readonly unknown?: 'ignored' | 'refused'
  /** Spells out what is kept. */
  readonly explicit?: (kept: JsonRecord) => JsonRecord
  readonly about?: string
  /** Members that are read elsewhere, for the schema. */
  readonly others?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
}

type Flatten<T> = { readonly [K in keyof T]: T[K] }
type ValueOf<S> = S extends { readonly kind: infer K extends Kind }
  ? v.InferOutput<K> | (S extends { readonly unset: null } ? null : never)
  : S extends Section
    ? SettingsOf<S>
    : never

/** The type of what is kept: every member may be absent. */
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
 * What is kept of settings that were sent: members that are not described are dropped, null keeps nothing. Throws
 * `WrongShape`.
 */
export function readSettings<S extends Section>(described: S, sent: unknown, path: string): SettingsOf<S> {
  const refuse: Refuse = (key, needs = 'absent') => {
    throw new WrongShape(key, needs)
  }
  return (readSection(described, sent, { path, refuse }) ?? {}) as SettingsOf<S> // the kinds gave what the type says
}

/** The same with every problem; a setting that has one is not kept. */
export function readAllSettings<S extends Section>(
  described: S,
  sent: unknown,
  path: string,
): { readonly kept: SettingsOf<S>; readonly problems: readonly SettingProblem[] } {
  const problems: SettingProblem[] = []
  const refuse: Refuse = (key, needs) => {
    problems.push({ key, message: needs === undefined ? 'is not a known member' : `must be ${needs}` })
  }
  const kept = (readSection(described, sent, { path, refuse }) ?? {}) as SettingsOf<S> // the kinds gave what the type says
  return { kept, problems }
}

/** Reports what is wrong with a setting: what it must be, or that there is none of this name. */
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
  const isUsual = described.dropped === 'when usual' && isSame(showSection(described, kept), showSection(described, {}))
  return isUsual ? undefined : kept
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
  return member.dropped === 'when usual' && isSame(output, member.unset) ? undefined : output
}

/** The settings with every default. */
export const showSettings = (described: Section, kept: object): JsonRecord => showSection(described, { ...kept }) ?? {}

function showSection(described: Section, kept: JsonRecord): JsonRecord | null | undefined {
  if (described.optional && Object.keys(kept).length === 0) return described.optional === 'null' ? null : undefined
  const known = described.explicit ? described.explicit(kept) : kept
  const shown: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(described.members)) {
    const value = showMember(member, known[name])
    if (value !== undefined) shown[name] = value
  }
  return shown
}

function showMember(member: Setting | Section, kept: unknown): unknown {
  if (isSection(member)) return showSection(member, isJsonRecord(kept) ? kept : {})
  return member.dropped === 'always' ? member.unset : (kept ?? member.unset)
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** The settings that hold secrets, by name; of a section none. */
export const secretsOf = ({ members }: Section): ReadonlyMap<string, Secret> =>
  new Map(
    Object.entries(members).flatMap(([name, member]) =>
      isSection(member) || member.secret === undefined ? [] : [[name, member.secret] as const],
    ),
  )
