// A parser, inputs for it and what must be true of each: run by `fuzz.test.ts` for some hundred inputs, and by
// `npm run fuzz` for a million.
import { readFileSync } from 'node:fs'
import { cpuUsage } from 'node:process'
import fc from 'fast-check'

/** The outcome of an input. A target that lacks one of them tests nothing. */
export type Verdict = 'read' | 'refused'

/** How long to run, and from where. */
export interface FuzzOptions {
  readonly runs: number
  readonly seed: number
  /** Of a counterexample: runs it alone. */
  readonly path?: string
  /** Refuses an input that takes more CPU than this. Absent in `npm test`, whose machine may be busy. */
  readonly maxMilliseconds?: number
  /** Stops at this time, after any number of runs. */
  readonly seconds?: number
}

/** The result of a run. */
export interface FuzzReport {
  readonly executions: number
  readonly verdicts: Readonly<Record<Verdict, number>>
  /** CPU time of the most expensive input. */
  readonly longestMilliseconds: number
  readonly failure?: { readonly message: string; readonly input: unknown; readonly path: string }
}

/** One entry of a corpus. */
interface Known {
  readonly why: string
  readonly input: unknown
}

/** See the list in `targets.ts`. */
export interface Target {
  readonly name: string
  /** Inputs of every run: earlier findings, and known problems of parsers. */
  readonly corpus: readonly Known[]
  /** Checks one input of the corpus; throws if something is wrong. */
  readonly replay: (input: unknown) => Promise<Verdict>
  readonly run: (options: FuzzOptions) => Promise<FuzzReport>
}

/** A fuzz target. Inputs are JSON, so that a counterexample can be stored in the corpus. */
export interface TargetDefinition<T> {
  readonly name: string
  readonly inputs: fc.Arbitrary<T>
  /** Throws if the parser violated a property; a rejection of its own is a verdict. */
  readonly check: (input: T) => Verdict | Promise<Verdict>
}

/** Reads the corpus of the target too, `corpus/<name>.json`. */
export function target<T>({ name, inputs, check }: TargetDefinition<T>): Target {
  const corpus = JSON.parse(readFileSync(new URL(`corpus/${name}.json`, import.meta.url), 'utf8')) as readonly Known[]
  return {
    name,
    corpus,
    replay: async input => check(input as T), // written by the person who found it
    async run({ runs, seed, path, maxMilliseconds, seconds }) {
      const verdicts = { read: 0, refused: 0 }
      let longestMilliseconds = 0
      const property = fc.asyncProperty(inputs, async input => {
        const begin = maxMilliseconds === undefined ? undefined : cpuUsage()
        verdicts[await check(input)] += 1
        if (begin === undefined || maxMilliseconds === undefined) return
        const { user, system } = cpuUsage(begin)
        const milliseconds = (user + system) / 1000
        longestMilliseconds = Math.max(longestMilliseconds, milliseconds)
        if (milliseconds > maxMilliseconds) throw new Error(`took ${milliseconds.toFixed(0)} ms of CPU`)
      })
      const details = await fc.check(property, {
        numRuns: runs,
        seed,
        ...(path !== undefined && { path }),
        ...(seconds !== undefined && { interruptAfterTimeLimit: seconds * 1000 }),
      })
      const { numRuns: executions, failed, counterexample, counterexamplePath, errorInstance } = details
      const found = { executions, verdicts, longestMilliseconds }
      if (!failed || counterexample === null) return found
      const message =
        errorInstance instanceof Error ? (errorInstance.stack ?? errorInstance.message) : String(errorInstance)
      return { ...found, failure: { message, input: counterexample[0], path: counterexamplePath ?? '' } }
    },
  }
}

/** Runs the parser; an error of its own type is a rejection, any other is a fault. */
export function verdictOf<T>(
  refusals: readonly (abstract new (...given: never[]) => Error)[],
  parse: () => T,
  judge: (read: T) => void = () => {},
): Verdict {
  let read: T
  try {
    read = parse()
  } catch (error) {
    if (refusals.some(refusal => error instanceof refusal)) return 'refused'
    throw error
  }
  judge(read)
  return 'read'
}

/** The same for a parser that has to wait. */
export async function verdictLater<T>(
  refusals: readonly (abstract new (...given: never[]) => Error)[],
  parse: () => Promise<T>,
  judge: (read: T) => void = () => {},
): Promise<Verdict> {
  const settled = await parse().then(
    value => ({ value }),
    (error: unknown) => ({ error }),
  )
  return verdictOf(
    refusals,
    () => {
      if ('error' in settled) throw settled.error
      return settled.value
    },
    judge,
  )
}
