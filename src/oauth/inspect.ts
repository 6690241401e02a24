// Reads tokens: userinfo for clients, introspection and its older sibling /check_token for resource servers.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { memberOf } from '../base/json.ts'
import type { Clock } from '../base/clock.ts'
import type { Client } from '../model/clients/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { OAuthError } from '../model/oauth-error.ts'
import { supportsProtocol } from '../model/zones/protocols.ts'
import type { Service } from '../model/service.ts'
import type { TokenSettings } from '../model/zones/settings.ts'
import type { Subjects } from '../model/tokens/subject.ts'
import type { Urls } from '../model/urls.ts'
import type { User } from '../model/users/user.ts'
import { fullName } from '../model/users/user.ts'
import type { AddressedZone } from '../model/request.ts'
import type { Store } from '../store/store.ts'
import type { KeyRing } from '../token/keys.ts'
import { customAttributes, nonEmpty, userClaims, roles } from '../token/user-claims.ts'
import type { TokenReader } from '../token/reader.ts'
import type { VerifiedToken } from '../token/token-validity.ts'
import { bearerHeader, inRealm, insufficientScope } from '../web/callers/authorization-header.ts'
import { BadEncoding } from '../web/requests/form.ts'
import { bodyForm } from '../web/route.ts'
import type { ClientAuthenticator } from '../clients/authentication/authentication.ts'
import { sendJson } from '../web/requests/json.ts'
import type { Params } from './params.ts'
import { formOf, parseParams } from './params.ts'
import { approvalProblem } from '../token/approvals.ts'
import { authorizationOf } from '../web/requests/plain-basic.ts'
import { contextOf } from '../web/requests/request-context.ts'

interface InspectDeps {
  readonly store: Store
  readonly reader: TokenReader
  readonly authenticator: ClientAuthenticator
  readonly clock: Clock
  readonly service: Service
  readonly behaviour: Behaviour
  readonly settings: TokenSettings
  readonly subjects: Subjects
  readonly keys: KeyRing
  readonly urls: Urls
}

/** Claims that the inspection endpoints show, in this order. */
const SHOWN = [
  'user_id',
  'user_name',
  'email',
  'client_id',
  'exp',
  'authorities',
  'scope',
  'jti',
  'aud',
  'sub',
  'iss',
  'iat',
  'cid',
  'grant_type',
  'azp',
  'auth_time',
  'amr',
  'acr',
  'zid',
  'rev_sig',
  'nonce',
  'origin',
  'az_attr',
  'ext_attr',
  'client_auth_method',
  'cnf',
  'act',
] as const

