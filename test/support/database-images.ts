// Databases that start as copies: migrating one and applying the configuration takes most of a server's start.
import { existsSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { openStore } from '../../src/store/open.ts'
import { createTestClock } from './clock.ts'

let migrated: Promise<Uint8Array> | undefined
/** An image with the records of a configuration: the next server with it starts like after a restart. */
const prepared = new Map<string, Uint8Array>()

/** A database for one server. */
interface MemoryDatabase {
  readonly memory: DatabaseSync
  /** Call after the bootstrap. */
  keepPrepared(): void
}

/** `recipe` identifies the configuration of the records. */
export async function openMemory(recipe: string): Promise<MemoryDatabase> {
  const memory = await openMigrated(prepared.get(recipe))
  return {
    memory,
    keepPrepared() {
      if (!prepared.has(recipe)) prepared.set(recipe, memory.serialize())
    },
  }
}

/** A database in memory that has all tables. */
export async function openMigrated(image?: Uint8Array): Promise<DatabaseSync> {
  const memory = new DatabaseSync(':memory:')
  memory.deserialize(image ?? (await migratedImage()))
  return memory
}

/** Makes the file of `sqlite:<path>` with all tables in it, unless it is there. */
export async function fillNewFile(url: string): Promise<void> {
  const file = url.replace(/^sqlite:/, '')
  if (file !== url && !existsSync(file)) writeFileSync(file, await migratedImage(), { mode: 0o600 })
}

/** Made once in each process. */
function migratedImage(): Promise<Uint8Array> {
  migrated ??= (async () => {
    const memory = new DatabaseSync(':memory:')
    const store = await openStore('sqlite::memory:', { clock: createTestClock(), memory })
    const image = memory.serialize()
    await store.close()
    return image
  })()
  return migrated
}
