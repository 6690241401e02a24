// Creates, changes and deletes identity zones. Administrators of the default zone manage all zones, administrators of
// another zone only their own.
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import { createFairQueue } from '../../base/fair-queue.ts'
import type { QueueBounds } from '../../base/fair-queue.ts'
import { isJsonRecord, memberOf } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import type { Random } from '../../base/random.ts'
import type { Vault } from '../../base/secrets.ts'
import type { Audit } from '../../model/audit/event.ts'
import type { Group } from '../../model/users/group.ts'
import { restrictedScopes } from '../../model/tokens/restricted-scopes.ts'
import type { Service } from '../../model/service.ts'
import type { TokenSettings } from '../../model/zones/settings.ts'
import type { Urls } from '../../model/urls.ts'
import { zoneToJson } from '../../zones/zone-json.ts'
import { readSettings } from '../../records/settings.ts'
import { zoneConfigSettings } from '../../records/zone-config.ts'
import {
  allowedGroupNames,
  checkZoneConfig,
  InvalidZoneConfig,
  refuseForeignEntityId,
} from '../../model/zones/zone-rules.ts'
import { readSamlKeys } from '../../zones/saml-keys.ts'
import { defaultGroups, standardDefaultGroups } from '../../model/zones/zone.ts'
import type { Zone, ZoneConfig } from '../../model/zones/zone.ts'
import type { Store, ZoneState } from '../../store/store.ts'
import { hasRight } from '../../web/callers/bearer.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { auditOriginOf } from '../../web/requests/requester.ts'
import { isOwnHost } from '../../web/zones/zone.ts'
import { zoneReaders } from './access.ts'
import type { ZoneBody } from './body.ts'
import { isNamed, readZoneBody, refuseBadId, refuseBadNames, refuseUnnamed } from './body.ts'
import { zoneClientHandlers } from './clients.ts'
import type { ZoneClientDeps } from './clients.ts'
import type { SentKeys } from './keys.ts'
import { readSigningKeys } from './keys.ts'
import { listOfZones } from './list.ts'
import { keptSettings } from './kept-settings.ts'
import { secondFactorAfter } from './second-factor.ts'
import { invalidZone, malformed, refuseByStatus } from './refusal.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { ZoneRoute } from './routes.ts'

/** Dependencies of `zoneHandlers`. */
export interface ZoneDeps extends ZoneClientDeps {
  readonly store: Store
  readonly vault: Vault
  readonly clock: Clock
  readonly random: Random
  readonly service: Service
  readonly audit: Audit
  readonly urls: Urls
  readonly settings: Pick<TokenSettings, 'internalHostnames'>
  /** The SAML entity id of the default zone. */
  readonly samlEntityId: string
}

/** Limits of decrypting keys with a passphrase: one at a time, and one waiting request per zone. */
const OPENING_BOUNDS: QueueBounds = { all: 16, zone: 1, network: 4 }

interface ZoneParams {
  readonly Params: { readonly id: string }
}

