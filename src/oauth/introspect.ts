import type { FastifyInstance } from 'fastify'
import { memberOf } from '../base/json.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { AddressedZone } from '../model/request.ts'
import { approvalProblem } from '../token/approvals.ts'
import type { VerifiedToken } from '../token/token-validity.ts'
import { sendJson } from '../web/requests/json.ts'
import { bodyForm } from '../web/route.ts'
import { isRevocable, requireInspector, shownClaims } from './inspection.ts'
import { parseParams } from './params.ts'
import type { OAuthDeps } from './deps.ts'

/** `POST /introspect` (RFC 7662 §2). */
export function introspectEndpoint(app: FastifyInstance, deps: OAuthDeps): void {
  const { behaviour } = deps
  const config = { access: { by: 'client' }, audience: 'api' } as const
  app.post('/introspect', { config }, async (request, reply) => {
    const params = parseParams(bodyForm(request), behaviour)
    await requireInspector(request, { params }, deps)
    const token = params.get('token')
    if (token === undefined) throw new OAuthError('invalid_request', 'The token parameter is missing')
    const found = await findActive(request.zone, token, deps)
    if (found) return sendJson(reply, introspection(found, behaviour))
    return sendJson(reply, behaviour.standardIntrospection ? { active: false } : { revocable: false, active: false })
  })
}

/** The token, or undefined for one that is not active, for any reason (RFC 7662 §2.2). */
async function findActive(zone: AddressedZone, token: string, deps: OAuthDeps): Promise<VerifiedToken | undefined> {
  try {
    const found = await deps.reader.read({ zone, inspected: true }, token)
    return (await approvalProblem(zone, found, found.scopes, deps)) === undefined ? found : undefined
  } catch (error) {
    if (error instanceof OAuthError) return undefined
    throw error
  }
}

function introspection(found: VerifiedToken, { standardIntrospection }: Behaviour): Record<string, unknown> {
  if (!standardIntrospection) {
    return { ...shownClaims(found), scope: found.scopes, revocable: isRevocable(found), active: true }
  }
  return {
    active: true,
    ...shownClaims(found),
    scope: found.scopes.join(' '),
    username: found.user?.userName,
    token_type: isBoundToKey(found) ? 'DPoP' : 'bearer',
    revocable: isRevocable(found),
  }
}

const isBoundToKey = ({ claims }: VerifiedToken): boolean => memberOf(claims['cnf'], 'jkt') !== undefined
