import { digest, hexDigest } from '../base/secrets.ts'
import type { Random } from '../base/random.ts'
import type { SignIn } from '../model/session.ts'

/**
 * The `session_state` of OpenID Connect Session Management §2: frames of the client recompute it, so that the formula is
 * part of the wire. Undefined for a redirect URI without an http(s) origin.
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

/** The `sid` of a browser session for one client (Front-Channel Logout §3): no client can recognise another's. */
export const sessionIdFor = (signIn: SignIn, clientId: string): string =>
  digest(`${signIn.sessionSalt} ${clientId}`).slice(0, 32)
