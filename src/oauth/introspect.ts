import type { FastifyInstance, FastifyRequest } from 'fastify'
import { memberOf } from '../base/json.ts'
import type { Client } from '../model/clients/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { AddressedZone } from '../model/request.ts'
import { supportsProtocol } from '../model/zones/protocols.ts'
import { approvalProblem } from '../token/approvals.ts'
import { clientKey } from '../token/keys/key-choice.ts'
import type { VerifiedToken } from '../token/token-validity.ts'
import { accepts } from '../web/answers.ts'
import { sendJson } from '../web/requests/json.ts'
import { authorizationOf } from '../web/requests/plain-basic.ts'
import { bodyForm } from '../web/route.ts'
import { isRevocable, requireInspector, shownClaims } from './inspection.ts'
import { parseParams } from './params.ts'
import type { Params } from './params.ts'
import type { OAuthDeps } from './deps.ts'

const SIGNED = 'application/token-introspection+jwt'

/** `POST /introspect` (RFC 7662 §2), signed for callers that accept it so (RFC 9701). */
export function introspectEndpoint(app: FastifyInstance, deps: OAuthDeps): void {
  const { behaviour, keys, urls } = deps
  const config = { access: { by: 'client' }, audience: 'api' } as const
  app.post('/introspect', { config }, async (request, reply) => {
    const { zone } = request
    const params = parseParams(bodyForm(request), behaviour)
    const isSigned = accepts(request, SIGNED) && supportsProtocol(zone, 'signedIntrospection', behaviour)
    if (isSigned && isAnonymous(request, params)) {
      throw new OAuthError('invalid_request', 'A signed response is only for callers that authenticate') // RFC 9701 §5
    }
    const client = await requireInspector(request, { params }, deps)
    const token = params.get('token')
    if (token === undefined) throw new OAuthError('invalid_request', 'The token parameter is missing')
    const found = await findActive(zone, token, deps)
    if (isSigned) {
      const seen = found ? introspection(found, behaviour) : { active: false }
      return reply.type(SIGNED).send(await signed(zone, client, seen))
    }
    if (found) return sendJson(reply, introspection(found, behaviour))
    return sendJson(reply, behaviour.standardIntrospection ? { active: false } : { revocable: false, active: false })
  })

  /** RFC 9701 §5: what the token says stays apart, so that the response is never accepted as that token. */
  async function signed(zone: AddressedZone, client: Client, seen: Record<string, unknown>): Promise<string> {
    const key = await clientKey('introspection', { zone, client, keys })
    const iat = Math.floor(deps.clock.now().getTime() / 1000)
    const claims = { iss: urls.issuer(zone), aud: client.clientId, iat, token_introspection: seen }
    return key.sign('token-introspection+jwt', claims)
  }
}

/** Whether the request names no caller at all. */
const isAnonymous = (request: FastifyRequest, params: Params): boolean =>
  authorizationOf(request) === undefined && !['client_id', 'client_assertion'].some(name => params.get(name))

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
