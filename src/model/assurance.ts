// How strong a sign-in was: the level that `acr` tells (OpenID Connect Core §2). It is the first entry of the list of
// authentication context classes, before those in the words of a provider; level 1 is not written.

/** One factor, two factors, a phishing-resistant one, and one that hardware is known to protect (OpenID EAP ACR Values). */
export const LEVELS = ['1', '2', 'phr', 'phrh'] as const
/** See `LEVELS`; the stronger, the later. */
export type Level = (typeof LEVELS)[number]

const isLevel = (word: string): word is Level => (LEVELS as readonly string[]).includes(word)

/** The level that the list begins with. */
export function levelOf(acr: readonly string[] | undefined): Level {
  const [first = '1'] = acr ?? []
  return isLevel(first) ? first : '1'
}

/**
 * The list for a level and the classes that a provider named, of which none may pass for a level of ours; undefined for a
 * list that says nothing.
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

/** The weakest of the levels among these words, which is enough for whoever names them; undefined if none is a level. */
export const leastOf = (words: readonly string[]): Level | undefined => LEVELS.find(level => words.includes(level))
