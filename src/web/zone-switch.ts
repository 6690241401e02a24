// X-Identity-Zone-Id and X-Identity-Zone-Subdomain: an administrator of the default zone acts in another one. Owns who may
// do so and what is left of the token there; the bearer gate asks before any route's own demand is looked at.
import type { FastifyRequest } from 'fastify'
import { OAuthError } from '../model/oauth-error.ts'
import type { Service } from '../model/service.ts'
import type { Zone } from '../model/zone.ts'
import type { Store } from '../store/store.ts'
import type { VerifiedToken } from '../token/reader.ts'
import { PageError } from './answers.ts'

/** Rights that `zones.<id>.` may stand before; these two keep it in the zone, the others lose it there. */
const KEPT_WHOLE = ['admin', 'read']
const SHORTENED = [
  'clients.admin',
  'clients.read',
  'clients.write',
  'scim.read',
  'scim.write',
  'scim.create',
  'scim.invite',
  'idps.read',
  'idps.write',
  'sps.read',
  'sps.write',
]

/** The zone that a request names in a header. */
export interface ZoneWish {
  readonly by: 'id' | 'subdomain'
  readonly value: string
}

/** The id wins over the subdomain, and an empty header is none. */
export function zoneWish({ headers }: FastifyRequest): ZoneWish | undefined {
  const id = headers['x-identity-zone-id']
  if (typeof id === 'string' && id !== '') return { by: 'id', value: id }
  const subdomain = headers['x-identity-zone-subdomain']
  if (typeof subdomain === 'string' && subdomain !== '') return { by: 'subdomain', value: subdomain }
  return undefined
}

/** What is told to whoever names a zone and may not, or not there. */
export const refuseSwitch = (): OAuthError =>
  new OAuthError('access_denied', 'The caller is not authorized to switch to the identity zone')

/** What of the token's scopes counts in the zone with this id. */
export function scopesInZone(scopes: readonly string[], zoneId: string, service: Service): readonly string[] {
  const prefix = `zones.${zoneId}.`
  const whole = [service.scope('admin'), ...KEPT_WHOLE.map(right => prefix + right)]
  return [
    ...whole.filter(scope => scopes.includes(scope)),
    ...SHORTENED.filter(right => scopes.includes(prefix + right)),
  ]
}

/** Leads a request into the zone that it names. */
export type EnterZone = (request: FastifyRequest, wish: ZoneWish, token: VerifiedToken) => Promise<VerifiedToken>

/**
 * Answers the token as it counts in the zone, which becomes the request's. Throws 403 for a request that was not made to
 * the default zone and for a token without a right there, 404 for a zone that is not there or not active.
 */
export function createZoneSwitch({ store, service }: { store: Store; service: Service }): EnterZone {
  const find = ({ by, value }: ZoneWish): Promise<Zone | undefined> =>
    by === 'id' ? store.zones.find(value) : store.zones.findBySubdomain(value.toLowerCase())

  return async (request, wish, token) => {
    if (request.zone.id !== service.name) throw refuseSwitch()
    // Who is no administrator of any zone learns nothing of which ones there are.
    const mayAsk = token.scopes.some(scope => scope === service.scope('admin') || scope.startsWith('zones.'))
    if (!mayAsk) throw refuseSwitch()
    const zone = await find(wish)
    if (!zone?.active) throw new PageError(404, `There is no active identity zone with this ${wish.by}.`)
    const scopes = scopesInZone(token.scopes, zone.id, service)
    if (scopes.length === 0) throw refuseSwitch()
    request.zone = zone
    return { ...token, scopes }
  }
}
