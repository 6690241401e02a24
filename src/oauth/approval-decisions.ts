import type { FastifyRequest } from 'fastify'
import { addSeconds } from '../base/clock.ts'
import type { Client } from '../model/clients/client.ts'
import { APPROVAL_SECONDS } from '../model/users/approval.ts'
import type { Approval } from '../model/users/approval.ts'
import type { User } from '../model/users/user.ts'
import { originOf } from '../web/requests/request-context.ts'
import type { OAuthDeps } from './deps.ts'

/** A user's decisions about the scopes that a client requested. */
interface Decisions {
  readonly user: User
  readonly client: Client
  readonly decisions: readonly Pick<Approval, 'scope' | 'status'>[]
}

/** Keeps the decisions for `APPROVAL_SECONDS`, so that the user is not asked again, and records them for the audit. */
export async function recordDecisions(
  request: FastifyRequest,
  { user, client, decisions }: Decisions,
  { store, clock, audit }: OAuthDeps,
): Promise<void> {
  const { id: userId, zoneId } = user
  const { clientId } = client
  const now = clock.now()
  const expiresAt = addSeconds(now, APPROVAL_SECONDS)
  const approvals = decisions.map(decision => ({ zoneId, userId, clientId, ...decision, expiresAt, updatedAt: now }))
  await store.approvals.save(zoneId, approvals)
  const data = decisions.map(({ scope, status }) => `${scope} ${status}`).join(', ')
  audit({ type: 'ApprovalModifiedEvent', zoneId, principal: userId, ...originOf(request), clientId, data })
}
