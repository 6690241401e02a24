// Copies (aliases) of providers in another zone. One of the two zones is the default one, so changing a pair from
// another zone affects sign-in there and requires an administrator of the server.
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import { sealProviderSecrets } from '../../providers/provider-secrets.ts'
import type { AdminDeps } from '../deps.ts'
import type { ProviderChange, StoredProvider } from '../../store/store.ts'
import { refuseRecord, refuseSilently } from './refusal.ts'
import type { OAuthError } from '../../model/oauth-error.ts'

/** The rights of the caller that matter for aliases. */
export interface AliasCaller {
  readonly isServerAdmin: boolean
}

/** A record to write, with the change of its copy. */
interface CopyPlan {
  readonly provider: IdentityProvider
  readonly copy?: ProviderChange
}

/** Plans the change of a record's copy. */
interface Aliases {
  /**
   * `wanted` has unencrypted secrets and the alias of the body; `before` is the record that it replaces. Refuses with
   * 422 for a violated rule, and with 409 for a conflict in the other zone.
   */
  forWrite(wanted: IdentityProvider, before: IdentityProvider | undefined, caller: AliasCaller): Promise<CopyPlan>
  /** The deletion of the copy; refuses with 422 if aliases are disabled. */
  forDelete(provider: IdentityProvider, caller: AliasCaller): Promise<ProviderChange | undefined>
}

const TYPES: ReadonlySet<string> = new Set(['saml', 'oauth2.0', 'oidc1.0'])

/** One instance serves every zone. */
export function createAliases({ store, service, settings, vault, random }: AdminDeps): Aliases {
  const refuse = (detail: string): OAuthError => refuseRecord(422, detail)

  const mayChangePair = ({ zoneId }: IdentityProvider, { isServerAdmin }: AliasCaller): boolean =>
    settings.aliasEntities && (zoneId === service.name || isServerAdmin)

  /** The copy, if it still exists. */
  async function copyOf(provider: IdentityProvider): Promise<StoredProvider | undefined> {
    const { id, zoneId, aliasId, aliasZoneId } = provider
    if (aliasId === undefined || aliasZoneId === undefined) return undefined
    const found = await store.providers.findForChange(aliasZoneId, aliasId)
    return found?.provider.aliasId === id && found.provider.aliasZoneId === zoneId ? found : undefined
  }

  /** The copy of the record for the other zone, its secrets sealed for that zone. */
  const mirrored = (
    provider: IdentityProvider,
    there: Pick<IdentityProvider, 'zoneId' | 'id' | 'version' | 'createdAt'>,
  ): IdentityProvider =>
    sealProviderSecrets({ ...provider, ...there, aliasId: provider.id, aliasZoneId: provider.zoneId }, vault)

  async function newCopy(wanted: IdentityProvider, zoneId: string): Promise<CopyPlan> {
    if ((wanted.zoneId === service.name) === (zoneId === service.name)) {
      throw refuse('exactly one of the two zones must be the default one')
    }
    if (!(await store.zones.find(zoneId))?.active) throw refuse('the zone of the alias does not exist or is not active')
    const there = await store.providers.list(zoneId)
    if (there.some(({ provider }) => provider.originKey === wanted.originKey)) {
      throw refuseRecord(409, 'the origin is taken in the zone of the alias')
    }
    const id = random.uuid()
    return {
      provider: { ...wanted, aliasId: id, aliasZoneId: zoneId },
      copy: { kind: 'insert', provider: mirrored(wanted, { zoneId, id, version: 0, createdAt: wanted.createdAt }) },
    }
  }

  return {
    async forWrite(wanted, before, caller) {
      const { aliasId, aliasZoneId } = wanted
      if (before?.aliasId === undefined) {
        if (aliasId !== undefined) throw refuse('there is no alias with this id')
        if (aliasZoneId === undefined) return { provider: wanted }
      }
      if (!mayChangePair(wanted, caller)) throw refuse('aliases are disabled, or not allowed for this caller')
      if (!TYPES.has(wanted.type)) throw refuse('a provider of this type can have no alias')
      if (before?.aliasId === undefined) return newCopy(wanted, aliasZoneId ?? '')
      if (aliasId !== before.aliasId || aliasZoneId !== before.aliasZoneId)
        throw refuse('the alias of a provider cannot be changed')
      const copy = await copyOf(before)
      if (!copy) return newCopy(wanted, before.aliasZoneId ?? '')
      const { zoneId, id, version, createdAt } = copy.provider
      const provider = mirrored(wanted, { zoneId, id, version: version + 1, createdAt })
      return { provider: wanted, copy: { kind: 'update', provider, revision: copy.revision } }
    },
    async forDelete(provider, caller) {
      if (provider.aliasId === undefined) return undefined
      if (!mayChangePair(provider, caller)) {
        throw refuseSilently(422, 'aliases are disabled, or not allowed for this caller')
      }
      const copy = await copyOf(provider)
      return copy && { kind: 'delete', ...copy }
    },
  }
}
