/** Where sign-in at a SAML provider starts, below the zone's base URL, as UAA's clients know it. */
export function discoveryPath(entityId: string, origin: string): string {
  const query = new URLSearchParams({ returnIDParam: 'idp', entityID: entityId, idp: origin, isPassive: 'true' })
  return `/saml/discovery?${query.toString()}`
}

/** The assertion consumer that the service provider's metadata names, below the zone's base URL. */
export const consumerPath = (alias: string): string => `/saml/SSO/alias/${encodeURIComponent(alias)}`

/** The token endpoint that bearer assertions name as their recipient, below the zone's base URL (RFC 7522). */
export const bearerPath = (entityId: string): string => `/oauth/token/alias/${encodeURIComponent(entityId)}`
