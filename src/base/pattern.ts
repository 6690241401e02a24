// Untrusted regular expressions, matched in linear time: RE2 does not backtrack, and so has no look-around and no
// back-references. JavaScript's engine takes years to match `(a+)+$` against fifty letters.
import { RE2JS, RE2JSException } from 're2js'

/** Whether a whole string matches. */
export type Matcher = (text: string) => boolean

/** A compiled pattern that may match anywhere in a string. */
export interface Search {
  /** The number of capturing groups. */
  readonly groups: number
  /** The groups captured by the first match, empty strings for unused groups; undefined without a match. */
  find(text: string): readonly string[] | undefined
}

/** Thrown for a pattern that is malformed, too large, or uses syntax that RE2 does not support. */
export class PatternError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PatternError'
  }
}

const MAX_LENGTH = 500
/** Matching takes at most the length of the string times this. */
const MAX_PROGRAM_SIZE = 1000

function compile(pattern: string): RE2JS {
  if (pattern.length > MAX_LENGTH) throw new PatternError(`is longer than ${MAX_LENGTH} characters`)
  const compiled = parse(pattern)
  if (compiled.programSize() > MAX_PROGRAM_SIZE)
    throw new PatternError('is too large once its repetitions are written out')
  return compiled
}

function parse(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern)
  } catch (cause) {
    if (!(cause instanceof RE2JSException)) throw cause
    throw new PatternError(`is not valid: ${cause.message.replace(/^error parsing regexp: /, '')}`, { cause })
  }
}

/** Letters, digits, a few signs, and escaped ones. */
const PLAIN = /^(?:[\w:/-]|\\[./-])*$/
/** What makes a matcher follow several ways at once, or takes long to compile. */
const COSTLY = /[*+?|([]|\\[dDsSwWpPbB]/g

/**
 * How much work the pattern is for each character of a text, at most: nothing for a plain text. The sum for many patterns
 * is what bounds a match against all of them. Throws `PatternError`.
 */
export function weightOf(pattern: string): number {
  if (PLAIN.test(pattern)) return 0
  // A repetition that is written out multiplies what is in it.
  return pattern.includes('{') ? compile(pattern).programSize() : 1 + (pattern.match(COSTLY)?.length ?? 0)
}

/** Compiles a pattern in RE2 syntax that must match a whole string. Throws `PatternError`. */
export function compilePattern(pattern: string): Matcher {
  if (PLAIN.test(pattern) && pattern.length <= MAX_LENGTH) {
    const plain = pattern.replaceAll('\\', '')
    return text => text === plain
  }
  const compiled = compile(pattern)
  return text => compiled.matches(text)
}

/** Compiles a pattern in RE2 syntax that may match anywhere in a string. Throws `PatternError`. */
export function compileSearch(pattern: string): Search {
  const compiled = compile(pattern)
  const groups = compiled.groupCount()
  return {
    groups,
    find(text) {
      const matcher = compiled.matcher(text)
      if (!matcher.find()) return undefined
      return Array.from({ length: groups }, (_, group) => matcher.group(group + 1) ?? '')
    },
  }
}
