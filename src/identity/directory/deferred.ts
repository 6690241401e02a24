// The directories' code, loaded with the first sign-in at one: most servers have no directory.
import { loadOnce } from '../../base/concurrency/load-once.ts'
import type { Directories, DirectoryDeps } from './directory.ts'

/** The same as `createDirectories`. */
export function createDeferredDirectories(deps: DirectoryDeps): Directories {
  let opened: Directories | undefined
  const load = loadOnce(async () => (opened = (await import('./directory.ts')).createDirectories(deps)))
  return {
    authenticate: async (settings, attempt) => (await load()).authenticate(settings, attempt),
    close: () => opened?.close(),
  }
}
