// The steps of a run of the tests, and what is printed about them.
import { constants } from 'node:os'
import { interruptedBy } from './child-processes.ts'

/** A part of the run, with a line of its own. */
export interface Step {
  readonly title: string
  /** What to do when it fails. */
  readonly hint: string
  readonly run: () => Promise<void>
}

/** The time that has passed since, for people. */
export const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`

/** Runs steps at the same time: one that computes, and one that waits for downloads. */
export const atOnce = (...steps: readonly Step[]): Step => ({
  title: steps.map(({ title }) => title).join('\n      '),
  hint: 'see above',
  async run() {
    const outcomes = await Promise.allSettled(steps.map(step => step.run()))
    const wrong = outcomes.flatMap((outcome, index) =>
      outcome.status === 'rejected' ? [`${steps[index]?.hint}: ${outcome.reason}`] : [],
    )
    if (wrong.length > 0) throw new Error(wrong.join('; '))
  },
})

/** Runs one after the other, up to the first that fails; gives the exit status. `repeated` passed at the second attempt. */
export async function runAll(steps: readonly Step[], repeated: readonly string[]): Promise<number> {
  const begin = performance.now()
  for (const [index, { title, hint, run }] of steps.entries()) {
    console.log(`\n[${index + 1}/${steps.length}] ${title}`)
    const start = performance.now()
    try {
      await run()
    } catch (error) {
      if (interruptedBy()) break
      const reason = error instanceof Error ? error.message : String(error)
      console.error(`\n✖ Step ${index + 1} of ${steps.length} failed after ${seconds(start)}: ${hint} (${reason}).`)
      return 1
    }
    if (interruptedBy()) break
    console.log(`      ${seconds(start)}`)
  }
  const interruption = interruptedBy()
  if (interruption) {
    console.error(`\n✖ Interrupted by ${interruption}.`)
    return 128 + constants.signals[interruption]
  }
  if (repeated.length > 0) console.log(`\n! Failed at first, and passed alone: ${repeated.join(', ')}`)
  console.log(`\n✔ Everything passed in ${seconds(begin)}, on Node.js ${process.versions.node}.`)
  return 0
}
