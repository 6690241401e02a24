// The settings of a zone in requests (`config`): read, compared with those before, and checked.
import type { FastifyRequest } from 'fastify'
import { createFairQueue } from '../../base/concurrency/fair-queue.ts'
import type { QueueBounds } from '../../base/concurrency/fair-queue.ts'
import { isJsonRecord, memberOf } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import { readSettings } from '../../records/settings.ts'
import { zoneConfigSettings } from '../../records/zone-config.ts'
import { isSameIssuer, issuerProblem } from '../../model/zones/zone-names.ts'
import { checkZoneConfig, InvalidZoneConfig, refuseForeignEntityId } from '../../model/zones/zone-rules.ts'
import { readSamlKeys } from '../../zones/saml-keys.ts'
import { standardDefaultGroups } from '../../model/zones/zone.ts'
import type { ZoneConfig, Zone } from '../../model/zones/zone.ts'
import type { ZoneState, Store } from '../../store/store.ts'
import { isOwnHost } from '../../web/zones/zone.ts'
import type { ZoneBody } from './body.ts'
import type { SentKeys } from './keys.ts'
import { readSigningKeys } from './keys.ts'
import { malformed } from './refusal.ts'
import type { AdminDeps } from '../deps.ts'
import { missingGroups } from '../../model/users/group.ts'

/** Limits of decrypting keys with a passphrase: one at a time, and one waiting request per zone. */
const OPENING_BOUNDS: QueueBounds = { all: 16, zone: 1, network: 4 }

/** The settings of the request, with the changes of keys. Throws for invalid settings. */
type ZoneConfigReader = (
  request: FastifyRequest,
  zone: { readonly body: ZoneBody; readonly zoneId: string; readonly before?: ZoneState },
) => Promise<{ readonly config: ZoneConfig; readonly keys: SentKeys }>

/** One instance serves every zone. */
export function createZoneConfigReader(deps: AdminDeps): ZoneConfigReader {
  const { store, vault, clock, service, urls } = deps
  const settings = zoneConfigSettings(service.name)
  const defaults = { standardDefaultGroups: standardDefaultGroups(service.name), service }
  const ownHosts = [urls.hostname, ...deps.settings.internalHostnames]
  const openings = createFairQueue({ concurrency: 1, bounds: OPENING_BOUNDS })

  /** A zone's issuer must not be that of the default zone, or another URL of this server than its own. */
  async function refuseForeignIssuer(issuer: string, subdomain: string): Promise<void> {
    if (urls.addressesOf({ subdomain, address: 'host' }).includes(issuer)) return
    const url = new URL(issuer)
    const ofDefault = (await store.zones.find(service.name))?.config.issuer
    const isTaken = ofDefault !== undefined && URL.canParse(ofDefault) && isSameIssuer(url, new URL(ofDefault))
    if (!isTaken && !isOwnHost(url.hostname, ownHosts)) return
    throw new InvalidZoneConfig('The issuer must not be a URL of this server, or of another zone.')
  }

  return async (request, { body: { config: sent, subdomain }, zoneId, before }) => {
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
    const { activeKeyId: _, ...policy } = { ...tokenPolicy, ...keptTokenPolicy(sent, before?.zone.config.tokenPolicy) }
    const wholePolicy = { ...policy, ...(activeKeyId !== undefined && { activeKeyId }) }
    const whole: ZoneConfig = {
      ...config,
      ...((tokenPolicy ?? Object.keys(wholePolicy).length > 0) && { tokenPolicy: wholePolicy }),
      ...(samlConfig && {
        samlConfig: { ...samlConfig, ...(Object.keys(samlKeys).length > 0 && { keys: samlKeys }) },
      }),
    }
    return { config: whole, keys }
  }
}

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

function refuseIssuer(issuer: string, activeKeyId: string | undefined): void {
  const problem = issuerProblem(issuer)
  if (problem !== undefined) throw malformed(`config.issuer ${problem}`)
  if (activeKeyId !== undefined) return
  throw new InvalidZoneConfig(
    'You cannot set issuer value unless you have set your own signing key for this identity zone.',
  )
}

/** Settings that UAA does not have, besides `secondFactor`, which has rules of its own. */
const KEPT = [
  'protocols',
  'requireDpopNonce',
  'profile',
  'registration',
  'requirePushedRequests',
  'require_nonce',
] as const satisfies readonly (keyof ZoneConfig)[]

/**
 * The stored values of settings that the request omits: programs for UAA would otherwise reset them with any change.
 * Null in a request removes one.
 */
function keptSettings(sent: JsonRecord, before: ZoneConfig | undefined): Partial<ZoneConfig> {
  const names = before ? KEPT.filter(name => memberOf(sent, name) === undefined && before[name] !== undefined) : []
  return Object.fromEntries(names.map(name => [name, before?.[name]]))
}

type TokenPolicy = NonNullable<ZoneConfig['tokenPolicy']>

/** The same for the one member of `tokenPolicy` that UAA does not have. */
function keptTokenPolicy(sent: JsonRecord, { accessTokenType }: TokenPolicy = {}): TokenPolicy {
  const isNamed = memberOf(memberOf(sent, 'tokenPolicy'), 'accessTokenType') !== undefined
  return isNamed || accessTokenType === undefined ? {} : { accessTokenType }
}

type Policy = ZoneConfig['secondFactor']

/**
 * The policy after the request. Requests that omit it keep it: programs for UAA, which does not have it, would
 * otherwise switch it off with any change. Throws `InvalidZoneConfig` for groups and providers that the zone lacks and that
 * were not named before: the policy would apply to no user. A new zone has none yet.
 */
async function secondFactorAfter(
  sent: JsonRecord,
  read: Policy,
  { before, store }: { readonly before: Zone | undefined; readonly store: Pick<Store, 'groups' | 'providers'> },
): Promise<Policy> {
  if (!before) return read
  const old = before.config.secondFactor ?? {}
  if (memberOf(sent, 'secondFactor') === undefined) return before.config.secondFactor
  const { groups = [], origins = [] } = read ?? {}
  const newGroups = groups.filter(name => !old.groups?.includes(name))
  const found = newGroups.length === 0 ? [] : await store.groups.findByNames(before.id, newGroups)
  const [unknownGroup] = missingGroups(newGroups, found)
  if (unknownGroup !== undefined) {
    throw new InvalidZoneConfig(`config.secondFactor.groups: there is no group named ${unknownGroup}`)
  }
  for (const origin of origins.filter(origin => !old.origins?.includes(origin))) {
    if (await store.providers.findByOrigin(before.id, origin)) continue
    throw new InvalidZoneConfig(`config.secondFactor.origins: there is no provider named ${origin}`)
  }
  return read
}
