// The directories' code, loaded with the first sign-in at one: most servers have no directory.
import type { Directories, DirectoryDeps } from './directory.ts'

/** The same as `createDirectories`. */
export function createDeferredDirectories(deps: DirectoryDeps): Directories {
  let loading: Promise<Directories> | undefined
  const load = (): Promise<Directories> =>
    (loading ??= import('./directory.ts').then(
      ({ createDirectories }) => createDirectories(deps),
      (cause: unknown) => {
        loading = undefined // the next sign-in tries again
        throw cause
      },
    ))
  return {
    authenticate: async (settings, attempt) => (await load()).authenticate(settings, attempt),
    // What could not be loaded has nothing to close.
    close: () =>
      void loading?.then(
        directories => directories.close(),
        () => {},
      ),
  }
}
