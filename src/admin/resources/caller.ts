// The caller of a management API, for the rules of users, groups and providers.
import type { FastifyRequest } from 'fastify'
import type { Service } from '../../model/service.ts'
import type { Caller } from '../../users/caller.ts'
import type { GroupCaller } from '../../users/groups/group-rights.ts'
import { hasRight } from '../../web/callers/bearer.ts'
import { auditOriginOf } from '../../web/requests/requester.ts'

/** The caller, for the audit trail. */
export const callerOf = (request: FastifyRequest): Caller => ({
  ...auditOriginOf(request),
  ...(request.bearer?.user && { userId: request.bearer.user.id }),
})

/** The caller with the scopes of their token. */
export const groupCallerOf = (request: FastifyRequest, service: Service): GroupCaller => ({
  ...callerOf(request),
  scopes: request.bearer?.scopes ?? [],
  ofDefaultZone: request.bearer?.client.zoneId === service.name,
})

/** The same for changes that can reach other zones: `<service>.admin` counts only in a token of the default zone. */
export const serverCallerOf = (
  request: FastifyRequest,
  service: Service,
): GroupCaller & { readonly isServerAdmin: boolean } => ({
  ...groupCallerOf(request, service),
  isServerAdmin: hasRight(request, { scopes: [], ofDefaultZone: [service.scope('admin')] }, service),
})
