// The identity providers of a UAA. They are read by the same rules as those that the API is sent.
import { isJsonRecord } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import { isStorable } from '../base/text/storable-text.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import { providerFromJson } from '../providers/provider-json.ts'
import type { ProviderDefinition } from '../providers/provider-json.ts'
import { providerTypes } from '../providers/provider-types.ts'
import { sealProviderSecrets } from '../providers/provider-secrets.ts'
import type { UaaRow } from '../store/uaa/tables.ts'
import { AlreadyExists, TooLarge } from '../store/store.ts'
import { zoneProblem } from './import-deps.ts'
import type { ImportDeps } from './import-deps.ts'
import { storedJson, storedTime, storedVersion } from './stored-json.ts'
import { unknownSettings } from './unknown-settings.ts'

type ProviderRow = UaaRow<'providers'>

/** UAA's migrations create these in the default zone, without settings, so they are unused, LDAP included. */
const IDLE_TYPES: ReadonlySet<string> = new Set(['ldap', 'login-server', 'keystone', 'unknown'])

/** Records of one place that name each other; the key of a record is its zone and id. */
const keyOf = (zoneId: string | null | undefined, id: string | null | undefined): string => JSON.stringify([zoneId, id])

/** Writes every provider. Aliases stay where both records are there, in zones that were taken, and name each other. */
export async function importProviders(deps: ImportDeps): Promise<void> {
  const { source, report } = deps
  const aliases = await readAliases(deps)
  for await (const row of source.rows('providers')) {
    const name = `${row.originKey ?? ''} (zone ${row.zoneId ?? ''})`
    const problem = zoneProblem(row.zoneId, deps.zones)
    if (problem) {
      if ('refused' in problem) report.refused('identity provider', name, problem.refused)
      else report.leftOut('identity provider', name, problem.leftOut)
      continue
    }
    if (isIdle(row)) report.leftOut('identity provider', name)
    else await importProvider(row, { ...deps, name, isAlias: isMutual(row, aliases) && isZoneTaken(row, deps) })
  }
}

/** The alias of each record that has one. */
async function readAliases({ source }: ImportDeps): Promise<ReadonlyMap<string, string>> {
  const aliases = new Map<string, string>()
  for await (const row of source.rows('providers')) {
    if (row.aliasId) aliases.set(keyOf(row.zoneId, row.id), keyOf(row.aliasZoneId, row.aliasId))
  }
  return aliases
}

const isMutual = ({ zoneId, id, aliasId, aliasZoneId }: ProviderRow, aliases: ReadonlyMap<string, string>): boolean =>
  aliases.get(keyOf(aliasZoneId, aliasId)) === keyOf(zoneId, id)

/** Without the other zone, the record could not be changed any more. */
const isZoneTaken = ({ aliasZoneId }: ProviderRow, { zones }: ImportDeps): boolean =>
  zones.get(aliasZoneId ?? '') === true

const isEmpty = ({ config }: ProviderRow): boolean => config === null || ['', 'null', '{}'].includes(config.trim())

const isIdle = (row: ProviderRow): boolean =>
  IDLE_TYPES.has(row.type ?? '') && (isEmpty(row) || (row.active === false && isUnconfigured(row)))

/** UAA can fill the settings with defaults at its start; it determines by these members whether the provider is configured. */
function isUnconfigured({ type, config: text }: ProviderRow): boolean {
  const config = storedJson(text)
  if (!config) return false
  const { baseUrl, additionalConfiguration: more } = config
  if (type === 'ldap') return baseUrl === undefined || baseUrl === null || baseUrl === ''
  return type === 'keystone' && Object.keys(isJsonRecord(more) ? more : {}).length === 0
}

type ProviderDeps = ImportDeps & { readonly name: string; readonly isAlias: boolean }

async function importProvider(row: ProviderRow, deps: ProviderDeps): Promise<void> {
  const { store, vault, clock, report, rules, name, isAlias } = deps
  const zoneId = row.zoneId ?? ''
  const read = definitionOf(row, deps)
  if ('problem' in read) return report.refused('identity provider', name, read.problem)
  if (row.aliasId && !isAlias) report.note(`identity provider ${name}: without its alias, which does not exist`)
  const now = clock.now()
  const provider: IdentityProvider = {
    ...read.definition,
    ...(!read.definition.externalKey && row.externalKey && { externalKey: row.externalKey }),
    zoneId,
    id: row.id ?? '',
    createdAt: storedTime(row.created) ?? now,
    updatedAt: storedTime(row.updated) ?? now,
  }
  const before = await store.providers.findStored(zoneId, provider.originKey)
  if (before) {
    if (before.id === provider.id) report.same('identity provider')
    else report.refused('identity provider', name, 'the zone has another provider of this origin')
    return
  }
  try {
    await store.providers.insert(zoneId, sealProviderSecrets(provider, vault))
    report.imported('identity provider')
  } catch (error) {
    if (error instanceof TooLarge) report.refused('identity provider', name, 'the settings of the zone are too large')
    else if (error instanceof AlreadyExists) {
      report.refused('identity provider', name, 'another provider of the zone has its issuer, entity id or id')
    } else throw error
  }
  if (provider.type === rules.service.name && provider.originKey !== rules.service.name) {
    report.note(`identity provider ${name}: only the origin ${rules.service.name} is the internal one`)
  }
}

/** The settings with the issuer, which UAA stores separately and which takes precedence. */
function configOf(row: ProviderRow): JsonRecord | undefined {
  const config = storedJson(row.config)
  const isOauth = row.type === 'oidc1.0' || row.type === 'oauth2.0'
  return config && isOauth && row.externalKey ? { ...config, issuer: row.externalKey } : config
}

const ID = /^[\x21-\x2e\x30-\x7e]{1,36}$/

function definitionOf(
  row: ProviderRow,
  { rules, report, name, isAlias }: ProviderDeps,
): { readonly definition: ProviderDefinition } | { readonly problem: string } {
  const config = configOf(row)
  const texts = [row.originKey, row.name, row.type, row.externalKey]
  if (!config || !texts.every(text => text === null || isStorable(text))) {
    return { problem: 'config is not a JSON object that can be stored' }
  }
  if (!ID.test(row.id ?? '')) return { problem: 'its id is not one of 1 to 36 visible characters' }
  const json = {
    type: row.type,
    originKey: row.originKey,
    name: row.name,
    active: row.active ?? true,
    version: storedVersion(row.version),
    ...(!isEmpty(row) && { config }),
    ...(isAlias && { aliasId: row.aliasId, aliasZid: row.aliasZoneId }),
  }
  const { definition, problems } = providerFromJson(json, { serviceName: rules.service.name })
  const describe = ({ key, message }: (typeof problems)[number]): string => `${key} ${message}`
  const refused = problems.filter(({ kind }) => kind !== 'unusable')
  if (refused.length > 0) return { problem: refused.map(describe).join('; ') }
  const described = providerTypes(rules.service.name).find(({ type }) => type === definition.type)
  const unknown = described ? unknownSettings(described.settings, config) : []
  if (unknown.length > 0) {
    report.note(`identity provider ${name}: without settings that have no counterpart: ${unknown.join(', ')}`)
  }
  for (const problem of problems) report.note(`identity provider ${name} has a problem: ${describe(problem)}`)
  return { definition }
}
