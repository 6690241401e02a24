// Clients register, read, change and delete themselves (RFC 7591, RFC 7592, OpenID Connect Registration).
import type { FastifyReply, FastifyRequest } from 'fastify'
import { deletion } from '../../clients/changes.ts'
import { DEFAULT_ALGORITHM } from '../../model/clients/client-demands.ts'
import type { Client } from '../../model/clients/client.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { SigningAlgorithm } from '../../model/tokens/signing-key.ts'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import { clientKey } from '../../token/keys/key-choice.ts'
import { NoSigningKey } from '../../token/keys/keys.ts'
import { isPublic } from '../../token/keys/zone-key.ts'
import type { SigningKey } from '../../token/keys/zone-key.ts'
import type { On } from '../../web/deferred-routes.ts'
import { sendJson } from '../../web/requests/json.ts'
import { clientInformation } from './answer.ts'
import type { SubstituteAlgorithms } from './answer.ts'
import { changeRegistration, commitRegistration } from './change.ts'
import { registerClient } from './register.ts'
import type { RegisteredClient } from './register.ts'
import { findRegisteredCaller, openPolicy } from './registration-access.ts'
import type { OfClient } from './registration-access.ts'
import { REGISTRATION_PATH } from './routes.ts'
import type { RegistrationRoute } from './routes.ts'
import type { OAuthDeps } from '../deps.ts'

/** The handlers of `/connect/register` and below. */
export function registrationHandlers(on: On<RegistrationRoute>, deps: OAuthDeps): void {
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
 * The algorithms of the client's ID tokens and signed responses that are not those it registered, or where it registered none, not
 * the default (OpenID Connect Registration §3.2, JARM §3).
 */
async function substitutesFor(
  zone: AddressedZone,
  client: Client,
  { keys, behaviour }: Pick<OAuthDeps, 'keys' | 'behaviour'>,
): Promise<SubstituteAlgorithms> {
  if ((await keys.list(zone.id)).length === 0) return {}
  const signing = { zone, client, keys }
  return {
    idToken: await substitute(clientKey('id_token', signing), client.idTokenSignedResponseAlg),
    response: supportsProtocol(zone, 'signedResponses', behaviour)
      ? await substitute(clientKey('response', signing), client.authorizationSignedResponseAlg)
      : undefined,
  }
}

/** The algorithm of the key, if the client would expect another one. */
async function substitute(
  finding: Promise<SigningKey>,
  registered: SigningAlgorithm | undefined,
): Promise<SigningAlgorithm | undefined> {
  try {
    const key = await finding
    return key.algorithm === (registered ?? DEFAULT_ALGORITHM) || !isPublic(key) ? undefined : key.algorithm
  } catch (error) {
    if (error instanceof NoSigningKey) return undefined // what is signed for the client will fail
    throw error
  }
}
