import { addSeconds } from '../base/clock.ts'
import type { Client } from '../model/clients/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Zone } from '../model/zones/zone.ts'
import { ownLifetime } from '../model/zones/zone.ts'
import { SERVER_LIFETIME } from '../records/kinds.ts'

const DAY = 86_400
const REFRESH_SECONDS = 30 * DAY

/** The settings of a client; a client that cannot be found has none. */
export type LifetimesOf = Pick<Client, 'accessTokenSeconds' | 'refreshTokenSeconds'>

/** Lifetime of access and ID tokens in seconds: the client's setting, then the zone's, then the server's (row T9). */
export const accessTokenSeconds = (zone: Zone, client: LifetimesOf, behaviour: Behaviour): number =>
  lifetimeOf(client.accessTokenSeconds, zone.config.tokenPolicy?.accessTokenValidity, behaviour.accessTokenSeconds)

/** Lifetime of refresh tokens in seconds: the client's setting, then the zone's, then thirty days. */
export const refreshTokenSeconds = (zone: Zone, client: LifetimesOf): number =>
  lifetimeOf(client.refreshTokenSeconds, zone.config.tokenPolicy?.refreshTokenValidity, REFRESH_SECONDS)

function lifetimeOf(ofClient: number | undefined, ofZone: number | undefined, ofServer: number): number {
  return ofClient === SERVER_LIFETIME ? ofServer : (ofClient ?? ownLifetime(ofZone) ?? ofServer)
}

/** How many refresh tokens a user has of the client at most; a newer one replaces the oldest. Undefined: no limit. */
export function maxRefreshTokens(zone: Zone, client: Pick<Client, 'refreshTokenUnique'>): number | undefined {
  const limit = client.refreshTokenUnique ?? zone.config.tokenPolicy?.refreshTokenUnique ?? false
  if (limit === true) return 1
  return limit === false || limit < 1 ? undefined : limit
}

/**
 * Seconds after which every token that the zone has signed until now has expired. Includes the lifetime of refresh tokens
 * even if they are opaque: the setting may have changed, and ID tokens serve as logout hints (RP-Initiated Logout §2)
 * while a refresh token keeps the relying party signed in.
 */
export function maxTokenSeconds(zone: Zone, ofClients: readonly LifetimesOf[], behaviour: Behaviour): number {
  const lifetimes = [{}, ...ofClients].flatMap(client => [
    accessTokenSeconds(zone, client, behaviour),
    refreshTokenSeconds(zone, client),
  ])
  return Math.max(...lifetimes)
}

/** When a used code may be deleted: after its access token has expired, and after at least ten minutes (row T11). */
export const rememberCodeUntil = (zone: Zone, client: LifetimesOf, now: Date, behaviour: Behaviour): Date =>
  addSeconds(now, behaviour.codeSeconds + Math.max(600, accessTokenSeconds(zone, client, behaviour)))

/** When the revocation of a grant made now may be deleted: all its tokens have expired, even one issued right now. */
export function forgetGrantAt(zone: Zone, client: LifetimesOf, now: Date, behaviour: Behaviour): Date {
  const longest = Math.max(accessTokenSeconds(zone, client, behaviour), refreshTokenSeconds(zone, client))
  return addSeconds(now, Math.max(longest, 60 * DAY)) // the settings may have been more generous when it was issued
}
