import { existsSync } from 'node:fs'
import type { Clock } from '../base/clock.ts'
import { systemClock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { createRandom } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
import { createVault } from '../base/secrets.ts'
import type { Config } from '../config.ts'
import { masterKeyFor } from '../config.ts'
import { openStore } from '../store/open.ts'
import type { Store } from '../store/store.ts'
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

/** Prevents a mistyped path from creating a new database and master key. */
export function refuseMissingDatabase(database: string): void {
  if (database === 'sqlite::memory:') throw new CommandFailure('a database in memory belongs to one process')
  const path = /^sqlite:(.+)$/.exec(database)?.[1]
  if (path !== undefined && !existsSync(path)) {
    throw new CommandFailure(`there is no database ${path}: start the server first`)
  }
}
