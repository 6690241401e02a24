// Maps a provider's claims to a user, with its attribute mappings.
import { hasControlCharacter } from '../../../base/text/control-characters.ts'
import { memberOf } from '../../../base/json.ts'
import { isStorable } from '../../../base/text/storable-text.ts'
import type { Behaviour } from '../../../model/compatibility.ts'
import type { OidcProviderConfig } from '../../../records/provider-oauth.ts'
import type { ExternalGroups, ExternalUser } from '../../source.ts'

/** The claims of a verified token. */
export type ForeignClaims = Readonly<Record<string, unknown>>

/** Thrown for claims that cannot be mapped; the message is for the caller. */
export class UnmappableClaims extends Error {
  override name = 'UnmappableClaims'
}

const MAX_STRING_LENGTH = 255
/** Values of `amr` and `acr`. */
const MAX_METHODS = 20
/** Values of a custom attribute; as many as an account keeps. */
const MAX_VALUES = 100

const GROUPS = 'external_groups'
const ATTRIBUTE = 'user.attribute.'

/** What the mapping depends on besides the record. */
export interface MappingContext {
  readonly now: Date
  readonly behaviour: Pick<Behaviour, 'stringIsOneGroup'>
}

/** Maps the claims as the provider's record says. Throws `UnmappableClaims`. */
export function externalUserOf(
  claims: ForeignClaims,
  config: MappingConfig,
  { now, behaviour }: MappingContext,
): ExternalUser {
  const { attributeMappings: mappings } = config
  const claimFor = (attribute: string, fallback = attribute): string => claimsFor(mappings, attribute)[0] ?? fallback
  const userName = onlyValue(claims, 'user_name', claimFor('user_name', 'sub'))
  if (!isLine(userName)) throw new UnmappableClaims('Unable to map claim to a username')
  const attribute = (name: string): string | undefined => singleString(claims, name, claimFor(name))
  const sub = claims['sub']
  if (!isShortString(sub)) throw new UnmappableClaims('The token has no subject (sub)')
  const email = attribute('email')
  const givenName = attribute('given_name')
  const familyName = attribute('family_name')
  const phoneNumber = attribute('phone_number')
  const emailVerified = coversEmail(claimFor('email'), claimFor('email_verified'))
    ? memberOf(claims, claimFor('email_verified'))
    : undefined
  const authenticatedAt = pastDate(claims['auth_time'], now)
  const acr = acrOf(claims['acr'])
  return {
    userName,
    externalId: sub,
    ...(email !== undefined && { email }),
    ...(givenName !== undefined && { givenName }),
    ...(familyName !== undefined && { familyName }),
    ...(phoneNumber !== undefined && { phoneNumber }),
    ...(emailVerified !== undefined && { emailVerified: emailVerified === true }),
    amr: [...new Set([...amrOf(claims['amr']), 'ext', 'oauth'])],
    ...(authenticatedAt && { authenticatedAt }),
    ...(acr.length > 0 && { acr }),
    groups: groupsOf(claims, config, behaviour),
    attributes: attributesOf(claims, config),
  }
}

/** The settings that map claims. */
export type MappingConfig = Pick<
  OidcProviderConfig,
  'attributeMappings' | 'externalGroupsWhitelist' | 'groupMappingMode' | 'storeCustomAttributes'
>

/**
 * The claims that an attribute is mapped to, each once: a repeated claim would multiply its values. Only groups and custom
 * attributes can have several; a list has no effect on any other.
 */
export function claimsFor(mappings: unknown, attribute: string): readonly string[] {
  const mapped = memberOf(mappings, attribute)
  const mayBeList = attribute === GROUPS || attribute.startsWith(ATTRIBUTE)
  const names = mayBeList ? [mapped].flat() : [mapped]
  return [...new Set(names.filter((name): name is string => typeof name === 'string' && name !== ''))]
}

/** The claims that the attribute mappings of the provider read. */
export const mappedClaims = ({ attributeMappings: mappings }: MappingConfig): readonly string[] =>
  Object.keys(mappings ?? {}).flatMap(attribute => claimsFor(mappings, attribute))

