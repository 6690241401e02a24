// Finds the stable identifier in what an OAuth 2.0 provider says about a user. Unlike OpenID Connect, OAuth has no claim
// for it. See docs/decisions/0025-identifying-oauth-2-users.md.
import { memberOf } from '../../base/json.ts'
import type { ForeignClaims } from './oidc/claims.ts'

/** The identifier, and the claim that it comes from. */
interface Identifier {
  readonly claim: string
  readonly value: string
}

/**
 * Reads the claim that `attributeMappings.external_id` names; without it `sub`, or `id` where there is no `sub`. Returns
 * the reason, for the log, if no claim identifies the user.
 */
export function identifierIn(claims: ForeignClaims, mappings: unknown): Identifier | string {
  const named = memberOf(mappings, 'external_id')
  if (named !== undefined) {
    if (typeof named !== 'string' || named === '') return 'attributeMappings.external_id must name one claim'
    const value = identifier(memberOf(claims, named))
    return value === undefined
      ? `the claim of attributeMappings.external_id is not an identifier`
      : { claim: named, value }
  }
  const [sub, id] = [memberOf(claims, 'sub'), memberOf(claims, 'id')]
  const claim = isGiven(sub) ? 'sub' : 'id'
  const value = identifier(claim === 'sub' ? sub : id)
  if (value === undefined)
    return 'neither sub nor id is an identifier; attributeMappings.external_id can name the claim'
  // If users of the provider can add claims, one whose identifier is `id` could add the `sub` of their choice.
  if (claim === 'sub' && isGiven(id) && identifier(id) !== value) {
    return 'sub and id differ; attributeMappings.external_id must name one of them'
  }
  return { claim, value }
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

/**
 * A string as it is, or a positive whole number in decimal digits. Above 2^53, different numbers of the JSON text would
 * have become equal; 0 means no user at many providers.
 */
function identifier(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? String(value) : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}
