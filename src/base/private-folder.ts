import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a folder that only its owner can read, and those above it. Not by `recursive: true`, which tries for ever where a file
 * system refuses a new folder by ENOENT, as the kernel's own and automounters do.
 */
export function makePrivateFolder(path: string): void {
  if (existsSync(path)) return
  makePrivateFolder(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (!existsSync(path)) throw error // another process may have made it
  }
}
