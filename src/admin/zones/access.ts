import type { FastifyRequest } from 'fastify'
import type { Service } from '../../model/service.ts'
import type { Rights } from '../../web/route.ts'

/** Access to whole records of zones. */
export const zoneReaders = (service: Service): Required<Rights> => ({
  scopes: [service.scope('admin'), 'zones.write'],
  ofDefaultZone: ['zones.read', 'zones.{zone}.admin'],
})

/** Callers in another zone than the default one can see only that zone. */
export const isOutside = (request: FastifyRequest, zoneId: string, service: Service): boolean =>
  request.zone.id !== service.name && request.zone.id !== zoneId
