import type { FastifyRequest } from 'fastify'
import type { Requester } from '../base/fair-queue.ts'

/** The zone and address that a request's slow work is queued under. */
export const requesterOf = ({ zone, ip }: FastifyRequest): Requester => ({ zoneId: zone.id, address: ip })
