// The records that are applied at start, in the shape of the management APIs, and the rules that the schema cannot say.
import { behaviourOf } from '../../model/compatibility.ts'
import type { CompatibilityMode } from '../../model/compatibility.ts'
import { clientFromJson } from '../../clients/client-json.ts'
import { foreignMembersIn } from '../../clients/foreign-members.ts'
import { isIcon, isLaunchUrl, takeHomePage } from '../../model/clients/client-metadata.ts'
import type { HomePageMembers } from '../../model/clients/client-metadata.ts'
import type { ClientRules } from '../../clients/client-rules.ts'
import { providerFromJson } from '../../providers/provider-json.ts'
import { providerTypes } from '../../providers/provider-types.ts'
import { serviceNamed } from '../../model/service.ts'
import { isSubdomain, isZoneId, ZONE_ID_FORM } from '../../model/zones/zone-names.ts'
import { userNameKey } from '../../model/users/user.ts'
import type { ZoneConfig } from '../../model/zones/zone.ts'
import type { Problems } from '../problems.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import { takeSigningKeys } from '../keys/signing-keys.ts'
import type { ProfileRecord } from './user-profile.ts'
import { checkZoneSettings } from './zone-settings.ts'
import { CUT_OFF, haveSecret } from '../environment.ts'

/** A group; its name is the scope that its members may receive. */
export interface GroupRecord {
  readonly displayName: string
  readonly description?: string
}

/** A client in the shape of `POST /oauth/clients`; `clientFromJson` reads it. */
export type ClientRecord = Readonly<Record<string, unknown>> & HomePageMembers & { readonly client_id: string }

/** A user in the shape of `POST /Users`, with the names of groups. */
export interface UserRecord extends ProfileRecord {
  readonly userName: string
  readonly password?: string
  readonly name?: ProfileRecord['name'] & { readonly givenName?: string; readonly familyName?: string }
  /** Exactly one. */
  readonly emails: readonly { readonly value: string }[]
  readonly phoneNumbers?: readonly { readonly value: string }[]
  readonly active?: boolean
  readonly verified?: boolean
  readonly origin?: string
  readonly externalId?: string
  readonly salt?: string
  readonly groups?: readonly string[]
}

/** A mapping from a group of a provider to a group here. */
export interface ExternalGroupRecord {
  readonly displayName: string
  readonly externalGroup: string
  readonly origin?: string
}

/** An identity provider in the shape of `POST /identity-providers`; `config` may be JSON text. */
export interface ProviderRecord {
  readonly originKey: string
  readonly type: string
  readonly name: string
  readonly active?: boolean
  readonly config?: Readonly<Record<string, unknown>> | string
}

/** The records of one zone; each list may be empty, and none has the same record twice. */
export interface ZoneBootstrap {
  readonly groups: readonly GroupRecord[]
  readonly clients: readonly ClientRecord[]
  readonly users: readonly UserRecord[]
  /** Absent: the usual ones. */
  readonly defaultGroups?: readonly string[]
  readonly externalGroups: readonly ExternalGroupRecord[]
  readonly identityProviders: readonly ProviderRecord[]
}

/** Another zone and what is in it. */
interface ZoneRecord {
  readonly id: string
  readonly subdomain: string
  readonly name: string
  readonly description?: string
  readonly active: boolean
  readonly config: ZoneConfig
  readonly signingKeys?: SigningKeys
  readonly bootstrap: ZoneBootstrap
}

/** The records of the default zone, and the other zones. */
export interface Bootstrap extends ZoneBootstrap {
  readonly identityZones: readonly ZoneRecord[]
}

/** `bootstrap` as in the file. */
export interface BootstrapFile {
  readonly groups?: readonly GroupRecord[]
  readonly clients?: readonly ClientRecord[]
  readonly users?: readonly UserRecord[]
  readonly default_groups?: readonly string[]
  readonly external_groups?: readonly ExternalGroupRecord[]
  readonly identity_providers?: readonly ProviderRecord[]
  readonly identity_zones?: readonly {
    readonly id: string
    readonly subdomain: string
    readonly name: string
    readonly description?: string
    readonly active?: boolean
    readonly config?: ZoneConfig
    readonly bootstrap?: BootstrapFile
  }[]
}

/** Inputs of the checks. */
interface RecordRules {
  readonly service: string
  readonly compatibility: CompatibilityMode
  readonly problems: Problems
}

