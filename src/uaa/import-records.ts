// Imports the records of a UAA: zones first, then what is in them, in the order in which one refers to another. Reads UAA's database
// and writes through the store; existing records are left unchanged, so that an interrupted run can be continued.
import { importClients } from './clients.ts'
import { importApprovals, importTokens } from './grants.ts'
import { importExternalGroups, importGroups, importMembers } from './groups.ts'
import type { ImportDeps } from './import-deps.ts'
import { importProviders } from './providers.ts'
import { importUsers } from './users.ts'
import { importZones } from './zones.ts'

/** Imports everything. False when the default zone cannot be taken: then nothing else was tried. */
export async function importRecords(given: Omit<ImportDeps, 'zones'>): Promise<boolean> {
  const deps: ImportDeps = { ...given, zones: new Map() }
  await importZones(deps)
  if (deps.zones.get(deps.rules.service.name) !== true) return false
  await importProviders(deps)
  await importClients(deps)
  await importGroups(deps)
  await importUsers(deps)
  await importMembers(deps)
  await importExternalGroups(deps)
  await importApprovals(deps)
  await importTokens(deps)
  return true
}
