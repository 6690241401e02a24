// The zones of a UAA with their settings and keys. Everything else belongs to a zone, so refusing a zone refuses everything
// in it.
import { createFairQueue, UNBOUNDED } from '../base/concurrency/fair-queue.ts'
import { isJsonRecord, memberOf } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import { readAllSettings, WrongShape } from '../records/settings.ts'
import { zoneConfigSettings } from '../records/zone-config.ts'
import { isSubdomain, issuerProblem, isZoneId } from '../model/zones/zone-names.ts'
import { checkZoneConfig, InvalidZoneConfig, refuseForeignEntityId } from '../model/zones/zone-rules.ts'
import { standardDefaultGroups } from '../model/zones/zone.ts'
import type { SamlKey, Zone, ZoneConfig } from '../model/zones/zone.ts'
import { isStorable } from '../base/text/storable-text.ts'
import type { UaaRow } from '../store/uaa/tables.ts'
import { AlreadyExists } from '../store/store.ts'
import { readSamlKeys } from '../zones/saml-keys.ts'
import type { ImportDeps } from './import-deps.ts'
import { readKeys, saveKeys } from './keys.ts'
import { storedJson, storedTime, storedVersion } from './stored-json.ts'
import { unknownSettings } from './unknown-settings.ts'

type ZoneRow = UaaRow<'zones'>

/** Writes every zone, and notes in `zones` which were taken. */
export async function importZones(deps: ImportDeps): Promise<void> {
  const { source, report, zones } = deps
  const entityIds = new Set<string>()
  for await (const row of source.rows('zones')) {
    const id = row.id ?? ''
    const config = withoutNulls(storedJson(row.config))
    const read = config && readConfig(row, config, deps)
    const problems = [
      ...nameProblems(row, deps),
      ...(read === undefined ? ['config is not a JSON object that can be stored'] : read.problems),
    ]
    const entityId = (read?.config.samlConfig?.entityID ?? '').trim().toLowerCase()
    if (entityId !== '' && entityIds.has(entityId)) problems.push('another zone has its SAML entity id')
    zones.set(id, problems.length === 0)
    if (!config || !read || problems.length > 0) {
      report.refused('zone', `${id} (${row.name ?? ''})`, problems.join('; '))
      continue
    }
    if (entityId !== '') entityIds.add(entityId)
    if (!(await importZone({ row, id, given: config, config: read.config }, deps))) zones.set(id, false)
  }
}

/** Null is an absent setting in UAA. */
const withoutNulls = (config: JsonRecord | undefined): JsonRecord | undefined =>
  config && Object.fromEntries(Object.entries(config).filter(([, value]) => value !== null))

interface ReadZone {
  readonly row: ZoneRow
  readonly id: string
  /** The settings as they are stored, with the keys. */
  readonly given: JsonRecord
  readonly config: ZoneConfig
}

/** False for a zone whose subdomain another one has. */
async function importZone({ row, id, given, config: read }: ReadZone, deps: ImportDeps): Promise<boolean> {
  const { clock, report } = deps
  noteUnused(id, given, deps)
  const keys = readKeys(recordOf(given, 'tokenPolicy'), id, deps)
  const { activeKeyId } = keys
  const samlKeys = await samlKeysOf(id, recordOf(given, 'samlConfig'), deps)
  const { activeKeyId: samlActive, ...samlConfig } = read.samlConfig ?? {}
  const hasSaml = Object.keys(samlKeys).length > 0
  const { activeKeyId: _, ...policy } = read.tokenPolicy ?? {}
  const config: ZoneConfig = {
    ...read,
    ...((read.tokenPolicy ?? activeKeyId) && {
      tokenPolicy: { ...policy, ...(activeKeyId !== undefined && { activeKeyId }) },
    }),
    ...(read.samlConfig && {
      samlConfig: {
        ...samlConfig,
        ...(hasSaml && { keys: samlKeys, ...(samlActive !== undefined && { activeKeyId: samlActive }) }),
      },
    }),
  }
  const now = clock.now()
  const zone: Zone = {
    id,
    subdomain: (row.subdomain ?? '').toLowerCase(),
    name: row.name ?? '',
    ...(row.description !== null && { description: row.description }),
    active: row.active ?? true,
    version: storedVersion(row.version),
    config,
    createdAt: storedTime(row.created) ?? now,
    updatedAt: storedTime(row.updated) ?? now,
  }
  const outcome = await writeZone(zone, hasSaml, deps)
  if (outcome === 'imported' || outcome === 'SAML keys')
    for (const _ of Object.keys(samlKeys)) report.imported('SAML key')
  if (outcome === 'imported') report.imported('zone')
  else if (outcome !== 'refused') report.same('zone')
  if (outcome === 'refused') return false
  await saveKeys(id, keys, deps)
  return true
}

