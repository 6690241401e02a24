import { accessSync, constants } from 'node:fs'

/**
 * Whether the file exists. Unlike `existsSync`, it throws the error of the file system if the account may not read it, or not use it
 * in another way: SQLite would say only that it cannot open it.
 */
export function isUsableFile(path: string, mode = constants.R_OK): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw error
  }
}
