// Returns unused memory to the system. Nothing else would do so on an idle server: the engine runs a full collection only when it
// needs space, and glibc keeps free memory that lies between two blocks in use.
import { performance } from 'node:perf_hooks'
import { getHeapStatistics, queryObjects } from 'node:v8'
import { foreignFunctions } from '../base/foreign-functions.ts'

const LOOK_EVERY_MS = 1000
/** The share of a second during which the event loop was busy. */
const BUSY = 0.5
const AT_REST = 0.05
/** Bytes; just started, a server has 30 MB. The collection visits every object twice. */
const MAX_HEAP = 48 * 1024 * 1024

/**
 * Frees memory in the first idle second after the start, and after each busy period. After the start it also collects garbage,
 * such as parsed sources and records, unless the heap is so large that requests would wait: collection blocks the main thread
 * for a tenth of a second for 20 MB.
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

/** Suppresses the warnings on standard error that the interfaces used are experimental. */
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
 * `queryObjects` always runs a full collection before it counts. The engine's own `gc` would need a flag, with which Node.js
 * compiles its modules at every start, or a new context of `node:vm`, after which V8 runs everything a quarter slower
 * permanently.
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
