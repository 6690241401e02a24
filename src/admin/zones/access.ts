import type { FastifyRequest } from 'fastify'
import type { Service } from '../../model/service.ts'
import type { Rights } from '../../web/route.ts'

/** Access to whole records of zones. */
export const zoneReaders = (service: Service): Required<Rights> => ({
  scopes: [service.scope('admin'), 'zones.write'],
  ofDefaultZone: ['zones.read', 'zones.{zone}.admin'],
})

/** Whether it is the id of the default zone. */
export const isDefault = (zoneId: string, { name }: Service): boolean => zoneId === name

/** Callers in another zone than the default one can see only that zone. */
export const isOutside = ({ zone }: FastifyRequest, zoneId: string, service: Service): boolean =>
  !isDefault(zone.id, service) && zone.id !== zoneId
