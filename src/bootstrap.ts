// Applies the records of the configuration to the database. Each definition is applied once: changes and deletions through
// an API stay until the definition itself changes, which then replaces the record.
import { compareBaseUrl } from './bootstrap/base-url.ts'
import type { BootstrapDeps } from './bootstrap/deps.ts'
import { BootstrapError } from './bootstrap/bootstrap-error.ts'
import { applyClient } from './bootstrap/clients.ts'
import type { Ledger } from './bootstrap/ledger.ts'
import { refuseUnfinishedImport } from './bootstrap/imported.ts'
import { createLedger, upsert } from './bootstrap/ledger.ts'
import { mapInBatches } from './base/concurrency/in-batches.ts'
import { disarmPlayground, markPlayground, restorePlayground } from './bootstrap/playground.ts'
import { sealedSamlKeys, withSamlKeys } from './bootstrap/saml-keys.ts'
import { applySigningKeys } from './bootstrap/signing-keys.ts'
import { claimDatabase, fitsDatabase } from './bootstrap/vault.ts'
import { applyExternalGroup, applyGroup, applyUser, groupNamed, userKey } from './bootstrap/users.ts'
import type { Config, ZoneBootstrap } from './config.ts'
import type { Vault } from './base/secrets.ts'
import type { SamlKeys } from './config/sections/saml.ts'
import type { ProviderRecord } from './config/records/records.ts'
import { clientRules } from './config/records/records.ts'
import { missingGroups } from './model/users/group.ts'
import type { IdentityProvider } from './model/zones/identity-provider.ts'
import { providerFromJson } from './providers/provider-json.ts'
import type { ProviderDefinition } from './providers/provider-json.ts'
import { sealProviderSecrets } from './providers/provider-secrets.ts'
import { defaultGroups } from './model/zones/zone.ts'
import type { Zone } from './model/zones/zone.ts'
import { AlreadyExists } from './store/store.ts'

export { BootstrapError } from './bootstrap/bootstrap-error.ts'

const PROGRESS_MS = 10_000

/**
 * Applies the configuration's records; safe to run in several processes at once. Hashes and writes nothing when nothing
 * changed since the last start. Throws `BootstrapError` for a database of another service or another master key.
 */
export async function applyBootstrap(deps: BootstrapDeps): Promise<void> {
  const { store, config, log } = deps
  const { service, bootstrap } = config
  await refuseForeignDatabase(deps)
  await refuseUnfinishedImport(store, service)
  const ledger = createLedger(store, deps.vault, createProgress(deps))
  const all = { ...deps, ledger }

  if (config.playground) await restorePlayground(service, all)
  await applyZone({ ...mainZoneOf(config), bootstrap }, all)
  await claimDatabase(deps, service)
  await compareBaseUrl(service, deps)
  if (config.signingKeys !== undefined) await applySigningKeys(service, config.signingKeys, all)
  if (config.playground) await markPlayground(service, deps)
  else await disarmPlayground(service, all)

  for (const { bootstrap: records, signingKeys, ...zone } of bootstrap.identityZones) {
    const isThere = await applyZone({ zone: withDefaultGroups(zone, records.defaultGroups), bootstrap: records }, all)
    if (isThere && signingKeys !== undefined) await applySigningKeys(zone.id, signingKeys, all)
  }
  if (ledger.applied > 0) log(`bootstrap: ${ledger.applied} records written`)
}

/** Thousands of zones or users take minutes, in which an operator should see that the start goes on. */
function createProgress({ clock, log }: Pick<BootstrapDeps, 'clock' | 'log'>): (applied: number) => void {
  let due = clock.now().getTime() + PROGRESS_MS
  return applied => {
    const now = clock.now().getTime()
    if (now < due) return
    due = now + PROGRESS_MS
    log(`bootstrap: ${applied} records written so far`)
  }
}

/**
 * Marks the definitions of the default zone and its internal provider as applied: imported values stay until the file
 * changes them.
 */
export async function adoptMainZone({
  store,
  vault,
  config,
}: Pick<BootstrapDeps, 'store' | 'vault' | 'config'>): Promise<void> {
  const ledger = createLedger(store, vault)
  const { zone, samlKeys } = mainZoneOf(config)
  const definition = zoneRecord(zone, samlKeys)
  await ledger.once({ zoneId: zone.id, kind: 'zone', key: zone.id, definition }, async () => {})
  const [internal] = providersOf(config.bootstrap, config.service)
  if (internal === undefined) return
  const of = { zoneId: zone.id, kind: 'provider', key: internal.originKey, definition: internal } as const
  await ledger.once(of, async () => {})
}

