// Who may register or manage a client: the policy of the zone, the token that lets a client register, and the one with which
// it manages its registration.
import type { FastifyRequest } from 'fastify'
import { digest, sameSecret } from '../../base/secrets.ts'
import { registrationPolicy } from '../../model/clients/registration.ts'
import type { RegistrationPolicy, RegistrationToken } from '../../model/clients/registration.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import type { Zone } from '../../model/zones/zone.ts'
import type { StoredClient } from '../../store/store.ts'
import { bearerChallenge, bearerHeader } from '../../web/callers/authorization-header.ts'
import { turnedOff } from '../../web/answers.ts'
import { tokenByDpop } from '../../token/sender/dpop.ts'
import type { OAuthDeps } from '../deps.ts'

/** Characters of a registration access token and of a client secret: 256 bits. */
export const TOKEN_LENGTH = 43

/** A request about one client. */
export interface OfClient {
  readonly Params: { readonly client_id: string }
}

/** A registered client with the token that it sent. */
interface RegisteredCaller extends StoredClient {
  readonly token: string
}

/** The zone's policy; refuses where registration is off. */
export function openPolicy(
  zone: Zone,
  { service }: OAuthDeps,
): RegistrationPolicy & { readonly mode: 'token' | 'open' } {
  const { mode, ...policy } = registrationPolicy(zone, service)
  if (mode === 'off') throw turnedOff()
  return { mode, ...policy }
}

/** The initial access token of the request; undefined if the zone requires none and none was sent. */
export async function findInitialToken(
  request: FastifyRequest,
  mode: 'token' | 'open',
  { store, clock, service }: OAuthDeps,
): Promise<RegistrationToken | undefined> {
  const sent = unboundToken(request, service)
  if (sent === undefined && mode === 'open') return undefined
  if (sent === undefined) {
    const challenge = bearerChallenge(service.oauthRealm)
    throw new OAuthError('invalid_token', 'Registration requires an initial access token', { challenge })
  }
  const token = await store.registrations.findToken(request.zone.id, digest(sent))
  if (!token || token.uses >= token.maxUses || token.expiresAt <= clock.now()) throw initialTokenUsedUp(service)
  return token
}

/** The refusal of an initial access token, which another request may have used meanwhile. */
export const initialTokenUsedUp = (service: Service): OAuthError =>
  invalidToken('The initial access token is invalid, used up or expired', service)

/** The client whose registration access token was sent; every failure gives the same answer (RFC 7592 §2). */
export async function findRegisteredCaller(
  request: FastifyRequest<OfClient>,
  { store, service }: OAuthDeps,
): Promise<RegisteredCaller> {
  const token = unboundToken(request, service)
  const found = await store.clients.findForChange(request.zone.id, request.params.client_id)
  const { tokenDigest } = found?.client.registration ?? {}
  if (token === undefined || !found || tokenDigest === undefined || !sameSecret(tokenDigest, digest(token))) {
    throw invalidToken('The registration access token is invalid', service)
  }
  return { ...found, token }
}

/** The token of `Authorization: Bearer`. Tokens of this kind have no key, so `Authorization: DPoP` proves nothing (RFC 9449 §7.1). */
function unboundToken(request: FastifyRequest, service: Service): string | undefined {
  if (tokenByDpop(request) === undefined) return bearerHeader(request)
  throw invalidToken('The token is not bound to a key: send it by Authorization: Bearer', service)
}

const invalidToken = (description: string, { oauthRealm }: Service): OAuthError =>
  new OAuthError('invalid_token', description, {
    challenge: bearerChallenge(oauthRealm, { error: 'invalid_token', description }),
  })
