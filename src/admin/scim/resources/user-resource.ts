// Maps a user to a SCIM resource and back: `at` in the description says where most values are.
import { isJsonRecord, memberOf } from '../../../base/json.ts'
import type { Profile, User } from '../../../model/users/user.ts'
import { nameAsEmail } from '../../../model/users/user.ts'
import { profileKind } from '../../../records/profile.ts'
import type { ShownGroup } from '../../../users/groups/default-groups.ts'
import * as v from 'valibot'
import type { Attribute, Json } from '../schemas/attribute.ts'
import { ScimError } from '../error.ts'
import { metaOf } from '../meta.ts'
import { ENTERPRISE_USER, OWN_USER, USER } from '../schemas/schemas.ts'

/** The part of a user that a resource represents. */
export interface UserDefinition {
  readonly userName: string
  /** Absent: that of the account, or the internal provider for a new one. */
  readonly origin?: string
  readonly email: string
  readonly givenName?: string
  readonly familyName?: string
  readonly phoneNumber?: string
  readonly externalId?: string
  readonly active?: boolean
  readonly verified?: boolean
  readonly profile?: Profile
  readonly password?: string
  readonly passwordHash?: string
}

/** Converts all attributes; a `Selection` removes those that a response must not have. `base` is the URL of `/scim/v2`. */
export function userToJson(
  user: User,
  { base, groups = [] }: { readonly base: string; readonly groups?: readonly ShownGroup[] },
): Json & { readonly id: string } {
  const values: Record<string, unknown> = membersOf(USER.schema.attributes, user)
  const manager = user.profile?.enterprise?.manager?.value
  const enterprise = membersOf(extensionAttributes(ENTERPRISE_USER), user)
  const own = membersOf(extensionAttributes(OWN_USER), user)
  const custom = Object.entries(user.profile?.custom ?? {})
  if (custom.length > 0) {
    own['customAttributes'] = custom.flatMap(([name, list]) => list.map(value => ({ name, value })))
  }
  if (manager) {
    enterprise['manager'] = { ...Object(enterprise['manager']), $ref: `${base}/Users/${encodeURIComponent(manager)}` }
  }
  const hasEnterprise = Object.keys(enterprise).length > 0
  return {
    schemas: [USER.schema.id, ...(hasEnterprise ? [ENTERPRISE_USER] : []), OWN_USER],
    id: user.id,
    ...(user.externalId !== undefined && { externalId: user.externalId }),
    ...values,
    ...(values['emails'] === undefined && user.email !== '' && { emails: [{ value: user.email, primary: true }] }),
    ...(values['phoneNumbers'] === undefined &&
      user.phoneNumber !== undefined && { phoneNumbers: [{ value: user.phoneNumber }] }),
    ...(groups.length > 0 && {
      groups: groups.map(({ value, display, type }) => ({
        value,
        $ref: `${base}/Groups/${encodeURIComponent(value)}`,
        display,
        type: type.toLowerCase(), // RFC 7643 §4.1.2
      })),
    }),
    ...(hasEnterprise && { [ENTERPRISE_USER]: enterprise }),
    [OWN_USER]: own,
    meta: metaOf(user, USER, base),
  }
}

const extensionAttributes = (urn: string): readonly Attribute[] =>
  USER.extensions.find(({ id }) => id === urn)?.attributes ?? []

function membersOf(attributes: readonly Attribute[], record: object): Record<string, unknown> {
  const members: Record<string, unknown> = {}
  for (const { name, at, subAttributes, multiValued } of attributes) {
    const value = at === undefined ? undefined : valueAt(record, at)
    if (value instanceof Date) members[name] = value.toISOString()
    else if (value !== undefined && !(Array.isArray(value) && value.length === 0)) members[name] = value
    else if (subAttributes && !multiValued) {
      const parts = membersOf(subAttributes, record)
      if (Object.keys(parts).length > 0) members[name] = parts
    }
  }
  return members
}

const valueAt = (record: object, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => memberOf(value, name), record)

/**
 * Converts a parsed or patched resource. Throws `ScimError` for values that the record cannot have. `before` is the
 * existing user: one that was imported without an address still needs none.
 */
