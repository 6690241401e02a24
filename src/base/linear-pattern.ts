// Regular expressions whose cost is known beforehand. JavaScript's own try one way after the other, so that a pattern such
// as (a+)+$ stops the whole process for minutes; here all ways are walked at once, one step for each character. What one
// character may be is left to JavaScript's engine, which has nothing to try there.

/** Whether a whole text fits; the time is the length of the text times that of the pattern, at the most. */
export type Matcher = (text: string) => boolean

/** Thrown for a pattern that is malformed, too large, or more than a regular language. */
export class PatternError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'PatternError'
  }
}

const LONGEST_PATTERN = 500
/** Of a pattern whose repetitions are written out. */
export const MOST_STATES = 500
const MOST_REPETITIONS = 100
/** What is wrong with a pattern that needs more. */
export const TOO_LARGE = 'is too large once its repetitions are written out'

/** Whether a character may stand in a place. */
export type Test = (character: string) => boolean

/** A pattern as it was read; groups are numbered from 0 in the order of their opening parentheses. */
export type Node =
  | {
      readonly kind: 'one'
      readonly test: Test
      /** The only character that may stand there, where there is only one. */
      readonly character?: string
    }
  | { readonly kind: 'start' | 'end' }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly Node[] }
  | { readonly kind: 'group'; readonly part: Node; readonly index: number }
  | {
      readonly kind: 'repeat'
      readonly part: Node
      readonly least: number
      readonly most: number
      /** Whether as little as possible is taken. */
      readonly lazy: boolean
    }

/** A place in the walk: a character leads on, an edge of the text lets pass, or the ways part. */
type State =
  | { readonly kind: 'one'; readonly test: Test; readonly next: number }
  | { readonly kind: 'start' | 'end'; readonly next: number }
  | { readonly kind: 'split'; next: readonly number[] }
  | { readonly kind: 'found' }

/**
 * Compiles a pattern of the usual syntax: characters, `.`, classes, `\d \w \s` and their opposites, groups, `|`, `^`, `$`,
 * and repetitions. Throws `PatternError` for anything else, such as a look-around or a back-reference.
 */
export function compilePattern(pattern: string): Matcher {
  if (/^\^?\.\*\$?$/.test(pattern)) return () => true
  const states: State[] = [{ kind: 'found' }]
  const first = build(parsePattern(pattern), 0, states)
  return text => walk(states, first, text)
}

/** Reads a pattern; throws `PatternError` as `compilePattern` does, but for what is too large once it is written out. */
export function parsePattern(pattern: string): Node {
  if (pattern.length > LONGEST_PATTERN) throw new PatternError(`is longer than ${LONGEST_PATTERN} characters`)
  let position = 0
  let groups = 0

  function choice(): Node {
    const parts = [sequence()]
    while (pattern[position] === '|') {
      position += 1
      parts.push(sequence())
    }
    return parts.length === 1 && parts[0] ? parts[0] : { kind: 'choice', parts }
  }

  function sequence(): Node {
    const parts: Node[] = []
    while (position < pattern.length && pattern[position] !== '|' && pattern[position] !== ')') {
      parts.push(repetition(item()))
    }
    return { kind: 'sequence', parts }
  }

  function item(): Node {
    const character = pattern[position] ?? ''
    position += 1
    switch (character) {
      case '(':
        return group()
      case '[':
        return characterClass()
      case '\\':
        return escaped()
      case '^':
        return { kind: 'start' }
      case '$':
        return { kind: 'end' }
      case '.':
        return { kind: 'one', test: () => true }
      case '*':
      case '+':
      case '?':
      case '{':
        throw new PatternError(`has a ${character} with nothing to repeat`)
      default:
        return { kind: 'one', test: other => other === character, character }
    }
  }

  function group(): Node {
    const isPlain = pattern.startsWith('?:', position)
    if (isPlain) position += 2
    else if (pattern[position] === '?') throw new PatternError('has a group other than (…) and (?:…)')
    const index = isPlain ? groups : groups++
    const inside = choice()
    if (pattern[position] !== ')') throw new PatternError('has a group that is not closed')
    position += 1
    return isPlain ? inside : { kind: 'group', part: inside, index }
  }

  function characterClass(): Node {
    const [whole] = /^\^?(?:[^\\[\]]|\\.)+\]/.exec(pattern.slice(position)) ?? []
    if (whole === undefined || whole.includes('&&')) throw new PatternError('has a malformed character class')
    position += whole.length
    return { kind: 'one', test: oneOf(`[${whole}`) }
  }

  function escaped(): Node {
    const character = pattern[position] ?? ''
    position += 1
    if (/^[dwsDWS]$/.test(character)) return { kind: 'one', test: oneOf(`\\${character}`) }
    if (character === '' || /^[A-Za-z0-9]$/.test(character)) throw new PatternError(`has an unknown \\${character}`)
    return { kind: 'one', test: other => other === character, character }
  }

  function repetition(part: Node): Node {
    const [whole, counts] = /^(?:[*+?]|\{(\d{1,4}(?:,\d{0,4})?)\})/.exec(pattern.slice(position)) ?? []
    if (whole === undefined) return part
    position += whole.length
    const lazy = pattern[position] === '?'
    if (lazy) position += 1
    if (/^[*+?{]/.test(pattern.slice(position))) throw new PatternError('repeats a repetition')
    const [least, most] = bounds(whole, counts)
    if (least > most || (Number.isFinite(most) ? most : least) > MOST_REPETITIONS) {
      throw new PatternError(`repeats in the wrong order or more than ${MOST_REPETITIONS} times`)
    }
    return { kind: 'repeat', part, least, most, lazy }
  }

  const whole = choice()
  if (position < pattern.length) throw new PatternError('has a ) too many')
  return whole
}

