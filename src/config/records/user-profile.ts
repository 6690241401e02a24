// The profile of a user in the file: attributes of SCIM 2.0 and standard claims of OpenID Connect, with SCIM's names.
import type { Profile } from '../../records/profile.ts'

/** Members of the profile with the same name in the file, with their descriptions. */
export const PROFILE_MEMBERS = {
  displayName: 'The name for display.',
  nickName: 'Claim `nickname`.',
  profileUrl: 'Claim `profile`: URL of the profile page.',
  title: 'Job title.',
  userType: 'Relationship to the organization.',
  preferredLanguage: 'Preferred languages, as in `Accept-Language`.',
  locale: 'Claim `locale`: a language tag such as `de-CH`.',
  timezone: 'Claim `zoneinfo`: a time zone such as `Europe/Zurich`.',
  ims: 'Instant messaging addresses.',
  photos: 'Claim `picture`: the primary one, else the first that is not a thumbnail.',
  addresses: 'Claim `address`: the primary one, else the first.',
  entitlements: 'Entitlements.',
  roles: 'Roles.',
  x509Certificates: 'Certificates.',
  enterprise: 'Attributes of the enterprise extension (RFC 7643 §4.3).',
  gender: 'Claim `gender`.',
  birthdate: 'Claim `birthdate`: `YYYY-MM-DD`, `0000-MM-DD` or `YYYY`.',
  website: 'Claim `website`.',
} as const satisfies Partial<Record<keyof Profile, string>>

type Member = keyof typeof PROFILE_MEMBERS
type Name = NonNullable<Profile['name']>
const NAME_PARTS = ['formatted', 'middleName', 'honorificPrefix', 'honorificSuffix'] as const satisfies (keyof Name)[]

/** The members of a user in the file that form the profile. */
export type ProfileRecord = Pick<Profile, Member> & {
  readonly name?: Name
  readonly customAttributes?: Profile['custom']
}

/** The profile of a user in the file; undefined if it would be empty. */
export function profileOf(record: ProfileRecord): Profile | undefined {
  const { name: given = {}, customAttributes } = record
  const name = definedMembers(given, NAME_PARTS)
  const profile: Profile = {
    ...(name && { name }),
    ...definedMembers(record, Object.keys(PROFILE_MEMBERS) as Member[]), // as `Member` is declared
    ...(customAttributes && { custom: customAttributes }),
  }
  return Object.keys(profile).length > 0 ? profile : undefined
}

/** The present members of these names; undefined for none. */
function definedMembers<T extends object, K extends keyof T>(record: T, names: readonly K[]): Pick<T, K> | undefined {
  const entries = names.flatMap(name => (record[name] === undefined ? [] : [[name, record[name]] as const]))
  return entries.length > 0 ? (Object.fromEntries(entries) as Pick<T, K>) : undefined // of the same record
}