/** Checks every record that has the right type, and gives what can be applied. `zoneConfig` is that of the default zone. */
export function checkBootstrap(file: BootstrapFile, zoneConfig: ZoneConfig, rules: RecordRules): Bootstrap {
  const { problems, service } = rules
  const zones = validItems(file.identity_zones, 'bootstrap.identity_zones', { problems, partly: true })
  refuseDuplicates(zones, { member: 'id', identity: zone => zone.id.trim() }, problems)
  refuseDuplicates(zones, { member: 'subdomain', identity: zone => zone.subdomain.toLowerCase() }, problems)
  const identityZones = zones.map(({ record, key }): ZoneRecord => {
    if (record.id.trim() === service) problems.add(`${key}.id`, `${service} is the id of the default zone`)
    if (record.id.trim() === '') problems.add(`${key}.id`, 'must not be empty')
    if (!isZoneId(record.id.trim())) problems.add(`${key}.id`, `must have ${ZONE_ID_FORM}`)
    if (!isSubdomain(record.subdomain.toLowerCase())) {
      problems.add(`${key}.subdomain`, 'must consist of letters, digits, dots and hyphens, as in a host name')
    }
    const given = problems.hasValidTypes(`${key}.config`) ? (record.config ?? {}) : {}
    const { config, signingKeys } = takeSigningKeys(given, `${key}.config`, { problems })
    checkZoneSettings(config, `${key}.config`, rules)
    return {
      id: record.id.trim(),
      subdomain: record.subdomain.toLowerCase(),
      name: record.name,
      ...(record.description === undefined ? {} : { description: record.description }),
      active: record.active ?? true,
      config,
      ...(signingKeys === undefined ? {} : { signingKeys }),
      bootstrap: checkZone(record.bootstrap ?? {}, { ...rules, path: `${key}.bootstrap`, config }),
    }
  })
  return { ...checkZone(file, { ...rules, path: 'bootstrap', config: zoneConfig }), identityZones }
}

function checkZone(
  file: BootstrapFile,
  rules: RecordRules & { readonly path: string; readonly config: ZoneConfig },
): ZoneBootstrap {
  const { path, problems } = rules
  const groups = validItems(file.groups, `${path}.groups`, rules)
  refuseDuplicates(groups, { member: 'displayName', identity: group => group.displayName.toLowerCase() }, problems)
  const externalGroups = validItems(file.external_groups, `${path}.external_groups`, rules)
  refuseDuplicates(externalGroups, { member: 'externalGroup', identity: mappingIdentity }, problems)
  const defaultGroupsPath = `${path}.default_groups`
  const defaultGroups = problems.hasValidTypes(defaultGroupsPath) ? file.default_groups : undefined
  if (defaultGroups?.some(name => name.trim() === '') === true)
    problems.add(defaultGroupsPath, 'contains an empty name')
  if (defaultGroups !== undefined && rules.config.userConfig?.defaultGroups !== undefined) {
    problems.add(defaultGroupsPath, 'cannot be given together with userConfig.defaultGroups of the zone')
  }
  return {
    groups: groups.map(({ record }) => record),
    clients: checkClients(validItems(file.clients, `${path}.clients`, rules), rules),
    users: checkUsers(validItems(file.users, `${path}.users`, rules), rules),
    ...(defaultGroups === undefined ? {} : { defaultGroups: [...new Set(defaultGroups)] }),
    externalGroups: externalGroups.map(({ record }) => record),
    identityProviders: checkProviders(validItems(file.identity_providers, `${path}.identity_providers`, rules), rules),
  }
}

const mappingIdentity = ({ displayName, externalGroup, origin }: ExternalGroupRecord): string =>
  JSON.stringify([displayName, externalGroup.trim(), origin ?? 'ldap']).toLowerCase()

/** A record and the key path for its problems. */
interface Item<T> {
  readonly record: T
  readonly key: string
}

const NESTED: ReadonlySet<string> = new Set(['bootstrap', 'config'])

/** The records whose own members have the right types; `partly` lets pass what is only wrong further down. */
function validItems<T extends object>(
  list: readonly T[] | undefined,
  path: string,
  { problems, partly = false }: { readonly problems: Problems; readonly partly?: boolean },
): readonly Item<T>[] {
  if (!Array.isArray(list)) return []
  return list
    .map((record: T, index) => ({ record, key: `${path}[${index}]` }))
    .filter(({ record, key }) => {
      if (!partly) return problems.hasValidTypes(key)
      const members = ['id', 'subdomain', 'name', ...Object.keys(Object(record))]
      return members.every(name => NESTED.has(name) || problems.hasValidTypes(`${key}.${name}`))
    })
}

