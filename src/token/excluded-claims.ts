import type { Claims } from './claims.ts'

/** The same claims without those that the configuration leaves out; almost always that is none, and costs nothing. */
export function leaveOut(claims: Claims, excluded: readonly string[]): Claims {
  for (const name of excluded) if (Object.hasOwn(claims, name)) claims[name] = undefined
  return claims
}
