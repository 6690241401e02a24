import cluster from 'node:cluster'
import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../base/clock.ts'
import { stopwatch, systemClock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { isUsableFile } from '../../base/files/usable-file.ts'
import { createRandom } from '../../base/random.ts'
import type { MasterVault } from '../../base/secrets.ts'
import { hasMasterKey, openVault } from '../../bootstrap/vault.ts'
import type { Config, StorageConfig } from '../../config.ts'
import { masterKeysFor, missingMasterKeyFile } from '../../config.ts'
import type { Log } from '../../ops/log.ts'
import type { MigrationProgress } from '../../store/migrations/migrate.ts'
import { openStore } from '../../store/open.ts'
import type { StoreOptions } from '../../store/open.ts'
import { StoreUnreachable } from '../../store/store.ts'
import type { ReplicaChange, Store } from '../../store/store.ts'
import { CommandFailure } from '../command.ts'

/** The open store with its vault, clock and random source. */
export interface Storage {
  readonly store: Store
  readonly vault: MasterVault
  readonly clock: Clock
  readonly random: Random
}

/**
 * Opens the database and the master key of a server, for a command that runs next to it. Creates neither, and changes no schema: throws
 * `CommandFailure` or `StoreUnavailable`.
 */
export function openStorageBeside(config: StorageConfig): Promise<Storage> {
  refuseMissingDatabase(config.database)
  const keyFile = missingMasterKeyFile(config)
  if (keyFile !== undefined) {
    throw new CommandFailure(`there is no ${keyFile}: run this in the folder of the server, or set LATCHKEY_MASTER_KEY`)
  }
  // Background errors do not matter to a command.
  return openStorage(config, () => {}, { refusesPending: true })
}

/** Opens the database and the master key for a server that has not started yet; creates both if missing. */
export const openStorageToFill = (config: Config): Promise<Storage> =>
  openStorage(config, () => {}, { refusesPending: !config.databaseOptions.migratesAtStart })

async function openStorage(
  config: StorageConfig,
  onError: (cause: unknown) => void,
  options: Omit<StoreOptions, 'clock' | 'onError' | 'changes'>,
): Promise<Storage> {
  const random = createRandom()
  const found = missingMasterKeyFile(config) === undefined ? await masterKeysFor(config, random) : undefined
  const { changes } = config.databaseOptions
  const store = await openStore(config.database, {
    ...options,
    clock: systemClock,
    onError,
    changes,
  })
  try {
    const masterKeys = found ?? (await firstMasterKeys(config, { store, random }))
    const vault = await openVault({ store, masterKeys, random, service: config.service })
    return { store, vault, clock: systemClock, random }
  } catch (error) {
    await store.close() // an open database would keep the process alive
    throw error
  }
}

/** Creates the key of a new database. Throws if the database has one: a new key could not replace a lost one. */
async function firstMasterKeys(
  config: StorageConfig,
  { store, random }: Pick<Storage, 'store' | 'random'>,
): Promise<readonly Buffer[]> {
  const isClaimed = await hasMasterKey(store, config.service)
  const keyFile = missingMasterKeyFile(config) // perhaps another process has made it meanwhile
  if (isClaimed && keyFile !== undefined) {
    throw new CommandFailure(
      `there is no ${keyFile}, and this database has a master key: put it there, or set LATCHKEY_MASTER_KEY`,
    )
  }
  return masterKeysFor(config, random)
}

const WAIT_MS = 20_000
const RETRY_MS = 250

/**
 * Opens the database and the master key for a server: waits for a database that cannot be reached, such as one that starts
 * at the same time, and says so.
 */
export async function openAwaitedStorage(
  config: Config,
  {
    log,
    ...options
  }: Pick<StoreOptions, 'onQuery' | 'onMigrated' | keyof MigrationProgress> & {
    readonly log: Pick<Log, 'info' | 'warn' | 'fault' | 'flush'>
  },
): Promise<Storage> {
  const { replicas: urls, migratesAtStart } = config.databaseOptions
  const onChange = (change: ReplicaChange): unknown => cluster.isWorker || logReplicaChange(change, log)
  const replicas = urls.length === 0 ? undefined : { urls, onChange }
  const open = (): Promise<Storage> =>
    openStorage(config, cause => log.fault('database', cause), {
      ...options,
      replicas,
      refusesPending: !migratesAtStart,
    })
  return whileUnreachable(open, log)
}

/** Retries the work for a while, with a log line, when the database cannot be reached. For work that is safe to repeat. */
export async function whileUnreachable<T>(
  work: () => Promise<T>,
  log: Pick<Log, 'info' | 'warn' | 'flush'>,
): Promise<T> {
  let waiting: (() => number) | undefined
  for (;;) {
    try {
      const result = await work()
      if (waiting) log.info('the database is available')
      return result
    } catch (error) {
      if (!(error instanceof StoreUnreachable) || (waiting?.() ?? 0) > WAIT_MS) throw error
      if (!waiting) {
        log.warn(`waiting for the database, up to ${WAIT_MS / 1000} seconds: ${error.message}`)
        log.flush()
      }
      waiting ??= stopwatch()
      await pause(RETRY_MS)
    }
  }
}

/** For the log: that a start has changed the schema; empty if it has not. A new database has all of them at once. */
export const appliedText = (ids: readonly string[]): string =>
  ids.length === 0 ? '' : `schema brought up to date: ${migrationsText(ids)}`

const migrationsText = (ids: readonly string[]): string =>
  ids.length > 5 ? `${ids.length} migrations, the last one ${ids.at(-1)}` : ids.join(', ')

/** Says what migrations are about, and for what they wait: that may take minutes without any other output. */
export const migrationProgress = (report: (line: string) => void): MigrationProgress => ({
  onPending: ids => report(`the schema is being brought up to date: ${migrationsText(ids)}`),
  onLocked: ({ made, max }) =>
    report(`a migration is waiting for a table lock; attempt ${made} of ${max}, one second apart`),
})

function logReplicaChange({ name, isUsed, reason }: ReplicaChange, log: Pick<Log, 'info' | 'warn'>): void {
  if (isUsed) log.info(`the replica ${name} answers searches`)
  else log.warn(`the replica ${name} is not used, and the primary answers: ${reason}`)
}

/** For the log and the command line, of migrations that this version does not know. */
export const newerText = (ids: readonly string[]): string =>
  ids.length === 0 ? '' : `A newer version has added migrations that this one does not need: ${ids.join(', ')}\n`

/** Prevents a mistyped path from creating a new database and master key. */
export function refuseMissingDatabase(database: string): void {
  if (database === 'sqlite::memory:') throw new CommandFailure('a database in memory belongs to one process')
  const path = /^sqlite:(.+)$/.exec(database)?.[1]
  if (path !== undefined && !isUsableFile(resolve(path))) {
    throw new CommandFailure(
      `there is no database ${resolve(path)}: name the one of the server by --config or --database, run this in the server's working folder, or start the server first`,
    )
  }
}
