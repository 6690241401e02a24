// UAA: its initial database has three unused providers in the default zone. They can be listed, read and replaced, and do not block
// a provider with the same origin. See docs/compatibility.md, C13.
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'

const ROWS = [
  { originKey: 'keystone', name: 'keystone', active: false },
  { originKey: 'ldap', name: 'UAA LDAP Provider', active: false },
  { originKey: 'login-server', name: 'login-server', active: true },
] as const

const CREATED_AT = new Date(946_684_800_000) // in the year 2000, like all rows of UAA's migrations
const made = new WeakSet<IdentityProvider>()

/** Whether the provider is one of these rows. */
export const isIdleRow = (provider: IdentityProvider): boolean => made.has(provider)

/** The zone's providers; in the default zone with the idle rows whose origin has no provider. */
export function withIdleRows(
  stored: readonly IdentityProvider[],
  zoneId: string,
  defaultZoneId: string,
): readonly IdentityProvider[] {
  if (zoneId !== defaultZoneId) return stored
  const missing = ROWS.filter(({ originKey }) => !stored.some(provider => provider.originKey === originKey))
  const rows = missing.map(({ originKey, name, active }): IdentityProvider => {
    const dates = { createdAt: CREATED_AT, updatedAt: CREATED_AT }
    return { zoneId, id: originKey, originKey, type: originKey, name, active, config: {}, version: 0, ...dates }
  })
  for (const row of rows) made.add(row)
  return [...stored, ...rows].toSorted((left, right) => (left.originKey < right.originKey ? -1 : 1))
}

/** The idle row with this id, unless its origin has a provider. */
export const findIdleRow = (id: string, ...zone: Parameters<typeof withIdleRows>): IdentityProvider | undefined =>
  withIdleRows(...zone).find(row => row.id === id && isIdleRow(row))
