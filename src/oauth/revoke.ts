// Token revocation: RFC 7009 for a client and one of its tokens, and UAA's API for all tokens of a user or client.
import { findClientSummary } from '../token/client-summary.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { digest } from '../base/secrets.ts'
import { actsAsOwner } from '../model/clients/account-use.ts'
import type { Client } from '../model/clients/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Audit } from '../model/audit/event.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { Service } from '../model/service.ts'
import type { StoredToken } from '../model/tokens/token.ts'
import type { AddressedZone } from '../model/request.ts'
import type { Store } from '../store/store.ts'
import { endAccessOfClient } from '../users/access.ts'
import { forgetGrantAt } from '../token/lifetimes.ts'
import { clientIdOf } from '../token/claims.ts'
import type { IssuedToken, TokenReader } from '../token/reader.ts'
import type { VerifiedToken } from '../token/token-validity.ts'
import { inRealm, insufficientScope } from '../web/callers/authorization-header.ts'
import { bodyForm } from '../web/route.ts'
import type { ClientAuthenticator } from '../clients/authentication/authentication.ts'
import type { AuthenticatingEndpoint } from '../clients/authentication/method.ts'
import { parseParams } from './params.ts'
import type { RevocationFacts } from '../model/tokens/revocation-event.ts'
import { revocationEvent } from '../model/tokens/revocation-event.ts'
import { authorizationOf } from '../web/requests/plain-basic.ts'
import { contextOf } from '../web/requests/request-context.ts'

interface RevokeDeps {
  readonly store: Store
  readonly reader: TokenReader
  readonly authenticator: ClientAuthenticator
  readonly clock: Clock
  readonly random: Random
  readonly service: Service
  readonly behaviour: Behaviour
  readonly audit: Audit
}

/** `POST /oauth/revoke` (RFC 7009) and `/oauth/token/revoke/…`. */
export function revokeEndpoints(app: FastifyInstance, deps: RevokeDeps): void {
  revocationEndpoint(app, deps)
  revocationApi(app, deps)
}

function revocationEndpoint(app: FastifyInstance, deps: RevokeDeps): void {
  const { store, reader, clock, behaviour, audit } = deps
  const endpoint: AuthenticatingEndpoint = {
    path: '/oauth/revoke',
    allowsNone: true,
    allowsAssertion: behaviour.assertionsEverywhere,
  }

  app.post('/oauth/revoke', { config: { access: { by: 'client' }, audience: 'api' } }, async (request, reply) => {
    const { zone, ip: remoteAddress } = request
    const params = parseParams(bodyForm(request), behaviour)
    const credentials = { authorization: authorizationOf(request), params, endpoint }
    const { client } = await deps.authenticator.authenticate(contextOf(request), credentials)
    // `token_type_hint` is ignored, as RFC 7009 §2.1 allows: the token itself shows its type.
    const value = params.get('token')
    if (value === undefined) throw new OAuthError('invalid_request', 'The token parameter is missing')
    const token = await findIssued(zone, client, value)
    if (token && (await revoke(zone, client, token))) {
      const userId = stringOf(token.claims['user_id'])
      const { clientId } = client
      audit(revocationEvent(zone.id, { clientId, userId, caller: clientId, remoteAddress }))
    }
    return reply.send()
  })

  /** The client's token; undefined for an invalid one, which is not an error (RFC 7009 §2.2). */
  async function findIssued(zone: AddressedZone, client: Client, value: string): Promise<IssuedToken | undefined> {
    const token = await reader.readIssued(zone, value).catch((error: unknown) => {
      if (error instanceof OAuthError) return undefined
      throw error
    })
    if (!token || !(token.expiresAt > clock.now())) return undefined
    const owner = clientIdOf(token.claims) ?? ''
    if (owner === client.clientId) return token
    if (!(await store.clients.find(zone.id, owner))) return undefined
    throw new OAuthError('invalid_grant', 'The token was issued to another client') // RFC 7009 §2.1
  }

  /** Returns false if the token was revoked before. */
  async function revoke(zone: AddressedZone, client: Client, token: IssuedToken): Promise<boolean> {
    switch (token.kind) {
      case 'access_token':
        return revokeOne(zone, token)
      case 'refresh_token':
        return revokeGrantOf(zone, client, token)
      case 'id_token':
        // RFC 7009 §2.2.1. A 200 would claim a revocation that offline verification cannot see.
        throw new OAuthError('unsupported_token_type', 'ID tokens cannot be revoked')
    }
  }

  async function revokeOne(zone: AddressedZone, { claims, stored, expiresAt }: IssuedToken): Promise<boolean> {
    if (stored) return store.tokens.delete(zone.id, stored.idDigest)
    if (claims['revocable'] === true) return false // its row is already deleted
    await store.tokens.revokeUnstored(zone.id, String(claims['jti']), expiresAt)
    return true
  }

  /** RFC 7009 §2.1: revoking a refresh token revokes all tokens of the same grant. */
  async function revokeGrantOf(zone: AddressedZone, client: Client, token: IssuedToken): Promise<boolean> {
    const grantId = stringOf(token.claims['grant_id'])
    if (grantId === undefined) return revokeOne(zone, token)
    const forgetAt = forgetGrantAt(zone, client, clock.now(), behaviour)
    await store.tokens.revokeGrant(zone.id, grantId, forgetAt > token.expiresAt ? forgetAt : token.expiresAt)
    return true
  }
}

