import type { FastifyInstance } from 'fastify'
import type { Client } from '../model/clients/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { AddressedZone } from '../model/request.ts'
import type { User } from '../model/users/user.ts'
import { fullName } from '../model/users/user.ts'
import { supportsProtocol } from '../model/zones/protocols.ts'
import { clientKey } from '../token/keys/key-choice.ts'
import { customAttributes, nonEmpty, roles, userClaims } from '../token/user-claims.ts'
import { insufficientScope } from '../web/callers/authorization-header.ts'
import { sendJson } from '../web/requests/json.ts'
import type { OAuthDeps } from './deps.ts'

/** `/userinfo` (OpenID Connect Core §5.3). */
export function userinfoEndpoint(app: FastifyInstance, deps: OAuthDeps): void {
  const { behaviour, subjects, keys, urls } = deps
  app.route({
    // UAA: by any method. See docs/compatibility.md, T5.
    method: behaviour.getOrPostUserinfo ? ['GET', 'POST'] : ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'],
    url: '/userinfo',
    config: { access: { by: 'bearer', resource: 'openid' }, audience: 'api' },
    handler: async (request, reply) => {
      const { user, scopes, client } = request.bearer ?? {}
      if (!user || !scopes || !client) throw new OAuthError('access_denied', 'The token was not issued for a user')
      // A scope such as openid.x, or a client of that name, puts openid into the audience too.
      if (!scopes.includes('openid')) throw insufficientScope(['openid'])
      const { zone } = request
      const sub = subjects.of(zone, client, user)
      const claims = userInfo(user, scopes, { behaviour, sub, isPairwise: subjects.isPairwise(zone, client) })
      if (client.userinfoSignedResponseAlg === undefined || !supportsProtocol(zone, 'signedUserinfo', behaviour)) {
        return sendJson(reply, claims)
      }
      const jwt = await signed(zone, client, { ...claims, iss: urls.issuer(zone), aud: client.clientId })
      return reply.type('application/jwt').send(jwt)
    },
  })

  /** OpenID Connect Core §5.3.2; of a type of its own, so that it is never taken for an ID token (RFC 8725 §3.11). */
  async function signed(zone: AddressedZone, client: Client, claims: Record<string, unknown>): Promise<string> {
    const key = await clientKey('userinfo', { zone, client, keys })
    return key.sign('userinfo+jwt', claims)
  }
}

/** Claims about the user (OpenID Connect Core §5.3.2, row T6); absent members are left out. */
function userInfo(
  user: User,
  scopes: readonly string[],
  { behaviour, sub, isPairwise }: { readonly behaviour: Behaviour; readonly sub: string; readonly isPairwise: boolean },
): Record<string, unknown> {
  const has = (scope: string): boolean => scopes.includes(scope)
  const fromProvider = {
    user_attributes: has('user_attributes') ? customAttributes(user) : undefined,
    roles: has('roles') ? roles(user) : undefined,
  }
  // A pairwise client must not get identifiers that other clients have, unless a scope allows it.
  if (isPairwise) return { sub, ...userClaims(user, has), ...fromProvider }
  const identity = { user_id: user.id, sub, user_name: user.userName }
  if (!behaviour.claimsByScope) {
    return {
      ...identity,
      given_name: nonEmpty(user.givenName),
      family_name: nonEmpty(user.familyName),
      phone_number: nonEmpty(user.phoneNumber),
      name: fullName(user),
      email: user.email,
      email_verified: user.verified,
      previous_logon_time: user.previousLogonAt?.getTime() ?? null,
      ...fromProvider,
    }
  }
  return {
    ...identity,
    ...userClaims(user, has),
    previous_logon_time: user.previousLogonAt?.getTime(),
    ...fromProvider,
  }
}
