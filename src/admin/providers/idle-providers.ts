// UAA: its initial database has three unused providers in the default zone. They can be listed, read and replaced, and do not block
// a provider with the same origin. See docs/compatibility.md, C13.
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import type { AdminDeps } from '../deps.ts'

const IDLE = [
  { originKey: 'keystone', name: 'keystone', active: false },
  { originKey: 'ldap', name: 'UAA LDAP Provider', active: false },
  { originKey: 'login-server', name: 'login-server', active: true },
] as const

const CREATED_AT = new Date(946_684_800_000) // in the year 2000, like all rows of UAA's migrations

/** The stored providers and the idle rows. */
interface ShownProviders {
  /** The zone's providers; in the default zone with the idle rows whose origin has no provider. */
  list(zoneId: string): Promise<readonly IdentityProvider[]>
  /** The idle row with this id, unless its origin has a provider. */
  idleRow(zoneId: string, id: string): Promise<IdentityProvider | undefined>
  readonly isIdleRow: (provider: IdentityProvider) => boolean
}

/** One instance serves every zone. */
export function createShownProviders(deps: AdminDeps): ShownProviders {
  const { store, service, behaviour } = deps
  const idleRows = behaviour.storedProvidersOnly ? [] : IDLE.map(row => idleRow(service.name, row))
  const isIdleRow = (provider: IdentityProvider): boolean => idleRows.includes(provider)

  async function list(zoneId: string): Promise<readonly IdentityProvider[]> {
    const stored = (await store.providers.list(zoneId)).map(({ provider }) => provider)
    if (zoneId !== service.name || idleRows.length === 0) return stored
    const unused = idleRows.filter(row => !stored.some(({ originKey }) => originKey === row.originKey))
    return [...stored, ...unused].toSorted((left, right) => (left.originKey < right.originKey ? -1 : 1))
  }

  return {
    list,
    isIdleRow,
    idleRow: async (zoneId, id) => (await list(zoneId)).find(provider => provider.id === id && isIdleRow(provider)),
  }
}

const idleRow = (zoneId: string, { originKey, name, active }: (typeof IDLE)[number]): IdentityProvider => ({
  zoneId,
  id: originKey,
  originKey,
  type: originKey,
  name,
  active,
  config: {},
  version: 0,
  createdAt: CREATED_AT,
  updatedAt: CREATED_AT,
})
