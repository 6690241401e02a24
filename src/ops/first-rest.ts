// Frees memory that only the start needed: parsed sources and records. The engine would keep it until something makes it
// collect everything, which in an idle server is never.
import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const LOOK_EVERY_MS = 1000
/** Part of a second in which something ran. */
const AT_REST = 0.05

/** Collects once, in less than a tenth of a second, after the first second in which next to nothing is asked of the server. */
export function collectAtFirstRest(): void {
  let before = performance.eventLoopUtilization()
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    if (utilization > AT_REST) return
    clearInterval(timer)
    collectEverything()
  }, LOOK_EVERY_MS)
  timer.unref()
}

/** The engine's own collector, which has no other way in. */
function collectEverything(): void {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect({ type: 'major', flavor: 'last-resort' })
}
