// Maps a provider's claims to a user, with its attribute mappings.
import { memberOf } from '../../base/json.ts'
import { isStorable } from '../../base/storable-text.ts'
import type { ExternalPerson } from '../source.ts'

/** The claims of a verified token. */
export type ForeignClaims = Readonly<Record<string, unknown>>

/** Thrown for claims that cannot be mapped; the message is for the caller. */
export class UnmappableClaims extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnmappableClaims'
  }
}

const MAX_STRING_LENGTH = 255

/** Maps the claims; `mappings` is the provider's `attributeMappings`. Throws `UnmappableClaims`. */
export function personOf(claims: ForeignClaims, mappings: unknown, now: Date): ExternalPerson {
  const claimFor = (attribute: string, fallback = attribute): string => {
    const mapped = memberOf(mappings, attribute)
    return typeof mapped === 'string' && mapped !== '' ? mapped : fallback
  }
  const userName = memberOf(claims, claimFor('user_name', 'sub'))
  if (!isShortString(userName)) throw new UnmappableClaims('Unable to map claim to a username')
  const attribute = (name: string): string | undefined => singleString(claims, name, claimFor(name))
  const sub = claims['sub']
  if (!isShortString(sub)) throw new UnmappableClaims('The token does not say whom it speaks of (sub)')
  const email = attribute('email')
  const givenName = attribute('given_name')
  const familyName = attribute('family_name')
  const phoneNumber = attribute('phone_number')
  const emailVerified = coversEmail(claimFor('email'), claimFor('email_verified'))
    ? memberOf(claims, claimFor('email_verified'))
    : undefined
  const authenticatedAt = pastDate(claims['auth_time'], now)
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
  }
}

/** OpenID Connect Core §5.1: `email_verified` is about `email`, not about another claim mapped to the address. */
const coversEmail = (email: string, verified: string): boolean => email === 'email' || verified !== 'email_verified'

/** A string, or the only one of a list; undefined for an empty one. */
function singleString(claims: ForeignClaims, attribute: string, claim: string): string | undefined {
  const value = memberOf(claims, claim)
  const values = new Set(Array.isArray(value) ? (value as readonly unknown[]) : [value])
  if (values.size > 1) throw new UnmappableClaims(`Claim mapping for ${attribute} attribute is ambiguous`)
  const [single] = values
  if (single === undefined || single === null || single === '') return undefined
  if (isShortString(single)) return single
  throw new UnmappableClaims(`External token attribute ${claim} cannot be mapped to user attribute ${attribute}`)
}

/** Whether the value is a short string that is not empty and that databases store unchanged. */
const isShortString = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= MAX_STRING_LENGTH && isStorable(value)

/** The provider's authentication methods, at most 20; anything but short strings is ignored. */
const amrOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(isShortString).slice(0, 20) : []

/** Reads a NumericDate. One in the future becomes now, so that no sign-in appears fresher than it is. */
function pastDate(value: unknown, now: Date): Date | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return undefined
  return new Date(Math.min(value * 1000, now.getTime()))
}
