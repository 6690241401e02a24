// Clients register, read, change and delete themselves (RFC 7591, RFC 7592, OpenID Connect Registration).
import type { FastifyReply, FastifyRequest } from 'fastify'
import { deletion } from '../../clients/changes.ts'
import type { On } from '../../web/deferred-routes.ts'
import { sendJson } from '../../web/requests/json.ts'
import { clientInformation } from './answer.ts'
import { changeRegistration, commitRegistration } from './change.ts'
import { registerClient } from './register.ts'
import type { RegisteredClient } from './register.ts'
import { findRegisteredCaller, openPolicy } from './registration-access.ts'
import type { OfClient } from './registration-access.ts'
import { REGISTRATION_PATH } from './routes.ts'
import type { RegistrationRoute } from './routes.ts'
import { substitutesFor } from './substitutes.ts'
import type { OAuthDeps } from '../deps.ts'

/** The handlers of `/connect/register` and below. */
export function registrationHandlers(on: On<RegistrationRoute>, deps: OAuthDeps): void {
  const answer = ({ zone }: FastifyRequest, reply: FastifyReply, registered: RegisteredClient): FastifyReply => {
    const { client, token, secret, substitutes } = registered
    const uri = `${deps.urls.ofZone(zone)}${REGISTRATION_PATH}/${encodeURIComponent(client.clientId)}`
    const facts = { uri, token, secret, noneScope: deps.service.scope('none'), substitutes }
    return sendJson(reply.header('cache-control', 'no-store'), clientInformation(client, facts))
  }

  on('POST /connect/register', async (request, reply) => {
    const registered = await registerClient(request, deps)
    return answer(request, reply.status(201), registered)
  })

  on<OfClient>('GET /connect/register/:client_id', async (request, reply) => {
    openPolicy(request.zone, deps)
    const { client, token } = await findRegisteredCaller(request, deps)
    return answer(request, reply, { client, token, substitutes: await substitutesFor(request.zone, client, deps) })
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