/** Several at a time, and few enough not to fill the queue of password hashes. */
async function applyEach<T>(records: readonly T[], apply: (record: T) => Promise<void>): Promise<void> {
  await mapInBatches(records, apply, 16)
}

/** The default zone as the file defines it. */
function mainZoneOf({ service, zoneConfig, bootstrap, saml }: Config): {
  readonly zone: ZoneDefinition
  readonly samlKeys: SamlKeys | undefined
} {
  const main = { id: service, subdomain: '', name: service, active: true, config: zoneConfig }
  return { zone: withDefaultGroups(main, bootstrap.defaultGroups ?? standardGroups(service)), samlKeys: saml.keys }
}

/** The values that the ledger compares. */
const zoneRecord = (zone: ZoneDefinition, samlKeys: SamlKeys | undefined): object =>
  samlKeys ? { ...zone, samlKeys } : zone

/** The providers of a zone; without a definition of its own the internal one is the first. */
const providersOf = ({ identityProviders }: ZoneBootstrap, service: string): readonly ProviderRecord[] =>
  identityProviders.some(({ originKey }) => originKey === service)
    ? identityProviders
    : [{ originKey: service, type: service, name: service }, ...identityProviders]

/** Throws `BootstrapError` for a database of another service or another master key; accepts an empty one. */
export async function refuseForeignDatabase({
  store,
  vault,
  config: { service },
}: Pick<BootstrapDeps, 'store'> & { readonly vault: Vault; readonly config: Pick<Config, 'service'> }): Promise<void> {
  const main = await store.zones.findBySubdomain('')
  if (main !== undefined && main.id !== service) {
    throw new BootstrapError(`the database was made for the service name ${main.id}, which cannot be changed`)
  }
  if ((await fitsDatabase(store, service, vault)) === false) {
    throw new BootstrapError('the master key is not the one that this database was made with')
  }
}

type Deps = BootstrapDeps & { readonly ledger: Ledger }

/** The part of a zone that the configuration defines. */
type ZoneDefinition = Omit<Zone, 'version' | 'createdAt' | 'updatedAt'>

const standardGroups = (service: string): readonly string[] => [
  'openid',
  'scim.me',
  'password.write',
  `${service}.user`,
  'approvals.me',
  'oauth.approvals',
  'profile',
  'roles',
  'user_attributes',
  `${service}.offline_token`,
]

/** Adds `names` to the settings unless they are present; undefined keeps the default groups of a zone. */
function withDefaultGroups(zone: ZoneDefinition, names: readonly string[] | undefined): ZoneDefinition {
  if (names === undefined) return zone
  const userConfig = { defaultGroups: names, ...zone.config.userConfig }
  return { ...zone, config: { ...zone.config, userConfig } }
}

