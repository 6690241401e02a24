// Reloads the master keys of a running server: when their file changes, or at SIGHUP where a command prints them.
import { stat } from 'node:fs/promises'
import type { Random } from '../base/random.ts'
import { masterKeyId } from '../base/secrets.ts'
import type { MasterVault } from '../base/secrets.ts'
import type { Config } from '../config.ts'
import { MasterKeyUnavailable, masterKeyPath, readMasterKeys } from '../config.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import type { Sighup } from './sighup.ts'
import { refuseUselessKeys } from './vault.ts'

const LOOK_EVERY_MS = 2000

/** Changes with the file; also defined for a missing file. */
async function stampOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeMs, ctimeMs } = await stat(path)
    return [ino, size, mtimeMs, ctimeMs].join()
  } catch {
    return 'gone'
  }
}

/** Dependencies of `reloadMasterKeys`. */
interface ReloadDeps {
  readonly config: Pick<Config, 'masterKey' | 'database'>
  readonly store: Store
  readonly vault: MasterVault
  readonly random: Random
  /** Absent where no command prints the keys. */
  readonly sighup: Sighup | undefined
  readonly log: { info(message: string): void; warn(message: string): void }
}

/** Keeps the current keys, with a warning, while the new ones cannot be read or do not match the database. */
export function reloadMasterKeys({ config, store, vault, random, sighup, log }: ReloadDeps): () => void {
  let queue = Promise.resolve()
  let seen: string | undefined
  let isWarned = false

  async function reload(isFirst = false): Promise<void> {
    try {
      const masterKeys = await readMasterKeys(config)
      if (masterKeys === undefined) throw new MasterKeyUnavailable('the file is gone')
      if (isFirst && masterKeys.map(masterKeyId).join() === vault.keyIds.join()) return
      await refuseUselessKeys({ store, masterKeys, random })
      vault.useKeys(masterKeys)
      isWarned = false
      const [first, ...others] = vault.keyIds
      log.info(
        `master key: ${first} encrypts from now on${others.length > 0 ? `; only for decryption: ${others.join(', ')}` : ''}`,
      )
    } catch (error) {
      const isUnreachable = error instanceof StoreUnavailable
      if (!isWarned || !isUnreachable) {
        log.warn(`master key: the previous keys stay in use: ${error instanceof Error ? error.message : String(error)}`)
      }
      isWarned = isUnreachable
      if (isUnreachable) seen = undefined // the next look tries again
    }
  }
  // Sequentially, so that the last state of the file wins.
  const onChange = (): void => {
    queue = queue.then(() => reload())
  }
  const path = masterKeyPath(config)
  // By comparing, not by notification: files are often links of a volume, which are exchanged somewhere else. The stamp is
  // older than what is read, so that no change is missed; the first look finds what has changed since the process began.
  async function look(file: string): Promise<void> {
    const stamp = await stampOf(file)
    if (stamp === seen) return
    const isFirst = seen === undefined
    seen = stamp
    queue = queue.then(() => reload(isFirst))
  }
  if (path !== undefined) void look(path)
  const timer = path === undefined ? undefined : setInterval(() => void look(path), LOOK_EVERY_MS).unref()
  sighup?.at(onChange)
  return () => {
    clearInterval(timer)
    sighup?.stop()
  }
}
