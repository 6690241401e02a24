// X-Identity-Zone-Id and X-Identity-Zone-Subdomain let an administrator of the default zone act in another zone. Decides whether
// the caller may, and which of the token's scopes apply there. The bearer gate calls it before it checks the route's own demand.
import type { FastifyRequest } from 'fastify'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import { scopesInZone } from '../../model/tokens/scopes-in-zone.ts'
import type { Zone } from '../../model/zones/zone.ts'
import type { Store } from '../../store/store.ts'
import type { VerifiedToken } from '../../token/token-validity.ts'
import { PageError } from '../answers.ts'

/** The zone that a request names in a header. */
interface RequestedZone {
  readonly by: 'id' | 'subdomain'
  readonly value: string
}

/**
 * The id takes precedence over the subdomain; an empty header counts as absent, and so does the id of the default zone on
 * a request to that zone: many clients always name their zone.
 */
export function requestedZoneOf({ headers, zone }: FastifyRequest): RequestedZone | undefined {
  const id = headers['x-identity-zone-id']
  if (typeof id === 'string' && id !== '') {
    return zone.subdomain === '' && id === zone.id ? undefined : { by: 'id', value: id }
  }
  const subdomain = headers['x-identity-zone-subdomain']
  if (typeof subdomain === 'string' && subdomain !== '') return { by: 'subdomain', value: subdomain }
  return undefined
}

/** The 403 for naming a zone without the right to. */
export const refuseSwitch = (): OAuthError =>
  new OAuthError('access_denied', 'The caller is not authorized to switch to the identity zone')

/** The 403 for naming a zone where no caller may: on some routes, and on requests that were not made to the default zone. */
export const refuseZoneHeader = (): OAuthError =>
  new OAuthError(
    'access_denied',
    'X-Identity-Zone-Id and X-Identity-Zone-Subdomain are not accepted here. Use the address of the zone instead',
  )

/** Moves a request into the requested zone. */
export type EnterZone = (
  request: FastifyRequest,
  requested: RequestedZone,
  token: VerifiedToken,
) => Promise<VerifiedToken>

/**
 * Sets the request's zone and returns the token as it applies there. Throws 403 for a request that was not made to the
 * default zone and for a token without a right in the zone, 404 for an unknown or inactive zone: to callers who would have
 * rights in it.
 */
export function createZoneSwitch({
  store,
  service,
  behaviour,
}: {
  readonly store: Store
  readonly service: Service
  readonly behaviour: Behaviour
}): EnterZone {
  const find = ({ by, value }: RequestedZone): Promise<Zone | undefined> =>
    by === 'id' ? store.zones.find(value) : store.zones.findBySubdomain(value.toLowerCase())

  return async (request, requested, token) => {
    if (request.zone.id !== service.name) throw refuseZoneHeader()
    // Callers who administer no zone must not learn which zones exist.
    const maySwitch = token.scopes.some(scope => scope === service.scope('admin') || scope.startsWith('zones.'))
    if (!maySwitch) throw refuseSwitch()
    const zone = await find(requested)
    const mayKnow = requested.by === 'id' && scopesInZone(token.scopes, requested.value, service).length > 0
    // UAA: tells administrators of any zone.
    const isTold = !behaviour.unknownZoneIsForbidden || mayKnow || token.scopes.includes(service.scope('admin'))
    const unknown = `There is no active identity zone with this ${requested.by}.`
    if (!zone?.active) throw isTold ? new PageError(404, unknown) : refuseSwitch()
    const scopes = scopesInZone(token.scopes, zone.id, service)
    if (scopes.length === 0) throw refuseSwitch()
    request.zone = { ...zone, address: 'host', root: request.zone.root }
    return { ...token, scopes }
  }
}
