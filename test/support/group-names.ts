import type { Store } from '../../src/store/store.ts'

/** Names of all groups of the zone. */
export async function groupNamesOf({ zones }: Pick<Store, 'zones'>, zoneId: string): Promise<readonly string[]> {
  const names: string[] = []
  for await (const page of zones.groupNames(zoneId)) names.push(...page)
  return names
}
