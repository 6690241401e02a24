import { hexDigest } from '../base/secrets.ts'
import type { Random } from '../base/random.ts'

/**
 * The `session_state` of OpenID Connect Session Management §2. Undefined for a redirect URI without an http(s) origin.
 * Scripts in browsers recompute it: the formula is part of the wire.
 */
export function sessionState(
  { clientId, redirectUri, userId }: { clientId: string; redirectUri: string; userId: string | undefined },
  random: Random,
): string | undefined {
  const { origin } = new URL(redirectUri)
  if (!origin.startsWith('http')) return undefined
  const salt = random.hex(32)
  return `${hexDigest(`${clientId} ${origin} ${userId ?? ''} ${salt}`)}.${salt}`
}
