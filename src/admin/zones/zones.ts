// Creates, changes and deletes identity zones. Administrators of the default zone manage all zones, administrators of
// another zone only their own.
import type { FastifyRequest } from 'fastify'
import type { JsonRecord } from '../../base/json.ts'
import type { Random } from '../../base/random.ts'
import type { Group } from '../../model/users/group.ts'
import { restrictedScopes } from '../../model/tokens/restricted-scopes.ts'
import { zoneToJson } from '../../zones/zone-json.ts'
import { zoneConfigSettings } from '../../records/zone-config.ts'
import { allowedGroupNames } from '../../model/zones/zone-rules.ts'
import { defaultGroups, standardDefaultGroups } from '../../model/zones/zone.ts'
import type { Zone, ZoneConfig } from '../../model/zones/zone.ts'
import type { ZoneState } from '../../store/store.ts'
import { newGroup } from '../../users/groups/default-groups.ts'
import { hasRight } from '../../web/callers/bearer.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { auditOriginOf } from '../../web/requests/requester.ts'
import { zoneReaders } from './access.ts'
import type { ZoneBody } from './body.ts'
import { isNamed, readZoneBody, refuseBadId, refuseBadNames, refuseUnnamed } from './body.ts'
import { zoneClientHandlers } from './clients.ts'
import type { ZoneClientDeps } from './clients.ts'
import { createZoneConfigReader } from './config.ts'
import type { ZoneConfigDeps } from './config.ts'
import { listOfZones } from './list.ts'
import { invalidZone, refuseByStatus } from './refusal.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { ZoneRoute } from './routes.ts'

/** Dependencies of `zoneHandlers`. */
export interface ZoneDeps extends ZoneClientDeps, ZoneConfigDeps {
  readonly random: Random
}

interface ZoneParams {
  readonly Params: { readonly id: string }
}