function refuseDuplicates<T>(
  items: readonly Item<T>[],
  { member, identity }: { readonly member: string; readonly identity: (record: T) => string },
  problems: Problems,
): void {
  const seen = new Set<string>()
  for (const { record, key } of items) {
    const value = identity(record)
    if (seen.has(value)) problems.add(`${key}.${member}`, 'is a duplicate')
    seen.add(value)
  }
}

function checkClients(items: readonly Item<ClientRecord>[], rules: RecordRules): readonly ClientRecord[] {
  const { problems } = rules
  refuseDuplicates(items, { member: 'client_id', identity: client => client.client_id }, problems)
  for (const { record, key } of items) {
    for (const { foreign, own } of foreignMembersIn(record)) {
      problems.add(`${key}.${foreign}`, `is not supported; use ${own}`)
    }
    // As an attribute it would be shown, and the secret would end before the comma.
    if (haveSecret(Object.keys(record)) && Object.values(record).includes(null)) problems.add(key, CUT_OFF)
    const { rest, shown } = takeHomePage(record)
    if (shown?.appLaunchUrl !== undefined && !isLaunchUrl(shown.appLaunchUrl)) {
      problems.add(`${key}.appLaunchUrl`, 'must be an http or https URL')
    }
    if (shown && !isIcon(shown.appIcon)) problems.add(`${key}.appIcon`, 'must be base64')
    for (const { key: member, message } of clientFromJson(rest, clientRules(rules)).problems) {
      const text = message.startsWith(`${member} `) ? message.slice(member.length + 1) : message // the path names it
      problems.add(`${key}.${member}`, text)
    }
  }
  return items.map(({ record }) => record)
}

/** The rules that clients of the configuration are read by. */
export const clientRules = ({
  service,
  compatibility,
}: Pick<RecordRules, 'service' | 'compatibility'>): ClientRules => {
  const { exactRedirectUri, strictConfiguredClients, furtherProtocols } = behaviourOf(compatibility)
  return {
    service: serviceNamed(service),
    exactRedirectUri,
    furtherProtocols,
    lenientConfiguration: !strictConfiguredClients,
  }
}

function checkUsers(items: readonly Item<UserRecord>[], { problems, service }: RecordRules): readonly UserRecord[] {
  const originOf = (user: UserRecord): string => user.origin ?? service
  refuseDuplicates(
    items,
    { member: 'userName', identity: user => JSON.stringify([originOf(user), userNameKey(user.userName)]) },
    problems,
  )
  for (const { record, key } of items) {
    if (record.groups?.some(name => name.trim() === '') === true)
      problems.add(`${key}.groups`, 'contains an empty name')
    if (record.emails[0]?.value.trim() === '') problems.add(`${key}.emails[0].value`, 'must not be empty')
    if (originOf(record) !== service) continue // the rest is for accounts that sign in here
    if (!/^[\p{L}+0-9\-_.@'!]+$/u.test(record.userName)) {
      problems.add(`${key}.userName`, String.raw`Username must match pattern: [\p{L}+0-9+\-_.@'!]+`)
    }
    if (record.password === undefined || record.password === '') {
      problems.add(`${key}.password`, 'an internal user requires password or password_file')
    }
  }
  return items.map(({ record }) => record)
}

function checkProviders(items: readonly Item<ProviderRecord>[], rules: RecordRules): readonly ProviderRecord[] {
  const { problems, service } = rules
  refuseDuplicates(items, { member: 'originKey', identity: provider => provider.originKey }, problems)
  const types = providerTypes(service).map(({ type }) => type)
  for (const { record, key } of items) {
    if (!types.includes(record.type)) problems.add(`${key}.type`, `must be one of ${types.join(', ')}`)
    for (const problem of providerFromJson({ ...record }, { serviceName: service }).problems) {
      // A provider that cannot be used for sign-in yet is stored anyway.
      if (problem.kind !== 'unusable') problems.add(`${key}.${problem.key}`, problem.message)
    }
  }
  return items.map(({ record }) => record)
}
