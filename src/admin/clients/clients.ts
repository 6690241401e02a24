// Reads, creates, changes and deletes one client; the `restricted` endpoints refuse restricted scopes.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { JsonRecord } from '../../base/json.ts'
import { deletion, update } from '../../clients/changes.ts'
import { restrictedScopes, restrictionProblem } from '../../model/restricted-scopes.ts'
import type { AuthenticatedClientDeps } from '../../web/authenticated-client.ts'
import { jsonBody, sendJson } from '../../web/json.ts'
import { batchEndpoints } from './batches.ts'
import { clientInfoEndpoint } from './client-info.ts'
import { metadataEndpoints } from './meta.ts'
import { clientAccess, clientToJson, invalidClient, sendNotFound } from './record.ts'
import { clientSecretEndpoint } from './secret.ts'
import type { ClientSecretDeps } from './secret.ts'
import { alreadyExists, createClientWriter } from './writer.ts'
import type { ClientWriter, ClientWriterDeps } from './writer.ts'

/** Dependencies of the client endpoints. */
export type ClientDeps = ClientWriterDeps & ClientSecretDeps & AuthenticatedClientDeps

interface OfClient {
  readonly Params: { readonly client_id: string }
}

/** `/oauth/clients` except the list and the keys, and `/clientinfo`. */
export function clientEndpoints(app: FastifyInstance, deps: ClientDeps): void {
  const writer = createClientWriter(deps)
  singleEndpoints(app, writer, deps)
  batchEndpoints(app, writer, deps)
  clientSecretEndpoint(app, writer, deps)
  metadataEndpoints(app, writer, deps)
  clientInfoEndpoint(app, deps)
}

function singleEndpoints(
  app: FastifyInstance,
  writer: ClientWriter,
  { store, service, behaviour }: ClientWriterDeps,
): void {
  const reading = { access: clientAccess(service, 'clients.read'), audience: 'api' } as const
  const deleting = { access: clientAccess(service, 'clients.write'), audience: 'api' } as const
  const writing = { ...deleting, body: 'json' } as const

  async function post(request: FastifyRequest, reply: FastifyReply, withSecondSecret: boolean): Promise<FastifyReply> {
    const draft = writer.readNew(request, jsonBody(request), { withSecondSecret })
    const { clientId } = draft.definition
    // Avoids hashing in vain. The write detects a client created in between.
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

  app.get('/oauth/clients/restricted', { config: reading }, (_, reply) => sendJson(reply, restrictedScopes(service)))

  app.post('/oauth/clients/restricted', { config: writing }, (request, reply) => {
    refuseRestricted(jsonBody(request))
    return post(request, reply, false)
  })

  app.put<OfClient>('/oauth/clients/restricted/:client_id', { config: writing }, (request, reply) => {
    refuseRestricted(jsonBody(request))
    return put(request, reply, request.params.client_id)
  })

  app.get<OfClient>('/oauth/clients/:client_id', { config: reading }, async (request, reply) => {
    const found = await store.clients.findForChange(request.zone.id, request.params.client_id)
    return found ? sendJson(reply, clientToJson(found.client)) : sendNotFound(reply, behaviour)
  })

  app.post('/oauth/clients', { config: writing }, (request, reply) => post(request, reply, true))

  app.put<OfClient>('/oauth/clients/:client_id', { config: writing }, (request, reply) =>
    put(request, reply, request.params.client_id),
  )

  app.delete<OfClient>('/oauth/clients/:client_id', { config: deleting }, async (request, reply) => {
    const found = await writer.find(request, request.params.client_id)
    if (!found) return sendNotFound(reply, behaviour)
    await writer.commit(request, [deletion(found)])
    return sendJson(reply, clientToJson(found.client))
  })
}
