// Tells the kinds of our own tokens apart by their claims.
import { stringsIn } from '../base/json.ts'
import type { TokenKind } from '../model/tokens/authorization.ts'
import type { Claims } from './claims.ts'

/** The kind of a JWT whose signature is valid; the `typ` header is optional (row T7). */
export function kindOf(claims: Claims, type: unknown): TokenKind {
  if (String(claims['jti']).endsWith('-r')) return 'refresh_token'
  return type === 'at+jwt' || isAccessToken(claims) ? 'access_token' : 'id_token'
}

/** Claims of ID, refresh and logout tokens that no access token has. */
const FOREIGN_CLAIMS = [
  'email_verified',
  'sid',
  'at_hash',
  'c_hash',
  's_hash',
  'previous_logon_time',
  'events',
  'granted_scopes',
]

/**
 * Decided by the claims; false in case of doubt. An access token has a client, a scope, a user or that client as subject, and,
 * if its scope is `openid` alone, another audience than its client. An ID token has no scope or `["openid"]`, and only its
 * client as audience. A client with the id `openid` therefore gets access tokens of that scope in `standard` only.
 */
function isAccessToken(claims: Claims): boolean {
  const { client_id: clientId, scope, sub, user_id: userId, exchanged_from: exchangedFrom } = claims
  if (typeof clientId !== 'string' || FOREIGN_CLAIMS.some(name => claims[name] !== undefined)) return false
  if (userId === undefined && sub !== undefined && sub !== clientId) return false // the subject is unknown
  if (typeof scope === 'string' || exchangedFrom !== undefined) return true // ID tokens have a list, and are never exchanged
  const scopes = Array.isArray(scope) ? stringsIn(scope) : undefined
  if (scopes?.length !== 1 || scopes[0] !== 'openid') return scopes !== undefined
  return stringsIn(claims['aud']).some(each => each !== clientId)
}
