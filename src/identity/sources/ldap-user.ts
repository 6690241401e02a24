// Maps an entry of a directory to a user, with the provider's attribute mappings and groups.
import { hasControlCharacter } from '../../base/text/control-characters.ts'
import { isJsonRecord } from '../../base/json.ts'
import { nameAsEmail } from '../../model/users/user.ts'
import type { LdapProviderConfig } from '../../records/provider-ldap.ts'
import type { DirectoryGroup } from '../directory/groups.ts'
import type { DirectoryEntry } from '../directory/session.ts'
import { loginNameOf } from '../directory/login-name.ts'
import type { DirectorySettings } from '../../providers/directory-settings.ts'
import { matcherOf } from '../memberships.ts'
import type { ExternalGroups, ExternalUser } from '../source.ts'

/** What the directory found for a name that was typed. */
export interface DirectoryUser {
  readonly typedName: string
  readonly entry: DirectoryEntry
  readonly groups: readonly DirectoryGroup[]
}

/** Characters of a name, an address or an identifier. */
const MAX_STRING_LENGTH = 255
/** Characters of a value of a custom attribute. */
const MAX_VALUE_LENGTH = 1024
/** Values of an attribute; as many as an account keeps. The rest is not read: many mappings may read it. */
const MAX_VALUES = 100
const CUSTOM = 'user.attribute.'

/** Maps the entry; undefined if it has no usable name. */
export function externalUserOf(
  { typedName, entry, groups }: DirectoryUser,
  config: LdapProviderConfig,
  settings: DirectorySettings,
): ExternalUser | undefined {
  const mapped = (...keys: readonly string[]): readonly string[] => keys.flatMap(key => namesOf(config, key))
  const valuesOf = (names: readonly string[]): readonly string[] =>
    names.flatMap(name => entry.attributes.get(name.toLowerCase())?.slice(0, MAX_VALUES) ?? []).filter(isClean)
  const first = (names: readonly string[], fallback: string): string | undefined =>
    valuesOf(names.length > 0 ? names : [fallback]).find(isShort)
  const name = loginNameOf({ typedName, entry }, settings)
  const externalId = entry.uniqueId ?? (name.isUnique ? name.text : asciiLower(entry.dn))
  if (![name.text, externalId].every(text => isShort(text) && isClean(text))) return undefined
  const addresses = mapped('email')
  const ownMail = valuesOf(addresses.length > 0 ? addresses : [settings.mail.attribute]).find(isAddress)
  const mail = mailOf(ownMail, name.text, settings)
  const verified = mapped('email_verified')
  const givenName = first(mapped('first_name', 'given_name'), 'givenname')
  const familyName = first(mapped('family_name'), 'sn')
  const phoneNumber = first(mapped('phone_number'), 'telephonenumber')
  const isStored = config.storeCustomAttributes !== false
  return {
    userName: name.text,
    externalId,
    nameIsAssigned: name.isTyped,
    ...(mail && { email: mail.address }),
    // The directory asserts this of its own address, not of one that is generated here.
    ...(mail?.isOwn === true &&
      verified.length > 0 && { emailVerified: valuesOf(verified)[0]?.toLowerCase() === 'true' }),
    ...(givenName !== undefined && { givenName }),
    ...(familyName !== undefined && { familyName }),
    ...(phoneNumber !== undefined && { phoneNumber }),
    amr: ['ext', 'pwd'],
    groups: groupsOf(groups, config, isStored),
    attributes: Object.fromEntries(
      customNames(config).map(key => [
        key.slice(CUSTOM.length),
        isStored
          ? valuesOf(mapped(key))
              .filter(value => value.length <= MAX_VALUE_LENGTH)
              .slice(0, MAX_VALUES)
          : [],
      ]),
    ),
  }
}

const asciiLower = (text: string): string => text.replace(/[A-Z]/g, letter => letter.toLowerCase())

function mailOf(
  own: string | undefined,
  userName: string,
  { mail: { substitute, overrides } }: DirectorySettings,
): { readonly address: string; readonly isOwn: boolean } | undefined {
  if (substitute !== undefined && (overrides || own === undefined)) {
    const address = substitute.replaceAll('{0}', () => userName)
    return isAddress(address) ? { address, isOwn: false } : undefined
  }
  return own === undefined ? undefined : { address: own, isOwn: true }
}

/** The claim `roles` are the names of groups that the list of the record lets through: none without a list. */
function groupsOf(
  groups: readonly DirectoryGroup[],
  { externalGroupsWhitelist, ldapGroupFile, autoAddGroups }: LdapProviderConfig,
  isStored: boolean,
): ExternalGroups {
  const isListed = matcherOf(listOf(externalGroupsWhitelist))
  const names = isStored ? groups.flatMap(({ cn }) => (cn !== undefined && isClean(cn) ? [cn] : [])) : []
  const roles = names.filter(name => isShort(name) && isListed(name))
  const addsMissing = autoAddGroups !== false
  if (ldapGroupFile === 'ldap/ldap-groups-as-scopes.xml') {
    const asScopes = groups.flatMap(each => each.roles.flatMap(value => value.split(','))).map(name => name.trim())
    return { asScopes: [...new Set(asScopes)].filter(isShort), roles, addsMissing }
  }
  const mapped = groups.map(({ dn }) => dn).filter(dn => isShort(dn) && isClean(dn))
  return { mapped, areDns: true, roles, addsMissing }
}

const customNames = (config: LdapProviderConfig): readonly string[] =>
  isJsonRecord(config.attributeMappings)
    ? Object.keys(config.attributeMappings).filter(key => key.startsWith(CUSTOM) && key.length > CUSTOM.length)
    : []

/** The attributes that a mapping names. */
const namesOf = ({ attributeMappings }: LdapProviderConfig, key: string): readonly string[] =>
  isJsonRecord(attributeMappings) && Object.hasOwn(attributeMappings, key)
    ? [...new Set(listOf(attributeMappings[key]))]
    : []

const listOf = (value: unknown): readonly string[] =>
  [value].flat().filter((each): each is string => typeof each === 'string' && each !== '')

const isShort = (text: string): boolean => text !== '' && text.length <= MAX_STRING_LENGTH

const isAddress = (text: string): boolean => isShort(text) && nameAsEmail(text) !== undefined

/** Text that pages, logs and databases take. */
const isClean = (text: string): boolean => text.isWellFormed() && !hasControlCharacter(text)
