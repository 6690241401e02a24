// Returns memory that the server no longer needs to the system. What an idle server does not need, nothing else would free: the
// engine collects everything only when it needs space, and glibc keeps what is free between two blocks that are not.
import { performance } from 'node:perf_hooks'
import { getHeapStatistics, queryObjects } from 'node:v8'
import { foreignFunctions } from '../base/foreign-functions.ts'

const LOOK_EVERY_MS = 1000
/** Share of a second in which something ran. */
const BUSY = 0.5
const AT_REST = 0.05
/** Bytes; just started, a server has 30 MB. The collection visits every object twice. */
const MAX_HEAP = 48 * 1024 * 1024

/**
 * Frees memory in the first second in which next to nothing is asked of the server after its start, and after each time that it
 * was busy. After the start it also collects garbage, parsed sources and records for example, unless there are so many objects
 * by then that others would wait: the main thread stands still, a tenth of a second for 20 MB.
 */
export function freeMemoryWhenIdle(): void {
  let before = performance.eventLoopUtilization()
  let isStarting = true
  let wasBusy = true
  setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    if (utilization >= BUSY) wasBusy = true
    if (!wasBusy || utilization > AT_REST) return
    withoutWarnings(() => {
      if (isStarting && getHeapStatistics().used_heap_size <= MAX_HEAP) collectGarbage()
      returnFreeMemory()
    })
    isStarting = wasBusy = false
  }, LOOK_EVERY_MS).unref()
}

/** Keeps from standard error that the interfaces used are experimental. */
function withoutWarnings(task: () => void): void {
  const emitWarning = process.emitWarning.bind(process)
  process.emitWarning = () => {}
  try {
    task()
  } finally {
    process.emitWarning = emitWarning
  }
}

/**
 * `queryObjects` collects everything before it counts, whatever it counts. The engine's own `gc` would need a flag, with which
 * Node.js compiles its modules at every start, or a new context of `node:vm`, with which V8 runs everything a quarter slower
 * for good.
 */
const collectGarbage = (): void => void queryObjects(AbortController, { format: 'count' })

/** With glibc only: 10 MB in 15 ms after a start. Without it, or with an older Node.js, nothing is returned. */
function returnFreeMemory(): void {
  const functions = foreignFunctions()
  if (functions === undefined) return
  try {
    const trim = new functions.DynamicLibrary(null).getFunction('malloc_trim', {
      return: 'int32',
      arguments: ['uint64'],
    })
    trim(0n)
  } catch {
    // this C library has no such function
  }
}
