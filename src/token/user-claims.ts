// The claims that clients get about a user under the scopes of OpenID Connect Core §5.4: the same in ID tokens and at userinfo.
import { epochSeconds } from '../base/clock.ts'
import { isSafeUri } from '../model/safe-uri.ts'
import type { User } from '../model/users/user.ts'
import { fullName } from '../model/users/user.ts'
import type { Profile } from '../records/profile.ts'

/** Maps a blank string to undefined: OpenID Connect Core §5.3.2 omits what is not known. */
export const nonEmpty = (text: string | undefined): string | undefined => (text?.trim() ? text : undefined)

/** The standard claims of OpenID Connect Core §5.1 under the scopes that `has`; what a user lacks is undefined. */
export function userClaims(user: User, has: (scope: string) => boolean): Record<string, unknown> {
  const [email, phoneNumber] = [nonEmpty(user.email), nonEmpty(user.phoneNumber)]
  return {
    ...(has('profile') && profileClaims(user)),
    ...(has('email') && email !== undefined ? { email, email_verified: user.verified } : undefined),
    // Numbers are never verified: that would need a way to reach the phone.
    ...(has('phone') && phoneNumber !== undefined
      ? { phone_number: phoneNumber, phone_number_verified: false }
      : undefined),
    ...(has('address') && { address: addressClaim(user.profile) }),
  }
}

/** The organization's own attributes, which have a scope of their own; undefined for none. */
export const customAttributes = ({ profile }: User): Profile['custom'] =>
  profile?.custom && Object.keys(profile.custom).length > 0 ? profile.custom : undefined

/** The attributes that the user's provider sent at the last sign-in, under a scope of their own; undefined without any. */
export const roles = ({ providerRoles = [] }: User): readonly string[] | undefined =>
  providerRoles.length > 0 ? providerRoles : undefined

function profileClaims(user: User): Record<string, unknown> {
  const { profile = {} } = user
  return {
    name: displayedName(user),
    given_name: nonEmpty(user.givenName),
    family_name: nonEmpty(user.familyName),
    middle_name: nonEmpty(profile.name?.middleName),
    nickname: nonEmpty(profile.nickName),
    preferred_username: user.userName,
    profile: webAddress(profile.profileUrl),
    picture: webAddress(pictureOf(profile)),
    website: webAddress(profile.website),
    gender: nonEmpty(profile.gender),
    birthdate: fitting(BIRTHDATE, profile.birthdate),
    zoneinfo: fitting(TIME_ZONE, profile.timezone),
    locale: fitting(LANGUAGE_TAG, profile.locale),
    updated_at: epochSeconds(user.updatedAt),
  }
}

/** The formatted name, unless given or family name were changed without it. */
function displayedName(user: User): string | undefined {
  const formatted = nonEmpty(user.profile?.name?.formatted)
  const isCurrent = [user.givenName, user.familyName].every(part => !part || hasName(formatted, part))
  return (isCurrent ? formatted : undefined) ?? nonEmpty(fullName(user)) ?? nonEmpty(user.profile?.displayName)
}

/** Whether the name is a part of the whole one: `Ann` of `Ann Lee`, and not of `Anna Lee`. Some scripts have no blanks. */
function hasName(whole: string | undefined, part: string): boolean {
  for (let at = whole?.indexOf(part) ?? -1; at >= 0; at = whole?.indexOf(part, at + 1) ?? -1) {
    const [before = '', after = ''] = [whole?.slice(0, at), whole?.slice(at + part.length)]
    if (!/[\p{Lu}\p{Ll}]$/u.test(before) && !/^[\p{Lu}\p{Ll}\p{M}]/u.test(after)) return true
  }
  return false
}

/** OpenID Connect Core §5.1.1; undefined for no address, and for one without any part. */
function addressClaim({ addresses = [] }: Profile = {}): Record<string, string> | undefined {
  const address = addresses.find(each => each.primary) ?? addresses[0]
  if (!address) return undefined
  const parts = Object.entries({
    formatted: address.formatted,
    street_address: address.streetAddress,
    locality: address.locality,
    region: address.region,
    postal_code: address.postalCode,
    country: address.country,
  }).flatMap(([name, value]): [string, string][] => (value?.trim() ? [[name, value]] : []))
  return parts.length > 0 ? Object.fromEntries(parts) : undefined
}

const pictureOf = ({ photos = [] }: Profile): string | undefined =>
  (photos.find(each => each.primary) ?? photos.find(each => each.type !== 'thumbnail') ?? photos[0])?.value

/** Longer ones would make tokens too long for headers and URLs. */
const MAX_URL_LENGTH = 2048

/** Only http and https URLs: a client may link to it without checking for `javascript:`. */
const webAddress = (url: string | undefined): string | undefined =>
  url !== undefined && /^https?:\/\//i.test(url) && url.length <= MAX_URL_LENGTH && isSafeUri(url) ? url : undefined

/** `YYYY-MM-DD`, with the year 0000 where it is left out, or a year. */
const BIRTHDATE = /^\d{4}(?:-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))?$/
/** A name of the IANA time zone database. */
const TIME_ZONE = /^[A-Za-z0-9_+-]+(?:\/[A-Za-z0-9_+-]+)*$/
/** RFC 5646, or the same with underscores. */
const LANGUAGE_TAG = /^[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*$/

const fitting = (pattern: RegExp, text: string | undefined): string | undefined =>
  text !== undefined && pattern.test(text) ? text : undefined
