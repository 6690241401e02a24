// What a caller who is not an administrator may give to clients: nothing beyond the rights that the caller has.
import type { FastifyRequest } from 'fastify'
import type { ClientWrite } from '../../clients/changes.ts'
import type { LimitedBearer } from '../../model/clients/client-caller.ts'
import type { Client } from '../../model/clients/client.ts'
import { isPublic } from '../../token/keys/zone-key.ts'
import { invalidClient, isClientAdministrator } from './record.ts'
import type { AdminDeps } from '../deps.ts'

/** Makes the checks, which throw `invalid_client`. */
export function createClientRights({ store, service, behaviour, keys }: AdminDeps) {
  /**
   * The rights of a caller who is not an administrator. A client of another zone has no scopes here, even if a client
   * here has the same id. A user's rights are those of the token, not all scopes of its client.
   */
  function limitedCaller(request: FastifyRequest): LimitedBearer | undefined {
    const { bearer, zone } = request
    if (!bearer || isClientAdministrator(request, service)) return undefined
    const { clientId, zoneId } = bearer.client
    const rights = bearer.scopes
    const scope = bearer.user ? bearer.client.scope.filter(name => rights.includes(name)) : bearer.client.scope
    return { clientId, rights, ...(zoneId === zone.id && { scope }) }
  }

  /** An API that checks only the audience trusts every client that may name it, so resources are granted like scopes. */
  function checkResources(
    request: FastifyRequest,
    { resources = [] }: Pick<Client, 'resources'>,
    before: Pick<Client, 'resources'> = {},
  ): void {
    if (isClientAdministrator(request, service)) return
    const { bearer, zone } = request
    const own = bearer?.client.zoneId === zone.id ? bearer.client.resources : []
    const known = new Set([...(before.resources ?? []), ...(own ?? [])])
    const added = resources.find(resource => !known.has(resource))
    if (added !== undefined) throw invalidClient(`${added} is not an allowed resource for non-admin caller.`)
  }

  /** UAA: shows the shared secrets of a zone to its clients with this authority, which could sign tokens with them. */
  async function checkSharedSecrets(request: FastifyRequest, { change }: ClientWrite): Promise<void> {
    const resource = service.scope('resource')
    const caller = limitedCaller(request)
    if (behaviour.allPublicKeys || !caller || caller.rights.includes(resource)) return
    if (!('client' in change) || !change.client.authorities.includes(resource)) return
    const { id } = request.zone
    const before = change.kind === 'update' ? await store.clients.find(id, change.client.clientId) : undefined
    if (before?.authorities.includes(resource) === true) return
    if ((await keys.list(id)).some(key => !isPublic(key) && key.zoneId === id)) {
      throw invalidClient(`${resource} is not an allowed authority for non-admin caller: the zone has a shared secret.`)
    }
  }

  return { limitedCaller, checkResources, checkSharedSecrets }
}
