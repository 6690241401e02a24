// Handles SIGHUP from the start of the process. An unhandled SIGHUP ends a process, workers too, so the listener must be
// there before the first signal; and one that arrives while the process starts is not lost.
import cluster from 'node:cluster'

/** The action at SIGHUP. */
export interface Sighup {
  /** Runs the action at each SIGHUP from now on, and at once if there was one before. Call it once only. */
  at(work: () => void): void
  stop(): void
}

/** Listens from now on; the primary process of several passes each one on to its workers, when they listen. */
export function listenForSighup(): Sighup {
  let work: (() => void) | undefined
  let isMissed = false
  const listening = new Set<number>()
  const missing = new Set<number>()

  function onSighup(): void {
    if (work) work()
    else isMissed = true
    for (const worker of Object.values(cluster.workers ?? {})) {
      if (!worker) continue
      if (listening.has(worker.id)) worker.process.kill('SIGHUP')
      else missing.add(worker.id)
    }
  }
  const passOn = (worker: { readonly id: number; readonly process: { kill(signal: 'SIGHUP'): boolean } }): void => {
    listening.add(worker.id)
    if (missing.delete(worker.id)) worker.process.kill('SIGHUP')
  }
  const forget = ({ id }: { readonly id: number }): void => {
    listening.delete(id)
    missing.delete(id)
  }

  process.on('SIGHUP', onSighup)
  cluster.on('listening', passOn).on('exit', forget)
  return {
    at(given) {
      work = given
      if (isMissed) given()
    },
    stop() {
      process.off('SIGHUP', onSighup)
      cluster.off('listening', passOn).off('exit', forget)
    },
  }
}
