// Clients that callers with `zones.write` of the default zone create in another zone, only for signing users in there.
import type { FastifyRequest } from 'fastify'
import { applyWrites, creation, deletion, newClient } from '../../clients/changes.ts'
import type { ClientWrite } from '../../clients/changes.ts'
import { problemInZone } from '../../clients/in-zone.ts'
import { clientFromJson, clientToJson } from '../../clients/client-json.ts'
import { isKeepable } from '../../records/kinds.ts'
import { hasKeys } from '../../clients/client-update.ts'
import { isBlank, secretPolicy } from '../../model/clients/secret-policy.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { AlreadyExists, ChangedMeanwhile } from '../../store/store.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { auditOriginOf, requesterOf } from '../../web/requests/requester.ts'
import { refuseByStatus, refuseVerbatim } from './refusal.ts'
import type { OAuthError } from '../../model/oauth-error.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { ZoneRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

/** Marks the clients that were created here. */
const CREATED_WITH = 'zones.write'

const refuse = (description: string, status = 400): OAuthError => refuseVerbatim('invalid_client', status, description)

/** `POST /identity-zones/{id}/clients` and `DELETE /identity-zones/{id}/clients/{client_id}`. */
export function zoneClientHandlers(on: On<ZoneRoute>, deps: AdminDeps): void {
  const { store, service, behaviour, audit } = deps

  /** The zone of the path, which must not be the default zone; only callable from the default zone. */
  async function zoneOf(request: FastifyRequest, id: string): Promise<Zone> {
    if (id === service.name || request.zone.id !== service.name) throw refuseByStatus(403)
    const zone = (await store.zones.read(id))?.zone
    if (!zone?.active) throw refuseByStatus(404)
    return zone
  }

  /** Writes the change; refuses one of two concurrent changes. */
  async function write(request: FastifyRequest, { id: zoneId }: Zone, change: ClientWrite, clientId: string) {
    try {
      await applyWrites(zoneId, [change], { store, audit, origin: auditOriginOf(request) })
    } catch (error) {
      if (error instanceof AlreadyExists) throw refuse(`Client already exists: ${clientId}`, 409)
      if (error instanceof ChangedMeanwhile) throw refuse(`Client was changed concurrently: ${clientId}`, 409)
      throw error
    }
  }

  /** The client of the body with its unencrypted secret; checks in UAA's order. */
  function readClient(request: FastifyRequest, zone: Zone) {
    const { autoapprove: _, ...json } = jsonBody(request)
    if (!isKeepable(json)) throw refuse('The client has text that is not valid Unicode or contains NUL')
    const { definition, secrets, problems } = clientFromJson(
      json,
      { service, ...behaviour },
      { as: 'created', withSecondSecret: false, secretPolicy: secretPolicy(zone) },
    )
    const { clientId, scope, authorities, allowedProviders, authorizedGrantTypes } = definition
    const is = (list: readonly string[] | undefined, only: string): boolean => list?.length === 1 && list[0] === only
    const resource = service.scope('resource')
    if (!is(scope, 'openid')) throw refuse('only openid scope is allowed')
    if (!is(authorities, resource)) throw refuse(`only ${resource} authority is allowed`)
    if (clientId.trim() === '') throw refuse('client_id cannot be blank')
    const secret = secrets[0] ?? ''
    const isProven = hasKeys(definition) || definition.jwtCreds !== undefined
    if (isBlank(secret) && !isProven && !is(authorizedGrantTypes, 'implicit'))
      throw refuse('client_secret cannot be blank')
    if (!is(allowedProviders, service.name)) throw refuse(`only the internal IdP ('${service.name}') is allowed`)
    // UAA: does not validate redirect URIs here, but they must be strings.
    const isType = (message: string): boolean => message.startsWith('redirect_uri ')
    const problem = problems.find(({ key, message }) => key !== 'redirect_uri' || isType(message))?.message
    if (problem !== undefined) throw refuse(problem)
    return { definition, secrets }
  }

  on<{ Params: { id: string } }>('POST /identity-zones/:id/clients', async (request, reply) => {
    const zone = await zoneOf(request, request.params.id)
    const { definition, secrets } = readClient(request, zone)
    const draft = { definition: { ...definition, createdWith: CREATED_WITH }, secrets }
    const withoutEffect = await problemInZone(zone, definition, deps)
    if (withoutEffect !== undefined) throw refuse(withoutEffect)
    const client = await newClient(draft, { zoneId: zone.id, requester: requesterOf(request) }, deps)
    await write(request, zone, creation(client), client.clientId)
    return sendJson(reply, clientToJson(client, { inList: true }), 201)
  })

  on<{ Params: { id: string; client_id: string } }>(
    'DELETE /identity-zones/:id/clients/:client_id',
    async (request, reply) => {
      const zone = await zoneOf(request, request.params.id)
      const stored = await store.clients.findForChange(zone.id, request.params.client_id)
      if (stored === undefined) throw refuseByStatus(404)
      const { client } = stored
      if (client.createdWith !== CREATED_WITH) throw refuse('client must have been createdwith scope zones.write')
      await write(request, zone, deletion(stored), client.clientId)
      return sendJson(reply, clientToJson(client))
    },
  )
}
