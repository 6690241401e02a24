// The user that results from a request: a new one, one that replaces another, and one that a PATCH changes.
import type { User } from '../../model/users/user.ts'
import { hasPrimaryEmail, withEmail, withFormattedName, withPhoneNumber } from '../../model/users/user.ts'
import type { UserDraft } from '../../users/new-user.ts'
import { refuseResource } from '../../users/refusal.ts'
import type { EmailInBody, UserBody } from './body.ts'

const invalid = (message: string): Error => refuseResource('invalid_scim_resource', message)

/** The origin that the body names; the internal one unless it does. */
export const originIn = ({ origin = '' }: UserBody, internalOrigin: string): string =>
  origin === '' ? internalOrigin : origin

/** The new user of a POST. */
export function draftOf(body: UserBody, internalOrigin: string): UserDraft {
  const { userName = '', name = {}, phoneNumbers, version } = body
  const [phoneNumber] = phoneNumbers
  if (userName.trim() === '') throw invalid('A username must be provided.')
  const email = onlyEmail(body.emails)
  return {
    userName,
    origin: originIn(body, internalOrigin),
    email: email.value,
    ...(email.primary === true && { profile: { emails: [{ value: email.value, primary: true }] } }),
    ...name,
    ...(phoneNumber !== undefined && { phoneNumber }),
    ...stated(body),
    ...(version !== undefined && { version }),
  }
}

/** Shared by POST and PUT: an empty string counts as absent. */
const stated = ({ active = true, verified = true, externalId, salt, aliasId, aliasZid }: UserBody) => ({
  ...(externalId && { externalId }),
  active,
  verified,
  ...(salt && { salt }),
  ...(aliasId && { aliasId }),
  ...(aliasZid && { aliasZoneId: aliasZid }),
})

/**
 * The user after a PUT: omitted attributes get their defaults, except the salt: without it, tokens that it revoked would be
 * valid again.
 */
export function replaced(user: User, body: UserBody): User {
  const { userName = '', name, phoneNumbers } = body
  if (userName.trim() === '') throw invalid('A username must be provided.')
  if (!name) throw invalid('A name must be provided.')
  const email = onlyEmail(body.emails)
  const kept = without(
    withPhoneNumber(user, phoneNumbers[0]),
    'givenName',
    'familyName',
    'externalId',
    'aliasId',
    'aliasZoneId',
  )
  return withFormattedName(user, {
    ...withClassicEmail(kept, email),
    userName,
    ...name,
    ...stated(body),
  })
}

/** The user after a PATCH: omitted attributes do not change. */
export function patched(user: User, body: UserBody): User {
  const { userName, name, emails, phoneNumbers, active, verified, origin = '', cleared, aliasId, aliasZid } = body
  if (origin !== '' && origin !== user.origin) throw invalid('Cannot change origin in patch of user.')
  const clears = new Set(cleared.map(attribute => clearableName(attribute, userName)))
  const lost = NAME_PARTS.filter(part => clears.has('name') || clears.has(`name.${part.toLowerCase()}`))
  const kept = without(user, ...lost)
  const phones = [
    ...phoneNumbers,
    ...(user.phoneNumber === undefined || clears.has('phonenumbers') ? [] : [user.phoneNumber]),
  ]
  return withFormattedName(user, {
    ...withClassicEmail(withPhoneNumber(kept, phones[0]), survivor(user, emails, clears.has('emails'))),
    ...(userName !== undefined && { userName }),
    ...name,
    ...(active !== undefined && { active }),
    ...(verified !== undefined && { verified }),
    ...(aliasId !== undefined && { aliasId }),
    ...(aliasZid !== undefined && { aliasZoneId: aliasZid }),
  })
}

const NAME_PARTS = ['givenName', 'familyName'] as const

/** Attributes that `meta.attributes` of a PATCH can clear, case-insensitively; most of them UAA does not store. */
const CLEARABLE = new Set(
  [
    'userName',
    'emails',
    'phoneNumbers',
    'displayName',
    'nickName',
    'profileUrl',
    'title',
    'preferredLanguage',
    'locale',
    'timezone',
    'name',
    'name.familyName',
    'name.givenName',
    'name.formatted',
    'name.honorificPrefix',
    'name.honorificSuffix',
    'name.middleName',
  ].map(name => name.toLowerCase()),
)

function clearableName(attribute: string, userName: string | undefined): string {
  const name = attribute.toLowerCase()
  if (!CLEARABLE.has(name)) throw invalid(`Attribute ${attribute} cannot be removed using "Meta.attributes"`)
  if (name === 'username' && userName === undefined) throw invalid('Can not drop username, field is required.')
  return name
}

/**
 * The one address after a PATCH: the first primary one, else the only one. An account that was imported without an address can
 * still be changed and deactivated.
 */
function survivor(user: User, sent: readonly EmailInBody[], cleared: boolean): EmailInBody {
  const primary = sent.find(email => email.primary === true)
  if (!primary && !cleared) return { value: user.email, primary: hasPrimaryEmail(user) }
  const email = primary ?? sent[0]
  return onlyEmail(email === undefined ? [] : [email])
}

function onlyEmail(emails: readonly EmailInBody[]): EmailInBody {
  const [email, second] = emails
  if (!email || second) throw invalid('Exactly one email must be provided.')
  if (email.value.trim() === '') throw invalid('An email must be provided.')
  return email
}

/** The user with the address of UAA's API, which has only one; a list written by SCIM 2.0 is kept. */
function withClassicEmail(user: User, { value, primary }: EmailInBody): User {
  const changed = withEmail(user, value)
  const wanted = primary ?? (value === user.email && hasPrimaryEmail(user))
  const { emails = [], ...profile } = changed.profile ?? {}
  if (emails.length > 1 || wanted === hasPrimaryEmail(changed)) return changed
  const entry = without(emails[0] ?? { value }, 'primary')
  return { ...changed, profile: { ...profile, emails: [{ ...entry, ...(wanted && { primary: true }) }] } }
}

function without<T extends object, K extends keyof T>(record: T, ...names: readonly K[]): Omit<T, K> {
  const copy = { ...record }
  for (const name of names) delete copy[name]
  return copy
}

/** Whether only the name differs, which is all that users may change themselves. */
export const differsInNamesOnly = (before: User, after: User): boolean =>
  SELF_KEPT.every(member => before[member] === after[member])

const SELF_KEPT = [
  'aliasId',
  'aliasZoneId',
  'userName',
  'email',
  'phoneNumber',
  'externalId',
  'salt',
  'active',
  'verified',
] as const satisfies readonly (keyof User)[]
