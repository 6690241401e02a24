// How strong a sign-in was: the level in `acr` (OpenID Connect Core §2). It is the first entry of the list of
// authentication context classes, before those in the words of a provider; level 1 is not written.

import { isJsonRecord, memberOf } from '../../base/json.ts'
import { LEVELS } from '../../records/levels.ts'
import type { Level } from '../../records/levels.ts'

export { LEVELS } from '../../records/levels.ts'
export type { Level } from '../../records/levels.ts'

const isLevel = (word: string): word is Level => LEVELS.some(level => level === word)

/** The level that the list begins with. */
export function levelOf(acr: readonly string[] | undefined): Level {
  const [first = '1'] = acr ?? []
  return isLevel(first) ? first : '1'
}

/**
 * The list for a level and the classes that a provider named, of which none may pass for a level of ours; undefined for a
 * list without information.
 */
export function withLevel(level: Level, classes: readonly string[] = []): readonly string[] | undefined {
  const others = classes.filter(word => !isLevel(word))
  const list = level === '1' ? others : [level, ...others]
  return list.length > 0 ? list : undefined
}

/** Whether the level is as strong as the one that is needed, or stronger. */
export const reaches = (level: Level, needed: Level): boolean => LEVELS.indexOf(level) >= LEVELS.indexOf(needed)

/** The stronger one. */
export const stronger = (one: Level, other: Level): Level => (reaches(one, other) ? one : other)

/** The weakest of the levels among these values, which satisfies a request that names them; undefined if none is a level. */
export const lowestOf = (words: readonly string[]): Level | undefined => LEVELS.find(level => words.includes(level))

/**
 * The classes of a provider, in its own words. One that reads like a level of ours is kept with a blank before it, which no
 * class can have: it is no level, however long the session or the token lives that has it.
 */
export const foreignClasses = (words: readonly string[]): readonly string[] =>
  words.map(word => (isLevel(word) ? ` ${word}` : word))

/** The strongest of the levels that the provider's record maps these values to; 1 without any. */
export function mappedLevel(words: readonly string[], mapping: unknown): Level {
  const levels = words.map(word => memberOf(mapping, word)).filter(level => typeof level === 'string' && isLevel(level))
  return (levels as readonly Level[]).reduce<Level>(stronger, '1') // of levels by the filter
}

/** The classes of the list in the words of the provider, without the level. */
export const classesOf = (acr: readonly string[] | undefined): readonly string[] =>
  (acr ?? []).filter(word => !isLevel(word)).map(word => word.trimStart())

/**
 * The part of the list that tokens contain: the level first, where it is above 1, and the classes of the provider, none of
 * which may be taken for a level. Undefined if that is empty.
 */
export function tokenClasses(acr: readonly string[] | undefined): readonly string[] | undefined {
  const shown = (acr ?? []).filter(word => !word.startsWith(' ') && word !== '1')
  return shown.length > 0 ? shown : undefined
}

/** The provider's class for a level above 1, by the mapping of its record; other values are passed on unchanged. */
export function classesFor(word: string, mapping: unknown): readonly string[] {
  if (!isLevel(word)) return [word]
  if (word === '1') return []
  const classes = Object.entries(isJsonRecord(mapping) ? mapping : {})
  return classes.flatMap(([name, level]) =>
    typeof level === 'string' && isLevel(level) && reaches(level, word) ? [name] : [],
  )
}