/** `/identity-zones`, `/identity-zones/{id}` and the clients below the latter. */
export function zoneHandlers(on: On<ZoneRoute>, deps: ZoneDeps): void {
  const { store, clock, random, service, audit } = deps
  const settings = zoneConfigSettings(service.name)
  const standardGroups = standardDefaultGroups(service.name)
  const readConfig = createZoneConfigReader(deps)

  const isDefault = (id: string): boolean => id === service.name

  /** Callers in another zone can see only that zone. */
  const isOutside = (request: FastifyRequest, id: string): boolean =>
    !isDefault(request.zone.id) && request.zone.id !== id

  /** For the default zone the signing key, for others their chosen one: a generated key is not shown. */
  function shownKey({ zone, activeKeyId }: ZoneState): string | undefined {
    const isChosen = isDefault(zone.id) || (zone.config.tokenPolicy?.activeKeyId ?? undefined) !== undefined
    return isChosen ? activeKeyId : undefined
  }

  const toJson = (state: ZoneState, reduced = false): JsonRecord =>
    zoneToJson(state.zone, { activeKeyId: shownKey(state) }, { settings, reduced })

  const report = (
    request: FastifyRequest,
    type: 'IdentityZoneCreatedEvent' | 'IdentityZoneModifiedEvent' | 'EntityDeletedEvent',
    zone: Zone,
  ): void =>
    audit({
      type,
      zoneId: request.zone.id,
      principal: zone.id,
      data: `identity zone ${JSON.stringify({ id: zone.id, subdomain: zone.subdomain, name: zone.name, active: zone.active })}`,
      ...auditOriginOf(request),
    })

  const groupsNamed = (zoneId: string, names: Iterable<string>): readonly Group[] => {
    const now = clock.now()
    return [...new Set(names)].map(displayName => newGroup({ zoneId, displayName }, { id: random.uuid(), now }))
  }

  async function create(request: FastifyRequest): Promise<ZoneState> {
    if (!isDefault(request.zone.id)) throw refuseByStatus(403)
    const body = readZoneBody(jsonBody(request))
    refuseUnnamed(body)
    const id = body.id ?? random.uuid()
    refuseBadId(id)
    refuseBadNames(body)
    const { config, keys } = await readConfig(request, { body, zoneId: id })
    const now = clock.now()
    const zone: Zone = { ...recorded(body), id, config, version: body.version, createdAt: now, updatedAt: now }
    const allowed = allowedGroupNames(config.userConfig, standardGroups)
    const rights = restrictedScopes(service).filter(
      scope => !scope.startsWith('zones.') && (allowed === undefined || allowed.has(scope)),
    )
    const name = service.name
    await store.zones.create(zone, {
      provider: {
        zoneId: id,
        id: random.uuid(),
        originKey: name,
        type: name,
        name,
        active: true,
        config: {},
        version: 0,
        createdAt: now,
        updatedAt: now,
      },
      groups: groupsNamed(id, [...defaultGroups(zone, name), ...rights]),
      keys: keys.change && !('activate' in keys.change) ? keys.change : [],
    })
    report(request, 'IdentityZoneCreatedEvent', zone)
    return { zone, revision: 0, ...(keys.activeKeyId !== undefined && { activeKeyId: keys.activeKeyId }) }
  }

  async function change(request: FastifyRequest, id: string): Promise<ZoneState> {
    if (isDefault(id) || isOutside(request, id)) throw refuseByStatus(403)
    const before = await store.zones.read(id)
    if (before === undefined) throw refuseByStatus(404)
    const body = readZoneBody(jsonBody(request))
    if (!isNamed(body)) throw refuseByStatus(400)
    if (body.id !== undefined && body.id !== id) {
      throw invalidZone('The identity zone id from the request body does not match id in the url')
    }
    refuseBadNames(body, before.zone)
    const { config, keys } = await readConfig(request, { body, zoneId: id, before })
    await refuseForbiddenGroups(id, config)
    const { createdAt } = before.zone
    const version = body.version + 1
    const zone: Zone = { ...recorded(body), id, config, version, createdAt, updatedAt: clock.now() }
    await store.zones.replace(zone, before.revision, {
      groups: groupsNamed(id, defaultGroups(zone, service.name)),
      ...(keys.change && { keys: keys.change }),
    })
    report(request, 'IdentityZoneModifiedEvent', zone)
    const activeKeyId = keys.change ? keys.activeKeyId : before.activeKeyId
    return { zone, revision: before.revision + 1, ...(activeKeyId !== undefined && { activeKeyId }) }
  }

  async function refuseForbiddenGroups(zoneId: string, { userConfig }: ZoneConfig): Promise<void> {
    const allowed = allowedGroupNames(userConfig, standardGroups)
    if (allowed === undefined) return
    const names = await store.zones.groupNames(zoneId)
    if (names.every(name => allowed.has(name))) return
    throw invalidZone('The identity zone user configuration contains not-allowed groups.')
  }

  on('GET /identity-zones', async (request, reply) => {
    if (isDefault(request.zone.id)) {
      return reply.type('application/json').send(await listOfZones(store, state => toJson(state)))
    }
    const own = await store.zones.read(request.zone.id)
    return sendJson(reply, own ? [toJson(own)] : [])
  })

  on<ZoneParams>('GET /identity-zones/:id', async (request, reply) => {
    const { id } = request.params
    const state = isOutside(request, id) ? undefined : await store.zones.read(id)
    if (state === undefined) throw refuseByStatus(404)
    return sendJson(reply, toJson(state, !hasRight(request, zoneReaders(service), service)))
  })

  on('POST /identity-zones', async (request, reply) => sendJson(reply, toJson(await create(request)), 201))

  on<ZoneParams>('PUT /identity-zones/:id', async (request, reply) =>
    sendJson(reply, toJson(await change(request, request.params.id))),
  )

  on<ZoneParams>('DELETE /identity-zones/:id', async (request, reply) => {
    const { id } = request.params
    if (isDefault(id) || isOutside(request, id)) throw refuseByStatus(403)
    const state = await store.zones.read(id)
    if (state === undefined) throw refuseByStatus(404)
    const outcome = await store.zones.delete(id, service.name)
    if (outcome === 'aliased') throw refuseByStatus(422)
    if (outcome === 'missing') throw refuseByStatus(404)
    report(request, 'EntityDeletedEvent', state.zone)
    return sendJson(reply, toJson(state))
  })

  zoneClientHandlers(on, deps)
}

/** The members that are stored as sent. */
const recorded = ({ subdomain, name, description, active }: ZoneBody) => ({
  subdomain,
  name,
  active,
  ...(description !== undefined && { description }),
})
