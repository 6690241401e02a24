// In-memory databases that start as copies of those of earlier servers of the process: migrating and applying the
// configuration takes most of a start.
import { DatabaseSync } from 'node:sqlite'

let migrated: Uint8Array | undefined
/** With the records of a configuration: the next server of it starts as if once more. */
const prepared = new Map<string, Uint8Array>()

/** A database for one server. */
interface MemoryDatabase {
  readonly memory: DatabaseSync
  /** Call after the migrations. */
  keepMigrated(): void
  /** Call after the bootstrap. */
  keepPrepared(): void
}

/** `recipe` identifies the configuration of the records. */
export function openMemory(recipe: string): MemoryDatabase {
  const memory = new DatabaseSync(':memory:')
  const image = prepared.get(recipe) ?? migrated
  if (image) memory.deserialize(image)
  return {
    memory,
    keepMigrated() {
      migrated ??= memory.serialize()
    },
    keepPrepared() {
      if (!prepared.has(recipe)) prepared.set(recipe, memory.serialize())
    },
  }
}
