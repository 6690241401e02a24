// External login servers: clients that authenticate users elsewhere and assert their identity here. The right to do so is
// the authority `oauth.login`, in a token of the client itself.
import type { FastifyRequest } from 'fastify'
import type { Client } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { OAuthErrorCode } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import { bearerChallenge, bearerHeader } from './authorization-header.ts'
import type { BearerGate } from './bearer.ts'

/** What the token of a login server must have. */
const DEMAND = { resource: 'oauth', scopes: ['oauth.login'] } as const

/** A refusal of a login server's request, under the realm that UAA names for these. */
export const refuseVouching = (
  error: OAuthErrorCode | { readonly error: OAuthErrorCode; readonly status: number },
  description: string,
): OAuthError => {
  const code = typeof error === 'string' ? error : error.error
  return new OAuthError(error, description, { challenge: bearerChallenge('oauth', { error: code, description }) })
}

/** The client of the login server that sent the request; refuses every token but one of its own, for this zone. */
export async function requireLoginServer(
  request: FastifyRequest,
  { bearerGate, service }: { readonly bearerGate: BearerGate; readonly service: Service },
): Promise<Client> {
  if (bearerHeader(request) === undefined) throw refuseVouching('invalid_token', 'Missing oauth token.')
  await bearerGate.check(request, DEMAND)
  const { bearer } = request
  if (!bearer || bearer.user) {
    const error = 'access_denied'
    const description = 'Only a token of the client itself may sign users in'
    throw new OAuthError(error, description, { challenge: bearerChallenge(service.oauthRealm, { error, description }) })
  }
  return bearer.client
}
