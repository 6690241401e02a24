import { addSeconds } from '../base/clock.ts'
import type { Client } from '../model/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Zone } from '../model/zone.ts'
import { setting } from '../model/zone.ts'

const DAY = 86_400

/** Seconds that an access or ID token lives: the client's word, then the zone's, then the server's (row T9). */
export const accessTokenSeconds = (zone: Zone, client: Client, behaviour: Behaviour): number =>
  client.accessTokenSeconds ?? setting(zone.config.tokenPolicy?.accessTokenValidity) ?? behaviour.accessTokenSeconds

/** Seconds that a refresh token lives: the client's word, then the zone's, then thirty days. */
export const refreshTokenSeconds = (zone: Zone, client: Client): number =>
  client.refreshTokenSeconds ?? setting(zone.config.tokenPolicy?.refreshTokenValidity) ?? 30 * DAY

/**
 * Seconds after which nothing that the zone signed until now is of use, whoever it was signed for. Refresh tokens count
 * even where they are no JWTs: the zone may have changed its mind, and ID tokens are hints for a logout (RP-Initiated
 * Logout §2) for as long as a refresh keeps the relying party signed in.
 */
export function maxTokenSeconds(
  zone: Zone,
  ofClients: { readonly accessTokenSeconds?: number; readonly refreshTokenSeconds?: number },
  behaviour: Behaviour,
): number {
  const policy = zone.config.tokenPolicy
  return Math.max(
    setting(policy?.accessTokenValidity) ?? behaviour.accessTokenSeconds,
    setting(policy?.refreshTokenValidity) ?? 30 * DAY,
    ofClients.accessTokenSeconds ?? 0,
    ofClients.refreshTokenSeconds ?? 0,
  )
}

/** Until when a used code is remembered: while an access token that it gave may live, and ten minutes at least (row T11). */
export const rememberCodeUntil = (zone: Zone, client: Client, now: Date, behaviour: Behaviour): Date =>
  addSeconds(now, behaviour.codeSeconds + Math.max(600, accessTokenSeconds(zone, client, behaviour)))

/** When a grant that is revoked now may be forgotten: no token of it lives longer, even if it was issued this instant. */
export function forgetGrantAt(zone: Zone, client: Client, now: Date, behaviour: Behaviour): Date {
  const longest = Math.max(accessTokenSeconds(zone, client, behaviour), refreshTokenSeconds(zone, client))
  return addSeconds(now, Math.max(longest, 60 * DAY)) // the settings may have been more generous when it was issued
}
