import type { FastifyRequest } from 'fastify'
import type { User } from '../../model/users/user.ts'
import { auditOriginOf } from '../../web/requests/requester.ts'
import type { AdminDeps } from '../deps.ts'

/** Records that the caller got a code that stands for the user, who may never see it. */
export function reportCode(
  request: FastifyRequest,
  { user, use }: { readonly user: User; readonly use: 'verification' | 'email change' | 'invitation' },
  { audit }: Pick<AdminDeps, 'audit'>,
): void {
  audit({
    type: 'AccountCodeIssuedEvent',
    zoneId: request.zone.id,
    principal: user.id,
    origin: user.origin,
    byOther: true,
    ...auditOriginOf(request),
    data: use,
  })
}
