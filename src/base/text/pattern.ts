// Untrusted regular expressions, matched in linear time: RE2 does not backtrack, and so has no look-around and no
// back-references. JavaScript's engine takes years to match `(a+)+$` against fifty letters.
import type { RE2JS } from 're2js'
import { re2js } from '../lazy-packages.ts'

/** Whether a whole string matches. */
export type Matcher = (text: string) => boolean

/** A compiled pattern that may match anywhere in a string. */
interface Search {
  /** The number of capturing groups. */
  readonly groups: number
  /** The groups captured by the first match, empty strings for unused groups; undefined without a match. */
  find(text: string): readonly string[] | undefined
}

/** Thrown for a pattern that is malformed, too large, or uses syntax that RE2 does not support. */
export class PatternError extends Error {
  override name = 'PatternError'
}

const MAX_LENGTH = 500
/** Matching takes at most the length of the string times this. */
const MAX_PROGRAM_SIZE = 1000
/** The largest estimate, which may be somewhat higher than the size. */
const MAX_ESTIMATE = 2 * MAX_PROGRAM_SIZE

const tooLarge = (): PatternError => new PatternError('is too large once its repetitions are expanded')

function compile(pattern: string): RE2JS {
  checkCost(pattern)
  const compiled = parse(pattern)
  if (compiled.programSize() > MAX_PROGRAM_SIZE) throw tooLarge()
  return compiled
}

/** Refuses expensive patterns before compiling: the compiler expands repetitions, and reports the size only afterwards. */
function checkCost(pattern: string): void {
  if (pattern.length > MAX_LENGTH) throw new PatternError(`is longer than ${MAX_LENGTH} characters`)
  // To ignore case, it looks at each character of a class: a million in a class of all.
  if (IGNORES_CASE.test(pattern) && BEYOND_ASCII.test(pattern)) {
    throw new PatternError('ignores case but has non-ASCII characters or character codes')
  }
  if (estimatedSize(pattern) > MAX_ESTIMATE) throw tooLarge()
}

const IGNORES_CASE = /\(\?[A-Za-z-]*i/
const BEYOND_ASCII = /[\u0080-\uffff]|\\[pPx0-7]/

/** Flags, a quoted text, a character, an escape, a class, or a repetition with its counts. */
const PIECE =
  /\(\?[A-Za-z-]*\)|\\Q(?<quoted>.*?)(?:\\E|$)|\\[pP](?:\{[^}]*\}|.)|\\x\{[^}]*\}|\\.|\[\^?\]?(?:\\.|\[:\^?\w*:\]|[^\]\\])*\]|\{(?<least>\d+)(?<comma>,?)(?<most>\d*)\}|./gsu

/** About the size of the program, repetitions written out; takes linear time. */
function estimatedSize(pattern: string): number {
  const outer: number[] = []
  let size = 0
  let last = 0 // the part of it that a repetition repeats
  for (const { 0: piece, groups: { quoted, least, comma, most } = {} } of pattern.matchAll(PIECE)) {
    if (quoted === '' || /^\(\?.*\)$/.test(piece)) continue // a repetition after it repeats what is before it
    if (piece === '(') {
      outer.push(size)
      size = 0
      last = 0
    } else if (piece === ')') {
      last = size + 2
      size = (outer.pop() ?? 0) + last
    } else if (piece === '|') {
      size += 2
      last = 0
    } else if (least !== undefined) {
      const once = last
      // `a{2,}` is `aa+`, and `a{1,3}` is `a(a(a)?)?`.
      const optional = comma === '' ? 0 : most === '' ? 1 : Math.max(Number(most) - Number(least), 0)
      last = once * Math.max(Number(most || least), 1) + optional
      size += last - once
    } else {
      last = /^[*+?]$/.test(piece) ? last + 1 : 1
      size += quoted?.length ?? 1
    }
  }
  return outer.reduce((sum, each) => sum + each, size)
}

function parse(pattern: string): RE2JS {
  const { RE2JS: engine, RE2JSException } = re2js()
  try {
    return engine.compile(pattern)
  } catch (cause) {
    if (!(cause instanceof RE2JSException)) throw cause
    throw new PatternError(`is not valid: ${cause.message.replace(/^error parsing regexp: /, '')}`, { cause })
  }
}

/** Letters, digits, a few signs, and escaped ones. */
const PLAIN = /^(?:[\w:/-]|\\[./-])*$/
/** Constructs that create many parallel states, or take long to compile. */
const COSTLY = /[*+?|([]|\\[dDsSwWbB]/g
const UNICODE_CLASS = /\\[pP]/g
/** Each has hundreds of ranges. */
const UNICODE_CLASS_WEIGHT = 20
/** Any text takes time to compile. */
const CHARACTERS_PER_WEIGHT = 50

/**
 * How much work the pattern is to compile, and for each character of a text, at most: nothing for a plain text. The sum for
 * many patterns is what bounds both for all of them. Compiles nothing. Throws `PatternError`.
 */
export function weightOf(pattern: string): number {
  if (PLAIN.test(pattern)) return 0
  checkCost(pattern)
  const count = (of: RegExp): number => pattern.match(of)?.length ?? 0
  // A repetition that is written out multiplies what is in it.
  const work = pattern.includes('{') ? estimatedSize(pattern) : 1 + count(COSTLY)
  return work + UNICODE_CLASS_WEIGHT * count(UNICODE_CLASS) + Math.floor(pattern.length / CHARACTERS_PER_WEIGHT)
}

/** Compiles a pattern in RE2 syntax that must match a whole string. Throws `PatternError`. */
export function compilePattern(pattern: string): Matcher {
  if (PLAIN.test(pattern) && pattern.length <= MAX_LENGTH) {
    const plain = pattern.replaceAll('\\', '')
    return text => text === plain
  }
  if (pattern === '.*') return text => !text.includes('\n') // the default of every zone
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