export function definitionOf(resource: Json, before?: Pick<User, 'email'>): UserDefinition {
  const record: Record<string, unknown> = {}
  assign([...USER.common, ...USER.schema.attributes], resource, record)
  for (const { id, attributes } of USER.extensions) {
    const members = resource[id]
    if (isJsonRecord(members)) assign(attributes, members, record)
  }
  const own = resource[OWN_USER]
  const profile = profileOf(record['profile'], { own, manager: memberOf(resource[ENTERPRISE_USER], 'manager') })
  const { profile: _, userName, ...others } = record
  const passwordHash = memberOf(own, 'passwordHash')
  const password = resource['password']
  if (typeof userName !== 'string' || userName === '') throw new ScimError('invalidValue', 'userName is required')
  const phoneNumber = preferredOf(profile?.phoneNumbers)
  return {
    ...others, // members that `at` names, of the types that the description gives them
    userName,
    email: emailOf(profile, userName, before),
    ...(phoneNumber !== undefined && { phoneNumber }),
    ...plainProfile(profile),
    ...(typeof password === 'string' && { password }),
    ...(typeof passwordHash === 'string' && { passwordHash }),
  }
}

/** Sets the record's members for these attributes. */
function assign(attributes: readonly Attribute[], members: Json, record: Record<string, unknown>): void {
  for (const { name, at, mutability, subAttributes, multiValued } of attributes) {
    const value = members[name]
    if (value === undefined || mutability === 'readOnly') continue
    if (at !== undefined) setAt(record, at.split('.'), value)
    else if (subAttributes && !multiValued && isJsonRecord(value)) assign(subAttributes, value, record)
  }
}

/** The names come from the description. */
function setAt(record: Record<string, unknown>, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    record[name] = value
    return
  }
  const inner = isJsonRecord(record[name]) ? { ...record[name] } : {}
  setAt(inner, rest, value)
  record[name] = inner
}

/** Bytes that are stored outside the columns: a list has five hundred users. */
const MAX_PROFILE_BYTES = 64 * 1024

function profileOf(
  placed: unknown,
  { own, manager }: { readonly own: unknown; readonly manager: unknown },
): Profile | undefined {
  const profile = isJsonRecord(placed) ? { ...placed } : {}
  const custom = customOf(memberOf(own, 'customAttributes'))
  if (custom) profile['custom'] = custom
  const reference = memberOf(manager, '$ref')
  if (memberOf(manager, 'value') === undefined && typeof reference === 'string') {
    const id = reference.split('/').at(-1) ?? ''
    setAt(profile, ['enterprise', 'manager', 'value'], id)
  }
  if (Object.keys(profile).length === 0) return undefined
  const { success, output, issues } = v.safeParse(profileKind, profile, { abortEarly: true, abortPipeEarly: true })
  if (success) {
    if (Buffer.byteLength(JSON.stringify(output)) <= MAX_PROFILE_BYTES) return output
    throw new ScimError(
      'invalidValue',
      `All attributes of a user together must have at most ${MAX_PROFILE_BYTES} bytes`,
    )
  }
  const [issue] = issues
  throw new ScimError('invalidValue', `${v.getDotPath(issue) ?? 'The profile'} ${issue.message}`)
}

/** The list of names and values as one list for each name. */
function customOf(list: unknown): Readonly<Record<string, readonly string[]>> | undefined {
  if (!Array.isArray(list)) return undefined
  const values = new Map<string, string[]>()
  for (const each of list) {
    const [name, value] = [memberOf(each, 'name'), memberOf(each, 'value')]
    if (typeof name !== 'string' || typeof value !== 'string') continue
    if (name === '__proto__') throw new ScimError('invalidValue', 'customAttributes.name cannot be __proto__')
    values.set(name, [...(values.get(name) ?? []), value])
  }
  return Object.fromEntries(values)
}

const preferredOf = (list: Profile['emails']): string | undefined =>
  (list?.find(({ primary }) => primary) ?? list?.[0])?.value

/** The address in use: the primary one, or a user name that is an address. */
function emailOf(profile: Profile | undefined, userName: string, before: Pick<User, 'email'> | undefined): string {
  const sent = preferredOf(profile?.emails)
  if (sent === undefined && before?.email === '') return ''
  const email = sent ?? nameAsEmail(userName)
  if (email === undefined || email === '') {
    throw new ScimError('invalidValue', 'emails must have an address, unless the userName is one')
  }
  return email
}

/** The profile without lists that only repeat the columns; undefined if it is then empty. */
function plainProfile({ emails, phoneNumbers, ...others }: Profile = {}): { readonly profile?: Profile } {
  const profile = {
    ...others,
    ...(emails && !isPlain(emails, true) && { emails }),
    ...(phoneNumbers && !isPlain(phoneNumbers, undefined) && { phoneNumbers }),
  }
  return Object.keys(profile).length > 0 ? { profile } : {}
}

const isPlain = (list: NonNullable<Profile['emails']>, primary: true | undefined): boolean => {
  const [only] = list
  return list.length === 1 && only?.primary === primary && only?.type === undefined && only?.display === undefined
}
