// What may identify a zone: its id, its subdomain and its issuer.

// The id is part of scopes such as `zones.<id>.clients.admin`, which must be valid (RFC 6749 §3.3) and unambiguous: an
// id with a dot, such as `x.clients`, would make `zones.x.clients.admin` a right in two zones, and one with a star in
// all. Commas and plus signs also separate scopes.
const ID = /^[\x21\x23-\x29\x2d\x30-\x5b\x5d-\x7e]{1,36}$/

/** What an id has, as the end of a sentence. */
export const ZONE_ID_FORM =
  'at most 36 characters of ASCII, without white space, dots, commas, plus signs, stars, slashes and quotes'

/** Whether a new zone may have the id. */
export const isZoneId = (id: string): boolean => ID.test(id)

/** The subdomain prefixes the host name in URLs of the zone, and is a path segment in some. */
const SUBDOMAIN = /^[a-z0-9_](?:[a-z0-9._-]{0,253}[a-z0-9_])?$/

/** Whether the text, in lower case, can stand before the host of the server. */
export const isSubdomain = (subdomain: string): boolean =>
  SUBDOMAIN.test(subdomain) && subdomain.split('.').every(label => label !== '' && label.length <= 63)

/** It is in every token. */
const MAX_ISSUER_LENGTH = 1000

/** What is wrong with the issuer of a zone, as the end of a sentence; undefined if nothing is. */
export function issuerProblem(issuer: string): string | undefined {
  const url = /^https?:\/\/\S+$/.test(issuer) && URL.canParse(issuer) ? new URL(issuer) : undefined
  // OpenID Connect Discovery §3: no query and no fragment. A user or password would only obscure the host.
  if (!url || url.username !== '' || url.password !== '' || /[?#\\]/.test(issuer)) {
    return 'must be a URL without user, query and fragment'
  }
  return issuer.length > MAX_ISSUER_LENGTH ? `must have at most ${MAX_ISSUER_LENGTH} characters` : undefined
}

/** Whether two issuers differ at most in scheme, case of the host, trailing slashes and UAA's path. */
export const isSameIssuer = (one: URL, other: URL): boolean => {
  const [a = '', b = ''] = [one, other].map(({ host, pathname }) =>
    (host + pathname).replace(/\/+$/, '').replace(/\/oauth\/token$/, ''),
  )
  return a === b
}
