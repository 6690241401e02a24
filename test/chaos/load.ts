// A mixed load at a fixed rate: operations begin at fixed times, whether earlier ones have ended or not, as users do.
import { setTimeout as pause } from 'node:timers/promises'
import { Broken, Unavailable, Violation } from './client.ts'
import type { Operations } from './operations.ts'

/** How an operation ended. `refused` is 503 with Retry-After, `broken` no answer. */
export type Outcome = 'done' | 'refused' | 'broken'

/** One operation that was tried. */
export interface Tried {
  readonly name: string
  readonly outcome: Outcome
  /** In `performance.now()` time. */
  readonly begun: number
  readonly milliseconds: number
  /** The problems. */
  readonly reason?: string
}

/** A running load. */
export interface Load {
  /** The operations in order of completion. The caller may empty it. */
  readonly tried: Tried[]
  /** Violations; only the first are kept. */
  readonly violations: string[]
  /** Operations skipped because too many were running. */
  skipped(): number
  /** Ends it after running operations are done. */
  stop(): Promise<void>
}

/** The maximum of concurrent operations. */
const MAX_UNDER_WAY = 300
const MAX_VIOLATIONS = 20

/** Starts immediately. */
export function drive({ all, order }: Operations, perSecond: number): Load {
  const tried: Tried[] = []
  const violations: string[] = []
  const underWay = new Set<Promise<void>>()
  let skipped = 0
  const over = new AbortController()

  async function attempt(name: string): Promise<void> {
    const begun = performance.now()
    const note = (outcome: Outcome, reason?: string): void =>
      void tried.push({
        name,
        outcome,
        begun,
        milliseconds: performance.now() - begun,
        ...(reason !== undefined && { reason }),
      })
    try {
      if ((await all[name]?.()) !== undefined) note('done')
    } catch (error) {
      if (error instanceof Unavailable) return note('refused', `${name}: ${error.message}`)
      if (error instanceof Broken) return note('broken', `${name}: ${error.message}`)
      const text = error instanceof Violation ? error.message : String(error instanceof Error ? error.stack : error)
      if (violations.length < MAX_VIOLATIONS) violations.push(`${name}: ${text}`)
    }
    return undefined
  }

  async function run(): Promise<void> {
    const begin = performance.now()
    for (let count = 0; !over.signal.aborted; count += 1) {
      const wait = begin + (count * 1000) / perSecond - performance.now()
      if (wait > 0) await pause(wait)
      if (over.signal.aborted) return
      if (underWay.size >= MAX_UNDER_WAY) {
        skipped += 1
        continue
      }
      const work = attempt(order[count % order.length] ?? '')
      underWay.add(work)
      void work.finally(() => underWay.delete(work))
    }
  }

  const running = run()
  return {
    tried,
    violations,
    skipped: () => skipped,
    async stop() {
      over.abort()
      await running
      await Promise.all(underWay)
    },
  }
}
