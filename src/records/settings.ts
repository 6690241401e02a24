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
  readonly about?: string
  /** Keywords of JSON Schema that the kind does not know. */
  readonly schema?: JsonSchema
}

/** Settings that stand together. */
export interface Section {
  readonly members: Readonly<Record<string, Setting | Section>>
  /** Whether it is left out of what is shown while nothing of it is set. */
  readonly optional?: true
  readonly notNull?: true
  /** Not kept when it says what is usual. */
  readonly dropped?: 'when usual'
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
  return (readSection(described, sent, path) ?? {}) as SettingsOf<S> // the kinds gave what the type says
}

function readSection(described: Section, sent: unknown, path: string): JsonRecord | undefined {
  if (sent === null && !described.notNull) return undefined
  if (!isJsonRecord(sent)) throw new WrongShape(path, 'an object')
  const found: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(described.members)) {
    if (!Object.hasOwn(sent, name)) continue
    const value = readMember(member, sent[name], `${path}.${name}`)
    if (value !== undefined) found[name] = value
  }
  const kept = described.explicit ? described.explicit(found) : found
  const isUsual = described.dropped === 'when usual' && isSame(showSection(described, kept), showSection(described, {}))
  return isUsual ? undefined : kept
}

function readMember(member: Setting | Section, sent: unknown, path: string): unknown {
  if (isSection(member)) return readSection(member, sent, path)
  if (member.dropped === 'always' || (sent === null && !member.notNull)) return undefined
  const { success, output } = v.safeParse(member.kind, sent, { abortEarly: true, abortPipeEarly: true })
  if (!success) throw new WrongShape(path, member.needs)
  return member.dropped === 'when usual' && isSame(output, member.unset) ? undefined : output
}

/** The settings with every default. */
export const showSettings = (described: Section, kept: object): JsonRecord => showSection(described, { ...kept }) ?? {}

function showSection(described: Section, kept: JsonRecord): JsonRecord | undefined {
  if (described.optional && Object.keys(kept).length === 0) return undefined
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
