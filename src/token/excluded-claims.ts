import type { Claims } from './claims.ts'

/** The claims without those that the configuration excludes; no copy is made when it excludes none. */
export function leaveOut(claims: Claims, excluded: readonly string[]): Claims {
  for (const name of excluded) if (Object.hasOwn(claims, name)) claims[name] = undefined
  return claims
}
