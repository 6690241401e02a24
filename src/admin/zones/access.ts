import type { Service } from '../../model/service.ts'
import type { Rights } from '../../web/route.ts'

/** Access to whole records of zones. */
export const zoneReaders = (service: Service): Required<Rights> => ({
  scopes: [service.scope('admin'), 'zones.write'],
  ofDefaultZone: ['zones.read', 'zones.{zone}.admin'],
})
