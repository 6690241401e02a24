// What a provider's claims say of a person, by its attribute mappings.
import { memberOf } from '../../base/json.ts'
import type { ExternalPerson } from '../source.ts'

/** The claims of a verified token. */
export type ForeignClaims = Readonly<Record<string, unknown>>

/** Thrown when claims do not give a person; the message is for the caller. */
export class UnmappableClaims extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnmappableClaims'
  }
}

const MAX_STRING_LENGTH = 255

/** The person of the claims; `mappings` is the provider's `attributeMappings`. Throws `UnmappableClaims`. */
export function personOf(claims: ForeignClaims, mappings: unknown, now: Date): ExternalPerson {
  const claimFor = (attribute: string, usual = attribute): string => {
    const mapped = memberOf(mappings, attribute)
    return typeof mapped === 'string' && mapped !== '' ? mapped : usual
  }
  const userName = memberOf(claims, claimFor('user_name', 'sub'))
  if (!isStorable(userName)) throw new UnmappableClaims('Unable to map claim to a username')
  const attribute = (name: string): string | undefined => singleText(claims, name, claimFor(name))
  const sub = claims['sub']
  if (!isStorable(sub)) throw new UnmappableClaims('The token does not say whom it speaks of (sub)')
  const email = attribute('email')
  const givenName = attribute('given_name')
  const familyName = attribute('family_name')
  const phoneNumber = attribute('phone_number')
  const emailVerified = speaksOfEmail(claimFor('email'), claimFor('email_verified'))
    ? memberOf(claims, claimFor('email_verified'))
    : undefined
  const authenticatedAt = pastMoment(claims['auth_time'], now)
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

/** OpenID Connect Core §5.1: `email_verified` vouches for `email`, and for no other claim that is mapped to the address. */
const speaksOfEmail = (email: string, verified: string): boolean => email === 'email' || verified !== 'email_verified'

/** A text, or a list that has only one; a blank one says nothing. */
function singleText(claims: ForeignClaims, attribute: string, claim: string): string | undefined {
  const value = memberOf(claims, claim)
  const values = new Set(Array.isArray(value) ? (value as readonly unknown[]) : [value])
  if (values.size > 1) throw new UnmappableClaims(`Claim mapping for ${attribute} attribute is ambiguous`)
  const [single] = values
  if (single === undefined || single === null || single === '') return undefined
  if (isStorable(single)) return single
  throw new UnmappableClaims(`External token attribute ${claim} cannot be mapped to user attribute ${attribute}`)
}

/** What a database keeps as it is: no NUL, no half of a surrogate pair, and not a whole book. */
const isStorable = (value: unknown): value is string =>
  typeof value === 'string' &&
  value !== '' &&
  value.length <= MAX_STRING_LENGTH &&
  value.isWellFormed() &&
  !value.includes('\0')

/** The few methods that a provider tells; what is no list of short texts says nothing. */
const amrOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter(isStorable).slice(0, 20) : [])

/** A NumericDate; one that has not come yet is now, so that nobody's sign-in is fresher than it can be. */
function pastMoment(value: unknown, now: Date): Date | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return undefined
  return new Date(Math.min(value * 1000, now.getTime()))
}