/** UAA's revocation API. See docs/compatibility.md, C8. */
function revocationApi(app: FastifyInstance, deps: RevokeDeps): void {
  const { store, clock, random, service, behaviour, audit } = deps
  const revokers = [service.scope('admin'), 'tokens.revoke']
  const config = { access: { by: 'bearer' }, audience: 'api' } as const
  // UAA: accepts any method. A GET with side effects is safe here: browsers do not send bearer tokens automatically.
  const method = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']

  app.route<{ Params: { userId: string } }>({
    method,
    url: '/oauth/token/revoke/user/:userId',
    config,
    handler: async (request, reply) => {
      const { zone, params } = request
      const { userId } = params
      const isOwn = userOf(request) === userId && isOwnersClient(request)
      if (!mayRevokeAll(request) && !isOwn) throw notAllowed()
      if (!(await store.users.find(zone.id, userId))) throw notFound()
      await store.users.setSalt(zone.id, userId, random.hex(16))
      await deleteMost(() => store.tokens.deleteSomeOfUser(zone.id, userId))
      report(request, { userId })
      return reply.send()
    },
  })

  app.route<{ Params: { userId: string; clientId: string } }>({
    method,
    url: '/oauth/token/revoke/user/:userId/client/:clientId',
    config,
    handler: async (request, reply) => {
      const { zone, params } = request
      const { userId, clientId } = params
      const isPair = userOf(request) === userId && holderOf(request).client.clientId === clientId
      if (!mayRevokeAll(request) && !isPair) throw notAllowed()
      const [user, of] = await Promise.all([
        store.users.find(zone.id, userId),
        findClientSummary(store, zone, clientId),
      ])
      if (!user || !of) throw notFound()
      // There is no salt for a user and client together, so every token has to be deleted. What is issued at this moment, by a
      // refresh or for a code, belongs to a grant that is revoked.
      await endAccessOfClient(zone, { userId, client: of.client ?? { clientId } }, deps)
      while ((await store.tokens.deleteSomeOfUser(zone.id, userId, clientId)) > 0);
      report(request, { userId, clientId })
      return reply.send()
    },
  })

  app.route<{ Params: { clientId: string } }>({
    method,
    url: '/oauth/token/revoke/client/:clientId',
    config,
    handler: async (request, reply) => {
      const { zone, params } = request
      const { clientId } = params
      if (!mayRevokeAll(request)) throw notAllowed()
      if (!(await store.clients.find(zone.id, clientId))) throw notFound()
      await store.clients.setTokenSalt(zone.id, clientId, random.hex(16))
      await deleteMost(() => store.tokens.deleteSomeOfClient(zone.id, clientId))
      report(request, { clientId })
      return reply.send()
    },
  })

  app.delete<{ Params: { tokenId: string } }>('/oauth/token/revoke/:tokenId', { config }, async (request, reply) => {
    const { zone, params } = request
    const { claims, stored, client, user, expiresAt } = holderOf(request)
    if (!stored && claims['jti'] === params.tokenId) {
      // A plain JWT is not stored, but its holder may revoke it by its `jti`.
      await store.tokens.revokeUnstored(zone.id, params.tokenId, expiresAt)
      report(request, { clientId: client.clientId, userId: user?.id })
      return reply.send()
    }
    const token = await findStored(zone, params.tokenId)
    if (!token) throw unknown(request)
    const isOwn = isOwnedBy(token, holderOf(request), isOwnersClient(request))
    if (!mayRevokeAll(request) && !isOwn) throw notAllowed()
    if (!(await store.tokens.delete(zone.id, token.idDigest))) throw unknown(request)
    report(request, token)
    return reply.send()
  })

  app.route({
    method: method.filter(each => each !== 'DELETE'),
    url: '/oauth/token/revoke/:tokenId',
    config: { ...config, refuses: true },
    handler: () => {
      throw inRealm(new OAuthError('access_denied', 'Access is denied'), service)
    },
  })

  // A path that does not fit the parameter above, such as one that is too long, names no token.
  app.route({
    method,
    url: '/oauth/token/revoke/*',
    config: { ...config, refuses: true },
    handler: request => {
      throw unknown(request)
    },
  })

  const mayRevokeAll = (request: FastifyRequest): boolean =>
    revokers.some(scope => holderOf(request).scopes.includes(scope))

  /** What other clients have of the user is not for one that must not act as the owner of the account. */
  const isOwnersClient = (request: FastifyRequest): boolean =>
    actsAsOwner(request.zone, holderOf(request).client, behaviour)

  const notAllowed = (): unknown => inRealm(insufficientScope(revokers), service)

  /** A caller without permission to revoke others' tokens must not learn which ones exist. */
  const unknown = (request: FastifyRequest): unknown => (mayRevokeAll(request) ? notFound() : notAllowed())

  /** Finds by value, `jti` or the id of the list. Ignores used refresh tokens, kept to detect their reuse. */
  async function findStored(zone: AddressedZone, tokenId: string): Promise<StoredToken | undefined> {
    const token = (await store.tokens.find(zone.id, digest(tokenId))) ?? (await store.tokens.find(zone.id, tokenId))
    return token && token.usedAt === undefined && token.expiresAt > clock.now() ? token : undefined
  }

  function report(request: FastifyRequest, { clientId, userId }: Pick<RevocationFacts, 'clientId' | 'userId'>): void {
    const caller = holderOf(request).client.clientId
    audit(revocationEvent(request.zone.id, { clientId, userId, caller, remoteAddress: request.ip }))
  }
}

/** Each deletes a few hundred rows. The new salt has invalidated the rest, which is deleted on expiry. */
const MAX_BATCHES = 20

async function deleteMost(deleteSome: () => Promise<number>): Promise<void> {
  for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
    if ((await deleteSome()) === 0) return
  }
}

function holderOf({ bearer }: FastifyRequest): VerifiedToken {
  if (!bearer) throw new Error('the route requires a bearer token')
  return bearer
}

/** The token's user; none for a client's own token, even if the client's id equals a user's. */
const userOf = (request: FastifyRequest): string | undefined => holderOf(request).user?.id

/** Whether the caller is the token's user, through this client or, as the owner of the account, any; or its client acting for itself. */
const isOwnedBy = (token: StoredToken, { client, user }: VerifiedToken, isOwnersClient: boolean): boolean => {
  const isOfClient = token.clientId === client.clientId
  return user ? token.userId === user.id && (isOwnersClient || isOfClient) : isOfClient
}

const stringOf = (claim: unknown): string | undefined => (typeof claim === 'string' ? claim : undefined)

const notFound = (): OAuthError => new OAuthError({ error: 'invalid_token', status: 404 }, 'Resource not found')
