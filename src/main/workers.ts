// The worker processes of the primary process. Loaded only where there are any.
import cluster from 'node:cluster'
import { StartFailure } from '../cli/command.ts'
import type { Log } from '../ops/log.ts'

const RESTART_PAUSE_MS = 1000

/** Starts the workers and waits until all of them listen; ends them if one of them cannot start. */
export async function startWorkers(count: number, isStopping: () => boolean): Promise<void> {
  // The workers accept from one socket themselves. Handed over by this process instead, a connection would be lost, and
  // hang, when its worker is killed before taking it.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  const { promise: areReady, resolve, reject } = Promise.withResolvers<void>()
  let ready = 0
  const onListening = (): void => {
    ready += 1
    if (ready === count) resolve()
  }
  const onExit = (_worker: unknown, status: number | null, signal: string | null): void => {
    if (isStopping()) return
    reject(new StartFailure(`a worker could not start: it ended with ${endOf(status, signal)}`))
  }
  cluster.on('listening', onListening).on('exit', onExit)
  try {
    for (let i = 0; i < count; i += 1) cluster.fork()
    await areReady
  } catch (error) {
    await stopWorkers('SIGKILL')
    throw error
  } finally {
    cluster.off('listening', onListening).off('exit', onExit)
  }
}

/** Starts another worker for each that ends. */
export function restartWorkers({ log, isStopping }: { readonly log: Log; readonly isStopping: () => boolean }): void {
  cluster.on('exit', ({ process: { pid } }, status, signal) => {
    if (isStopping()) return
    log.warn(`worker ${pid} ended with ${endOf(status, signal)}; starting another`)
    // After a pause, so that a fault that ends every worker at once does not cause a restart storm.
    setTimeout(() => isStopping() || cluster.fork(), RESTART_PAUSE_MS)
  })
}

/** Sends the signal to every running worker and waits for their end. */
export async function stopWorkers(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const running = Object.values(cluster.workers ?? {}).filter(worker => worker !== undefined && !worker.isDead())
  await Promise.all(
    running.map(
      worker =>
        new Promise(resolve => {
          worker?.once('exit', resolve)
          worker?.process.kill(signal)
        }),
    ),
  )
}

/** How a worker ended, for the log. */
const endOf = (status: number | null, signal: string | null): string =>
  signal === null ? `status ${status}` : `signal ${signal}`
