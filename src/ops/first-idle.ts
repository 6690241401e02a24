// Frees memory that only the start needed: parsed sources and records. The engine would keep it until something makes it
// collect everything, which in an idle server is never.
import { performance } from 'node:perf_hooks'
import { queryObjects } from 'node:v8'

const LOOK_EVERY_MS = 1000
/** Part of a second in which something ran. */
const AT_REST = 0.05
/** Bytes; just started, a server has 30 MB. The collection visits every object twice. */
const MAX_HEAP = 48 * 1024 * 1024

/**
 * Collects once after the first second in which next to nothing is asked of the server, unless it has so many objects by then
 * that others would wait: the main thread stands still, a tenth of a second for 20 MB.
 */
export function collectGarbageWhenIdle(): void {
  let before = performance.eventLoopUtilization()
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    if (utilization > AT_REST) return
    clearInterval(timer)
    if (process.memoryUsage().heapUsed <= MAX_HEAP) collectGarbage()
  }, LOOK_EVERY_MS)
  timer.unref()
}

/**
 * `queryObjects` collects everything before it counts, whatever it counts. The engine's own `gc` would need a flag, with which
 * Node.js compiles its modules at every start, or a new context of `node:vm`, with which V8 runs everything a quarter slower
 * for good.
 */
function collectGarbage(): void {
  const emitWarning = process.emitWarning.bind(process)
  process.emitWarning = () => {} // that queryObjects is experimental, on the standard error of the server
  try {
    queryObjects(AbortController, { format: 'count' })
  } finally {
    process.emitWarning = emitWarning
  }
}
