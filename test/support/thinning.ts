// What a run leaves out. Generated cases are many, and most of them tell the same: an ordinary run takes every n-th of them, the
// same ones each time, a fast run a fifth of those, and with LATCHKEY_TEST_FULL set a run takes all. A fast run also runs each
// file in one mode only.
import type { CompatibilityMode } from '../../src/model/compatibility.ts'

/** Whether everything is to run. */
export const IS_FULL = process.env['LATCHKEY_TEST_FULL'] !== undefined
/** The mode that the files of this process run in; set in a fast run only. */
const FAST_MODE = process.env['LATCHKEY_TEST_FAST']
const FAST_FACTOR = FAST_MODE === undefined ? 1 : 5

/** Both columns of the table of differences, for tests that compare them. */
export const BOTH_MODES: readonly CompatibilityMode[] = ['standard', 'uaa']
/** The modes to test; in a fast run one of them, which depends on the name of the file. */
export const MODES = IS_FULL || FAST_MODE === undefined ? BOTH_MODES : BOTH_MODES.filter(mode => mode === FAST_MODE)

/** Every n-th of the cases, or all in a full run; `from` is the first one that is taken. */
export function* thinned<T>(cases: Iterable<T>, every: number, from = 0): Generator<T> {
  const step = every * FAST_FACTOR
  let index = 0
  for (const each of cases) {
    if (IS_FULL || index % step === from % step) yield each
    index += 1
  }
}

/** How many random inputs to draw. */
export const runs = (ordinary: number): number => (IS_FULL ? ordinary : Math.ceil(ordinary / FAST_FACTOR))

/**
 * Asked before each case: whether it is left out; `from` is the first one that is not. Choose a number without a common divisor
 * with the lengths of inner loops.
 */
export function createSkip(every: number, from = 0): () => boolean {
  const step = every * FAST_FACTOR
  let index = -1
  return () => !IS_FULL && (index += 1) % step !== from
}

/** Browsers are slow, and see little of the mode: an ordinary run takes one for each suite, not the same for all. */
export const modesInBrowser = (ordinary: CompatibilityMode): readonly CompatibilityMode[] =>
  IS_FULL ? BOTH_MODES : [ordinary]
