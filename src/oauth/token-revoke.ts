// UAA's API for revoking all tokens of a user or client, or a token by its id.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { digest } from '../base/secrets.ts'
import { actsAsOwner } from '../model/clients/account-use.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { AddressedZone } from '../model/request.ts'
import { revocationEvent } from '../model/tokens/revocation-event.ts'
import type { RevocationFacts } from '../model/tokens/revocation-event.ts'
import type { StoredToken } from '../model/tokens/token.ts'
import { findClientSummary } from '../token/client-summary.ts'
import { freeRows } from '../token/free-rows.ts'
import type { VerifiedToken } from '../token/token-validity.ts'
import { endAccessOfClient } from '../users/access.ts'
import { insufficientScope } from '../web/callers/authorization-header.ts'
import { addressOf } from '../web/requests/request-context.ts'
import type { OAuthDeps } from './deps.ts'

interface UserParams {
  readonly userId: string
}

interface ClientParams {
  readonly clientId: string
}

interface TokenParams {
  readonly tokenId: string
}

/** `/oauth/token/revoke/…`. See docs/compatibility.md, C8. */
export function tokenRevokeEndpoints(app: FastifyInstance, deps: OAuthDeps): void {
  const { revokeOfUser, revokeOfUserAndClient, revokeOfClient, revokeOne, refuseUnknown } = createRevocations(deps)
  const config = { access: { by: 'bearer', acrossZones: true }, audience: 'api' } as const
  // UAA: accepts any method. A GET with side effects is safe here: browsers do not send bearer tokens automatically.
  const method = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']
  app.route({ method, url: '/oauth/token/revoke/user/:userId', config, handler: revokeOfUser })
  app.route({
    method,
    url: '/oauth/token/revoke/user/:userId/client/:clientId',
    config,
    handler: revokeOfUserAndClient,
  })
  app.route({ method, url: '/oauth/token/revoke/client/:clientId', config, handler: revokeOfClient })
  app.route({ method: 'DELETE', url: '/oauth/token/revoke/:tokenId', config, handler: revokeOne })

  app.route({
    method: method.filter(each => each !== 'DELETE'),
    url: '/oauth/token/revoke/:tokenId',
    config: { ...config, refuses: true },
    handler: () => {
      throw new OAuthError('access_denied', 'Access is denied')
    },
  })

  // A path that does not fit the parameter above, such as one that is too long, names no token.
  app.route({ method, url: '/oauth/token/revoke/*', config: { ...config, refuses: true }, handler: refuseUnknown })
}