/** `/identity-zones`, `/identity-zones/{id}` and the clients below the latter. */
export function zoneHandlers(on: On<ZoneRoute>, deps: ZoneDeps): void {
  const { store, vault, clock, random, service, audit, urls } = deps
  const ownHosts = [urls.hostname, ...deps.settings.internalHostnames]
  const settings = zoneConfigSettings(service.name)
  const openings = createFairQueue({ concurrency: 1, bounds: OPENING_BOUNDS })
  const defaults = { standardDefaultGroups: standardDefaultGroups(service.name), service }

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

  /** The settings of the request, with the changes of keys. Throws for invalid settings. */
  async function readConfig(
    request: FastifyRequest,
    {
      body: { config: sent, subdomain },
      zoneId,
      before,
    }: { readonly body: ZoneBody; readonly zoneId: string; readonly before?: ZoneState },
  ): Promise<{ readonly config: ZoneConfig; readonly keys: SentKeys }> {
    const { tokenPolicy, samlConfig, secondFactor: sentFactors, ...others } = readSettings(settings, sent, 'config')
    const secondFactor = await secondFactorAfter(sent, sentFactors, { before: before?.zone, store })
    const kept = keptSettings(sent, before?.zone.config)
    const config = { ...others, ...kept, ...(secondFactor && { secondFactor }) }
    refuseGroupNames(config)
    refuseForeignEntityId(samlConfig, { subdomain, serverEntityId: deps.samlEntityId })
    const samlKeys = await readSamlKeys(recordOf(sent, 'samlConfig'), {
      zoneId,
      vault,
      openings,
      requester: { zoneId, address: request.ip },
      ...(before?.zone.config.samlConfig && { before: before.zone.config.samlConfig }),
    })
    const sentPolicy = recordOf(sent, 'tokenPolicy')
    const keys = await readSigningKeys(sentPolicy, zoneId, {
      store,
      vault,
      clock,
      ...(before && { before }),
    })
    const { activeKeyId } = keys
    if (config.issuer !== undefined) {
      const isKept = keys.change === undefined && (sentPolicy['activeKeyId'] ?? undefined) === undefined
      // UAA: the request must name the key. See docs/compatibility.md, C13.
      refuseIssuer(config.issuer, isKept && !deps.behaviour.issuerWithKeptKey ? undefined : activeKeyId)
      await refuseForeignIssuer(config.issuer, subdomain)
    }
    checkZoneConfig(config, defaults)
    const { activeKeyId: _, ...policy } = tokenPolicy ?? {}
    const whole: ZoneConfig = {
      ...config,
      ...((tokenPolicy ?? activeKeyId) && {
        tokenPolicy: { ...policy, ...(activeKeyId !== undefined && { activeKeyId }) },
      }),
      ...(samlConfig && {
        samlConfig: { ...samlConfig, ...(Object.keys(samlKeys).length > 0 && { keys: samlKeys }) },
      }),
    }
    return { config: whole, keys }
  }

  /** A zone's issuer must not be that of the default zone, or another URL of this server than its own. */
  async function refuseForeignIssuer(issuer: string, subdomain: string): Promise<void> {
    if (urls.addressesOf({ subdomain, address: 'host' }).includes(issuer)) return
    const url = new URL(issuer)
    const ofDefault = (await store.zones.find(service.name))?.config.issuer
    const isTaken = ofDefault !== undefined && URL.canParse(ofDefault) && isSameIssuer(url, new URL(ofDefault))
    if (!isTaken && !isOwnHost(url.hostname, ownHosts)) return
    throw new InvalidZoneConfig('The issuer must not be a URL of this server, or of another zone.')
  }

  const groupsNamed = (zoneId: string, names: Iterable<string>): readonly Group[] => {
    const now = clock.now()
    return [...new Set(names)].map(displayName => ({
      zoneId,
      id: random.uuid(),
      displayName,
      version: 0,
      createdAt: now,
      updatedAt: now,
    }))
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
    const allowed = allowedGroupNames(config.userConfig, defaults.standardDefaultGroups)
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
    const allowed = allowedGroupNames(userConfig, defaults.standardDefaultGroups)
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

/** A section of the settings, which is an object, null or absent. */
function recordOf(config: JsonRecord, name: string): JsonRecord {
  const part = memberOf(config, name)
  return isJsonRecord(part) ? part : {}
}

/** Groups of these names are created, so the names must be valid. */
function refuseGroupNames({ userConfig }: ZoneConfig): void {
  const { defaultGroups: names = [], allowedGroups } = userConfig ?? {}
  const isName = (name: string): boolean => name.trim() !== '' && name.length <= 255
  if ([...names, ...(allowedGroups ?? [])].every(isName)) return
  throw malformed('The name of a group must have 1 to 255 characters')
}

/** It is in every token. */
const MAX_ISSUER_LENGTH = 1000

function refuseIssuer(issuer: string, activeKeyId: string | undefined): void {
  const url = /^https?:\/\/\S+$/.test(issuer) && URL.canParse(issuer) ? new URL(issuer) : undefined
  // OpenID Connect Discovery §3: no query and no fragment. A user or password would only obscure the host.
  if (!url || url.username !== '' || url.password !== '' || /[?#\\]/.test(issuer)) {
    throw malformed('config.issuer must be a URL without user, query and fragment')
  }
  if (issuer.length > MAX_ISSUER_LENGTH) {
    throw malformed(`config.issuer must have at most ${MAX_ISSUER_LENGTH} characters`)
  }
  if (activeKeyId !== undefined) return
  throw new InvalidZoneConfig(
    'You cannot set issuer value unless you have set your own signing key for this identity zone.',
  )
}

/** Whether two issuers differ at most in scheme, case of the host, trailing slashes and UAA's path. */
const isSameIssuer = (one: URL, other: URL): boolean => {
  const [a = '', b = ''] = [one, other].map(({ host, pathname }) =>
    (host + pathname).replace(/\/+$/, '').replace(/\/oauth\/token$/, ''),
  )
  return a === b
}
