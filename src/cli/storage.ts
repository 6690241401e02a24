import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'
import { stopwatch, systemClock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { createRandom } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
import { createVault } from '../base/secrets.ts'
import type { Config } from '../config.ts'
import { masterKeyFor } from '../config.ts'
import type { Log } from '../ops/log.ts'
import { openStore } from '../store/open.ts'
import { StoreAway, type Store } from '../store/store.ts'
import { CommandFailure } from './command.ts'

/** The open store with its vault, clock and random source. */
export interface Storage {
  readonly store: Store
  readonly vault: Vault
  readonly clock: Clock
  readonly random: Random
}

/** Opens the database of a configuration and its master key, for the server and for commands beside it. */
export async function openStorage(
  config: Config,
  onError: (cause: unknown) => void,
  onQuery?: (milliseconds: number) => void,
): Promise<Storage> {
  const random = createRandom()
  const vault = createVault(await masterKeyFor(config, random), random)
  const store = await openStore(config.database, { clock: systemClock, onError, onQuery })
  return { store, vault, clock: systemClock, random }
}

const WAIT_MS = 20_000
const RETRY_MS = 250

/**
 * As `openStorage`, for a server: waits for a database that cannot be reached, such as one that starts at the same time, and
 * says so. `SIGTERM` and `SIGINT` end the process meanwhile, with status 0.
 */
export async function openAwaitedStorage(
  config: Config,
  {
    log,
    onQuery,
  }: {
    readonly log: Pick<Log, 'info' | 'warn' | 'fault' | 'flush'>
    readonly onQuery: ((milliseconds: number) => void) | undefined
  },
): Promise<Storage> {
  const leave = (): void => process.exit(0)
  const signals = ['SIGTERM', 'SIGINT'] as const
  const elapsed = stopwatch()
  let waits = false
  for (const signal of signals) process.on(signal, leave)
  try {
    for (;;) {
      try {
        const storage = await openStorage(config, cause => log.fault('database', cause), onQuery)
        if (waits) log.info('the database answers')
        return storage
      } catch (error) {
        if (!(error instanceof StoreAway) || elapsed() > WAIT_MS) throw error
        if (!waits) log.warn(`waiting for the database, up to ${WAIT_MS / 1000} seconds: ${error.message}`)
        if (!waits) log.flush()
        waits = true
        await pause(RETRY_MS)
      }
    }
  } finally {
    for (const signal of signals) process.off(signal, leave)
  }
}

/** Prevents a mistyped path from creating a new database and master key. */
export function refuseMissingDatabase(database: string): void {
  if (database === 'sqlite::memory:') throw new CommandFailure('a database in memory belongs to one process')
  const path = /^sqlite:(.+)$/.exec(database)?.[1]
  if (path !== undefined && !existsSync(path)) {
    throw new CommandFailure(`there is no database ${path}: start the server first`)
  }
}
