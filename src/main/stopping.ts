// The signals that stop the server. They are handled from the start of the process on: process 1 of a container would ignore
// one without a handler, and then serve until it is killed.
import cluster from 'node:cluster'
import type { Server } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Log } from '../ops/log.ts'

const DRAIN_MS = 10_000

/** The connections that the system keeps for a server that has not accepted them yet; Node.js asks for as many. */
const BACKLOG = 511

/** Handles the signals. */
export interface Stopping {
  /**
   * Sets the function that stops the server, which has ten seconds to finish open requests. Before this call a signal ends
   * the process at once, because the next start continues the unfinished work. The status is 0 in both cases. Call it once.
   */
  by(stop: () => Promise<void>): void
}

/** Listens for the signals from now on. */
export function listenForStop(config: Config, log: Log): Stopping {
  let stop: (() => Promise<void>) | undefined
  let isStopping = false

  function handle(signal: NodeJS.Signals): void {
    if (isStopping) return
    isStopping = true
    // Workers are sent a signal by this process, and by a terminal as well.
    if (!cluster.isWorker) log.info(`stopping, by ${signal}${stop ? '' : ', before the start was complete'}`)
    if (!stop) process.exit(0)
    setTimeout(() => process.exit(0), config.operations.stoppingMilliseconds + DRAIN_MS).unref()
    stop().then(
      () => {
        if (!cluster.isWorker) log.info('stopped')
        process.exit(0)
      },
      (cause: unknown) => {
        log.fault('stop', cause)
        process.exit(1)
      },
    )
  }

  for (const signal of stopSignals(config)) process.on(signal, handle)
  return {
    by(given) {
      stop = given
    },
  }
}

/**
 * The signals. `SIGHUP` comes from scripts that expect a reload; without a handler it kills the process without a log entry.
 * From a closed terminal it ends the server at once, because nothing can be written any more. If a command prints the master
 * key, `SIGHUP` runs it again instead.
 */
const stopSignals = ({ masterKey }: Pick<Config, 'masterKey'>): readonly NodeJS.Signals[] =>
  process.stdout.isTTY || masterKey?.from === 'command' ? ['SIGTERM', 'SIGINT'] : ['SIGTERM', 'SIGINT', 'SIGHUP']

/**
 * Accepts the connections that wait for it, until two turns of the event loop find none, of which the first may be over: closing
 * the server would reset them, and a proxy must not send a POST again that it has sent on one. Node.js accepts one in each turn.
 */
export async function acceptWaiting(server: Server): Promise<void> {
  let quietTurns = 0
  server.prependListener('connection', () => (quietTurns = 0))
  for (let turn = 0; quietTurns < 2 && turn < BACKLOG; turn += 1) {
    quietTurns += 1
    await nextTurn()
  }
}
