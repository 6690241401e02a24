// Maps a verified statement to a user, with the provider's attribute mappings.
import { hasControlCharacter } from '../../base/text/control-characters.ts'
import { memberOf } from '../../base/json.ts'
import { isStorable } from '../../base/text/storable-text.ts'
import { nameAsEmail } from '../../model/users/user.ts'
import type { SamlProviderConfig } from '../../records/provider-saml.ts'
import { matcherOf } from '../memberships.ts'
import type { ExternalGroups, ExternalUser } from '../source.ts'
import { UNSPECIFIED } from './messages.ts'
import { SamlProblem } from './problem.ts'
import type { SamlNameId, SamlStatement } from './response.ts'

/** Inputs for reading a statement. */
export interface Mapping {
  readonly config: SamlProviderConfig
  readonly now: Date
  /** The entity id of the provider. */
  readonly entityId: string
  /** Our own. */
  readonly ownEntityId: string
  /** Whether a name of another format than the requested one is refused. */
  readonly requestedFormatOnly: boolean
}

/** Characters of a name, an address or the name of a group. */
const MAX_STRING_LENGTH = 255
/** Characters of a value of a custom attribute. */
const MAX_VALUE_LENGTH = 1024
/** Values of an attribute; as many as an account keeps. */
const MAX_VALUES = 100
/** Names of groups; more are refused where they are looked up. */
const MAX_GROUPS = 2000
const MAX_CLASSES = 20
const CUSTOM = 'user.attribute.'
const TRANSIENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient'

/** Throws a `SamlProblem` of the reason `name-id` for a name that is not a permanent identifier. */
export function externalUserOf(statement: SamlStatement, mapping: Mapping): ExternalUser {
  const { config, now } = mapping
  const { nameId, attributes, authenticatedAt, authnContextClasses } = statement
  const name = stableName(nameId, mapping)
  const valuesOf = (attribute: string, limit = MAX_VALUES): readonly string[] =>
    attributes.flatMap(each => (each.name === attribute ? each.values.slice(0, limit) : [])).slice(0, limit)
  const first = (key: string): string | undefined => {
    const mapped = mappedTo(config, key)
    return mapped === undefined ? undefined : valuesOf(mapped).find(isLine)
  }
  const own = first('email')
  const email = own === undefined ? undefined : nameAsEmail(own)
  const [localPart, domain] = (email ?? nameAsEmail(name) ?? '').split('@')
  const givenName = first('given_name') ?? localPart
  const familyName = first('family_name') ?? domain
  const phoneNumber = first('phone_number')
  const isStored = config.storeCustomAttributes !== false
  const acr = authnContextClasses.filter(isLine).slice(0, MAX_CLASSES)
  const { format = UNSPECIFIED } = nameId
  return {
    userName: name,
    externalId: name,
    externalIdFormat: format,
    isRequestedFormat: format === config.nameID && format !== UNSPECIFIED,
    ...(email !== undefined && { email }),
    // The mapping applies to the address that the provider names, and to no other.
    ...(email !== undefined &&
      mappedTo(config, 'email_verified') !== undefined && {
        emailVerified: first('email_verified')?.toLowerCase() === 'true',
      }),
    ...(givenName && { givenName }),
    ...(familyName && { familyName }),
    ...(phoneNumber !== undefined && { phoneNumber }),
    amr: ['ext'],
    ...(authenticatedAt && { authenticatedAt: authenticatedAt < now ? authenticatedAt : now }),
    ...(acr.length > 0 && { acr }),
    groups: groupsOf(statement, config, isStored),
    attributes: Object.fromEntries(
      Object.keys(config.attributeMappings ?? {})
        .filter(key => key.startsWith(CUSTOM) && key.length > CUSTOM.length)
        .map(key => {
          const mapped = mappedTo(config, key)
          return [key.slice(CUSTOM.length), isStored && mapped !== undefined ? valuesOf(mapped).filter(isValue) : []]
        }),
    ),
  }
}

/** The name, which alone identifies the user. */
function stableName(nameId: SamlNameId, mapping: Mapping): string {
  const { value, format = UNSPECIFIED, nameQualifier, spNameQualifier } = nameId
  const { config, entityId, ownEntityId, requestedFormatOnly } = mapping
  // SAML Core §8.3.8: differs at every sign-in, so users would get a new account each time.
  if (format === TRANSIENT) throw unstable('the NameID is transient: the provider must send one that stays the same')
  // SAML Core §8.3.7: with other qualifiers, the same value may be another user.
  if (nameQualifier !== undefined && nameQualifier !== entityId)
    throw unstable('the NameID belongs to another name space')
  if (spNameQualifier !== undefined && spNameQualifier !== ownEntityId) {
    throw unstable('the NameID is for another service provider')
  }
  const requested = config.nameID || UNSPECIFIED
  if (requestedFormatOnly && requested !== UNSPECIFIED && format !== requested) {
    throw unstable('the NameID does not have the format that the record requires (nameID)')
  }
  if (!isLine(value) || value !== value.trim())
    throw unstable('the NameID must be a single line without surrounding white space')
  return value
}

const unstable = (detail: string): SamlProblem => new SamlProblem('name-id', detail)

/** The one attribute that the record maps the key to; lists are for groups only. */
function mappedTo({ attributeMappings }: SamlProviderConfig, key: string): string | undefined {
  const mapped = memberOf(attributeMappings, key)
  return typeof mapped === 'string' && mapped !== '' ? mapped : undefined
}

/** Every value of a mapped attribute is one group: none without a mapping, so that earlier groups are removed. */
function groupsOf({ attributes }: SamlStatement, config: SamlProviderConfig, isStored: boolean): ExternalGroups {
  const mapped = new Set(
    [memberOf(config.attributeMappings, 'external_groups')]
      .flat()
      .filter((name): name is string => typeof name === 'string' && name !== ''),
  )
  const named = attributes.filter(
    ({ name, friendlyName }) => mapped.has(name) || (friendlyName !== undefined && mapped.has(friendlyName)),
  )
  const names = [...new Set(named.flatMap(({ values }) => values.slice(0, MAX_GROUPS)))].filter(isLine)
  const listed = [config.externalGroupsWhitelist ?? []].flat()
  const isListed = listed.length === 0 ? () => true : matcherOf(listed)
  return {
    ...(config.groupMappingMode === 'AS_SCOPES' ? { asScopes: names } : { mapped: names }),
    // UAA: the list filters what the provider named, for the claim only; an empty list keeps all.
    roles: isStored ? names.filter(isListed) : [],
    addsMissing: true,
  }
}

const isValue = (text: string): boolean => text !== '' && text.length <= MAX_VALUE_LENGTH && isStorable(text)

/** A short string that cannot mislead readers of a page, a log or a mail. */
const isLine = (text: string): boolean =>
  text !== '' && text.length <= MAX_STRING_LENGTH && isStorable(text) && !hasControlCharacter(text)
