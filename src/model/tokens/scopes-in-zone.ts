import type { Service } from '../service.ts'

/** Rights that `zones.<id>.` may prefix. These two keep the prefix in the zone; the others below lose it. */
const KEPT_WHOLE = ['admin', 'read']
const SHORTENED = [
  'clients.admin',
  'clients.read',
  'clients.write',
  'scim.read',
  'scim.write',
  'scim.create',
  'scim.invite',
  'idps.read',
  'idps.write',
  'sps.read',
  'sps.write',
  'audit.read',
]

/** The token's scopes as they apply in the zone with this id. */
export function scopesInZone(scopes: readonly string[], zoneId: string, service: Service): readonly string[] {
  const prefix = `zones.${zoneId}.`
  const whole = [service.scope('admin'), ...KEPT_WHOLE.map(right => prefix + right)]
  return [
    ...whole.filter(scope => scopes.includes(scope)),
    ...SHORTENED.filter(right => scopes.includes(prefix + right)),
  ]
}
