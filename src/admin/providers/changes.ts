// The changes of the provider API, independent of HTTP: reads a record, completes it from the one that it replaces,
// checks rules that need the database or the network, and writes it with its copy.
import { isJsonRecord } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import { externalKeyOf, movedSecret, providerFromJson } from '../../providers/provider-json.ts'
import type { ProviderDefinition, ProviderRules } from '../../providers/provider-json.ts'
import { openProviderSecrets, sealProviderSecrets } from '../../providers/provider-secrets.ts'
import { providerTypes } from '../../providers/provider-types.ts'
import type { ProviderChange, StoredProvider } from '../../store/store.ts'
import type { GroupCaller } from '../../users/groups/group-rights.ts'
import { MalformedInput } from '../../web/requests/form.ts'
import { createAliases } from './alias.ts'
import type { AliasCaller } from './alias.ts'
import { createProviderRights } from './rights.ts'
import { readEntityId } from './metadata.ts'
import { refuseRecord, refuseWith } from './refusal.ts'
import type { AdminDeps } from '../deps.ts'

/** The rights of the caller. */
type ProviderCaller = AliasCaller & GroupCaller

/** The written record, and its copy if it has one. */
export interface Written {
  readonly provider: IdentityProvider
  readonly copy?: ProviderChange
}

interface SentProvider {
  readonly json: JsonRecord
  readonly caller: ProviderCaller
}

/** Changes of one zone's providers; each refusal is an `OAuthError`, an `AlreadyExists` or a `ChangedMeanwhile`. */
interface ProviderChanges {
  create(zoneId: string, change: SentProvider): Promise<Written>
  /** Creates the provider that an idle row stands for, with the id of the row. */
  fillRow(row: IdentityProvider, change: SentProvider): Promise<Written>
  replace(zoneId: string, id: string, change: SentProvider): Promise<Written>
  /** Does not delete the internal provider. */
  delete(zoneId: string, id: string, caller: AliasCaller): Promise<Written & { readonly deleted: boolean }>
  /** Expires all current passwords of the internal accounts. */
  expirePasswords(zoneId: string, id: string, body: JsonRecord): Promise<Written>
}

/** Reads a record in the form of the API; every problem is thrown as a `MalformedInput` or an `OAuthError`. */
export function readProvider(
  json: JsonRecord,
  { behaviour, ...rules }: ProviderRules & { readonly behaviour: Behaviour },
): ProviderDefinition {
  const { definition, problems } = providerFromJson(json, rules)
  const malformed = problems.find(({ kind }) => kind === 'malformed')
  if (malformed) throw new MalformedInput(`${malformed.key} ${malformed.message}`)
  const unreadable = problems.find(({ kind }) => kind === 'unreadable')
  if (unreadable) {
    // From the descriptions of the settings, so that no value is repeated.
    const reason = behaviour.namesBadSetting ? ` ${unreadable.key} ${unreadable.message}.` : ''
    throw refuseWith(400, `Invalid provider configuration.${reason}`)
  }
  const [first] = problems
  if (first) throw refuseRecord(422, `${first.key} ${first.message}`)
  const types = providerTypes(rules.serviceName).map(({ type }) => type)
  const isKnown = types.includes(definition.type) || definition.type === rules.before?.type
  if (behaviour.knownProviderTypes && !isKnown) throw refuseRecord(422, `type must be one of ${types.join(', ')}`)
  return definition
}