/** `/userinfo`, `/introspect` and `/check_token`. */
export function inspectEndpoints(app: FastifyInstance, deps: InspectDeps): void {
  const { reader, behaviour, service, settings, subjects } = deps
  const inspector = { access: { by: 'client' }, audience: 'api' } as const
  const openid = { access: { by: 'bearer', resource: 'openid' }, audience: 'api' } as const

  /** OpenID Connect Core §5.3.1, by GET or POST. */
  app.route({
    // UAA: by any method. See docs/compatibility.md, T5.
    method: behaviour.getOrPostUserinfo ? ['GET', 'POST'] : ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'],
    url: '/userinfo',
    config: openid,
    handler: async (request, reply) => {
      const { user, scopes, client } = request.bearer ?? {}
      if (!user || !scopes || !client) throw new OAuthError('access_denied', 'The token does not speak for a user')
      // A scope such as openid.x, or a client of that name, puts openid into the audience too.
      if (!scopes.includes('openid')) throw insufficientScope(['openid'])
      const { zone } = request
      const sub = subjects.of(zone, client, user)
      const claims = userInfo(user, scopes, { behaviour, sub, isPairwise: subjects.isPairwise(zone, client) })
      if (client.userinfoSignedResponseAlg === undefined || !supportsProtocol(zone, 'signedUserinfo', behaviour)) {
        return sendJson(reply, claims)
      }
      const jwt = await signed(zone, client, { ...claims, iss: deps.urls.issuer(zone), aud: client.clientId })
      return reply.type('application/jwt').send(jwt)
    },
  })

  /** OpenID Connect Core §5.3.2; of a type of its own, so that it is never taken for an ID token (RFC 8725 §3.11). */
  async function signed(zone: AddressedZone, client: Client, claims: Record<string, unknown>): Promise<string> {
    const algorithm = client.userinfoSignedResponseAlg
    const key = algorithm && (await deps.keys.withAlgorithm(zone.id, algorithm))
    if (key) return key.sign('userinfo+jwt', claims)
    throw new OAuthError('server_error', `The zone has no key for ${algorithm}, which this client asks for`)
  }

  /** RFC 7662 §2, by POST. */
  app.post('/introspect', { config: inspector }, async (request, reply) => {
    const params = parseParams(bodyForm(request), behaviour)
    await requireInspector(request, params)
    const token = params.get('token')
    if (token === undefined) throw new OAuthError('invalid_request', 'The token parameter is missing')
    const found = await readQuietly(request.zone, token)
    const body = found
      ? introspection(found)
      : behaviour.standardIntrospection
        ? { active: false }
        : { revocable: false, active: false }
    return sendJson(reply, body)
  })

  /** UAA: the predecessor of /introspect. */
  app.route({
    method: settings.queryString ? ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'] : ['POST'],
    url: '/check_token',
    errorHandler(error) {
      // UAA: a code of its own, which only this endpoint has.
      if (!(error instanceof BadEncoding)) throw error
      const description = 'One of the parameters was incorrectly encoded'
      throw new OAuthError('parameter_parsing_error', description, { cause: error })
    },
    exposeHeadRoute: false,
    config: inspector,
    handler: checkToken,
  })

  async function checkToken(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const params = parseParams(formOf(request, settings), behaviour)
    await requireInspector(request, params, { basicOnly: true })
    const token = params.get('token')
    if (token === undefined) {
      throw new OAuthError({ error: 'invalid_token', status: 400 }, 'Token parameter must be set')
    }
    const found = await readForCheck(request.zone, token)
    const held = new Set(found.scopes.map(scope => scope.toLowerCase()))
    const wanted = params.get(request.method === 'POST' ? 'scopes' : 'scope') ?? ''
    const asked = wanted.split(',').flatMap(scope => scope.trim() || [])
    const missing = asked.filter(scope => !held.has(scope.toLowerCase()))
    if (missing.length > 0) {
      throw new OAuthError('invalid_scope', `Some requested scopes are missing: ${missing.join(',')}`)
    }
    return sendJson(reply, { ...shown(found), scope: found.scopes, revocable: isRevocable(found) })
  }

  /** A client with the resource authority, by its credentials, or for introspection by a token of its own. */
  async function requireInspector(request: FastifyRequest, params: Params, { basicOnly = false } = {}): Promise<void> {
    const authority = service.scope('resource')
    const bearer = basicOnly ? undefined : bearerHeader(request)
    if (bearer !== undefined) {
      const { user, scopes } = await reader.read(request, bearer).catch((error: unknown) => {
        throw inRealm(error, service)
      })
      if (user || !scopes.includes(authority)) throw inRealm(insufficientScope([authority]), service)
      return
    }
    const allowsAssertion = !basicOnly && behaviour.assertionsEverywhere
    const endpoint = { path: basicOnly ? '/check_token' : '/introspect', allowsNone: false, allowsAssertion }
    const credentials = { authorization: authorizationOf(request), params, endpoint }
    const { client } = await deps.authenticator.authenticate(contextOf(request), credentials)
    if (client.authorities.includes(authority)) return
    if (behaviour.reportInspectorScope) throw insufficientScope([authority])
    throw new OAuthError('access_denied', 'Access is denied')
  }

  /** The token, or undefined for one that is not active, for any reason (RFC 7662 §2.2). */
  async function readQuietly(zone: AddressedZone, token: string): Promise<VerifiedToken | undefined> {
    try {
      const found = await reader.read({ zone, inspected: true }, token)
      return (await approvalProblem(zone, found, found.scopes, deps)) === undefined ? found : undefined
    } catch (error) {
      if (error instanceof OAuthError) return undefined
      throw error
    }
  }

  async function readForCheck(zone: AddressedZone, token: string): Promise<VerifiedToken> {
    const refuse = (description: string): OAuthError =>
      new OAuthError({ error: 'invalid_token', status: 400 }, description)
    try {
      const found = await reader.read({ zone, inspected: true }, token)
      const unapproved = await approvalProblem(zone, found, found.scopes, deps)
      if (unapproved === undefined) return found
      throw refuse(unapproved)
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      throw refuse(error.message.startsWith('Invalid access token: expired') ? 'Token has expired' : error.message)
    }
  }

  function introspection(found: VerifiedToken): Record<string, unknown> {
    if (!behaviour.standardIntrospection) {
      return { ...shown(found), scope: found.scopes, revocable: isRevocable(found), active: true }
    }
    return {
      active: true,
      ...shown(found),
      scope: found.scopes.join(' '),
      username: found.user?.userName,
      token_type: isBoundToKey(found) ? 'DPoP' : 'bearer',
      revocable: isRevocable(found),
    }
  }
}

const isBoundToKey = ({ claims }: VerifiedToken): boolean => memberOf(claims['cnf'], 'jkt') !== undefined

const isRevocable = ({ stored }: VerifiedToken): boolean => stored !== undefined

function shown({ claims }: VerifiedToken): Record<string, unknown> {
  return Object.fromEntries(SHOWN.map(name => [name, claims[name]]))
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
