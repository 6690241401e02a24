import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a folder that only its owner can read, and missing parents. Not by `recursive: true`, which retries forever where a
 * file system answers ENOENT to a new folder, as those of the kernel and of automounters do.
 */
export function makePrivateFolder(path: string): void {
  if (existsSync(path)) return
  const parent = dirname(path)
  if (parent !== path) makePrivateFolder(parent) // the root is its own parent: a drive that does not exist
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (!existsSync(path)) throw error // another process may have made it
  }
}
