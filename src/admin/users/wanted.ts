// The user that results from a request: a new one, one that replaces another, and one that a PATCH changes.
import type { User } from '../../model/users/user.ts'
import { hasPrimaryEmail, withEmail, withPhoneNumber } from '../../model/users/user.ts'
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

/** What POST and PUT take alike: an empty text is an absent one. */
const stated = ({ active = true, verified = true, externalId, salt, aliasId, aliasZid }: UserBody) => ({
  ...(externalId && { externalId }),
  active,
  verified,
  ...(salt && { salt }),
  ...(aliasId && { aliasId }),
  ...(aliasZid && { aliasZoneId: aliasZid }),
})

/**
 * The user after a PUT: what the body leaves out has its default. A salt that it leaves out stays, since without it the
 * tokens that were revoked by it would be good again.
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
  return {
    ...withClassicEmail(kept, email),
    userName,
    ...name,
    ...stated(body),
  }
}

/** The user after a PATCH: what the body does not name stays. */
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
  return {
    ...withClassicEmail(withPhoneNumber(kept, phones[0]), survivor(user, emails, clears.has('emails'))),
    ...(userName !== undefined && { userName }),
    ...name,
    ...(active !== undefined && { active }),
    ...(verified !== undefined && { verified }),
    ...(aliasId !== undefined && { aliasId }),
    ...(aliasZid !== undefined && { aliasZoneId: aliasZid }),
  }
}

const NAME_PARTS = ['givenName', 'familyName'] as const

/** What `meta.attributes` of a PATCH can clear, without case; most of it UAA does not keep. */
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
 * The one address that a PATCH leaves: the first that says it is primary, else the one that is there. An account that an
 * import brought without one can still be changed and deactivated.
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

/** The user with the address of UAA's API, which knows one only; a list that SCIM 2.0 wrote stays as it is. */
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

/** Whether nothing but the name differs, which is all that users may change of themselves. */
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
