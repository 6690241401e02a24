// The state of an import from a UAA, so that no server starts with half of the records, and a finished import is
// not repeated over later changes.
import type { Store } from '../store/store.ts'
import { BootstrapError } from './bootstrap-error.ts'

const RECORD = ['import', 'uaa'] as const

/** The state of an import. */
type ImportState = 'begun' | 'finished'

/** Undefined if there was none. */
export async function importState({ bootstrap }: Store, service: string): Promise<ImportState | undefined> {
  const state = await bootstrap.applied(service, ...RECORD)
  return state === 'begun' || state === 'finished' ? state : undefined
}

/** Records the state. */
export const rememberImport = ({ bootstrap }: Store, service: string, state: ImportState): Promise<void> =>
  bootstrap.remember(service, ...RECORD, state)

/** Throws `BootstrapError` if an import was started and has not finished. */
export async function refuseUnfinishedImport(store: Store, service: string): Promise<void> {
  if ((await importState(store, service)) !== 'begun') return
  throw new BootstrapError(
    'an import from a UAA was started in this database and has not finished: run latchkey import-uaa again',
  )
}
