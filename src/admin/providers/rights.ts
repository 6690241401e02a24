// The rights that a change of a provider requires beyond those of its route: whoever controls how users sign in can impersonate
// them, and must therefore have the rights of the administrators among them.
import { isDeepStrictEqual } from 'node:util'
import { isJsonRecord } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import { allowsMoreGuesses, lockoutPolicy } from '../../model/zones/identity-provider.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import { providerToJson } from '../../providers/provider-json.ts'
import type { ProviderDefinition } from '../../providers/provider-json.ts'
import { withPoliciesOfServer } from '../../users/global-policies.ts'
import { callerIn, createGroupRights } from '../../users/groups/group-rights.ts'
import type { GroupCaller } from '../../users/groups/group-rights.ts'
import type { AdminDeps } from '../deps.ts'

/** Creates the checks; those that return nothing throw the API's refusal. */
export function createProviderRights(deps: AdminDeps) {
  const { store, service, policies } = deps
  const serviceName = service.name
  const rights = createGroupRights(deps)

  /**
   * A provider can add users to an administrative group, or to one nested in it, only if its record lists that group, so listing
   * it grants it.
   */
  async function checkListed(
    { id, config }: { id: string; config: JsonRecord },
    by: GroupCaller,
    before: JsonRecord = {},
  ): Promise<void> {
    const former = new Set(listedIn(before))
    const added = listedIn(config).filter(name => !former.has(name))
    await rights.checkNamed({ id }, added, by)
  }

  /** A caller who decides how users sign in can impersonate any of them, also members of administrative groups. */
  async function checkAccounts(
    { zoneId, originKey }: Pick<IdentityProvider, 'zoneId' | 'originKey'>,
    by: GroupCaller,
    before: JsonRecord = {},
  ): Promise<void> {
    await rights.checkNamed({ id: zoneId }, listedIn(before), by)
    await rights.checkOrigin({ id: zoneId }, originKey, by)
  }

  /** The lockout also limits guesses of a second factor: without it, an attacker with an administrator's password could guess it. */
  async function checkLockout(
    { zoneId, originKey }: IdentityProvider,
    given: ProviderDefinition,
    by: GroupCaller,
  ): Promise<void> {
    const before = await store.providers.findByOrigin(zoneId, originKey) // with the policy of the server, if it has none
    const after = withPoliciesOfServer(given, serviceName, policies)
    if (!before || !allowsMoreGuesses(lockoutPolicy(after), lockoutPolicy(before))) return
    await rights.checkOrigin({ id: zoneId }, originKey, by)
  }

  /** Both checks for the copy in another zone; `before` is the record if it had the copy already. */
  async function checkCopy(
    { originKey, config, aliasZoneId: zoneId }: IdentityProvider,
    by: GroupCaller,
    { before, changesTrust }: { readonly before?: IdentityProvider | undefined; readonly changesTrust: boolean },
  ): Promise<void> {
    if (zoneId === undefined) return
    const caller = callerIn(zoneId, by, service)
    await checkListed({ id: zoneId, config }, caller, before?.config)
    if (changesTrust) await checkAccounts({ zoneId, originKey }, caller, before?.config)
  }

  /** Whether the record, with its secrets decrypted, would trust something else, or re-enables what was disabled. */
  function changesTrust(before: IdentityProvider, given: ProviderDefinition): boolean {
    if (given.active && !before.active) return true
    if (before.type === serviceName) return false
    return !isDeepStrictEqual(trustOf(before, serviceName), trustOf({ ...before, ...given }, serviceName))
  }

  return {
    isAdministrator: (zone: { readonly id: string }, by: GroupCaller) => rights.isAdministrator(zone, by),
    checkListed,
    checkAccounts,
    checkLockout,
    checkCopy,
    changesTrust,
  }
}

/** The names as a sign-in compares them: one with a comma is one name. */
const listedIn = ({ externalGroupsWhitelist: listed }: JsonRecord): readonly string[] =>
  [listed].flat().filter(name => typeof name === 'string')

/** Settings that do not affect which account a sign-in yields; a list of groups is checked separately. */
const HARMLESS: ReadonlySet<string> = new Set([
  'bindPassword',
  'emailDomain',
  'externalGroupsWhitelist',
  'iconUrl',
  'linkText',
  'providerDescription',
  'relyingPartySecret',
  'showLinkText',
  'showSamlLink',
])

/** The trust settings of the record, with defaults, so that sending an unchanged record back changes nothing. */
function trustOf(provider: IdentityProvider, serviceName: string): unknown {
  const { type, originKey, config } = providerToJson(provider, { serviceName, raw: true })
  // Merged with the stored settings, because secrets are not shown: a shared `tokenKey` signs for the provider.
  const settings = Object.entries({ ...provider.config, ...(isJsonRecord(config) && config) })
  // Absent and empty settings are equivalent.
  const counts = ([name, value]: readonly [string, unknown]): boolean =>
    !HARMLESS.has(name) && value !== null && !(isJsonRecord(value) && Object.keys(value).length === 0)
  return [type, originKey, Object.fromEntries(settings.filter(counts))]
}
