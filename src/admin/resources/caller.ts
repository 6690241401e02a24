// The caller of a management API, as the rules of users, groups and providers need it.
import type { FastifyRequest } from 'fastify'
import type { Service } from '../../model/service.ts'
import type { GroupCaller } from '../../users/group-rights.ts'
import { hasRight } from '../../web/callers/bearer.ts'
import { auditOriginOf } from '../../web/requests/requester.ts'

/** The caller with the scopes of their token. `<service>.admin` counts only in a token of the default zone. */
export const groupCallerOf = (request: FastifyRequest, service: Service): GroupCaller & { isServerAdmin: boolean } => ({
  ...auditOriginOf(request),
  ...(request.bearer?.user && { userId: request.bearer.user.id }),
  scopes: request.bearer?.scopes ?? [],
  ofDefaultZone: request.bearer?.client.zoneId === service.name,
  isServerAdmin: hasRight(request, { scopes: [], ofDefaultZone: [service.scope('admin')] }, service),
})
