import type { FastifyRequest } from 'fastify'
import type { Requester } from '../../base/concurrency/fair-queue.ts'
import type { AuditOrigin } from '../../model/audit/event.ts'
import { addressOf } from './request-context.ts'

/** The zone and address under which `FairQueue` queues a request's slow work. */
export const requesterOf = ({ zone, ip }: FastifyRequest): Requester => ({ zoneId: zone.id, address: ip })

/** The request's address, and client and user of its bearer token, for the audit trail. */
export function auditOriginOf(request: FastifyRequest): AuditOrigin {
  const { bearer } = request
  return {
    remoteAddress: addressOf(request),
    ...(bearer && { clientId: bearer.client.clientId }),
    ...(bearer?.user && { actor: bearer.user.id }),
  }
}