/** One instance serves every zone. */
export function createProviderChanges(deps: AdminDeps): ProviderChanges {
  const { store, service, behaviour, vault, clock, random } = deps
  const aliases = createAliases(deps)
  const rights = createProviderRights(deps)
  const serviceName = service.name

  async function find(zoneId: string, id: string): Promise<StoredProvider> {
    const found = await store.providers.findForChange(zoneId, id)
    if (!found) throw refuseWith(404, 'Provider not found.')
    return found
  }

  /** Adds the provider's issuer or entity id, which must be unique in the zone. */
  async function identified(
    zoneId: string,
    definition: ProviderDefinition,
    others: readonly IdentityProvider[],
  ): Promise<ProviderDefinition> {
    const { type, originKey, config } = definition
    const isSaml = type === 'saml'
    const externalKey = isSaml ? await readEntityId({ zoneId, originKey }, config, deps) : definition.externalKey
    if (externalKey === undefined) return definition
    const isTaken = others.some(other => other.type === type && externalKeyOf(other, serviceName) === externalKey)
    if (isTaken && isSaml) throw refuseWith(409, `Duplicate entity ID:${externalKey}`)
    if (isTaken) throw refuseRecord(409, 'another provider has this issuer')
    return { ...definition, externalKey }
  }

  const othersIn = async (zoneId: string, id?: string): Promise<readonly IdentityProvider[]> =>
    (await store.providers.list(zoneId)).map(({ provider }) => provider).filter(provider => provider.id !== id)

  const sealed = (provider: IdentityProvider): IdentityProvider => sealProviderSecrets(provider, vault)

  async function insert(
    { zoneId, id }: Pick<IdentityProvider, 'zoneId' | 'id'>,
    { json, caller }: SentProvider,
  ): Promise<Written> {
    const given = readProvider(json, { serviceName, behaviour })
    const others = await othersIn(zoneId)
    if (others.some(({ originKey }) => originKey === given.originKey)) throw refuseRecord(409, 'the origin is taken')
    await rights.checkListed({ id: zoneId, config: given.config }, caller)
    await rights.checkAccounts({ ...given, zoneId }, caller)
    const now = clock.now()
    const definition = await identified(zoneId, given, others)
    const wanted = { ...definition, zoneId, id, createdAt: now, updatedAt: now }
    const { provider, copy } = await aliases.forWrite(wanted, undefined, caller)
    await rights.checkCopy(provider, caller, { changesTrust: true })
    await store.providers.apply(zoneId, { kind: 'insert', provider: sealed(provider) }, copy)
    return { provider, ...(copy && { copy }) }
  }

  return {
    create: (zoneId, change) => insert({ zoneId, id: random.uuid() }, change),

    async fillRow(row, change) {
      const { type, originKey } = row
      if (change.json['type'] !== type) throw refuseRecord(422, `type must be ${type}`)
      if (change.json['originKey'] !== originKey) throw refuseRecord(422, `originKey must be ${originKey}`)
      return insert(row, change)
    },

    async replace(zoneId, id, { json, caller }) {
      const { provider: before, revision } = await find(zoneId, id)
      const opened = openProviderSecrets(before, vault)
      const given = readProvider(json, { serviceName, behaviour, before: opened })
      const moved = movedSecret(json, opened.config, given.config)
      // A caller who knows the secret can send it again; any other caller could redirect it to a server of their own.
      if (moved !== undefined && !rights.isAdministrator({ id: zoneId }, caller)) {
        throw refuseRecord(422, `${moved} must be sent again, because it would be sent to another server`)
      }
      await rights.checkListed({ id: zoneId, config: given.config }, caller, before.config)
      const changesTrust = rights.changesTrust(opened, given)
      if (changesTrust) {
        await rights.checkAccounts(before, caller, before.config)
        if (given.originKey !== before.originKey) await rights.checkAccounts({ ...given, zoneId }, caller)
      }
      if (before.type === serviceName) await rights.checkLockout(before, given, caller)
      const definition = await identified(zoneId, given, await othersIn(zoneId, id))
      const { createdAt } = before
      const version = definition.version + 1
      const wanted = { ...definition, zoneId, id, version, createdAt, updatedAt: clock.now() }
      const { provider, copy } = await aliases.forWrite(wanted, before, caller)
      const copied = copy?.kind === 'update' ? before : undefined // a missing copy is created again
      await rights.checkCopy(provider, caller, { before: copied, changesTrust: changesTrust || !copied })
      await store.providers.apply(zoneId, { kind: 'update', provider: sealed(provider), revision }, copy)
      return { provider, ...(copy && { copy }) }
    },

    async delete(zoneId, id, caller) {
      const { provider, revision } = await find(zoneId, id)
      // UAA: responds as if it had been deleted.
      if (provider.originKey === serviceName) return { provider, deleted: false }
      const copy = await aliases.forDelete(provider, caller)
      await store.providers.apply(zoneId, { kind: 'delete', provider, revision }, copy)
      return { provider, deleted: true, ...(copy && { copy }) }
    },

    async expirePasswords(zoneId, id, body) {
      const { provider: before, revision } = await find(zoneId, id)
      const policy = before.config['passwordPolicy']
      if (body['requirePasswordChange'] !== true) throw refuseRecord(422, 'requirePasswordChange must be true')
      if (before.type !== serviceName) throw refuseRecord(422, 'the passwords are not stored here')
      if (!isJsonRecord(policy)) throw refuseRecord(422, 'the provider has no password policy of its own')
      const now = clock.now()
      const config = { ...before.config, passwordPolicy: { ...policy, passwordNewerThan: now.getTime() } }
      const provider = { ...before, config, version: before.version + 1, updatedAt: now }
      await store.providers.apply(zoneId, { kind: 'update', provider, revision })
      return { provider }
    },
  }
}
