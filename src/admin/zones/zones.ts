// The handlers of identity zones. Administrators of the default zone manage all zones, administrators of another zone
// only their own.
import type { JsonRecord } from '../../base/json.ts'
import { zoneToJson } from '../../zones/zone-json.ts'
import { zoneConfigSettings } from '../../records/zone-config.ts'
import type { ZoneState } from '../../store/store.ts'
import { hasRight } from '../../web/callers/bearer.ts'
import { sendJson } from '../../web/requests/json.ts'
import { isDefault, isOutside, zoneReaders } from './access.ts'
import { zoneClientHandlers } from './clients.ts'
import { createZoneChanges } from './changes.ts'
import { listOfZones } from './list.ts'
import { refuseByStatus } from './refusal.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { ZoneRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

interface ZoneParams {
  readonly Params: { readonly id: string }
}

/** `/identity-zones`, `/identity-zones/{id}` and the clients below the latter. */
export function zoneHandlers(on: On<ZoneRoute>, deps: AdminDeps): void {
  const { store, service } = deps
  const changes = createZoneChanges(deps)
  const settings = zoneConfigSettings(service.name)

  /** For the default zone the signing key, for others their chosen one: a generated key is not shown. */
  function shownKey({ zone, activeKeyId }: ZoneState): string | undefined {
    const isChosen = isDefault(zone.id, service) || (zone.config.tokenPolicy?.activeKeyId ?? undefined) !== undefined
    return isChosen ? activeKeyId : undefined
  }

  const toJson = (state: ZoneState, reduced = false): JsonRecord =>
    zoneToJson(state.zone, { activeKeyId: shownKey(state) }, { settings, reduced })

  on('GET /identity-zones', async (request, reply) => {
    if (isDefault(request.zone.id, service)) {
      return reply.type('application/json').send(await listOfZones(store, state => toJson(state)))
    }
    const own = await store.zones.read(request.zone.id)
    return sendJson(reply, own ? [toJson(own)] : [])
  })

  on<ZoneParams>('GET /identity-zones/:id', async (request, reply) => {
    const { id } = request.params
    const state = isOutside(request, id, service) ? undefined : await store.zones.read(id)
    if (state === undefined) throw refuseByStatus(404)
    return sendJson(reply, toJson(state, !hasRight(request, zoneReaders(service), service)))
  })

  on('POST /identity-zones', async (request, reply) => sendJson(reply, toJson(await changes.create(request)), 201))

  on<ZoneParams>('PUT /identity-zones/:id', async (request, reply) =>
    sendJson(reply, toJson(await changes.change(request, request.params.id))),
  )

  on<ZoneParams>('DELETE /identity-zones/:id', async (request, reply) =>
    sendJson(reply, toJson(await changes.remove(request, request.params.id))),
  )

  zoneClientHandlers(on, deps)
}
