// The rules of the token endpoint around a grant: what client and zone must allow before it decides, and what is added to its
// decision. They write nothing, so that `/explain` can use them too.
import type { Authorization } from '../model/tokens/authorization.ts'
import type { Client } from '../model/clients/client.ts'
import { mayUseGrant } from '../model/clients/client.ts'
import { demandsOn } from '../model/clients/client-demands.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { TOKEN_EXCHANGE, hasGrantType } from '../model/clients/grant-types.ts'
import type { TokenGrantType } from '../model/clients/grant-types.ts'
import { concerning, OAuthError } from '../model/oauth-error.ts'
import { supportsProtocol } from '../model/zones/protocols.ts'
import { namedResources, resourcesFor } from '../model/tokens/resources.ts'
import type { Service } from '../model/service.ts'
import type { Zone } from '../model/zones/zone.ts'
import { basicChallenge } from '../clients/authentication/refusals.ts'
import type { Grant, GrantDeps } from './grants/grant.ts'
import { GRANTS } from './grants/grants.ts'
import { lacksFactor } from './grants/resource-owner.ts'
import { lackingLevel } from './lacking-level.ts'
import { azAttrOf } from './params.ts'
import type { Params } from './params.ts'

/** The grant of the `grant_type`, if the zone has it. */
export function findGrant(zone: Zone, type: string | undefined, { behaviour }: { behaviour: Behaviour }): Grant {
  if (type === undefined) throw new OAuthError('invalid_request', 'Missing grant type', { rule: 'unknown-grant-type' })
  if (type === 'implicit') {
    const description = 'Implicit grant type not supported from token endpoint'
    throw new OAuthError(behaviour.implicitAtToken, description, { rule: 'unknown-grant-type' })
  }
  const grant = GRANTS.find(each => each.type === type)
  if (grant && hasGrantType(zone, grant.type, behaviour)) return grant
  const rule = grant ? 'zone-grant-type' : 'unknown-grant-type'
  throw new OAuthError('unsupported_grant_type', 'Unsupported grant type', { rule })
}

/** What the client's record must allow before a grant decides and before anything is consumed. */
export function requireGrantOfClient(
  zone: Zone,
  { client, type, params }: { readonly client: Client; readonly type: TokenGrantType; readonly params: Params },
  { behaviour }: { readonly behaviour: Behaviour },
): void {
  if (!mayUseGrant(client, type)) {
    throw new OAuthError(behaviour.grantNotAllowed, 'Unauthorized grant type', { rule: 'client-grant-type' })
  }
  if (supportsProtocol(zone, 'resourceIndicators', behaviour) && type !== TOKEN_EXCHANGE) {
    namedResources(params.all('resource'), client)
  }
}

/** UAA verifies the password first; that would let any client try passwords. See docs/compatibility.md, C11. */
export function requireScopesForPassword(
  { scope }: Client,
  { behaviour, service }: { readonly behaviour: Behaviour; readonly service: Service },
): void {
  const none = service.scope('none')
  if (behaviour.grantBeforeScope || !scope.every(name => name === none)) return
  throw new OAuthError('invalid_scope', `[${none}] is invalid. This user is not allowed any of the requested scopes`, {
    challenge: basicChallenge(service),
    rule: 'client-without-scopes',
  })
}

/** Refuses a grant that the client's demands rule out. */
export function requireGrantOfProfile(
  zone: Zone,
  { client, type }: { readonly client: Client; readonly type: TokenGrantType },
  { behaviour }: { readonly behaviour: Behaviour },
): void {
  const { grantTypes } = demandsOn(zone, client)
  if (!grantTypes || grantTypes.includes(type)) return
  throw new OAuthError(behaviour.grantNotAllowed, 'Unauthorized grant type', { rule: 'client-profile' })
}

/** Refuses a sign-in that is too weak for the client, for every grant; a refresh is refused earlier, before its token is consumed. */
export async function requireClientLevel(
  { zone, client, subject, grantType, refreshed }: Authorization,
  deps: Pick<GrantDeps, 'groupsOf' | 'behaviour'>,
): Promise<void> {
  if (subject.kind !== 'user' || refreshed) return
  if (!(await lackingLevel(zone, { client, user: subject.user, acr: subject.acr }, deps))) return
  throw concerning(lacksFactor(grantType === 'authorization_code' ? 'invalid_grant' : 'mfa_required'), subject.user.id)
}

/** What the request adds to the decision of its grant: resources, and claims that any request may set. */
export const withRequest = (
  authorization: Authorization,
  params: Params,
  deps: { readonly behaviour: Behaviour },
): Authorization => withRequestClaims(withResources(authorization, params, deps), params, deps)

/** An exchange has its own audience rules; a refresh has compared the resources before consuming its token. */
function withResources(
  authorization: Authorization,
  params: Params,
  { behaviour }: { readonly behaviour: Behaviour },
): Authorization {
  const { zone, client, subject, refreshed, issuedTokenType, resources: granted } = authorization
  if (refreshed || issuedTokenType !== undefined) return authorization
  const isOfUser = subject.kind === 'user'
  const named = supportsProtocol(zone, 'resourceIndicators', behaviour) ? params.all('resource') : []
  const resources = resourcesFor(named, { granted, client, isOfUser })
  return resources === granted ? authorization : { ...authorization, resources, grantedResources: granted ?? resources }
}

/** Adds the claims that any request may set (`az_attr`, `nonce`); a refresh keeps those of the first request. */
function withRequestClaims(
  authorization: Authorization,
  params: Params,
  { behaviour }: { readonly behaviour: Behaviour },
): Authorization {
  if (authorization.refreshed) return authorization
  const azAttr = azAttrOf(params)
  const nonce = behaviour.ignoreTokenNonce ? undefined : params.get('nonce')
  if (azAttr === undefined && nonce === undefined) return authorization
  return { ...authorization, ...(azAttr && { azAttr }), ...(nonce !== undefined && { nonce }) }
}
