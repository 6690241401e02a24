// Finds what the groups of a pattern stand for in a text, at a cost that is known beforehand: the same patterns as in
// linear-pattern.ts, and the same walk of all ways at once, but each way remembers where its groups began and ended, and
// of two ways that meet, the one that a backtracking engine would have tried first goes on.
import { MOST_STATES, PatternError, TOO_LARGE, parsePattern } from './linear-pattern.ts'
import type { Node, Test } from './linear-pattern.ts'

/** A compiled pattern that is looked for anywhere in a text. */
export interface Search {
  /** How many groups it has. */
  readonly groups: number
  /** What each group stands for in the first match, empty where it took no part; undefined without a match. */
  find(text: string): readonly string[] | undefined
}

type Step =
  | { readonly kind: 'one'; readonly test: Test; readonly next: number }
  | { readonly kind: 'start' | 'end'; readonly next: number }
  | { readonly kind: 'mark'; readonly slot: number; readonly next: number }
  /** The ways that part here, the preferred one first. */
  | { readonly kind: 'split'; next: readonly number[] }
  | { readonly kind: 'found' }

/** Where a group began or ended, and what was remembered before; shared by the ways that part later. */
interface Mark {
  readonly slot: number
  readonly position: number
  readonly before: Mark | undefined
}

/** A way under walk: the step that waits for a character. */
interface Way {
  readonly step: number
  readonly marks: Mark | undefined
}

/** Compiles a pattern of the syntax of `compilePattern`; throws `PatternError` for anything else. */
export function compileSearch(pattern: string): Search {
  const steps: Step[] = [{ kind: 'found' }]
  const root = parsePattern(pattern)
  const first = build(root, 0, steps)
  const groups = groupsIn(root)
  const prefix = prefixOf(root)
  return {
    groups,
    find(text) {
      const marks = walk({ steps, first, prefix }, text)
      return marks && Array.from({ length: groups }, (_, group) => textOf(marks.last, group, text))
    },
  }
}

function groupsIn(node: Node): number {
  switch (node.kind) {
    case 'one':
    case 'start':
    case 'end':
      return 0
    case 'sequence':
    case 'choice':
      return node.parts.reduce((sum, part) => sum + groupsIn(part), 0)
    case 'group':
      return 1 + groupsIn(node.part)
    case 'repeat':
      return groupsIn(node.part)
  }
}

/** What every match begins with; empty where that is not one text. */
function prefixOf(node: Node): string {
  if (node.kind === 'one') return node.character ?? ''
  if (node.kind !== 'sequence') return ''
  const varied = node.parts.findIndex(part => part.kind !== 'one' || part.character === undefined)
  return node.parts
    .slice(0, varied < 0 ? undefined : varied)
    .map(prefixOf)
    .join('')
}

/** Adds the steps of a node that lead to `next`; answers the first of them. */
function build(node: Node, next: number, steps: Step[]): number {
  switch (node.kind) {
    case 'one':
      return add({ kind: 'one', test: node.test, next }, steps)
    case 'start':
    case 'end':
      return add({ kind: node.kind, next }, steps)
    case 'sequence':
      return node.parts.reduceRight((after, part) => build(part, after, steps), next)
    case 'choice':
      return add({ kind: 'split', next: node.parts.map(part => build(part, next, steps)) }, steps)
    case 'group': {
      const end = add({ kind: 'mark', slot: node.index * 2 + 1, next }, steps)
      return add({ kind: 'mark', slot: node.index * 2, next: build(node.part, end, steps) }, steps)
    }
    case 'repeat':
      return buildRepeat(node, next, steps)
  }
}

function buildRepeat({ part, least, most, lazy }: Node & { kind: 'repeat' }, next: number, steps: Step[]): number {
  const preferred = (once: number): readonly number[] => (lazy ? [next, once] : [once, next])
  let entry = next
  if (most === Infinity) {
    const again: Step = { kind: 'split', next: [] }
    entry = add(again, steps)
    again.next = preferred(build(part, entry, steps))
  } else {
    for (let i = least; i < most; i += 1) {
      entry = add({ kind: 'split', next: preferred(build(part, entry, steps)) }, steps)
    }
  }
  for (let i = 0; i < least; i += 1) entry = build(part, entry, steps)
  return entry
}

function add(step: Step, steps: Step[]): number {
  if (steps.length >= MOST_STATES) throw new PatternError(TOO_LARGE)
  return steps.push(step) - 1
}

/** The marks of the first match; undefined without one. */
function walk(
  { steps, first, prefix }: { steps: readonly Step[]; first: number; prefix: string },
  text: string,
): { readonly last: Mark | undefined } | undefined {
  const seenAt = new Int32Array(steps.length).fill(-1)
  let found: { readonly last: Mark | undefined } | undefined
  let ways: readonly Way[] = []
  for (let position = 0; position <= text.length; position += 1) {
    if (ways.length === 0 && prefix !== '') {
      // Nothing is under way: on to where something can begin.
      position = text.indexOf(prefix, position)
      if (position < 0) break
    }
    const here: Way[] = []
    // What begins here is tried after everything that began before, and not at all once something was found.
    const begun = found ? ways : [...ways, { step: first, marks: undefined }]
    const hit = spread(steps, begun, { seenAt, position, length: text.length, here })
    if (hit) found = hit
    if (here.length === 0 && found) break
    const character = text.charAt(position)
    const reached: Way[] = []
    for (const { step, marks } of here) {
      const at = steps[step]
      if (at?.kind === 'one' && position < text.length && at.test(character)) reached.push({ step: at.next, marks })
    }
    ways = reached
  }
  return found
}

/** Follows every way to where it waits for a character, best first; what is found ends those that are worse. */
function spread(
  steps: readonly Step[],
  from: readonly Way[],
  at: { seenAt: Int32Array; position: number; length: number; here: Way[] },
): { readonly last: Mark | undefined } | undefined {
  const { seenAt, position, length, here } = at
  for (const way of from) {
    const waiting: Way[] = [way]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { step, marks } = next
      if (seenAt[step] === position) continue
      seenAt[step] = position
      const state = steps[step]
      switch (state?.kind) {
        case 'one':
          here.push(next)
          break
        case 'start':
        case 'end':
          if (position === (state.kind === 'start' ? 0 : length)) waiting.push({ step: state.next, marks })
          break
        case 'mark':
          waiting.push({ step: state.next, marks: { slot: state.slot, position, before: marks } })
          break
        case 'split':
          for (const other of state.next.toReversed()) waiting.push({ step: other, marks })
          break
        case 'found':
          return { last: marks }
        case undefined:
          break
      }
    }
  }
  return undefined
}

function textOf(marks: Mark | undefined, group: number, text: string): string {
  const end = positionOf(marks, group * 2 + 1)
  const begin = positionOf(end, group * 2)
  return begin && end ? text.slice(begin.position, end.position) : ''
}

function positionOf(marks: Mark | undefined, slot: number): Mark | undefined {
  let mark = marks
  while (mark && mark.slot !== slot) mark = mark.before
  return mark
}
