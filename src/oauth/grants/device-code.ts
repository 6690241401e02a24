import { digest } from '../../base/secrets.ts'
import type { Authorization } from '../../model/tokens/authorization.ts'
import type { DeviceDecision } from '../../model/tokens/device-code.ts'
import { concerningUser, OAuthError } from '../../model/oauth-error.ts'
import type { GrantedScopes } from '../../model/tokens/scopes.ts'
import type { User } from '../../model/users/user.ts'
import { isCurrentSignature } from '../../token/revocation-signature.ts'
import { tokenFormatOf } from '../params.ts'
import { approvalProblem } from '../../token/approvals.ts'
import type { DecidedRequest, Grant, GrantDeps, GrantRequest } from './grant.ts'
import { stillGranted } from './still-granted.ts'
import { DEVICE_CODE } from '../../model/clients/grant-types.ts'

/** Gives a device its tokens once a user has allowed it (RFC 8628 §3.4). */
export const deviceCode: Grant = {
  type: DEVICE_CODE,
  caller: 'client',
  async authorize(request, deps) {
    const { zone, client } = request
    const decision = await decisionOf(request, deps)
    const user = await deps.store.users.findWithGroups(zone.id, decision.userId)
    // A new password, a new e-mail address or a revocation makes it invalid as it does tokens.
    if (!user?.active || !isCurrentSignature(decision.revocationSignature, client, user)) throw unknown()
    const scopes = await concerningUser(user, () => stillGranted({ scopes: decision.scopes, user }, request, deps))
    // A tricked user may have withdrawn the approval before the device asked.
    const unapproved = await approvalProblem(zone, { user, client, claims: { grant_type: DEVICE_CODE } }, scopes, deps)
    if (unapproved !== undefined) throw unknown()
    return authorizeByDecision({ decision, user, scopes }, request)
  },
}

/** The authorization for tokens of a device, from the user's decision. */
export function authorizeByDecision(
  {
    decision,
    user,
    scopes,
  }: {
    readonly decision: Pick<DeviceDecision, 'authenticatedAt' | 'amr' | 'acr' | 'grantId' | 'resources'>
    readonly user: User
    readonly scopes: GrantedScopes
  },
  { zone, client, params, clientAuthMethod }: DecidedRequest,
): Authorization {
  const format = tokenFormatOf(params)
  return {
    zone,
    client,
    grantType: DEVICE_CODE,
    subject: {
      kind: 'user',
      user,
      ...(decision.authenticatedAt && { authenticatedAt: decision.authenticatedAt }),
      amr: decision.amr,
      acr: decision.acr,
    },
    scopes,
    tokens: ['access_token', 'refresh_token', 'id_token'],
    grantId: decision.grantId,
    ...(format && { format }),
    ...(decision.resources && { resources: decision.resources }),
    ...(clientAuthMethod !== undefined && { clientAuthMethod }),
  }
}

/** RFC 8628 §3.5. */
async function decisionOf(
  { zone, client, params, undoOnFailure }: GrantRequest,
  { store, clock }: GrantDeps,
): Promise<DeviceDecision> {
  const code = params.get('device_code')
  if (code === undefined) throw new OAuthError('invalid_request', 'The device_code is missing')
  const device = { codeDigest: digest(code), clientId: client.clientId }
  const now = clock.now()
  const poll = await store.devices.poll(zone.id, device, now)
  switch (poll.outcome) {
    case 'approved':
      undoOnFailure(() => store.devices.undoPoll(zone.id, device, now))
      return poll.decision
    case 'pending':
      throw new OAuthError('authorization_pending', 'The request of the device has not been decided yet')
    case 'early':
      throw new OAuthError('slow_down', 'Add five seconds to the polling interval')
    case 'expired':
      throw new OAuthError('expired_token', 'The device_code has expired')
    case 'denied':
      throw new OAuthError({ error: 'access_denied', status: 400 }, 'The user denied the request of this device')
    case 'unknown':
      throw unknown()
  }
}

const unknown = (): OAuthError => new OAuthError('invalid_grant', 'The device_code is not valid')
