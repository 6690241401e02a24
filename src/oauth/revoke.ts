import type { FastifyInstance } from 'fastify'
import type { AuthenticatingEndpoint } from '../clients/authentication/method.ts'
import type { Client } from '../model/clients/client.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { AddressedZone } from '../model/request.ts'
import { revocationEvent } from '../model/tokens/revocation-event.ts'
import { clientIdOf } from '../token/claims.ts'
import { forgetGrantAt } from '../token/lifetimes.ts'
import type { IssuedToken } from '../token/reader.ts'
import { sendJson } from '../web/requests/json.ts'
import { authorizationOf } from '../web/requests/plain-basic.ts'
import { addressOf, contextOf } from '../web/requests/request-context.ts'
import { bodyForm } from '../web/route.ts'
import { parseParams } from './params.ts'
import type { OAuthDeps } from './deps.ts'

/** `POST /oauth/revoke` (RFC 7009): a client revokes one of its tokens. */
export function revokeEndpoint(app: FastifyInstance, deps: OAuthDeps): void {
  const { store, reader, clock, behaviour, audit } = deps
  const endpoint: AuthenticatingEndpoint = {
    path: '/oauth/revoke',
    allowsNone: true,
    allowsAssertion: behaviour.assertionsEverywhere,
  }

  app.post('/oauth/revoke', { config: { access: { by: 'client' }, audience: 'api' } }, async (request, reply) => {
    const { zone } = request
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
      audit(revocationEvent(zone.id, { clientId, userId, caller: clientId, remoteAddress: addressOf(request) }))
    }
    return sendJson(reply, {}) // RFC 7009 §2.2: clients ignore it, but some libraries refuse a response that is not JSON
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

  /** Returns false if the token was revoked before, as far as that is known: without a row it is not. */
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

const stringOf = (claim: unknown): string | undefined => (typeof claim === 'string' ? claim : undefined)
