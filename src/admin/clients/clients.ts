// Reads, creates, changes and deletes one client; the `restricted` endpoints refuse restricted scopes.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { JsonRecord } from '../../base/json.ts'
import { deletion, update } from '../../clients/changes.ts'
import { restrictedScopes, restrictionProblem } from '../../model/tokens/restricted-scopes.ts'
import type { On } from '../../web/deferred-routes.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { batchHandlers } from './batches.ts'
import { clientJwtHandler } from './client-jwt.ts'
import { clientListHandler } from './list.ts'
import { metadataHandlers } from './meta.ts'
import { clientToJson, invalidClient, sendNotFound } from './record.ts'
import { registrationTokenHandlers } from './registration-tokens.ts'
import type { ClientRoute } from './routes.ts'
import { profileHandler } from './profile.ts'
import { clientSecretHandler } from './secret.ts'
import { alreadyExists, createClientWriter } from './writer.ts'
import type { ClientWriter } from './writer.ts'
import type { AdminDeps } from '../deps.ts'

interface OfClient {
  readonly Params: { readonly client_id: string }
}

/** The handlers of `/oauth/clients` and everything below it. */
export function clientHandlers(on: On<ClientRoute>, deps: AdminDeps): void {
  const writer = createClientWriter(deps)
  singleHandlers(on, writer, deps)
  clientListHandler(on, deps)
  batchHandlers(on, writer, deps)
  clientSecretHandler(on, writer, deps)
  clientJwtHandler(on, writer, deps)
  metadataHandlers(on, writer, deps)
  profileHandler(on, deps)
  registrationTokenHandlers(on, deps)
}

function singleHandlers(on: On<ClientRoute>, writer: ClientWriter, { store, service, behaviour }: AdminDeps): void {
  async function post(request: FastifyRequest, reply: FastifyReply, withSecondSecret: boolean): Promise<FastifyReply> {
    const draft = writer.readNew(request, jsonBody(request), { withSecondSecret })
    const { clientId } = draft.definition
    // Avoids unnecessary hashing. The write detects a client created in between.
    if (await store.clients.findForChange(request.zone.id, clientId)) throw alreadyExists(clientId)
    const write = await writer.create(request, draft)
    await writer.commit(request, [write])
    return sendJson(reply, clientToJson(write.client), 201)
  }

  async function put(request: FastifyRequest, reply: FastifyReply, clientId: string): Promise<FastifyReply> {
    const json = jsonBody(request)
    if (json['client_id'] !== clientId) {
      throw invalidClient('The client id from the request body does not match the client id in the url')
    }
    const existing = await writer.find(request, clientId)
    if (!existing) return sendNotFound(reply, behaviour)
    const client = writer.readUpdate(request, existing.client, json)
    await writer.commit(request, [update(existing, client)])
    return sendJson(reply, clientToJson(client))
  }

  function refuseRestricted(json: JsonRecord): void {
    const problem = restrictionProblem(json, service)
    if (problem !== undefined) throw invalidClient(problem)
  }

  on('GET /oauth/clients/restricted', (_, reply) => sendJson(reply, restrictedScopes(service)))

  on('POST /oauth/clients/restricted', (request, reply) => {
    refuseRestricted(jsonBody(request))
    return post(request, reply, false)
  })

  on<OfClient>('PUT /oauth/clients/restricted/:client_id', (request, reply) => {
    refuseRestricted(jsonBody(request))
    return put(request, reply, request.params.client_id)
  })

  on<OfClient>('GET /oauth/clients/:client_id', async (request, reply) => {
    const found = await store.clients.findForChange(request.zone.id, request.params.client_id)
    return found ? sendJson(reply, clientToJson(found.client)) : sendNotFound(reply, behaviour)
  })

  on('POST /oauth/clients', (request, reply) => post(request, reply, true))

  on<OfClient>('PUT /oauth/clients/:client_id', (request, reply) => put(request, reply, request.params.client_id))

  on<OfClient>('DELETE /oauth/clients/:client_id', async (request, reply) => {
    const found = await writer.find(request, request.params.client_id)
    if (!found) return sendNotFound(reply, behaviour)
    await writer.commit(request, [deletion(found)])
    return sendJson(reply, clientToJson(found.client))
  })
}
