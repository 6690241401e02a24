// Creates, changes and deletes the records of identity zones, with the groups, the provider and the keys that belong to them.
import type { FastifyRequest } from 'fastify'
import type { Group } from '../../model/users/group.ts'
import { recordLostRights } from '../../clients/changes.ts'
import { restrictedScopes } from '../../model/tokens/restricted-scopes.ts'
import { allowedGroupNames } from '../../model/zones/zone-rules.ts'
import { defaultGroups, standardDefaultGroups } from '../../model/zones/zone.ts'
import type { Zone } from '../../model/zones/zone.ts'
import type { ZoneState } from '../../store/store.ts'
import { isDefaultGroup, newGroup } from '../../users/groups/default-groups.ts'
import { recordLostGroups } from '../../users/groups/group-events.ts'
import { jsonBody } from '../../web/requests/json.ts'
import { auditOriginOf } from '../../web/requests/requester.ts'
import type { ZoneBody } from './body.ts'
import { isNamed, readZoneBody, refuseBadId, refuseBadNames, refuseUnnamed } from './body.ts'
import { createZoneConfigReader } from './config.ts'
import { isDefault, isOutside } from './access.ts'
import { groupCallerOf } from '../resources/caller.ts'
import { invalidZone, refuseByStatus } from './refusal.ts'
import type { AdminDeps } from '../deps.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'

type ZoneEventType = 'IdentityZoneCreatedEvent' | 'IdentityZoneModifiedEvent' | 'EntityDeletedEvent'

/** Makes the changes; each writes its event to the audit trail. */
export function createZoneChanges(deps: AdminDeps) {
  const { store, clock, random, service, audit } = deps
  const standardGroups = standardDefaultGroups(service.name)
  const readConfig = createZoneConfigReader(deps)

  /** In the trail of the zone that the request went to, unless another is given. */
  function report(request: FastifyRequest, type: ZoneEventType, zone: Zone, zoneId = request.zone.id): void {
    const { id, subdomain, name, active } = zone
    const data = `identity zone ${JSON.stringify({ id, subdomain, name, active })}`
    audit({ type, zoneId, principal: id, data, ...auditOriginOf(request) })
  }

  const groupsNamed = (zoneId: string, names: Iterable<string>): readonly Group[] => {
    const now = clock.now()
    return [...new Set(names)].map(displayName => newGroup({ zoneId, displayName }, { id: random.uuid(), now }))
  }

  async function create(request: FastifyRequest): Promise<ZoneState> {
    if (!isDefault(request.zone.id, service)) throw refuseByStatus(403)
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
    await store.zones.create(zone, {
      provider: internalProvider(zone, service.name, random.uuid()),
      groups: groupsNamed(id, [...defaultGroups(zone, service.name), ...rights]),
      keys: keys.change && !('activate' in keys.change) ? keys.change : [],
    })
    report(request, 'IdentityZoneCreatedEvent', zone)
    return { zone, revision: 0, ...(keys.activeKeyId !== undefined && { activeKeyId: keys.activeKeyId }) }
  }

  async function change(request: FastifyRequest, id: string): Promise<ZoneState> {
    if (isDefault(id, service) || isOutside(request, id, service)) throw refuseByStatus(403)
    const before = await store.zones.read(id)
    if (before === undefined) throw refuseByStatus(404)
    const body = readZoneBody(jsonBody(request))
    if (!isNamed(body)) throw refuseByStatus(400)
    if (body.id !== undefined && body.id !== id) {
      throw invalidZone('The identity zone id from the request body does not match id in the url')
    }
    refuseBadNames(body, before.zone)
    const { config, keys } = await readConfig(request, { body, zoneId: id, before })
    await refuseForbiddenGroups({ id, config })
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

  async function refuseForbiddenGroups(zone: Pick<Zone, 'id' | 'config'>): Promise<void> {
    const allowed = allowedGroupNames(zone.config.userConfig, standardGroups)
    if (allowed === undefined) return
    // What every user has is made as a group when a user is shown.
    const isAllowed = (name: string): boolean => allowed.has(name) || isDefaultGroup(zone, name, deps)
    for await (const names of store.zones.groupNames(zone.id)) {
      if (names.every(isAllowed)) continue
      throw invalidZone('The identity zone user configuration contains not-allowed groups.')
    }
  }

  /** Returns the zone as it was. */
  async function remove(request: FastifyRequest, id: string): Promise<ZoneState> {
    if (isDefault(id, service) || isOutside(request, id, service)) throw refuseByStatus(403)
    const state = await store.zones.read(id)
    if (state === undefined) throw refuseByStatus(404)
    const deletion = await store.zones.delete(id, service.name)
    if (deletion.outcome === 'aliased') throw refuseByStatus(422)
    if (deletion.outcome === 'missing') throw refuseByStatus(404)
    report(request, 'EntityDeletedEvent', state.zone, service.name) // the caller may be inside of the zone
    recordLostGroups(deletion.groups, { zoneId: service.name, audit, by: groupCallerOf(request, service) })
    recordLostRights(deletion.clients, { zoneId: service.name, audit, origin: auditOriginOf(request) })
    return state
  }

  return { create, change, remove }
}

const internalProvider = ({ id: zoneId, createdAt }: Zone, name: string, id: string): IdentityProvider => ({
  zoneId,
  id,
  originKey: name,
  type: name,
  name,
  active: true,
  config: {},
  version: 0,
  createdAt,
  updatedAt: createdAt,
})

/** The members that are stored as sent. */
const recorded = ({ subdomain, name, description, active }: ZoneBody) => ({
  subdomain,
  name,
  active,
  ...(description !== undefined && { description }),
})