/** An earlier run may have imported the zone and refused its SAML keys. */
async function writeZone(
  zone: Zone,
  hasSamlKeys: boolean,
  { store, report }: ImportDeps,
): Promise<'imported' | 'same' | 'SAML keys' | 'refused'> {
  const before = await store.zones.find(zone.id)
  const { samlConfig } = zone.config
  if (before) {
    if (!hasSamlKeys || before.config.samlConfig?.keys !== undefined || !samlConfig) return 'same'
    await store.zones.update({ ...before, config: { ...before.config, samlConfig } })
    return 'SAML keys'
  }
  try {
    await store.zones.insert(zone)
    return 'imported'
  } catch (error) {
    if (!(error instanceof AlreadyExists)) throw error
    report.refused('zone', `${zone.id} (${zone.name})`, 'another zone has its subdomain')
    return 'refused'
  }
}

function nameProblems({ id, subdomain, name, active, description }: ZoneRow, { rules }: ImportDeps): string[] {
  const isDefault = id === rules.service.name
  const isText = [name, description].every(text => text === null || isStorable(text))
  return [
    ...(isDefault || isZoneId(id ?? '') ? [] : ['its id cannot be part of a scope']),
    ...((isDefault ? subdomain === '' : isSubdomain((subdomain ?? '').toLowerCase()))
      ? []
      : ['its subdomain cannot be part of a host name']),
    ...(isText && (name ?? '').trim() !== '' && (name ?? '').length <= 255
      ? []
      : ['its name must have 1 to 255 characters']),
    ...(isDefault && active === false ? ['the default zone is not active'] : []),
  ]
}

/** The settings without keys, and what is wrong with them. */
function readConfig(
  { subdomain }: ZoneRow,
  given: JsonRecord,
  { rules: { service }, samlEntityId, isForeignIssuer }: ImportDeps,
): { readonly config: ZoneConfig; readonly problems: readonly string[] } {
  const { kept: config, problems } = readAllSettings(zoneConfigSettings(service.name), given, 'config')
  const { issuer, userConfig, samlConfig } = config
  const groups = [...(userConfig?.defaultGroups ?? []), ...(userConfig?.allowedGroups ?? [])]
  const wrongIssuer = issuer === undefined ? undefined : issuerProblem(issuer)
  const isForeign = issuer !== undefined && wrongIssuer === undefined && isForeignIssuer(issuer, subdomain ?? '')
  const isName = (name: string): boolean => name.trim() !== '' && name.length <= 255
  const broken = [
    ...problems.map(({ key, message }) => `${key} ${message}`),
    ...(groups.every(isName) ? [] : ['config.userConfig: the name of a group must have 1 to 255 characters']),
    ...(wrongIssuer === undefined ? [] : [`config.issuer ${wrongIssuer}`]),
    ...(isForeign ? ['config.issuer must not be a URL of this server, or of another zone'] : []),
  ]
  const standardGroups = standardDefaultGroups(service.name)
  const rules = [
    () => checkZoneConfig(config, { standardDefaultGroups: standardGroups, service }),
    () =>
      subdomain === ''
        ? undefined
        : refuseForeignEntityId(samlConfig, { subdomain: subdomain ?? '', serverEntityId: samlEntityId }),
  ]
  for (const check of rules) {
    try {
      check()
    } catch (error) {
      if (!(error instanceof InvalidZoneConfig)) throw error
      broken.push(error.message)
    }
  }
  return { config, problems: broken }
}

const recordOf = (config: JsonRecord, name: string): JsonRecord => {
  const part = memberOf(config, name)
  return isJsonRecord(part) ? part : {}
}

const openings = createFairQueue({ concurrency: 1, bounds: UNBOUNDED })

/** All of them or none: which one is active must be one of them. */
async function samlKeysOf(
  zoneId: string,
  samlConfig: JsonRecord,
  { vault, report }: ImportDeps,
): Promise<Readonly<Record<string, SamlKey>>> {
  try {
    const requester = { zoneId, address: undefined }
    return await readSamlKeys(samlConfig, { zoneId, vault, openings, requester })
  } catch (error) {
    if (!(error instanceof InvalidZoneConfig || error instanceof WrongShape)) throw error
    report.refused('SAML key', `(zone ${zoneId})`, error.message)
    return {}
  }
}

/** Reports lost settings, and features of older versions of UAA that newer ones and this server do not have. */
function noteUnused(zoneId: string, config: JsonRecord, { report, rules }: ImportDeps): void {
  const unknown = unknownSettings(zoneConfigSettings(rules.service.name), config)
  if (unknown.length > 0)
    report.note(`zone ${zoneId}: without settings that have no counterpart: ${unknown.join(', ')}`)
  if (memberOf(memberOf(config, 'mfaConfig'), 'enabled') === true) {
    report.note(
      `zone ${zoneId}: its second factors (mfaConfig) are not imported; set secondFactor (docs/strong-sign-in.md)`,
    )
  }
}