function bounds(sign: string, counts: string | undefined): readonly [least: number, most: number] {
  if (counts === undefined) return [sign === '+' ? 1 : 0, sign === '?' ? 1 : Infinity]
  const [least = '', most = least] = counts.split(',')
  return [Number(least), most === '' ? Infinity : Number(most)]
}

function oneOf(source: string): Test {
  try {
    const expression = new RegExp(`^${source}$`)
    return character => expression.test(character)
  } catch {
    throw new PatternError('has a malformed character class')
  }
}

/** Adds the states of a node that lead to `next`; answers the first of them. */
function build(node: Node, next: number, states: State[]): number {
  switch (node.kind) {
    case 'one':
      return add({ kind: 'one', test: node.test, next }, states)
    case 'start':
    case 'end':
      return add({ kind: node.kind, next }, states)
    case 'sequence':
      return node.parts.reduceRight((after, part) => build(part, after, states), next)
    case 'choice':
      return add({ kind: 'split', next: node.parts.map(part => build(part, next, states)) }, states)
    case 'group': // what stands in it makes no difference to whether the whole fits, nor does how greedy a repetition is
      return build(node.part, next, states)
    case 'repeat':
      return buildRepeat(node, next, states)
  }
}

function buildRepeat({ part, least, most }: Node & { kind: 'repeat' }, next: number, states: State[]): number {
  let entry = next
  if (most === Infinity) {
    const again: State = { kind: 'split', next: [] }
    entry = add(again, states)
    again.next = [build(part, entry, states), next]
  } else {
    for (let i = least; i < most; i += 1) {
      entry = add({ kind: 'split', next: [build(part, entry, states), next] }, states)
    }
  }
  for (let i = 0; i < least; i += 1) entry = build(part, entry, states)
  return entry
}

function add(state: State, states: State[]): number {
  if (states.length >= MOST_STATES) throw new PatternError(TOO_LARGE)
  return states.push(state) - 1
}

function walk(states: readonly State[], first: number, text: string): boolean {
  const seenAt = new Int32Array(states.length).fill(-1)
  let places = spread(states, [first], { seenAt, position: 0, length: text.length })
  for (let position = 0; position < text.length && places.length > 0; position += 1) {
    const character = text.charAt(position)
    const reached: number[] = []
    for (const place of places) {
      const state = states[place]
      if (state?.kind === 'one' && state.test(character)) reached.push(state.next)
    }
    places = spread(states, reached, { seenAt, position: position + 1, length: text.length })
  }
  return places.some(place => states[place]?.kind === 'found')
}

/** Every place that is reached without a further character, each once. */
function spread(
  states: readonly State[],
  from: readonly number[],
  { seenAt, position, length }: { seenAt: Int32Array; position: number; length: number },
): number[] {
  const waiting = [...from]
  const places: number[] = []
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    if (seenAt[place] === position) continue
    seenAt[place] = position
    const state = states[place]
    if (state?.kind === 'split') waiting.push(...state.next)
    else if (state?.kind === 'start' || state?.kind === 'end') {
      if (position === (state.kind === 'start' ? 0 : length)) waiting.push(state.next)
    } else places.push(place)
  }
  return places
}
