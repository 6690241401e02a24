// Work that one process does for all that share the database: the holder of a task's lease does it. A lease is kept
// between two runs, so that no other process begins; when its holder is killed, another process continues once it has expired.
import { setTimeout as systemPause } from 'node:timers/promises'
import { stopwatch } from '../base/clock.ts'
import type { Clock } from '../base/clock.ts'
import type { LeaseStore, Store } from '../store/store.ts'

/** A periodic task, in steps that are short enough for requests to run in between. */
interface Task {
  /** The lease has this name, and so have metrics. */
  readonly name: string
  readonly everyMilliseconds: number
  /** Does a part; returns how much, 0 when nothing is left. */
  readonly step: () => Promise<number>
}

/** The tasks of a process. */
export interface SharedTasks {
  /** Starts a task, without keeping the process alive. */
  start(task: Task): void
  /** The lease of each task, and whether this process holds it. */
  leases(): readonly { readonly name: string; readonly isHeld: boolean }[]
  /** Finishes the steps under way and ends the leases. */
  stop(): Promise<void>
}

/** Dependencies of `createSharedTasks`. */
interface SharedTasksDeps {
  readonly leases: LeaseStore
  /** An id of the process. */
  readonly holder: string
  readonly log: { fault(message: string, cause: unknown): void }
  readonly pause?: (milliseconds: number) => Promise<unknown>
}

const MIN_PAUSE_MS = 5

/** How soon another process may take over a task with this interval. */
export const leaseMillisecondsOf = ({ everyMilliseconds }: Pick<Task, 'everyMilliseconds'>): number =>
  2 * everyMilliseconds + 15_000

/**
 * The time by which rows are deleted for all nodes: of this process or of the database, the earlier of the two, so that one
 * wrong clock does not delete what others still use.
 */
export async function expiryTime(clock: Clock, store: Pick<Store, 'now'>): Promise<Date> {
  const shared = await store.now()
  const own = clock.now()
  return own < shared ? own : shared
}

/** Does nothing until a task is added. */
export function createSharedTasks({ leases, holder, log, pause = systemPause }: SharedTasksDeps): SharedTasks {
  const started = new Map<string, { isHeld: boolean; readonly stop: () => Promise<void> }>()
  let isStopping = false

  const take = (task: Task): Promise<boolean> => leases.take(task.name, holder, leaseMillisecondsOf(task))

  /** Returns whether the lease is held. */
  async function run(task: Task): Promise<boolean> {
    if (!(await take(task))) return false
    let sinceTaken = stopwatch()
    for (;;) {
      const elapsed = stopwatch()
      if (isStopping || (await task.step()) === 0) return true
      await pause(MIN_PAUSE_MS + elapsed()) // at most half of the time is the task's
      if (sinceTaken() < task.everyMilliseconds) continue
      if (!(await take(task))) return false
      sinceTaken = stopwatch()
    }
  }

  return {
    start(task) {
      let running: Promise<void> | undefined
      const timer = setInterval(() => {
        running ??= run(task)
          .then(isHeld => void (entry.isHeld = isHeld))
          .catch((cause: unknown) => {
            entry.isHeld = false
            log.fault(task.name, cause)
          })
          .finally(() => (running = undefined))
      }, task.everyMilliseconds).unref()
      const entry = {
        isHeld: false,
        async stop() {
          clearInterval(timer)
          await running
          if (!entry.isHeld) return
          entry.isHeld = false
          await leases.release(task.name, holder).catch((cause: unknown) => log.fault(task.name, cause))
        },
      }
      started.set(task.name, entry)
    },
    leases: () => [...started].map(([name, { isHeld }]) => ({ name, isHeld })),
    async stop() {
      isStopping = true
      await Promise.all([...started.values()].map(({ stop }) => stop()))
    },
  }
}