/** The groups; empty without the claim or a mapping, so that earlier groups are removed. */
function groupsOf(
  claims: ForeignClaims,
  config: MappingConfig,
  { stringIsOneGroup }: MappingContext['behaviour'],
): ExternalGroups {
  const named = claimsFor(config.attributeMappings, GROUPS)
  const names = [...new Set(named.flatMap(claim => groupNames(memberOf(claims, claim), stringIsOneGroup)))].filter(
    isShortString,
  )
  const keeps = [config.externalGroupsWhitelist ?? []].flat().filter(pattern => typeof pattern === 'string')
  return {
    ...(config.groupMappingMode === 'AS_SCOPES' ? { asScopes: names } : { mapped: names }),
    ...(keeps.length > 0 && { keeps }), // UAA: filters what the mapping resulted in; an empty list keeps all
    roles: config.storeCustomAttributes === false ? [] : 'memberships',
    addsMissing: true,
  }
}

/**
 * A list is used as it is, and so is a single name, because blanks make it another group. UAA: splits a string at commas, so
 * that a group whose name has one counts as others.
 */
function groupNames(value: unknown, stringIsOneGroup: boolean): readonly unknown[] {
  if (typeof value !== 'string') return Array.isArray(value) ? value : []
  return value.includes(',') && !stringIsOneGroup ? value.split(',').map(name => name.trim()) : [value]
}

/** The values of each mapped `user.attribute.<name>`; none where the record says not to keep them. */
function attributesOf(claims: ForeignClaims, config: MappingConfig): Readonly<Record<string, readonly string[]>> {
  const { attributeMappings: mappings, storeCustomAttributes } = config
  const attributes = Object.keys(mappings ?? {}).filter(key => key.startsWith(ATTRIBUTE) && key !== ATTRIBUTE)
  return Object.fromEntries(
    attributes.map(key => {
      const sent = claimsFor(mappings, key).flatMap(claim => firstOf(memberOf(claims, claim)))
      const values = sent.slice(0, MAX_VALUES).flatMap(asText)
      return [key.slice(ATTRIBUTE.length), storeCustomAttributes === false ? [] : values]
    }),
  )
}

const firstOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value.slice(0, MAX_VALUES) : [value])

/** A value as a string; nothing for null, and for one that is empty or too long. */
function asText(value: unknown): readonly string[] {
  if (value === undefined || value === null) return []
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return isShortString(text) ? [text] : []
}

/** `acr` as OpenID Connect Core §2 has it, a string, or as UAA does: `{"values":[...]}`. */
const acrOf = (value: unknown): readonly string[] =>
  [typeof value === 'string' ? value : memberOf(value, 'values')].flat().filter(isShortString).slice(0, MAX_METHODS)

/** OpenID Connect Core §5.1: `email_verified` is about `email`, not about another claim mapped to the address. */
const coversEmail = (email: string, verified: string): boolean => email === 'email' || verified !== 'email_verified'

/** The value of the claim, or the only one of a list; undefined for an empty list. */
function onlyValue(claims: ForeignClaims, attribute: string, claim: string): unknown {
  const value = memberOf(claims, claim)
  const values = new Set<unknown>(Array.isArray(value) ? value : [value])
  if (values.size > 1) throw new UnmappableClaims(`Claim mapping for ${attribute} attribute is ambiguous`)
  const [single] = values
  return single
}

/** A string, or the only one of a list; undefined for an empty one. */
function singleString(claims: ForeignClaims, attribute: string, claim: string): string | undefined {
  const single = onlyValue(claims, attribute, claim)
  if (single === undefined || single === null || single === '') return undefined
  if (isLine(single)) return single
  throw new UnmappableClaims(`External token attribute ${claim} cannot be mapped to user attribute ${attribute}`)
}

/** Whether the value is a short string that is not empty and that databases store unchanged. */
const isShortString = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= MAX_STRING_LENGTH && isStorable(value)

/** A short string that cannot mislead readers of a page, a log or a mail. */
const isLine = (value: unknown): value is string => isShortString(value) && !hasControlCharacter(value)

/** The provider's authentication methods; anything but short strings is ignored. */
const amrOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(isShortString).slice(0, MAX_METHODS) : []

/** Reads a NumericDate. One in the future becomes now, so that no sign-in appears fresher than it is. */
function pastDate(value: unknown, now: Date): Date | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return undefined
  return new Date(Math.min(value * 1000, now.getTime()))
}
