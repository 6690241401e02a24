import type { Claims } from './claims.ts'

/** Unsets, in place, the claims that the configuration excludes. */
export function excludeClaims(claims: Claims, excluded: readonly string[]): Claims {
  for (const name of excluded) if (Object.hasOwn(claims, name)) claims[name] = undefined
  return claims
}
