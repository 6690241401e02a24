// Stores a user's decision about a device, which polls for its tokens, and records it in the audit trail.
import type { FastifyRequest } from 'fastify'
import { digest } from '../../base/secrets.ts'
import { signInTime } from '../../model/sessions/session.ts'
import { isAutoApproved } from '../../model/tokens/scopes.ts'
import type { GrantedScopes } from '../../model/tokens/scopes.ts'
import { revocationSignature } from '../../token/revocation-signature.ts'
import { originOf } from '../../web/requests/request-context.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import { recordDecisions } from '../approval-decisions.ts'
import type { DeviceQuestion } from './device-question.ts'
import type { OAuthDeps } from '../deps.ts'

/** The decision of a user: the scopes that the page showed, allowed or not. */
interface DeviceDecision {
  readonly signedIn: SignedInUser
  readonly question: DeviceQuestion
  readonly scopes: GrantedScopes
  readonly isAllowed: boolean
}

/** Stores the decision for the device, which can be decided once; false if that is no longer possible. */
export async function decideOnce(
  request: FastifyRequest,
  { signedIn, question, scopes, isAllowed }: DeviceDecision,
  deps: OAuthDeps,
): Promise<boolean> {
  const { store, clock, random, audit, behaviour } = deps
  const { zone } = request
  const { user, session } = signedIn
  const { code, client, device } = question
  if (isAllowed) await recordApproval(request, { signedIn, question, scopes }, deps)
  const { amr, acr } = session.signIn
  const grant = {
    userId: user.id,
    scopes,
    resources: device.resources,
    authenticatedAt: signInTime(session, behaviour),
    amr,
    acr,
    grantId: random.hex(16),
    revocationSignature: revocationSignature(client, user),
  }
  const isDecided = await store.devices.decide(zone.id, digest(code), isAllowed ? grant : undefined, clock.now())
  if (!isDecided) return false
  audit({
    type: isAllowed ? 'DeviceApprovedEvent' : 'DeviceDeniedEvent',
    zoneId: zone.id,
    principal: user.id,
    clientId: client.clientId,
    ...originOf(request),
    data: JSON.stringify({ scopes, from: device.remoteAddress }),
  })
  return true
}

/** Stores the approvals, which also apply to later requests, and which the user can revoke. */
async function recordApproval(
  request: FastifyRequest,
  { signedIn, question, scopes }: Omit<DeviceDecision, 'isAllowed'>,
  deps: OAuthDeps,
): Promise<void> {
  const { client } = question
  const decisions = scopes
    .filter(scope => !isAutoApproved(client, scope))
    .map(scope => ({ scope, status: 'APPROVED' as const }))
  if (decisions.length > 0) await recordDecisions(request, { user: signedIn.user, client, decisions }, deps)
}