function createRevocations(deps: OAuthDeps) {
  const { store, clock, random, service, behaviour, audit } = deps
  const revokers = [service.scope('admin'), 'tokens.revoke']

  const mayRevokeAll = (request: FastifyRequest): boolean =>
    revokers.some(scope => holderOf(request).scopes.includes(scope))

  /** A client that may not act as the owner of the account must not revoke the user's tokens of other clients. */
  const isOwnersClient = (request: FastifyRequest): boolean =>
    actsAsOwner(request.zone, holderOf(request).client, behaviour)

  const notAllowed = (): OAuthError => insufficientScope(revokers)

  /** A caller without permission to revoke others' tokens must not learn which ones exist. */
  const unknown = (request: FastifyRequest): unknown => (mayRevokeAll(request) ? notFound() : notAllowed())

  /** Finds by value, `jti` or the id of the list. Ignores used refresh tokens, kept to detect their reuse. */
  async function findStored(zone: AddressedZone, tokenId: string): Promise<StoredToken | undefined> {
    const token = (await store.tokens.find(zone.id, digest(tokenId))) ?? (await store.tokens.find(zone.id, tokenId))
    return token && token.usedAt === undefined && token.expiresAt > clock.now() ? token : undefined
  }

  function report(request: FastifyRequest, { clientId, userId }: Pick<RevocationFacts, 'clientId' | 'userId'>): void {
    const caller = holderOf(request).client.clientId
    audit(revocationEvent(request.zone.id, { clientId, userId, caller, remoteAddress: addressOf(request) }))
  }

  async function revokeOfUser(
    request: FastifyRequest<{ Params: UserParams }>,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const { zone, params } = request
    const { userId } = params
    const isOwn = userOf(request) === userId && isOwnersClient(request)
    if (!mayRevokeAll(request) && !isOwn) throw notAllowed()
    if (!(await store.users.find(zone.id, userId))) throw notFound()
    await store.users.setSalt(zone.id, userId, random.hex(16))
    await freeRows(() => store.tokens.deleteSomeOfUser(zone.id, userId))
    report(request, { userId })
    return reply.send()
  }

  async function revokeOfUserAndClient(
    request: FastifyRequest<{ Params: UserParams & ClientParams }>,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const { zone, params } = request
    const { userId, clientId } = params
    const isPair = userOf(request) === userId && holderOf(request).client.clientId === clientId
    if (!mayRevokeAll(request) && !isPair) throw notAllowed()
    const [user, summary] = await Promise.all([
      store.users.find(zone.id, userId),
      findClientSummary(store, zone, clientId),
    ])
    if (!user || !summary) throw notFound()
    // There is no salt per user and client, so every token has to be deleted. Tokens issued concurrently, by a refresh or for a
    // code, belong to a grant that is revoked.
    await endAccessOfClient(zone, { userId, client: summary.client ?? { clientId } }, deps)
    while ((await store.tokens.deleteSomeOfUser(zone.id, userId, clientId)) > 0);
    report(request, { userId, clientId })
    return reply.send()
  }

  async function revokeOfClient(
    request: FastifyRequest<{ Params: ClientParams }>,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const { zone, params } = request
    const { clientId } = params
    if (!mayRevokeAll(request)) throw notAllowed()
    const summary = await findClientSummary(store, zone, clientId)
    if (!summary) throw notFound()
    if (summary.client) await store.clients.setTokenSalt(zone.id, clientId, random.hex(16))
    else await endAccessOfClient(zone, { client: { clientId } }, deps) // it has no record, and so no salt
    await freeRows(() => store.tokens.deleteSomeOfClient(zone.id, clientId))
    report(request, { clientId })
    return reply.send()
  }

  async function revokeOne(
    request: FastifyRequest<{ Params: TokenParams }>,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const { zone, params } = request
    const { claims, stored, client, user, expiresAt } = holderOf(request)
    const isHere = belongsHere(request)
    if (isHere && !stored && claims['jti'] === params.tokenId) {
      // A plain JWT is not stored, but its holder may revoke it by its `jti`.
      await store.tokens.revokeUnstored(zone.id, params.tokenId, expiresAt)
      report(request, { clientId: client.clientId, userId: user?.id })
      return reply.send()
    }
    const token = await findStored(zone, params.tokenId)
    if (!token) throw unknown(request)
    const isOwn = isHere && isOwnedBy(token, holderOf(request), isOwnersClient(request))
    if (!mayRevokeAll(request) && !isOwn) throw notAllowed()
    if (!(await store.tokens.delete(zone.id, token.idDigest))) throw unknown(request)
    report(request, token)
    return reply.send()
  }

  return {
    revokeOfUser,
    revokeOfUserAndClient,
    revokeOfClient,
    revokeOne,
    refuseUnknown: (request: FastifyRequest): never => {
      throw unknown(request)
    },
  }
}

function holderOf({ bearer }: FastifyRequest): VerifiedToken {
  if (!bearer) throw new Error('the route requires a bearer token')
  return bearer
}

/** Whether the token's user and client are those of the request's zone, and not others of the default zone with equal ids. */
const belongsHere = (request: FastifyRequest): boolean => holderOf(request).client.zoneId === request.zone.id

/** The token's user; none for a client's own token, even if the client's id equals a user's, and none in another zone. */
const userOf = (request: FastifyRequest): string | undefined =>
  belongsHere(request) ? holderOf(request).user?.id : undefined

/**
 * Whether the caller is the token's user, through this client or, as the owner of the account, any; or its client acting for
 * itself.
 */
const isOwnedBy = (token: StoredToken, { client, user }: VerifiedToken, isOwnersClient: boolean): boolean => {
  const isOfClient = token.clientId === client.clientId
  return user ? token.userId === user.id && (isOwnersClient || isOfClient) : isOfClient
}

const notFound = (): OAuthError => new OAuthError({ error: 'invalid_token', status: 404 }, 'Resource not found')
