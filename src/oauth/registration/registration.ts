// Clients register, read, change and delete themselves (RFC 7591, RFC 7592, OpenID Connect Registration).
import type { FastifyReply, FastifyRequest } from 'fastify'
import { deletion } from '../../clients/changes.ts'
import { DEFAULT_ALGORITHM } from '../../model/clients/client-demands.ts'
import type { Client } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Urls } from '../../model/urls.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { SigningAlgorithm } from '../../model/tokens/signing-key.ts'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import { createKeyChoice } from '../../token/keys/key-choice.ts'
import { NoSigningKey } from '../../token/keys/keys.ts'
import { isPublic } from '../../token/keys/zone-key.ts'
import type { SigningKey } from '../../token/keys/zone-key.ts'
import type { On } from '../../web/deferred-routes.ts'
import { sendJson } from '../../web/requests/json.ts'
import { responseKey } from '../authorize/signed-response.ts'
import { clientInformation } from './answer.ts'
import type { SubstituteAlgorithms } from './answer.ts'
import { changeRegistration, commitRegistration } from './change.ts'
import type { ChangeDeps } from './change.ts'
import { registerClient } from './register.ts'
import type { RegisterDeps, RegisteredClient } from './register.ts'
import { findRegisteredCaller, openPolicy } from './registration-access.ts'
import type { OfClient } from './registration-access.ts'
import { REGISTRATION_PATH } from './routes.ts'
import type { RegistrationRoute } from './routes.ts'

/** Dependencies of the endpoints. */
export interface RegistrationDeps extends RegisterDeps, ChangeDeps {
  readonly urls: Urls
}

/** The handlers of `/connect/register` and below. */
export function registrationHandlers(on: On<RegistrationRoute>, deps: RegistrationDeps): void {
  const answer = async (
    { zone }: FastifyRequest,
    reply: FastifyReply,
    registered: RegisteredClient,
  ): Promise<FastifyReply> => {
    const { client, token, secret } = registered
    const uri = `${deps.urls.ofZone(zone)}${REGISTRATION_PATH}/${encodeURIComponent(client.clientId)}`
    const substitutes = await substitutesFor(zone, client, deps)
    const facts = { uri, token, secret, noneScope: deps.service.scope('none'), substitutes }
    return sendJson(reply.header('cache-control', 'no-store'), clientInformation(client, facts))
  }

  on('POST /connect/register', async (request, reply) => {
    const registered = await registerClient(request, deps)
    return answer(request, reply.status(201), registered)
  })

  on<OfClient>('GET /connect/register/:client_id', async (request, reply) => {
    openPolicy(request.zone, deps)
    return answer(request, reply, await findRegisteredCaller(request, deps))
  })

  on<OfClient>('PUT /connect/register/:client_id', async (request, reply) =>
    answer(request, reply, await changeRegistration(request, deps)),
  )

  on<OfClient>('DELETE /connect/register/:client_id', async (request, reply) => {
    openPolicy(request.zone, deps)
    await commitRegistration(request, deletion(await findRegisteredCaller(request, deps)), deps)
    return reply.status(204).header('cache-control', 'no-store').send()
  })
}

/**
 * The algorithms of the client's ID tokens and signed responses, of which it registered none and gets another than the default
 * (OpenID Connect Registration §3.2, JARM §3).
 */
async function substitutesFor(
  zone: AddressedZone,
  client: Client,
  deps: Pick<RegistrationDeps, 'keys' | 'behaviour'>,
): Promise<SubstituteAlgorithms> {
  const { keys, behaviour } = deps
  if ((await keys.list(zone.id)).length === 0) return {}
  const choice = createKeyChoice(deps)
  const idToken =
    client.idTokenSignedResponseAlg ??
    (await substitute(async () => choice.idTokenKey({ zone, client }, await choice.keyFor(zone, client))))
  const response = supportsProtocol(zone, 'signedResponses', behaviour)
    ? (client.authorizationSignedResponseAlg ?? (await substitute(() => responseKey(zone, client, deps))))
    : undefined
  return { idToken, response }
}

/** The algorithm of the key, if it is not the default. */
async function substitute(find: () => Promise<SigningKey | undefined>): Promise<SigningAlgorithm | undefined> {
  try {
    const key = await find()
    return !key || key.algorithm === DEFAULT_ALGORITHM || !isPublic(key) ? undefined : key.algorithm
  } catch (error) {
    // No key fits the client, and what is signed for it will fail.
    if (error instanceof OAuthError || error instanceof NoSigningKey) return undefined
    throw error
  }
}