/** False for a zone that was deleted through the API after its definition was applied; its contents are skipped. */
async function applyZone(
  { zone, samlKeys, bootstrap }: { zone: ZoneDefinition; samlKeys?: SamlKeys | undefined; bootstrap: ZoneBootstrap },
  deps: Deps,
): Promise<boolean> {
  const { store, vault, clock, config, ledger } = deps
  const zoneId = zone.id
  // The file was refused unless their identities differ; those that are stored may be exchanged now.
  const ofFile = new Set([config.service, ...config.bootstrap.identityZones.map(({ id }) => id)])
  const now = clock.now()
  const made: Zone = { ...zone, version: 0, createdAt: now, updatedAt: now }
  const definition = zoneRecord(zone, samlKeys)
  await ledger.once({ zoneId, kind: 'zone', key: zoneId, definition }, async () => {
    const given = samlKeys && (await sealedSamlKeys(zoneId, samlKeys, vault))
    return upsert({
      find: () => store.zones.find(zoneId),
      insert: () => store.zones.insert(withSamlKeys(made, given), ofFile),
      update: ({ version, createdAt, config: before }) =>
        store.zones.update(
          { ...withSamlKeys(made, given ?? before.samlConfig), version: version + 1, createdAt },
          ofFile,
        ),
    }).catch((cause: unknown) => {
      if (!(cause instanceof AlreadyExists)) throw cause
      const what = cause.what === 'zone' ? 'subdomain' : cause.what // the index of a zone with another id
      throw new BootstrapError(
        `zone ${zoneId}: its ${what} is that of a zone that is not in the file; change one of them`,
        { cause },
      )
    })
  })
  if ((await store.zones.find(zoneId)) === undefined) return false

  const { service } = config
  await applyEach(providersOf(bootstrap, service), definition =>
    ledger.once({ zoneId, kind: 'provider', key: definition.originKey, definition }, async () => {
      const isLeftOut = !bootstrap.identityProviders.includes(definition)
      if (isLeftOut && (await store.bootstrap.applied(zoneId, 'provider', definition.originKey)) !== undefined) {
        deps.warn(
          `zone ${zoneId}: the file no longer has the record of the internal provider, whose policies are the default ones again`,
        )
      }
      await applyProvider(zoneId, definition, deps)
    }),
  )

  const defaults = defaultGroups(made, service)
  await applyEach(defaults, displayName =>
    // Before the defined groups, which may add a description to the same group.
    ledger.once(
      { zoneId, kind: 'group', key: `default ${displayName.toLowerCase()}`, definition: displayName },
      async () => {
        await groupNamed(zoneId, displayName, deps)
      },
    ),
  )
  await applyEach(bootstrap.groups, definition =>
    ledger.once({ zoneId, kind: 'group', key: definition.displayName.toLowerCase(), definition }, () =>
      applyGroup(zoneId, definition, deps),
    ),
  )
  const rules = clientRules(config)
  await applyEach(bootstrap.clients, definition =>
    ledger.once({ zoneId, kind: 'client', key: definition.client_id, definition }, () =>
      applyClient(zoneId, definition, { ...deps, rules }),
    ),
  )
  await applyEach(bootstrap.users, definition =>
    ledger.once({ zoneId, kind: 'user', key: userKey(definition, service), definition }, () =>
      applyUser(zoneId, definition, { ...deps, defaultGroups: defaults }),
    ),
  )
  await applyEach(bootstrap.externalGroups, definition => {
    const { displayName, externalGroup, origin } = definition
    const key = JSON.stringify([displayName, externalGroup, origin]).toLowerCase()
    return ledger.once({ zoneId, kind: 'external-group', key, definition }, () =>
      applyExternalGroup(zoneId, definition, deps),
    )
  })
  await warnOfUnknownGroups(zone, deps)
  await warnOfUnknownSamlKey(zone, deps)
  return true
}

/** A group may be created later; until then it has no effect on the policy. */
async function warnOfUnknownGroups({ id, config }: ZoneDefinition, { store, warn }: Deps): Promise<void> {
  const { groups = [] } = config.secondFactor ?? {}
  if (groups.length === 0) return
  const unknown = missingGroups(groups, await store.groups.findByNames(id, groups))
  if (unknown.length > 0) warn(`zone ${id}: secondFactor.groups names groups that do not exist: ${unknown.join(', ')}`)
}

/** The keys of another zone than the default one are made by the API; until this one is, another one signs. */
async function warnOfUnknownSamlKey({ id, config }: ZoneDefinition, { store, warn }: Deps): Promise<void> {
  const { activeKeyId } = config.samlConfig ?? {}
  if (typeof activeKeyId !== 'string') return
  const { keys = {} } = (await store.zones.find(id))?.config.samlConfig ?? {}
  if (!Object.hasOwn(keys, activeKeyId)) {
    warn(`zone ${id}: samlConfig.activeKeyId names a key that the zone does not have: ${activeKeyId}`)
  }
}

async function applyProvider(zoneId: string, record: ProviderRecord, deps: Deps): Promise<void> {
  const { store, vault, clock, random, config } = deps
  const { definition } = providerFromJson({ ...record }, { serviceName: config.service })
  const { externalKey, ...unnamed } = definition
  const now = clock.now()

  const write = (provider: ProviderDefinition): Promise<void> => {
    const stored = (id: string, version: number, createdAt: Date): IdentityProvider =>
      sealProviderSecrets({ ...provider, zoneId, id, version, createdAt, updatedAt: now }, vault)
    return upsert({
      // Not cached: another process with the same configuration may have written it first.
      find: () => store.providers.findStored(zoneId, record.originKey),
      insert: () => store.providers.insert(zoneId, stored(random.uuid(), 0, now)),
      update: ({ id, version, createdAt, aliasId, aliasZoneId }) =>
        store.providers.update(zoneId, {
          ...stored(id, version + 1, createdAt),
          ...(aliasId !== undefined && { aliasId }),
          ...(aliasZoneId !== undefined && { aliasZoneId }),
        }),
    })
  }
  try {
    await write(definition)
  } catch (error) {
    // Another provider has the same issuer or entity id. Start anyway: neither can be used to sign in.
    if (!(error instanceof AlreadyExists) || externalKey === undefined) throw error
    await write(unnamed)
  }
}
